// The pictures of a rank program, drawn by Python as SVG: one for a wide and one for a narrow screen. A cursor goes
// over them, a sentence says what the ranks do at that moment, and the editor next to them marks the lines that they
// are in. The pictures are parsed as images: a script in one would not run.
import { el, parsePicture, setText } from "../player/draw/elements.js";
import { component } from "../player/mount.js";
import { withPlayback } from "../player/playback.js";
import buttonsSheet from "../transport/buttons.css" with { type: "text" };
import programSheet from "./programlanes.css" with { type: "text" };
import { createChart, createCursor } from "../transport/lanechart.js";
import { createTimed } from "../transport/timed.js";
import { createTransport, drawTransport } from "../player/ui/transport.js";
import { PROGRAM } from "../words/words.js";
import { LINES_AT_CURSOR, LINES_POINTED_AT, LINES_REQUESTED, LINE_POINTED_AT, announce } from "./sourcelines.js";

const SHAPES = ["wide", "narrow"];
/** The lanes of a program. Their data are {id, wide, narrow, moments, playback, counters, language, theme}. */
const CARD = {
  className: "lanes",
  css: [buttonsSheet, programSheet],
  words: PROGRAM,
  seconds: 8,
  build: buildProgram,
  total: ({ moments }) => moments.at(-1)[0],
  moments: ({ moments }) => moments.map(([t]) => t),
  begin: beginProgram,
  dress: dressProgram,
  arrange() {},
  tick: showMoment,
  end: endProgram,
};

function buildProgram(ui) {
  for (const [name, tag] of Object.entries({ say: "p", bar: "div", wide: "div", narrow: "div", counts: "table" }))
    ui[name] = el(tag, { className: name });
  ui.say.setAttribute("aria-live", "polite");
  ui.range = el("input", { type: "range", min: "0", max: "1", step: "0.001" });
  ui.range.oninput = () => seekWhole(ui, Number(ui.range.value) * ui.clock.total);
  ui.unheard = new AbortController();
  const { signal } = ui.unheard;
  window.addEventListener(LINE_POINTED_AT, (/** @type {any} */ { detail }) => light(ui.root, detail), { signal });
  window.addEventListener(LINES_REQUESTED, () => announceLines(ui), { signal });
  return [ui.say, ui.bar, ui.wide, ui.narrow, ui.counts];
}

function endProgram(ui) {
  ui.unheard.abort();
  announce(LINES_AT_CURSOR, {});
}

function dressProgram(ui) {
  const { data, root, words, clock } = ui;
  ui.parts = createTransport(ui);
  ui.range.setAttribute("aria-label", words.time);
  ui.bar.hidden = clock.total <= 0;
  ui.bar.replaceChildren(ui.parts.moves, ui.range);
  ui.counts.replaceChildren(...buildRows(data.counters, words));
  ui.counters = [...root.querySelectorAll("[data-counter]")];
  for (const head of root.querySelectorAll("[data-head]"))
    head.textContent = words[head.dataset.head] + (head.dataset.unit ? `, ${head.dataset.unit}` : "");
}

/** Other pictures begin where their run says. */
function beginProgram(ui, before) {
  const { data, clock } = ui;
  if (before?.id === data.id) return undefined;
  clock.pause();
  ui.pictures = SHAPES.map((shape) => {
    const { picture, cursor, timeAt } = readPicture(data[shape], clock.total);
    ui[shape].replaceChildren(picture);
    picture.onclick = (event) => seekWhole(ui, timeAt(event));
    picture.onpointerover = (event) => announce(LINES_POINTED_AT, readLines(event.target));
    picture.onpointerleave = () => announce(LINES_POINTED_AT, []);
    return cursor;
  });
  return data.playback.begin;
}

function seekWhole({ clock }, t) {
  clock.pause();
  clock.seek(t);
}

const announceLines = ({ data, clock }) => announce(LINES_AT_CURSOR, findLines(data?.playback.spans ?? [], clock.t));

/** One frame: the cursor, the sentence, the counters, and the lines of the editor. */
function showMoment(ui) {
  const { data, clock, parts, range, words } = ui,
    sentence = data.moments[findMoment(data.moments, clock.t)][1],
    counts = countUpTo(data.playback, clock.t);
  setText(ui.say, sentence);
  drawTransport(parts, clock, words, "");
  range.value = String(clock.total > 0 ? clock.t / clock.total : 0);
  range.setAttribute("aria-valuetext", sentence);
  ui.root.dataset.t = String(clock.t);
  for (const cursor of ui.pictures) cursor.move(clock.t);
  for (const cell of ui.counters) {
    const { counter, rank, unit, digits } = cell.dataset;
    setText(cell, (counts[Number(rank)][counter] / Number(unit)).toFixed(Number(digits)));
  }
  announceLines(ui);
}

/** Index of the last moment that has begun at `time`. */
export function findMoment(moments, time) {
  let index = 0;
  while (index + 1 < moments.length && moments[index + 1][0] <= time + 1e-12) index++;
  return index;
}

/** The ranks that are in a call at `time`, by the line of the call: `{line: {ranks, isStuck}}`. A span has its rank,
 * its line, its begin and its end, which is null where the call never returns. */
export function findLines(spans, time) {
  const lines = {};
  for (const [rank, line, begin, end] of spans) {
    if (begin > time + 1e-12 || (end !== null && end <= time + 1e-12)) continue;
    lines[line] ??= { ranks: [], isStuck: false };
    lines[line].ranks.push(rank);
    lines[line].isStuck ||= end === null;
  }
  return lines;
}

/** What each rank has sent and received, in bytes, and how long it has waited, in s, up to `time`. A message has its
 * ends, its bytes, when its first byte leaves and when its last one arrives, and how long a byte takes. */
export function countUpTo({ messages, spans, ranks }, time) {
  const counts = Array.from({ length: ranks }, () => ({ sent: 0, received: 0, waited: 0 }));
  for (const [src, dst, nbytes, begin, end, latency] of messages) {
    const lasts = Math.max(end - begin - latency, 1e-15);
    counts[src].sent += nbytes * limit((time - begin) / lasts);
    counts[dst].received += nbytes * limit((time - begin - latency) / lasts);
  }
  for (const [rank, , begin, end] of spans) counts[rank].waited += Math.max(0, Math.min(time, end ?? Infinity) - begin);
  return counts;
}

function limit(share) {
  return share >= 1 - 1e-9 ? 1 : Math.max(0, share); // what rounding leaves of a message is no bytes that are under way
}

/** Let all that is not of a line of the source fade; of null nothing does. */
function light(root, line) {
  for (const mark of root.querySelectorAll("[data-lines]"))
    mark.classList.toggle("faded", line !== null && !mark.dataset.lines.split(" ").includes(String(line)));
}

/** The rows of the table of counters, for screens that are too narrow for them beside the lanes. */
function buildRows(counters, words) {
  if (!counters.length) return [];
  const cell = (tag, textContent, data = {}) => {
      const box = el(tag, { textContent });
      Object.assign(box.dataset, data);
      return box;
    },
    heads = counters.map(({ name, unit_name }) => cell("th", "", { head: name, unit: unit_name })),
    numbers = (rank) => counters.map(({ name, unit, digits }) => cell("td", "", { counter: name, rank, unit, digits }));
  return [
    el("tr", cell("th", words.rank), ...heads),
    ...counters[0].values.map((_, rank) => el("tr", cell("td", `rank ${rank}`), ...numbers(rank))),
  ];
}

/** The lines of the source that a mark of a picture is about. */
function readLines(mark) {
  const lines = mark.closest("[data-lines]")?.dataset.lines;
  return lines ? lines.split(" ").map(Number) : [];
}

/** Parse a picture, with a cursor and the time axis that Python gave it: 0 s at `x0`, the end at `x1`. */
function readPicture(text, end) {
  const picture = /** @type {any} */ (parsePicture(text)),
    { width, height } = picture.viewBox.baseVal,
    [x0, x1] = [Number(picture.dataset.x0), Number(picture.dataset.x1)],
    chart = createChart({ picture, width, height, total: end, left: x0, right: width - x1 }),
    cursor = createCursor(chart, { top: 20 });
  if (end > 0) picture.append(cursor.node); // a hang at once has no time to show
  /** The time that a click means: where a wait begins that was hit, else that of its position. */
  const timeAt = (event) => Number(event.target.dataset.begin ?? chart.timeAt(event));
  return { picture, cursor, timeAt };
}

export default component((box) => withPlayback("program", createTimed(box, CARD)));
