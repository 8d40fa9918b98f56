// How much later than predicted each step came: a bar, the middle half of the runs, and runs that were held up.

import { bandOf } from "../player/model/order.js";
import { el, svg } from "../player/draw/elements.js";
import { niceStep } from "../player/model/units.js";

const HEAD = 46, // px above the scale, for runs off it
  HEIGHT = 150,
  FOOT = 26;

/** Draw the card below: bars over steps, in the time column of the card above. */
export function drawLateness(lab, layout) {
  const { measured: m, steps } = lab.data.document,
    words = lab.words,
    scale = scaleOf(m),
    pic = svg("svg", { width: lab.wide, height: HEAD + HEIGHT + FOOT, role: "img", "aria-label": words.later }),
    y = (t) => HEAD + (HEIGHT * (scale.top - t)) / (scale.top - scale.bottom),
    slot = layout.width / steps;
  drawScale(pic, layout, scale, y);
  for (let k = 0; k < steps; k++) {
    const g = svg("g", { "data-step": k, style: "cursor:default" });
    drawBar(g, m, k, layout.left + (k + 0.5) * slot, slot, y, scale);
    pic.append(g);
    g.addEventListener("pointerenter", () => lightLab(lab, k));
    g.addEventListener("pointerleave", () => lightLab(lab, null));
  }
  drawExpected(pic, m, layout, slot, y, scale);
  drawDelayed(lab, pic, m, layout, slot);
  pic.append(...titleOf(words, layout));
  lab.bars = pic;
  lab.later.replaceChildren(pic, legendOf(lab, m));
}

/** Light one step in both pictures, or none. */
export function lightLab(lab, step) {
  for (const pic of [lab.pic, lab.bars]) {
    if (!pic) continue;
    pic.classList.toggle("dim", step !== null);
    for (const e of pic.querySelectorAll("[data-step]")) e.classList.toggle("lit", Number(e.dataset.step) === step);
  }
}

/** Seconds at the top and the bottom: the bars and most of the bands, not the farthest of them. */
function scaleOf(m) {
  const sorted = [...m.high].sort((a, b) => a - b),
    usual = sorted[Math.floor(0.9 * (sorted.length - 1))],
    top = Math.max(1e-5, ...m.late, usual, ...(m.expected ?? [])),
    bottom = Math.min(0, ...m.late);
  return { top: top * 1.12, bottom: bottom < -0.02 * top ? bottom * 1.12 : 0 };
}

const ms = (t, digits) => `${t > 0 ? "+" : ""}${(t * 1e3).toFixed(digits)}`;
const DIGITS = [
  [0.1, 0],
  [1e-4, 2],
];
const digitsOf = (top) => bandOf(top, DIGITS, 3);

function textAt(x, y, text, kind, style = "") {
  const e = svg("text", { x, y, class: kind, style });
  e.textContent = text;
  return e;
}

function drawScale(pic, layout, scale, y) {
  const step = niceStep(scale.top - scale.bottom, 4);
  for (let t = Math.ceil(scale.bottom / step) * step; t <= scale.top; t += step) {
    const zero = Math.abs(t) < step / 2;
    const line = { x1: layout.left, x2: layout.left + layout.width, y1: y(t), y2: y(t) };
    pic.append(svg("line", { ...line, stroke: zero ? "var(--edge)" : "var(--grid)" }));
    pic.append(textAt(layout.left - 10, y(t) + 4, zero ? "0" : `${ms(t, digitsOf(step))}\u00a0ms`, "n e"));
  }
}

function drawBar(g, m, k, middle, slot, y, scale) {
  const wide = Math.min(46, 0.6 * slot),
    late = m.late[k],
    worst = late === Math.max(...m.late),
    high = Math.min(m.high[k], scale.top),
    band = { x: middle - wide * 0.75, width: wide * 1.5, fill: "var(--idle)" };
  g.append(svg("rect", { ...band, y: y(high), height: Math.max(1, y(Math.max(m.low[k], scale.bottom)) - y(high)) }));
  if (m.high[k] > scale.top && slot > 30) g.append(textAt(middle, y(high) - 4, ms(m.high[k], 1), "n m"));
  const bar = { x: middle - wide / 2, width: wide, fill: worst ? "var(--ink)" : "var(--ink3)" };
  g.append(svg("rect", { ...bar, y: Math.min(y(late), y(0)), height: Math.max(1, Math.abs(y(0) - y(late))) }));
  if (wide > 30 && Math.abs(y(0) - y(late)) > 20)
    g.append(textAt(middle, y(0) - 6, (late * 1e3).toFixed(2), "m b", "fill:var(--card);font-size:13px"));
  if (slot > 16 || k % Math.ceil(22 / slot) === 0)
    g.append(textAt(middle, HEAD + HEIGHT + 18, k + 1, worst ? "m b" : "m s"));
}

function drawExpected(pic, m, layout, slot, y, scale) {
  if (!m.expected) return;
  const at = (k) => Math.max(y(scale.top), Math.min(y(scale.bottom), y(m.expected[k]))),
    d = m.expected.map((_, k) => `${k ? "L" : "M"}${layout.left + k * slot} ${at(k)}h${slot}`).join("");
  const look = { stroke: "var(--ink)", "stroke-width": 1.8, "stroke-dasharray": "6 4", fill: "none" };
  pic.append(svg("path", { d, ...look, "pointer-events": "none" }));
}

/** A triangle for each run that was held up, over the step in which it lost most. */
function drawDelayed(lab, pic, m, layout, slot) {
  m.delayed.slice(0, 4).forEach(([run, step, more], i) => {
    const x = layout.left + (step + 0.5) * slot,
      y = 14 + (i % 2) * 20,
      right = x > layout.left + 0.6 * layout.width,
      label = lab.words.run(run + 1, `${(more * 1e3).toFixed(0)}\u00a0ms`);
    pic.append(svg("path", { d: `M${x - 6} ${y + 2}h12l-6 -11z`, fill: "var(--hostink)" }));
    pic.append(
      textAt(right ? x - 12 : x + 12, y + 1, label, right ? "b e" : "b", "fill:var(--hostink);font-size:13px"),
    );
  });
}

function titleOf(w, layout) {
  const words = w.later.split(/(?<=,)\s+|，/u),
    lines = layout.narrow ? [w.later] : words;
  return lines.map((line, i) => textAt(0, 16 + 20 * i, line, "b"));
}

function legendOf(lab, m) {
  const words = lab.words,
    sign = (kind, look, text) => {
      const i = el("i", { className: kind });
      if (look) i.style.background = look;
      return el("span", {}, i, text);
    },
    triangles = m.delayed.length ? [sign("tri", "", words.triangle)] : [],
    dashed = m.expected ? [sign("dash", "", words.dashed)] : [];
  return el(
    "div",
    { className: "legend" },
    sign("", "var(--ink3)", words.bar(m.times.length)),
    sign("", "var(--idle)", words.band),
    ...triangles,
    ...dashed,
  );
}
