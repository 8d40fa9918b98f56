// The run in words: narration, tables, data attributes; for screen readers and tests.

import { cellAt, doneAt } from "../model/cells.js";
import { wordsOf } from "./context.js";
import { el, icon, setText } from "../draw/elements.js";
import { linkBytes } from "../model/load.js";
import { phaseOf } from "../model/model.js";
import { linkName, nameOf } from "../model/names.js";
import { textAt } from "../model/read.js";
import { NB, fmtBytes, fmtRate, fmtShare, fmtSpan, timeUnit } from "../model/units.js";

export function buildWords(ui) {
  const { d, S, m } = ui;
  const w = wordsOf(ui),
    text = m.tl.text,
    table = (caption, head, rows) => {
      const t = el("table", {}, el("caption", { textContent: caption }));
      if (head) t.append(el("tr", {}, ...head.map((h) => el("th", { textContent: h }))));
      for (const [first, ...cells] of rows)
        t.append(el("tr", {}, el("th", { textContent: first }), ...cells.map((c) => el("td", { textContent: c }))));
      return t;
    };
  const kids = [
    text
      ? table(
          w.asText,
          ["", ...Array.from({ length: m.nsteps }, (_, s) => String(s + 1))],
          text.row.map((r, q) => [r, ...text.cell[q].map((c) => String(c ?? ""))]),
        )
      : el("p", { textContent: w.big }),
  ];
  S.textTable = text ? kids[0] : null;
  const L = m.tl.links,
    used = [...new Set(m.tl.routes.link)].sort((a, b) =>
      b === a ? 0 : linkBytes(m, b, m.total) / L.bandwidth[b] - linkBytes(m, a, m.total) / L.bandwidth[a],
    );
  kids.push(
    table(
      w.linkTable,
      w.cols,
      used.slice(0, 200).map((l) => {
        const b = linkBytes(m, l, m.total);
        return [
          linkName(m, l, w, S.lang),
          fmtShare(m.total > 0 ? b / (L.bandwidth[l] * m.total) : 0),
          fmtBytes(b),
          `${textAt(L.label, l, S.lang)} ${fmtRate(L.bandwidth[l])}`,
        ];
      }),
    ),
  );
  if (used.length > 200) kids.push(el("p", { textContent: w.more(used.length - 200) }));
  S.cellTable = null;
  if (m.endpoints * m.slots <= 1024) {
    // the matrix as a table, kept up to date once per step
    S.cellTable = table(
      d.matrixTitle.textContent,
      [w.rank, ...Array.from({ length: m.slots }, (_, c) => String(c))],
      Array.from({ length: m.endpoints }, (_, e) => [nameOf(m, e, S.lang), ...new Array(m.slots).fill("")]),
    );
    kids.push(S.cellTable);
  }
  d.words.replaceChildren(...kids);
  d.words.setAttribute("aria-label", w.asText);
  d.words.setAttribute("role", "region");
  S.wordsStep = -1;
}

/** What is on the canvas, in words and data attributes: for screen readers and tests. */
export function mirror(ui) {
  const { d, S, m, V, clock } = ui;
  const w = wordsOf(ui),
    u = timeUnit(m.total),
    n = m.nsteps,
    s = V.s,
    ended = V.t >= m.total && m.n > 0,
    phase = s >= 0 ? textAt(phaseOf(m, s)?.label, 0, S.lang) : "";
  const done = doneNow(ui);
  setText(d.stepno, n ? w.step(s + 1, n) : "–");
  setText(d.clock, `${u.num(V.t)} / ${u.num(m.total)}${NB}${u.unit}`);
  setText(d.real, n ? w.real(fmtSpan(clock.base * clock.speed)) : "");
  const label = clock.playing ? w.pauseLabel : w.playLabel;
  if (d.play.getAttribute("aria-label") !== label) {
    d.play.replaceChildren(icon(clock.playing ? "pause" : "play"), el("span", { textContent: label }));
    d.play.setAttribute("aria-label", label);
    d.play.title = clock.playing ? w.pause : w.play;
  }
  d.loop.setAttribute("aria-pressed", String(!!clock.loop));
  d.full.setAttribute("aria-pressed", String(S.present));
  for (const b of [d.play, d.first, d.back, d.next, d.loop, d.busy]) b.disabled = !(m.total > 0);
  narrate(ui, ended ? "end" : `s${s}`, ended, phase);
  const a = {
    t: String(Number(V.t.toPrecision(9))),
    playing: String(clock.playing),
    step: String(n ? s + 1 : 0),
    active: String(V.act.length),
    waiting: String(V.wait.length),
    view: S.view,
    node: S.node == null ? "" : String(S.node),
    chart: S.chart,
    patterns: String(S.patterns),
    done: String(done),
    mistake: m.mistake
      ? `${m.mistake.rank},${m.mistake.chunk},${m.mistake.step == null ? "" : m.mistake.step + 1}`
      : "",
    transfers: String(m.n),
  };
  for (const k in a) if (d.root.dataset[k] !== a[k]) d.root.dataset[k] = a[k];
  const slider = {
    "aria-valuemin": "0",
    "aria-valuemax": String(m.total),
    "aria-valuenow": a.t,
    "aria-valuetext": w.valuetext(s + 1, n, phase, u.fmt(V.t)),
  };
  for (const k in slider) if (d.scrub.getAttribute(k) !== slider[k]) d.scrub.setAttribute(k, slider[k]);
  if (S.wordsStep !== s && d.words.style.display !== "none") {
    S.wordsStep = s;
    if (S.textTable) keepInSight(d.words, S.textTable.rows[0]?.cells[s + 1]);
    if (S.textTable)
      for (const row of S.textTable.rows)
        for (let q = 1; q < row.cells.length; q++)
          row.cells[q].className = q === s + 1 && row.rowIndex > 0 ? "now" : "";
    if (S.cellTable)
      for (let e = 0; e < m.endpoints; e++)
        for (let c = 0; c < m.slots; c++)
          setText(S.cellTable.rows[e + 1].cells[c + 1], String(cellAt(m, e * m.slots + c, V.t)));
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
  const { S, m, V } = ui;
  if (S.doneKey !== V.landed || S.doneFor !== m) {
    S.doneKey = V.landed;
    S.doneFor = m;
    S.done = doneAt(m, V.t);
  }
  return S.done;
}

/** Once per step: the sentence of the step, spoken too unless steps fly by. */
function narrate(ui, key, ended, phase) {
  const { d, S, m, V, clock } = ui;
  const k = `${key},${S.lang}`;
  if (k === ui.narrated) return;
  ui.narrated = k;
  const w = wordsOf(ui);
  d.say.setAttribute("aria-live", clock.playing && clock.speed > 1 ? "off" : "polite");
  // steps may begin together
  const wrong = V.s >= 0 && m.mistake?.step != null && m.step0[m.mistake.step] === m.step0[V.s];
  let head = "",
    text = "";
  if (!m.n) text = m.ranks === 1 ? w.none : w.idleRun;
  else if (ended && m.mistake) {
    head = w.overWrong;
    text = textAt(m.mistake.text, 0, S.lang);
  } else if (wrong) {
    head = w.wrongHere(m.mistake.step + 1, m.nsteps);
    text = textAt(m.mistake.text, 0, S.lang);
  } else if (ended) {
    head = doneNow(ui) && !m.groups.length ? w.finished(m.ranks, m.goal > 1) : w.over;
    text = m.tl.bottleneck
      ? `${textAt(m.tl.bottleneck.text, 0, S.lang)} ${textAt(m.tl.bottleneck.more, 0, S.lang)}`
      : "";
  } else {
    head = w.head(V.s + 1, m.nsteps, phase);
    text = textAt(m.tl.steps.text, V.s, S.lang);
  }
  d.say.replaceChildren(el("b", { textContent: head }), head && S.lang === "en" ? " " : "", text);
  d.nar.classList.toggle("wrong", wrong || (ended && !!m.mistake));
  d.nar.classList.remove("long");
  d.nar.classList.toggle("long", d.say.scrollHeight > d.nar.clientHeight + 2);
}
