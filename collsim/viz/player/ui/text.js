// The run in words: narration, tables, data attributes; for screen readers and tests.

import { cellAt, doneAt } from "../model/cells.js";
import { isHeld, wordsOf } from "./context.js";
import { el, setAttributes, setText } from "../draw/elements.js";
import { busySeconds, linkBytes, usedLinks } from "../model/load.js";
import { phaseOf } from "../model/model.js";
import { linkName, nameOf } from "../model/names.js";
import { textAt } from "../model/read.js";
import { NB, fmtBytes, fmtRate, fmtShare, fmtSpan, timeUnit } from "../model/units.js";
import { drawTransport } from "./transport.js";
import { fill } from "../../words/choice.js";

export function buildWords(ui) {
  const { parts, state, model } = ui;
  const words = wordsOf(ui),
    text = model.tl.text,
    isOpen = ui.clock.limit != null, // a question that a step answers: no table holds that step
    seen = isOpen ? ui.opts.answerStep - 1 : model.nsteps,
    table = (caption, head, rows) => {
      const t = el("table", el("caption", caption));
      if (head) t.append(el("tr", ...head.map((h) => el("th", h))));
      for (const [first, ...cells] of rows) t.append(el("tr", el("th", first), ...cells.map((c) => el("td", c))));
      return t;
    };
  const steps = Array.from({ length: seen }, (_, s) => String(s + 1)),
    rowsOf = ({ row, cell }) => row.map((r, q) => [r, ...cell[q].slice(0, seen).map((c) => String(c ?? ""))]);
  state.textTable = text ? table(words.asText, ["", ...steps], rowsOf(text)) : null;
  const { links } = model.tl,
    used = isOpen ? [] : usedLinks(model),
    linkRow = (l) => [
      linkName(model, l, words, state.language),
      fmtShare(model.total > 0 ? busySeconds(model, l) / model.total : 0),
      fmtBytes(linkBytes(model, l, model.total)),
      `${textAt(links.label, l, state.language)} ${fmtRate(links.bandwidth[l])}`,
    ],
    linkTable = table(words.linkTable, Object.values(words.cols), used.slice(0, 200).map(linkRow)),
    kids = [state.textTable ?? el("p", words.big), linkTable];
  if (used.length > 200) kids.push(el("p", fill(words.more, { count: used.length - 200 })));
  state.cellTable = null;
  if (model.endpoints * model.slots <= 1024) {
    // the matrix as a table, kept up to date once per step
    const rowOf = (e) => [nameOf(model, e, state.language), ...new Array(model.slots).fill("")],
      rows = Array.from({ length: model.endpoints }, (_, e) => rowOf(e)),
      head = [words.rank, ...Array.from({ length: model.slots }, (_, c) => String(c))];
    state.cellTable = table(parts.matrixTitle.textContent, head, rows);
    kids.push(state.cellTable);
  }
  parts.words.replaceChildren(...kids);
  setAttributes(parts.words, { "aria-label": words.asText, role: "region" });
  state.wordsStep = -1;
}

/** ", reduce-scatter": the phase of a step, behind its number, unless a question asks for it. */
function sayPhase(ui, s) {
  if (ui.opts.hides === "phases") return "";
  const name = s >= 0 && textAt(phaseOf(ui.model, s)?.label, 0, ui.state.language);
  return name ? wordsOf(ui).comma + name : "";
}

/** What is on the canvas, in words and data attributes: for screen readers and tests. */
export function mirror(ui) {
  const { parts, state, model, view, clock } = ui;
  const words = wordsOf(ui),
    unit = timeUnit(model.total),
    n = model.nsteps,
    s = view.s,
    ended = view.t >= model.total && model.n > 0,
    phase = sayPhase(ui, s);
  setText(parts.stepno, n ? fill(words.step, { step: s + 1, steps: n }) : "–");
  drawTransport(ui.bar, clock, words, `${unit.num(view.t)} / ${unit.num(model.total)}${NB}${unit.unit}`);
  setText(parts.real, n ? fill(words.real, { time: fmtSpan(clock.base * clock.speed) }) : "");
  const { buttons } = ui.bar;
  buttons.loop.setAttribute("aria-pressed", String(!!clock.loop));
  buttons.full.setAttribute("aria-pressed", String(state.present));
  for (const name of ["play", "first", "back", "next", "loop", "busy"]) buttons[name].disabled = !(model.total > 0);
  narrate(ui, isHeld(ui) ? "held" : `s${s}${ended ? "end" : ""}`, ended, phase);
  const { rank, chunk, step } = model.mistake ?? {},
    t = Number(view.t.toPrecision(9));
  setAttributes(parts.root, {
    "data-t": t,
    "data-playing": clock.playing,
    "data-step": n ? s + 1 : 0,
    "data-active": view.act.length,
    "data-waiting": view.wait.length,
    "data-view": state.view,
    "data-node": state.node ?? "",
    "data-chart": state.chart,
    "data-patterns": state.patterns,
    "data-done": doneNow(ui),
    "data-mistake": model.mistake ? `${rank},${chunk},${step == null ? "" : step + 1}` : "",
    "data-transfers": model.n,
  });
  setAttributes(parts.scrub, {
    "aria-valuemin": 0,
    "aria-valuemax": model.total,
    "aria-valuenow": t,
    "aria-valuetext": fill(words.valuetext, { step: s + 1, steps: n, phase, time: unit.fmt(view.t) }),
  });
  if (state.wordsStep === s || parts.words.style.display === "none") return;
  state.wordsStep = s;
  markStep(ui, s);
}

/** The column of the step that is shown in the table of steps, and what ranks hold then. */
function markStep({ parts, state: { textTable, cellTable }, model, view }, s) {
  if (textTable) keepInSight(parts.words, textTable.rows[0]?.cells[s + 1]);
  for (const row of textTable?.rows ?? [])
    for (let q = 1; q < row.cells.length; q++) row.cells[q].className = q === s + 1 && row.rowIndex > 0 ? "now" : "";
  for (let cell = 0; cellTable && cell < model.endpoints * model.slots; cell++) {
    const box = cellTable.rows[1 + Math.floor(cell / model.slots)].cells[1 + (cell % model.slots)];
    setText(box, String(cellAt(model, cell, view.t)));
  }
}

/** Scroll sideways until the column of the step that runs now is in sight; nothing outside the box moves. */
function keepInSight(box, cell) {
  if (!cell) return;
  const left = cell.offsetLeft - 110,
    right = cell.offsetLeft + cell.offsetWidth + 30;
  if (left < box.scrollLeft) box.scrollLeft = left;
  else if (right > box.scrollLeft + box.clientWidth) box.scrollLeft = right - box.clientWidth;
}

function doneNow(ui) {
  const { state, model, view } = ui;
  if (state.doneKey !== view.landed || state.doneFor !== model) {
    state.doneKey = view.landed;
    state.doneFor = model;
    state.done = doneAt(model, view.t);
  }
  return state.done;
}

/** Once per step: the sentence of the step, spoken too unless steps fly by. */
function narrate(ui, key, ended, phase) {
  const { parts, state, model, view, clock } = ui;
  const k = `${key}${phase},${state.language}`;
  if (k === ui.narrated) return;
  ui.narrated = k;
  parts.say.setAttribute("aria-live", clock.playing && clock.speed > 1 ? "off" : "polite");
  // steps may begin together
  const wrong = view.s >= 0 && model.mistake?.step != null && model.step0[model.mistake.step] === model.step0[view.s];
  const [head, text] = sayMoment(ui, { ended, wrong, phase }),
    gap = state.language === "en" ? " " : "",
    [first, rest] = splitSentence(text);
  parts.say.replaceChildren(el("b", head), head && gap, first, rest && gap, el("span.more", rest));
  parts.root.classList.toggle("held", isHeld(ui));
  parts.nar.classList.toggle("wrong", !isHeld(ui) && (wrong || (ended && !!model.mistake)));
  parts.nar.classList.remove("long");
  parts.nar.classList.toggle("long", parts.say.scrollHeight > parts.nar.clientHeight + 2);
}

/** What is said of this moment: its head, which is bold, and its text. */
function sayMoment(ui, { ended, wrong, phase }) {
  const { state, model, view } = ui,
    words = wordsOf(ui),
    { bottleneck, steps } = model.tl,
    { nsteps } = model,
    read = (column, q = 0) => textAt(column, q, state.language);
  if (isHeld(ui)) return [words.predictFirst, ""];
  if (!model.n) return ["", model.ranks === 1 ? words.none : words.idleRun];
  if (ended && model.mistake) return [words.overWrong, read(model.mistake.text)];
  if (wrong) return [fill(words.wrongHere, { step: model.mistake.step + 1, steps: nsteps }), read(model.mistake.text)];
  if (!ended) return [fill(words.head, { step: view.s + 1, steps: nsteps, phase }), read(steps.text, view.s)];
  const isFinished = doneNow(ui) && !model.groups.length,
    head = isFinished ? fill(words.finished[model.goal > 1 ? "sum" : "data"], model) : words.over;
  return [head, bottleneck ? `${read(bottleneck.text)} ${read(bottleneck.more)}` : ""];
}

/** The first sentence of a text, and what follows it. */
const splitSentence = (text) => /^(.+?(?:。|[.](?=\s+[A-Z0-9])))\s*(.*)$/su.exec(text)?.slice(1) ?? [text, ""];

/** The line of code that runs in the step that is shown. */
export function drawRunning(ui) {
  const { parts, model, view } = ui,
    code = model.tl.code;
  parts.running.style.display = code ? "" : "none";
  if (!code) return;
  const at = view.s < 0 || view.t >= model.total ? -1 : code.at[view.s];
  setText(parts.runs, wordsOf(ui).runs);
  setText(parts.line, at < 0 ? "" : code.lines[at].trim());
  setText(parts.counter, at < 0 ? "" : code.note[view.s]);
  if (parts.running.dataset.line === String(at)) return;
  parts.running.dataset.line = String(at);
  parts.line.title = code.lines.map((line, k) => `${k === at ? "▸ " : "  "}${line}`).join("\n");
}
