// The question beside the picture, and the line of code that runs.

import { el, setText } from "../player/draw/elements.js";
import { fill } from "../words/choice.js";

/** The column beside the picture: the answers to the question that is open, and the code. */
export function buildSide(simple) {
  const { asked: question } = simple,
    kids = question ? openAnswers(simple) : [];
  simple.codeBox = question?.topic === "copy" && !question.shown ? null : buildCode(simple); // its line is the answer
  simple.side.replaceChildren(...kids, ...(simple.codeBox ? [simple.codeBox] : []));
  simple.side.setAttribute("aria-label", simple.words.predict);
}

/** Over both columns: the question that is open, or when the next one comes. */
export function askedHead(simple) {
  const { words, asked: question, language, questions } = simple;
  if (!question) return [el("h2.asks.soon", soon(simple))];
  const which = el("b", fill(words.question, { number: questions.indexOf(question) + 1, questions: questions.length }));
  return [el("h2.asks", question.text[language]), el("p.which", which, question.shown ? "" : words.waits)];
}

function soon({ words, questions, model, clock }) {
  const next = questions.find((q) => q.given == null && model.step0[q.step] >= clock.t - 1e-12);
  return next ? fill(words.nextQuestion, { step: next.step + 1 }) : words.noMore;
}

function openAnswers(simple) {
  const { words, asked: question } = simple,
    isShown = question.shown,
    choices = question.choices.map((choice, q) => answerButton(simple, choice, q));
  const go = el("button.go", { onclick: () => simple.goOn() }, isShown ? words.on : words.let);
  const help = el("small", isShown ? words.onHelp : words.letHelp);
  const row = el("div.row", go, isShown ? "" : classButton(simple), help);
  return [...choices, ...(isShown ? [verdict(simple)] : []), row];
}

/** Puts the question to a class, where somebody hears it. */
function classButton({ words, on, asked: question, questions }) {
  const onclick = () => on.askClass(questions.indexOf(question));
  return on.askClass ? el("button.btn", { onclick }, words.askClass) : "";
}

function answerButton(simple, choice, q) {
  const { asked: question, language } = simple,
    { shown: isShown, given: answered } = question,
    isChosen = answered === q,
    state = isShown ? (q === question.answer && "right") || (isChosen && "wrong") : isChosen && "given",
    look = { className: ["answer", state].filter(Boolean).join(" "), disabled: !!isShown, "aria-pressed": isChosen },
    words = el("span.text", el("b", choice.text[language]), isShown && el("small", choice.reason[language])),
    letter = el("i", String.fromCharCode(65 + q));
  return el("button", { ...look, onclick: () => simple.answer(q) }, letter, words, el("kbd", String(q + 1)));
}

function verdict({ words, asked: question, language }) {
  const { given: answered, answer } = question,
    head = answered == null || answered < 0 ? words.none : answered === answer ? words.right : words.wrong;
  return el("p.verdict", { role: "status" }, el("b", head), ` ${question.explanation[language]}`);
}

// ---- code

function buildCode({ words, model }) {
  const code = model.tl.code;
  if (!code) return null;
  const lines = code.lines.map((line) => el("code", line || " ")),
    title = el("h3", words.code, el("span.counter"));
  return el("div.code", title, el("pre", ...lines));
}

/** Mark the line that runs in step s; its counters stand beside the title. */
export function drawCode({ codeBox, model }, s, over) {
  const code = model.tl.code;
  if (!codeBox || !code) return;
  const at = over || s < 0 ? -1 : code.at[s];
  codeBox.dataset.line = String(at);
  codeBox.querySelectorAll("code").forEach((line, k) => line.classList.toggle("now", k === at));
  setText(codeBox.querySelector(".counter"), at < 0 ? "" : code.note[s]);
}
