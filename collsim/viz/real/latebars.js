// How much later than predicted each step came: a bar, the middle half of the runs, and runs that were held up.

import { bandOf } from "../player/model/order.js";
import { el, svg, swatch } from "../player/draw/elements.js";
import { NB, niceStep } from "../player/model/units.js";
import { labelIn, levelAxis, rect, text } from "../transport/lanechart.js";
import { fill } from "../words/choice.js";

const HEAD = 46, // px above the scale, for runs off it
  HEIGHT = 150,
  FOOT = 26,
  IDLE = "var(--idle)";

/** Draw the card below: bars over steps, in the time column of the chart above. */
export function drawLateness(lab, { left, room }) {
  const { measured: m, steps } = lab.data.document,
    words = lab.words,
    scale = scaleOf(m),
    name = { role: "img", "aria-label": words.later },
    y = (t) => HEAD + (HEIGHT * (scale.top - t)) / (scale.top - scale.bottom),
    slot = room / steps,
    bars = Array.from({ length: steps }, (_, k) =>
      svg("g", { "data-key": k, style: "cursor:default" }, ...barOf(m, k, left + (k + 0.5) * slot, slot, y, scale)),
    );
  const picture = svg(
    "svg",
    { width: lab.wide, height: HEAD + HEIGHT + FOOT, ...name },
    ...scaleLines(left, room, scale, y),
    ...bars,
    ...expectedLine(m, left, slot, y, scale),
    ...delayedRuns(lab, m, left, room, slot),
    ...titleOf(lab),
  );
  lab.pictures.push(picture);
  lab.later.replaceChildren(picture, legendOf(lab, m));
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

function scaleLines(left, room, scale, y) {
  const step = niceStep(scale.top - scale.bottom, 4),
    marks = [];
  for (let t = Math.ceil(scale.bottom / step) * step; t <= scale.top; t += step) {
    const zero = { text: "0", rule: "var(--edge)" };
    marks.push({ y: y(t) - 0.5, text: `${ms(t, digitsOf(step))}${NB}ms`, ...(Math.abs(t) < step / 2 && zero) });
  }
  return levelAxis(marks, { left, right: left + room, away: 10 });
}

function barOf(m, k, middle, slot, y, scale) {
  const wide = Math.min(46, 0.6 * slot),
    late = m.late[k],
    isWorst = late === Math.max(...m.late),
    high = Math.min(m.high[k], scale.top),
    box = { x: middle - wide / 2, wide },
    tall = Math.abs(y(0) - y(late)),
    centred = { anchor: "middle" },
    out = [
      rect(middle - wide * 0.75, y(high), wide * 1.5, Math.max(1, y(Math.max(m.low[k], scale.bottom)) - y(high)), IDLE),
      rect(box.x, Math.min(y(late), y(0)), wide, Math.max(1, tall), isWorst ? "var(--ink)" : "var(--ink3)"),
    ];
  if (m.high[k] > scale.top && slot > 30) out.push(text(middle, y(high) - 4, ms(m.high[k], 1), centred));
  const number = wide > 30 && tall > 20 ? [(late * 1e3).toFixed(2)] : [];
  out.push(...labelIn(box, y(0) - 6, number, { bold: true, fill: "var(--card)" }));
  const look = isWorst ? { size: 15, bold: true, fill: "var(--ink)" } : {};
  if (slot > 16 || k % Math.ceil(22 / slot) === 0)
    out.push(text(middle, HEAD + HEIGHT + 18, k + 1, { ...centred, ...look }));
  return out;
}

function expectedLine({ expected }, left, slot, y, scale) {
  if (!expected) return [];
  const height = (t) => Math.max(y(scale.top), Math.min(y(scale.bottom), y(t))),
    line = expected.map((t, k) => `${k ? "L" : "M"}${left + k * slot} ${height(t)}h${slot}`).join(""),
    look = { stroke: "var(--ink)", "stroke-width": 1.8, "stroke-dasharray": "6 4", fill: "none" };
  return [svg("path", { d: line, ...look, "pointer-events": "none" })];
}

/** A triangle for each run that was held up, over the step in which it lost most. */
const delayedRuns = (lab, m, left, room, slot) =>
  m.delayed.slice(0, 4).flatMap(([run, step, more], i) => {
    const x = left + (step + 0.5) * slot,
      y = lab.place.narrow ? 34 : 14 + (i % 2) * 20, // the title of a narrow picture is above
      isRight = x > left + 0.6 * room,
      label = fill(lab.words.run, { run: run + 1, more: `${(more * 1e3).toFixed(0)}\u00a0ms` }),
      look = { bold: true, fill: "var(--hostink)", anchor: isRight ? "end" : "start" };
    return [
      svg("path", { d: `M${x - 6} ${y + 2}h12l-6 -11z`, fill: "var(--hostink)" }),
      text(isRight ? x - 12 : x + 12, y + 1, label, look),
    ];
  });

function titleOf({ words, place }) {
  const lines = place.narrow ? [words.later] : words.later.split(/(?<=,)\s+|，/u);
  return lines.map((line, i) => text(0, 16 + 20 * i, line, { size: 15, bold: true, fill: "var(--ink)" }));
}

function legendOf({ words }, m) {
  return el(
    "div.legend",
    swatch("background:var(--ink3)", fill(words.bar, { runs: m.times.length })),
    swatch(`background:${IDLE}`, words.band),
    m.delayed.length && swatch(".tri", words.triangle),
    m.expected && swatch(".dash", words.dashed),
  );
}
