// collsim split of a step over a thousand GPUs: ranks on nodes, what a GPU sends over which links, what it holds, and
// every legal split as a dot and a row; one click opens it.

import { el, pointIn, sizeCanvas, swatch } from "../player/draw/elements.js";
import { createCard } from "../player/ui/shell.js";
import { NB, fmtRate, fmtSpan, threeDigits, timeUnit } from "../player/model/units.js";
import { component } from "../player/mount.js";
import { coordinates, nodesInColumns } from "./splitgroups.js";
import { decimalBytes } from "./lanefigures.js";
import { GROUP_FILL, drawNodeMap, mapLayout, rankAt } from "./nodemap.js";
import { drawScatter, nearestDot, scatterScales } from "./scatter.js";
import { drawStages } from "./stageboxes.js";
import buttonsSheet from "../transport/buttons.css" with { type: "text" };
import cardsSheet from "./cards.css" with { type: "text" };
import splitSheet from "./splitmap.css" with { type: "text" };
import { chooseLanguage, fill } from "../words/choice.js";
import { LANGUAGES } from "../words/languages.js";
import { SPLITS } from "../words/words.js";

const ROWS = 10;
const SCATTER_HIGH = 400;
const AXIS_OF_STRATEGY = { tensor: "tp", context: "cp", expert: "ep", data: "dp", pipeline: "pp" };
const INSIDE = ["tp", "cp", "ep"]; // axes whose collectives are inside a layer
const HELD_SHADES = [100, 72, 48, 30, 18, 60, 38]; // % of the colour of memory, beside one another

/**
 * Mount a split into `host`; `act({what: "open", row})` is called where one is clicked. Its data are {id, step, table,
 * open, now, language, theme}; table is null while the search is under way, `now` is the open step as a row of the
 * table.
 */
const createSplit = (host, { act }) =>
  createCard(host, { ...CARD, build: (ui) => buildSplit(Object.assign(ui, { act, rank: -1 })) });

const CARD = {
  className: "sm",
  css: [buttonsSheet, cardsSheet, splitSheet],
  words: SPLITS,
  dress: dressSplit,
  arrange: arrangeSplit,
};

function buildSplit(ui) {
  for (const name of ["map", "sends", "step", "memory", "all"]) ui[name] = el("section");
  ui.canvas = el("canvas", { role: "img", tabIndex: 0 });
  ui.dots = el("canvas", { role: "img" });
  ui.canvas.addEventListener("click", (ev) => clickMap(ui, ev));
  ui.canvas.addEventListener("keydown", (ev) => stepRank(ui, ev));
  ui.dots.addEventListener("click", (ev) => clickDot(ui, ev));
  ui.dots.addEventListener("pointermove", (ev) => hoverDot(ui, dotUnder(ui, ev)));
  ui.dots.addEventListener("pointerleave", () => hoverDot(ui, -1));
  return [el("div.both", el("div.card", ui.map, ui.sends, ui.step, ui.memory), el("div.card", ui.all))];
}

function dressSplit(ui, before) {
  const { root, data } = ui;
  if (before?.id !== data.id) ui.rank = middleRank(data.step);
  root.dataset.ranks = String(data.step?.ranks ?? 0);
  root.dataset.splits = String(data.table?.time.length ?? 0);
  root.dataset.open = String(data.open);
}

/** A rank in the middle, all of whose groups are in sight. */
const middleRank = (step) => (step ? Math.floor(step.ranks / 3) : 0);

function arrangeSplit(ui, whole) {
  const { root, data } = ui;
  root.classList.toggle("slim", whole < 1180);
  root.classList.toggle("mid", whole < 1480);
  root.classList.toggle("none", !data.step);
  if (data.step) {
    buildMap(ui);
    buildStages(ui);
    buildHeld(ui);
  }
  buildAll(ui);
}

// ---- where the ranks live -----------------------------------------------------------------------

function titled(text, note) {
  return el("h2", text, el("span", note));
}

function buildMap(ui) {
  const { step } = ui.data,
    words = ui.words,
    order = step.axes
      .filter(([, size]) => size > 1)
      .map(([axis]) => axis.toUpperCase())
      .join(" – "),
    nodes = Math.ceil(step.ranks / step.per);
  ui.legend = el("p.groups", { "aria-live": "polite" });
  const note = sayMap(words, { nodes, ranks: step.per, order, stages: nodesInColumns(step).stages });
  ui.map.replaceChildren(titled(words.map, note), ui.canvas, ui.legend);
  const width = Math.max(240, ui.map.clientWidth);
  ui.layout = mapLayout(step, width);
  ui.pen = sizeCanvas(ui.canvas, width, ui.layout.high);
  drawMap(ui);
}

function sayMap({ mapNote, betweenNotes }, { order, stages, ...counts }) {
  const notes = [fill(mapNote.nodes, counts), order && fill(mapNote.order, { order }), stages && mapNote.stages];
  return notes.filter(Boolean).join(betweenNotes) + mapNote.click;
}

const thousands = (number) => ({ count: number.toLocaleString("en") });

function drawMap(ui) {
  const { step } = ui.data,
    words = ui.words,
    groups = drawNodeMap(ui.pen, step, ui.layout, ui.rank, ui.colors),
    parts = [swatch("background:var(--ink)", fill(words.rank, { rank: ui.rank }))];
  for (const axis of Object.keys(groups)) {
    const nodes = new Set(groups[axis].map((rank) => Math.floor(rank / step.per))).size;
    const label = fill(words.group, { axis: axis.toUpperCase(), ranks: groups[axis].length, nodes });
    parts.push(swatch(`background:var(--${GROUP_FILL[axis]})`, label));
  }
  ui.legend.replaceChildren(...parts);
  ui.canvas.setAttribute("aria-label", ui.legend.textContent);
  ui.root.dataset.rank = String(ui.rank);
  buildSends(ui);
}

function clickMap(ui, ev) {
  const rank = rankAt(ui.data.step, ui.layout, ...pointIn(ui.canvas, ev));
  if (rank < 0) return;
  ui.rank = rank;
  drawMap(ui);
}

function stepRank(ui, ev) {
  const by = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: ui.data.step.per, ArrowUp: -ui.data.step.per }[ev.key];
  if (!by) return;
  ev.preventDefault();
  ui.rank = (ui.rank + by + ui.data.step.ranks) % ui.data.step.ranks;
  drawMap(ui);
}

// ---- what it sends and holds --------------------------------------------------------------------

/** The stage of a rank: 0 where there is one. */
export const stageOf = (rank, { axes, stages }) => (stages > 1 ? coordinates(rank, axes).pp : 0);

/** What a GPU of the clicked rank's stage sends; one scale for all stages. */
function buildSends(ui) {
  const { step } = ui.data,
    words = ui.words,
    stage = stageOf(ui.rank, step),
    most = Math.max(1, ...step.sends.flat().map((row) => row.nbytes)),
    cells = step.sends[stage].map((row) => sentRow(row, most, words, ui.data.language));
  if (!cells.length) cells.push(el("p.quiet", words.nothing));
  ui.sends.replaceChildren(
    titled(fill(words.sends[step.stages > 1 ? "stage" : "one"], { stage }), words.sendsNote),
    ...cells,
  );
}

function sentRow(row, most, words, language) {
  const colour = `var(--${GROUP_FILL[AXIS_OF_STRATEGY[row.strategy]]})`,
    bar = el("i", { style: `width:${Math.max(0.4, (100 * row.nbytes) / most)}%;background:${colour}` });
  const kind = row.link[LANGUAGES.indexOf(chooseLanguage(language))];
  return el(
    "div.sent",
    el("b", swatch(`background:${colour}`, words.strategies[row.strategy])),
    el("span", fill(words.rate, { kind, rate: fmtRate(row.bandwidth) })),
    el("span.track", bar),
    el("b", decimalBytes(row.nbytes)),
    el("span.num", fmtSpan(row.time)),
  );
}

/** The share of the colour of memory, in %, that a kind has: the same over time and in its sum. */
const shadeOf = (kinds, kind) => HELD_SHADES[kinds.indexOf(kind) % HELD_SHADES.length];

function buildStages(ui) {
  const { drawn, time } = ui.data.step,
    words = ui.words,
    width = Math.max(240, ui.step.clientWidth),
    several = drawn.rows.length > 1;
  const fills = Object.fromEntries(Object.entries(AXIS_OF_STRATEGY).map(([axis, short]) => [axis, GROUP_FILL[short]])),
    shade = (k) => shadeOf(drawn.kinds, drawn.kinds[k]) / 100,
    title = several ? words.twoGpus : words.stepOn,
    look = { shade, fills, words, bytes: decimalBytes, "aria-label": `${title}: ${fmtSpan(time)}` };
  ui.step.replaceChildren(titled(title, words.stepNote), drawStages(drawn, time, width, look));
}

function buildHeld(ui) {
  const { stages, memory, drawn } = ui.data.step,
    { kinds, total, stage, room } = memory,
    words = ui.words,
    whole = Math.max(room ?? 0, total),
    bar = el("div.held"),
    legend = el("p.groups");
  kinds.forEach(([kind, size]) => {
    const colour = `color-mix(in srgb, var(--room) ${shadeOf(drawn.kinds, kind)}%, var(--card))`;
    bar.append(el("i", { style: `width:${(100 * size) / whole}%;background:${colour}` }));
    legend.append(swatch(`background:${colour}`, `${words.kinds[kind] ?? kind} ${decimalBytes(size)}`));
  });
  // what no GPU has room for, behind a line
  if (room && total > room) bar.append(el("em", { style: `left:${(100 * room) / whole}%` }));
  const share = room ? `${Math.round((100 * total) / room)}${NB}%` : "",
    label = room
      ? fill(words.of, { bytes: decimalBytes(total), room: decimalBytes(room), share })
      : decimalBytes(total),
    head = titled(fill(words.memory[stages > 1 ? "stage" : "one"], { stage }), label);
  head.lastChild.className = room && total > room ? "over" : "";
  ui.memory.replaceChildren(head, bar, legend);
}

// ---- every split --------------------------------------------------------------------------------

function buildAll(ui) {
  const { table } = ui.data,
    words = ui.words;
  if (!table) {
    ui.all.replaceChildren(el("p.quiet", words.waiting));
    return;
  }
  const count = table.fits.filter(Boolean).length,
    all = fill(words.all, thousands(table.time.length)),
    fits = fill(words.fits, thousands(count)),
    rest = fill(words.not, thousands(table.fits.length - count)),
    counts = el("p.counts", el("span", words.time), el("b", fits), el("b", rest));
  ui.all.replaceChildren(titled(all, ""), el("p.quiet", words.allNote), counts, ui.dots, tableOf(ui));
  ui.dots.setAttribute("aria-label", `${all}; ${fits}`);
  drawDots(ui, -1);
}

function drawDots(ui, hovered) {
  const { table, step, open, now } = ui.data,
    room = step?.memory.room ?? null,
    width = Math.max(240, ui.all.clientWidth),
    selected = now ?? (open >= 0 ? rowAt(table, open) : null),
    ctx = sizeCanvas(ui.dots, width, SCATTER_HIGH);
  ui.scales = scatterScales(table, width, SCATTER_HIGH, room, selected);
  const notes = [];
  if (table.fits[0] && open !== 0) notes.push(noteOf(ui, rowAt(table, 0), "done", true));
  if (selected) notes.push(noteOf(ui, selected, "ink", open === 0));
  if (hovered >= 0 && hovered !== open && hovered !== 0) notes.push(noteOf(ui, rowAt(table, hovered), "ink2", false));
  const { colors, words } = ui;
  drawScatter(ctx, table, ui.scales, { colors, room, shown: selected, notes, words, bytes: decimalBytes });
}

/** What stands beside a dot: how it is split, its time and its memory. */
function noteOf(ui, row, colour, fastest) {
  const words = ui.words,
    figures = [fixedSpan(row.time), decimalBytes(row.memory, threeDigits), ...(fastest ? [words.first] : [])];
  return { row, colour, lines: [nameSplit(row), figures.join(words.comma)] };
}

/** "TP 8 × PP 4 × DP 4, ZeRO-1": axes of one GPU are left out. */
export function nameSplit(row) {
  const axes = ["tp", "cp", "pp", "dp"].filter((axis) => row[axis] > 1),
    sizes = axes.map((axis) => `${axis.toUpperCase()} ${row[axis]}`),
    data = shortenStrategy(row.data);
  return [sizes.join(" × "), data].filter(Boolean).join(", ");
}

function hoverDot(ui, row) {
  if (!ui.data?.table || ui.hovered === row) return;
  ui.hovered = row;
  drawDots(ui, row);
}

/** A row of the table as {tp, pp, ...}. */
const rowAt = (table, k) =>
  Object.fromEntries(Object.entries(table).flatMap(([name, column]) => (k in column ? [[name, column[k]]] : [])));

/** The best, and the one that is open where it is none of them. */
function tableOf(ui) {
  const { table, open, now } = ui.data,
    words = ui.words,
    listed = [...Array(Math.min(ROWS, table.time.length)).keys()],
    head = el("tr", ...Object.values(words.head).map((textContent) => el("th", { scope: "col" }, textContent)));
  if (open >= ROWS || (open < 0 && now)) listed.push(open);
  return el("div.wide", el("table", el("thead", head), el("tbody", ...listed.map((k) => splitRow(ui, k)))));
}

/** A row of the table; the open one has the figures of its run, and no number where the search does not list it. */
function splitRow(ui, k) {
  const { table, open, now } = ui.data,
    words = ui.words,
    opened = k === open,
    split = { ...(k < 0 ? {} : rowAt(table, k)), ...(opened ? now : null) },
    button = el("button", { disabled: k < 0 }, k < 0 ? "–" : String(k + 1));
  button.title = k < 0 ? words.unlisted : fill(words.open, { number: k + 1 });
  button.setAttribute("aria-label", button.title);
  const values = ["tp", "pp", "dp", "interleave", "micro_batch"].map((name) => split[name]),
    about = split.timed || (opened && now) ? "" : "≈ ",
    figures = [about + fixedSpan(split.time), threeDigits(split.memory / 1e9)],
    reason = k < 0 ? signed(split.time - table.time[0]) : reasonOf(table, k, words, split.time),
    texts = [...values, shortenStrategy(split.data), split.recompute, ...figures, reason],
    row = el("tr", { className: opened ? "open" : "" }, el("td", button));
  row.append(...texts.map((text) => el("td", String(text))));
  if (k >= 0) row.addEventListener("click", () => ui.act({ what: "open", row: k }));
  return row;
}

/** A time with three digits, zeros at its end too: figures of a column stand under one another. */
export function fixedSpan(t) {
  const unit = timeUnit(t);
  return threeDigits(t * unit.f) + NB + unit.unit;
}

const signed = (x) => `${x < 0 ? "−" : "+"}${fmtSpan(Math.abs(x))}`;

/** "ZeRO-1" of `zero(1, reduce_dtype='float32')`: the rest is the same in all rows. */
export function shortenStrategy(call) {
  const [, name, stage] = /^(\w+)\((\d?)/.exec(call ?? "") ?? [];
  return name === "zero" ? `ZeRO-${stage}` : (name ?? "").toUpperCase();
}

/** Against the fastest: the two parts of the time that changed most, in the direction in which the time did. */
export function reasonOf(table, k, words, time = table.time[k]) {
  if (k === 0) return words.fastest;
  const more = time - table.time[0],
    sign = more < 0 ? -1 : 1,
    names = [words.parts.compute, insideOf(table, k), words.parts.bubble, words.parts.gradients],
    changed = table.parts[k].map((value, i) => [value - table.parts[0][i], names[i]]),
    most = changed.sort((a, b) => sign * (b[0] - a[0])).slice(0, 2),
    two = most.filter(([by]) => sign * by > 0.005 * table.time[0]).map(([by, name]) => `${name} ${signed(by)}`);
  return `${signed(more)}${two.length ? words.colon : ""}${two.join(words.comma)}`;
}

/** "TP/EP": the axes inside a layer that this split or the fastest has. */
function insideOf(table, k) {
  const some = INSIDE.filter((axis) => [0, k].some((row) => (table[axis]?.[row] ?? 1) > 1));
  return (some.length ? some : INSIDE).map((axis) => axis.toUpperCase()).join("/");
}

function dotUnder(ui, ev) {
  return ui.data?.table ? nearestDot(ui.data.table, ui.scales, ...pointIn(ui.dots, ev)) : -1;
}

function clickDot(ui, ev) {
  const row = dotUnder(ui, ev);
  if (row >= 0) ui.act({ what: "open", row });
}

export default component((box, _, send) => createSplit(box, { act: (what) => send.trigger("act", what) }));
