// collsim Lab: one clock, the prediction above, what every process did below, and how late each step came.

import { el, hatch, segment, svg, swatch } from "../player/draw/elements.js";
import { timeUnit } from "../player/model/units.js";
import { component } from "../player/mount.js";
import { withPlayback } from "../player/playback.js";
import { createCursor, labelIn, lightUp, followPointer, rect, spanOf, text } from "../transport/lanechart.js";
import { createTimed } from "../transport/timed.js";
import { clockKeys, dragTime } from "../player/ui/transport.js";
import { drawLateness } from "./latebars.js";
import { AXIS, LOOK, MARGINS, MIN_WIDTH, NAME, createLabChart } from "./labchart.js";
import { LAB } from "../words/words.js";
import { fill } from "../words/choice.js";

const LABELS = 150, // px of the names of rows
  FIGURES = 190, // px of the figures on the right
  PREDICTED = 52,
  GAP = 38,
  ROW = 34;

/** A lab. Its data are {id, document, language, theme}. */
const CARD = {
  ...LOOK,
  words: LAB,
  keeps: ["each"],
  build: buildLab,
  total: totalOf,
  begin: ({ data }, before) => (before?.id === data.id ? undefined : 0.62 * data.document.predicted.time),
  dress() {},
  arrange: drawLab,
  tick: seekLab,
  keys: labKeys,
};

function buildLab(lab) {
  Object.assign(lab, {
    each: true,
    says: el("p.says", { "aria-live": "polite" }),
    rows: el("span.seg", { role: "group" }),
    stage: el("div"),
    later: el("div.card"),
    legend: el("div.legend"),
  });
  return [el("div.card", el("div.top", lab.says, lab.rows), lab.stage, lab.legend), lab.later];
}

function totalOf({ document: { predicted, measured } }) {
  return 1.04 * Math.max(predicted.time, measured?.time ?? 0);
}

function drawLab(lab, width) {
  lab.wide = width - MARGINS;
  if (lab.wide < MIN_WIDTH) return;
  const { measured } = lab.data.document,
    words = lab.words;
  const choices = [
      [true, words.each],
      [false, words.one],
    ],
    choose = (each) => {
      lab.each = each;
      lab.arrange();
    };
  segment(lab.rows, choices, lab.each, choose, words.view);
  lab.rows.style.display = measured ? "" : "none";
  lab.later.style.display = measured ? "" : "none";
  drawLabStage(lab);
  drawLabLegend(lab);
  if (measured) drawLateness(lab, lab.chart);
  for (const picture of lab.pictures)
    followPointer(picture, (key) => lab.pictures.forEach((each) => lightUp(each, key)));
  seekLab(lab);
}

/** Where things stand: sides of the time column, what it lasts, rows and heights. */
function placeOf(lab) {
  const { document: doc } = lab.data,
    narrow = lab.wide < 760,
    left = narrow ? 96 : LABELS,
    right = Math.min(narrow ? 12 : FIGURES, lab.wide - left - 160),
    rows = doc.measured ? (lab.each ? doc.names.length : 1) : 0,
    below = AXIS + PREDICTED + GAP;
  return { narrow, left, right, total: totalOf(lab.data), rows, below, height: below + rows * ROW + 8 };
}

function drawLabStage(lab) {
  const place = (lab.place = placeOf(lab)),
    { document: doc } = lab.data,
    chart = createLabChart(lab, { height: place.height, class: "time", "aria-label": lab.words.label }),
    { picture } = chart;
  Object.assign(lab, { chart, unit: timeUnit(place.total), cursor: createCursor(chart, { top: 20, flag: 10 }) });
  picture.append(
    hatch("lb-hatch", { size: 7, width: 2.4, paper: "var(--card)", ink: "var(--wait)" }),
    ...labRow(chart, doc.predicted.line, AXIS, PREDICTED, () => "var(--ink3)", true),
    text(0, AXIS + 22, lab.words.predicted, NAME),
    text(0, AXIS + 40, fill(lab.words.alike, { processes: doc.names.length })),
    ...labFigures(lab),
    ...(doc.measured ? measuredRows(lab) : []),
    lab.cursor.node,
  );
  lab.stage.replaceChildren(picture);
  dragTime(picture, (ev) => lab.clock.seek(chart.timeAt(ev)));
  lab.pictures = [picture];
}

function measuredRows(lab) {
  const { document: doc } = lab.data,
    { across, left } = lab.chart,
    { below, narrow } = lab.place,
    { measured } = doc,
    hue = (box) => (box[4] ? "var(--sum2)" : "var(--done)"),
    rows = lab.each ? measured.boxes : [measured.line],
    top = (r) => below + r * ROW;
  const leads = measured.ends.map((end, k) => {
    const line = { x1: across(doc.predicted.ends[k]), y1: AXIS + PREDICTED + 3, x2: across(end), y2: below - 3 };
    return svg("line", { ...line, "data-key": k, stroke: "var(--wait)", "stroke-dasharray": "2 3" });
  });
  const names = lab.each ? rows.map((_, r) => text(left - 8, top(r) + 21, doc.names[r], { anchor: "end" })) : [],
    run = narrow
      ? []
      : [text(88, below - 12, fill(lab.words.medianRun, { run: measured.run, runs: measured.times.length }))];
  return [
    ...leads,
    ...rows.flatMap((boxes, r) => labRow(lab.chart, boxes, top(r), ROW - 2, hue, !lab.each)),
    ...names,
    text(0, below - 12, lab.words.measured, NAME),
    ...run,
  ];
}

/** A row of boxes: bytes solid, alpha hatched. */
const labRow = (chart, boxes, y, height, hue, isNumbered) =>
  boxes.map((box) => {
    const [step, start, came, finish] = box,
      solid = spanOf(chart, start, came, 0.8),
      alpha = spanOf(chart, came, finish, 0),
      edge = { stroke: "var(--card)", "stroke-width": solid.wide > 4 ? 1 : 0.3 },
      parts = [rect(solid.x, y, solid.wide, height, hue(box), edge)];
    if (finish > came) parts.push(rect(alpha.x, y, alpha.wide, height, "url(#lb-hatch)", edge));
    const number = isNumbered ? [String(step + 1)] : [],
      look = { size: 15, bold: true, fill: "var(--card)" };
    return svg("g", { "data-key": step }, ...parts, ...labelIn(solid, y + height / 2 + 5, number, look));
  });

/** Seconds as text, in the unit of this picture. */
const labNumber = ({ unit }, t) => (t * unit.f).toFixed(unit.f === 1 ? 3 : 1);
const labSpan = (lab, t) => `${labNumber(lab, t)}\u00a0${lab.unit.unit}`;

function labFigures(lab) {
  const { predicted, measured } = lab.data.document,
    { narrow, below, rows } = lab.place,
    { words, wide } = lab,
    figures = [[AXIS + 22, labSpan(lab, predicted.time), words.asAsked]];
  if (narrow) return [];
  if (measured) {
    const { times, middle, best, delayed } = measured,
      half = middle.map((t) => labNumber(lab, t)).join(` ${words.to} `),
      wereDelayed = fill(words.delayed, { delayed: delayed.length, runs: times.length });
    figures.push([below + 22, labSpan(lab, measured.time), fill(words.median, { runs: times.length })]);
    if (rows >= 4 && times.length >= 2) {
      figures.push([below + 66, half, words.middle], [below + 110, labSpan(lab, best), words.best]);
      if (delayed.length && rows > 4) figures.push([below + 154, wereDelayed, words.wereDelayed]);
    }
  }
  return figures.flatMap(([y, big, small]) => [
    text(wide, y, big, { ...NAME, size: 20, anchor: "end" }),
    text(wide, y + 18, small, { anchor: "end" }),
  ]);
}

function drawLabLegend(lab) {
  const words = lab.words,
    sign = (colour, text) => swatch(`background:${colour}`, text),
    lines = "repeating-linear-gradient(135deg,var(--wait) 0 2px,var(--card) 2px 6px)",
    of = lab.data.document.measured ? [sign("var(--sum2)", words.bytesReduce), sign("var(--done)", words.copy)] : [];
  lab.legend.replaceChildren(sign("var(--ink3)", words.bytesPredicted), ...of, sign(lines, words.alpha));
}

// ---- the cursor and the step under the pointer

/** Nothing plays here: keys go from step to step. */
function labKeys({ clock, data }) {
  const stops = [0, ...data.document.predicted.ends],
    here = stops.findLastIndex((t) => t <= clock.t + 1e-12),
    go = (q) => clock.seek(stops[Math.max(0, Math.min(stops.length - 1, q))]),
    none = { " ": null, f: null, "[": null, "]": null };
  return { ...none, ...clockKeys({ clock, turn: (by) => go(here + by), toggle: null }), End: () => go(Infinity) };
}

function seekLab(lab) {
  const { t } = lab.clock;
  if (!lab.cursor) return;
  lab.cursor.move(t, labSpan(lab, t));
  lab.root.dataset.t = String(t);
  sayLab(lab, t);
}

function sayLab(lab, t) {
  const { predicted, measured, steps } = lab.data.document,
    words = lab.words,
    k = predicted.ends.findIndex((end) => end > t + 1e-12),
    over = k < 0,
    begin = over || k === 0 ? 0 : predicted.ends[k - 1],
    first = over
      ? fill(words.over, { time: labSpan(lab, t) })
      : fill(words.at, { time: labSpan(lab, t), into: labSpan(lab, t - begin), step: k + 1 });
  let rest;
  if (measured) {
    const j = measured.ends.findIndex((end) => end > t + 1e-12),
      last = j < 0 ? steps - 1 : Math.max(0, j - 1),
      late = measured.ends[last] - predicted.ends[last];
    rest =
      (j < 0 ? words.ended : fill(words.slow, { step: j + 1 })) +
      fill(late < 0 ? words.ahead : words.behind, { late: labSpan(lab, Math.abs(late)) });
  } else rest = `${words.stop}${words.waits}`;
  const head = el("b", fill(words.stepOf, { step: over ? steps : k + 1, steps }));
  if (lab.says.textContent !== `${head.textContent} ${first}${rest}`)
    lab.says.replaceChildren(head, ` ${first}${rest}`);
}

export default component((box) => withPlayback("lab", createTimed(box, CARD)));
