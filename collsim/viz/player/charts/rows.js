// The rows under the scrubber: one of the charts over the same time, with labels on the left and figures at the cursor
// on the right.
//
// A chart is {lines(model, words, language) -> [{label, note, hot, ...}], bars(ctx, view, geo, lines), figure(ctx,
// view, geo, line, mid, ly)}. Its bars are drawn once for the whole run and shown twice: past solid, future faint.

import { bandOf } from "../model/order.js";
import { fillRect, fitFont, put, widthOf } from "../draw/canvas.js";
import { endpointChart } from "./endpoints.js";
import { groupChart } from "./groups.js";
import { journey, linkSpan, routeLinks } from "../model/hops.js";
import { eachChart, linkChart } from "./links.js";
import { drawAxis } from "./scrub.js";
import { useChart } from "./use.js";

const CHARTS = {
  links: linkChart,
  each: eachChart,
  endpoints: endpointChart,
  use: useChart,
  groups: groupChart,
};

/**
 * Names of the charts that a run has; several collectives have one of their own, and no room for each cable beside it.
 */
export const chartsOf = (model) =>
  model.groups.length ? ["groups", "links", "endpoints", "use"] : ["links", "each", "endpoints", "use"];

/** The lines of the chart in sight; they depend on the run and the language only. */
export function linesOf(model, chart, words, language) {
  model.lines ??= new Map();
  const key = `${chart},${language}`;
  if (!model.lines.has(key)) model.lines.set(key, CHARTS[chart].lines(model, words, language));
  return model.lines.get(key);
}

const HEIGHTS = [
  [21, 17],
  [9, 25],
]; // pixels of a row, by the number of rows

/** How high a row and its bar are; many rows are lower, and on a narrow card the label stands above the bar. */
export function rowSize(n, narrow, chart) {
  if (chart === "use") {
    const rh = Math.max(31, Math.ceil(150 / Math.max(1, n)));
    return { rh, bh: rh - 9, off: narrow ? 20 : 4 };
  }
  if (narrow) return n > 8 ? { rh: 32, bh: 13, off: 17 } : { rh: 40, bh: 17, off: 20 };
  const rh = bandOf(n, HEIGHTS, 31);
  return { rh, bh: rh - (n > 20 ? 5 : 9), off: n > 20 ? 2 : 4 };
}

/** Where rows stand: `across(t)` are pixels from the begin of the time column, `y(q)` is the top of a row's bar. */
export const createGeometry = (model, n, { narrow, chart, top, tw, ...more }) => {
  const size = rowSize(n, narrow, chart);
  return {
    ...{ narrow, chart, top, tw, ...size, ...more },
    bottom: top + n * size.rh,
    across: (t) => (t / (model.total || 1)) * tw,
    y: (q) => top + q * size.rh + size.off,
  };
};

export function drawBars(ctx, view, geo) {
  CHARTS[geo.chart].bars(ctx, view, geo, linesOf(view.model, geo.chart, view.words, view.language));
}

export function drawRows(ctx, view, geo, bars) {
  const { model, colors } = view,
    { x0, tw, top, bottom } = geo,
    lines = linesOf(model, geo.chart, view.words, view.language),
    x = x0 + geo.across(view.t),
    begin = (s) => x0 + (s < model.nsteps ? geo.across(model.step0[s]) : tw),
    dense = tw / Math.max(1, model.nsteps);
  for (let s = 0; s <= model.nsteps && dense >= 6; s++) {
    const strong = s === 0 || s === model.nsteps || (!view.hidesPhases && model.phases.some((p) => p.first === s));
    fillRect(ctx, begin(s) - 0.5, 0, 1, bottom, strong ? colors.edge : colors.grid);
  }
  const cut = Math.max(0, Math.min(bars.width, Math.round(((x - x0) * bars.width) / tw)));
  drawPart(ctx, bars, 0, cut, geo);
  ctx.globalAlpha = 0.3;
  if (!view.isHidden) drawPart(ctx, bars, cut, bars.width, geo);
  ctx.globalAlpha = 1;
  if (geo.chart === "links" && model.lockstep && dense >= 8)
    for (let s = 1; s < model.nsteps; s++)
      fillRect(ctx, begin(s) - 0.6, top, 1.2, (lines.length - 1) * geo.rh, colors.card);
  lines.forEach((line, q) => drawRow(ctx, view, geo, line, q));
  if (view.hover?.slot != null) drawJourneyRows(ctx, view, geo, lines);
  drawAxis(ctx, view, geo, bottom, x);
}

/** The bars from one of their pixels to another, where they are in the chart. */
function drawPart(ctx, bars, from, to, { x0, tw }) {
  const scale = tw / bars.width,
    part = [to - from, bars.height];
  if (to > from) ctx.drawImage(bars, from, 0, ...part, x0 + from * scale, 0, ...part.map((size) => size * scale));
}

function drawRow(ctx, view, geo, line, q) {
  const { model, colors } = view,
    { x0, rh, bh, top } = geo,
    y = top + q * rh,
    mid = geo.y(q) + bh / 2,
    { label, note, hot } = line;
  const ly = geo.narrow ? y + 13 : mid + 5,
    most = rh < 20 ? 12.5 : 15,
    room = geo.narrow ? geo.width * 0.5 : x0 - 12;
  const wrong = view.wrong != null && line.endpoint === model.mistake.rank,
    color = hot || wrong ? colors.fulltext : colors.ink,
    bold = hot || wrong;
  const left = geo.narrow ? x0 + 6 : 0, // clear of the line at the start
    lx = left + (line.sample ? 34 : 0),
    size = fitFont(ctx, label, most, room - (line.sample ? 34 : 0), bold, 11) || 11,
    lw = widthOf(ctx, label, size, bold);
  if (line.sample) line.sample(ctx, colors, left, ly - 5);
  const halo = geo.narrow ? colors.card : null; // on a narrow card lines of a chart may pass behind the label
  put(ctx, label, lx, ly, size, color, { bold, halo });
  if (note) {
    const fs = geo.narrow
      ? 13
      : fitFont(ctx, note, Math.min(13, most), x0 - 18 - lw - (line.sample ? 34 : 0), false, 11.5);
    if (geo.narrow) put(ctx, note, lx + lw + 10, ly, 13, colors.ink2, { halo });
    else if (fs) put(ctx, note, x0 - 10, ly, fs, colors.ink2, { align: "right" });
  }
  if (q && !geo.narrow && rh > 20) {
    ctx.globalAlpha = 0.6;
    fillRect(ctx, 0, y, x0 - 8, 1, colors.line);
    if (geo.fig) fillRect(ctx, geo.fig, y, 400, 1, colors.line);
    ctx.globalAlpha = 1;
  }
  if (geo.narrow || geo.fig)
    CHARTS[geo.chart].figure(ctx, view, geo, line, mid, geo.narrow ? ly : Math.min(ly, mid + 5));
}

/** Where in time the chunk under the pointer moves: a bar under each row that it touches. */
function drawJourneyRows(ctx, view, geo, lines) {
  const { model } = view,
    { x0, bh, across } = geo,
    span = [0, 0];
  const mark = (q, a, b, up) => {
    const wide = Math.max(2, across(b) - across(a));
    fillRect(ctx, x0 + across(a), geo.y(q) + (up ? -2 : bh - 1), wide, 3, view.colors.ink);
  };
  const rowOf = new Map(lines.flatMap((line, q) => (line.links ?? []).map((l) => [l, q])));
  for (const i of journey(model, view.hover.slot).ids) {
    lines.forEach((line, q) => {
      if (line.members?.includes(model.src[i])) mark(q, model.t0[i], model.t1[i], true);
      if (line.members?.includes(model.dst[i])) mark(q, model.t0[i], model.t1[i], false);
    });
    routeLinks(model, model.route[i]).forEach((l, h) => {
      if (!rowOf.has(l)) return;
      linkSpan(model, i, h, span);
      mark(rowOf.get(l), ...span, false);
    });
  }
}
