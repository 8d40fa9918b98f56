// The devices of a machine: boxes, what is written on them, and the ways through switches.

import { barsHeight, drawNodeBars } from "./bars.js";
import { arrow, box, fitFont, put, stroke, widthOf } from "./canvas.js";
import { shareDone } from "../model/cells.js";
import { measure, pointAt } from "../model/geometry.js";
import { busyEndpoints, drawHeld, heldSquares } from "./held.js";
import { useClass } from "../model/load.js";
import { textAt } from "../model/read.js";
import { LEAST, core, onScreen } from "./ruler.js";

export function drawDevices(g, V) {
  const { m, facts } = V,
    names = [],
    unnamed = [],
    busy = m.tl.devices.holds && busyEndpoints(V);
  for (let d = 0; d < m.tl.devices.x.length; d++) {
    const one = deviceAt(V, d);
    drawBox(g, V, one);
    const squares = heldIn(V, one),
      bars = m.tl.devices.bars?.[d] ?? [];
    drawHeld(g, V, squares, busy, onScreen(V, LEAST - 1));
    drawNodeBars(g, V, bars, one.x, one.y, one.w, one.h);
    const name = isUpright(one, squares) ? nameUpright(g, V, one) : nameLevel(g, V, one, squares.length);
    if (name) names.push(name);
    else if (one.kind === "nic" && !isUpright(one, squares)) unnamed.push(d);
  }
  for (const column of cardColumns(m, unnamed)) names.push({ at: columnName(V, column) });
  for (const list of facts.turns.values()) if (list.length <= 40) for (const q of list) if (q.bends) drawTurn(g, V, q);
  // above the ways through the box
  for (const name of names) if (!name.upright) putName(g, name);
  for (const name of names) if (name.upright) putUpright(g, ...name.at);
  m.named = names.filter(({ d }) => SMALL.has(m.tl.devices.kind[d]));
}

const SMALL = new Set(["nic", "pcie", "cpu", "memory"]); // chunks pass behind their names

/** The names of small devices that tokens stand on, once more above these. */
export function namesAbove(g, V, tokens) {
  const D = V.m.tl.devices;
  for (const name of V.m.named ?? []) {
    const { d } = name,
      hit = ({ x, y, size: s }) =>
        x + s / 2 > D.x[d] && x - s / 2 < D.x[d] + D.w[d] && y + s / 2 > D.y[d] && y - s / 2 < D.y[d] + D.h[d];
    if (!tokens.some(hit)) continue;
    const at = [...name.at];
    at[5] = { ...at[5], halo: V.C.card };
    if (name.upright) putUpright(g, ...at);
    else put(g, ...at);
  }
}

/** A name; on a plate where ways through its device would run through it. */
function putName(g, { at, plate }) {
  const [text, x, y, size, , look] = at;
  if (plate) {
    const wide = widthOf(g, text, size, look.bold) + 8;
    box(g, look.align === "left" ? x - 4 : x - wide / 2, y - size * 0.95, wide, size * 1.2, 3, plate);
  }
  put(g, ...at);
}

const isUpright = ({ w, h }, squares) => h > 1.7 * w && !squares.length;

/** A device as it is drawn: its box, what it is, whether it takes part in the step. */
function deviceAt(V, d) {
  const { m, C, facts } = V,
    D = m.tl.devices,
    kind = D.kind[d],
    on = facts.live.has(d),
    rank = D.endpoint[d] >= 0,
    big = kind === "switch" || kind === "nvswitch",
    host = kind === "cpu" || kind === "memory",
    helper = rank && D.endpoint[d] >= m.ranks && !big,
    label = textAt(D.label, d, V.lang);
  return {
    ...{ d, x: D.x[d], y: D.y[d], w: D.w[d], h: D.h[d], kind, on, rank, big, host, helper, label },
    bold: on || rank,
    fill: helper ? C.ink : host ? (on ? C.host : C.sunk) : C.card,
    color: helper ? C.card : host && on ? C.hostink : rank || (on && !host) ? C.ink : C.ink3,
  };
}

function drawBox(g, V, { d, x, y, w, h, on, rank, big, host, fill }) {
  const { m, C } = V,
    edge = on ? (host ? C.hostink : C.ink) : C.edge;
  if (d === m.opened) box(g, x - 1, y - 1, w + 2, h + 2, 6, null, C.ink, 3);
  box(g, x, y, w, h, big ? 6 : rank ? 5 : 4, fill, edge, on ? (rank || big ? 1.8 : 1.6) : 1);
  if (rank && m.ranks > 32 && m.node == null && V.fill) fillSquare(g, V, m.tl.devices.endpoint[d], x, y, w, h);
}

/** Squares for the ranks in a device that stands for a whole node, under the strip with its name. */
function heldIn(V, { d, x, y, w, h }) {
  const holds = V.m.tl.devices.holds?.[d] ?? [],
    strip = nameStrip(V),
    room = h - strip - barsHeight(V, V.m.tl.devices.bars?.[d], w, h);
  return holds.length ? heldSquares(holds, x, y + strip, w, room, Math.min(1, V.k)) : [];
}

const nameStrip = (V) => onScreen(V, LEAST + 6);

function nameUpright(g, V, { d, x, y, w, h, label, bold, color, fill }) {
  const most = Math.min(Math.max(14, onScreen(V, LEAST + 1)), w * 0.8),
    least = onScreen(V, LEAST - 0.5),
    // a plate, which is wider than the name, leaves the edge of the box in sight
    size = fitFont(g, label, most, h - 14, bold, least) || fitFont(g, label, most, h - 5, bold, least),
    look = { bold, align: "center", plate: V.facts.turns.has(d) ? fill : null, room: h - 4 };
  return size > 0 && { d, upright: true, at: [label, x + w / 2 + size * 0.35, y + h / 2, size, color, look] };
}

function nameLevel(g, V, one, squares) {
  const { d, x, y, w, h, label, bold, big, helper } = one,
    { size, heavy } = nameSize(g, V, one),
    turns = V.facts.turns.get(d)?.some((q) => q.bends),
    deep = turns && big && h >= 24,
    small = onScreen(V, LEAST);
  if (!size)
    return helper && { d, at: [label, x + w / 2, y + h + 1.1 * small, small, V.C.ink, { bold, align: "center" }] };
  // all cables come in from below
  const top = deep && V.facts.turns.get(d).every((q) => !q.bends || q.pts[3] < q.pts[1]);
  const spot = squares
    ? [x + w / 2, y + nameStrip(V) * 0.82]
    : deep && h > 50
      ? [x + 14, top ? y + 20 : y + h - 9]
      : [x + w / 2, deep ? (top ? y + size : y + h - 5) : y + h / 2 + size * 0.36];
  const look = { bold: heavy, align: deep && h > 50 ? "left" : "center", halo: turns ? one.fill : null };
  return { d, plate: turns ? one.fill : null, at: [label, ...spot, size, one.color, look] };
}

/** The size of a device's name, 0 where it has no room, and whether there is room for it in bold. */
function nameSize(g, V, { w, h, rank, big, label, bold }) {
  const usual = rank ? Math.min(19, h * 0.55) : big ? 13.5 : 12,
    least = onScreen(V, LEAST - 1),
    most = Math.max(usual, Math.min(h * 0.9, onScreen(V, LEAST + 0.5))),
    heavy = bold && fitFont(g, label, most, w - 4, true, least) > 0;
  return { heavy, size: least > h ? 0 : fitFont(g, label, most, w - 3, heavy, least) };
}

/** A route's line through a switch. */
function drawTurn(g, V, { link, pts }) {
  const color = V.patterns ? V.C.ink : V.C[useClass(V.facts.share[link])],
    line = measure(pts);
  stroke(g, pts, Math.max(1.3, Math.min(4, core(V, link))), color);
  const p = pointAt(line, line.len / 2);
  if (line.len > 22) arrow(g, p.x, p.y, p.dx, p.dy, 8, color);
}

function putUpright(g, label, x, y, size, color, look) {
  g.save();
  g.translate(x, y);
  g.rotate(-Math.PI / 2);
  if (look.plate) {
    const wide = Math.min(widthOf(g, label, size, look.bold) + 10, look.room);
    box(g, -wide / 2, -size, wide, size * 1.36, 3, look.plate);
  }
  put(g, label, 0, 0, size, color, look);
  g.restore();
}

/** Cards that stand one over another in one node. */
function cardColumns(m, cards) {
  const D = m.tl.devices,
    found = new Map();
  for (const d of cards) {
    const key = `${Math.round(D.x[d])},${D.panel[d]}`;
    if (!found.has(key)) found.set(key, []);
    found.get(key).push(d);
  }
  return [...found.values()].filter((column) => column.length > 1);
}

/** One name for a column of cards that are too small for a name each, under it: "NIC 0–7". */
function columnName(V, column) {
  const { m, C } = V,
    D = m.tl.devices,
    size = onScreen(V, LEAST),
    number = (d) => Number(/\d+$/.exec(textAt(D.label, d, V.lang))?.[0] ?? 0),
    sorted = [...column].sort((a, b) => number(a) - number(b)),
    lowest = column.reduce((a, d) => (D.y[d] > D.y[a] ? d : a));
  const text = `${textAt(D.label, sorted[0], V.lang)}–${number(sorted.at(-1))}`;
  return [
    text,
    D.x[lowest] + D.w[lowest] / 2,
    D.y[lowest] + D.h[lowest] + size * 1.1,
    size,
    C.ink,
    { align: "center", halo: C.card },
  ];
}

// Above 32 ranks a rank is a small square: it fills from below with its finished chunks instead of showing tokens.
function fillSquare(g, V, e, x, y, w, h) {
  const f = shareDone(V, e);
  if (f > 0) {
    g.fillStyle = V.C.sumfill;
    g.fillRect(x + 1, y + h - 1 - (h - 2) * f, w - 2, (h - 2) * f);
  }
}
