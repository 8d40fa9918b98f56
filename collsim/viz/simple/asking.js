// The question beside the picture, and the line of code that runs.

import { el, setText } from "../player/draw/elements.js";

/** The column beside the picture: the question that is open, or when the next one comes, and the code. */
export function buildSide(simple) {
  const { W, asked } = simple,
    kids = asked ? openQuestion(simple) : [el("p", { className: "soon", textContent: soon(simple) })];
  simple.codeBox = buildCode(simple);
  simple.side.replaceChildren(...kids, ...(simple.codeBox ? [simple.codeBox] : []));
  simple.side.setAttribute("aria-label", W.predict);
}

function soon({ W, questions, m, clock }) {
  const next = questions.find((q) => q.given == null && m.step0[q.step] >= clock.t - 1e-12);
  return next ? W.next(next.step + 1) : W.noMore;
}

function openQuestion(simple) {
  const { W, asked, lang, questions } = simple,
    shown = asked.shown,
    at = questions.indexOf(asked) + 1;
  const head = el(
    "p",
    { className: "which" },
    el("b", { textContent: W.question(at, questions.length) }),
    shown ? "" : ` ${W.waits}`,
  );
  const choices = asked.choices.map((choice, q) => answerButton(simple, choice, q));
  const go = el("button", { type: "button", className: "go", textContent: shown ? W.on : W.let });
  go.onclick = () => simple.goOn();
  const help = el("small", { textContent: shown ? W.onHelp : W.letHelp });
  const parts = [head, el("h2", { className: "asks", textContent: asked.text[lang] }), ...choices];
  if (shown) parts.push(verdict(simple));
  return [...parts, el("div", { className: "row" }, go, help)];
}

function answerButton(simple, choice, q) {
  const { asked, lang } = simple,
    { shown, given } = asked,
    state = shown ? (q === asked.answer ? " right" : q === given ? " wrong" : "") : given === q ? " given" : "";
  const words = el("span", { className: "text" }, el("b", { textContent: choice.text[lang] }));
  if (shown) words.append(el("small", { textContent: choice.why[lang] }));
  const b = el("button", { type: "button", className: `answer${state}`, disabled: !!shown });
  b.append(el("i", { textContent: String.fromCharCode(65 + q) }), words, el("kbd", { textContent: String(q + 1) }));
  b.setAttribute("aria-pressed", String(given === q));
  b.onclick = () => simple.answer(q);
  return b;
}

function verdict({ W, asked, lang }) {
  const { given, answer } = asked,
    head = given == null || given < 0 ? W.none : given === answer ? W.right : W.wrong;
  const box = el("p", { className: "verdict", role: "status" }, el("b", { textContent: head }));
  box.append(` ${asked.why[lang]}`);
  return box;
}

// ---- code

function buildCode({ W, m }) {
  const code = m.tl.code;
  if (!code) return null;
  const lines = code.lines.map((line) => el("code", { textContent: line || " " }));
  return el("div", { className: "code" }, el("h3", { textContent: W.code }), el("pre", {}, ...lines));
}

/** Mark the line that runs in step s, with its counters. */
export function drawCode({ codeBox, m }, s, over) {
  const code = m.tl.code;
  if (!codeBox || !code) return;
  const lines = codeBox.querySelectorAll("code"),
    at = over || s < 0 ? -1 : code.at[s];
  codeBox.dataset.line = String(at);
  lines.forEach((line, k) => {
    const here = k === at,
      note = here && code.note[s] ? `  # ${code.note[s]}` : "";
    line.classList.toggle("now", here);
    setText(line, (code.lines[k] || " ") + note);
  });
}
