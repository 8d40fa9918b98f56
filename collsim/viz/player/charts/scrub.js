// The scrubber and the axis of time under the rows: one x scale, one cursor.

import { box, cross, disc, put, widthOf } from "../draw/canvas.js";
import { mistakeTime } from "../model/model.js";
import { textAt } from "../model/read.js";
import { token } from "../draw/tokens.js";
import { NB, niceInt, niceStep, timeUnit } from "../model/units.js";

export function drawScrub(g, V, geo) {
  const { m, C, W } = V,
    z = geo.zoom,
    bar = 24 * z,
    at = (t) => geo.x0 + (m.total > 0 ? t / m.total : 0) * geo.tw;
  for (const p of m.phases) drawPhase(g, V, geo, p, at);
  if (!m.nsteps) {
    g.fillStyle = C.grid;
    g.fillRect(geo.x0, 4, geo.tw, bar);
  }
  drawStepNumbers(g, V, geo, at);
  if (m.mistake) markTime(g, C, at(mistakeTime(m)), 4 + bar / 2, 5 * z);
  drawNeedle(g, V, geo, at(V.t));
  if (geo.fig) {
    put(g, W.figures[geo.chart][0], geo.fig, 6 * z + bar + 15.5, 13, C.ink2);
    put(g, W.figures[geo.chart][1], geo.fig + 194, 6 * z + bar + 15.5, 13, C.ink2);
  }
}

/** The band of a phase: its name, and a token as the transfers of its steps look. */
function drawPhase(g, V, { x0, tw, zoom: z }, p, at) {
  const { m, C, W } = V,
    bar = 24 * z,
    a = at(m.step0[p.first] ?? 0),
    b = p.last + 1 < m.nsteps ? at(m.step0[p.last + 1]) : x0 + tw,
    name = textAt(p.label, 0, V.lang);
  g.fillStyle = p.reduce ? C.rs : C.ag;
  g.fillRect(a, 4, b - a, bar);
  const full = name + W.stepsSep + W.steps(p.first + 1, p.last + 1),
    fs = 13.5 * z,
    room = b - a - 44 * z;
  const str = widthOf(g, full, fs, true) < room ? full : widthOf(g, name, fs, true) < room ? name : "";
  put(g, str, a + 10, 4 + bar / 2 + fs * 0.36, fs, C.ink2, { bold: true });
  if (b - a > 40 * z) token(g, C, b - 18 * z, 4 + bar / 2, 14 * z, { round: !p.reduce, f: p.reduce ? 0.55 : 1 });
}

function drawStepNumbers(g, V, { x0, tw, zoom: z }, at) {
  const { m, C, s: here } = V,
    cy = 30 * z,
    every = m.nsteps ? Math.max(1, niceInt((21 * z * m.nsteps) / tw)) : 1;
  const edge = (s) => (s < m.nsteps ? at(m.step0[s]) : x0 + tw),
    cellMid = (s) => (edge(s) + edge(s + 1)) / 2,
    hereWide = Math.max(edge(here + 1) - edge(here), 30 * z),
    hereX = Math.min(x0 + tw - hereWide, Math.max(x0, cellMid(here) - hereWide / 2));
  // where steps are uneven, a number that would touch the one before it or the current one is left out
  let taken = -Infinity;
  for (let s = every - 1; s < m.nsteps; s += every) {
    const half = widthOf(g, String(s + 1), 12.5 * z, false) / 2 + 3 * z,
      mid = cellMid(s);
    if (mid - half < taken || (here >= 0 && Math.abs(mid - hereX - hereWide / 2) < hereWide / 2 + half)) continue;
    put(g, String(s + 1), mid, cy + 15.5 * z, 12.5 * z, s <= here ? C.ink : C.ink3, { align: "center" });
    taken = mid + half;
  }
  if (here >= 0) {
    box(g, hereX, cy, hereWide, 22 * z, 3, C.ink);
    put(g, String(here + 1), hereX + hereWide / 2, cy + 15.5 * z, 13.5 * z, C.card, { bold: true, align: "center" });
  }
}

/** Where the clock stands. */
function drawNeedle(g, { C }, { zoom: z }, x) {
  const cy = 30 * z;
  g.fillStyle = C.ink;
  g.fillRect(x - 1, 0, 2, cy);
  g.beginPath();
  g.moveTo(x - 7 * z, 0);
  g.lineTo(x + 7 * z, 0);
  g.lineTo(x + 7 * z, 5 * z);
  g.lineTo(x, 12 * z);
  g.lineTo(x - 7 * z, 5 * z);
  g.fill();
  g.fillRect(x - 1, cy + 22 * z, 2, 8);
}

/** A cross where a wrong schedule goes wrong. */
function markTime(g, C, x, y, r) {
  disc(g, x, y, r * 1.9, C.card, C.full, 2);
  cross(g, x, y, r * 0.8, C.full);
}

export function drawAxis(g, V, geo, y, x) {
  const { m, C } = V,
    { x0, tw } = geo,
    u = timeUnit(m.total),
    step = niceStep(m.total * u.f, tw / 90),
    boxW = widthOf(g, u.fmt(m.total), 13.5, true) + 18;
  g.fillStyle = C.edge;
  g.fillRect(x0, y, tw, 1);
  const count = step > 0 ? Math.floor((m.total * u.f) / step + 1e-9) : 0,
    slack = geo.narrow ? 8 : 20,
    bx = Math.min(x0 + tw + slack - boxW / 2, Math.max(x0 - slack + boxW / 2, x));
  for (let k = 0; k <= count; k++) {
    const v = k * step,
      tx = x0 + (m.total > 0 ? v / (m.total * u.f) : 0) * tw,
      str = String(Number(v.toPrecision(6))) + (k === 0 || k === count ? NB + u.unit : "");
    g.fillStyle = C.edge;
    g.fillRect(tx - 0.5, y, 1, 5);
    if (Math.abs(tx - bx) > boxW / 2 + 18)
      put(g, str, tx, y + 19, 12.5, C.ink2, {
        align: geo.narrow && k === 0 ? "left" : geo.narrow && tx > x0 + tw - 16 ? "right" : "center",
      });
  }
  g.fillStyle = C.ink;
  g.fillRect(x - 1, 0, 2, y + 6);
  box(g, bx - boxW / 2, y + 5, boxW, 20, 4, C.ink);
  put(g, u.fmt(V.t), bx, y + 19.5, 13.5, C.card, { bold: true, align: "center" });
}
