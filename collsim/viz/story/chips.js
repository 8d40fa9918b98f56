// Numbers in sentences: those that can be dragged, and those that follow.

import { el, setText } from "../player/draw/elements.js";
import { fill } from "../words/choice.js";
import { HUES, chipText } from "./values.js";

const PULL = 22; // pixels of dragging from one value to the next

/** A text with [chips], {numbers} and **bold** words as nodes; nothing of it is read as markup. */
export function written(story, text) {
  return text.split(/(\*\*[^*]+\*\*)/).flatMap((part) => {
    const bold = part.startsWith("**"),
      nodes = plainly(story, bold ? part.slice(2, -2) : part);
    return bold ? [el("b", ...nodes)] : nodes;
  });
}

const plainly = (story, text) =>
  text
    .replaceAll(" × ", "\u00a0×\u00a0")
    .replaceAll("2 K", "2\u00a0K")
    .split(/(\[\w+\]|\{[^}]+\})/)
    .filter(Boolean)
    .map((part) => {
      if (/^\[\w+\]$/.test(part)) return chip(story, part.slice(1, -1));
      return part.startsWith("{") ? live(story, part.slice(1, -1)) : part;
    });

/** A number that follows the others, or a word that follows a number: `n`, `n:step|steps`. */
export function live(story, name, className = "live") {
  const box = el("span", { className });
  story.follow(() => setText(box, fill(`{${name}}`, story.said)));
  return box;
}

/** A number that can be dragged: a range that a keyboard reaches, under the words that it stands for. */
export function chip(story, name, properties = {}) {
  const values = story.data.numbers[name],
    input = el("input", { type: "range", min: "0", max: String(values.length - 1), step: "1", ...properties }),
    says = el("span.says"),
    box = el("label", { className: `chip ${HUES[name] ?? "n"}` }, input, el("i", "◂"), says);
  box.append(el("i", "▸"));
  input.setAttribute("aria-label", story.words.names[name]);
  input.oninput = () => story.choose(name, values[Number(input.value)]);
  story.follow(() => {
    const text = chipText(name, story.values[name], story.words, story.data);
    input.value = String(values.indexOf(story.values[name]));
    input.setAttribute("aria-valuetext", text);
    setText(says, text);
  });
  box.ondblclick = () => story.choose(name, story.data.start[name]);
  draggable(story, box, name, input);
  return box;
}

/** Dragging moves by values, a click on either half by one. */
function draggable(story, box, name, input) {
  const values = story.data.numbers[name],
    put = (at) => story.choose(name, values[Math.min(values.length - 1, Math.max(0, at))]);
  /** @type {{ x: number, at: number, moved: boolean } | null} */
  let from = null;
  box.addEventListener("pointerdown", (ev) => {
    from = { x: ev.clientX, at: values.indexOf(story.values[name]), moved: false };
    box.setPointerCapture?.(ev.pointerId);
    input.focus({ preventScroll: true });
    ev.preventDefault();
  });
  box.addEventListener("pointermove", (ev) => {
    if (!from) return;
    const by = Math.round((ev.clientX - from.x) / PULL);
    from.moved ||= by !== 0;
    if (from.moved) put(from.at + by);
  });
  box.addEventListener("pointerup", (ev) => {
    const { left, width } = box.getBoundingClientRect();
    if (from && !from.moved) put(from.at + (ev.clientX < left + width / 2 ? -1 : 1));
    from = null;
  });
  box.addEventListener("pointercancel", () => {
    from = null;
  });
}
