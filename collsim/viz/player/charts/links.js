// Two charts of cables over time: classes of cables that are alike, and each cable by itself.

import { useFill } from "../draw/cable.js";
import { put } from "../draw/canvas.js";
import { busySeconds, idleShare, linkBytes, rowSlices, stepShare, useClass, usedLinks } from "../model/load.js";
import { ranksWaiting } from "../model/cells.js";
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
  putIdle(g, V, geo, r, q);
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

/** "idle" in stretches of time in which no cable of a row carries anything, where they have room for the word. */
function putIdle(g, V, geo, r, q) {
  const { tw, rh, bh, top } = geo,
    ncol = columnsOf(geo),
    y = top + q * rh + geo.off + bh / 2 + 4.5;
  for (let a = 0, b = 0; a < ncol; a = b + 1) {
    for (b = a; b < ncol && r.top[b] < 1e-6; ) b++;
    const x = ((a + b) / 2 / ncol) * tw;
    if (((b - a) / ncol) * tw > 60) put(g, V.W.idleBar, x, y, 13, V.C.ink3, { align: "center" });
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
    look = { fill: useFill(g, C, useClass(share), V.patterns), color: share > 0.95 ? C.fulltext : C.ink },
    text = share > 1e-9 ? fmtShare(share) : V.W.idleBar;
  meters(g, V, geo, mid, ly, { text: fmtBytes(bytes), share: bytes / D.most }, { text, share, ...look });
}

/**
 * Ranks that wait for others at this moment: with barriers those that are done with the step, and how many chunks lie
 * at ranks until it ends; without them those at which nothing arrives.
 */
export function waitText(V) {
  const { m, W } = V;
  if (V.s < 0) return "";
  if (m.lockstep) return W.waitFig(ranksWaiting(m, V.t, V.s).size, m.ranks, V.wait.length);
  const busy = new Set();
  for (const i of V.act) busy.add(m.src[i]).add(m.dst[i]);
  return W.idleFig(m.ranks - [...busy].filter((e) => e < m.ranks).length, m.ranks);
}
