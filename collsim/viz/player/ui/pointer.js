// Pointing at things: what is under the pointer, and what is said about it.

import { cellAt } from "../model/cells.js";
import { invalidate, wordsOf } from "./context.js";
import { el } from "../draw/elements.js";
import { activity } from "../charts/endpoints.js";
import { distanceTo } from "../model/geometry.js";
import { meanShare } from "../charts/heat.js";
import { hopAt, journey, routeLinks } from "../model/hops.js";
import { linkBytes, shareBetween, spanAt } from "../model/load.js";
import { slotText, stepAt } from "../model/model.js";
import { deviceName, linkName, nameOf } from "../model/names.js";
import { textAt } from "../model/read.js";
import { linesOf } from "../charts/rows.js";
import { casing } from "../draw/ruler.js";
import { fmtBytes, fmtRate, fmtShare, timeUnit } from "../model/units.js";

export function hitStage(ui, x, y) {
  const { S, m, shown } = ui,
    V = ui.P ?? ui.V;
  for (let q = V.drawn.length - 1; q >= 0; q--) {
    const k = V.drawn[q],
      r = k.size / 2 + 4;
    if (Math.abs(k.x - x) <= r && Math.abs(k.y - y) <= r)
      return { transfer: k.i, slot: m.chunk[k.i], waits: k.waits, queued: k.queued, of: k.of };
  }
  if (S.view === "logical") return null;
  const D = shown.tl.devices;
  for (let q = D.x.length - 1; q >= 0; q--)
    if (x >= D.x[q] && x <= D.x[q] + D.w[q] && y >= D.y[q] && y <= D.y[q] + D.h[q]) return { device: q };
  let best = null,
    near = 1e9;
  for (let l = 0; l < m.nlinks; l++) {
    const dist = distanceTo(shown.tl.links.path[l], x, y) - casing(shown, l) / 2;
    if (dist < 4 && dist < near) {
      near = dist;
      best = { link: l };
    }
  }
  return best;
}

/** What is said about what is under the pointer, a line each. */
function tipLines(ui, hit) {
  if (hit.of) return bundleLines(ui, hit);
  if (hit.transfer != null) return transferLines(ui, hit);
  if (hit.link != null) return linkLines(ui, hit.link);
  if (hit.row != null) return rowLines(ui, hit);
  if (hit.heat) return heatLines(ui, hit);
  if (hit.device != null) return deviceLines(ui, hit.device);
  return cellLines(ui, hit);
}

function transferLines(ui, { transfer: i, waits, queued }) {
  const { S, m, V } = ui,
    w = wordsOf(ui),
    slot = m.chunk[i],
    { path, ids } = journey(m, slot),
    gone = ids.filter((q) => m.t1[q] <= V.t).length;
  return [
    w.moveTip(slotText(V, slot), nameOf(m, m.src[i], S.lang), nameOf(m, m.dst[i], S.lang), w.op[m.reduce[i]]),
    m.k[i] >= m.goals[slot] ? w.whole : w.contains(m.k[i], m.goals[slot]),
    waits ? w.waitsTip : queued ? w.queued : w.doneTip(fmtShare(hopAt(m, i, V.t, {}).share), fmtBytes(m.bytes[i])),
    path && path.length <= 40
      ? w.journey(path.map((r, q) => (q === gone ? `[${r}]` : r)).join(" → "))
      : w.moves(gone, ids.length),
  ];
}

/** What a token with a number stands for: its chunks, between whom, on which channels, bytes in all. */
function bundleLines(ui, { of, waits }) {
  const { S, m } = ui,
    w = wordsOf(ui),
    pairs = new Set(of.map((i) => `${nameOf(m, m.src[i], S.lang)} → ${nameOf(m, m.dst[i], S.lang)}`)),
    channels = new Set(of.map((i) => m.channel[i]));
  return [
    w.bundleTip(of.length, pairs.size > 3 ? w.pairs(pairs.size) : [...pairs].join(", ")),
    ...(m.channels > 1 ? [w.bundleChannels(of.length, channels.size, m.channels)] : []),
    ...(waits ? [w.waitsTip] : []),
    w.inAll(fmtBytes(of.reduce((sum, i) => sum + m.bytes[i], 0))),
  ];
}

function linkLines(ui, l) {
  const { S, m, V } = ui,
    w = wordsOf(ui),
    L = m.tl.links,
    carried = linkBytes(m, l, V.t),
    share = V.facts.share[l],
    most = L.bandwidth[l] * V.t;
  const lines = [
    linkName(ui.shown, l, w, S.lang),
    `${textAt(L.label, l, S.lang)}, ${fmtRate(L.bandwidth[l])} ${w.perDir}`,
    w.sofarTip(fmtBytes(carried), fmtShare(most > 0 ? carried / most : 0)),
    share > 1e-9 ? w.usedTip(fmtShare(share), m.lockstep) : w.idleTip(m.lockstep),
  ];
  const now = V.act.filter((i) => routeLinks(m, m.route[i]).includes(l)),
    shown = now.slice(0, 6).map((i) => {
      const ends = `${nameOf(m, m.src[i], S.lang)} → ${nameOf(m, m.dst[i], S.lang)}`;
      return `${w.chunk} ${slotText(V, m.chunk[i])} (${ends})`;
    });
  if (now.length) lines.push(w.nowTip(shown.join(", ") + (now.length > 6 ? ` … ${now.length}` : "")));
  return lines;
}

function heatLines(ui, { heat, slots }) {
  const w = wordsOf(ui);
  return [
    w.ranksTo(heat[0], heat.at(-1)),
    `${w.chunk} ${slots[0]}–${slots.at(-1)}`,
    w.meanTip(fmtShare(meanShare(ui.m, heat, slots, ui.V.t))),
  ];
}

function deviceLines(ui, device) {
  const { S, m, V, shown } = ui,
    w = wordsOf(ui),
    e = shown.tl.devices.endpoint[device],
    name = deviceName(shown, device, w, S.lang);
  return e >= 0 ? [name, w.completeTip(V.finished[e], m.asked[e])] : [name];
}

function cellLines(ui, { cell, endpoint, slot }) {
  const { S, m, V } = ui,
    w = wordsOf(ui),
    k = cellAt(m, cell, V.t);
  return [
    `${w.rank} ${nameOf(m, endpoint, S.lang)}, ${w.chunk} ${slotText(V, slot)}`,
    k >= m.goals[slot] ? w.whole : k ? w.contains(k, m.goals[slot]) : w.emptyCell,
  ];
}

function showTip(ui, hit, ev) {
  const { d, V } = ui;
  if (!V) return;
  const same =
    V.hover &&
    hit &&
    V.hover.transfer === hit.transfer &&
    V.hover.link === hit.link &&
    V.hover.device === hit.device &&
    V.hover.cell === hit.cell &&
    V.hover.slot === hit.slot;
  V.hover = hit;
  if (!hit) {
    hideTip(ui);
    return;
  }
  const lines = tipLines(ui, hit),
    r = d.card.getBoundingClientRect();
  d.tip.replaceChildren(
    ...lines.map((t, q) => el(q ? "span" : "b", { textContent: t, style: q ? "display:block" : "" })),
  );
  d.tip.style.display = "block";
  const x = ev.clientX - r.left + 14,
    y = ev.clientY - r.top + 14,
    tw = d.tip.offsetWidth,
    th = d.tip.offsetHeight;
  d.tip.style.left = `${Math.max(4, x + tw > r.width - 8 ? x - tw - 28 : x)}px`;
  d.tip.style.top = `${y + th > r.height - 4 ? Math.max(4, y - th - 28) : y}px`;
  if (!same) invalidate(ui);
}

export function hideTip(ui) {
  const { d } = ui;
  d.tip.style.display = "none";
  if (ui.V?.hover) {
    ui.V.hover = null;
    invalidate(ui);
  }
}

export function onStageMove(ui, ev) {
  const { d, S, V } = ui;
  if (!V) return;
  const r = d.live.getBoundingClientRect(),
    x = ev.clientX - r.left,
    y = ev.clientY - r.top;
  showTip(ui, S.view === "logical" ? hitStage(ui, x, y) : hitStage(ui, (x - S.ox) / S.k, (y - S.oy) / S.k), ev);
}

export function onMatrixMove(ui, ev) {
  const { d, m, V } = ui;
  if (!V?.grid) return;
  const r = d.matrix.getBoundingClientRect(),
    x = ev.clientX - r.left,
    y = ev.clientY - r.top,
    G = V.grid;
  if (G.heat) {
    onHeatMove(ui, G, Math.floor((x - G.x0) / G.cw), Math.floor((y - G.y0) / G.ch), ev);
    return;
  }
  const q = Math.floor((x - G.x0) / G.cs),
    e = Array.from({ length: m.endpoints }, (_, k) => k).find((k) => y >= G.y(k) && y < G.y(k) + G.cs);
  if (q < 0 || q >= V.slots.length || e == null) {
    showTip(ui, null);
    return;
  }
  showTip(ui, { slot: V.slots[q], endpoint: e, cell: e * m.slots + V.slots[q] }, ev);
}

function onHeatMove(ui, G, column, row, ev) {
  const { V } = ui;
  if (column < 0 || column >= G.columns || !G.rows[row]) {
    showTip(ui, null);
    return;
  }
  const slots = V.slots.slice(column * G.per, (column + 1) * G.per);
  showTip(ui, { heat: G.rows[row].members, slots, slot: slots[0], cell: `${row},${column}` }, ev);
}

/** On the rows: what the row does at the moment under the pointer; a stretch of one transfer lights its chunk. */
export function onRowsMove(ui, ev) {
  const { d, S, m, V } = ui,
    { geo } = S;
  if (!V || !m.total) return;
  const r = d.rowsCanvas.getBoundingClientRect(),
    q = Math.floor((ev.clientY - r.top - geo.top) / geo.rh),
    t = ((ev.clientX - r.left - geo.x0) / geo.tw) * m.total;
  const line = linesOf(m, S.chart, V.W, S.lang)[q];
  if (!line || line.idle || t < 0 || t > m.total) {
    showTip(ui, null);
    return;
  }
  const low = (ev.clientY - r.top - geo.top - q * geo.rh - geo.off) / geo.bh > 0.28;
  const at =
    line.endpoint == null ? null : activity(m, line.endpoint, low ? "dst" : "src").find(({ a, b }) => a <= t && t < b);
  const one = at?.n === 1 ? { slot: m.chunk[at.i] } : {};
  showTip(ui, { row: q, line, at, when: t, low, ...one }, ev);
}

/** What a row says about the moment under the pointer. */
function rowLines(ui, { line, at, when, low }) {
  const { S, m, V } = ui,
    w = V.W,
    u = timeUnit(m.total);
  if (line.links) {
    const { a, b } = spanAt(m, when, stepAt(m, when)),
      share = Math.max(0, ...line.links.map((l) => shareBetween(m, l, a, b))),
      bytes = Math.max(0, ...line.links.map((l) => linkBytes(m, l, when)));
    return [line.label, u.fmt(when), w.sofarRow(fmtBytes(bytes)), w.usedRow(fmtShare(share))];
  }
  if (line.group)
    return [line.label, `${u.fmt(line.group.t0)} – ${u.fmt(line.group.t1)}`, textAt(line.group.note, 0, S.lang)];
  if (line.members.length > 1) return [line.label, u.fmt(when)];
  if (!at) return [line.label, u.fmt(when), w.nothing[low ? 1 : 0]];
  if (at.n > 1) return [line.label, `${u.fmt(at.a)} – ${u.fmt(at.b)}`, w.several[low ? 1 : 0](at.n)];
  const i = at.i;
  return [
    line.label,
    w.moveTip(slotText(V, m.chunk[i]), nameOf(m, m.src[i], S.lang), nameOf(m, m.dst[i], S.lang), w.op[m.reduce[i]]),
    `${u.fmt(m.t0[i])} – ${u.fmt(m.t1[i])}, ${fmtBytes(m.bytes[i])}`,
  ];
}
