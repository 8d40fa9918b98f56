// The pictures in which bytes move: a server, its hot link, a ring.

import { box, disc, fitFont, put, stroke, wrap } from "../player/draw/canvas.js";
import { measure, pointAt } from "../player/model/geometry.js";
import { NB, fmtBytes, fmtRate, fmtShare, three } from "../player/model/units.js";
import { fill } from "../words/choice.js";

const MAX_BOXES = 15; // GPUs that are drawn one by one

function rankBox(ctx, colors, x, y, size, text, dark = false) {
  const [left, top, paper] = [x - size / 2, y - size / 2, dark ? colors.ink : colors.card];
  box(ctx, left, top, size, size, Math.min(7, size / 5), paper, colors.ink, 1.8);
  if (size < 18) return;
  const fits = fitFont(ctx, text, size * 0.48, size - 6, true, 10);
  put(ctx, text, x, y + fits * 0.36, fits, dark ? colors.card : colors.ink, { bold: true, align: "center" });
}

// ---- chapter 1

/** Where things stand: GPUs above, the switch between, the server below. */
function serverPlan({ w, h, v, slim }) {
  const shownRanks = Math.min(v.n - 1, slim ? 7 : MAX_BOXES),
    pitch = (w - 72) / shownRanks, // the button that plays has a corner of its own
    size = Math.max(20, Math.min(46, pitch * 0.72)),
    xs = Array.from({ length: shownRanks }, (_, q) => 16 + pitch * (q + 0.5));
  return { shown: shownRanks, size, xs, top: 14 + size / 2, bus: h * 0.47, server: h - 40, x: 16 + (w - 72) / 2 };
}

/** The way from GPU q to the server, as corners. */
const routeToServer = ({ xs, top, size, bus, server, x }, q) =>
  [xs[q], top + size / 2].concat([xs[q], bus + 12], [x, bus + 12], [x, server - 24]);

export function drawServer(ctx, fig) {
  const { colors, v, r, share, words, w, slim, said: spoken } = fig,
    plan = serverPlan(fig),
    others = v.n - 1,
    back = share > 0.5,
    f = back ? 2 * share - 1 : 2 * share;
  const { bus, x, server } = plan;
  for (let q = 0; q < plan.shown; q++) stroke(ctx, routeToServer(plan, q).slice(0, 6), 3, colors.room);
  box(ctx, 14, bus, w - 28, 24, 6, colors.card, colors.edge, 1);
  put(ctx, words.switch, w - 22, bus + 17, 13, colors.ink2, { align: "right" }); // right of the last cable
  for (let q = 0; q < plan.shown; q++) stroke(ctx, routeToServer(plan, q).slice(2, 6), 1.5, colors.room);
  stroke(ctx, [x, bus + 24, x, server - 24], 22, colors.fulltint);
  stroke(ctx, [x, bus + 24, x, server - 24], 9, colors.full);
  for (let q = 0; q < plan.shown; q++) rankBox(ctx, colors, plan.xs[q], plan.top, plan.size, rankText(plan, v, q));
  moveGradients(ctx, fig, plan, back, f);
  rankBox(ctx, colors, x, server, 48, "0", true);
  const rate = fmtRate(v.rate / others);
  if (!slim) put(ctx, fill(words.each, { rate, share: fmtShare(1 / others) }), 24, bus + 52, 14, colors.ink2);
  const full = fill(words.full[others === 1 ? "one" : "many"], { rate: spoken.rate, count: others }),
    size = slim ? 12.5 : 15;
  wrap(ctx, full, x + 20, bus + 52, w - x - 26, size, size + 4, colors.fulltext, { bold: true });
  const state = fill(back ? words.gives : words.collects, { share: fmtShare(f), size: others });
  wrap(ctx, state, x + 36, server + 6, w - x - 42, slim ? 12.5 : 14, slim ? 16.5 : 18, colors.ink2);
  if (r.server)
    put(ctx, `${three(1e3 * r.server * share)} / ${spoken.serverTime}`, x - 36, server + 6, 14, colors.ink, RIGHT);
}

const RIGHT = { align: "right", bold: true };

const rankText = ({ shown: shownRanks }, { n }, q) =>
  shownRanks < n - 1 && q === shownRanks - 1 ? `…${n - 1}` : String(q + 1);

/** Little squares that add up on the way in, circles that are copies on the way out. */
function moveGradients(ctx, { colors, v, share }, plan, back, f) {
  if (share <= 0 || share >= 1) return;
  const each = 3;
  for (let q = 0; q < plan.shown; q++)
    for (let k = 0; k < each; k++) {
      const at = (f * Math.max(2, Math.min(6, v.n / 2)) + k / each + q / (plan.shown * each)) % 1,
        p = along(routeToServer(plan, q), back ? 1 - at : at);
      if (!back) box(ctx, p.x - 6, p.y - 6, 12, 12, 3, colors.sumfill, colors.ink, 1.4);
      else disc(ctx, p.x, p.y, 6, colors.done, colors.card, 1.4);
    }
}

/** The point at a share of the length of a line of corners, `short` pixels from either end at most. */
function along(pts, f, short = 0) {
  const line = measure(pts),
    cut = Math.min(short, line.len / 2);
  return pointAt(line, cut + f * (line.len - 2 * cut));
}

// ---- chapter 2

export function drawHotLink(ctx, { w, h, colors, words, v, r, share, slim }) {
  const rows = Math.min(v.n, 8),
    left = slim ? 56 : 74,
    pitch = (h - 44) / rows,
    room = w - left - (slim ? 92 : 170),
    longest = Math.max(r.bytes.server, r.bytes.other),
    arrived = [Math.min(1, 2 * share), Math.max(0, 2 * share - 1)]; // of the way to GPU 0, and of the way back
  for (let q = 0; q < rows; q++) {
    const rest = q === 7 && v.n > 8,
      y = 12 + q * pitch,
      nbytes = q ? r.bytes.other : r.bytes.server,
      bars = arrived.map((part) => (room * nbytes * part) / longest),
      hot = !q && r.bytes.server > r.bytes.other;
    const name = rest ? "…" : `${words.gpu} ${q}`;
    put(ctx, name, left - 8, y + pitch * 0.58, 13.5, colors.ink, { align: "right", bold: !q });
    bars.forEach((bar, way) => {
      const at = y + pitch * (0.1 + 0.4 * way);
      box(ctx, left, at, Math.max(1, bar), pitch * 0.34, 2, hot ? colors.full : colors.room);
    });
    const label = rest ? fill(words.like, { count: v.n - 7 }) : fmtBytes(nbytes * v.size * arrived[0]);
    put(ctx, label, left + bars[0] + 8, y + pitch * 0.58, 13.5, hot ? colors.fulltext : colors.ink2, { bold: hot });
  }
  put(ctx, words.caption, left, h - 10, 13, colors.ink2);
}

// ---- chapter 3

/** The place of GPU q of n on a loop: the upper side from left to right, the lower one back. */
function ringPlan({ w, h, v, slim }) {
  const n = v.n,
    upper = Math.ceil(n / 2),
    right = slim ? 10 : 180,
    pitch = (w - right - 20) / Math.max(1, upper),
    size = Math.max(10, Math.min(58, pitch * 0.5)),
    y0 = 18 + size / 2,
    y1 = h - (slim ? 62 : 18) - size / 2;
  const spotOf = (q) => ({
    x: 10 + pitch * ((q < upper ? q : n - 1 - q) + 0.5),
    y: q < upper ? y0 : y1,
  });
  return { n, size, at: (q) => spotOf(((q % n) + n) % n), middle: 10 + (pitch * upper) / 2, pitch, y0, y1 };
}

/** The way from a GPU to the next: straight, or at the ends round the corner. */
function hop(plan, q) {
  const a = plan.at(q),
    b = plan.at(q + 1);
  if (plan.n > 2 && a.y !== b.y && a.x !== b.x) return [a.x, a.y, (a.x + b.x) / 2, a.y, (a.x + b.x) / 2, b.y, b.x, b.y];
  return [a.x, a.y, b.x, b.y];
}

export function drawRing(ctx, fig) {
  const { colors, v, share, data, words, said: spoken, w, h, slim } = fig,
    plan = ringPlan(fig),
    all = 2 * (v.n - 1),
    done = share >= 1,
    k = Math.min(all - 1, Math.floor(share * all)),
    f = done ? 1 : share * all - k,
    copying = k >= v.n - 1,
    table = data.rings[String(v.n)];
  for (let q = 0; q < v.n; q++) {
    stroke(ctx, hop(plan, q), Math.max(6, plan.size * 0.24), colors.fulltint);
    stroke(ctx, hop(plan, q), Math.max(3, plan.size * 0.12), colors.full);
  }
  for (let q = 0; q < v.n; q++) {
    const { x, y } = plan.at(q);
    rankBox(ctx, colors, x, y, plan.size, String(q));
  }
  for (let q = 0; q < v.n && !done; q++) {
    const p = along(hop(plan, q), f, plan.size * 0.73);
    piece(ctx, colors, p, Math.max(7, plan.size * 0.46), { copying, fill: (k + 1) / v.n, text: table?.[k]?.[q] });
  }
  const wide = plan.pitch * Math.ceil(v.n / 2) - plan.size - 40,
    y = (plan.y0 + plan.y1) / 2;
  const line = (text, dy, size, o) => {
    const fits = fitFont(ctx, text, size, Math.max(90, wide), o?.bold, 11);
    if (fits) put(ctx, text, plan.middle, y + dy, fits, o?.fill ?? colors.ink, { align: "center", ...o });
  };
  line(fill(words.step, { step: done ? all : k + 1, steps: all }), -4, 16, { bold: true });
  line(fill(copying ? words.copying : words.adding, { size: spoken.piece }), 18, 13.5, { fill: colors.ink2 });
  ringTimes(ctx, { colors, said: spoken, words, w, h, slim });
}

/** A chunk: a square that fills as contributions are added, a circle once it is a copy. */
function piece(ctx, colors, { x, y }, size, { copying, fill, text }) {
  const a = size / 2;
  if (copying) disc(ctx, x, y, a, colors.done, colors.card, 1.4);
  else {
    box(ctx, x - a, y - a, size, size, 3, colors.card);
    box(ctx, x - a, y + a - size * fill, size, size * fill, 2, colors.sumfill);
    box(ctx, x - a, y - a, size, size, 3, null, colors.ink, 1.6);
  }
  if (text == null || size < 15) return;
  const px = Math.max(11, Math.min(14, size * 0.56));
  put(ctx, String(text), x, y + px * 0.36, px, copying ? colors.ontext : colors.ink, { bold: true, align: "center" });
}

function ringTimes(ctx, { colors, said: spoken, words, w, h, slim }) {
  const o = { align: "center" },
    faster = fill(words.faster, { times: spoken.faster }),
    line = [spoken.ringTime, "·", faster].join(NB),
    [x, y] = [w - 88, h / 2];
  if (slim) {
    put(ctx, line, w / 2, h - 22, 15, colors.ink, { ...o, bold: true });
    return;
  }
  put(ctx, spoken.serverTime, x, y - 26, 16, colors.ink2, o);
  const half = ctx.measureText(spoken.serverTime).width / 2;
  stroke(ctx, [x - half - 3, y - 31, x + half + 3, y - 31], 1.4, colors.ink2);
  put(ctx, spoken.ringTime, x, y + 4, 25, colors.ink, { ...o, bold: true });
  put(ctx, faster, x, y + 26, 13.5, colors.ink2, o);
}
