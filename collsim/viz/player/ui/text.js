// The run in words: narration, tables, data attributes; for screen readers and tests.

import { cellAt, doneAt } from "../model/cells.js";
import { isHeld, wordsOf } from "./context.js";
import { el, icon, setAttributes, setText } from "../draw/elements.js";
import { busySeconds, linkBytes, usedLinks } from "../model/load.js";
import { phaseOf } from "../model/model.js";
import { linkName, nameOf } from "../model/names.js";
import { textAt } from "../model/read.js";
import { NB, fmtBytes, fmtRate, fmtShare, fmtSpan, timeUnit } from "../model/units.js";
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
  const kids = [
    text
      ? table(
          words.asText,
          ["", ...Array.from({ length: seen }, (_, s) => String(s + 1))],
          text.row.map((r, q) => [r, ...text.cell[q].slice(0, seen).map((c) => String(c ?? ""))]),
        )
      : el("p", words.big),
  ];
  state.textTable = text ? kids[0] : null;
  const links = model.tl.links,
    used = isOpen ? [] : usedLinks(model);
  kids.push(
    table(
      words.linkTable,
      Object.values(words.cols),
      used
        .slice(0, 200)
        .map((l) => [
          linkName(model, l, words, state.language),
          fmtShare(model.total > 0 ? busySeconds(model, l) / model.total : 0),
          fmtBytes(linkBytes(model, l, model.total)),
          `${textAt(links.label, l, state.language)} ${fmtRate(links.bandwidth[l])}`,
        ]),
    ),
  );
  if (used.length > 200) kids.push(el("p", fill(words.more, { count: used.length - 200 })));
  state.cellTable = null;
  if (model.endpoints * model.slots <= 1024) {
    // the matrix as a table, kept up to date once per step
    state.cellTable = table(
      parts.matrixTitle.textContent,
      [words.rank, ...Array.from({ length: model.slots }, (_, c) => String(c))],
      Array.from({ length: model.endpoints }, (_, e) => [
        nameOf(model, e, state.language),
        ...new Array(model.slots).fill(""),
      ]),
    );
    kids.push(state.cellTable);
  }
  parts.words.replaceChildren(...kids);
  parts.words.setAttribute("aria-label", words.asText);
  parts.words.setAttribute("role", "region");
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
  const done = doneNow(ui);
  setText(parts.stepno, n ? fill(words.step, { step: s + 1, steps: n }) : "–");
  setText(parts.clock, `${unit.num(view.t)} / ${unit.num(model.total)}${NB}${unit.unit}`);
  setText(parts.real, n ? fill(words.real, { time: fmtSpan(clock.base * clock.speed) }) : "");
  const label = clock.playing ? words.pauseLabel : words.playLabel;
  if (parts.play.getAttribute("aria-label") !== label) {
    parts.play.replaceChildren(icon(clock.playing ? "pause" : "play"), el("span", label));
    parts.play.setAttribute("aria-label", label);
    parts.play.title = clock.playing ? words.pause : words.play;
  }
  parts.loop.setAttribute("aria-pressed", String(!!clock.loop));
  parts.full.setAttribute("aria-pressed", String(state.present));
  for (const b of [parts.play, parts.first, parts.back, parts.next, parts.loop, parts.busy])
    b.disabled = !(model.total > 0);
  narrate(ui, isHeld(ui) ? "held" : `s${s}${ended ? "end" : ""}`, ended, phase);
  const a = {
    t: String(Number(view.t.toPrecision(9))),
    playing: String(clock.playing),
    step: String(n ? s + 1 : 0),
    active: String(view.act.length),
    waiting: String(view.wait.length),
    view: state.view,
    node: state.node == null ? "" : String(state.node),
    chart: state.chart,
    patterns: String(state.patterns),
    done: String(done),
    mistake: model.mistake
      ? `${model.mistake.rank},${model.mistake.chunk},${model.mistake.step == null ? "" : model.mistake.step + 1}`
      : "",
    transfers: String(model.n),
  };
  for (const k in a) if (parts.root.dataset[k] !== a[k]) parts.root.dataset[k] = a[k];
  setAttributes(parts.scrub, {
    "aria-valuemin": 0,
    "aria-valuemax": model.total,
    "aria-valuenow": a.t,
    "aria-valuetext": fill(words.valuetext, { step: s + 1, steps: n, phase, time: unit.fmt(view.t) }),
  });
  if (state.wordsStep !== s && parts.words.style.display !== "none") {
    state.wordsStep = s;
    if (state.textTable) keepInSight(parts.words, state.textTable.rows[0]?.cells[s + 1]);
    if (state.textTable)
      for (const row of state.textTable.rows)
        for (let q = 1; q < row.cells.length; q++)
          row.cells[q].className = q === s + 1 && row.rowIndex > 0 ? "now" : "";
    if (state.cellTable)
      for (let e = 0; e < model.endpoints; e++)
        for (let c = 0; c < model.slots; c++)
          setText(state.cellTable.rows[e + 1].cells[c + 1], String(cellAt(model, e * model.slots + c, view.t)));
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
  const words = wordsOf(ui);
  parts.say.setAttribute("aria-live", clock.playing && clock.speed > 1 ? "off" : "polite");
  // steps may begin together
  const wrong = view.s >= 0 && model.mistake?.step != null && model.step0[model.mistake.step] === model.step0[view.s];
  let head = "",
    text;
  if (isHeld(ui)) {
    head = words.predictFirst;
    text = "";
  } else if (!model.n) text = model.ranks === 1 ? words.none : words.idleRun;
  else if (ended && model.mistake) {
    head = words.overWrong;
    text = textAt(model.mistake.text, 0, state.language);
  } else if (wrong) {
    head = fill(words.wrongHere, { step: model.mistake.step + 1, steps: model.nsteps });
    text = textAt(model.mistake.text, 0, state.language);
  } else if (ended) {
    head =
      doneNow(ui) && !model.groups.length ? fill(words.finished[model.goal > 1 ? "sum" : "data"], model) : words.over;
    text = model.tl.bottleneck
      ? `${textAt(model.tl.bottleneck.text, 0, state.language)} ${textAt(model.tl.bottleneck.more, 0, state.language)}`
      : "";
  } else {
    head = fill(words.head, { step: view.s + 1, steps: model.nsteps, phase });
    text = textAt(model.tl.steps.text, view.s, state.language);
  }
  const gap = state.language === "en" ? " " : "",
    [first, rest] = splitSentence(text);
  parts.say.replaceChildren(el("b", head), head && gap, first, rest && gap, el("span.more", rest));
  parts.root.classList.toggle("held", isHeld(ui));
  parts.nar.classList.toggle("wrong", !isHeld(ui) && (wrong || (ended && !!model.mistake)));
  parts.nar.classList.remove("long");
  parts.nar.classList.toggle("long", parts.say.scrollHeight > parts.nar.clientHeight + 2);
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
