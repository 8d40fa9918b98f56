// Every legal split as a dot: memory over time, both logarithmic; what does not fit stands on red.

import { box, disc, put, widthOf } from "../player/draw/canvas.js";
import { FONT } from "../player/model/look.js";

const SCATTER_LEFT = 46;
const SCATTER_FOOT = 40;
const NOTE_HIGH = 40;

/** Scales of a table of splits on so many pixels; what a GPU has and the split that is shown are within them. */
export function scatterScales(table, width, high, room, shown = null) {
  const span = (values) => [Math.min(...values) * 0.93, Math.max(...values) * 1.08],
    [x0, x1] = span([...table.memory, ...(room ? [room] : []), ...(shown ? [shown.memory] : [])]),
    [y0, y1] = span([...table.time, ...(shown ? [shown.time] : [])]),
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

export function drawScatter(g, table, scales, { C, room, shown, notes, words, bytes }) {
  const { x, y, width, high, ends } = scales,
    floor = high - SCATTER_FOOT;
  g.clearRect(0, 0, width, high);
  if (room && room < ends.x1) {
    g.fillStyle = C.fulltint;
    g.fillRect(x(room), 10, width - 12 - x(room), floor - 10);
    g.fillStyle = C.full;
    g.fillRect(x(room) - 0.75, 10, 1.5, floor - 10);
  }
  axes(g, scales, C);
  const dot = (row, fill, edge, r) => disc(g, x(row.memory), y(row.time), r, fill, edge),
    at = (k) => ({ memory: table.memory[k], time: table.time[k] });
  table.time.forEach((_, k) => dot(at(k), table.fits[k] ? C.wait : C.card, table.fits[k] ? C.ink3 : C.edge, 2.6));
  paretoLine(g, table, scales, C);
  table.pareto.forEach((on, k) => on && dot(at(k), C.done, C.card, 4.2));
  if (shown) dot(shown, C.ink, C.card, 6.5);
  notes.forEach((note) => noteBeside(g, note, scales, C));
  if (!room) return;
  g.font = `12px ${FONT}`;
  g.fillStyle = C.ink2;
  g.textAlign = "right";
  g.fillText(words.room(bytes(room)), width - 12, high - 8);
}

/** A box with lines of text above a dot, or below it where there is more room, and a line that leads to it. */
function noteBeside(g, { row, colour, lines }, { x, y, width, high }, C) {
  const px = x(row.memory),
    py = y(row.time),
    floor = high - SCATTER_FOOT,
    wide = Math.max(...lines.map((line, k) => widthOf(g, line, 13, k === 0))) + 16,
    left = Math.min(width - 12 - wide, Math.max(SCATTER_LEFT + 4, px - wide / 2)),
    below = colour === "done" || py < NOTE_HIGH + 48,
    top = below ? Math.min(floor - NOTE_HIGH - 4, py + 22) : py - NOTE_HIGH - 34;
  g.strokeStyle = C[colour];
  g.lineWidth = 1.2;
  g.beginPath();
  g.moveTo(px, py);
  g.lineTo(Math.min(left + wide - 8, Math.max(left + 8, px)), top < py ? top + NOTE_HIGH : top);
  g.stroke();
  box(g, left, top, wide, NOTE_HIGH, 4, C.card, C[colour], 1.2);
  lines.forEach((line, k) => put(g, line, left + 8, top + 16 + 17 * k, 13, k ? C.ink2 : C[colour], { bold: k === 0 }));
}

function axes(g, { x, y, width, high, ends }, C) {
  g.font = `12px ${FONT}`;
  g.textBaseline = "middle";
  for (const [t, at] of freeLabels(logTicks(ends.y0, ends.y1).reverse(), y, () => 14, 0, high - SCATTER_FOOT)) {
    g.fillStyle = C.grid;
    g.fillRect(SCATTER_LEFT, at, width - 12 - SCATTER_LEFT, 1);
    g.fillStyle = C.ink2;
    g.textAlign = "right";
    g.fillText(`${Number(t.toPrecision(2))}\u00a0s`, SCATTER_LEFT - 6, at);
  }
  const said = (b) => `${Number((b / 1e9).toPrecision(2)).toLocaleString("en")}\u00a0GB`,
    wide = (b) => g.measureText(said(b)).width;
  g.fillStyle = C.ink2;
  g.textAlign = "center";
  for (const [b, at] of freeLabels(logTicks(ends.x0, ends.x1), x, wide, 0, width))
    g.fillText(said(b), at, high - SCATTER_FOOT + 12);
}

function paretoLine(g, table, { x, y }, C) {
  const best = table.time
    .map((_, k) => k)
    .filter((k) => table.pareto[k])
    .sort((a, b) => table.memory[a] - table.memory[b]);
  g.strokeStyle = C.done;
  g.lineWidth = 1.8;
  g.beginPath();
  best.forEach((k, i) => {
    if (i) g.lineTo(x(table.memory[k]), y(table.time[best[i - 1]]));
    g[i ? "lineTo" : "moveTo"](x(table.memory[k]), y(table.time[k]));
  });
  g.stroke();
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
