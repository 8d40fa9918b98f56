// The same steps without a machine: ranks as cards or circles.

import { arrowOnLine, box, disc, fillRect, fitFont, put, stroke, widthOf } from "./canvas.js";
import { cellAt, shareDone } from "../model/cells.js";
import { measure, pointAt } from "../model/geometry.js";
import { hopAt, journey } from "../model/hops.js";
import { hues } from "../model/look.js";
import { slotText } from "../model/model.js";
import { endpointName, nameOf } from "../model/names.js";
import { drawTrail, hopOut, strokeMove, token, train } from "./tokens.js";

const LAID = new WeakMap(); // by model: the last layout, which all frames of the same size share

/** Cards with the cells of each rank where they fit, else circles; the largest size that does not overlap. */
export function logicalLayout(model, nslots, w, h) {
  const size = [nslots, w, h].join(),
    known = LAID.get(model);
  if (known?.size === size) return known;
  const layout = { ...laidOut(model, nslots, w, h), size, lines: new Map() };
  LAID.set(model, layout);
  return layout;
}

/** Where a few ranks stand round a frame, as shares of its width and height. */
const FRAMES = {
  3: [0, 0, 1, 0, 0.5, 1],
  4: [0, 0, 1, 0, 1, 1, 0, 1],
  5: [0, 0, 0.5, 0, 1, 0, 1, 1, 0, 1],
  6: [0, 0, 0.5, 0, 1, 0, 1, 1, 0.5, 1, 0, 1],
  7: [0, 0, 0.5, 0, 1, 0, 1, 0.5, 1, 1, 0.5, 1, 0, 1],
  8: [0, 0, 0.5, 0, 1, 0, 1, 0.5, 1, 1, 0.5, 1, 0, 1, 0, 0.5],
};

function laidOut(model, nslots, w, h) {
  const G = model.tl.logical ?? {},
    endpointCount = model.endpoints,
    xs = G.x ?? [],
    ys = G.y ?? [],
    frame = FRAMES[endpointCount],
    angle = (e) => Math.atan2((xs[e] ?? 0.5) - 0.5, 0.5 - (ys[e] ?? 0.5)),
    turn = (e) => (2 * Math.PI + angle(e) - angle(0) + 1e-9) % (2 * Math.PI);
  const order = Array.from({ length: endpointCount }, (_, e) => e).sort((a, b) => turn(a) - turn(b)),
    seat = order.map((_, e) => order.indexOf(e)); // the ring need not go 0, 1, 2: keep the order of the given places
  const inFrame = (cw, ch) =>
    seat.map((k) => [12 + cw / 2 + frame[2 * k] * (w - 24 - cw), 12 + ch / 2 + frame[2 * k + 1] * (h - 24 - ch)]);
  const at = (cw, ch) =>
    Array.from({ length: endpointCount }, (_, e) => {
      const a = (2 * Math.PI * e) / endpointCount,
        x = xs[e] ?? 0.5 + 0.5 * Math.sin(a),
        y = ys[e] ?? 0.5 - 0.5 * Math.cos(a);
      return [12 + cw / 2 + x * Math.max(0, w - 24 - cw), 12 + ch / 2 + y * Math.max(0, h - 24 - ch)];
    });
  const clear = (P, cw, ch) =>
    P.every(([x, y], a) => P.every(([u, v], b) => a >= b || Math.abs(x - u) >= cw || Math.abs(y - v) >= ch));
  if (endpointCount <= 8 && nslots <= 8) {
    for (const c of [60, 52, 44, 36, 30, 26]) {
      const cw = Math.max(nslots * (c + 6) + 22, c >= 44 ? 104 : 88),
        ch = c + (c >= 44 ? 62 : 46),
        P = G.kind === "ring" && frame ? inFrame(cw, ch) : at(cw, ch), // a ring of cards runs round the frame
        apart = Math.max(40, 1.5 * tokenSize({ cards: true, c })); // between two cards a token stands free, and moves
      if (cw < w - 24 && ch < h - 24 && clear(P, cw + apart, ch + apart)) return { cards: true, c, cw, ch, P };
    }
  }
  for (let r = 30; r > 3; r -= 0.5) {
    const P = at(2 * r, 2 * r);
    if (r <= 5 || P.every(([x, y], a) => P.every(([u, v], b) => a >= b || Math.hypot(x - u, y - v) >= 3 * r)))
      return { cards: false, r, cw: 2 * r, ch: 2 * r, P };
  }
  return { cards: false, r: 4, cw: 8, ch: 8, P: at(8, 8) };
}

/**
 * Pixels of a token between ranks.
 * @param {{ cards: boolean, c?: number, r?: number }} layout
 */
function tokenSize({ cards, c = 0, r = 0 }) {
  if (!cards) return Math.max(10, Math.min(26, r * 1.1));
  return c >= 36 ? Math.min(52, c) : 26;
}

/** The straight line from a to b: border to border, then middle to middle. */
export function edgeEnds(view, a, b) {
  const { P, cards, cw, ch, r } = view.lay,
    two = view.model.pairs.has(b * view.model.endpoints + a);
  let [x0, y0] = P[a],
    [x1, y1] = P[b];
  const len = Math.hypot(x1 - x0, y1 - y0) || 1,
    dx = (x1 - x0) / len,
    dy = (y1 - y0) / len;
  const side = two ? Math.min(8, cards ? 8 : r * 0.4) : 0;
  x0 -= dy * side;
  y0 += dx * side;
  x1 -= dy * side;
  y1 += dx * side;
  const cut = cards
    ? Math.min(Math.abs(dx) > 1e-6 ? cw / 2 / Math.abs(dx) : 1e9, Math.abs(dy) > 1e-6 ? ch / 2 / Math.abs(dy) : 1e9)
    : r;
  return [x0 + dx * cut, y0 + dy * cut, x1 - dx * cut, y1 - dy * cut, x0, y0, x1, y1];
}

/**
 * The way from a to b round ranks that stand between them in a row or a column, border to border; null where the
 * straight line is free.
 */
function wayRound(view, a, b) {
  const { P, r, cards } = view.lay;
  if (cards || P.length <= 8) return null;
  const [x0, y0] = P[a],
    [x1, y1] = P[b],
    level = Math.abs(y1 - y0) < r,
    upright = Math.abs(x1 - x0) < r;
  if (level === upright) return null;
  const between = ([x, y], c) =>
    c !== a &&
    c !== b &&
    (level ? Math.abs(y - y0) < r && (x - x0) * (x - x1) < 0 : Math.abs(x - x0) < r && (y - y0) * (y - y1) < 0);
  if (!P.some(between)) return null;
  const side = (level ? x1 > x0 : y1 > y0) ? -1 : 1,
    near = side * r,
    far = side * 1.5 * r;
  return level
    ? [x0, y0 + near, x0, y0 + far, x1, y1 + far, x1, y1 + near]
    : [x0 + near, y0, x0 + far, y0, x1 + far, y1, x1 + near, y1];
}

/** The way from a to b for tokens, border to border. */
const tokenWay = (view, a, b) => wayRound(view, a, b) ?? edgeEnds(view, a, b).slice(0, 4);

/** The same, measured once for a layout and a channel. */
function measuredWay(view, a, b) {
  const { lines } = view.lay,
    key = [view.channel, a, b].join();
  if (!lines.has(key)) lines.set(key, measure(tokenWay(view, a, b)));
  return lines.get(key);
}

/** Who sends to whom at all, in the channel that is shown. */
function ensurePairs({ model, channel }) {
  if (model.pairs && model.pairsOf === channel) return;
  model.pairs = new Set();
  model.pairsOf = channel;
  for (let i = 0; i < model.n; i++)
    if (inChannel(model, channel, i)) model.pairs.add(model.src[i] * model.endpoints + model.dst[i]);
}

/** Does a transfer belong to the channel that is shown? All do where none is chosen, and where collectives are told. */
const inChannel = (model, channel, i) => !(channel >= 0) || model.groups.length > 0 || model.channel[i] === channel;

export function drawLogical(ctx, view, w, h) {
  const { model } = view,
    endpointCount = model.endpoints,
    thick = view.lay.cards ? 22 : Math.max(2, view.lay.r * 0.5);
  ensurePairs(view);
  const now = view.now.filter((i) => inChannel(model, view.channel, i)),
    busy = new Set(now.map((i) => model.src[i] * endpointCount + model.dst[i]));
  if (busy.size > MAX_PAIRS) drawManyPairs(ctx, view, busy);
  else drawPairs(ctx, view, busy, thick);
  for (let e = 0; e < endpointCount; e++) view.lay.cards ? drawCard(ctx, view, e) : drawRankCircle(ctx, view, e);
  const mid = view.lay.P.every(
    ([x, y]) => Math.abs(x - w / 2) > view.lay.cw / 2 + 150 || Math.abs(y - h / 2) > view.lay.ch / 2 + 50,
  );
  if (view.lay.cards && model.goal > 1 && mid && model.tl.state.wanted === "all" && model.tl.state.initial === "all")
    drawGoal(ctx, view, w / 2, h / 2);
}

const MAX_PAIRS = 600; // more ways than that are no pipes but one thicket of thin lines

/** So many ways that no single one can be followed: one path for all, and one stroke. */
function drawManyPairs(ctx, view, busy) {
  ctx.beginPath();
  for (const key of busy) {
    const [x0, y0, x1, y1] = edgeEnds(view, Math.floor(key / view.model.endpoints), key % view.model.endpoints);
    ctx.moveTo(x0, y0);
    ctx.lineTo(x1, y1);
  }
  ctx.strokeStyle = view.colors.room;
  ctx.lineWidth = 0.6;
  ctx.globalAlpha = 0.4;
  ctx.stroke();
  ctx.globalAlpha = 1;
}

/** The ways between ranks: those at rest below, those that carry something now above them. */
function drawPairs(ctx, view, busy, thick) {
  const { model, colors } = view,
    endpointCount = model.endpoints;
  for (const on of [false, true]) {
    for (const key of model.pairs) {
      if (busy.has(key) !== on || (!on && model.pairs.size > MAX_PAIRS)) continue;
      const [from, to] = [Math.floor(key / endpointCount), key % endpointCount],
        round = wayRound(view, from, to),
        ends = round ?? edgeEnds(view, from, to),
        line = round ?? ends.slice(4),
        both = model.pairs.has(to * endpointCount + from),
        wide = round ? Math.min(6, view.lay.r * 0.4) : both ? Math.min(thick, 12) : thick;
      if (!on) {
        stroke(ctx, line, wide, colors.idle);
        if (wide > 5) stroke(ctx, line, wide - 2, colors.sunk);
        continue;
      }
      stroke(ctx, line, wide + 1.6, colors.edge);
      stroke(ctx, line, wide, colors.roomtint);
      stroke(ctx, line, Math.max(1.5, wide * 0.36), colors.room);
      arrowOnLine(ctx, round ?? ends.slice(0, 4), 6 + wide * 0.3, 6 + wide * 0.4, colors.room);
    }
  }
}

function drawGoal(ctx, view, x, y) {
  const { model, colors } = view,
    n = view.slots.length,
    gap = 40;
  put(ctx, view.words.goal, x, y - 22, 15, colors.ink2, { align: "center" });
  view.slots.forEach((slot, q) => {
    let sum = 0;
    for (let r = 0; r < model.ranks; r++) sum += model.first.value[r * model.slots + slot];
    const cx = x + (q - (n - 1) / 2) * gap;
    token(ctx, colors, cx, y + 6, 34, { round: true, f: 1, text: String(sum) });
    put(ctx, slotText(view, slot), cx, y + 40, 13, colors.ink2, { align: "center" });
  });
}

function dots(ctx, { model, colors: { ink, card } }, x, y, mask, width) {
  const n = Math.min(8, model.ranks),
    r = Math.min(4, width / (n * 3.2)),
    gap = Math.min(13, ((width - 2 * r) / Math.max(1, n - 1)) * 0.9);
  for (let q = 0; q < n; q++) disc(ctx, x + (q - (n - 1) / 2) * gap, y, r, mask & (1 << q) ? ink : card, ink, 1.2);
}

function drawCell(ctx, view, x, y, c, o) {
  const { model } = view,
    colors = hues(view.colors, model, o.slot),
    f = Math.min(1, o.count / model.goals[o.slot]),
    done = f >= 1;
  box(ctx, x, y, c, c, 4, done ? colors.done : colors.card);
  if (f > 0 && !done) fillRect(ctx, x, y + c * (1 - f), c, c * f, colors.sumfill);
  const waits = o.arriving ? { ink: colors.ink, lw: 2, dash: [5, 4] } : { ink: colors.edge, lw: 1.2 },
    edge = o.sending ? { ...waits, ink: colors.ink, lw: 2.6 } : waits;
  box(ctx, x, y, c, c, 4, null, edge.ink, edge.lw, edge.dash);
  if (o.wrong) box(ctx, x - 3, y - 3, c + 6, c + 6, 6, null, colors.full, 3);
  if (!o.count) return;
  const text = model.goal > 1 && model.ranks <= 32 ? String(o.value) : done ? "✓" : String(o.count),
    size = Math.min(c * 0.44, 31, c / Math.max(1.6, text.length * 0.72));
  put(ctx, text, x + c / 2, y + c / 2 + size * (c >= 36 ? 0.22 : 0.36), size, done ? colors.ontext : colors.ink, {
    bold: true,
    align: "center",
  });
  if (c >= 36 && model.goal > 1 && !done) dots(ctx, view, x + c / 2, y + c - 9, o.mask, c - 8);
}

function drawCard(ctx, view, e) {
  const { model, colors } = view,
    { P, c, cw, ch } = view.lay,
    x = P[e][0] - cw / 2,
    y = P[e][1] - ch / 2,
    big = c >= 44;
  box(ctx, x, y, cw, ch, 10, colors.card, colors.ink, 2.2);
  put(ctx, endpointName(model, e, view.words, view.language), x + 16, y + (big ? 27 : 19), big ? 19 : 14, colors.ink, {
    bold: true,
  });
  view.slots.forEach((slot, q) => {
    const cx = x + cw / 2 + (q - view.slots.length / 2) * (c + 6) + 3,
      cy = y + ch - c - 12,
      cell = e * model.slots + slot;
    if (big) put(ctx, slotText(view, slot), cx + c / 2, cy - 5, 13, colors.ink3, { align: "center" });
    drawCell(ctx, view, cx, cy, c, {
      slot,
      count: cellAt(model, cell, view.t),
      value: cellAt(model, cell, view.t, "value"),
      mask: cellAt(model, cell, view.t, "mask"),
      sending: view.sends.has(cell),
      arriving: view.lands.has(cell),
      wrong: view.wrong === cell,
    });
  });
}

function drawRankCircle(ctx, view, e) {
  const { model, colors } = view,
    { P, r } = view.lay,
    [x, y] = P[e],
    f = shareDone(view, e);
  disc(ctx, x, y, r, f >= 1 ? colors.done : colors.card, e < model.ranks ? colors.ink : colors.hostink, 1.8);
  if (f > 0 && f < 1) {
    ctx.beginPath();
    ctx.arc(x, y, r - 3, -Math.PI / 2, -Math.PI / 2 + 2 * Math.PI * f);
    ctx.strokeStyle = colors.done;
    ctx.lineWidth = 4;
    ctx.stroke();
  }
  if (view.wrong != null && model.mistake.rank === e) disc(ctx, x, y, r + 4, null, colors.full, 3);
  const name = nameOf(model, e, view.language),
    size = fitFont(ctx, name, Math.min(19, r * 0.85), 2 * r - 6, true, 7);
  if (size)
    put(ctx, name, x, y + size * 0.36, size, f >= 1 ? colors.ontext : colors.ink, { bold: true, align: "center" });
}

export function drawLogicalTokens(ctx, view) {
  const { model } = view,
    per = new Map(),
    list = [];
  if (view.act.length > 2000) {
    view.drawn = [];
    return;
  }
  ensurePairs(view);
  const big = view.lay.cards && view.lay.c >= 36,
    base = tokenSize(view.lay);
  for (const i of view.act) {
    if (!inChannel(model, view.channel, i)) continue;
    const key = model.src[i] * model.endpoints + model.dst[i],
      line = measuredWay(view, model.src[i], model.dst[i]),
      pad = Math.min(base / 2 + 2, line.len / 3);
    if (!per.has(key)) per.set(key, []);
    hopAt(model, i, view.t, hopOut);
    per.get(key).push({ i, line, d: pad + hopOut.share * (line.len - 2 * pad), size: base });
  }
  for (const group of per.values()) train(group, list);
  for (const q of list) pointAt(q.line, q.d, q);
  if (!view.reduced && list.length <= 240) for (const q of list) drawTrail(ctx, view, q);
  for (const q of list) {
    ctx.globalAlpha = view.dim(q.i);
    drawLogicalToken(ctx, view, q, big && !q.count && !q.plain);
    ctx.globalAlpha = 1;
  }
  view.drawn = list;
}

/** A token between ranks; one that stands alone says its value, and beside it which chunk it is. */
function drawLogicalToken(ctx, view, q, isSingle) {
  const { model, colors } = view,
    i = q.i,
    slot = model.chunk[i],
    f = model.k[i] / model.goals[slot],
    valueText = isSingle && model.goal > 1 ? String(model.val[i]) : q.size >= 16 ? slotText(view, slot) : "",
    text = q.count ? `×${q.count}` : valueText;
  const look = { round: !model.reduce[i], f, lit: view.hover?.transfer === i };
  token(ctx, hues(colors, model, slot), q.x, q.y, q.size, look);
  if (text) {
    const y = q.y + (isSingle && f < 1 ? 3 : q.size * 0.18),
      size = q.size * (isSingle || text.length > 2 ? 0.42 : 0.52);
    put(ctx, text, q.x, y, size, f >= 1 ? colors.ontext : colors.ink, { bold: true, align: "center" });
  }
  if (isSingle && f < 1 && model.goal > 1) dots(ctx, view, q.x, q.y + q.size / 2 - 9, model.who[i], q.size - 8);
  if (isSingle) nameToken(ctx, view, q);
}

function nameToken(ctx, view, q) {
  const flat = Math.abs(q.dx) > Math.abs(q.dy),
    str = `${view.words.chunk} ${slotText(view, view.model.chunk[q.i])}`,
    // what stands out beside the token does so on the open side of the way
    over = Math.max(0, widthOf(ctx, str, 13.5, true) + 8 - q.size),
    shift = Math.sign(q.dx) * over * Math.max(-0.5, Math.min(0.5, 0.5 - q.d / q.line.len)),
    [x, y] = flat ? [q.x + shift, q.y - q.size / 2 - 8] : [q.x + q.size / 2 + 10, q.y + 5];
  // it may reach over the box of a rank
  const look = { bold: true, align: flat ? "center" : "left", halo: view.colors.card };
  put(ctx, str, x, y, 13.5, view.colors.ink2, look);
}

/** The whole way of one chunk between ranks: moves that are done solid, those to come dashed. */
export function drawLogicalJourney(ctx, view) {
  const { model, colors } = view;
  for (const i of journey(model, view.hover.slot).ids)
    strokeMove(ctx, colors, tokenWay(view, model.src[i], model.dst[i]), model.t1[i] <= view.t);
}
