// The rows of one runner on a canvas: boxes, what is idle, what is held over time, the finish line.

import { FONT } from "../player/model/look.js";
import { niceStep } from "../player/model/units.js";

/** Pixels of a row's parts, by kind of picture; rows of many GPUs are lower. */
export const LANE_LEFT = 62;
export const LANE_RIGHT = 88;
const FINISH = 9;
const NUMBERED = 11; // a box narrower than this carries no number

/** What fills a box, and the text on it: [colour, deeper colour, text, text on the deeper]. */
export const FILLS = {
  F: ["casing", "idle", "ink", "ink"],
  B: ["ink3", "ink", "card", "card"],
  I: ["ink3", "ink", "card", "card"],
  W: ["sumfill", "sum2", "ink", "ink"],
  copy: ["ink3", "ink3", "card", "card"],
  opt: ["idle", "idle", "ink", "ink"],
  gather: ["room", "room", "strong", "strong"],
  reduce: ["sumfill", "sumfill", "ink", "ink"],
};

/** Where the rows of a runner stand: [{top, high, level, below}], and how high it is in all. */
export function rowsOf(run, kind, twice) {
  if (kind === "sharding") {
    const wide = twice ? 1.6 : 1;
    return {
      rows: [
        { top: 8, high: 25, data: run.compute, name: "compute" },
        { top: 39, high: 22, data: run.network, name: "network" },
        { top: 74, level: 118 * wide, data: run, name: "level" },
      ],
      high: 74 + 118 * wide + 14,
    };
  }
  const few = run.rows.length <= 8,
    box = (few ? 21 : 14) * (twice ? 1.5 : 1),
    stair = (few ? 17 : 9) * (twice ? 1.5 : 1),
    apart = box + stair + 6;
  return {
    rows: run.rows.map((data, k) => ({ top: 8 + k * apart, high: box, level: stair, data, name: data.label })),
    high: 8 + run.rows.length * apart + 4,
  };
}

/** Draw a runner as a whole; the cursor and the veil over what is to come are laid over it. */
export function drawLaneRows(g, run, view) {
  const { layout, colours: C, across, width } = view;
  g.clearRect(0, 0, width, layout.high);
  g.textBaseline = "middle";
  gridLines(g, view);
  layout.rows.forEach((row, k) => {
    rowLabel(g, row, k, view);
    if (row.level) (view.kind === "sharding" ? waterLevel : staircase)(g, row, view);
    if (row.high) {
      idleParts(g, row, view);
      for (const box of row.data.boxes) laneBox(g, box, row, view);
    }
    if (view.kind === "pipelines") heldBar(g, row, view);
  });
  if (view.kind === "pipelines") largestGap(g, layout.rows[0], run, view);
  finishLine(g, across(run.time), layout.high, C);
  bracketOf(g, run, view);
}

function gridLines(g, { across, layout, colours, total }) {
  const every = niceStep(total, 10);
  g.fillStyle = colours.grid;
  for (let t = 0; t <= total * 1.0001; t += every) g.fillRect(Math.round(across(t)), 0, 1, layout.high);
}

function rowLabel(g, row, k, { colours, kind, words }) {
  if (row.name === "level") return;
  g.font = `13px ${FONT}`;
  g.fillStyle = colours.ink2;
  g.textAlign = "right";
  const said = kind === "sharding" ? words[row.name] : k === 0 ? `${words.gpu} ${row.name}` : row.name;
  g.fillText(said, LANE_LEFT - 8, row.top + row.high / 2 + 1);
}

function idleParts(g, row, { across, hatch }) {
  g.fillStyle = hatch;
  for (const [a, b] of row.data.idle)
    if (across(b) - across(a) > 1) g.fillRect(across(a), row.top, across(b) - across(a), row.high);
}

/** One box; the number is the microbatch, or the block. */
function laneBox(g, [a, b, text, kind, deep, part], row, view) {
  const { across, colours: C, focus } = view,
    [fill, deeper, ink, inkDeeper] = FILLS[kind] ?? FILLS.opt,
    dark = deep % 2 === 1,
    x = across(a),
    wide = Math.max(1, across(b) - x - (across(b) - x > 4 ? 1 : 0)),
    y = row.top + (part === 2 ? row.high / 2 : 0),
    high = part ? row.high / 2 : row.high;
  g.globalAlpha = focus === null || focus === text ? 1 : 0.28;
  g.fillStyle = C[dark ? deeper : fill];
  g.beginPath();
  g.roundRect(x, y, wide, high, Math.min(3, wide / 3));
  g.fill();
  if ((kind === "F" || kind === "opt") && wide > 5) {
    g.strokeStyle = C.edge;
    g.lineWidth = 1;
    g.stroke();
  }
  if (text && wide >= NUMBERED + (text.length - 1) * 6 && high >= 10) {
    g.font = `${kind === "F" ? "" : "700 "}${high < 16 ? 11 : 13}px ${FONT}`;
    g.textAlign = "center";
    g.fillStyle = C[dark ? inkDeeper : ink];
    g.fillText(text, x + wide / 2, y + high / 2 + 1);
  }
  g.globalAlpha = 1;
}

/** Microbatches that the rank holds, as stairs below its boxes; a full row is the most that any runner holds. */
function staircase(g, row, { across, colours, most, end }) {
  const floor = row.top + row.high + row.level + 2,
    high = (held) => (held / most) * (row.level - 1);
  stairs(g, row.data.level, 1, { across, end, floor, high, fill: colours.room, line: colours.room, alpha: 0.34 });
}

/** Bytes of gathered weights, and on them gradients that are not reduced yet. */
function waterLevel(g, row, { across, colours: C, most, end, bytes, whole, words }) {
  const floor = row.top + row.level,
    high = (held) => (held / most) * row.level,
    points = row.data.level,
    sums = points.map(([t, gathered, gradients]) => [t, gathered + gradients]);
  levelScale(g, floor, high, { C, most, bytes, left: across(0), right: across(end) });
  stairs(g, sums, 1, { across, end, floor, high, fill: C.sumfill, line: C.sum2, alpha: 0.75 });
  stairs(g, points, 1, { across, end, floor, high, fill: C.card, line: C.room, alpha: 1 });
  stairs(g, points, 1, { across, end, floor, high, fill: C.room, line: C.room, alpha: 0.38 });
  g.setLineDash([5, 4]);
  g.strokeStyle = C.ink3;
  g.beginPath();
  g.moveTo(across(0), floor - high(whole));
  g.lineTo(across(end), floor - high(whole));
  g.stroke();
  g.setLineDash([]);
  pill(g, words.all(bytes(whole)), across(0) + 4, floor - high(whole), C, "left");
}

function levelScale(g, floor, high, { C, most, bytes, left, right }) {
  const every = niceStep(most / 1e9, 3) * 1e9;
  g.font = `12px ${FONT}`;
  g.textAlign = "right";
  for (let at = 0; at <= most; at += every) {
    g.fillStyle = C.grid;
    g.fillRect(left, Math.round(floor - high(at)), right - left, 1);
    g.fillStyle = C.ink3;
    g.fillText(at === 0 ? bytes(0) : String(Number((at / 1e9).toPrecision(3))), left - 8, floor - high(at));
  }
}

function stairs(g, points, column, { across, end, floor, high, fill, line, alpha }) {
  if (!points.length) return;
  g.beginPath();
  g.moveTo(across(points[0][0]), floor);
  points.forEach((point, k) => {
    g.lineTo(across(point[0]), floor - high(point[column]));
    g.lineTo(across(points[k + 1]?.[0] ?? end), floor - high(point[column]));
  });
  g.lineTo(across(end), floor);
  g.globalAlpha = alpha;
  g.fillStyle = fill;
  g.fill();
  g.globalAlpha = 1;
  g.strokeStyle = line;
  g.lineWidth = 1.3;
  g.stroke();
}

/** Right of the finish: how many microbatches the rank holds at most, as a number and as a bar. */
function heldBar(g, row, { colours: C, width, most }) {
  const x = width - LANE_RIGHT + 34,
    y = row.top + row.high / 2,
    share = row.data.held / most,
    full = share > 0.999 && most > 1;
  g.font = `700 14px ${FONT}`;
  g.textAlign = "right";
  g.fillStyle = full ? C.fulltext : C.ink;
  g.fillText(String(Number(row.data.held.toPrecision(3))), x - 6, y + 1);
  g.fillStyle = C.grid;
  g.fillRect(x, y - 3, 44, 6);
  g.fillStyle = full ? C.full : C.room;
  g.fillRect(x, y - 3, Math.max(2, 44 * share), 6);
}

/** What the longest wait of the first row comes to, where there is room to say it. */
function largestGap(g, row, run, view) {
  const idle = row.data.idle,
    longest = idle.reduce((best, one) => (one[1] - one[0] > best[1] - best[0] ? one : best), [0, 0]),
    sum = idle.reduce((all, [a, b]) => all + b - a, 0),
    said = view.words.idle(view.fmt(sum), view.fmt(run.time), `${((100 * sum) / run.time).toFixed(1)}\u00a0%`),
    room = view.across(longest[1]) - view.across(longest[0]);
  g.font = `700 13px ${FONT}`;
  if (sum && room > g.measureText(said).width + 18)
    pill(g, said, view.across((longest[0] + longest[1]) / 2), row.top + row.high / 2, view.colours, "center");
}

function pill(g, text, x, y, C, align) {
  g.font = `${align === "center" ? "700 " : ""}13px ${FONT}`;
  const wide = g.measureText(text).width + 12,
    left = align === "center" ? x - wide / 2 : x;
  g.fillStyle = C.card;
  g.beginPath();
  g.roundRect(left, y - 9, wide, 18, 4);
  g.fill();
  g.fillStyle = align === "center" ? C.ink : C.ink2;
  g.textAlign = "left";
  g.fillText(text, left + 6, y + 1);
}

/** Chequers where it ends. */
function finishLine(g, x, high, C) {
  const side = FINISH / 2;
  g.fillStyle = C.card;
  g.fillRect(x, 2, FINISH, high - 6);
  g.fillStyle = C.ink;
  for (let k = 0; k * side < high - 6; k++)
    g.fillRect(x + (k % 2) * side, 2 + k * side, side, Math.min(side, high - 6 - k * side));
}

/** From its finish to that of the slowest: how much sooner it is done. */
function bracketOf(g, run, { across, total, colours: C, layout, words, fmt }) {
  const a = across(run.time) + FINISH + 6,
    b = across(total),
    y = layout.high / 2;
  if (total - run.time < 1e-9 * total || b - a < 24) return;
  g.strokeStyle = C.ink3;
  g.lineWidth = 1.2;
  g.beginPath();
  for (const [x0, y0, x1, y1] of [
    [a, y, b, y],
    [a, y - 5, a, y + 5],
    [b, y - 5, b, y + 5],
  ]) {
    g.moveTo(x0, y0);
    g.lineTo(x1, y1);
  }
  g.stroke();
  g.textAlign = "center";
  const say = (text, at, bold, colour) => {
    g.font = `${bold}13px ${FONT}`;
    g.fillStyle = colour;
    if (g.measureText(text).width < b - a + 20) g.fillText(text, (a + b) / 2, at);
  };
  say(words.less(fmt(total - run.time)), y - 14, "700 ", C.ink);
  say(words.saved(`${(100 * (1 - run.time / total)).toFixed(1)}\u00a0%`), y + 15, "", C.ink2);
}

/** What is under the pointer: {row, box} or {row, gap}, or null. */
export function laneHit(view, x, y) {
  const row = view.layout.rows.find((one) => one.high && y >= one.top && y < one.top + one.high + (one.level ?? 0)),
    t = view.timeAt(x);
  if (!row || t < 0) return null;
  const middle = y - row.top > row.high / 2 ? 2 : 1,
    box = row.data.boxes.find(([a, b, , , , part]) => a <= t && t < b && (!part || part === middle));
  if (box) return { row, box };
  const gap = row.data.idle.find(([a, b]) => a <= t && t < b);
  return gap ? { row, gap, next: row.data.boxes.find(([a]) => a >= gap[1] * (1 - 1e-9)) } : null;
}

/** A pattern of slanted lines, for what is idle. */
export function hatchOfIdle(g, C) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 8;
  const h = tile.getContext("2d");
  h.strokeStyle = C.wait;
  h.lineWidth = 1.3;
  for (const k of [-8, 0, 8]) {
    h.beginPath();
    h.moveTo(k, 8);
    h.lineTo(k + 8, 0);
    h.stroke();
  }
  return g.createPattern(tile, "repeat");
}

