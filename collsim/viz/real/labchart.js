// What the pictures of the lab share: their style sheets, and the chart of processes.

import { timeMarks } from "../player/model/units.js";
import { createChart, timeAxis } from "../transport/lanechart.js";
import buttonsSheet from "../transport/buttons.css" with { type: "text" };
import lightSheet from "../transport/lanechart.css" with { type: "text" };
import labSheet from "./lab.css" with { type: "text" };

export const LOOK = { className: "lb", css: [buttonsSheet, lightSheet, labSheet] };
export const AXIS = 26; // px above the lanes
export const NAME = { size: 15, bold: true, fill: "var(--ink)" }; // of a lane
export const MARGINS = 42; // px of a card beside its chart
export const MIN_WIDTH = 60; // px of a chart

/** The chart of processes over so many seconds, `wide` px across, with its axis. */
export function createLabChart({ wide, place }, { height, ...look }) {
  const { left, right, total } = place,
    chart = createChart({ width: wide, height, total, left, right, role: "img", ...look }),
    marks = timeMarks(total, Math.max(2, Math.floor(chart.room / 110)));
  chart.picture.append(...timeAxis(chart, marks, { y: 14, top: AXIS - 4 }));
  return chart;
}
