// The rows under the scrubber: one of the charts over the same time, with labels on the left and figures at the cursor
// on the right.
//
// A chart is {lines(m, W) -> [{label, note, hot, ...}], bars(g, V, geo, lines), figure(g, V, geo, line, y)}. Its bars
// are drawn once for the whole run and shown twice: past solid, future faint.

import { fitFont, put, widthOf } from "../draw/canvas.js";
import { endpointChart } from "./endpoints.js";
import { groupChart } from "./groups.js";
import { hopSpan, journey, routeLinks } from "../model/hops.js";
import { eachChart, linkChart } from "./links.js";
import { drawAxis } from "./scrub.js";
import { useChart } from "./use.js";

export const CHARTS = {
  links: linkChart,
  each: eachChart,
  endpoints: endpointChart,
  use: useChart,
  groups: groupChart,
};

/**
 * Names of the charts that a run has; several collectives have one of their own, and no room for each cable beside it.
 */
export const chartsOf = (m) =>
  m.groups.length ? ["groups", "links", "endpoints", "use"] : ["links", "each", "endpoints", "use"];

/** The lines of the chart in sight; they depend on the run and the language only. */
export function linesOf(m, chart, W, lang) {
  m.lines ??= new Map();
  const key = `${chart},${lang}`;
  if (!m.lines.has(key)) m.lines.set(key, CHARTS[chart].lines(m, W, lang));
  return m.lines.get(key);
}

/** How high a row and its bar are; many rows are lower, and on a narrow card the label stands above the bar. */
export function rowSize(n, narrow, chart) {
  if (chart === "use") {
    const rh = Math.max(31, Math.ceil(150 / Math.max(1, n)));
    return { rh, bh: rh - 9, off: narrow ? 20 : 4 };
  }
  if (narrow) return n > 8 ? { rh: 32, bh: 13, off: 17 } : { rh: 40, bh: 17, off: 20 };
  const rh = n > 20 ? 17 : n > 8 ? 25 : 31;
  return { rh, bh: rh - (n > 20 ? 5 : 9), off: n > 20 ? 2 : 4 };
}

export function drawBars(g, V, geo) {
  CHARTS[geo.chart].bars(g, V, geo, linesOf(V.m, geo.chart, V.W, V.lang));
}

export function drawRows(g, V, geo, bars) {
  const { m, C } = V,
    { x0, tw, rh, top } = geo,
    lines = linesOf(m, geo.chart, V.W, V.lang),
    n = lines.length;
  const X = (t) => x0 + (m.total > 0 ? t / m.total : 0) * tw,
    bottom = top + n * rh,
    x = X(V.t),
    dense = tw / Math.max(1, m.nsteps);
  for (let s = 0; s <= m.nsteps && dense >= 6; s++) {
    const strong = s === 0 || s === m.nsteps || m.phases.some((p) => p.first === s);
    g.fillStyle = strong ? C.edge : C.grid;
    g.fillRect((s < m.nsteps ? X(m.step0[s]) : x0 + tw) - 0.5, 0, 1, bottom);
  }
  if (bars) {
    const dpr = bars.width / tw,
      cut = Math.max(0, Math.min(bars.width, Math.round((x - x0) * dpr)));
    if (cut > 0) g.drawImage(bars, 0, 0, cut, bars.height, x0, 0, cut / dpr, bars.height / dpr);
    g.globalAlpha = 0.3;
    if (cut < bars.width)
      g.drawImage(
        bars,
        cut,
        0,
        bars.width - cut,
        bars.height,
        x0 + cut / dpr,
        0,
        (bars.width - cut) / dpr,
        bars.height / dpr,
      );
    g.globalAlpha = 1;
  }
  if (geo.chart === "links" && m.lockstep) {
    g.fillStyle = C.card;
    for (let s = 1; s < m.nsteps && dense >= 8; s++) g.fillRect(X(m.step0[s]) - 0.6, top, 1.2, (n - 1) * rh);
  }
  lines.forEach((line, q) => drawRow(g, V, geo, line, q));
  if (V.hover?.slot != null) drawJourneyRows(g, V, geo, lines);
  drawAxis(g, V, geo, bottom, x);
}

function drawRow(g, V, geo, line, q) {
  const { m, C } = V,
    { x0, rh, bh, top } = geo,
    y = top + q * rh,
    mid = y + geo.off + bh / 2,
    { label, note, hot } = line;
  const ly = geo.narrow ? y + 13 : mid + 5,
    most = rh < 20 ? 12.5 : 15,
    room = geo.narrow ? geo.W * 0.5 : x0 - 12;
  const wrong = V.wrong != null && line.endpoint === m.mistake.rank,
    color = hot || wrong ? C.fulltext : C.ink,
    bold = hot || wrong;
  const left = geo.narrow ? x0 + 6 : 0, // clear of the line at the start
    lx = left + (line.sample ? 34 : 0),
    size = fitFont(g, label, most, room - (line.sample ? 34 : 0), bold, 11) || 11,
    lw = widthOf(g, label, size, bold);
  if (line.sample) line.sample(g, C, left, ly - 5);
  const halo = geo.narrow ? C.card : null; // on a narrow card lines of a chart may pass behind the label
  put(g, label, lx, ly, size, color, { bold, halo });
  if (note) {
    const fs = geo.narrow
      ? 13
      : fitFont(g, note, Math.min(13, most), x0 - 18 - lw - (line.sample ? 34 : 0), false, 11.5);
    if (geo.narrow) put(g, note, lx + lw + 10, ly, 13, C.ink2, { halo });
    else if (fs) put(g, note, x0 - 10, ly, fs, C.ink2, { align: "right" });
  }
  if (q && !geo.narrow && rh > 20) {
    g.fillStyle = C.line;
    g.globalAlpha = 0.6;
    g.fillRect(0, y, x0 - 8, 1);
    if (geo.fig) g.fillRect(geo.fig, y, 400, 1);
    g.globalAlpha = 1;
  }
  if (geo.narrow || geo.fig) CHARTS[geo.chart].figure(g, V, geo, line, mid, geo.narrow ? ly : Math.min(ly, mid + 5));
}

/** Where in time the chunk under the pointer moves: a bar under each row that it touches. */
function drawJourneyRows(g, V, geo, lines) {
  const { m } = V,
    { x0, tw, rh, bh, top, off } = geo,
    X = (t) => x0 + (t / (m.total || 1)) * tw,
    span = [0, 0];
  g.fillStyle = V.C.ink;
  const mark = (q, a, b, up) => g.fillRect(X(a), top + q * rh + off + (up ? -2 : bh - 1), Math.max(2, X(b) - X(a)), 3);
  const rowOf = new Map(lines.flatMap((line, q) => (line.links ?? []).map((l) => [l, q])));
  for (const i of journey(m, V.hover.slot).ids) {
    lines.forEach((line, q) => {
      if (line.members?.includes(m.src[i])) mark(q, m.t0[i], m.t1[i], true);
      if (line.members?.includes(m.dst[i])) mark(q, m.t0[i], m.t1[i], false);
    });
    routeLinks(m, m.route[i]).forEach((l, h) => {
      if (!rowOf.has(l)) return;
      if (m.hopOf) hopSpan(m, i, h, span);
      else {
        span[0] = m.t0[i];
        span[1] = m.t1[i];
      }
      mark(rowOf.get(l), span[0], span[1], false);
    });
  }
}
