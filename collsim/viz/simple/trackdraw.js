// One frame of the loop: pipes, ranks with their counters, pieces on the way and pieces that wait.

import { arrow, box, disc, fitFont, put, stroke } from "../player/draw/canvas.js";
import { waitingAt } from "../player/model/cells.js";
import { hopAt } from "../player/model/hops.js";
import { linkBytes, stepShare, useClass } from "../player/model/load.js";
import { activeAt } from "../player/model/model.js";
import { textAt } from "../player/model/read.js";
import { fmtBytes, fmtRate, fmtSpan, three } from "../player/model/units.js";
import { sentAt } from "./sent.js";

const MID = { align: "center" };
const BOLD = { align: "center", bold: true };
const pipeWidth = (capacity, lane) =>
  Math.max(4, Math.min(24, 1.4 * Math.sqrt(capacity / 1e9), lane ? lane * 0.5 : 24));

/**
 * What is drawn: {m, C, W (words), lang, t, s, place, pairs, asked (the question that is open, or null), lit (how many
 * of the cables between nodes are shown, all unless given)}.
 */
export function drawTrack(g, V) {
  const { C, place } = V;
  for (const panel of place.panels) drawPanel(g, V, panel);
  const shown = visiblePairs(V);
  for (const key of shown) drawPipe(g, V, V.pairs.get(key), place.lines.get(key));
  const sent = sentAt(V.m, V.t);
  for (const [rank, b] of place.boxes) drawRank(g, V, rank, b, sent[rank]);
  if (V.asked) drawLetters(g, V);
  else drawSaid(g, V);
  drawPieces(g, V);
  return C;
}

/** Pairs that are shown: while cables light up one after another, those between nodes in the order of channels. */
function visiblePairs({ pairs, place, lit }) {
  const all = [...pairs.keys()];
  if (lit == null) return all;
  return all.filter((key) => !place.lines.get(key).across || pairs.get(key).channel < lit);
}

function drawPanel(g, { C, lang, place }, panel) {
  if (place.panels.length < 2) return;
  box(g, panel.x + 0.5, panel.y + 0.5, panel.w - 1, panel.h - 1, 10, C.sunk, C.line);
  const title = textAt(panel.label, 0, lang),
    note = textAt(panel.note, 0, lang);
  if (place.slim) return;
  put(g, title, panel.x + 22, panel.y + 34, 20, C.ink, { bold: true });
  const from = panel.x + 22 + g.measureText(title).width + 10,
    px = fitFont(g, note, 14, panel.x + panel.w - from - 12, false, 11);
  if (px) put(g, note, from, panel.y + 34, px, C.ink2);
}

// ---- pipes

/** How much of a way is used in this step, and what class that is. */
export function usedOf({ m, s }, pair) {
  const share = s < 0 ? 0 : Math.max(...pair.links.map((l) => stepShare(m, l, s)));
  return { share, cls: useClass(share) };
}

function drawPipe(g, V, pair, { pts, lane }) {
  const { m, C, t } = V,
    d = pipeWidth(pair.capacity, lane);
  if (V.asked) {
    stroke(g, pts, d + 1.6, C.edge);
    stroke(g, pts, d, C.casing);
    return;
  }
  const { cls, share } = usedOf(V, pair),
    full = cls === "full" && share > 0;
  if (full && m.hot.size) stroke(g, pts, d + (lane ? 5 : 18), C.fulltint);
  stroke(g, pts, d + 1.6, C.edge);
  stroke(g, pts, d, C[`${cls}tint`]);
  const most = pair.capacity * m.total,
    core = most > 0 ? d * Math.sqrt(Math.min(1, linkBytes(m, pair.slow, t) / most)) : 0;
  if (core > 0.5) stroke(g, pts, core, C[cls]);
  const [x0, y0, x1, y1] = pts,
    long = Math.hypot(x1 - x0, y1 - y0) || 1;
  if (long > 40 && !lane) {
    const dx = (x1 - x0) / long,
      dy = (y1 - y0) / long;
    arrow(g, x1 - dx * 12, y1 - dy * 12, dx, dy, Math.max(9, d * 0.8), C[cls]);
  }
}

// ---- ranks

function drawRank(g, V, rank, b, sent) {
  const { C, m, W } = V,
    hot = !V.asked && sendsOverHot(V, rank),
    goal = m.goalSent ?? 1,
    [number, unit] = counted(sent, goal);
  box(g, b.x, b.y, b.w, b.h, 6, C.card, C.ink, 1.8);
  const bar = Math.min(1, sent / goal);
  if (b.w >= 100 && b.h >= 70) {
    put(g, String(rank), b.x + 12, b.y + 32, 28, C.ink, { bold: true });
    put(g, number, b.x + b.w - 12, b.y + 32, 21, hot ? C.fulltext : C.ink, { align: "right", bold: true });
    put(g, W.sent(unit), b.x + b.w - 12, b.y + 50, 13, C.ink2, { align: "right" });
    box(g, b.x + 12, b.y + b.h - 20, b.w - 24, 9, 3, C.grid);
    if (bar > 0) box(g, b.x + 12, b.y + b.h - 20, (b.w - 24) * bar, 9, 3, C.ink3);
    return;
  }
  if (b.w < 58) {
    put(g, String(rank), b.cx, b.cy + 8, 22, C.ink, BOLD);
    return;
  }
  const flat = b.h < 52;
  if (flat) {
    put(g, String(rank), b.x + 8, b.y + b.h / 2 + 6, 17, C.ink, { bold: true });
    const said = `${number} ${unit}`,
      px = fitFont(g, said, 13, b.w - 36, false, 10);
    if (px) put(g, said, b.x + b.w - 7, b.y + b.h / 2 + 5, px, hot ? C.fulltext : C.ink2, { align: "right" });
    return;
  }
  put(g, String(rank), b.cx, b.y + 25, 21, C.ink, BOLD);
  const px = fitFont(g, `${number} ${unit}`, 15, b.w - 8, true, 11);
  if (px) put(g, `${number} ${unit}`, b.cx, b.y + 46, px, hot ? C.fulltext : C.ink, BOLD);
  if (b.h < 66) return;
  box(g, b.x + 8, b.y + b.h - 15, b.w - 16, 7, 3, C.grid);
  if (bar > 0) box(g, b.x + 8, b.y + b.h - 15, (b.w - 16) * bar, 7, 3, C.ink3);
}

/** Bytes as a number that counts in whole units of what there will be at the end. */
export function counted(sent, goal) {
  const unit = goal >= 64 * 2 ** 20 ? 2 ** 20 : goal >= 64 * 2 ** 10 ? 2 ** 10 : 1,
    name = { [2 ** 20]: "MiB", [2 ** 10]: "KiB", 1: "B" }[unit];
  return [String(Math.floor(sent / unit + 1e-6)), name];
}

function sendsOverHot(V, rank) {
  if (V.place.laned) return false;
  for (const pair of V.pairs.values()) if (pair.src === rank && V.m.hot.has(pair.slow)) return true;
  return false;
}

// ---- pieces

function drawPieces(g, V) {
  const { m, t, s, place, asked } = V,
    many = new Map();
  if (asked && s >= 0) {
    for (let q = m.byStep.start[s]; q < m.byStep.start[s + 1]; q++) addPiece(many, m, m.byStep.id[q], 0, false);
  } else {
    for (const i of waitingAt(m, t, s)) addPiece(many, m, i, 1, true);
    for (const i of activeAt(m, t)) addPiece(many, m, i, hopAt(m, i, t).share, false);
  }
  for (const [key, list] of many) {
    const line = place.lines.get(Number(key.split(" ")[0]));
    if (!line || (V.lit != null && line.across)) continue;
    drawPiece(g, V, line, list[0], list.length);
  }
}

/** Pieces that are at the same place are one, with their number. */
function addPiece(many, m, i, share, waits) {
  const key = `${m.src[i] * m.endpoints + m.dst[i]} ${waits ? "w" : share.toFixed(2)}`;
  if (many.has(key)) many.get(key).push({ i, share, waits });
  else many.set(key, [{ i, share, waits }]);
}

function drawPiece(g, V, { pts, lane }, { i, share, waits }, count) {
  const { C, m } = V,
    [x0, y0, x1, y1] = pts,
    long = Math.hypot(x1 - x0, y1 - y0) || 1,
    size = lane ? Math.min(22, lane * 0.92) : waits ? 22 : Math.max(20, Math.min(38, long * 0.24)),
    edge = Math.min(long / 2, size * 0.62),
    at = (edge + (long - 2 * edge) * share) / long,
    x = x0 + (x1 - x0) * at,
    y = y0 + (y1 - y0) * at,
    a = size / 2;
  if (waits) box(g, x - a - 4, y - a - 4, size + 8, size + 8, 5, null, C.wait, 1.5, [4, 3]);
  if (m.reduce[i]) {
    const fill = Math.max(2, (size * m.k[i]) / Math.max(1, m.goal));
    box(g, x - a, y - a, size, size, 3.5, C.card);
    box(g, x - a, y + a - fill, size, fill, 2, C.sumfill);
    box(g, x - a, y - a, size, size, 3.5, null, C.ink, size > 26 ? 2.2 : 1.6);
  } else disc(g, x, y, a, C.done);
  const text = count > 1 ? `×${count}` : String(pieceOf(m, m.chunk[i])),
    px = fitFont(g, text, Math.min(16, size * 0.62), size - 2, true, 10);
  if (px) put(g, text, x, y + px * 0.36, px, m.reduce[i] ? C.ink : C.ontext, BOLD);
}

/** The number of a piece in its own ring: each channel has as many as there are ranks. */
const pieceOf = (m, chunk) => (m.slots === m.ranks * m.channels ? chunk % m.ranks : chunk);

// ---- what is said in the picture

function drawSaid(g, V) {
  const { place } = V;
  if (V.s < 0) return;
  if (place.laned) sayLanes(g, V);
  else sayCrossings(g, V);
  for (const panel of place.panels) sayInside(g, V, panel);
}

const crossings = ({ pairs, place }) => [...pairs].filter(([key]) => place.lines.get(key).across);

function sayCrossings(g, V) {
  const { C, W, place, m, t, s } = V,
    across = crossings(V),
    { gap } = place;
  if (!gap || !across.length) return;
  const [, pair] = across[0],
    begin = m.step0[s],
    lasts = m.step1[s] - begin,
    name = W.kinds[pair.kind] ?? pair.label,
    used = W.used[usedOf(V, pair).cls](fmtRate(pair.capacity), usedOf(V, pair).share);
  const first = m.byStep.id[m.byStep.start[s]];
  const now = W.of(three(1e6 * Math.min(lasts, Math.max(0, t - begin))), fmtSpan(lasts));
  if (place.slim) {
    put(g, `${name}${W.colon}${used}`, gap.x + gap.w / 2, gap.y + 26, 15, fullInk(V, pair), BOLD);
    put(g, now, gap.x + gap.w / 2, gap.y + 46, 14, C.ink, MID);
    return;
  }
  for (const [key, one] of across) {
    const [x0, y0, x1] = place.lines.get(key).pts,
      above = place.boxes.get(one.src).side === 0,
      x = (x0 + x1) / 2,
      y = above || y0 + 70 > place.h ? y0 - 46 : y0 + 44;
    put(g, `${W.kinds[one.kind] ?? one.label} ${one.src} → ${one.dst}`, x, y, 16, fullInk(V, one), BOLD);
    put(g, used, x, y + 20, 14, fullInk(V, one), MID);
  }
  const x = gap.x + gap.w / 2,
    y = gap.y + gap.h / 2;
  put(g, now, x, y + 6, 20, C.ink, BOLD);
  if (first !== undefined) put(g, W.at(fmtBytes(m.bytes[first]), fmtRate(pair.capacity)), x, y + 30, 15, C.ink2, MID);
}

const fullInk = (V, pair) => (usedOf(V, pair).cls === "full" ? V.C.fulltext : V.C.ink);

function sayLanes(g, V) {
  const { C, W, place, lit } = V,
    across = crossings(V),
    { gap } = place;
  if (place.slim || !across.length) return;
  const [, pair] = across[0];
  const text = W.cables(across.length, W.kinds[pair.kind] ?? pair.label),
    px = fitFont(g, text, 16, gap.w - 8, true, 11);
  put(g, text, gap.x + gap.w / 2, gap.y + 30, px, fullInk(V, pair), BOLD);
  for (const [key, { src, dst, channel }] of across) {
    if (lit != null && channel >= lit) continue;
    const [x0, y0, x1] = place.lines.get(key).pts;
    put(g, String(src), x0 + (x0 < x1 ? -6 : 6), y0 + 4, 12, C.ink2, { align: x0 < x1 ? "right" : "left" });
    put(g, String(dst), x1 + (x0 < x1 ? 6 : -6), y0 + 4, 12, C.ink2, { align: x0 < x1 ? "left" : "right" });
  }
}

/** What happens within a node: how long its cables take, and how long pieces have waited since. */
function sayInside(g, V, panel) {
  const { C, W, m, t, s, place, pairs } = V,
    own = new Set(panel.ranks),
    pair = [...pairs.values()].find(({ src, dst }) => own.has(src) && own.has(dst));
  if (!pair) return;
  const x = panel.x + panel.w / 2,
    y = panel.y + panel.h / 2 + (place.slim ? 0 : 14),
    room = panel.w - 2 * (Math.max(...[...own].map((rank) => place.boxes.get(rank).w)) + (place.slim ? 8 : 20));
  let longest = 0,
    waits = 0;
  for (let q = m.byStep.start[s]; q < m.byStep.start[s + 1]; q++) {
    const i = m.byStep.id[q];
    if (!own.has(m.src[i]) || !own.has(m.dst[i])) continue;
    longest = Math.max(longest, m.t1[i] - m.t0[i]);
    waits += m.t1[i] <= t && t < m.step1[s] && m.t1[i] < m.step1[s] * 0.995;
  }
  const waited = t - m.step0[s] - longest,
    since = waits && waited > 0 ? W.waited(waits, fmtSpan(waited), place.slim) : "";
  const lines = place.slim
    ? [textAt(panel.label, 0, V.lang), `${W.kinds[pair.kind] ?? pair.label}${W.colon}${fmtSpan(longest)}`, since]
    : [W.inside(W.kinds[pair.kind] ?? pair.label, fmtRate(pair.capacity), fmtSpan(longest)), since];
  lines.forEach((line, q) => {
    if (!line) return;
    const strong = q === 0,
      px = fitFont(g, line, strong ? 16 : 14, room, strong, 10);
    if (px) put(g, line, x, y - 8 + q * 20 - (place.slim ? 16 : 0), px, strong ? C.ink : C.ink2, strong ? BOLD : MID);
  });
}

/** A letter on each way that an answer names. */
function drawLetters(g, { C, asked, place, m }) {
  asked.choices.forEach(({ marks = [] }, q) => {
    for (const [src, dst] of marks) {
      const line = place.lines.get(src * m.endpoints + dst);
      if (!line) continue;
      const [x0, y0, x1, y1] = line.pts,
        off = line.across ? 0 : 30,
        flat = Math.abs(x1 - x0) >= Math.abs(y1 - y0),
        up = (y0 + y1) / 2 < place.h / 2 ? -1 : 1,
        x = (x0 + x1) / 2 + (flat ? 0 : -off * up),
        y = (y0 + y1) / 2 + (flat ? off * up : 0);
      disc(g, x, y, 15, C.ink);
      put(g, String.fromCharCode(65 + q), x, y + 6, 16, C.card, BOLD);
    }
  });
}
