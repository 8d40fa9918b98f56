// collsim race of training steps: several ways of splitting one step on one clock, each with who sends to whom and what
// every GPU holds.

import { el, segment, setText, svg, swatch } from "../player/draw/elements.js";
import { createTimed } from "../transport/timed.js";
import { createTransport, dragTime, drawTransport, mirrorClock } from "../player/ui/transport.js";
import { fmtBytes, timeUnit } from "../player/model/units.js";
import { component } from "../player/mount.js";
import { withPlayback } from "../player/playback.js";
import { momentsOf } from "./stepgeometry.js";
import { HELD_FILL, carriedAt, drawHub, moveHub, totalHeld } from "./hub.js";
import { BUCKET_HUES } from "../player/model/look.js";
import { exposedHatch } from "../transport/hues.js";
import { RIVALS } from "../words/words.js";
import buttonsSheet from "../transport/buttons.css" with { type: "text" };
import partsSheet from "./parts.css" with { type: "text" };
import rivalsSheet from "./rivals.css" with { type: "text" };
import { drawTracks } from "./tracks.js";

const ROUNDS = 6; // how often a token runs along its arc while a collective lasts

/**
 * A race of steps. Its data are {id, runners: [{strategy, name, reason, time, exposed, bubble, sent, memory, document,
 * patterns}], language, theme, t}.
 */
const CARD = {
  className: "rv",
  css: [buttonsSheet, partsSheet, rivalsSheet],
  hues: BUCKET_HUES,
  words: RIVALS,
  keeps: ["copies"],
  near: 1 / 200,
  build: buildRivals,
  total: ({ runners }) => Math.max(...runners.map((run) => run.time)),
  moments: ({ runners }) => runners.flatMap((run) => momentsOf(run.document)).sort((a, b) => a - b),
  begin: ({ data, clock }, before) => (before?.id === data.id ? undefined : 0.1 * clock.total),
  dress: dressRivals,
  arrange: arrangeRivals,
  tick: drawRivals,
};

function buildRivals(race) {
  Object.assign(race, {
    ...{ cards: [], copies: false, cursors: [] },
    row: el("div.cards"),
    bar: el("div.bar"),
    tracks: el("div.tracks"),
    foot: el("div.foot"),
  });
  dragTracks(race);
  return [race.row, el("div.card", race.bar, race.tracks), race.foot];
}

function dressRivals(race) {
  const { moves, time, speeds } = (race.parts = createTransport(race));
  race.root.dataset.runners = race.data.runners.map((r) => r.strategy).join();
  race.bar.replaceChildren(moves, time, speeds);
  buildRivalFoot(race);
}

/** DataParallel once: with NCCL or with copies, as chosen in its card. */
const shownOf = ({ data, copies }) => data.runners.filter((r) => r.strategy !== (copies ? "data_parallel" : "copies"));

function arrangeRivals(race, whole) {
  const { root, data } = race;
  root.classList.toggle("slim", whole < 760);
  const visible = shownOf(race),
    across = whole < 760 ? 1 : whole < 900 ? Math.min(2, visible.length) : visible.length,
    room = (whole - 16 * (across - 1)) / across - (whole < 760 ? 26 : 38),
    most = Math.max(...data.runners.flatMap((r) => r.document.peak_memory.map(totalHeld)));
  race.row.style.gridTemplateColumns = `repeat(${across},minmax(0,1fr))`;
  race.cards = visible.map((run) => buildRivalCard(race, run, room, most));
  race.row.replaceChildren(...race.cards.map((run) => run.card));
  drawTracks(race, whole < 760 ? Math.max(150, whole - 190) : whole - 480);
  race.tracks.prepend(svg("svg", { width: 0, height: 0, style: "position:absolute" }, exposedHatch()));
  drawRivals(race);
}

function buildRivalCard(race, data, room, most) {
  const words = race.words,
    sends = Math.max(...race.data.runners.map((r) => r.sent)),
    hot = data.sent === sends && data.sent > 2 * Math.min(...race.data.runners.map((r) => r.sent)),
    run = { data, pace: el("span") },
    head = el("h2", data.name, run.pace),
    wide = room / Math.min(16, data.document.peak_memory.length + 1) < 62;
  const choice = data.strategy === "data_parallel" || data.strategy === "copies" ? [copiesSwitch(race)] : [];
  run.card = el(
    "section",
    { className: hot ? "card hot" : "card" },
    el("div.rhead", head, ...choice),
    el("div.load", el("span", words.sends), el("b", fmtBytes(data.sent))),
    el("div.meter", el("i", { style: `width:${(100 * data.sent) / sends}%` })),
    drawHub(run, room, most),
    el("div.load", el("span", wide ? words.peakShort : words.peak)),
    el("p.reason", data.reason),
  );
  return run;
}

function copiesSwitch(race) {
  const box = el("span.seg", { role: "group" }),
    words = race.words,
    items = [
      [false, words.nccl],
      [true, words.copies],
    ].filter(([on]) => race.data.runners.some((r) => r.strategy === (on ? "copies" : "data_parallel")));
  segment(box, items, race.copies, (on) => showCopies(race, on), words.how);
  return box;
}

function showCopies(race, on) {
  race.copies = on;
  race.arrange();
}

function buildRivalFoot(race) {
  const { legend } = race.words,
    sign = (style, words) => swatch(`width:14px;height:14px;${style}`, words);
  race.foot.replaceChildren(
    swatch(".hatch", legend.wait),
    sign("background:var(--b1)", legend.bucket),
    sign("border-radius:50%;background:var(--done)", legend.copy),
    sign("border:2px solid var(--ink);border-radius:3px;background:var(--sumfill)", legend.reduce),
    ...Object.keys(HELD_FILL).map((kind) => sign(`background:${HELD_FILL[kind]}`, legend[kind])),
    sign("border:2px solid var(--hostink);background:var(--host)", legend.server),
  );
}

/** One frame. */
function drawRivals(race) {
  const { data, clock, cards } = race;
  if (!data || !race.chart) return;
  const words = race.words,
    unit = timeUnit(clock.total),
    along = (box, t) => (ROUNDS * ((t - box.begin) / Math.max(1e-15, box.end - box.begin))) % 1;
  for (const run of cards) {
    moveHub(run, clock.t, along);
    const now = carriedAt(run.data.document, clock.t);
    setText(
      run.pace,
      clock.t >= run.data.time ? words.done : now ? `${words.kinds[now.kind] ?? now.kind}, ${now.name}` : words.nothing,
    );
  }
  for (const cursor of race.cursors) cursor.move(clock.t);
  drawTransport(race.parts, clock, words, `${unit.num(clock.t)} / ${unit.fmt(clock.total)}`);
  mirrorClock(race, { finished: String(data.runners.filter((r) => clock.t >= r.time).length) });
}

/** A track is the scrubber. */
function dragTracks(race) {
  const seek = (ev) => race.clock.seek(race.chart.timeAt(ev));
  dragTime(race.tracks, seek, { isTrack: ({ target }) => Boolean(target.closest?.("svg.at")), isScrolled: true });
}

export default component((box) => withPlayback("rivals", createTimed(box, CARD)));
