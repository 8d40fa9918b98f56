// collsim runners on one clock: schedules of a pipeline, or one step under FSDP in several ways. Boxes with numbers,
// hatched waits, what is held as stairs, a finish line, and the formula beside what was drawn.

import { el, media, readMarkup, segment, setText, swatch } from "../player/draw/elements.js";
import { NB, timeMarks, timeUnit } from "../player/model/units.js";
import { component } from "../player/mount.js";
import { withPlayback } from "../player/playback.js";
import { createTimed } from "../transport/timed.js";
import { createTransport, dragTime, drawTransport, mirrorClock } from "../player/ui/transport.js";
import { LANES } from "../words/words.js";
import { createChart, createTrack, distinctTimes, lightUp, timeAxis } from "../transport/lanechart.js";
import { drawRunner, laneHit, rowsOf, topOfLevel } from "./laneboxes.js";
import { decimalBytes, figuresOf } from "./lanefigures.js";
import buttonsSheet from "../transport/buttons.css" with { type: "text" };
import lightSheet from "../transport/lanechart.css" with { type: "text" };
import cardsSheet from "./cards.css" with { type: "text" };
import lanesMarkup from "./lanes.html" with { type: "text" };
import lanesSheet from "./lanes.css" with { type: "text" };
import { fill } from "../words/choice.js";

/**
 * Runners. Their data are {id, kind, runners: [{variant, name, note, time, share, most, rows | compute, network, level,
 * figures}], said, microbatches, most, weight_bytes, language, theme, t}.
 */
const CARD = {
  className: "ln",
  css: [buttonsSheet, lightSheet, cardsSheet, lanesSheet],
  words: LANES,
  keeps: ["alone"],
  build: buildLanes,
  total: ({ runners }) => Math.max(...runners.map((run) => run.time)),
  moments: ({ runners }, total) => momentsOfLanes(runners, total),
  begin: beginLanes,
  dress: dressLanes,
  arrange: arrangeLanes,
  tick: tickLanes,
  keys: (ui) => Object.fromEntries(ui.data?.runners.map((_, k) => [String(k + 1), () => showAlone(ui, k)]) ?? []),
};

function buildLanes(ui) {
  Object.assign(ui, { views: [], alone: -1, focus: null }, readMarkup(lanesMarkup));
  dragLanes(ui);
  return [ui.card];
}

/** It opens when the first is done: then all that is to be compared is in sight. */
function beginLanes(ui, before) {
  const { data, clock } = ui;
  if (before?.id === data.id) return undefined;
  ui.alone = -1;
  ui.unit = unitOfLanes(data.kind, clock.total);
  const isStill = media("(prefers-reduced-motion: reduce)").matches;
  return isStill ? clock.total : Math.min(...data.runners.map((run) => run.time));
}

/** Times as they are read: of pipelines plain numbers, else four digits of the longest, with a unit. */
export function unitOfLanes(kind, total) {
  if (kind === "sharding") {
    const { f, unit } = timeUnit(total),
      digits = Math.max(0, 3 - Math.floor(Math.log10(total * f))),
      num = (t) => (t * f).toFixed(digits);
    return { num, fmt: (t) => `${num(t)}${NB}${unit}`, zero: `0${NB}${unit}` };
  }
  const num = (t) => String(Number(t.toFixed(total < 100 ? 2 : 1)));
  return { num, fmt: num, zero: "0" };
}

function momentsOfLanes(runners, total) {
  const rows = runners.flatMap((run) => run.rows ?? [run.compute, run.network]);
  return distinctTimes(
    rows.flatMap((row) => row.boxes.flatMap(([a, b]) => [a, b])),
    1e-7 * total,
  );
}

function dressLanes(ui) {
  const { moves, time, speeds, tools, note } = (ui.parts = createTransport(ui));
  ui.root.dataset.runners = ui.data.runners.map((run) => run.variant).join();
  ui.bar.replaceChildren(moves, time, speeds, tools, note);
  buildLaneFoot(ui);
}

function arrangeLanes(ui, whole) {
  const { root, data, words } = ui;
  ui.slim = whole < 640;
  root.classList.toggle("slim", ui.slim);
  root.classList.toggle("mid", whole < 1240 && !ui.slim);
  if (ui.slim && ui.alone < 0) ui.alone = 0;
  const names = data.runners.map((run, k) => [k, run.name]);
  segment(ui.tabs, ui.slim ? names : [[-1, words.every], ...names], ui.alone, (k) => showAlone(ui, k), words.one);
  const heads = [
    data.unit ?? "",
    data.kind === "pipelines" ? fill(words.activations, { most: data.microbatches }) : "",
    words.form,
  ];
  ui.heads.replaceChildren(...heads.map((textContent) => el("span", textContent)));
  const places = data.runners.map((run) => run.time).sort((a, b) => a - b);
  ui.views = [];
  ui.rows.replaceChildren(
    ...data.runners.flatMap((run, k) => (ui.alone < 0 || ui.alone === k ? [buildRunner(ui, run, k, places)] : [])),
  );
  sizeLanes(ui);
  keepRoomForSays(ui);
}

/** What is said grows when the first is done: room for it from the start, so that nothing below moves. */
function keepRoomForSays(ui) {
  const byTime = [...ui.data.runners].sort((a, b) => a.time - b.time),
    spoken = ui.spoken;
  ui.says.style.minHeight = "";
  sayLanes(ui, byTime.slice(0, -1), byTime.slice(-1), byTime.at(-1).time);
  ui.says.style.minHeight = `${ui.says.offsetHeight}px`;
  if (spoken !== ui.spoken) tickLanes(ui);
}

function showAlone(ui, k) {
  ui.alone = ui.alone === k && !ui.slim ? -1 : k;
  ui.arrange();
}

function buildRunner(ui, run, k, places) {
  const field = el("div.field"),
    name = el("button", { title: ui.words.one, onclick: () => showAlone(ui, k) });
  name.append(el("b", run.name), el("small", run.note));
  ui.views.push({ run, field });
  return el("div.runner", el("div.name", name), field, figuresOf(ui, run, places));
}

/** Draw every runner at the width that it has. */
function sizeLanes(ui) {
  const { data, views } = ui,
    { kind, runners, weight_bytes: whole } = data,
    total = Math.max(...runners.map((run) => run.time)),
    isAlone = ui.alone >= 0,
    common = { kind, whole, words: ui.words, fmt: ui.unit.fmt, bytes: decimalBytes };
  for (const view of views) {
    const width = Math.max(220, view.field.clientWidth),
      layout = rowsOf(view.run, kind, isAlone && !ui.slim, views.length),
      most = kind === "sharding" ? topOfLevel(view.run, runners, whole, isAlone) : data.most;
    Object.assign(view, { layout, chart: drawRunner({ ...common, run: view.run, layout, most }, width, total) });
    view.field.replaceChildren(view.chart.picture);
  }
  buildScrub(ui, views[0].chart);
  tickLanes(ui);
}

/** The scrubber: the same scale of time as the rows. */
function buildScrub(ui, { width, total, left, room }) {
  const chart = createChart({ width, height: 40, total, left, right: width - left - room, "aria-hidden": "true" }),
    textOf = (t) => (t ? String(Number(ui.unit.num(t))) : ui.unit.zero),
    marks = timeMarks(total, room < 420 ? 4 : 10).map(({ t }) => ({ t, text: textOf(t) }));
  ui.track = createTrack(chart, { y: 11, high: 4, fill: "var(--idle)", r: 8 });
  const axis = timeAxis(chart, marks, { y: 36, top: 14, bottom: 20, rule: "var(--edge)" });
  chart.picture.append(ui.track.line, ui.track.past, ...axis, ui.track.knob);
  ui.scrub.replaceChildren(chart.picture);
}

/** Signs of a legend, by kind of picture, as the style sheet has them, and what has no sign. */
const LEGENDS = {
  pipelines: [
    ["F", "B", "W", "deep", "bubble", "activations"],
    ["micro", "letters"],
  ],
  sharding: [
    ["forward", "backward", "opt", "waits", "gather", "reduce"],
    ["block", "bytes"],
  ],
};

function buildLaneFoot(ui) {
  const [signs, words] = LEGENDS[ui.data.kind],
    { legend } = ui.words;
  ui.foot.replaceChildren(
    ...signs.map((name) => swatch(`.${name}`, legend[name])),
    ...words.map((name) => el("span", legend[name])),
  );
}

/** One frame: the cursor, the veil over what is to come, and who is done. */
function tickLanes(ui) {
  const { data, clock, views, unit } = ui;
  if (!data || !views[0]?.chart) return;
  const words = ui.words,
    [{ chart }] = views;
  for (const part of [ui.track, ...views.map((view) => view.chart)]) part.move(clock.t);
  drawTransport(ui.parts, clock, words, fill(words.of, { now: unit.num(clock.t), total: unit.fmt(chart.total) }));
  const done = data.runners.filter((run) => clock.t >= run.time * (1 - 1e-12)),
    open = data.runners.filter((run) => !done.includes(run));
  sayLanes(ui, done, open, clock.t);
  mirrorClock(ui, { finished: String(done.length) });
}

/** "a, b and c", and how many they are. */
function nameRuns({ listed, and }, runs) {
  const names = runs.map((run) => run.name);
  return { names: [names.slice(0, -1).join(listed), names.at(-1)].filter(Boolean).join(and), runners: runs.length };
}

/** Who is done at `time`, and that the `slowest` of those that are `open` need `left` more; empty while all run. */
export function sayDone(words, { done, open, slowest }, time, left) {
  if (!done.length) return "";
  if (!open.length) return fill(words.done, { names: words.allDone, runners: 2, time, rest: "" });
  const need = fill(words.left, { ...nameRuns(words, slowest), time: left });
  return fill(words.done, { ...nameRuns(words, done), time, rest: fill(words.rest, { left: need }) });
}

/** Who is done and what the slowest still need; then what is always true of them. */
function sayLanes(ui, done, open, now) {
  const { data, unit } = ui,
    longest = Math.max(0, ...open.map((run) => run.time)),
    slowest = open.filter((run) => run.time >= longest * (1 - 1e-9)),
    head = sayDone(ui.words, { done, open, slowest }, unit.fmt(now), unit.fmt(longest - now));
  const key = `${head}|${data.said}`;
  if (ui.spoken === key) return;
  ui.spoken = key;
  ui.says.replaceChildren(...(head ? [el("b", head), " "] : []), data.said);
}

function dragLanes(ui) {
  const seek = (ev) => {
    const [view] = ui.views;
    if (view) ui.clock.seek(view.chart.timeAt(ev));
  };
  for (const area of [ui.rows, ui.scrub]) {
    dragTime(area, seek, { isTrack: ({ target }) => Boolean(target.closest?.(".field,.scrub")) });
    area.addEventListener("pointerdown", (ev) => hoverLanes(ui, ev, true));
    area.addEventListener("pointermove", (ev) => {
      if (!ev.buttons) hoverLanes(ui, ev, false);
    });
    area.addEventListener("pointerleave", () => focusOn(ui, null, ui.tip.textContent));
  }
}

/** What is under the pointer lights up in all rows; a click on a wait names the box that ends it. */
function hoverLanes(ui, ev, clicked) {
  const view = ui.views.find(({ field }) => field.contains(ev.target));
  if (!view) return;
  const { top } = view.field.getBoundingClientRect(),
    hit = laneHit(view.layout, view.chart.timeAt(ev), ev.clientY - top),
    words = ui.words,
    { num, fmt } = ui.unit;
  if (!hit) {
    focusOn(ui, null, "");
    return;
  }
  const where = ui.data.kind === "sharding" ? words[hit.row.name] : `${words.gpu} ${hit.row.name}`;
  if (hit.box) {
    const [a, b, text, kind] = hit.box;
    const what = [words.pass[kind], text].filter(Boolean).join(" ");
    focusOn(ui, text || null, fill(words.box, { what, where, begin: num(a), end: fmt(b) }));
  } else if (hit.next) {
    const [, , micro, kind] = hit.next,
      span = { begin: num(hit.gap[0]), end: fmt(hit.gap[1]) };
    focusOn(ui, clicked ? micro : null, fill(words.gap, { where, ...span, what: words.pass[kind], micro }));
  } else focusOn(ui, null, fill(words.end, { where, begin: num(hit.gap[0]), end: fmt(hit.gap[1]) }));
}

function focusOn(ui, focus, tip) {
  setText(ui.tip, tip);
  if (ui.focus === focus) return;
  ui.focus = focus;
  for (const { chart } of ui.views) lightUp(chart.picture, focus);
}

export default component((box) => withPlayback("lanes", createTimed(box, CARD)));
