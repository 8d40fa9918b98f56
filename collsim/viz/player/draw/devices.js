// The devices of a machine: boxes, what is written on them, and the ways through switches.

import { barsHeight, drawNodeBars } from "./bars.js";
import { arrow, box, fillRect, fitFont, put, stroke, widthOf } from "./canvas.js";
import { shareDone } from "../model/cells.js";
import { measure, pointAt } from "../model/geometry.js";
import { busyEndpoints, drawHeld, heldSquares } from "./held.js";
import { useClass } from "../model/load.js";
import { boxOf, overlaps } from "../model/names.js";
import { textAt } from "../model/read.js";
import { MIN_TEXT_PX, core, onScreen } from "./ruler.js";

export function drawDevices(ctx, view) {
  const { model, facts } = view,
    names = [],
    unnamed = [],
    busy = model.tl.devices.holds && busyEndpoints(view);
  for (let d = 0; d < model.tl.devices.x.length; d++) {
    const deviceLook = deviceAt(view, d);
    drawBox(ctx, view, deviceLook);
    const squares = heldIn(view, deviceLook),
      bars = model.tl.devices.bars?.[d] ?? [];
    drawHeld(ctx, view, squares, busy, onScreen(view, MIN_TEXT_PX - 1));
    drawNodeBars(ctx, view, bars, deviceLook.x, deviceLook.y, deviceLook.w, deviceLook.h);
    const name = isUpright(deviceLook, squares)
      ? nameUpright(ctx, view, deviceLook)
      : nameLevel(ctx, view, deviceLook, squares.length);
    if (name) names.push(name);
    else if (deviceLook.kind === "nic" && !isUpright(deviceLook, squares)) unnamed.push(d);
  }
  for (const column of cardColumns(model, unnamed)) names.push({ at: columnName(view, column) });
  for (const list of facts.turns.values())
    if (list.length <= 40) for (const q of list) if (q.bends) drawTurn(ctx, view, q);
  // above the ways through the box
  for (const name of names) if (!name.upright) putName(ctx, name);
  for (const name of names) if (name.upright) putUpright(ctx, ...name.at);
  model.named = names.filter(({ d }) => SMALL.has(model.tl.devices.kind[d]));
}

const SMALL = new Set(["nic", "pcie", "cpu", "memory"]); // chunks pass behind their names

/** The names of small devices that tokens stand on, once more above these. */
export function namesAbove(ctx, view, tokens) {
  const devices = view.model.tl.devices;
  for (const name of view.model.named ?? []) {
    const device = boxOf(devices, name.d);
    if (!tokens.some((token) => overlaps(device, token.x, token.y, token.size / 2))) continue;
    const at = [...name.at];
    at[5] = { ...at[5], halo: view.colors.card };
    if (name.upright) putUpright(ctx, ...at);
    else put(ctx, ...at);
  }
}

/** A name; on a plate where ways through its device would run through it. */
function putName(ctx, { at, plate }) {
  const [text, x, y, size, , look] = at;
  if (plate) {
    const wide = widthOf(ctx, text, size, look.bold) + 8;
    box(ctx, look.align === "left" ? x - 4 : x - wide / 2, y - size * 0.95, wide, size * 1.2, 3, plate);
  }
  put(ctx, ...at);
}

const isUpright = ({ w, h }, squares) => h > 1.7 * w && !squares.length;

/** A device as it is drawn: its box, what it is, whether it takes part in the step. */
function deviceAt(view, d) {
  const { model, colors, facts } = view,
    devices = model.tl.devices,
    kind = devices.kind[d],
    on = facts.live.has(d),
    rank = devices.endpoint[d] >= 0,
    big = kind === "switch" || kind === "nvswitch",
    host = kind === "cpu" || kind === "memory",
    helper = rank && devices.endpoint[d] >= model.ranks && !big,
    label = textAt(devices.label, d, view.language);
  return {
    ...boxOf(devices, d),
    ...{ d, kind, on, rank, big, host, helper, label },
    bold: on || rank,
    fill: helper ? colors.ink : host ? (on ? colors.host : colors.sunk) : colors.card,
    color: helper ? colors.card : host && on ? colors.hostink : rank || (on && !host) ? colors.ink : colors.ink3,
  };
}

function drawBox(ctx, view, { d, x, y, w, h, on, rank, big, host, fill }) {
  const { model, colors } = view,
    edge = on ? (host ? colors.hostink : colors.ink) : colors.edge;
  if (d === model.opened) box(ctx, x - 1, y - 1, w + 2, h + 2, 6, null, colors.ink, 3);
  box(ctx, x, y, w, h, big ? 6 : rank ? 5 : 4, fill, edge, on ? (rank || big ? 1.8 : 1.6) : 1);
  if (rank && model.ranks > 32 && model.node == null && view.fill)
    fillSquare(ctx, view, model.tl.devices.endpoint[d], x, y, w, h);
}

/** Squares for the ranks in a device that stands for a whole node, under the strip with its name. */
function heldIn(view, { d, x, y, w, h }) {
  const holds = view.model.tl.devices.holds?.[d] ?? [],
    strip = nameStrip(view),
    room = h - strip - barsHeight(view, view.model.tl.devices.bars?.[d], w, h);
  return holds.length ? heldSquares(holds, x, y + strip, w, room, Math.min(1, view.k)) : [];
}

const nameStrip = (view) => onScreen(view, MIN_TEXT_PX + 6);

function nameUpright(ctx, view, { d, x, y, w, h, label, bold, color, fill }) {
  const most = Math.min(Math.max(14, onScreen(view, MIN_TEXT_PX + 1)), w * 0.8),
    least = onScreen(view, MIN_TEXT_PX - 0.5),
    // a plate, which is wider than the name, leaves the edge of the box in sight
    size = fitFont(ctx, label, most, h - 14, bold, least) || fitFont(ctx, label, most, h - 5, bold, least),
    look = { bold, align: "center", plate: view.facts.turns.has(d) ? fill : null, room: h - 4 };
  return size > 0 && { d, upright: true, at: [label, x + w / 2 + size * 0.35, y + h / 2, size, color, look] };
}

function nameLevel(ctx, view, deviceLook, squares) {
  const { d, x, y, w, h, label, bold, big, helper } = deviceLook,
    { size, heavy } = nameSize(ctx, view, deviceLook),
    turns = view.facts.turns.get(d)?.some((q) => q.bends),
    deep = turns && big && h >= 24,
    small = onScreen(view, MIN_TEXT_PX);
  const below = [label, x + w / 2, y + h + 1.1 * small, small, view.colors.ink, { bold, align: "center" }];
  if (!size) return helper && { d, at: below };
  // all cables come in from below
  const top = deep && view.facts.turns.get(d).every((q) => !q.bends || q.pts[3] < q.pts[1]);
  const spot = squares
    ? [x + w / 2, y + nameStrip(view) * 0.82]
    : deep && h > 50
      ? [x + 14, top ? y + 20 : y + h - 9]
      : [x + w / 2, deep ? (top ? y + size : y + h - 5) : y + h / 2 + size * 0.36];
  const look = { bold: heavy, align: deep && h > 50 ? "left" : "center", halo: turns ? deviceLook.fill : null };
  return { d, plate: turns ? deviceLook.fill : null, at: [label, ...spot, size, deviceLook.color, look] };
}

/** The size of a device's name, 0 where it has no room, and whether there is room for it in bold. */
function nameSize(ctx, view, { w, h, rank, big, label, bold }) {
  const usual = rank ? Math.min(19, h * 0.55) : big ? 13.5 : 12,
    least = onScreen(view, MIN_TEXT_PX - 1),
    most = Math.max(usual, least, Math.min(h * 0.9, onScreen(view, MIN_TEXT_PX + 0.5))),
    heavy = bold && fitFont(ctx, label, most, w - 4, true, least) > 0;
  return { heavy, size: least > h ? 0 : fitFont(ctx, label, most, w - 3, heavy, least) };
}

/** A route's line through a switch. */
function drawTurn(ctx, view, { link, pts }) {
  const color = view.patterns ? view.colors.ink : view.colors[useClass(view.facts.share[link])],
    line = measure(pts);
  stroke(ctx, pts, Math.max(1.3, Math.min(4, core(view, link))), color);
  const p = pointAt(line, line.len / 2);
  if (line.len > 22) arrow(ctx, p.x, p.y, p.dx, p.dy, 8, color);
}

function putUpright(ctx, label, x, y, size, color, look) {
  ctx.save();
  ctx.translate(x, y);
  ctx.rotate(-Math.PI / 2);
  if (look.plate) {
    const wide = Math.min(widthOf(ctx, label, size, look.bold) + 10, look.room);
    box(ctx, -wide / 2, -size, wide, size * 1.36, 3, look.plate);
  }
  put(ctx, label, 0, 0, size, color, look);
  ctx.restore();
}

/** Cards that stand one over another in one node. */
function cardColumns(model, cards) {
  const devices = model.tl.devices,
    columns = new Map();
  for (const d of cards) {
    const key = `${Math.round(devices.x[d])},${devices.panel[d]}`;
    if (!columns.has(key)) columns.set(key, []);
    columns.get(key).push(d);
  }
  return [...columns.values()].filter((column) => column.length > 1);
}

/** One name for a column of cards that are too small for a name each, under it: "NIC 0–7". */
function columnName(view, column) {
  const { model, colors } = view,
    devices = model.tl.devices,
    size = onScreen(view, MIN_TEXT_PX),
    number = (d) => Number(/\d+$/.exec(textAt(devices.label, d, view.language))?.[0] ?? 0),
    sorted = [...column].sort((a, b) => number(a) - number(b)),
    lowest = column.reduce((a, d) => (devices.y[d] > devices.y[a] ? d : a));
  const text = `${textAt(devices.label, sorted[0], view.language)}–${number(sorted.at(-1))}`,
    { x, y, w, h } = boxOf(devices, lowest);
  return [text, x + w / 2, y + h + size * 1.1, size, colors.ink, { align: "center", halo: colors.card }];
}

// Above 32 ranks a rank is a small square: it fills from below with its finished chunks instead of showing tokens.
function fillSquare(ctx, view, e, x, y, w, h) {
  const f = shareDone(view, e);
  if (f > 0) fillRect(ctx, x + 1, y + h - 1 - (h - 2) * f, w - 2, (h - 2) * f, view.colors.sumfill);
}
