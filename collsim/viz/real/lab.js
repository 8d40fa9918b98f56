// collsim Lab: one clock, the prediction above, what every process did below, and how late each step came.

import { el, hatch, segment, svg, swatch } from "../player/draw/elements.js";
import { timeMarks, timeUnit } from "../player/model/units.js";
import { component } from "../player/mount.js";
import { withPlayback } from "../player/playback.js";
import { dragTime } from "../transport/transport.js";
import { drawLateness, lightLab } from "./latebars.js";
import { dressLab, labText, mountLab } from "./labmount.js";
import { LAB } from "../words/lab_by_language.js";

const LABELS = 150, // px of the names of rows
  FIGURES = 190, // px of the figures on the right
  AXIS = 26,
  PREDICTED = 52,
  GAP = 38,
  ROW = 34,
  NARROW = 13; // px below which a box carries no number

/** Mount a lab into `host`. Its data are {id, document, language, theme}. */
export function createLab(host) {
  const lab = { isFocusable: true, data: null, each: true, at: null, step: null, wide: 0 };
  lab.says = el("p", { className: "says" });
  lab.says.setAttribute("aria-live", "polite");
  lab.rows = el("span", { className: "seg", role: "group" });
  lab.stage = el("div", {});
  lab.later = el("div", { className: "card" });
  lab.legend = el("div", { className: "legend" });
  const top = el("div", { className: "top" }, lab.says, lab.rows);
  const card = el("div", { className: "card" }, top, lab.stage, lab.legend);
  const mounted = mountLab(host, lab, [card, lab.later], setLab, drawLab);
  lab.root.addEventListener("keydown", (ev) => turnLabKey(lab, ev));
  return {
    ...mounted,
    save: () => ({ at: lab.at, each: lab.each }),
    restore(saved) {
      Object.assign(lab, saved);
      drawLab(lab, true);
    },
  };
}

function setLab(lab, data) {
  if (lab.data?.id !== data.id) lab.at = 0.62 * data.document.predicted.time;
  dressLab(lab, data, LAB);
  drawLab(lab, true);
}

function drawLab(lab, anew) {
  const wide = lab.root.clientWidth - 42;
  if (!lab.data || wide < 60 || (!anew && lab.wide === wide)) return;
  lab.wide = wide;
  const { measured } = lab.data.document,
    words = lab.words;
  segment(
    lab.rows,
    [
      [true, words.each],
      [false, words.one],
    ],
    lab.each,
    (each) => {
      lab.each = each;
      drawLab(lab, true);
    },
    words.view,
  );
  lab.rows.style.display = measured ? "" : "none";
  lab.later.style.display = measured ? "" : "none";
  drawLabStage(lab);
  drawLabLegend(lab);
  if (measured) drawLateness(lab, lab.place);
  seekLab(lab, lab.at);
}

/** Where things stand: left and width of the time column, seconds to px, heights. */
function placeOf(lab) {
  const { document: doc } = lab.data,
    narrow = lab.wide < 760,
    left = narrow ? 96 : LABELS,
    width = Math.max(160, lab.wide - left - (narrow ? 12 : FIGURES)),
    whole = 1.04 * Math.max(doc.predicted.time, doc.measured?.time ?? 0),
    rows = doc.measured ? (lab.each ? doc.names.length : 1) : 0,
    below = AXIS + PREDICTED + GAP;
  const x = (t) => left + (width * t) / whole;
  return { narrow, left, width, whole, rows, below, height: below + rows * ROW + 8, x };
}

function drawLabStage(lab) {
  const layout = (lab.place = placeOf(lab)),
    { document: doc } = lab.data,
    alphaHatch = hatch("lb-hatch", { size: 7, width: 2.4, paper: "var(--card)", ink: "var(--wait)" }),
    name = { role: "img", "aria-label": lab.words.label },
    pic = svg("svg", { class: "time", width: lab.wide, height: layout.height, ...name }, alphaHatch);
  lab.unit = timeUnit(layout.whole);
  drawLabAxis(lab, pic);
  drawLabRow(lab, pic, doc.predicted.line, AXIS, PREDICTED, () => "var(--ink3)", true);
  pic.append(labText(0, AXIS + 22, lab.words.predicted, "b"));
  pic.append(labText(0, AXIS + 40, lab.words.alike(doc.names.length), "s"));
  drawLabFigures(lab, pic);
  if (doc.measured) drawLabMeasured(lab, pic);
  lab.cursor = svg("g", {});
  pic.append(lab.cursor);
  lab.stage.replaceChildren(pic);
  lab.pic = pic;
  seekWithPointer(lab, pic);
}

function drawLabMeasured(lab, pic) {
  const { document: doc } = lab.data,
    { below, x, narrow } = lab.place,
    hue = (box) => (box[4] ? "var(--sum2)" : "var(--done)"),
    measured = doc.measured;
  measured.ends.forEach((end, k) => {
    const line = { x1: x(doc.predicted.ends[k]), y1: AXIS + PREDICTED + 3, x2: x(end), y2: below - 3, "data-step": k };
    pic.append(svg("line", { ...line, stroke: "var(--wait)", "stroke-dasharray": "2 3" }));
  });
  const rows = lab.each ? measured.boxes : [measured.line];
  rows.forEach((boxes, r) => {
    drawLabRow(lab, pic, boxes, below + r * ROW, ROW - 2, hue, !lab.each);
    if (lab.each) pic.append(labText(lab.place.left - 8, below + r * ROW + 21, doc.names[r], "s e"));
  });
  pic.append(labText(0, below - 12, lab.words.measured, "b"));
  if (!narrow) pic.append(labText(88, below - 12, lab.words.medianRun(measured.run, measured.times.length), "s"));
}

/** A row of boxes: bytes solid, alpha hatched. */
function drawLabRow(lab, pic, boxes, y, height, hue, numbered) {
  const { x } = lab.place;
  for (const box of boxes) {
    const [step, start, came, finish] = box,
      g = svg("g", { "data-step": step }),
      solid = Math.max(0.8, x(came) - x(start)),
      edge = { stroke: "var(--card)", "stroke-width": solid > 4 ? 1 : 0.3 };
    g.append(svg("rect", { x: x(start), y, width: solid, height, fill: hue(box), ...edge }));
    if (finish > came)
      g.append(svg("rect", { x: x(came), y, width: x(finish) - x(came), height, fill: "url(#lb-hatch)", ...edge }));
    if (numbered && solid > NARROW) {
      const look = { x: x(start) + solid / 2, y: y + height / 2 + 5, class: "m b", style: "fill:var(--card)" };
      const text = svg("text", look);
      text.textContent = step + 1;
      g.append(text);
    }
    pic.append(g);
    g.addEventListener("pointerenter", () => lightLab(lab, step));
    g.addEventListener("pointerleave", () => lightLab(lab, null));
  }
}

function drawLabAxis(lab, pic) {
  const { x, whole, height, width } = lab.place;
  for (const { t, text } of timeMarks(whole, Math.max(2, Math.floor(width / 110)))) {
    pic.append(svg("line", { x1: x(t), x2: x(t), y1: AXIS - 4, y2: height, stroke: "var(--grid)" }));
    pic.append(labText(x(t), 14, text, "n m"));
  }
}

/** Seconds as text, in the unit of this picture. */
const labSpan = (lab, t) => `${(t * lab.unit.f).toFixed(lab.unit.f === 1 ? 3 : 1)}\u00a0${lab.unit.unit}`;

function drawLabFigures(lab, pic) {
  const { document: doc } = lab.data,
    { narrow, below } = lab.place,
    words = lab.words,
    measured = doc.measured;
  if (narrow) return;
  const figure = (y, big, small) =>
    pic.append(
      svg("g", { style: "font-size:20px" }, labText(lab.wide, y, big, "b e")),
      labText(lab.wide, y + 18, small, "s e"),
    );
  figure(AXIS + 22, labSpan(lab, doc.predicted.time), words.asAsked);
  if (!measured) return;
  figure(below + 22, labSpan(lab, measured.time), words.median(measured.times.length));
  if (lab.place.rows < 4 || measured.times.length < 2) return;
  const [low, high] = measured.middle.map((t) => (t * lab.unit.f).toFixed(lab.unit.f === 1 ? 3 : 1));
  figure(below + 66, `${low} ${words.to} ${high}`, words.middle);
  figure(below + 110, labSpan(lab, measured.best), words.best);
  if (measured.delayed.length && lab.place.rows > 4)
    figure(below + 154, words.delayed(measured.delayed.length, measured.times.length), words.wereDelayed);
}

function drawLabLegend(lab) {
  const words = lab.words,
    sign = (colour, text) => swatch(`background:${colour}`, text),
    lines = "repeating-linear-gradient(135deg,var(--wait) 0 2px,var(--card) 2px 6px)",
    of = lab.data.document.measured ? [sign("var(--sum2)", words.bytesReduce), sign("var(--done)", words.copy)] : [];
  lab.legend.replaceChildren(sign("var(--ink3)", words.bytesPredicted), ...of, sign(lines, words.alpha));
}

// ---- the cursor and the step under the pointer

function seekWithPointer(lab, pic) {
  const to = (ev) => {
    const { left, width, whole } = lab.place,
      x = ev.clientX - pic.getBoundingClientRect().left;
    seekLab(lab, Math.min(whole, Math.max(0, ((x - left) / width) * whole)));
  };
  dragTime(pic, to);
}

function turnLabKey(lab, ev) {
  const { ends } = lab.data.document.predicted,
    now = ends.findIndex((end) => end > lab.at + 1e-12),
    here = now < 0 ? ends.length : now,
    to = { ArrowRight: here + 1, PageDown: here + 1, ArrowLeft: here - 1, PageUp: here - 1, Home: 0, End: ends.length }[
      ev.key
    ];
  if (to === undefined || ev.target.closest?.("button")) return;
  ev.preventDefault();
  const k = Math.max(0, Math.min(ends.length, to));
  seekLab(lab, k ? ends[k - 1] : 0);
}

function seekLab(lab, t) {
  lab.at = t;
  const { x, height } = lab.place,
    at = x(t),
    spanText = labSpan(lab, t),
    half = 6 + spanText.length * 4,
    text = svg("text", { x: at, y: 15, class: "m b", style: "fill:var(--card);font-size:13px" });
  text.textContent = spanText;
  lab.cursor.replaceChildren(
    svg("line", { x1: at, x2: at, y1: 20, y2: height, stroke: "var(--ink)", "stroke-width": 2 }),
    svg("rect", { x: at - half, y: 0, width: 2 * half, height: 21, rx: 4, fill: "var(--ink)" }),
    text,
  );
  lab.root.dataset.t = String(t);
  sayLab(lab, t);
}

function sayLab(lab, t) {
  const { predicted, measured, steps } = lab.data.document,
    words = lab.words,
    k = predicted.ends.findIndex((end) => end > t + 1e-12),
    over = k < 0,
    begin = over || k === 0 ? 0 : predicted.ends[k - 1],
    first = over ? words.over(labSpan(lab, t)) : words.at(labSpan(lab, t), labSpan(lab, t - begin), k + 1);
  let rest;
  if (measured) {
    const j = measured.ends.findIndex((end) => end > t + 1e-12),
      last = j < 0 ? steps - 1 : Math.max(0, j - 1),
      late = measured.ends[last] - predicted.ends[last];
    rest =
      (j < 0 ? words.ended : words.slow(j + 1)) + (late < 0 ? words.ahead : words.behind)(labSpan(lab, Math.abs(late)));
  } else rest = `${words.stop}${words.waits}`;
  const head = el("b", { textContent: words.stepOf(over ? steps : k + 1, steps) });
  if (lab.says.textContent !== `${head.textContent} ${first}${rest}`)
    lab.says.replaceChildren(head, ` ${first}${rest}`);
}

export default component((box) => withPlayback("lab", createLab(box)));
