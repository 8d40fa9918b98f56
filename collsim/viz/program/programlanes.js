// The pictures of a rank program, drawn by Python as SVG: one for a wide and one for a narrow screen. A cursor goes
// over them, a sentence says what the ranks do at that moment, and the editor next to them marks the lines that they
// are in. The pictures are parsed as images: a script in one would not run.
import { LINES_AT_CURSOR, LINES_POINTED_AT, LINES_REQUESTED, LINE_POINTED_AT, announce } from "./sourcelines.js";

const SHAPES = ["wide", "narrow"];
const SECONDS = 8; // for a whole run at normal speed
const KEYS = { ArrowLeft: 1, " ": 2, ArrowRight: 3, Home: 0 }; // buttons that they press

/** What stays while Streamlit calls again with the same data, by element. */
const states = new WeakMap();

export default function ({ data, parentElement }) {
  let state = states.get(parentElement);
  if (state?.id !== data.id) {
    state?.cursor.stop();
    for (const shape of SHAPES) {
      const picture = new DOMParser().parseFromString(data[shape], "image/svg+xml").documentElement;
      parentElement.querySelector(`.${shape}`).replaceChildren(document.importNode(picture, true));
    }
    state = { id: data.id, cursor: new Cursor(parentElement, data) };
    states.set(parentElement, state);
    state.cursor.connect();
    state.cursor.seek(data.playback.begin);
  }
  state.cursor.start(); // again each time: Streamlit may clean up after a call and go on with the same elements
  return () => state.cursor.stop();
}

/** Index of the last moment that has begun at `time`. */
export function findMoment(moments, time) {
  let index = 0;
  while (index + 1 < moments.length && moments[index + 1][0] <= time + 1e-12) index++;
  return index;
}

/** The moment after `time`, or the one before it; the ends stay. */
export function stepMoment(moments, time, direction) {
  const later = moments.find(([moment]) => moment > time + 1e-12);
  const earlier = moments.findLast(([moment]) => moment < time - 1e-12);
  return (direction > 0 ? later : earlier)?.[0] ?? time;
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

/** A moment of the run, shown on every picture and in words, with its controls. */
class Cursor {
  constructor(root, { moments, words, playback, counters }) {
    this.root = root;
    this.moments = moments;
    this.words = words;
    this.playback = playback;
    this.time = this.frame = this.before = 0;
    this.end = moments[moments.length - 1][0];
    this.lanes = root.querySelector(".lanes");
    this.buttons = root.querySelectorAll(".bar button");
    this.play = this.buttons[2];
    this.range = root.querySelector(".bar input");
    this.pictures = [...root.querySelectorAll("svg.pl")];
    this.lines = [];
    const isStill = this.end <= 0;
    root.querySelector(".bar").hidden = isStill;
    if (!isStill) this.lines = this.pictures.map((picture) => addLine(picture, this.end));
    root.querySelector(".counts").replaceChildren(...buildRows(counters, words));
    this.counters = [...root.querySelectorAll("[data-counter]")];
    for (const head of root.querySelectorAll("[data-head]"))
      head.textContent = words[head.dataset.head] + (head.dataset.unit ? `, ${head.dataset.unit}` : "");
    this.onLine = (/** @type {any} */ event) => this.light(event.detail);
    this.onRequest = () => announce(LINES_AT_CURSOR, findLines(this.playback.spans, this.time));
  }

  seek(wanted) {
    this.time = Math.min(this.end, Math.max(0, wanted));
    this.show();
  }

  show() {
    const text = this.moments[findMoment(this.moments, this.time)][1];
    const say = this.root.querySelector(".say");
    if (say.textContent !== text) say.textContent = text;
    this.range.value = String(this.end > 0 ? this.time / this.end : 0);
    this.range.setAttribute("aria-valuetext", text);
    this.lanes.dataset.t = String(this.time);
    for (const move of this.lines) move(this.time);
    const counts = countUpTo(this.playback, this.time);
    for (const cell of this.counters) {
      const { counter, rank, unit, digits } = cell.dataset;
      const value = (counts[Number(rank)][counter] / Number(unit)).toFixed(Number(digits));
      if (cell.textContent !== value) cell.textContent = value;
    }
    this.onRequest();
  }

  tick(now) {
    this.seek(this.time + ((now - this.before) / 1000 / SECONDS) * this.end);
    this.before = now;
    if (this.time >= this.end) this.pause();
    else this.frame = requestAnimationFrame((next) => this.tick(next));
  }

  pause() {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    this.play.textContent = "▶";
    this.play.setAttribute("aria-label", this.words.play);
  }

  toggle() {
    if (this.frame) return this.pause();
    if (this.time >= this.end) this.seek(0);
    this.before = performance.now();
    this.play.textContent = "❚❚";
    this.play.setAttribute("aria-label", this.words.pause);
    this.frame = requestAnimationFrame((now) => this.tick(now));
  }

  /** Tell the editor where it is, and listen to it. */
  start() {
    window.addEventListener(LINE_POINTED_AT, this.onLine);
    window.addEventListener(LINES_REQUESTED, this.onRequest);
    this.show();
  }

  stop() {
    this.pause();
    window.removeEventListener(LINE_POINTED_AT, this.onLine);
    window.removeEventListener(LINES_REQUESTED, this.onRequest);
    announce(LINES_AT_CURSOR, {});
  }

  /** Let controls, keys and the pointer move it. */
  connect() {
    const jump = (find) => (event) => {
      this.pause();
      this.seek(find(event));
    };
    const [start, back, play, next] = this.buttons;
    start.onclick = jump(() => 0);
    back.onclick = jump(() => stepMoment(this.moments, this.time, -1));
    next.onclick = jump(() => stepMoment(this.moments, this.time, 1));
    play.onclick = () => this.toggle();
    this.range.oninput = jump(() => Number(this.range.value) * this.end);
    this.lanes.onkeydown = (event) => this.press(event);
    for (const picture of this.pictures) {
      picture.onclick = jump((event) => findTime(picture, event, this.end));
      picture.onpointerover = (event) => announce(LINES_POINTED_AT, readLines(event.target));
      picture.onpointerleave = () => announce(LINES_POINTED_AT, []);
    }
    this.pause();
  }

  press(event) {
    if (event.target === this.range || !(event.key in KEYS || event.key === "End")) return;
    if (event.target.tagName === "BUTTON" && event.key === " ") return; // presses that button
    event.preventDefault();
    if (event.key === "End") {
      this.pause();
      this.seek(this.end);
    } else this.buttons[KEYS[event.key]].click();
  }

  /** Let all that is not of a line of the source fade; of null nothing does. */
  light(line) {
    for (const mark of this.root.querySelectorAll("[data-lines]"))
      mark.classList.toggle("faded", line !== null && !mark.dataset.lines.split(" ").includes(String(line)));
  }
}

/** The rows of the table of counters, for screens that are too narrow for them beside the lanes. */
function buildRows(counters, words) {
  if (!counters.length) return [];
  const cell = (name, textContent, data = {}) => {
    const element = Object.assign(document.createElement(name), { textContent });
    Object.assign(element.dataset, data);
    return element;
  };
  const row = (cells) => {
    const element = document.createElement("tr");
    element.append(...cells);
    return element;
  };
  const heads = counters.map(({ name, unit_name }) => cell("th", "", { head: name, unit: unit_name })),
    rows = counters[0].values.map((_, rank) =>
      row([
        cell("td", `rank ${rank}`),
        ...counters.map(({ name, unit, digits }) => cell("td", "", { counter: name, rank, unit, digits })),
      ]),
    );
  return [row([cell("th", words.rank), ...heads]), ...rows];
}

/** The lines of the source that a mark of a picture is about. */
function readLines(mark) {
  const lines = mark.closest("[data-lines]")?.dataset.lines;
  return lines ? lines.split(" ").map(Number) : [];
}

/** The time that a click on a picture means: where a wait begins that was hit, else that of its position. */
function findTime(picture, { target, clientX }, end) {
  if (target.dataset.begin) return Number(target.dataset.begin);
  const box = picture.getBoundingClientRect(),
    { x0, x1 } = picture.dataset;
  const x = ((clientX - box.left) / box.width) * picture.viewBox.baseVal.width;
  return ((x - Number(x0)) / (Number(x1) - Number(x0))) * end;
}

/** Add the line of the cursor to a picture; returns what moves it to a time. */
function addLine(picture, end) {
  const { x0, x1 } = picture.dataset;
  const line = document.createElementNS(picture.namespaceURI, "path");
  line.setAttribute("class", "cursor");
  line.setAttribute("stroke", "var(--cs-ink)");
  line.setAttribute("stroke-width", "2.5");
  line.setAttribute("pointer-events", "none");
  picture.append(line);
  return (time) => {
    const x = Number(x0) + (time / end) * (Number(x1) - Number(x0));
    line.setAttribute("d", `M${x.toFixed(1)} 20V${picture.viewBox.baseVal.height}`);
  };
}
