// The guide of the first page: four steps that lead on, ticked as they are done by any way. Whoever closes it has it
// closed at the next visit too.

import { el, nameButton } from "../player/draw/elements.js";
import { fmtSpan } from "../player/model/units.js";
import { fill } from "../words/choice.js";

const STORED = "collsim.guide";

/** Steps in order: what ticks them is `markStep(simple, name)`. */
const STEPS = ["play", "cards", "story", "custom"];

/** What a browser remembers of the guide: whether it is closed, and which steps are done. */
function readStored() {
  try {
    const { closed, done } = JSON.parse(localStorage.getItem(STORED) ?? "{}");
    return { closed: closed === true, done: STEPS.filter((name) => Array.isArray(done) && done.includes(name)) };
  } catch {
    return { closed: false, done: [] }; // a browser that stores nothing, or something of somebody else
  }
}

function store({ closed, done }) {
  try {
    localStorage.setItem(STORED, JSON.stringify({ closed, done }));
  } catch {
    // nothing to remember it by
  }
}

/** The guide's elements, beside the picture. */
export function buildGuide(simple) {
  const state = readStored(),
    box = el("aside.guide"),
    open = el("button.btn.reopen", { onclick: () => toggleGuide(simple) }, "?");
  simple.guide = { ...state, box, open };
}

/** Close or open it. */
export function toggleGuide(simple) {
  simple.guide.closed = !simple.guide.closed;
  store(simple.guide);
  dressGuide(simple);
  simple.rearrange();
}

/** A step is done, whichever way. */
export function markStep(simple, name) {
  const { guide } = simple;
  if (guide.done.includes(name)) return;
  guide.done = STEPS.filter((step) => step === name || guide.done.includes(step));
  store(guide);
  dressGuide(simple);
}

/** Its texts, in the language and for the runs that are shown. */
export function dressGuide(simple) {
  const { guide, words, root, data, predict } = simple;
  if (!data) return;
  const isOffered = data.guide !== false && !predict,
    isShown = isOffered && !guide.closed;
  root.classList.toggle("guided", isShown);
  guide.box.style.display = isShown ? "" : "none";
  guide.open.style.display = guide.closed && isOffered ? "" : "none";
  nameButton(guide.open, words.guide.open);
  guide.box.setAttribute("aria-label", words.guide.title);
  const steps = STEPS.filter((name) => name !== "cards" || data.runs[1]),
    done = steps.filter((name) => guide.done.includes(name)),
    next = steps.find((name) => !done.includes(name));
  const close = el("button.close", { onclick: () => toggleGuide(simple) }, "×");
  nameButton(close, words.guide.close);
  const count = next ? fill(words.guide.count, { done: done.length, total: steps.length }) : words.guide.all;
  guide.box.replaceChildren(
    el("header", el("b", words.guide.title), el("span", count), close),
    el("ol", ...steps.map((name, q) => buildStep(simple, name, { number: q + 1, isNext: name === next }))),
    el("p.keys", words.guide.keys),
  );
}

/** "Use all 8 network cards", or channels. */
const sayUse = ({ use }, { cards, channels }) =>
  cards > 1 ? fill(use.cards, { count: cards }) : fill(use.channels, { count: channels });

function buildStep(simple, name, { number, isNext }) {
  const { guide, words, data } = simple,
    isDone = guide.done.includes(name),
    [single, all] = data.runs,
    times = { single: fmtSpan(single.time), all: all && fmtSpan(all.time) },
    { title = sayUse(words, all), line } = words.guide.steps[name];
  const mark = el("i", isDone ? "✓" : String(number));
  if (isDone) mark.setAttribute("aria-label", words.guide.done);
  const head = name === "play" || name === "cards" ? actOf(simple, name, title) : el("b", title);
  return el(
    "li",
    { className: `${isDone ? "done" : ""}${isNext ? " next" : ""}` },
    mark,
    el("div", head, el("small", fill(line, times)), ...linksOf(simple, name)),
  );
}

/** A step's name that does the thing. */
function actOf(simple, name, title) {
  const act = { play: () => simple.clock.play(), cards: () => simple.turnCards(true) };
  return el("button.act", { onclick: act[name] }, title);
}

/** Where a step leads. */
function linksOf(simple, name) {
  const { words, language } = simple,
    onclick = () => markStep(simple, name),
    link = (path, text) => el("a", { href: `${path}?lang=${language}`, target: "_self", onclick }, text);
  if (name === "story") return [link("story", words.guide.story)];
  if (name !== "custom") return [];
  const { program, machine, lesson } = words.guide.custom;
  return [link("program", program), link("machines", machine), link("lessons", lesson)];
}
