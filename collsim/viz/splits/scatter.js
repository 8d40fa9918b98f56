// Every legal split as a dot: memory over time, both logarithmic; what does not fit stands on red.

import { disc } from "../player/draw/canvas.js";
import { FONT } from "../player/model/look.js";

const SCATTER_LEFT = 46;
const SCATTER_FOOT = 40;

/** Scales of a table of splits on so many pixels. */
export function scatterScales(table, width, high, room) {
  const span = (values) => [Math.min(...values) * 0.93, Math.max(...values) * 1.08],
    [x0, x1] = span(room ? [...table.memory, room] : table.memory),
    [y0, y1] = span(table.time),
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

export function drawScatter(g, table, scales, { C, room, open, words, bytes }) {
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
  const dot = (k, fill, edge, r) => disc(g, x(table.memory[k]), y(table.time[k]), r, fill, edge);
  table.time.forEach((_, k) => dot(k, table.fits[k] ? C.wait : C.card, table.fits[k] ? C.ink3 : C.edge, 2.6));
  paretoLine(g, table, scales, C);
  table.pareto.forEach((on, k) => on && dot(k, C.done, C.card, 4.2));
  if (open >= 0) dot(open, C.ink, C.card, 6.5);
  g.font = `12px ${FONT}`;
  g.fillStyle = C.ink2;
  g.textAlign = "right";
  g.fillText(words.room(room ? bytes(room) : "–"), width - 12, high - 8);
}

function axes(g, { x, y, width, high, ends }, C) {
  g.font = `12px ${FONT}`;
  g.textBaseline = "middle";
  for (const t of logTicks(ends.y0, ends.y1)) {
    g.fillStyle = C.grid;
    g.fillRect(SCATTER_LEFT, y(t), width - 12 - SCATTER_LEFT, 1);
    g.fillStyle = C.ink2;
    g.textAlign = "right";
    g.fillText(`${Number(t.toPrecision(2))}\u00a0s`, SCATTER_LEFT - 6, y(t));
  }
  for (const b of logTicks(ends.x0, ends.x1)) {
    g.fillStyle = C.ink2;
    g.textAlign = "center";
    g.fillText(`${Number((b / 1e9).toPrecision(2))}\u00a0GB`, x(b), high - SCATTER_FOOT + 12);
  }
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
