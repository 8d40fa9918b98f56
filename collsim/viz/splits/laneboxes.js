// The lanes of one runner: boxes, what is idle, memory over time, the finish line.

import { hatch, setAttributes, svg } from "../player/draw/elements.js";
import { niceStep, timeMarks } from "../player/model/units.js";
import {
  createChart,
  createCursor,
  labelIn,
  levelAxis,
  patched,
  pathOf,
  rect,
  spanOf,
  stairs,
  text,
  textWidth,
  timeAxis,
} from "../transport/lanechart.js";
import { fill } from "../words/choice.js";

/** Pixels of a row's parts, by kind of picture; rows of many GPUs are lower. */
const LANE_LEFT = 62;
const LANE_RIGHT = { pipelines: 104, sharding: 24 };
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

/** The chart of a runner, `total` s long and so wide, with its cursor; what is to come is behind a veil, its
 * numbers before it. */
export function drawRunner(view, width, total) {
  const { run, kind, layout } = view,
    right = LANE_RIGHT[kind],
    name = { role: "img", "aria-label": `${run.name}: ${view.fmt(run.time)}` },
    chart = createChart({ width, height: layout.high, total, left: LANE_LEFT, right, ...name }),
    rules = timeMarks(total, 10).map(({ t }) => ({ t, text: "" })),
    draw = { ...view, chart, end: run.time },
    isPipeline = kind === "pipelines",
    lanes = layout.rows.flatMap((row, k) => laneRow(draw, row, k)),
    veil = rect(0, 0, chart.width, layout.high, "var(--card)", { opacity: 0.6 }),
    later = svg("svg", { height: layout.high, "pointer-events": "none" }, veil, ...lanes.flatMap(numberBeforeVeil)),
    cursor = createCursor(chart);
  chart.picture.append(
    hatch("ln-hatch", { size: 5.6, width: 1.3, paper: "none", ink: "var(--wait)" }),
    chequers(),
    ...timeAxis(chart, rules, { y: 0, top: 0 }),
    ...lanes,
    ...(isPipeline ? largestGap(draw) : []),
    finishLine(chart.across(run.time), layout.high),
    ...bracketOf(draw),
    later,
    cursor.node,
  );
  return {
    ...chart,
    move(t) {
      const x = chart.across(t),
        wide = Math.max(0, chart.across(run.time) - x);
      cursor.move(t);
      setAttributes(later, { x, width: wide, viewBox: `${x} 0 ${wide} ${layout.high}` });
    },
  };
}

/** The number of a box as it is written before the veil; of anything else, nothing. */
function numberBeforeVeil(part) {
  if (part.tagName !== "text" || !part.dataset.key) return [];
  const number = part.cloneNode(true);
  number.setAttribute("fill", "var(--ink)");
  return [number];
}

function laneRow(draw, row, k) {
  const { chart, kind, words } = draw,
    isPipeline = kind === "pipelines",
    label = isPipeline ? (k === 0 ? `${words.gpu} ${row.name}` : row.name) : words[row.name];
  if (!row.high) return waterLevel(draw, row);
  const name = text(LANE_LEFT - 8, row.top + row.high / 2 + 5, label, { anchor: "end" });
  const idle = row.data.idle
    .map(([a, b]) => spanOf(chart, a, b, 0))
    .flatMap(({ x, wide }) => (wide > 1 ? [rect(x, row.top, wide, row.high, "url(#ln-hatch)")] : []));
  const sizes = numberSizes(row, chart.across),
    boxes = row.data.boxes.flatMap((box) => laneBox(chart, box, row, sizes)),
    held = isPipeline ? [...staircase(draw, row), ...activationBar(draw, row)] : [];
  return [name, ...held, ...idle, ...boxes];
}

const isBold = (kind) => kind !== "F";
const heightOfBox = (row, part) => (part ? row.high / 2 : row.high);

/** For each kind of box the size of type in which nearly all of its numbers fit; kinds without one are left out. */
export function numberSizes(row, across, measure = textWidth) {
  const kinds = {};
  for (const [a, b, words, kind, , part] of row.data.boxes)
    if (words) (kinds[kind] ??= []).push([across(b) - across(a), words, heightOfBox(row, part)]);
  const sizes = {};
  for (const kind in kinds) {
    const widths = Object.fromEntries(kinds[kind].map(([, words]) => [words, measure(words, 1, isBold(kind))]));
    const fits = (size) => {
      const named = kinds[kind].filter(([wide, words, high]) => size * widths[words] + 3 <= wide && size - 2 <= high);
      return named.length >= MAX_NUMBERS * kinds[kind].length;
    };
    sizes[kind] = { widths, size: (row.high < 16 ? [11] : [13, 11]).find(fits) };
  }
  return sizes;
}

/** One box; the number is the microbatch, or the block. */
function laneBox(chart, [t0, t1, words, kind, deep, part], row, sizes) {
  const [fill, deeper, ink, inkDeeper] = FILLS[kind] ?? FILLS.opt,
    isDark = deep % 2 === 1,
    { x, wide: whole } = spanOf(chart, t0, t1),
    wide = Math.max(1, whole - (whole > 4 ? 1 : 0)),
    high = heightOfBox(row, part),
    y = row.top + (part === 2 ? high : 0),
    edge = kind === "F" || kind === "opt" ? edgeOfBox(wide, high) : {},
    key = { "data-key": words },
    { widths, size: largest } = sizes[kind] ?? {},
    size = part ? Math.min(largest, 11) : largest,
    out = [rect(x, y, wide, high, `var(--${isDark ? deeper : fill})`, { rx: Math.min(3, wide / 3), ...edge, ...key })];
  if (size && widths[words] * size + 2 <= wide) {
    const look = { size, bold: isBold(kind), fill: `var(--${isDark ? inkDeeper : ink})`, anchor: "middle" };
    out.push(text(x + wide / 2, y + high / 2 + size * 0.36, words, { ...look, ...key }));
  }
  return out;
}

/** The edge of a pale box; of a narrow one its upper and lower edge alone, so that many beside one another are seen. */
const edgeOfBox = (wide, high) => ({
  stroke: "var(--edge)",
  ...(wide > 5 ? {} : { rx: 0, "stroke-dasharray": `${wide} ${high}` }),
});

/** A level over time as an area with a line around it. */
function levelOf({ chart, end }, points, floor, high, [fill, line, opacity]) {
  if (!points.length) return [];
  const corners = stairs(points, end, chart.across, (level) => floor - high(level)),
    path = pathOf([[corners[0][0], floor], ...corners, [corners.at(-1)[0], floor]]);
  return [svg("path", { d: path, fill, "fill-opacity": opacity, stroke: line, "stroke-width": 1.3 })];
}

/** Microbatches that the rank holds, as stairs below its boxes; a full row is the most that any runner holds. */
function staircase(draw, row) {
  const high = (level) => (level / draw.most) * (row.level - 1);
  return levelOf(draw, row.data.level, row.top + row.high + row.level + 2, high, ["var(--room)", "var(--room)", 0.34]);
}

/** Bytes of gathered weights, and on them gradients that are not reduced yet. */
function waterLevel(draw, row) {
  const { chart, most, end, bytes, whole, words } = draw,
    floor = row.top + row.level,
    high = (level) => (level / most) * row.level,
    points = row.data.level,
    sums = points.map(([t, gathered, gradients]) => [t, gathered + gradients]),
    [left, right] = [chart.across(0), chart.across(end)],
    isAbove = whole > most * 1.0001,
    y = isAbove ? row.top : floor - high(whole),
    label = fill(words.all, { bytes: bytes(whole) }) + (isAbove ? " ↑" : ""),
    dashes = { d: `M${left} ${y}H${right}`, stroke: "var(--ink3)", "stroke-dasharray": "5 4" };
  return [
    ...levelScale(draw, floor, high, left, right),
    ...levelOf(draw, sums, floor, high, ["var(--sumfill)", "var(--sum2)", 0.75]),
    ...levelOf(draw, points, floor, high, ["var(--card)", "var(--room)", 1]),
    ...levelOf(draw, points, floor, high, ["var(--room)", "var(--room)", 0.38]),
    ...(isAbove ? [] : [svg("path", dashes)]),
    ...patched(left + 10 + textWidth(label, 13) / 2, y, label),
  ];
}

/** Bytes at the top of a level: of all that are drawn; where a runner stands alone and holds a small part of the
 * weights, of those that do. */
export function topOfLevel(run, runners, whole, alone) {
  const most = (some) => Math.max(...some.map((run) => run.most.both)),
    small = runners.filter((run) => run.most.both < SMALL_PART * whole);
  return alone && small.includes(run) ? 1.05 * most(small) : Math.max(whole, most(runners));
}

function levelScale({ most, bytes }, floor, high, left, right) {
  const every = niceStep(most / 1e9, 3) * 1e9,
    marks = [];
  for (let level = 0; level <= most; level += every)
    marks.push({ y: floor - high(level), text: level ? String(Number((level / 1e9).toPrecision(3))) : bytes(0) });
  return levelAxis(marks, { left, right, size: 12, fill: "var(--ink3)" });
}

/** Right of the finish: how many microbatches the rank holds at most, as a number and as a bar. */
function activationBar({ chart, most }, row) {
  const x = chart.left + chart.room + 50, // a number of three digits stands between it and the finish
    y = row.top + row.high / 2,
    share = row.data.activations / most,
    isFull = share > 0.999 && most > 1,
    fill = isFull ? "var(--fulltext)" : "var(--ink)",
    number = String(Number(row.data.activations.toPrecision(3)));
  return [
    text(x - 6, y + 5, number, { size: 14, bold: true, fill, anchor: "end" }),
    rect(x, y - 3, 44, 6, "var(--grid)"),
    rect(x, y - 3, Math.max(2, 44 * share), 6, isFull ? "var(--full)" : "var(--room)"),
  ];
}

/** What the longest wait of the first row comes to, where there is room to say it. */
function largestGap({ chart, run, layout, words, fmt }) {
  const [row] = layout.rows,
    { idle } = row.data,
    [t0, t1] = idle.reduce((best, span) => (span[1] - span[0] > best[1] - best[0] ? span : best), [0, 0]),
    sum = idle.reduce((all, [a, b]) => all + b - a, 0),
    share = `${((100 * sum) / run.time).toFixed(1)}\u00a0%`,
    label = fill(words.idle, { idle: fmt(sum), total: fmt(run.time), share }),
    { x, wide } = spanOf(chart, t0, t1);
  if (!sum || wide <= textWidth(label, 13, true) + 18) return [];
  return patched(x + wide / 2, row.top + row.high / 2, label, { bold: true, high: row.high, fill: "var(--ink)" });
}

/** Chequers where it ends. */
const finishLine = (x, high) =>
  svg("g", { transform: `translate(${x} 2)` }, rect(0, 0, FINISH, high - 6, "url(#ln-chequers)"));

function chequers() {
  const look = { id: "ln-chequers", width: FINISH, height: FINISH, patternUnits: "userSpaceOnUse" },
    square = (x, y) => rect(x, y, FINISH / 2, FINISH / 2, "var(--ink)"),
    paper = rect(0, 0, FINISH, FINISH, "var(--card)");
  return svg("defs", {}, svg("pattern", look, paper, square(0, 0), square(FINISH / 2, FINISH / 2)));
}

/** From its finish to that of the slowest: how much sooner it is done. */
function bracketOf({ chart, run, layout, words, fmt }) {
  const { across, total } = chart,
    x = across(run.time) + FINISH + 6,
    wide = across(total) - x,
    y = layout.high / 2,
    less = fmt(total - run.time),
    share = `${(100 * (1 - run.time / total)).toFixed(1)}\u00a0%`;
  if (total - run.time < 1e-9 * total || wide < 24) return [];
  const line = `M${x} ${y}h${wide}M${x} ${y - 5}v10M${x + wide} ${y - 5}v10`,
    room = { x: x - 6, wide: wide + 12 }; // beyond are the most that ranks hold
  return [
    svg("path", { d: line, stroke: "var(--ink3)", "stroke-width": 1.2 }),
    ...labelIn(room, y - 10, [fill(words.less, { time: less }), `−${less}`], { bold: true, fill: "var(--ink)" }),
    ...labelIn(room, y + 19, [fill(words.saved, { share }), `−${share}`]),
  ];
}

/** What is at a point of a chart at time t: {row, box} or {row, gap, next}, or null. */
export function laneHit({ rows }, t, y) {
  const row = rows.find((line) => line.high && y >= line.top && y < line.top + line.high + (line.level ?? 0));
  if (!row) return null;
  const middle = y - row.top > row.high / 2 ? 2 : 1,
    box = row.data.boxes.find(([a, b, , , , part]) => a <= t && t < b && (!part || part === middle));
  if (box) return { row, box };
  const gap = row.data.idle.find(([a, b]) => a <= t && t < b);
  return gap ? { row, gap, next: row.data.boxes.find(([a]) => a >= gap[1] * (1 - 1e-9)) } : null;
}
