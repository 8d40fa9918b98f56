// collsim Lab, a step of training: one clock, the prediction above, what every process did below, and bucket sizes.

import { el, svg, swatch } from "../player/draw/elements.js";
import { NB, fmtBytes, fmtSpan, threeDigits, timeMarks, timeUnit } from "../player/model/units.js";
import { component } from "../player/mount.js";
import { BUCKET_HUES } from "../player/model/look.js";
import { hueOf } from "../transport/hues.js";
import { dressLab, labText, mountLab } from "./labmount.js";
import { LAB_STEP } from "../words/lab_step_by_language.js";

const LABELS = 132, // px of the names of rows
  AXIS = 26,
  LANE = 17,
  PAIR = 40, // px of the two lanes of one process
  GAP = 22,
  SIZES = 190, // px of the picture of bucket sizes
  NARROW = 11; // px below which a box carries no number

/** Mount a step of the lab into `host`. Its data are {id, document, language, theme}. */
export function createLabStep(host) {
  const lab = { data: null, wide: 0, stage: el("div", {}), sizes: el("div", {}) };
  lab.legend = el("div", { className: "legend" });
  lab.says = el("p", { className: "says" });
  const cards = [
    el("div", { className: "card" }, lab.says, lab.stage, lab.legend),
    el("div", { className: "card" }, lab.sizes),
  ];
  return mountLab(host, lab, cards, setLabStep, drawLabStep);
}

function setLabStep(lab, data) {
  dressLab(lab, data, LAB_STEP, BUCKET_HUES);
  drawLabStep(lab, true);
}

function drawLabStep(lab, anew) {
  const wide = lab.root.clientWidth - 42;
  if (!lab.data || wide < 60 || (!anew && lab.wide === wide)) return;
  lab.wide = wide;
  const { document: doc } = lab.data,
    whole = 1.03 * Math.max(doc.predicted.time, doc.measured?.time ?? 0),
    left = wide < 760 ? 84 : LABELS,
    width = wide - left - 12;
  lab.unit = timeUnit(whole);
  lab.place = { left, width, whole, x: (t) => left + (width * t) / whole };
  lab.says.textContent = doc.measured
    ? lab.words.both(fmtSpan(doc.predicted.time), fmtSpan(doc.measured.time))
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
    pic = svg("svg", { width: lab.wide, height, role: "img", "aria-label": lab.words.label });
  drawStepAxis(lab, pic, height);
  lanes.forEach((boxes, r) => {
    const name = r ? names[r] : [lab.words.predicted, names[0]].filter(Boolean).join(", ");
    drawPair(lab, pic, boxes, AXIS + r * PAIR, name, r ? "s" : "b");
  });
  ranks.forEach((boxes, r) => {
    drawPair(lab, pic, boxes, below + r * PAIR, r ? `rank ${r}` : `${lab.words.measured}, rank 0`, r ? "s" : "b");
  });
  return pic;
}

function drawStepAxis(lab, pic, height) {
  const { x, whole, width } = lab.place;
  for (const { t, text } of timeMarks(whole, Math.max(2, Math.floor(width / 110)))) {
    pic.append(svg("line", { x1: x(t), x2: x(t), y1: AXIS - 4, y2: height, stroke: "var(--grid)" }));
    pic.append(labText(x(t), 15, text, "s m"));
  }
}

/** What one process does: computing above, the network below it. */
function drawPair(lab, pic, boxes, y, name, look) {
  pic.append(labText(0, y + 15, name, look));
  for (const [network, bucket, begin, end, about] of boxes) {
    const { x } = lab.place,
      wide = Math.max(0.8, x(end) - x(begin)),
      at = y + (network ? LANE + 1 : 0),
      hue = hueOf(bucket),
      fill = network || bucket >= 0 ? hue.box : "var(--idle)",
      g = svg("g", {}),
      box = { x: x(begin), y: at, width: wide, height: LANE, fill, stroke: "var(--card)" },
      tip = svg("title", {});
    tip.textContent = `${about}: ${lab.unit.fmt(begin)} – ${lab.unit.fmt(end)}`;
    g.append(svg("rect", network ? box : { ...box, "fill-opacity": 0.45 }), tip);
    if (network && bucket >= 0 && wide > NARROW) {
      const number = labText(x(begin) + wide / 2, at + 13, String(bucket), "m b");
      number.setAttribute("style", `fill:${hue.text};font-size:12px`);
      g.append(number);
    }
    pic.append(g);
  }
}

/** Time over bucket size: predicted a line, measured a dot each. */
function sizesOfBuckets(lab) {
  const { sizes, chosen } = lab.data.document,
    { left, width } = lab.place,
    most = 1.1 * Math.max(...sizes.map((size) => Math.max(size.predicted, size.measured ?? 0))),
    unit = timeUnit(most),
    pic = svg("svg", { width: lab.wide, height: SIZES, role: "img", "aria-label": lab.words.sizes }),
    top = 34,
    base = SIZES - 28,
    x = (k) => left + (Math.min(width, 900) * (k + 0.5)) / sizes.length,
    y = (t) => base - ((base - top) * t) / most;
  pic.append(labText(0, 16, lab.words.sizes, "b"));
  pic.append(svg("line", { x1: left, x2: left + Math.min(width, 900), y1: base, y2: base, stroke: "var(--edge)" }));
  const points = sizes.map((size, k) => `${x(k)},${y(size.predicted)}`).join(" ");
  pic.append(
    svg("polyline", { points, fill: "none", stroke: "var(--ink3)", "stroke-width": 2, "stroke-dasharray": "5 4" }),
  );
  sizes.forEach((size, k) => {
    const known = size.measured !== null,
      g = svg("g", { "data-size": size.nbytes });
    g.append(labText(x(k), base + 19, fmtBytes(size.nbytes), size.nbytes === chosen ? "m b" : "s m"));
    const label = formatTimes(size, unit, lab.wide < 760);
    g.append(labText(x(k), y(Math.max(size.predicted, size.measured ?? 0)) - 10, label, "s m"));
    if (known) g.append(svg("circle", { cx: x(k), cy: y(size.measured), r: 5, fill: "var(--ink)" }));
    pic.append(g);
  });
  return pic;
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
    ...(doc.sizes.length ? [el("span", {}, el("i", { className: "dash" }), words.curve)] : []),
  );
}

export default component((box) => createLabStep(box));
