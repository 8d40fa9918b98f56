// collsim Lab, a step of training: one clock, the prediction above, what every process did below, and bucket sizes.

import { el, svg, swatch } from "../player/draw/elements.js";
import { NB, fmtBytes, fmtSpan, threeDigits, timeUnit } from "../player/model/units.js";
import { component } from "../player/mount.js";
import { BUCKET_HUES } from "../player/model/look.js";
import { hueOf } from "../transport/hues.js";
import { labelIn, rect, spanOf, text } from "../transport/lanechart.js";
import { createCard } from "../player/ui/shell.js";
import { AXIS, LOOK, MARGINS, MIN_WIDTH, NAME, createLabChart } from "./labchart.js";
import { LAB_STEP } from "../words/words.js";
import { fill } from "../words/choice.js";

const LABELS = 132, // px of the names of rows
  LANE = 17,
  PAIR = 40, // px of the two lanes of one process
  GAP = 22,
  SIZES = 190; // px of the picture of bucket sizes

const CARD = { ...LOOK, words: LAB_STEP, hues: BUCKET_HUES, build: buildLabStep, dress() {}, arrange: drawLabStep };

/** Mount a step of the lab into `host`. Its data are {id, document, language, theme}. */
const createLabStep = (host) => createCard(host, CARD);

function buildLabStep(lab) {
  Object.assign(lab, { stage: el("div"), sizes: el("div"), legend: el("div.legend"), says: el("p.says") });
  return [el("div.card", lab.says, lab.stage, lab.legend), el("div.card", lab.sizes)];
}

function drawLabStep(lab, width) {
  lab.wide = width - MARGINS;
  if (lab.wide < MIN_WIDTH) return;
  const { document: doc } = lab.data,
    total = 1.03 * Math.max(doc.predicted.time, doc.measured?.time ?? 0);
  lab.unit = timeUnit(total);
  lab.place = { left: lab.wide < 760 ? 84 : LABELS, right: 12, total };
  lab.says.textContent = doc.measured
    ? fill(lab.words.both, { predicted: fmtSpan(doc.predicted.time), measured: fmtSpan(doc.measured.time) })
    : lab.words.waits;
  lab.stage.replaceChildren(stageOfStep(lab));
  lab.sizes.parentElement.hidden = !doc.sizes.length;
  lab.sizes.replaceChildren(...(doc.sizes.length ? [sizesOfBuckets(lab)] : []));
  drawStepLegend(lab);
  Object.assign(lab.root.dataset, {
    predicted: String(doc.predicted.time),
    measured: String(doc.measured?.time ?? ""),
    sizes: String(doc.sizes.filter((size) => size.measured !== null).length),
  });
}

function stageOfStep(lab) {
  const { document: doc } = lab.data,
    ranks = doc.measured?.ranks ?? [],
    { lanes, names } = doc.predicted,
    below = AXIS + lanes.length * PAIR + GAP,
    height = below + ranks.length * PAIR + 4,
    chart = createLabChart(lab, { height, "aria-label": lab.words.label }),
    firstOf = (label, k) => [label, names[k]].filter(Boolean).join(", ");
  lanes.forEach((boxes, r) => {
    drawPair(lab, chart, boxes, AXIS + r * PAIR, r ? names[r] : firstOf(lab.words.predicted, 0), !r);
  });
  ranks.forEach((boxes, r) => {
    drawPair(lab, chart, boxes, below + r * PAIR, r ? `rank ${r}` : `${lab.words.measured}, rank 0`, !r);
  });
  return chart.picture;
}

/** What one process does: computing above, the network below it. */
function drawPair(lab, chart, boxes, y, name, isFirst) {
  chart.picture.append(text(0, y + 15, name, isFirst ? NAME : {}));
  for (const [network, bucket, begin, end, about] of boxes) {
    const span = spanOf(chart, begin, end, 0.8),
      top = y + (network ? LANE + 1 : 0),
      hue = hueOf(bucket),
      fill = network || bucket >= 0 ? hue.box : "var(--idle)",
      look = { stroke: "var(--card)", "fill-opacity": network ? 1 : 0.45 },
      tip = svg("title", {}, `${about}: ${lab.unit.fmt(begin)} – ${lab.unit.fmt(end)}`),
      number = network && bucket >= 0 ? [String(bucket)] : [],
      label = labelIn(span, top + 13, number, { size: 12, bold: true, fill: hue.text });
    chart.picture.append(svg("g", {}, rect(span.x, top, span.wide, LANE, fill, look), tip, ...label));
  }
}

/** Time over bucket size: predicted a line, measured a dot each. */
function sizesOfBuckets(lab) {
  const { sizes, chosen } = lab.data.document,
    { left, right } = lab.place,
    most = 1.1 * Math.max(...sizes.map((size) => Math.max(size.predicted, size.measured ?? 0))),
    unit = timeUnit(most),
    top = 34,
    base = SIZES - 28,
    room = Math.min(lab.wide - left - right, 900),
    x = (k) => left + (room * (k + 0.5)) / sizes.length,
    y = (t) => base - ((base - top) * t) / most,
    points = sizes.map((size, k) => `${x(k)},${y(size.predicted)}`).join(" "),
    curve = { points, fill: "none", stroke: "var(--ink3)", "stroke-width": 2, "stroke-dasharray": "5 4" };
  const marks = sizes.map((size, k) => {
    const known = size.measured !== null,
      label = formatTimes(size, unit, lab.wide < 760),
      look = { anchor: "middle", ...(size.nbytes === chosen ? NAME : {}) };
    return svg(
      "g",
      { "data-size": size.nbytes },
      text(x(k), base + 19, fmtBytes(size.nbytes), look),
      text(x(k), y(Math.max(size.predicted, size.measured ?? 0)) - 10, label, { anchor: "middle" }),
      known && svg("circle", { cx: x(k), cy: y(size.measured), r: 5, fill: "var(--ink)" }),
    );
  });
  return svg(
    "svg",
    { width: lab.wide, height: SIZES, role: "img", "aria-label": lab.words.sizes },
    text(0, 16, lab.words.sizes, NAME),
    rect(left, base, room, 1, "var(--edge)"),
    svg("polyline", curve),
    ...marks,
  );
}

const formatTimes = (size, unit, narrow) => {
  const [predicted, measured] = [size.predicted, size.measured ?? 0].map((t) => threeDigits(t * unit.f));
  if (narrow) return size.measured === null ? predicted : measured;
  return `${size.measured === null ? predicted : `${predicted} → ${measured}`}${NB}${unit.unit}`;
};

function drawStepLegend(lab) {
  const { document: doc } = lab.data,
    words = { ...lab.words, ...lab.words[doc.number] };
  lab.legend.replaceChildren(
    swatch("background:var(--idle);opacity:.6", words.forward),
    swatch("background:var(--b0);opacity:.45", words.backward),
    swatch("background:var(--b0)", words.sent),
    ...(doc.sizes.length ? [swatch(".dash", words.curve)] : []),
  );
}

export default component((box) => createLabStep(box));
