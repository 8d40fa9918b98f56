// The pictures of a rank program, drawn by Python as SVG: one for a wide and one for a narrow screen. A cursor goes
// over them, a sentence says what the ranks do at that moment, and the editor next to them marks the lines that they
// are in. The pictures are parsed as images: a script in one would not run.
import { el, setText } from "../player/draw/elements.js";
import { createClock } from "../player/model/clock.js";
import { component } from "../player/mount.js";
import { actOnKey } from "../player/ui/keys.js";
import { createShell, dressRoot } from "../player/ui/shell.js";
import buttonsSheet from "../transport/buttons.css" with { type: "text" };
import programSheet from "./programlanes.css" with { type: "text" };
import { createCursor } from "../transport/lanechart.js";
import { createTransport, drawTransport, transportKeys, turnTo } from "../transport/transport.js";
import { pickWords } from "../words/choice.js";
import { PROGRAM } from "../words/program_by_language.js";
import { LINES_AT_CURSOR, LINES_POINTED_AT, LINES_REQUESTED, LINE_POINTED_AT, announce } from "./sourcelines.js";

const SHAPES = ["wide", "narrow"];
const SECONDS = 8; // for a whole run at normal speed

/** Mount the lanes of a program into `host`. Its data are {id, wide, narrow, moments, playback, counters, language,
 * theme}. */
function createProgram(host) {
  /** @type {any} */
  const ui = { clock: createClock(), data: null, pictures: [], root: null };
  for (const [name, tag] of Object.entries({ say: "p", bar: "div", wide: "div", narrow: "div", counts: "table" }))
    ui[name] = el(tag, { className: name });
  ui.say.setAttribute("aria-live", "polite");
  ui.range = el("input", { type: "range", min: "0", max: "1", step: "0.001" });
  ui.range.oninput = () => seekWhole(ui, Number(ui.range.value) * ui.clock.total);
  ui.turn = (by) => turnTo(ui.clock, ui.moments, by, 1e-12);
  const look = { className: "lanes", css: [buttonsSheet, programSheet], isFocusable: true, arrange() {} },
    shell = createShell(host, look, ui.say, ui.bar, ui.wide, ui.narrow, ui.counts),
    { root } = shell,
    onLine = (/** @type {any} */ event) => light(root, event.detail),
    onRequest = () => announceLines(ui);
  ui.root = root;
  root.addEventListener("keydown", (ev) => actOnKey(ev, transportKeys({ root, clock: ui.clock, turn: ui.turn })));
  window.addEventListener(LINE_POINTED_AT, onLine);
  window.addEventListener(LINES_REQUESTED, onRequest);
  return {
    update: (data) => setProgram(ui, data),
    destroy() {
      ui.clock.pause();
      window.removeEventListener(LINE_POINTED_AT, onLine);
      window.removeEventListener(LINES_REQUESTED, onRequest);
      announce(LINES_AT_CURSOR, {});
      shell.remove();
    },
  };
}

function setProgram(ui, data) {
  const { clock, root } = ui,
    isOther = ui.data?.id !== data.id,
    isSame = !isOther && ui.data.language === data.language && ui.data.theme === data.theme;
  ui.data = data;
  if (isSame) return announceLines(ui);
  ui.words = pickWords(PROGRAM, data.language);
  dressRoot(root, data);
  root.setAttribute("aria-label", ui.words.label);
  ui.range.setAttribute("aria-label", ui.words.time);
  if (isOther) setPictures(ui);
  ui.parts = createTransport({ root, clock, words: ui.words, turn: ui.turn });
  ui.bar.replaceChildren(ui.parts.moves, ui.range);
  ui.counts.replaceChildren(...buildRows(data.counters, ui.words));
  ui.counters = [...root.querySelectorAll("[data-counter]")];
  for (const head of root.querySelectorAll("[data-head]"))
    head.textContent = ui.words[head.dataset.head] + (head.dataset.unit ? `, ${head.dataset.unit}` : "");
  if (isOther) clock.seek(data.playback.begin);
  else showMoment(ui);
}

/** Other pictures, and their time. */
function setPictures(ui) {
  const { data, clock } = ui;
  ui.moments = data.moments.map(([t]) => t);
  const end = ui.moments.at(-1);
  clock.pause();
  ui.off?.();
  ui.off = clock.on(() => showMoment(ui), end, end / SECONDS);
  ui.bar.hidden = end <= 0;
  ui.pictures = SHAPES.map((shape) => {
    const { picture, cursor, timeAt } = readPicture(data[shape], end);
    ui[shape].replaceChildren(picture);
    picture.onclick = (event) => seekWhole(ui, timeAt(event));
    picture.onpointerover = (event) => announce(LINES_POINTED_AT, readLines(event.target));
    picture.onpointerleave = () => announce(LINES_POINTED_AT, []);
    return cursor;
  });
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
  if (!parts) return;
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
    el("tr", {}, cell("th", words.rank), ...heads),
    ...counters[0].values.map((_, rank) => el("tr", {}, cell("td", `rank ${rank}`), ...numbers(rank))),
  ];
}

/** The lines of the source that a mark of a picture is about. */
function readLines(mark) {
  const lines = mark.closest("[data-lines]")?.dataset.lines;
  return lines ? lines.split(" ").map(Number) : [];
}

/** Parse a picture, with a cursor and the time axis that Python gave it: 0 s at `x0`, the end at `x1`. */
function readPicture(text, end) {
  const parsed = new DOMParser().parseFromString(text, "image/svg+xml").documentElement,
    picture = /** @type {any} */ (document.importNode(parsed, true)),
    { width, height } = picture.viewBox.baseVal,
    [x0, x1] = [Number(picture.dataset.x0), Number(picture.dataset.x1)],
    across = (t) => x0 + (t / end) * (x1 - x0),
    cursor = createCursor({ across, width, height }, { top: 20 });
  if (end > 0) picture.append(cursor.node);
  /** The time that a click means: where a wait begins that was hit, else that of its position. */
  const timeAt = ({ target, clientX }) => {
    if (target.dataset.begin) return Number(target.dataset.begin);
    const box = picture.getBoundingClientRect();
    return ((((clientX - box.left) / box.width) * width - x0) / (x1 - x0)) * end;
  };
  return { picture, cursor, timeAt };
}

export default component((box) => createProgram(box));
