// What the pictures of the lab share: the element they stand in, its colours, language and words, and the chart.

import { timeMarks } from "../player/model/units.js";
import { createShell, dressRoot } from "../player/ui/shell.js";
import { createChart, timeAxis } from "../transport/lanechart.js";
import { pickWords } from "../words/choice.js";
import buttonsSheet from "../transport/buttons.css" with { type: "text" };
import lightSheet from "../transport/lanechart.css" with { type: "text" };
import labSheet from "./lab.css" with { type: "text" };

export const AXIS = 26; // px above the lanes
export const NAME = { size: 15, bold: true, fill: "var(--ink)" }; // of a lane

/** Put `cards` into `host`. `set(lab, data)` takes new data, `draw(lab, false)` another width. */
export function mountLab(host, lab, cards, set, draw) {
  const look = { className: "lb", css: [buttonsSheet, lightSheet, labSheet], isFocusable: lab.isFocusable },
    shell = createShell(host, { ...look, arrange: () => draw(lab, false) }, ...cards);
  lab.root = shell.root;
  return { root: shell.root, update: (data) => set(lab, data), destroy: shell.remove };
}

/** Take over data: theme, language and words; `hues` are colours beside those of the player, by theme. */
export function dressLab(lab, data, words, hues) {
  lab.data = data;
  dressRoot(lab.root, data, hues);
  lab.words = pickWords(words, data.language);
  lab.root.setAttribute("aria-label", lab.words.label);
}

/** The chart of processes over so many seconds, `wide` px across, with its axis. */
export function createLabChart(lab, { left, right, height, total, ...look }) {
  const chart = createChart({ width: lab.wide, height, total, left, right, role: "img", ...look }),
    marks = timeMarks(total, Math.max(2, Math.floor(chart.room / 110)));
  chart.picture.append(...timeAxis(chart, marks, { y: 14, top: AXIS - 4 }));
  return chart;
}
