// One frame of the loop: pipes, ranks with their counters, pieces on the way and pieces that wait.

import { idsOfStep } from "../player/model/order.js";
import { measure, pointAt } from "../player/model/geometry.js";
import { drawCables, drawCards, drawHub, linesOfHub } from "./cables.js";
import { arrowOnLine, box, disc, fitFont, meter, put, stroke } from "../player/draw/canvas.js";
import { waitingAt } from "../player/model/cells.js";
import { hopAt } from "../player/model/hops.js";
import { linkBytes, stepShare, useClass } from "../player/model/load.js";
import { activeAt } from "../player/model/model.js";
import { textAt } from "../player/model/read.js";
import { BYTE_UNITS, fmtBytes, fmtRate, fmtSpan, percent, three } from "../player/model/units.js";
import { sentAt } from "../player/model/sent.js";
import { fill } from "../words/choice.js";

const MID = { align: "center" };
const BOLD = { align: "center", bold: true };
const pipeWidth = (capacity) => Math.max(4, Math.min(24, 1.4 * Math.sqrt(capacity / 1e9)));

/**
 * What is drawn: {m, C, W (words), language, t, s, place, pairs, asked (the question that is open, or null), lit (how
 * many of the cables between nodes are shown, all unless given)}.
 */
export function drawTrack(ctx, view) {
  const { place: layout } = view;
  for (const panel of layout.panels) drawPanel(ctx, view, panel);
  drawWays(ctx, view);
  const sent = sentAt(view.model, view.t);
  for (const [rank, b] of layout.boxes) drawRank(ctx, view, rank, b, sent[rank]);
  if (view.asked) drawLetters(ctx, view);
  else drawSaid(ctx, view);
  drawPieces(ctx, view);
}

/** Pipes within nodes and between them; cables where every rank has one of its own. */
function drawWays(ctx, view) {
  const { pairs, place: layout, lit } = view,
    ends = { src: new Map(), dst: new Map() };
  for (const [key, pair] of pairs) {
    const line = layout.lines.get(key);
    if (!layout.laned || !line.across) drawPipe(ctx, view, pair, line);
    // While cables light up one after another, those between nodes are shown in the order of channels.
    if (line.across && (lit == null || pair.channel < lit))
      for (const end of ["src", "dst"]) ends[end].set(pair[end], pair);
  }
  const isLit = (rank) => ends.src.has(rank) || ends.dst.has(rank);
  if (layout.laned) {
    const classOf = (rank, end) => (ends[end].has(rank) ? usedOf(view, ends[end].get(rank)).cls : "idle");
    drawCables(ctx, view, isLit, classOf);
  }
  drawCards(ctx, view, isLit);
}

function drawPanel(ctx, { colors, language, place: layout }, panel) {
  if (layout.panels.length < 2) return;
  box(ctx, panel.x + 0.5, panel.y + 0.5, panel.w - 1, panel.h - 1, 10, colors.sunk, colors.line);
  const title = textAt(panel.label, 0, language),
    note = textAt(panel.note, 0, language);
  if (layout.slim || layout.cables.size) return; // it is said in the middle
  put(ctx, title, panel.x + 22, panel.y + 34, 20, colors.ink, { bold: true });
  const from = panel.x + 22 + ctx.measureText(title).width + 10,
    px = fitFont(ctx, note, 14, panel.x + panel.w - from - 12, false, 11);
  if (px) put(ctx, note, from, panel.y + 34, px, colors.ink2);
}

// ---- pipes

/** How much of a way is used in this step, and what class that is. */
function usedOf({ model, s }, pair) {
  const share = s < 0 ? 0 : Math.max(...pair.links.map((l) => stepShare(model, l, s)));
  return { share, cls: useClass(share) };
}

function drawPipe(ctx, view, pair, { pts }) {
  const { model, colors, t } = view,
    d = pipeWidth(pair.capacity);
  if (view.asked) {
    stroke(ctx, pts, d + 1.6, colors.edge);
    stroke(ctx, pts, d, colors.casing);
    return;
  }
  const { cls, share } = usedOf(view, pair),
    full = cls === "full" && share > 0;
  if (full && model.hot.size) stroke(ctx, pts, d + 18, colors.fulltint);
  stroke(ctx, pts, d + 1.6, colors.edge);
  stroke(ctx, pts, d, colors[`${cls}tint`]);
  const most = pair.capacity * model.total,
    core = most > 0 ? d * Math.sqrt(Math.min(1, linkBytes(model, pair.slow, t) / most)) : 0;
  if (core > 0.5) stroke(ctx, pts, core, colors[cls]);
  if (measure(pts).len > 40) arrowOnLine(ctx, pts, 12, Math.max(9, d * 0.8), colors[cls]);
}

// ---- ranks

function drawRank(ctx, view, rank, b, sent) {
  const { colors, model, words } = view,
    hot = !view.asked && sendsOverHot(view, rank),
    goal = model.goalSent ?? 1,
    [number, unit] = counted(sent, goal);
  box(ctx, b.x, b.y, b.w, b.h, 6, colors.card, colors.ink, 1.8);
  const bar = { share: sent / goal, fill: colors.ink3, ground: colors.grid };
  if (b.w >= 100 && b.h >= 70) {
    put(ctx, String(rank), b.x + 12, b.y + 32, 28, colors.ink, { bold: true });
    put(ctx, number, b.x + b.w - 12, b.y + 32, 21, hot ? colors.fulltext : colors.ink, { align: "right", bold: true });
    put(ctx, fill(words.sent, { unit }), b.x + b.w - 12, b.y + 50, 13, colors.ink2, { align: "right" });
    meter(ctx, b.x + 12, b.y + b.h - 20, b.w - 24, 9, 3, bar);
    return;
  }
  if (b.w < 58) {
    put(ctx, String(rank), b.cx, b.cy + 8, 22, colors.ink, BOLD);
    return;
  }
  const flat = b.h < 52;
  if (flat) {
    put(ctx, String(rank), b.x + 8, b.y + b.h / 2 + 6, 17, colors.ink, { bold: true });
    const label = `${number} ${unit}`,
      px = fitFont(ctx, label, 13, b.w - 36, false, 10);
    if (px)
      put(ctx, label, b.x + b.w - 7, b.y + b.h / 2 + 5, px, hot ? colors.fulltext : colors.ink2, { align: "right" });
    return;
  }
  put(ctx, String(rank), b.cx, b.y + 25, 21, colors.ink, BOLD);
  const px = fitFont(ctx, `${number} ${unit}`, 15, b.w - 8, true, 11);
  if (px) put(ctx, `${number} ${unit}`, b.cx, b.y + 46, px, hot ? colors.fulltext : colors.ink, BOLD);
  if (b.h >= 66) meter(ctx, b.x + 8, b.y + b.h - 15, b.w - 16, 7, 3, bar);
}

/** Bytes as a number that counts in whole units of what there will be at the end. */
export function counted(sent, goal) {
  const [, ...units] = BYTE_UNITS, // GiB would count too slowly
    [per, unit] = units.find(([size]) => goal >= 64 * size) ?? [1, "B"];
  return [String(Math.floor(sent / per + 1e-6)), unit];
}

function sendsOverHot(view, rank) {
  if (view.place.laned) return false;
  for (const pair of view.pairs.values()) if (pair.src === rank && view.model.hot.has(pair.slow)) return true;
  return false;
}

// ---- pieces

function drawPieces(ctx, view) {
  const { model, t, s, place: layout, asked: question } = view,
    many = new Map();
  if (question && s >= 0) {
    for (const i of idsOfStep(model, s)) addPiece(many, model, i, 0, false);
  } else {
    for (const i of waitingAt(model, t, s)) addPiece(many, model, i, 1, true);
    for (const i of activeAt(model, t)) addPiece(many, model, i, hopAt(model, i, t).share, false);
  }
  for (const [key, list] of many) {
    const line = layout.lines.get(Number(key.split(" ")[0]));
    if (!line || (view.lit != null && line.across)) continue;
    drawPiece(ctx, view, line, list[0], list.length);
  }
}

/** Pieces that are at the same place are one, with their number. */
function addPiece(many, model, i, share, waits) {
  const key = `${model.src[i] * model.endpoints + model.dst[i]} ${waits ? "w" : share.toFixed(2)}`;
  if (many.has(key)) many.get(key).push({ i, share, waits });
  else many.set(key, [{ i, share, waits }]);
}

/** Where a piece is on its way. Between two legs it passes the switch at once, and covers no word of it. */
export function placeOn(legs, size, share) {
  const lines = legs.map((pts) => {
      const line = measure(pts),
        edge = Math.min(line.len / 2, size * 0.62);
      return { line, edge, room: line.len - 2 * edge };
    }),
    whole = lines.reduce((sum, { room }) => sum + room, 0),
    first = lines[0].room,
    isFirst = lines.length < 2 || share * whole <= first,
    { line, edge } = isFirst ? lines[0] : lines[1];
  return pointAt(line, edge + share * whole - (isFirst ? 0 : first));
}

function drawPiece(ctx, view, { pts, legs, across }, { i, share, waits }, count) {
  const { colors, model, place: layout } = view,
    line = measure(pts),
    isShort = line.len < 24, // between two rows of a phone, where a large piece covers their bytes
    still = isShort ? 16 : 22,
    moving = waits || isShort ? still : Math.max(20, Math.min(38, line.len * 0.24)),
    margin = isShort ? 2 : 4,
    size = across && layout.laned ? (layout.slim ? 13 : 19) : moving,
    { x, y } = placeOn(legs, size, share),
    a = size / 2;
  if (waits)
    box(ctx, x - a - margin, y - a - margin, size + 2 * margin, size + 2 * margin, 5, null, colors.wait, 1.5, [4, 3]);
  // A circle replaces: while a question is open, every piece is a square.
  const isSquare = model.reduce[i] || view.asked;
  if (isSquare) {
    const fill = Math.max(2, (size * model.k[i]) / Math.max(1, model.goal));
    box(ctx, x - a, y - a, size, size, 3.5, colors.card);
    box(ctx, x - a, y + a - fill, size, fill, 2, colors.sumfill);
    box(ctx, x - a, y - a, size, size, 3.5, null, colors.ink, size > 26 ? 2.2 : 1.6);
  } else disc(ctx, x, y, a, colors.done);
  const text = count > 1 ? `×${count}` : String(pieceOf(model, model.chunk[i])),
    px = fitFont(ctx, text, Math.min(16, size * 0.62), size - 2, true, 10);
  if (px) put(ctx, text, x, y + px * 0.36, px, isSquare ? colors.ink : colors.ontext, BOLD);
}

/** The number of a piece in its own ring: each channel has as many as there are ranks. */
const pieceOf = (model, chunk) => (model.slots === model.ranks * model.channels ? chunk % model.ranks : chunk);

// ---- what is said in the picture

function drawSaid(ctx, view) {
  const { place: layout } = view;
  if (view.s < 0) return;
  if (layout.laned) sayCables(ctx, view);
  else sayCrossings(ctx, view);
  for (const panel of layout.panels) sayInside(ctx, view, panel);
}

const crossings = ({ pairs, place: layout }) => [...pairs].filter(([key]) => layout.lines.get(key).across);

function sayCrossings(ctx, view) {
  const { colors, words, place: layout, model, t, s } = view,
    across = crossings(view),
    { gap } = layout;
  if (!gap || !across.length) return;
  const [, pair] = across[0],
    begin = model.step0[s],
    lasts = model.step1[s] - begin,
    name = kindOf(words, pair),
    used = fill(words.used[usedOf(view, pair).cls], {
      rate: fmtRate(pair.capacity),
      share: percent(usedOf(view, pair).share),
    });
  const [first] = idsOfStep(model, s);
  const now = fill(words.of, { now: three(1e6 * Math.min(lasts, Math.max(0, t - begin))), total: fmtSpan(lasts) });
  if (layout.slim) {
    const middle = gap.x + gap.w / 2; // in short lines, as cables with their pieces run at both sides
    put(ctx, name, middle, gap.y + 18, 15, fullInk(view, pair), BOLD);
    put(ctx, used, middle, gap.y + 36, 14, fullInk(view, pair), MID);
    put(ctx, now, middle, gap.y + 54, 14, colors.ink, MID);
    return;
  }
  for (const [key, lines] of across) {
    const [x0, y0, x1] = layout.lines.get(key).pts,
      above = layout.boxes.get(lines.src).side === 0,
      x = (x0 + x1) / 2,
      y = above || y0 + 70 > layout.h ? y0 - 46 : y0 + 44;
    put(ctx, `${kindOf(words, lines)} ${lines.src} → ${lines.dst}`, x, y, 16, fullInk(view, lines), BOLD);
    put(ctx, used, x, y + 20, 14, fullInk(view, lines), MID);
  }
  const x = gap.x + gap.w / 2,
    y = gap.y + gap.h / 2;
  put(ctx, now, x, y + 6, 20, colors.ink, BOLD);
  if (first === undefined) return;
  const pieces = fill(words.at, { size: fmtBytes(model.bytes[first]), rate: fmtRate(pair.capacity) });
  put(ctx, pieces, x, y + 30, 15, colors.ink2, MID);
}

/** What the cable between two ranks is called. */
const kindOf = ({ kinds }, { kind, label }) => kinds[kind] ?? label;

const fullInk = (view, pair) => (usedOf(view, pair).cls === "full" ? view.colors.fulltext : view.colors.ink);

function sayCables(ctx, view) {
  const { pairs, lit } = view,
    across = crossings(view).map(([, pair]) => pair),
    [pair] = across;
  if (!pair) return;
  const visible = across.filter(({ channel }) => lit == null || channel < lit),
    cables = new Set([...pairs.values()].filter((each) => across.includes(each)).map(({ src }) => src));
  drawHub(ctx, view, visible, linesOfHub(view, pair, cables.size, usedOf(view, pair)));
}

/** What happens within a node: how long its cables take, and how long pieces have waited since. */
function sayInside(ctx, view, panel) {
  const { colors, words, model, t, s, place: layout, pairs } = view,
    ownRanks = new Set(panel.ranks),
    pair = [...pairs.values()].find(({ src, dst }) => ownRanks.has(src) && ownRanks.has(dst));
  if (!pair) return;
  const x = panel.x + panel.w / 2,
    y = panel.y + panel.h / 2 + (layout.slim || layout.cables.size ? 0 : 14),
    boxes = panel.ranks.map((rank) => layout.boxes.get(rank)),
    // between the two sides of the loop on a narrow screen, else between its ends
    room = layout.slim
      ? 2 * Math.min(...boxes.map((b) => Math.abs(b.cx - x) - b.w / 2)) - 6
      : panel.w - 2 * (Math.max(...boxes.map(({ w }) => w)) + 20);
  let longest = 0,
    waits = 0;
  for (const i of idsOfStep(model, s)) {
    if (!ownRanks.has(model.src[i]) || !ownRanks.has(model.dst[i])) continue;
    longest = Math.max(longest, model.t1[i] - model.t0[i]);
    waits += Number(model.t1[i] <= t && t < model.step1[s] && model.t1[i] < model.step1[s] * 0.995);
  }
  const waited = t - model.step0[s] - longest,
    template = words.waited[layout.slim ? "slim" : "wide"],
    since = waits && waited > 0 ? fill(template, { pieces: waits, time: fmtSpan(waited) }) : "";
  const name = layout.slim || layout.cables.size ? [textAt(panel.label, 0, view.language)] : [],
    [kind, time] = [kindOf(words, pair), fmtSpan(longest)],
    wide = fill(words.inside, { kind, rate: fmtRate(pair.capacity), time }),
    lines = [...name, layout.slim ? `${kind}${words.colon}${time}` : wide, since];
  lines.forEach((line, q) => {
    const [size, ink, look] = q ? [14, colors.ink2, MID] : [16, colors.ink, BOLD],
      px = line && fitFont(ctx, line, size, room, !q, 10);
    if (px) put(ctx, line, x, y - 8 + q * 20 - (layout.slim ? 16 : 0), px, ink, look);
  });
}

/** A letter on each way that an answer names. */
function drawLetters(ctx, { colors, asked: question, place: layout, model }) {
  question.choices.forEach(({ marks = [] }, q) => {
    for (const [src, dst] of marks) {
      const line = layout.lines.get(src * model.endpoints + dst);
      if (!line) continue;
      const [x0, y0] = line.pts,
        [x1, y1] = line.pts.slice(-2),
        off = line.across ? 0 : 30,
        flat = Math.abs(x1 - x0) >= Math.abs(y1 - y0),
        up = (y0 + y1) / 2 < layout.h / 2 ? -1 : 1,
        x = (x0 + x1) / 2 + (flat ? 0 : -off * up),
        y = (y0 + y1) / 2 + (flat ? off * up : 0);
      disc(ctx, x, y, 15, colors.ink);
      put(ctx, String.fromCharCode(65 + q), x, y + 6, 16, colors.card, BOLD);
    }
  });
}
