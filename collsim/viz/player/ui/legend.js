// The legend: what the shapes and colours of this view mean.

import { useFill } from "../draw/cable.js";
import { colorsOf, wordsOf } from "./context.js";
import { el, sizeCanvas, svg, symbol } from "../draw/elements.js";
import { groupKeys } from "../charts/groups.js";

export function buildLegend(ui) {
  const { parts, state, model } = ui,
    words = wordsOf(ui),
    colors = colorsOf(ui),
    item = (picture, text) => el("span", picture, text),
    summing = model.tl.transfers.reduce.some(Boolean),
    copyDot = svg("circle", { cx: 10, cy: 10, r: 9.5, fill: colors.done }),
    physical = state.view === "physical";
  const items = [
    summing && item(reduceSymbol(colors), words.reduce),
    item(symbol(20, 20, copyDot), summing ? words.copySum : words.copy),
    model.lockstep && physical && item(waitSymbol(colors), words.waitsKey),
    item(cableSymbol(colors), physical ? words.cable : words.inUse),
    state.view === "logical" && summing && model.ranks <= 4 && item(dotsSymbol(colors), words.dots),
    physical && el("span", words.used, ...useSamples(colors, words, state.patterns)),
  ];
  const groups = groupKeys(model, colors, { words, language: state.language }, item);
  parts.legend.replaceChildren(...groups, ...items.filter(Boolean));
}

const square = (at, side, rx, look) => svg("rect", { x: at, y: at, width: side, height: side, rx, ...look });

const level = (y, height, fill) => svg("rect", { x: 0, y, width: 34, height, fill });

function reduceSymbol(colors) {
  const level = svg("rect", { x: 3, y: 11, width: 16, height: 8, fill: colors.sumfill });
  return symbol(22, 22, square(1, 20, 3.5, { fill: colors.card, stroke: colors.ink, "stroke-width": 2 }), level);
}

function waitSymbol(colors) {
  const ring = { fill: "none", stroke: colors.wait, "stroke-width": 1.6, "stroke-dasharray": "2.5 2.5" };
  return symbol(22, 22, square(1, 20, 4, ring), square(5, 12, 2, { fill: colors.sumfill }));
}

const cableSymbol = (colors) =>
  symbol(34, 16, level(0.8, 14.4, colors.edge), level(1.6, 12.8, colors.roomtint), level(5.5, 5, colors.room));

function dotsSymbol(colors) {
  const look = { cy: 5, r: 3.5, stroke: colors.ink, "stroke-width": 1.2 },
    dot = (x, q) => svg("circle", { cx: x - 0.5, fill: q % 2 ? colors.card : colors.ink, ...look });
  return symbol(34, 10, ...[4, 13, 22, 31].map(dot));
}

const useSamples = (colors, words, patterns) =>
  ["room", "near", "full"].flatMap((cls) => [sampleOf(colors, cls, patterns), el("span", words.range[cls])]);

function sampleOf(colors, cls, patterns) {
  const canvas = el("canvas"),
    ctx = sizeCanvas(canvas, 14, 12);
  ctx.fillStyle = useFill(ctx, colors, cls, patterns);
  ctx.fillRect(0, 0, 14, 12);
  return canvas;
}
