// The same steps without a machine: ranks as cards or circles.

import { arrow, box, disc, fitFont, put, stroke, widthOf } from "./canvas.js";
import { cellAt, shareDone } from "../model/cells.js";
import { measure, pointAt } from "../model/geometry.js";
import { hopAt, journey } from "../model/hops.js";
import { hues } from "../model/look.js";
import { slotText } from "../model/model.js";
import { nameOf } from "../model/names.js";
import { drawTrail, hopOut, pt, token, train } from "./tokens.js";

const LAID = new WeakMap(); // by model: the last layout, which all frames of the same size share

/** Cards with the cells of each rank where they fit, else circles; the largest size that does not overlap. */
export function logicalLayout(m, nslots, w, h) {
  const size = [nslots, w, h].join(),
    known = LAID.get(m);
  if (known?.size === size) return known;
  const made = { ...laidOut(m, nslots, w, h), size, lines: new Map() };
  LAID.set(m, made);
  return made;
}

function laidOut(m, nslots, w, h) {
  const G = m.tl.logical ?? {},
    E = m.endpoints,
    xs = G.x ?? [],
    ys = G.y ?? [];
  const frame = {
    3: [0, 0, 1, 0, 0.5, 1],
    4: [0, 0, 1, 0, 1, 1, 0, 1],
    5: [0, 0, 0.5, 0, 1, 0, 1, 1, 0, 1],
    6: [0, 0, 0.5, 0, 1, 0, 1, 1, 0.5, 1, 0, 1],
    7: [0, 0, 0.5, 0, 1, 0, 1, 0.5, 1, 1, 0.5, 1, 0, 1],
    8: [0, 0, 0.5, 0, 1, 0, 1, 0.5, 1, 1, 0.5, 1, 0, 1, 0, 0.5],
  }[E];
  const turn = (e) =>
    (2 * Math.PI +
      Math.atan2((xs[e] ?? 0.5) - 0.5, 0.5 - (ys[e] ?? 0.5)) -
      Math.atan2((xs[0] ?? 0.5) - 0.5, 0.5 - (ys[0] ?? 0.5)) +
      1e-9) %
    (2 * Math.PI);
  const order = Array.from({ length: E }, (_, e) => e).sort((a, b) => turn(a) - turn(b)),
    seat = Array.from(order, () => 0);
  order.forEach((e, k) => {
    seat[e] = k;
  }); // the ring need not go 0, 1, 2: keep the order of the given places
  const inFrame = (cw, ch) =>
    seat.map((k) => [12 + cw / 2 + frame[2 * k] * (w - 24 - cw), 12 + ch / 2 + frame[2 * k + 1] * (h - 24 - ch)]);
  const at = (cw, ch) =>
    Array.from({ length: E }, (_, e) => {
      const a = (2 * Math.PI * e) / E,
        x = xs[e] ?? 0.5 + 0.5 * Math.sin(a),
        y = ys[e] ?? 0.5 - 0.5 * Math.cos(a);
      return [12 + cw / 2 + x * Math.max(0, w - 24 - cw), 12 + ch / 2 + y * Math.max(0, h - 24 - ch)];
    });
  const clear = (P, cw, ch) =>
    P.every(([x, y], a) => P.every(([u, v], b) => a >= b || Math.abs(x - u) >= cw || Math.abs(y - v) >= ch));
  if (E <= 8 && nslots <= 8) {
    for (const c of [60, 52, 44, 36, 30, 26]) {
      const cw = Math.max(nslots * (c + 6) + 22, c >= 44 ? 104 : 88),
        ch = c + (c >= 44 ? 62 : 46),
        P = G.kind === "ring" && frame ? inFrame(cw, ch) : at(cw, ch); // a ring of cards runs round the frame
      if (cw < w - 24 && ch < h - 24 && clear(P, cw + 40, ch + 30)) return { cards: true, c, cw, ch, P };
    }
  }
  for (let r = 30; r > 3; r -= 0.5) {
    const P = at(2 * r, 2 * r);
    if (r <= 5 || P.every(([x, y], a) => P.every(([u, v], b) => a >= b || Math.hypot(x - u, y - v) >= 3 * r)))
      return { cards: false, r, cw: 2 * r, ch: 2 * r, P };
  }
  return { cards: false, r: 4, cw: 8, ch: 8, P: at(8, 8) };
}

function edgeEnds(V, a, b) {
  const { P, cards, cw, ch, r } = V.lay,
    two = V.m.pairs.has(b * V.m.endpoints + a);
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
  return [x0 + dx * cut, y0 + dy * cut, x1 - dx * cut, y1 - dy * cut, dx, dy, x0, y0, x1, y1];
}

/**
 * The way from a to b round ranks that stand between them in a row or a column, border to border; null where the
 * straight line is free.
 */
function wayRound(V, a, b) {
  const { P, r, cards } = V.lay;
  if (cards || P.length <= 8) return null;
  const [x0, y0] = P[a],
    [x1, y1] = P[b],
    level = Math.abs(y1 - y0) < r,
    upright = Math.abs(x1 - x0) < r;
  if (level === upright) return null;
  const between = ([x, y], c) =>
    c !== a &&
    c !== b &&
    (level
      ? Math.abs(y - y0) < r && (x - x0) * (x - x1) < 0
      : Math.abs(x - x0) < r && (y - y0) * (y - y1) < 0);
  if (!P.some(between)) return null;
  const side = (level ? x1 > x0 : y1 > y0) ? -1 : 1,
    near = side * r,
    far = side * 1.5 * r;
  return level
    ? [x0, y0 + near, x0, y0 + far, x1, y1 + far, x1, y1 + near]
    : [x0 + near, y0, x0 + far, y0, x1 + far, y1, x1 + near, y1];
}

/** The way from a to b for tokens, border to border. */
const tokenWay = (V, a, b) => wayRound(V, a, b) ?? edgeEnds(V, a, b).slice(0, 4);

/** The same, measured once for a layout and a channel. */
function measuredWay(V, a, b) {
  const { lines } = V.lay,
    key = [V.channel, a, b].join();
  if (!lines.has(key)) lines.set(key, measure(tokenWay(V, a, b)));
  return lines.get(key);
}

/** Who sends to whom at all, in the channel that is shown. */
function ensurePairs({ m, channel }) {
  if (m.pairs && m.pairsOf === channel) return;
  m.pairs = new Set();
  m.pairsOf = channel;
  for (let i = 0; i < m.n; i++) if (inChannel(m, channel, i)) m.pairs.add(m.src[i] * m.endpoints + m.dst[i]);
}

/** Does a transfer belong to the channel that is shown? All do where none is chosen, and where collectives are told. */
const inChannel = (m, channel, i) => !(channel >= 0) || m.groups.length > 0 || m.channel[i] === channel;

export function drawLogical(g, V, w, h) {
  const { m, C } = V,
    E = m.endpoints,
    thick = V.lay.cards ? 22 : Math.max(2, V.lay.r * 0.5);
  ensurePairs(V);
  const now = V.now.filter((i) => inChannel(m, V.channel, i)),
    busy = new Set(now.map((i) => m.src[i] * E + m.dst[i]));
  if (busy.size > MOST_PAIRS) drawManyPairs(g, V, busy);
  else drawPairs(g, V, busy, thick);
  for (let e = 0; e < E; e++) V.lay.cards ? drawCard(g, V, e) : drawRankCircle(g, V, e);
  const mid = V.lay.P.every(
    ([x, y]) => Math.abs(x - w / 2) > V.lay.cw / 2 + 150 || Math.abs(y - h / 2) > V.lay.ch / 2 + 50,
  );
  if (V.lay.cards && m.goal > 1 && mid && m.tl.state.wanted === "all" && m.tl.state.held === "all")
    drawGoal(g, V, w / 2, h / 2);
}

const MOST_PAIRS = 600; // more ways than that are no pipes but one thicket of thin lines

/** So many ways that no single one can be followed: one path for all, and one stroke. */
function drawManyPairs(g, V, busy) {
  g.beginPath();
  for (const key of busy) {
    const [x0, y0, x1, y1] = edgeEnds(V, Math.floor(key / V.m.endpoints), key % V.m.endpoints);
    g.moveTo(x0, y0);
    g.lineTo(x1, y1);
  }
  g.strokeStyle = V.C.room;
  g.lineWidth = 0.6;
  g.globalAlpha = 0.4;
  g.stroke();
  g.globalAlpha = 1;
}

/** The ways between ranks: those at rest below, those that carry something now above them. */
function drawPairs(g, V, busy, thick) {
  const { m, C } = V,
    E = m.endpoints;
  for (const on of [false, true]) {
    for (const key of m.pairs) {
      if (busy.has(key) !== on || (!on && m.pairs.size > MOST_PAIRS)) continue;
      const round = wayRound(V, Math.floor(key / E), key % E),
        e = round ? [...round.slice(-4), ...headingOf(round)] : edgeEnds(V, Math.floor(key / E), key % E),
        line = round ?? e.slice(6),
        both = m.pairs.has((key % E) * E + Math.floor(key / E)),
        wide = round ? Math.min(6, V.lay.r * 0.4) : both ? Math.min(thick, 12) : thick;
      if (!on) {
        stroke(g, line, wide, C.idle);
        if (wide > 5) stroke(g, line, wide - 2, C.sunk);
        continue;
      }
      stroke(g, line, wide + 1.6, C.edge);
      stroke(g, line, wide, C.roomtint);
      stroke(g, line, Math.max(1.5, wide * 0.36), C.room);
      arrow(g, e[2] - e[4] * (6 + wide * 0.3), e[3] - e[5] * (6 + wide * 0.3), e[4], e[5], 6 + wide * 0.4, C.room);
    }
  }
}

/** The direction of the last piece of a way. */
function headingOf(way) {
  const [x0, y0, x1, y1] = way.slice(-4),
    len = Math.hypot(x1 - x0, y1 - y0) || 1;
  return [(x1 - x0) / len, (y1 - y0) / len];
}

function drawGoal(g, V, x, y) {
  const { m, C } = V,
    n = V.slots.length,
    gap = 40;
  put(g, V.W.goal, x, y - 22, 15, C.ink2, { align: "center" });
  V.slots.forEach((slot, q) => {
    let sum = 0;
    for (let r = 0; r < m.ranks; r++) sum += m.first.value[r * m.slots + slot];
    const cx = x + (q - (n - 1) / 2) * gap;
    token(g, C, cx, y + 6, 34, { round: true, f: 1, text: String(sum) });
    put(g, slotText(V, slot), cx, y + 40, 13, C.ink2, { align: "center" });
  });
}

function dots(g, V, x, y, mask, width) {
  const n = Math.min(8, V.m.ranks),
    r = Math.min(4, width / (n * 3.2)),
    gap = Math.min(13, ((width - 2 * r) / Math.max(1, n - 1)) * 0.9);
  for (let q = 0; q < n; q++) {
    disc(g, x + (q - (n - 1) / 2) * gap, y, r, mask & (1 << q) ? V.C.ink : V.C.card, V.C.ink, 1.2);
  }
}

function drawCell(g, V, x, y, c, o) {
  const { m } = V,
    C = hues(V.C, m, o.slot),
    f = Math.min(1, o.count / m.goals[o.slot]),
    done = f >= 1;
  box(g, x, y, c, c, 4, done ? C.done : C.card);
  if (f > 0 && !done) {
    g.fillStyle = C.sumfill;
    g.fillRect(x, y + c * (1 - f), c, c * f);
  }
  const dash = o.arriving ? [5, 4] : null;
  box(g, x, y, c, c, 4, null, o.sending || o.arriving ? C.ink : C.edge, o.sending ? 2.6 : o.arriving ? 2 : 1.2, dash);
  if (o.wrong) box(g, x - 3, y - 3, c + 6, c + 6, 6, null, C.full, 3);
  if (!o.count) return;
  const text = m.goal > 1 && m.ranks <= 32 ? String(o.value) : done ? "✓" : String(o.count),
    size = Math.min(c * 0.44, 31, c / Math.max(1.6, text.length * 0.72));
  put(g, text, x + c / 2, y + c / 2 + size * (c >= 36 ? 0.22 : 0.36), size, done ? C.ontext : C.ink, {
    bold: true,
    align: "center",
  });
  if (c >= 36 && m.goal > 1 && !done) dots(g, V, x + c / 2, y + c - 9, o.mask, c - 8);
}

function drawCard(g, V, e) {
  const { m, C } = V,
    { P, c, cw, ch } = V.lay,
    x = P[e][0] - cw / 2,
    y = P[e][1] - ch / 2,
    big = c >= 44;
  box(g, x, y, cw, ch, 10, C.card, C.ink, 2.2);
  put(g, e < m.ranks ? `${V.W.rank} ${e}` : nameOf(m, e, V.lang), x + 16, y + (big ? 27 : 19), big ? 19 : 14, C.ink, {
    bold: true,
  });
  V.slots.forEach((slot, q) => {
    const cx = x + cw / 2 + (q - V.slots.length / 2) * (c + 6) + 3,
      cy = y + ch - c - 12,
      cell = e * m.slots + slot;
    if (big) put(g, slotText(V, slot), cx + c / 2, cy - 5, 13, C.ink3, { align: "center" });
    drawCell(g, V, cx, cy, c, {
      slot,
      count: cellAt(m, cell, V.t),
      value: cellAt(m, cell, V.t, "value"),
      mask: cellAt(m, cell, V.t, "mask"),
      sending: V.sends.has(cell),
      arriving: V.lands.has(cell),
      wrong: V.wrong === cell,
    });
  });
}

function drawRankCircle(g, V, e) {
  const { m, C } = V,
    { P, r } = V.lay,
    [x, y] = P[e],
    f = shareDone(V, e);
  disc(g, x, y, r, f >= 1 ? C.done : C.card, e < m.ranks ? C.ink : C.hostink, 1.8);
  if (f > 0 && f < 1) {
    g.beginPath();
    g.arc(x, y, r - 3, -Math.PI / 2, -Math.PI / 2 + 2 * Math.PI * f);
    g.strokeStyle = C.done;
    g.lineWidth = 4;
    g.stroke();
  }
  if (V.wrong != null && m.mistake.rank === e) {
    g.beginPath();
    g.arc(x, y, r + 4, 0, 7);
    g.strokeStyle = C.full;
    g.lineWidth = 3;
    g.stroke();
  }
  const name = nameOf(m, e, V.lang),
    size = fitFont(g, name, Math.min(19, r * 0.85), 2 * r - 6, true, 7);
  if (size) put(g, name, x, y + size * 0.36, size, f >= 1 ? C.ontext : C.ink, { bold: true, align: "center" });
}

export function drawLogicalTokens(g, V) {
  const { m } = V,
    per = new Map(),
    list = [];
  if (V.act.length > 2000) {
    V.drawn = [];
    return;
  }
  ensurePairs(V);
  const big = V.lay.cards && V.lay.c >= 36,
    base = big ? Math.min(52, V.lay.c) : V.lay.cards ? 26 : Math.max(10, Math.min(26, V.lay.r * 1.1));
  for (const i of V.act) {
    if (!inChannel(m, V.channel, i)) continue;
    const key = m.src[i] * m.endpoints + m.dst[i],
      line = measuredWay(V, m.src[i], m.dst[i]),
      pad = Math.min(base / 2 + 2, line.len / 3);
    if (!per.has(key)) per.set(key, []);
    hopAt(m, i, V.t, hopOut);
    per.get(key).push({ i, line, d: pad + hopOut.share * (line.len - 2 * pad), size: base });
  }
  for (const group of per.values()) train(group, list);
  for (const q of list) {
    pointAt(q.line, q.d, pt);
    q.x = pt.x;
    q.y = pt.y;
    q.dx = pt.dx;
    q.dy = pt.dy;
  }
  if (!V.reduced && list.length <= 240) for (const q of list) drawTrail(g, V, q);
  for (const q of list) {
    g.globalAlpha = V.dim(q.i);
    drawLogicalToken(g, V, q, big && !q.count && !q.plain);
    g.globalAlpha = 1;
  }
  V.drawn = list;
}

/** A token between ranks; one that stands alone says its value, and beside it which chunk it is. */
function drawLogicalToken(g, V, q, one) {
  const { m, C } = V,
    i = q.i,
    slot = m.chunk[i],
    f = m.k[i] / m.goals[slot],
    own = one && m.goal > 1 ? String(m.val[i]) : q.size >= 16 ? slotText(V, slot) : "",
    text = q.count ? `×${q.count}` : own;
  token(g, hues(C, m, slot), q.x, q.y, q.size, { round: !m.reduce[i], f, text: "", lit: V.hover?.transfer === i });
  if (text) {
    const y = q.y + (one && f < 1 ? 3 : q.size * 0.18),
      size = q.size * (one || text.length > 2 ? 0.42 : 0.52);
    put(g, text, q.x, y, size, f >= 1 ? C.ontext : C.ink, { bold: true, align: "center" });
  }
  if (one && f < 1 && m.goal > 1) dots(g, V, q.x, q.y + q.size / 2 - 9, m.who[i], q.size - 8);
  if (one) nameToken(g, V, q);
}

function nameToken(g, V, q) {
  const flat = Math.abs(q.dx) > Math.abs(q.dy),
    str = `${V.W.chunk} ${slotText(V, V.m.chunk[q.i])}`,
    // what stands out beside the token does so on the open side of the way
    over = Math.max(0, widthOf(g, str, 13.5, true) + 8 - q.size),
    shift = Math.sign(q.dx) * over * Math.max(-0.5, Math.min(0.5, 0.5 - q.d / q.line.len)),
    [x, y] = flat ? [q.x + shift, q.y - q.size / 2 - 8] : [q.x + q.size / 2 + 10, q.y + 5];
  put(g, str, x, y, 13.5, V.C.ink2, { bold: true, align: flat ? "center" : "left" });
}

/** The whole way of one chunk between ranks: moves that are done solid, those to come dashed. */
export function drawLogicalJourney(g, V) {
  const { m, C } = V;
  for (const i of journey(m, V.hover.slot).ids) {
    const done = m.t1[i] <= V.t;
    g.setLineDash(done ? [] : [3, 4]);
    stroke(g, tokenWay(V, m.src[i], m.dst[i]), done ? 3 : 1.8, done ? C.done : C.ink);
  }
  g.setLineDash([]);
}
