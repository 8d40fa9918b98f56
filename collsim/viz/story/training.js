// The picture of the last chapter: a step of training, on the chart of lanes, and below it both ways as bars.

import { hatch } from "../player/draw/elements.js";
import { fmtSpan, timeMarks } from "../player/model/units.js";
import { createChart, fits, labelIn, patched, rect, spanOf, text, timeAxis } from "../transport/lanechart.js";
import { fill } from "../words/choice.js";

const HIGH = 36; // px of a lane
const INK = "var(--ink)";
/** Of buckets, by turns. */
const HUES = { compute: ["var(--ink3)", "var(--wait)"], network: ["var(--done)", "var(--sum2)"] };

/** Draw the step at `share` of its time into `box`. */
export function drawTraining(box, { w, h, words, r: { step }, data, share, slim }) {
  const longest = Math.max(...data.training.steps.map((other) => other.apart)),
    chart = createChart({ width: w, height: h, total: longest, left: slim ? 8 : 92, right: 14 }),
    rows = { compute: slim ? 40 : 24, network: slim ? 102 : 72 },
    picture = { chart, words, slim },
    [top, bottom] = [rows.compute - 8, rows.network + 44];
  chart.picture.append(
    hatch("st-waits", { size: 7, width: 1.6, paper: "var(--card)", ink: "var(--wait)" }),
    ...Object.entries(rows).map(([stream, y]) => nameRow(picture, words[stream], y, 23)),
    ...step.boxes.flatMap((task) => drawTask(picture, rows, task)),
    ...step.waits.flatMap(([t0, t1]) => drawWait(picture, rows.compute, t0, t1)),
    ...drawTotal(picture, { name: words.overlap, time: step.time, fill: INK }, rows.network + 66),
    ...drawTotal(picture, { name: words.apart, time: step.apart, fill: "var(--ink3)" }, rows.network + 108),
    ...timeAxis(chart, timeMarks(longest, slim ? 4 : 6), {
      y: h - 8,
      top: h - 24,
      bottom: h - 20,
      rule: "var(--edge)",
    }),
    rect(chart.across(share * step.time) - 1, top, 2, bottom - top, INK),
  );
  box.replaceChildren(chart.picture);
}

/** The name of a row: left of it, or on a narrow screen above it. */
const nameRow = ({ chart, slim }, name, y, down) =>
  slim ? text(chart.left, y - 5, name) : text(chart.left - 10, y + down, name, { size: 14, anchor: "end" });

/** What a GPU computes or sends. */
function drawTask({ chart, words }, rows, [stream, kind, bucket, t0, t1]) {
  const y = rows[stream];
  if (y === undefined) return [];
  const span = spanOf(chart, t0, t1),
    isBucket = bucket >= 0 && (stream === "network" || kind === "backward"),
    isDark = isBucket && bucket % 2 === 0,
    hue = isBucket ? HUES[stream][bucket % 2] : "var(--idle)",
    name = { compute: words[kind === "optimizer" ? "update" : kind], network: isBucket && String(bucket) }[stream],
    look = { bold: true, fill: isDark ? "var(--ontext)" : INK };
  return [rect(span.x, y, span.wide - 1, HIGH, hue, { rx: 2 }), ...labelIn(span, y + 23, [name], look)];
}

function drawWait({ chart, words }, y, t0, t1) {
  const { x, wide } = spanOf(chart, t0, t1, 0),
    label = fill(words.waits, { time: fmtSpan(t1 - t0) }),
    look = { bold: true, fill: INK };
  return [
    rect(x, y, wide, HIGH, "url(#st-waits)", { stroke: "var(--wait)" }),
    ...(fits(label, 13, wide, true) ? patched(x + wide / 2, y + HIGH / 2, label, look) : []),
  ];
}

/** The time of a step as a bar. */
function drawTotal(picture, { name, time, fill: hue }, y) {
  const { x, wide } = spanOf(picture.chart, 0, time),
    look = { size: 15, bold: true, fill: "var(--card)", anchor: "end" };
  return [
    nameRow(picture, name, y, 18),
    rect(x, y, wide, 26, hue, { rx: 3 }),
    text(x + wide - 8, y + 18, fmtSpan(time), look),
  ];
}
