// Two charts of cables over time: classes of cables that are alike, and each cable by itself.

import { useFill } from "../draw/cable.js";
import { put } from "../draw/canvas.js";
import { busySeconds, idleShare, linkBytes, rowSlices, stepShare, useClass, usedLinks } from "../model/load.js";
import { meters } from "./meters.js";
import { stepAt } from "../model/model.js";
import { linkName } from "../model/names.js";
import { textAt } from "../model/read.js";
import { fmtBytes, fmtShare } from "../model/units.js";

/**
 * What the rows need that does not change with time: slices per pixel, and where there are barriers the class of each
 * step.
 */
function rowData(m, ncol) {
  if (m.rowData?.ncol === ncol) return m.rowData;
  const rows = m.rows.links.map((links) => {
    const total = Math.max(0, ...links.map((l) => linkBytes(m, l, m.total)));
    if (!m.lockstep) return { ...rowSlices(m, links, ncol), total };
    const cls = Array.from({ length: m.nsteps }, (_, s) =>
      useClass(Math.max(0, ...links.map((l) => stepShare(m, l, s)))),
    );
    return { ...rowSlices(m, links, ncol), total, cls };
  });
  return (m.rowData = { ncol, rows, idle: idleShare(m, ncol), most: Math.max(1, ...rows.map((r) => r.total)) });
}

/** Classes of cables that are alike, and below them the ranks that wait. */
export const linkChart = {
  lines: (m, W, lang) => [
    ...m.rows.links.map((links, q) => ({
      links,
      label: textAt(m.rows.label, q, lang),
      note: textAt(m.rows.note, q, lang),
      hot: m.rows.hot[q],
    })),
    { idle: true, label: m.lockstep ? W.waiting : W.idle, note: m.lockstep ? W.waitNote : W.idleNote },
  ],
  bars(g, V, geo, lines) {
    const D = rowData(V.m, columnsOf(geo));
    lines.forEach((line, q) =>
      line.idle ? drawIdle(g, V, geo, D.idle, q) : drawLinkBar(g, V, geo, line, D.rows[q], D.most, q),
    );
  },
  figure(g, V, geo, line, mid, ly) {
    if (line.idle)
      put(g, waitText(V), geo.narrow ? geo.x0 + geo.tw : geo.fig + 400, ly, 14.5, V.C.ink, { align: "right" });
    else linkFigure(g, V, geo, line, mid, ly);
  },
};

const MOST_EACH = 16;

/** Every cable by itself, the busiest first: when it carries something, and how much of its capacity that is. */
export const eachChart = {
  lines(m, W, lang) {
    const all = usedLinks(m),
      lines = all.slice(0, all.length > MOST_EACH ? MOST_EACH - 1 : MOST_EACH).map((l) => ({
        links: [l],
        label: linkName(m, l, W, lang),
        note: textAt(m.tl.links.label, l, lang),
        hot: m.hot.has(l),
      }));
    const rest = all.slice(lines.length);
    if (rest.length)
      lines.push({
        links: rest,
        label: W.moreLinks(rest.length),
        note: W.noneAbove(fmtShare(m.total > 0 ? busySeconds(m, rest[0]) / m.total : 0)),
      });
    return lines;
  },
  bars(g, V, geo, lines) {
    const { m } = V,
      ncol = columnsOf(geo),
      most = Math.max(1, ...lines.flatMap((line) => line.links.map((l) => linkBytes(m, l, m.total))));
    lines.forEach((line, q) => drawLinkBar(g, V, geo, line, rowSlices(m, line.links, ncol), most, q));
  },
  figure: linkFigure,
};

const columnsOf = (geo) => Math.max(1, Math.round(geo.tw));

function drawLinkBar(g, V, geo, line, r, most, q) {
  const { m, C } = V,
    { tw, rh, bh, top } = geo,
    ncol = columnsOf(geo),
    w = tw / ncol,
    base = top + q * rh + geo.off + bh;
  if (geo.mode === "bytes") {
    g.beginPath();
    g.moveTo(0, base);
    for (let c = 0; c < ncol; c++) g.lineTo((c + 1) * w, base - (bh * r.sofar[c]) / most);
    g.lineTo(tw, base);
    g.fillStyle = line.hot ? C.full : C.ink3;
    g.fill();
    return;
  }
  const fills = Object.fromEntries(["room", "near", "full"].map((cls) => [cls, useFill(g, C, cls, V.patterns)]));
  for (let c = 0; c < ncol; c++) {
    if (r.top[c] < 1e-6) continue;
    g.fillStyle = fills[r.cls ? (r.cls[stepAt(m, ((c + 0.5) / ncol) * m.total)] ?? "room") : useClass(r.top[c])];
    const h = bh * Math.min(1, r.mean[c]),
      ht = bh * Math.min(1, r.top[c]);
    g.fillRect(c * w, base - h, w + 0.3, h);
    if (ht - h <= 1) continue;
    g.globalAlpha = 0.35; // the busiest cable of the row, where they differ
    g.fillRect(c * w, base - ht, w + 0.3, ht - h);
    g.globalAlpha = 1;
  }
}

function drawIdle(g, V, geo, idle, q) {
  const { tw, rh, bh, top } = geo,
    w = tw / idle.length,
    base = top + q * rh + geo.off + bh;
  g.save();
  g.beginPath();
  for (let c = 0; c < idle.length; c++) if (idle[c] > 1e-6) g.rect(c * w, base - bh * idle[c], w, bh * idle[c]);
  g.clip();
  g.strokeStyle = V.C.wait;
  g.lineWidth = 1.8;
  g.beginPath();
  for (let x = -bh; x < tw + bh; x += 7) {
    g.moveTo(x, base);
    g.lineTo(x + bh, base - bh);
  }
  g.stroke();
  g.restore();
}

function linkFigure(g, V, geo, line, mid, ly) {
  const { m, C } = V,
    D = rowData(m, columnsOf(geo)),
    bytes = Math.max(0, ...line.links.map((l) => linkBytes(m, l, V.t)));
  const share = Math.max(0, ...line.links.map((l) => V.facts.share[l])),
    cls = useClass(share);
  meters(
    g,
    V,
    geo,
    mid,
    ly,
    { text: fmtBytes(bytes), share: bytes / D.most },
    { text: fmtShare(share), share, fill: useFill(g, C, cls, V.patterns), color: share > 0.95 ? C.fulltext : C.ink },
  );
}

// Ranks that wait for others: in lockstep over the whole step, in the event engine at this moment.
function waitText(V) {
  const { m, W } = V;
  if (V.s < 0) return "";
  const receives = new Set(),
    busy = new Set(),
    longest = new Map();
  const from = m.lockstep ? m.byStep.id.subarray(m.byStep.start[V.s], m.byStep.start[V.s + 1]) : V.act;
  for (const i of from) {
    receives.add(m.dst[i]);
    busy.add(m.dst[i]);
    busy.add(m.src[i]);
  }
  if (!m.lockstep) return W.idleFig(m.ranks - [...busy].filter((e) => e < m.ranks).length, m.ranks);
  const dur = m.step1[V.s] - m.step0[V.s];
  for (const i of from)
    for (const e of [m.dst[i], receives.has(m.src[i]) ? -1 : m.src[i]])
      if (e >= 0 && e < m.ranks) longest.set(e, Math.max(longest.get(e) ?? 0, m.t1[i] - m.step0[V.s]));
  let waiting = 0,
    least = 1;
  for (let e = 0; e < m.ranks; e++) {
    const f = 1 - (longest.get(e) ?? 0) / dur;
    if (f > 0.005) {
      waiting++;
      least = Math.min(least, f);
    }
  }
  return waiting ? W.waitFig(waiting, m.ranks, fmtShare(least)) : W.waitFig(0, m.ranks, fmtShare(0));
}
