// The rows of one runner on a canvas: boxes, what is idle, memory over time, the finish line.

import { FONT } from "../player/model/look.js";
import { niceStep } from "../player/model/units.js";

/** Pixels of a row's parts, by kind of picture; rows of many GPUs are lower. */
export const LANE_LEFT = 62;
export const LANE_RIGHT = 104;
const FINISH = 9;
const MANY_RUNNERS = 3; // runners above one another: with more, rows are lower, so that all are in sight
const SMALL_PART = 1 / 3; // of all weights: a level below it has a ruler of its own where it stands alone
const MAX_NUMBERS = 0.9; // of the numbers of a kind must fit into their boxes, or none of that kind is written

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

/** Where the rows of a runner stand, of so many that are seen: [{top, high, level, data, name}], and how high it is in
 * all; `twice` where it stands alone. */
export function rowsOf(run, kind, twice, seen) {
  if (kind === "sharding") {
    const level = 118 * (twice ? 1.6 : 1);
    return {
      rows: [
        { top: 8, high: 25, data: run.compute, name: "compute" },
        { top: 39, high: 28, data: run.network, name: "network" },
        { top: 80, level, data: run, name: "level" },
      ],
      high: 80 + level + 14,
    };
  }
  const [box, stair] = boxAndStair(run, seen > MANY_RUNNERS).map((part) => part * (twice ? 1.5 : 1)),
    apart = box + stair + 6;
  return {
    rows: run.rows.map((data, k) => ({ top: 8 + k * apart, high: box, level: stair, data, name: data.label })),
    high: 8 + run.rows.length * apart + 4,
  };
}

/** Pixels of a row's boxes and of the stairs below them; two passes in one box need room for two numbers. */
function boxAndStair(run, many) {
  if (run.rows.length > 8) return [14, 9];
  const shared = run.rows.some((row) => row.boxes.some(([, , , , , part]) => part));
  return many ? [shared ? 26 : 18, 10] : [shared ? 28 : 21, 17];
}

/** Draw a runner as a whole; the cursor and the veil over what is to come are laid over it. */
export function drawLaneRows(ctx, run, view) {
  const { layout, colours: colors, across, width } = view;
  ctx.clearRect(0, 0, width, layout.high);
  ctx.textBaseline = "middle";
  gridLines(ctx, view);
  layout.rows.forEach((row, k) => {
    rowLabel(ctx, row, k, view);
    if (row.level) (view.kind === "sharding" ? waterLevel : staircase)(ctx, row, view);
    if (row.high) {
      idleParts(ctx, row, view);
      const fonts = numberFonts(ctx, row, view);
      for (const box of row.data.boxes) laneBox(ctx, box, row, view, fonts);
    }
    if (view.kind === "pipelines") activationBar(ctx, row, view);
  });
  if (view.kind === "pipelines") largestGap(ctx, layout.rows[0], run, view);
  finishLine(ctx, across(run.time), layout.high, colors);
  bracketOf(ctx, run, view);
}

function gridLines(ctx, { across, layout, colours, total }) {
  const every = niceStep(total, 10);
  ctx.fillStyle = colours.grid;
  for (let t = 0; t <= total * 1.0001; t += every) ctx.fillRect(Math.round(across(t)), 0, 1, layout.high);
}

function rowLabel(ctx, row, k, { colours, kind, words }) {
  if (row.name === "level") return;
  ctx.font = `13px ${FONT}`;
  ctx.fillStyle = colours.ink2;
  ctx.textAlign = "right";
  const label = kind === "sharding" ? words[row.name] : k === 0 ? `${words.gpu} ${row.name}` : row.name;
  ctx.fillText(label, LANE_LEFT - 8, row.top + row.high / 2 + 1);
}

function idleParts(ctx, row, { across, hatch }) {
  ctx.fillStyle = hatch;
  for (const [a, b] of row.data.idle)
    if (across(b) - across(a) > 1) ctx.fillRect(across(a), row.top, across(b) - across(a), row.high);
}

const fontOfBox = (kind, size) => `${kind === "F" ? "" : "700 "}${size}px ${FONT}`;
const heightOfBox = (row, part) => (part ? row.high / 2 : row.high);

/** For each kind of box the size of type in which nearly all of its numbers fit; kinds without one are left out. */
export function numberFonts(ctx, row, { across }) {
  const kinds = {};
  for (const [a, b, text, kind, , part] of row.data.boxes)
    if (text) (kinds[kind] ??= []).push([across(b) - across(a), text, heightOfBox(row, part)]);
  const sizes = {};
  for (const kind in kinds) {
    const fits = (size) => {
      ctx.font = fontOfBox(kind, size);
      const room = ([wide, text, high]) => ctx.measureText(text).width + 3 <= wide && size - 2 <= high,
        named = kinds[kind].filter(room);
      return named.length >= MAX_NUMBERS * kinds[kind].length;
    };
    sizes[kind] = (row.high < 16 ? [11] : [13, 11]).find(fits);
  }
  return sizes;
}

/** One box; the number is the microbatch, or the block. */
function laneBox(ctx, [a, b, text, kind, deep, part], row, view, fonts) {
  const { across, colours: colors, focus } = view,
    [fill, deeper, ink, inkDeeper] = FILLS[kind] ?? FILLS.opt,
    dark = deep % 2 === 1,
    x = across(a),
    wide = Math.max(1, across(b) - x - (across(b) - x > 4 ? 1 : 0)),
    high = heightOfBox(row, part),
    y = row.top + (part === 2 ? high : 0),
    size = part && fonts[kind] ? Math.min(fonts[kind], 11) : fonts[kind];
  ctx.globalAlpha = focus === null || focus === text ? 1 : 0.28;
  ctx.fillStyle = colors[dark ? deeper : fill];
  ctx.beginPath();
  ctx.roundRect(x, y, wide, high, Math.min(3, wide / 3));
  ctx.fill();
  if (kind === "F" || kind === "opt") edgeOfBox(ctx, x, y, wide, high, colors.edge);
  ctx.font = fontOfBox(kind, size ?? 13);
  if (text && size && ctx.measureText(text).width + 2 <= wide) {
    ctx.textAlign = "center";
    ctx.fillStyle = colors[dark ? inkDeeper : ink];
    ctx.fillText(text, x + wide / 2, y + high / 2 + 1);
  }
  ctx.globalAlpha = 1;
}

/** The edge of a pale box; of a narrow one its upper and lower edge alone, so that many beside one another are seen. */
function edgeOfBox(ctx, x, y, wide, high, colour) {
  ctx.strokeStyle = ctx.fillStyle = colour;
  ctx.lineWidth = 1;
  if (wide > 5) ctx.stroke();
  else for (const at of [y, y + high - 1]) ctx.fillRect(x, at, wide, 1);
}

/** Microbatches that the rank holds, as stairs below its boxes; a full row is the most that any runner holds. */
function staircase(ctx, row, { across, colours, most, end }) {
  const floor = row.top + row.high + row.level + 2,
    high = (level) => (level / most) * (row.level - 1);
  stairs(ctx, row.data.level, 1, { across, end, floor, high, fill: colours.room, line: colours.room, alpha: 0.34 });
}

/** Bytes of gathered weights, and on them gradients that are not reduced yet. */
function waterLevel(ctx, row, { across, colours: colors, most, end, bytes, whole, words }) {
  const floor = row.top + row.level,
    high = (level) => (level / most) * row.level,
    points = row.data.level,
    sums = points.map(([t, gathered, gradients]) => [t, gathered + gradients]);
  levelScale(ctx, floor, high, { colors, most, bytes, left: across(0), right: across(end) });
  stairs(ctx, sums, 1, { across, end, floor, high, fill: colors.sumfill, line: colors.sum2, alpha: 0.75 });
  stairs(ctx, points, 1, { across, end, floor, high, fill: colors.card, line: colors.room, alpha: 1 });
  stairs(ctx, points, 1, { across, end, floor, high, fill: colors.room, line: colors.room, alpha: 0.38 });
  if (whole > most * 1.0001) {
    pill(ctx, `${words.all(bytes(whole))} ↑`, across(0) + 4, row.top, colors, "left");
    return;
  }
  ctx.setLineDash([5, 4]);
  ctx.strokeStyle = colors.ink3;
  ctx.beginPath();
  ctx.moveTo(across(0), floor - high(whole));
  ctx.lineTo(across(end), floor - high(whole));
  ctx.stroke();
  ctx.setLineDash([]);
  pill(ctx, words.all(bytes(whole)), across(0) + 4, floor - high(whole), colors, "left");
}

/** Bytes at the top of a level: of all that are drawn; where a runner stands alone and holds a small part of the
 * weights, of those that do. */
export function topOfLevel(run, runners, whole, alone) {
  const most = (some) => Math.max(...some.map((run) => run.most.both)),
    small = runners.filter((run) => run.most.both < SMALL_PART * whole);
  return alone && small.includes(run) ? 1.05 * most(small) : Math.max(whole, most(runners));
}

function levelScale(ctx, floor, high, { colors, most, bytes, left, right }) {
  const every = niceStep(most / 1e9, 3) * 1e9;
  ctx.font = `12px ${FONT}`;
  ctx.textAlign = "right";
  for (let at = 0; at <= most; at += every) {
    ctx.fillStyle = colors.grid;
    ctx.fillRect(left, Math.round(floor - high(at)), right - left, 1);
    ctx.fillStyle = colors.ink3;
    ctx.fillText(at === 0 ? bytes(0) : String(Number((at / 1e9).toPrecision(3))), left - 8, floor - high(at));
  }
}

function stairs(ctx, points, column, { across, end, floor, high, fill, line, alpha }) {
  if (!points.length) return;
  ctx.beginPath();
  ctx.moveTo(across(points[0][0]), floor);
  points.forEach((point, k) => {
    ctx.lineTo(across(point[0]), floor - high(point[column]));
    ctx.lineTo(across(points[k + 1]?.[0] ?? end), floor - high(point[column]));
  });
  ctx.lineTo(across(end), floor);
  ctx.globalAlpha = alpha;
  ctx.fillStyle = fill;
  ctx.fill();
  ctx.globalAlpha = 1;
  ctx.strokeStyle = line;
  ctx.lineWidth = 1.3;
  ctx.stroke();
}

/** Right of the finish: how many microbatches the rank holds at most, as a number and as a bar. */
function activationBar(ctx, row, { colours: colors, width, most }) {
  const x = width - LANE_RIGHT + 50, // a number of three digits stands between it and the finish
    y = row.top + row.high / 2,
    share = row.data.activations / most,
    full = share > 0.999 && most > 1;
  ctx.font = `700 14px ${FONT}`;
  ctx.textAlign = "right";
  ctx.fillStyle = full ? colors.fulltext : colors.ink;
  ctx.fillText(String(Number(row.data.activations.toPrecision(3))), x - 6, y + 1);
  ctx.fillStyle = colors.grid;
  ctx.fillRect(x, y - 3, 44, 6);
  ctx.fillStyle = full ? colors.full : colors.room;
  ctx.fillRect(x, y - 3, Math.max(2, 44 * share), 6);
}

/** What the longest wait of the first row comes to, where there is room to say it. */
function largestGap(ctx, row, run, view) {
  const idle = row.data.idle,
    longest = idle.reduce((best, span) => (span[1] - span[0] > best[1] - best[0] ? span : best), [0, 0]),
    sum = idle.reduce((all, [a, b]) => all + b - a, 0),
    label = view.words.idle(view.fmt(sum), view.fmt(run.time), `${((100 * sum) / run.time).toFixed(1)}\u00a0%`),
    room = view.across(longest[1]) - view.across(longest[0]);
  ctx.font = `700 13px ${FONT}`;
  if (sum && room > ctx.measureText(label).width + 18)
    pill(
      ctx,
      label,
      view.across((longest[0] + longest[1]) / 2),
      row.top + row.high / 2,
      view.colours,
      "center",
      row.high,
    );
}

function pill(ctx, text, x, y, colors, align, high = 18) {
  ctx.font = `${align === "center" ? "700 " : ""}13px ${FONT}`;
  const wide = ctx.measureText(text).width + 12,
    left = align === "center" ? x - wide / 2 : x;
  ctx.fillStyle = colors.card;
  ctx.fillRect(left, y - high / 2, wide, high);
  ctx.fillStyle = align === "center" ? colors.ink : colors.ink2;
  ctx.textAlign = "left";
  ctx.fillText(text, left + 6, y + 1);
}

/** Chequers where it ends. */
function finishLine(ctx, x, high, colors) {
  const side = FINISH / 2;
  ctx.fillStyle = colors.card;
  ctx.fillRect(x, 2, FINISH, high - 6);
  ctx.fillStyle = colors.ink;
  for (let k = 0; k * side < high - 6; k++)
    ctx.fillRect(x + (k % 2) * side, 2 + k * side, side, Math.min(side, high - 6 - k * side));
}

/** From its finish to that of the slowest: how much sooner it is done. */
function bracketOf(ctx, run, { across, total, colours: colors, layout, words, fmt }) {
  const a = across(run.time) + FINISH + 6,
    b = across(total),
    y = layout.high / 2;
  if (total - run.time < 1e-9 * total || b - a < 24) return;
  ctx.strokeStyle = colors.ink3;
  ctx.lineWidth = 1.2;
  ctx.beginPath();
  for (const [x0, y0, x1, y1] of [
    [a, y, b, y],
    [a, y - 5, a, y + 5],
    [b, y - 5, b, y + 5],
  ]) {
    ctx.moveTo(x0, y0);
    ctx.lineTo(x1, y1);
  }
  ctx.stroke();
  ctx.textAlign = "center";
  const less = fmt(total - run.time),
    share = `${(100 * (1 - run.time / total)).toFixed(1)}\u00a0%`;
  const say = (texts, at, bold, colour) => {
    ctx.font = `${bold}13px ${FONT}`;
    ctx.fillStyle = colour;
    const label = texts.find((text) => ctx.measureText(text).width <= b - a + 4); // beyond are the most that ranks hold
    if (label) ctx.fillText(label, (a + b) / 2, at);
  };
  say([words.less(less), `−${less}`], y - 14, "700 ", colors.ink);
  say([words.saved(share), `−${share}`], y + 15, "", colors.ink2);
}

/** What is under the pointer: {row, box} or {row, gap}, or null. */
export function laneHit(view, x, y) {
  const row = view.layout.rows.find(
      (line) => line.high && y >= line.top && y < line.top + line.high + (line.level ?? 0),
    ),
    t = view.timeAt(x);
  if (!row || t < 0) return null;
  const middle = y - row.top > row.high / 2 ? 2 : 1,
    box = row.data.boxes.find(([a, b, , , , part]) => a <= t && t < b && (!part || part === middle));
  if (box) return { row, box };
  const gap = row.data.idle.find(([a, b]) => a <= t && t < b);
  return gap ? { row, gap, next: row.data.boxes.find(([a]) => a >= gap[1] * (1 - 1e-9)) } : null;
}

/** A pattern of slanted lines, for what is idle. */
export function hatchOfIdle(ctx, colors) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 8;
  const h = tile.getContext("2d");
  h.strokeStyle = colors.wait;
  h.lineWidth = 1.3;
  for (const k of [-8, 0, 8]) {
    h.beginPath();
    h.moveTo(k, 8);
    h.lineTo(k + 8, 0);
    h.stroke();
  }
  return ctx.createPattern(tile, "repeat");
}
