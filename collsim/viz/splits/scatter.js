// Every legal split as a dot: memory over time, both logarithmic; what does not fit stands on red.

import { box, disc, fillRect, put, stroke, widthOf } from "../player/draw/canvas.js";
import { NB } from "../player/model/units.js";
import { fill } from "../words/choice.js";

const SCATTER_LEFT = 46;
const SCATTER_FOOT = 40;
const NOTE_HIGH = 40;
const MIDDLE = 4; // px from the middle of a line of text down to what it stands on

/**
 * Scales of a table of splits on so many pixels; what a GPU has and the split that is shown are within them.
 * @param {any} table @param {number} width @param {number} high @param {number} room @param {any} [selected]
 */
export function scatterScales(table, width, high, room, selected = null) {
  const span = (values) => [Math.min(...values) * 0.93, Math.max(...values) * 1.08],
    [x0, x1] = span([...table.memory, ...(room ? [room] : []), ...(selected ? [selected.memory] : [])]),
    [y0, y1] = span([...table.time, ...(selected ? [selected.time] : [])]),
    scale = (a, b, p, q) => (v) => p + ((Math.log(v) - Math.log(a)) / (Math.log(b) - Math.log(a))) * (q - p);
  return {
    x: scale(x0, x1, SCATTER_LEFT, width - 12),
    y: scale(y0, y1, high - SCATTER_FOOT, 10),
    ends: { x0, x1, y0, y1 },
    width,
    high,
  };
}

/** Round numbers of a logarithmic axis: 1, 2 and 5 times powers of ten. */
export function logTicks(low, high) {
  const out = [];
  for (let power = 10 ** Math.floor(Math.log10(low)); power <= high; power *= 10)
    for (const k of [1, 2, 5]) if (k * power >= low && k * power <= high) out.push(k * power);
  return out;
}

/** Of values along an axis those whose labels stand free of one another: [value, at] in order, each label `wide(value)`
 * pixels, from `low` to `high`. */
export function freeLabels(values, at, wide, low, high) {
  const out = [];
  let end = low;
  for (const value of values) {
    const middle = at(value),
      half = wide(value) / 2;
    if (middle - half < end || middle + half > high) continue;
    out.push([value, middle]);
    end = middle + half + 8;
  }
  return out;
}

export function drawScatter(ctx, table, scales, { colors, room, shown: selected, notes, words, bytes }) {
  const { x, y, width, high, ends } = scales,
    floor = high - SCATTER_FOOT;
  ctx.clearRect(0, 0, width, high);
  if (room && room < ends.x1) {
    fillRect(ctx, x(room), 10, width - 12 - x(room), floor - 10, colors.fulltint);
    fillRect(ctx, x(room) - 0.75, 10, 1.5, floor - 10, colors.full);
  }
  axes(ctx, scales, colors);
  const dot = (row, fill, edge, r) => disc(ctx, x(row.memory), y(row.time), r, fill, edge),
    at = (k) => ({ memory: table.memory[k], time: table.time[k] });
  table.time.forEach((_, k) =>
    dot(at(k), table.fits[k] ? colors.wait : colors.card, table.fits[k] ? colors.ink3 : colors.edge, 2.6),
  );
  paretoLine(ctx, table, scales, colors);
  table.pareto.forEach((on, k) => on && dot(at(k), colors.done, colors.card, 4.2));
  if (selected) dot(selected, colors.ink, colors.card, 6.5);
  notes.forEach((note) => noteBeside(ctx, note, scales, colors));
  const label = room && fill(words.room, { bytes: bytes(room) });
  if (room) put(ctx, label, width - 12, high - 8, 12, colors.ink2, { align: "right" });
}

/** A box with lines of text above a dot, or below it where there is more room, and a line that leads to it. */
function noteBeside(ctx, { row, colour, lines }, { x, y, width, high }, colors) {
  const px = x(row.memory),
    py = y(row.time),
    floor = high - SCATTER_FOOT,
    wide = Math.max(...lines.map((line, k) => widthOf(ctx, line, 13, k === 0))) + 16,
    left = Math.min(width - 12 - wide, Math.max(SCATTER_LEFT + 4, px - wide / 2)),
    below = colour === "done" || py < NOTE_HIGH + 48,
    top = below ? Math.min(floor - NOTE_HIGH - 4, py + 22) : py - NOTE_HIGH - 34;
  const end = [Math.min(left + wide - 8, Math.max(left + 8, px)), top < py ? top + NOTE_HIGH : top];
  stroke(ctx, [px, py, ...end], 1.2, colors[colour]);
  box(ctx, left, top, wide, NOTE_HIGH, 4, colors.card, colors[colour], 1.2);
  lines.forEach((line, k) =>
    put(ctx, line, left + 8, top + 16 + 17 * k, 13, k ? colors.ink2 : colors[colour], { bold: k === 0 }),
  );
}

function axes(ctx, { x, y, width, high, ends }, colors) {
  for (const [t, at] of freeLabels(logTicks(ends.y0, ends.y1).reverse(), y, () => 14, 0, high - SCATTER_FOOT)) {
    fillRect(ctx, SCATTER_LEFT, at, width - 12 - SCATTER_LEFT, 1, colors.grid);
    put(ctx, `${Number(t.toPrecision(2))}${NB}s`, SCATTER_LEFT - 6, at + MIDDLE, 12, colors.ink2, { align: "right" });
  }
  const format = (b) => `${Number((b / 1e9).toPrecision(2)).toLocaleString("en")}${NB}GB`,
    wide = (b) => widthOf(ctx, format(b), 12);
  for (const [b, at] of freeLabels(logTicks(ends.x0, ends.x1), x, wide, 0, width))
    put(ctx, format(b), at, high - SCATTER_FOOT + 12 + MIDDLE, 12, colors.ink2, { align: "center" });
}

function paretoLine(ctx, table, { x, y }, colors) {
  const best = table.time
    .map((_, k) => k)
    .filter((k) => table.pareto[k])
    .sort((a, b) => table.memory[a] - table.memory[b]);
  const stairs = best.flatMap((k, i) => [best[i - 1] ?? k, k].flatMap((at) => [x(table.memory[k]), y(table.time[at])]));
  if (best.length) stroke(ctx, stairs, 1.8, colors.done, { round: 0 });
}

/** The split whose dot is nearest to a point, within 14 pixels; -1 for none. */
export function nearestDot(table, { x, y }, px, py) {
  let best = -1,
    least = 14 ** 2;
  table.time.forEach((t, k) => {
    const d = (x(table.memory[k]) - px) ** 2 + (y(t) - py) ** 2;
    if (d < least) [best, least] = [k, d];
  });
  return best;
}
