// The pictures that compare: bytes over N, time over N, network cards.

import { box, fillRect, fitFont, put, slant, stroke } from "../player/draw/canvas.js";
import { fmtBytes, fmtSpan, niceStep, three, timeUnit } from "../player/model/units.js";
import { total } from "./values.js";
import { fill } from "../words/choice.js";

const MIDDLE = { align: "center" };
const STRONG = { align: "center", bold: true };

/** A box of slanted lines: where nothing moves. */
function hatched(ctx, x, y, w, h, color, ground) {
  if (w <= 0 || h <= 0) return;
  ctx.save();
  ctx.beginPath();
  ctx.rect(x, y, w, h);
  ctx.clip();
  fillRect(ctx, x, y, w, h, ground);
  slant(ctx, x, y + h, w, h, 1.6, color);
  ctx.restore();
  box(ctx, x + 0.5, y + 0.5, Math.max(0, w - 1), Math.max(0, h - 1), 0, null, color);
}

// ---- chapter 4

export function drawVolume(ctx, { w, h, colors, words, v, r, data, slim }) {
  const left = 16,
    base = h - 46,
    pitch = (w - left - (slim ? 8 : 60)) / data.ranks.length,
    wide = pitch * 0.58,
    scale = (base - 46) / (2 * v.size),
    roof = base - 2 * v.size * scale;
  const never = fill(words.never, { size: fmtBytes(2 * v.size) });
  stroke(ctx, [left, roof, w - 12, roof], 1.6, colors.ink, { dash: [6, 4] });
  put(ctx, never, w - 12, roof - 8, slim ? 13 : 14, colors.ink2, { align: "right" });
  data.ranks.forEach((n, q) => {
    const x = left + pitch * (q + 0.2),
      tall = r.sentOf(n) * scale,
      here = n === v.n;
    box(ctx, x, base - tall, wide, tall / 2, 0, here ? colors.done : colors.ink3);
    box(ctx, x, base - tall / 2, wide, tall / 2, 0, here ? colors.sum2 : colors.idle);
    const text = three(r.sentOf(n) / 2 ** 20),
      px = fitFont(ctx, text, 15, wide + 10, true, 10),
      [y, ink] = tall > 40 ? [base - tall + 18, here ? colors.ontext : colors.card] : [base - tall - 6, colors.ink];
    put(ctx, text, x + wide / 2, y, px, ink, STRONG);
    put(ctx, here ? `N = ${n}` : String(n), x + wide / 2, base + 18, 14, colors.ink, here ? STRONG : MIDDLE);
    if (!here || slim) return;
    put(ctx, words.copy, x + wide + 5, base - tall * 0.72, 13, colors.ink2);
    put(ctx, words.add, x + wide + 5, base - tall * 0.22, 13, colors.ink2);
  });
  stroke(ctx, [left, base, w - 12, base], 1, colors.line);
  put(ctx, words.sends, left, h - 8, 13, colors.ink2);
}

// ---- chapter 5

export function drawAlphaBeta(ctx, fig) {
  const { w, h, colors, words, v, r, data, slim } = fig,
    left = slim ? 44 : 56,
    base = h - 34,
    top = 40,
    bars = data.ranks.map((n) => r.barOf(n)),
    most = Math.max(...bars.map(total)),
    unit = timeUnit(most),
    step = niceStep(most * unit.f, 4),
    scale = (base - top) / (most * unit.f);
  for (let y = 0; y <= most * unit.f + step / 100; y += step) {
    stroke(ctx, [left, base - y * scale, w - 8, base - y * scale], 1, colors.grid);
    put(ctx, three(y), left - 8, base - y * scale + 4, 13, colors.ink2, { align: "right" });
  }
  put(ctx, `${unit.unit}, ${fill(words.ring, { size: fmtBytes(v.small) })}`, 8, 20, 13, colors.ink2);
  keyOfTime(ctx, fig, left + 14, 44, r.parts.adding > 0);
  const pitch = (w - left - 10) / bars.length;
  bars.forEach((bar, q) => {
    const here = data.ranks[q] === v.many,
      x = left + pitch * (q + 0.24),
      wide = pitch * 0.56,
      sending = bar.sending * unit.f * scale,
      adding = bar.adding * unit.f * scale,
      starting = bar.starting * unit.f * scale;
    box(ctx, x, base - sending, wide, sending, 0, here ? colors.ink : colors.ink3);
    if (adding > 0) box(ctx, x, base - sending - adding, wide, adding, 0, colors.sum2);
    const tall = sending + adding + starting;
    hatched(ctx, x, base - tall, wide, starting, colors.wait, colors.card);
    if (here) box(ctx, x - 1, base - tall, wide + 2, tall, 0, null, colors.ink, 2);
    const px = fitFont(ctx, three(total(bar) * unit.f), 14, pitch, true, 10);
    put(ctx, three(total(bar) * unit.f), x + wide / 2, base - tall - 6, px, colors.ink, STRONG);
    put(ctx, String(data.ranks[q]), x + wide / 2, base + 18, 14, colors.ink, here ? STRONG : MIDDLE);
  });
}

function keyOfTime(ctx, { colors, words, slim }, x, y, adds) {
  const size = slim ? 12 : 14,
    lines = [
      [words.alpha, (at) => hatched(ctx, x, at - 10, 20, 12, colors.wait, colors.card)],
      ...(adds ? [[words.gamma, (at) => box(ctx, x, at - 10, 20, 12, 0, colors.sum2)]] : []),
      [words.beta, (at) => box(ctx, x, at - 10, 20, 12, 0, colors.ink3)],
    ];
  lines.forEach(([text, mark], q) => {
    mark(y + q * 22);
    put(ctx, text, x + 28, y + q * 22, size, colors.ink);
  });
}

// ---- chapter 6

export function drawCards(ctx, { w, h, colors, words, v, data, slim }) {
  const rows = data.cards.channels,
    pitch = (h - 16) / rows.length,
    part = slim ? 120 : 210,
    name = slim ? 0 : 78,
    room = w - part - name - (slim ? 84 : 110),
    slowest = rows[0].time;
  rows.forEach(({ channels, cards, time }, q) => {
    const y = 10 + q * pitch,
      here = channels === v.channels;
    machines(ctx, colors, { x: 8, y, w: part - 20, h: pitch - 12 }, cards, here);
    const mid = y + pitch / 2 - 2,
      bar = (room * time) / slowest;
    const [below, size] = slim ? [-14, 13] : [5, 15];
    put(ctx, fill(words.card, { count: cards }), part + 4, mid + below, size, colors.ink, { bold: here });
    box(ctx, part + name, mid - 10, bar, 22, 3, here ? colors.ink : colors.ink3);
    put(ctx, fmtSpan(time), part + name + bar + 8, mid + 7, here ? 18 : 15, colors.ink, { bold: here });
  });
}

/** Two machines and the eight cables between them, of which some are full. */
function machines(ctx, colors, { x, y, w, h }, used, here) {
  const side = Math.min(30, w * 0.18),
    gap = h / 9;
  for (let k = 0; k < 8; k++) {
    const at = y + gap * (k + 1);
    stroke(ctx, [x + side, at, x + w - side, at], k < used ? 3.2 : 1.2, k < used ? colors.full : colors.idle);
  }
  for (const [q, left] of [x, x + w - side].entries()) {
    box(ctx, left, y, side, h, 5, colors.card, here ? colors.ink : colors.edge, here ? 2 : 1);
    put(ctx, String(q), left + side / 2, y + h / 2 + 5, 14, colors.ink, STRONG);
  }
}
