// The legend: what the shapes and colours of this view mean.

import { useFill } from "../draw/cable.js";
import { colorsOf, wordsOf } from "./context.js";
import { el, sizeCanvas, svg, symbol } from "../draw/elements.js";
import { groupKeys } from "../charts/groups.js";

export function buildLegend(ui) {
  const { d, S, m } = ui,
    w = wordsOf(ui),
    C = colorsOf(ui),
    item = (picture, text) => el("span", {}, picture, text),
    summing = m.tl.transfers.reduce.some(Boolean),
    physical = S.view === "physical";
  const items = [
    summing && item(reduceSymbol(C), w.reduce),
    item(symbol(20, 20, svg("circle", { cx: 10, cy: 10, r: 9.5, fill: C.done })), summing ? w.copySum : w.copy),
    m.lockstep && physical && item(waitSymbol(C), w.waitsKey),
    item(cableSymbol(C), physical ? w.cable : w.inUse),
    S.view === "logical" && summing && m.ranks <= 4 && item(dotsSymbol(C), w.dots),
    physical && el("span", {}, w.used, ...useSamples(C, w, S.patterns)),
  ];
  d.legend.replaceChildren(...groupKeys(m, C, S.lang, item), ...items.filter(Boolean));
}

const square = (at, side, rx, look) => svg("rect", { x: at, y: at, width: side, height: side, rx, ...look });

const level = (y, height, fill) => svg("rect", { x: 0, y, width: 34, height, fill });

const reduceSymbol = (C) =>
  symbol(
    22,
    22,
    square(1, 20, 3.5, { fill: C.card, stroke: C.ink, "stroke-width": 2 }),
    svg("rect", { x: 3, y: 11, width: 16, height: 8, fill: C.sumfill }),
  );

const waitSymbol = (C) =>
  symbol(
    22,
    22,
    square(1, 20, 4, { fill: "none", stroke: C.wait, "stroke-width": 1.6, "stroke-dasharray": "2.5 2.5" }),
    square(5, 12, 2, { fill: C.sumfill }),
  );

const cableSymbol = (C) =>
  symbol(34, 16, level(0.8, 14.4, C.edge), level(1.6, 12.8, C.roomtint), level(5.5, 5, C.room));

function dotsSymbol(C) {
  const look = { cy: 5, r: 3.5, stroke: C.ink, "stroke-width": 1.2 };
  return symbol(
    34,
    10,
    ...[4, 13, 22, 31].map((x, q) => svg("circle", { cx: x - 0.5, fill: q % 2 ? C.card : C.ink, ...look })),
  );
}

const useSamples = (C, w, patterns) =>
  ["room", "near", "full"].flatMap((cls, q) => [sampleOf(C, cls, patterns), el("span", { textContent: w.range[q] })]);

function sampleOf(C, cls, patterns) {
  const canvas = el("canvas"),
    g = sizeCanvas(canvas, 14, 12);
  g.fillStyle = useFill(g, C, cls, patterns);
  g.fillRect(0, 0, 14, 12);
  return canvas;
}
