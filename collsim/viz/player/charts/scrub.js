// The scrubber and the axis of time under the rows: one x scale, one cursor.

import { box, cross, disc, fillRect, fitFont, polygon, put, widthOf } from "../draw/canvas.js";
import { mistakeTime } from "../model/model.js";
import { textAt } from "../model/read.js";
import { fill } from "../../words/choice.js";
import { token } from "../draw/tokens.js";
import { NB, niceInt, timeMarks, timeUnit } from "../model/units.js";

export function drawScrub(ctx, view, geo) {
  const { model, colors, words } = view,
    z = geo.zoom,
    bar = 24 * z,
    at = (t) => geo.x0 + geo.across(t);
  if (view.hidesPhases && model.phases.length > 1) drawHiddenPhases(ctx, view, geo);
  else for (const p of model.phases) drawPhase(ctx, view, geo, p, at);
  if (!model.nsteps) fillRect(ctx, geo.x0, 4, geo.tw, bar, colors.grid);
  drawStepNumbers(ctx, view, geo, at);
  if (model.mistake) markTime(ctx, colors, at(mistakeTime(model)), 4 + bar / 2, 5 * z);
  drawNeedle(ctx, view, geo, at(view.t));
  if (geo.fig) {
    put(ctx, words.figures[geo.chart].first, geo.fig, 6 * z + bar + 15.5, 13, colors.ink2);
    put(ctx, words.figures[geo.chart].second, geo.fig + 194, 6 * z + bar + 15.5, 13, colors.ink2);
  }
}

/** One plain band in place of all phases: where one ends is what a question asks. */
function drawHiddenPhases(ctx, { model, colors, words, language }, { x0, tw, zoom: z }) {
  const names = [...new Set(model.phases.map(({ label }) => textAt(label, 0, language)))],
    text = fill(words.phasesHidden, { names: names.join(words.thenPhase) });
  fillRect(ctx, x0, 4, tw, 24 * z, colors.sunk);
  const px = fitFont(ctx, text, 13.5 * z, tw - 20, false, 10);
  if (px) put(ctx, text, x0 + 10, 4 + 12 * z + px * 0.36, px, colors.ink2);
}

/** The band of a phase: its name, and a token as the transfers of its steps look. */
function drawPhase(ctx, view, { x0, tw, zoom: z }, p, at) {
  const { model, colors, words } = view,
    bar = 24 * z,
    a = at(model.step0[p.first] ?? 0),
    b = p.last + 1 < model.nsteps ? at(model.step0[p.last + 1]) : x0 + tw,
    name = textAt(p.label, 0, view.language);
  fillRect(ctx, a, 4, b - a, bar, p.reduce ? colors.rs : colors.ag);
  const [first, last] = [p.first + 1, p.last + 1],
    full = name + words.stepsSep + fill(first === last ? words.oneStep : words.steps, { first, last, step: first }),
    fs = 13.5 * z,
    room = b - a - 44 * z;
  const str = widthOf(ctx, full, fs, true) < room ? full : widthOf(ctx, name, fs, true) < room ? name : "";
  put(ctx, str, a + 10, 4 + bar / 2 + fs * 0.36, fs, colors.ink2, { bold: true });
  if (b - a > 40 * z) token(ctx, colors, b - 18 * z, 4 + bar / 2, 14 * z, { round: !p.reduce, f: p.reduce ? 0.55 : 1 });
}

function drawStepNumbers(ctx, view, { x0, tw, zoom: z }, at) {
  const { model, colors, s: here } = view,
    cy = 30 * z,
    every = model.nsteps ? Math.max(1, niceInt((21 * z * model.nsteps) / tw)) : 1;
  const edge = (s) => (s < model.nsteps ? at(model.step0[s]) : x0 + tw),
    cellMid = (s) => (edge(s) + edge(s + 1)) / 2,
    hereWide = Math.max(edge(here + 1) - edge(here), 30 * z),
    hereX = Math.min(x0 + tw - hereWide, Math.max(x0, cellMid(here) - hereWide / 2));
  // where steps are uneven, a number that would touch the one before it or the current one is left out
  let taken = -Infinity;
  for (let s = every - 1; s < model.nsteps; s += every) {
    const half = widthOf(ctx, String(s + 1), 12.5 * z, false) / 2 + 3 * z,
      mid = cellMid(s);
    if (mid - half < taken || (here >= 0 && Math.abs(mid - hereX - hereWide / 2) < hereWide / 2 + half)) continue;
    put(ctx, String(s + 1), mid, cy + 15.5 * z, 12.5 * z, s <= here ? colors.ink : colors.ink3, { align: "center" });
    taken = mid + half;
  }
  if (here >= 0) {
    const look = { bold: true, align: "center" };
    box(ctx, hereX, cy, hereWide, 22 * z, 3, colors.ink);
    put(ctx, String(here + 1), hereX + hereWide / 2, cy + 15.5 * z, 13.5 * z, colors.card, look);
  }
}

/** Where the clock stands. */
function drawNeedle(ctx, { colors }, { zoom: z }, x) {
  const cy = 30 * z;
  const half = 7 * z;
  fillRect(ctx, x - 1, 0, 2, cy, colors.ink);
  polygon(ctx, [x - half, 0, x + half, 0, x + half, 5 * z, x, 12 * z, x - half, 5 * z], colors.ink);
  fillRect(ctx, x - 1, cy + 22 * z, 2, 8, colors.ink);
}

/** A cross where a wrong schedule goes wrong. */
function markTime(ctx, colors, x, y, r) {
  disc(ctx, x, y, r * 1.9, colors.card, colors.full, 2);
  cross(ctx, x, y, r * 0.8, colors.full);
}

export function drawAxis(ctx, view, geo, y, x) {
  const { model, colors } = view,
    { x0, tw, narrow } = geo,
    unit = timeUnit(model.total),
    marks = timeMarks(model.total, tw / 90),
    boxW = widthOf(ctx, unit.fmt(model.total), 13.5, true) + 18,
    slack = narrow ? 8 : 20,
    bx = Math.min(x0 + tw + slack - boxW / 2, Math.max(x0 - slack + boxW / 2, x));
  fillRect(ctx, x0, y, tw, 1, colors.edge);
  marks.forEach(({ t, text }, k) => {
    const tx = x0 + geo.across(t),
      str = k && k === marks.length - 1 ? text + NB + unit.unit : text,
      side = narrow && tx > x0 + tw - 16 ? "right" : "center";
    fillRect(ctx, tx - 0.5, y, 1, 5, colors.edge);
    if (Math.abs(tx - bx) > boxW / 2 + 18)
      put(ctx, str, tx, y + 19, 12.5, colors.ink2, { align: narrow && k === 0 ? "left" : side });
  });
  fillRect(ctx, x - 1, 0, 2, y + 6, colors.ink);
  box(ctx, bx - boxW / 2, y + 5, boxW, 20, 4, colors.ink);
  put(ctx, unit.fmt(view.t), bx, y + 19.5, 13.5, colors.card, { bold: true, align: "center" });
}
