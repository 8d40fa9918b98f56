// A small code editor for a Streamlit component: line numbers, colours, Tab indents, one line can be marked as wrong.
// Data is only ever written with textContent or as a textarea's value, never as markup. Next to the lanes of a rank
// program its margin has the ranks that are in a line at the cursor.
import {
  LINES_AT_CURSOR,
  LINES_POINTED_AT,
  LINES_REQUESTED,
  LINE_POINTED_AT,
  announce,
} from "../../../viz/program/sourcelines.js";
import { el } from "../../../viz/player/draw/elements.js";

const MAX_CHIPS = 3; // ranks named on a line; more are a range or a number of ranks
const PYTHON =
  "def|for|in|while|if|elif|else|yield|from|return|import|as|not|and|or|lambda|pass|break|continue|range" +
  "|None|True|False";
const TEXT = String.raw`"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'`;
const WORDS = new RegExp(String.raw`(#.*)|(${TEXT})|\b(${PYTHON})\b|\b(\d+)\b|\b(copy|reduce|repeat)\b`, "g");
const KINDS = ["note", "text", "word", "number", "step"];

function pieces(code) {
  const out = [];
  let at = 0;
  for (const m of code.matchAll(WORDS)) {
    if (m.index > at) out.push(["", code.slice(at, m.index)]);
    out.push([KINDS[m.slice(1).findIndex((x) => x !== undefined)], m[0]]);
    at = m.index + m[0].length;
  }
  if (at < code.length) out.push(["", code.slice(at)]);
  return out;
}

/** The text and selection after Tab, Shift-Tab or Enter: indents by four, keeps the indentation of the line before. */
function typed(key, back, text, from, to) {
  const first = text.lastIndexOf("\n", from - 1) + 1;
  if (key === "Enter") {
    const before = text.slice(first, from);
    const indent = before.match(/^ */)[0] + (/:\s*(#.*)?$/.test(before) ? "    " : "");
    return [text.slice(0, from) + "\n" + indent + text.slice(to), from + 1 + indent.length, from + 1 + indent.length];
  }
  if (!back && from === to) return [text.slice(0, from) + "    " + text.slice(to), from + 4, from + 4];
  const lines = text.slice(first, to).split("\n");
  const moved = lines.map((l) => (back ? l.replace(/^ {1,4}/, "") : "    " + l)),
    joined = moved.join("\n");
  const start = Math.max(first, from + moved[0].length - lines[0].length);
  return [text.slice(0, first) + joined + text.slice(to), start, first + joined.length];
}

const MOUNTS = new WeakMap();

/** What the chips of a line say: each rank, a range of them, or how many they are. */
export function labelRanks(ranks) {
  const sorted = [...ranks].sort((a, b) => a - b),
    last = sorted[sorted.length - 1];
  if (sorted.length <= 2) return sorted.map(String);
  if (last - sorted[0] === sorted.length - 1) return [`${sorted[0]}–${last}`];
  return sorted.length <= MAX_CHIPS ? sorted.map(String) : [`×${sorted.length}`];
}

function buildNumber(number, { line, atCursor, pointedAt }) {
  const { ranks = [], isStuck } = atCursor[number] ?? {},
    kinds = { bad: number === line, here: ranks.length, stuck: isStuck, pointed: pointedAt.includes(number) };
  const className = Object.keys(kinds).filter((kind) => kinds[kind]).join(" "); // prettier-ignore
  return el("span", { className }, ...labelRanks(ranks).map((label) => el("span.chip", label)), String(number));
}

/** Draw the numbers of lines, with the ranks that are in them. */
function paintNumbers(editor) {
  const lines = editor.area.value.split("\n").length,
    numbers = Array.from({ length: lines }, (_, k) => buildNumber(k + 1, editor));
  editor.box.querySelector(".lines").replaceChildren(...numbers);
}

/** Draw the text, its line numbers and the line that is wrong. */
function paint(editor) {
  const { area, box, line } = editor,
    lines = area.value.split("\n").length,
    bar = box.querySelector(".bar");
  paintNumbers(editor);
  box
    .querySelector(".paint")
    .replaceChildren(...pieces(area.value + "\n").map(([kind, text]) => el("span", { className: kind }, text)));
  bar.style.display = line ? "block" : "none";
  bar.style.top = `${10 + 22 * ((line ?? 1) - 1)}px`;
  box.querySelector(".inner").style.height = `${lines * 22 + 30}px`;
}

function send(editor, delay) {
  clearTimeout(editor.timer);
  const { area, turn } = editor;
  editor.timer = setTimeout(() => editor.send?.("code", { text: area.value, turn }), delay);
}

function change(editor) {
  editor.line = null;
  editor.isRun = false; // ranks and lines are those of the source that was run
  editor.atCursor = {};
  paint(editor);
  send(editor, 600);
}

function onKey(editor, event) {
  const { area } = editor,
    isNewLine = event.key === "Enter" && !event.shiftKey && !event.isComposing;
  event.stopPropagation();
  if (event.key === "Escape") {
    editor.leave = true;
    return;
  }
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    send(editor, 0);
    return;
  }
  if ((event.key === "Tab" && !editor.leave) || isNewLine) {
    event.preventDefault();
    const [text, from, to] = typed(event.key, event.shiftKey, area.value, area.selectionStart, area.selectionEnd);
    area.value = text;
    area.setSelectionRange(from, to);
    change(editor);
  }
  editor.leave = false;
}

function build(root) {
  const box = root.querySelector(".editor"),
    area = box.querySelector("textarea"),
    editor = { area, box, timer: 0, leave: false, atCursor: {}, pointedAt: [], isRun: false };
  area.addEventListener("input", () => change(editor));
  area.addEventListener("keydown", (event) => onKey(editor, event));
  editor.listeners = { [LINES_AT_CURSOR]: "atCursor", [LINES_POINTED_AT]: "pointedAt" };
  for (const [kind, field] of Object.entries(editor.listeners))
    editor.listeners[kind] = ({ detail }) => {
      if (!editor.isRun || JSON.stringify(editor[field]) === JSON.stringify(detail)) return;
      editor[field] = detail;
      paintNumbers(editor);
    };
  box.addEventListener("pointermove", (event) => pointAt(editor, findLine(editor, event.clientY)));
  box.addEventListener("pointerleave", () => pointAt(editor, null));
  return editor;
}

/** The number of the line at a height of the window, or null. */
function findLine({ area, box }, clientY) {
  const line = 1 + Math.floor((clientY - box.querySelector(".inner").getBoundingClientRect().top - 10) / 22);
  return line >= 1 && line <= area.value.split("\n").length ? line : null;
}

function pointAt(editor, line) {
  const wanted = editor.isRun ? line : null;
  if (editor.hovered === wanted) return;
  editor.hovered = wanted;
  announce(LINE_POINTED_AT, wanted);
}

/** Other code has come from below, from a fix or from a student: it and its verdict are at the top of the page. */
function scrollToTop(element) {
  const host = element.getRootNode().host ?? element;
  host.closest("[data-testid=stMain]")?.scrollTo({ top: 0 });
}

export default function ({ data, parentElement, setStateValue }) {
  let editor = MOUNTS.get(parentElement);
  if (!editor) {
    editor = build(parentElement);
    MOUNTS.set(parentElement, editor);
  }
  editor.send = setStateValue;
  editor.area.setAttribute("aria-label", data.label);
  editor.box.classList.toggle("tall", Boolean(data.tall));
  if (editor.turn !== data.turn) {
    if (editor.turn !== undefined) scrollToTop(parentElement);
    editor.turn = data.turn;
    editor.area.value = data.code;
  }
  editor.line = editor.area.value === data.code ? data.line : editor.line;
  editor.box.dataset.line = editor.line ?? "";
  editor.box.classList.toggle("ranks", Boolean(data.ranks));
  editor.isRun = Boolean(data.run) && editor.area.value === data.code;
  if (!editor.isRun) editor.atCursor = {};
  paint(editor);
  for (const [kind, listener] of Object.entries(editor.listeners)) window.addEventListener(kind, listener);
  announce(LINES_REQUESTED, null);
  return () => {
    for (const [kind, listener] of Object.entries(editor.listeners)) window.removeEventListener(kind, listener);
  };
}
