// Scrubber and rows: one x axis, one cursor.

import { box, cross, fitFont, put, widthOf } from "./canvas.js";
import { idleShare, linkBytes, mistakeTime, rowSlices, stepAt, stepShare, useClass } from "./model.js";
import { textAt } from "./read.js";
import { token } from "./tokens.js";
import { NB, fmtBytes, fmtShare, niceInt, niceStep, timeUnit } from "./units.js";

export function drawScrub(g, V, geo) {
  const { m, C, W } = V,
    { x0, tw } = geo,
    X = (t) => x0 + (m.total > 0 ? t / m.total : 0) * tw,
    z = geo.zoom;
  const bh = 24 * z,
    cy = 6 * z + bh,
    chh = 22 * z;
  for (const p of m.phases) {
    const a = X(m.step0[p.first] ?? 0),
      b = p.last + 1 < m.nsteps ? X(m.step0[p.last + 1]) : x0 + tw,
      name = textAt(p.label, 0, V.lang);
    g.fillStyle = p.reduce ? C.rs : C.ag;
    g.fillRect(a, 4, b - a, bh);
    const full = name + W.stepsSep + W.steps(p.first + 1, p.last + 1),
      fs = 13.5 * z,
      room = b - a - 44 * z;
    const str = widthOf(g, full, fs, true) < room ? full : widthOf(g, name, fs, true) < room ? name : "";
    put(g, str, a + 10, 4 + bh / 2 + fs * 0.36, fs, C.ink2, { bold: true });
    if (b - a > 40 * z) token(g, C, b - 18 * z, 4 + bh / 2, 14 * z, { round: !p.reduce, f: p.reduce ? 0.55 : 1 });
  }
  if (!m.nsteps) {
    g.fillStyle = C.grid;
    g.fillRect(x0, 4, tw, bh);
  }
  const cw = tw / Math.max(1, m.nsteps),
    every = m.nsteps ? Math.max(1, niceInt((21 * z) / cw)) : 1;
  const edge = (s) => (s < m.nsteps ? X(m.step0[s]) : x0 + tw),
    cellMid = (s) => (edge(s) + edge(s + 1)) / 2,
    here = V.s;
  for (let s = 0; s < m.nsteps; s++) {
    if ((s + 1) % every && every > 1) continue;
    if (Math.abs(cellMid(s) - cellMid(here)) < 24 * z && s !== here && every > 1) continue;
    if (edge(s + 1) - edge(s) < 9 && every === 1) continue;
    put(g, String(s + 1), cellMid(s), cy + 15.5 * z, 12.5 * z, s <= here ? C.ink : C.ink3, { align: "center" });
  }
  if (here >= 0) {
    const w = Math.max(edge(here + 1) - edge(here), 30 * z),
      x = Math.min(x0 + tw - w, Math.max(x0, cellMid(here) - w / 2));
    box(g, x, cy, w, chh, 3, C.ink);
    put(g, String(here + 1), x + w / 2, cy + 15.5 * z, 13.5 * z, C.card, { bold: true, align: "center" });
  }
  if (m.mistake) markTime(g, C, X(mistakeTime(m)), 4 + bh / 2, 5 * z);
  const x = X(V.t);
  g.fillStyle = C.ink;
  g.fillRect(x - 1, 0, 2, cy);
  g.beginPath();
  g.moveTo(x - 7 * z, 0);
  g.lineTo(x + 7 * z, 0);
  g.lineTo(x + 7 * z, 5 * z);
  g.lineTo(x, 12 * z);
  g.lineTo(x - 7 * z, 5 * z);
  g.fill();
  g.fillRect(x - 1, cy + chh, 2, 8);
  if (geo.fig) {
    put(g, W.sofar, geo.fig, cy + 15.5, 13, C.ink2);
    put(g, W.capacity, geo.fig + 194, cy + 15.5, 13, C.ink2);
  }
}

/** A cross where a wrong schedule goes wrong. */
function markTime(g, C, x, y, r) {
  g.beginPath();
  g.arc(x, y, r * 1.9, 0, 7);
  g.fillStyle = C.card;
  g.fill();
  g.strokeStyle = C.full;
  g.lineWidth = 2;
  g.stroke();
  cross(g, x, y, r * 0.8, C.full);
}

/** What the rows need that does not change with time: slices per pixel, class per step. */
function rowData(m, ncol) {
  if (m.rowData?.ncol === ncol) return m.rowData;
  const rows = m.rows.links.map((links) => {
    const total = Math.max(0, ...links.map((l) => linkBytes(m, l, m.total)));
    const cls = Array.from({ length: m.nsteps }, (_, s) => useClass(Math.max(0, ...links.map((l) => stepShare(m, l, s)))));
    return { ...rowSlices(m, links, ncol), total, cls };
  });
  return (m.rowData = { ncol, rows, idle: idleShare(m, ncol), most: Math.max(1, ...rows.map((r) => r.total)) });
}

/** The bars of all rows for the whole run; drawn once, shown twice (past solid, future faint). */
export function drawBars(g, V, geo) {
  const { m, C } = V,
    { tw, rh, bh, top } = geo,
    ncol = Math.max(1, Math.round(tw)),
    D = rowData(m, ncol),
    w = tw / ncol;
  const stepOf = (c) => stepAt(m, ((c + 0.5) / ncol) * m.total);
  D.rows.forEach((r, q) => {
    const base = top + q * rh + geo.off + bh;
    if (geo.mode === "bytes") {
      g.beginPath();
      g.moveTo(0, base);
      for (let c = 0; c < ncol; c++) g.lineTo((c + 1) * w, base - (bh * r.sofar[c]) / D.most);
      g.lineTo(tw, base);
      g.fillStyle = m.rows.hot[q] ? C.full : C.ink3;
      g.fill();
      return;
    }
    for (let c = 0; c < ncol; c++) {
      if (r.top[c] < 1e-6) continue;
      g.fillStyle = C[r.cls[stepOf(c)] ?? "room"];
      const h = bh * Math.min(1, r.mean[c]),
        ht = bh * Math.min(1, r.top[c]);
      g.fillRect(c * w, base - h, w + 0.3, h);
      if (ht - h > 1) {
        g.globalAlpha = 0.35;
        g.fillRect(c * w, base - ht, w + 0.3, ht - h);
        g.globalAlpha = 1;
      } // the busiest cable of the row, where they differ
    }
  });
  g.save();
  g.beginPath();
  const base = top + D.rows.length * rh + geo.off + bh;
  for (let c = 0; c < ncol; c++) if (D.idle[c] > 1e-6) g.rect(c * w, base - bh * D.idle[c], w, bh * D.idle[c]);
  g.clip();
  g.strokeStyle = C.wait;
  g.lineWidth = 1.8;
  g.beginPath();
  for (let x = -bh; x < tw + bh; x += 7) {
    g.moveTo(x, base);
    g.lineTo(x + bh, base - bh);
  }
  g.stroke();
  g.restore();
}

export function drawRows(g, V, geo, bars) {
  const { m, C, W } = V,
    { x0, tw, rh, bh, top } = geo,
    D = rowData(m, Math.max(1, Math.round(tw))),
    n = D.rows.length;
  const X = (t) => x0 + (m.total > 0 ? t / m.total : 0) * tw,
    bottom = top + (n + 1) * rh,
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
      g.drawImage(bars, cut, 0, bars.width - cut, bars.height, x0 + cut / dpr, 0, (bars.width - cut) / dpr, bars.height / dpr);
    g.globalAlpha = 1;
  }
  g.fillStyle = C.card;
  for (let s = 1; s < m.nsteps && dense >= 8; s++) g.fillRect(X(m.step0[s]) - 0.6, top, 1.2, n * rh);
  for (let q = 0; q <= n; q++) drawRow(g, V, geo, D, q);
  drawAxis(g, V, geo, bottom, x);
}

function drawRow(g, V, geo, D, q) {
  const { m, C, W } = V,
    { x0, rh, bh, top } = geo,
    y = top + q * rh,
    mid = y + geo.off + bh / 2,
    last = q === D.rows.length;
  const label = last ? (m.lockstep ? W.waiting : W.idle) : textAt(m.rows.label, q, V.lang),
    note = last ? (m.lockstep ? W.waitNote : W.idleNote) : textAt(m.rows.note, q, V.lang);
  const hot = !last && m.rows.hot[q],
    ly = geo.narrow ? y + 14 : mid + 5,
    color = hot ? C.fulltext : C.ink;
  const room = geo.narrow ? geo.W * 0.5 : x0 - 12,
    lx = geo.narrow ? x0 : 0,
    size = fitFont(g, label, 15, room, hot, 11) || 11,
    lw = widthOf(g, label, size, hot);
  put(g, label, lx, ly, size, color, { bold: hot });
  if (note) {
    const fs = geo.narrow ? 13 : fitFont(g, note, 13, x0 - 18 - lw, false, 11.5);
    if (geo.narrow) put(g, note, lx + lw + 10, ly, 13, C.ink2);
    else if (fs) put(g, note, x0 - 10, ly, fs, C.ink2, { align: "right" });
  }
  if (q && !geo.narrow) {
    g.fillStyle = C.line;
    g.globalAlpha = 0.6;
    g.fillRect(0, y, x0 - 8, 1);
    if (geo.fig) g.fillRect(geo.fig, y, 400, 1);
    g.globalAlpha = 1;
  }
  const fx = geo.fig,
    right = geo.narrow ? x0 + geo.tw : fx + 400;
  if (!geo.narrow && !fx) return;
  if (last) {
    put(g, waitText(V), right, ly, 14.5, C.ink, { align: "right" });
    return;
  }
  const links = m.rows.links[q],
    bytes = Math.max(0, ...links.map((l) => linkBytes(m, l, V.t))),
    share = V.s >= 0 ? Math.max(0, ...links.map((l) => V.facts.share[l])) : 0,
    cls = useClass(share);
  if (geo.narrow) {
    put(g, `${fmtBytes(bytes)}   ${fmtShare(share)}`, right, ly, 14, share > 0.95 ? C.fulltext : C.ink, { bold: true, align: "right" });
    return;
  }
  put(g, fmtBytes(bytes), fx + 66, ly, 15, C.ink, { bold: true, align: "right" });
  box(g, fx + 76, mid - 5, 74, 11, 2, C.grid);
  box(g, fx + 76, mid - 5, 74 * Math.min(1, bytes / D.most), 11, 2, C.ink3);
  box(g, fx + 194, mid - 8, 130, 17, 2, C.grid);
  if (share > 0) box(g, fx + 194, mid - 8, Math.max(2, 130 * Math.min(1, share)), 17, 2, C[cls]);
  put(g, fmtShare(share), right, ly, 15, share > 0.95 ? C.fulltext : C.ink, { bold: true, align: "right" });
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

function drawAxis(g, V, geo, y, x) {
  const { m, C, W } = V,
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
  if (geo.fig) {
    put(g, W.of(fmtBytes(rowData(m, Math.max(1, Math.round(tw))).most)), geo.fig + 76, y + 19, 12.5, C.ink3);
    put(g, "0", geo.fig + 194, y + 19, 12.5, C.ink3);
    put(g, `100${NB}%`, geo.fig + 324, y + 19, 12.5, C.ink3, { align: "right" });
  }
}
