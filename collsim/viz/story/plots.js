// The pictures that compare: bytes over N, time over N, network cards, a step of training.

import { box, fitFont, put, stroke } from "../player/draw/canvas.js";
import { fmtBytes, fmtSpan, niceStep, three, timeUnit } from "../player/model/units.js";
import { total } from "./values.js";

const MIDDLE = { align: "center" };
const STRONG = { align: "center", bold: true };

/** A box of slanted lines: where nothing moves. */
function hatched(g, x, y, w, h, color, ground) {
  if (w <= 0 || h <= 0) return;
  g.save();
  g.beginPath();
  g.rect(x, y, w, h);
  g.clip();
  g.fillStyle = ground;
  g.fillRect(x, y, w, h);
  g.strokeStyle = color;
  g.lineWidth = 1.6;
  g.beginPath();
  for (let q = x - h; q < x + w; q += 7) {
    g.moveTo(q, y + h);
    g.lineTo(q + h, y);
  }
  g.stroke();
  g.restore();
  g.strokeStyle = color;
  g.lineWidth = 1;
  g.strokeRect(x + 0.5, y + 0.5, Math.max(0, w - 1), Math.max(0, h - 1));
}

// ---- chapter 4

export function drawVolume(g, { w, h, C, words, v, r, data, slim }) {
  const left = 16,
    base = h - 46,
    pitch = (w - left - (slim ? 8 : 60)) / data.ranks.length,
    wide = pitch * 0.58,
    scale = (base - 46) / (2 * v.size),
    roof = base - 2 * v.size * scale;
  g.setLineDash([6, 4]);
  stroke(g, [left, roof, w - 12, roof], 1.6, C.ink);
  g.setLineDash([]);
  put(g, words.never(fmtBytes(2 * v.size)), w - 12, roof - 8, slim ? 13 : 14, C.ink2, { align: "right" });
  data.ranks.forEach((n, q) => {
    const x = left + pitch * (q + 0.2),
      tall = r.sentOf(n) * scale,
      here = n === v.n;
    box(g, x, base - tall, wide, tall / 2, 0, here ? C.done : C.wait);
    box(g, x, base - tall / 2, wide, tall / 2, 0, here ? C.sum2 : C.idle);
    const text = three(r.sentOf(n) / 2 ** 20),
      px = fitFont(g, text, 15, wide + 10, true, 10);
    put(g, text, x + wide / 2, base - tall - 6 + (tall > 40 ? 24 : 0), px, tall > 40 ? onBar(C, here) : C.ink, STRONG);
    put(g, here ? `N = ${n}` : String(n), x + wide / 2, base + 18, 14, C.ink, here ? STRONG : MIDDLE);
    if (!here || slim) return;
    put(g, words.copy, x + wide + 5, base - tall * 0.72, 13, C.ink2);
    put(g, words.add, x + wide + 5, base - tall * 0.22, 13, C.ink2);
  });
  stroke(g, [left, base, w - 12, base], 1, C.line);
  put(g, words.sends, left, h - 8, 13, C.ink2);
}

const onBar = (C, here) => (here ? C.ontext : C.card);

// ---- chapter 5

export function drawAlphaBeta(g, fig) {
  const { w, h, C, words, v, r, data, slim } = fig,
    left = slim ? 44 : 56,
    base = h - 34,
    top = 40,
    bars = data.ranks.map((n) => r.barOf(n)),
    most = Math.max(...bars.map(total)),
    unit = timeUnit(most),
    step = niceStep(most * unit.f, 4),
    scale = (base - top) / (most * unit.f);
  for (let y = 0; y <= most * unit.f + step / 100; y += step) {
    stroke(g, [left, base - y * scale, w - 8, base - y * scale], 1, C.grid);
    put(g, three(y), left - 8, base - y * scale + 4, 13, C.ink2, { align: "right" });
  }
  put(g, `${unit.unit}, ${words.ring(fmtBytes(v.small))}`, 8, 20, 13, C.ink2);
  keyOfTime(g, fig, left + 14, 44, r.parts.adding > 0);
  const pitch = (w - left - 10) / bars.length;
  bars.forEach((bar, q) => {
    const here = data.ranks[q] === v.many,
      x = left + pitch * (q + 0.24),
      wide = pitch * 0.56,
      sending = bar.sending * unit.f * scale,
      adding = bar.adding * unit.f * scale,
      starting = bar.starting * unit.f * scale;
    box(g, x, base - sending, wide, sending, 0, here ? C.ink : C.ink3);
    if (adding > 0) box(g, x, base - sending - adding, wide, adding, 0, C.sum2);
    const tall = sending + adding + starting;
    hatched(g, x, base - tall, wide, starting, C.wait, C.card);
    if (here) box(g, x - 1, base - tall, wide + 2, tall, 0, null, C.ink, 2);
    const px = fitFont(g, three(total(bar) * unit.f), 14, pitch, true, 10);
    put(g, three(total(bar) * unit.f), x + wide / 2, base - tall - 6, px, C.ink, STRONG);
    put(g, String(data.ranks[q]), x + wide / 2, base + 18, 14, C.ink, here ? STRONG : MIDDLE);
  });
}

function keyOfTime(g, { C, words, slim }, x, y, adds) {
  const size = slim ? 12 : 14,
    lines = [
      [words.alpha, (at) => hatched(g, x, at - 10, 20, 12, C.wait, C.card)],
      ...(adds ? [[words.gamma, (at) => box(g, x, at - 10, 20, 12, 0, C.sum2)]] : []),
      [words.beta, (at) => box(g, x, at - 10, 20, 12, 0, C.ink3)],
    ];
  lines.forEach(([text, mark], q) => {
    mark(y + q * 22);
    put(g, text, x + 28, y + q * 22, size, C.ink);
  });
}

// ---- chapter 6

export function drawCards(g, { w, h, C, words, v, data, slim }) {
  const rows = data.cards.channels,
    pitch = (h - 16) / rows.length,
    part = slim ? 120 : 210,
    name = slim ? 0 : 78,
    room = w - part - name - (slim ? 84 : 110),
    slowest = rows[0].time;
  rows.forEach(({ channels, cards, time }, q) => {
    const y = 10 + q * pitch,
      here = channels === v.channels;
    machines(g, C, { x: 8, y, w: part - 20, h: pitch - 12 }, cards, here);
    const mid = y + pitch / 2 - 2,
      bar = (room * time) / slowest;
    put(g, words.card(cards), part + 4, slim ? mid - 14 : mid + 5, slim ? 13 : 15, C.ink, { bold: here });
    box(g, part + name, mid - 10, bar, 22, 3, here ? C.ink : C.ink3);
    put(g, fmtSpan(time), part + name + bar + 8, mid + 7, here ? 18 : 15, C.ink, { bold: here });
  });
}

/** Two machines and the eight cables between them, of which some are full. */
function machines(g, C, { x, y, w, h }, used, here) {
  const side = Math.min(30, w * 0.18),
    gap = h / 9;
  for (let k = 0; k < 8; k++) {
    const at = y + gap * (k + 1);
    stroke(g, [x + side, at, x + w - side, at], k < used ? 3.2 : 1.2, k < used ? C.full : C.idle);
  }
  for (const [q, left] of [x, x + w - side].entries()) {
    box(g, left, y, side, h, 5, C.card, here ? C.ink : C.edge, here ? 2 : 1);
    put(g, String(q), left + side / 2, y + h / 2 + 5, 14, C.ink, STRONG);
  }
}

// ---- chapter 7

export function drawTraining(g, fig) {
  const { w, h, C, words, r, data, share, slim } = fig,
    left = slim ? 8 : 92,
    longest = Math.max(...data.training.steps.map((s) => s.apart)),
    scale = (w - left - 14) / longest,
    rows = { compute: slim ? 40 : 24, network: slim ? 102 : 72 },
    x = (t) => left + t * scale;
  for (const stream of ["compute", "network"]) {
    if (slim) put(g, words[stream], left, rows[stream] - 6, 13, C.ink2);
    else put(g, words[stream], left - 10, rows[stream] + 23, 14, C.ink2, { align: "right" });
  }
  for (const [stream, kind, bucket, t0, t1] of r.step.boxes) {
    if (!(stream in rows)) continue;
    const wide = Math.max(1, x(t1) - x(t0) - 1);
    box(g, x(t0), rows[stream], wide, 36, 2, trainingFill(C, stream, kind, bucket));
    nameBox(g, fig, x(t0), rows[stream], wide, { stream, kind, bucket, time: t1 - t0 });
  }
  for (const [a, b] of r.step.waits) {
    hatched(g, x(a), rows.compute, x(b) - x(a), 36, C.wait, C.card);
    const text = words.waits(fmtSpan(b - a));
    if (fitFont(g, text, 13, x(b) - x(a) - 8, true, 11) >= 11) {
      const wide = g.measureText(text).width + 8;
      box(g, (x(a) + x(b) - wide) / 2, rows.compute + 9, wide, 18, 3, C.card);
      put(g, text, (x(a) + x(b)) / 2, rows.compute + 23, 13, C.ink, STRONG);
    }
  }
  trainingTotals(g, fig, x, rows.network + 66);
  const now = x(share * r.step.time);
  stroke(g, [now, rows.compute - 8, now, rows.network + 44], 2, C.ink);
}

function trainingFill(C, stream, kind, bucket) {
  if (stream === "network") return bucket < 0 ? C.idle : bucket % 2 ? C.sum2 : C.done;
  return kind === "backward" ? (bucket % 2 ? C.wait : C.ink3) : C.idle;
}

function nameBox(g, { C, words }, x, y, wide, { stream, kind, bucket }) {
  const text = stream === "network" ? (bucket < 0 ? "" : String(bucket)) : (words[kind] ?? "");
  const said = kind === "optimizer" ? words.update : text;
  if (!said || fitFont(g, said, 13, wide - 6, true, 11) < 11) return;
  const dark = stream === "network" ? bucket % 2 === 0 : kind === "backward" && bucket % 2 === 0;
  put(g, said, x + wide / 2, y + 23, 13, dark ? C.ontext : C.ink, STRONG);
}

/** The two ways as bars on the same scale, and the axis. */
function trainingTotals(g, { C, words, r, slim, h, data }, x, y) {
  const rows = [
    [words.overlap, r.step.time, C.ink],
    [words.apart, r.step.apart, C.ink3],
  ];
  rows.forEach(([name, time, fill], q) => {
    const at = y + q * 42;
    if (slim) put(g, name, x(0), at - 4, 13, C.ink2);
    else put(g, name, x(0) - 10, at + 18, 14, C.ink2, { align: "right" });
    box(g, x(0), at, x(time) - x(0), 26, 3, fill);
    put(g, fmtSpan(time), x(time) - 8, at + 18, 15, C.card, { align: "right", bold: true });
  });
  const longest = Math.max(...data.training.steps.map((s) => s.apart)),
    unit = timeUnit(longest),
    step = niceStep(longest * unit.f, slim ? 4 : 6);
  for (let t = 0; t <= longest * unit.f; t += step) {
    put(g, `${three(t)}${t ? "" : `\u00a0${unit.unit}`}`, x(t / unit.f), h - 8, 13, C.ink2, t ? MIDDLE : {});
    stroke(g, [x(t / unit.f), h - 24, x(t / unit.f), h - 20], 1, C.edge);
  }
}
