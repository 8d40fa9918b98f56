// The board under the cards: a bar for every runner, the transport, the legend; and one frame of it.

import { el, setAttributes, setText, swatch } from "../player/draw/elements.js";
import { pace, progress } from "./pace.js";
import { buildRaceLine } from "./racetransport.js";
import { drawTraffic } from "./traffic.js";
import { drawTransport, mirrorClock } from "../player/ui/transport.js";
import { NB, fmtRate, fmtShare, threeDigits, timeUnit } from "../player/model/units.js";
import { fill, ordinal } from "../words/choice.js";

export function buildBoard(race) {
  const { clock, data, cards } = race,
    words = race.words,
    times = data.runners.map((r) => r.time),
    late = Math.max(...times) > 2 * Math.min(...times) ? Math.max(...times) : NaN,
    heads = [
      el("span.h", words.delivered),
      el("span"),
      el("span.h.num", words.finish),
      el("span.h.num.bw", words.busbw),
    ];
  race.parts = buildRaceLine(race);
  for (const run of cards) run.bar = buildBar(data.runners[run.q], words, timeUnit(clock.total), late);
  const rows = cards.flatMap(({ bar }) => [el("span.rule"), ...bar.row]);
  race.board.replaceChildren(el("div.rows", el("span", race.parts.speeds), ...heads, ...rows));
  race.line.replaceChildren(race.parts.line);
}

/** A runner's row: name and pace, the bar of bytes delivered, its place, its time and its bus bandwidth. */
function buildBar(r, words, unit, late) {
  const b = { name: el("small"), fill: el("i"), dot: el("span.dot", el("u")), pct: el("span.pct") },
    look = { className: r.time === late ? "late" : "", style: "display:contents" };
  const cells = [
    el("div.name", el("b", r.name), b.name),
    el("div.track", el("div.bar", b.fill, b.dot, b.pct)),
    el("span.position.num", ordinal(words, r.position)),
    el("span.fin.num", `${threeDigits(r.time * unit.f)}${NB}${unit.unit}`),
    el("span.bw.num", r.busbw ? fmtRate(r.busbw) : "–"),
  ];
  return { ...b, row: cells.map((cell) => el("div", look, cell)) };
}

export function buildFoot(race) {
  const { words } = race,
    signs = ["reduce sq", "copy ci", "wait wt", "cable pipe", "arc arc"].map((pair) => pair.split(" ")),
    sample = (use) => [el("i", { style: `background:var(--${use})` }), words.range[use]],
    uses = ["room", "near", "full"].flatMap(sample);
  const names = signs.map(([name, look]) => swatch(`.${look}`, words[name]));
  race.foot.replaceChildren(...names, el("span", words.used, ...uses));
}

// ---- one frame

export function drawRace(race) {
  const { clock, data, cards, parts } = race;
  if (!data || !parts.scrub) return;
  const words = race.words,
    unit = timeUnit(clock.total),
    t = clock.t,
    home = cards.filter(({ player: { model } }) => model && t >= model.total);
  for (const run of cards) {
    if (!run.player.model) continue;
    drawRunner(run, t, data.language, words);
    drawTraffic(race, run, t);
  }
  drawTransport(parts, clock, words, fill(words.of, { now: unit.num(t), total: unit.fmt(clock.total) }));
  parts.track?.move(t);
  mirrorClock(race, { finished: String(home.length) });
  setAttributes(parts.scrub, {
    "aria-valuenow": Number(t.toPrecision(6)),
    "aria-valuetext": fill(words.value, { time: unit.fmt(t), finished: home.length, runners: cards.length }),
  });
  sayWhoIsHome(race, home, words, unit);
}

function drawRunner({ player: { model }, parts, bar: b }, t, language, w) {
  const at = pace(model, t, language),
    f = progress(model, t),
    over = t >= model.total,
    words = over
      ? w.done
      : `${at.phase ? at.phase + w.comma : ""}${model.nsteps ? fill(w.step, { step: at.s, steps: model.nsteps }) : ""}`;
  setText(parts.pace, words);
  setText(b.name, words);
  b.fill.style.width = b.dot.style.left = `${100 * f}%`;
  b.dot.classList.toggle("round", over || !at.reduce);
  b.dot.firstChild.style.height = `${Math.max(12, 90 * f)}%`;
  setText(b.pct, fmtShare(f));
  b.pct.style.cssText =
    f > 0.5 ? `right:calc(${100 - 100 * f}% + 20px);color:var(--card)` : `left:calc(${100 * f}% + 20px)`;
  for (const cell of b.row) cell.classList.toggle("home", over);
}

/** Said aloud once for each runner, as it comes in. */
function sayWhoIsHome(race, home, words, unit) {
  if (home.length > race.finished && race.finished >= 0 && race.clock.playing) {
    const last = home.sort((a, b) => a.player.model.total - b.player.model.total).at(-1);
    race.says.textContent = fill(words.wins, {
      name: race.data.runners[last.q].name,
      time: unit.fmt(last.player.model.total),
    });
  }
  race.finished = home.length;
}
