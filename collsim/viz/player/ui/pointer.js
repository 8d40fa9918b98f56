// Pointing at things: what is under the pointer, and what is said about it.

import { cellAt } from "../model/cells.js";
import { invalidate, wordsOf } from "./context.js";
import { el } from "../draw/elements.js";
import { activity } from "../draw/endpoints.js";
import { distanceTo } from "../model/geometry.js";
import { meanShare } from "../draw/heat.js";
import { hopAt, journey, linkBytes, routeLinks, shareBetween, slotText, spanAt, stepAt } from "../model/model.js";
import { deviceName, linkName, nameOf } from "../model/names.js";
import { textAt } from "../model/read.js";
import { linesOf } from "../draw/rows.js";
import { casing } from "../draw/stage.js";
import { fmtBytes, fmtRate, fmtShare, timeUnit } from "../model/units.js";

export function hitStage(ui, x, y) {
  const { S, m, V } = ui;
  for (let q = V.drawn.length - 1; q >= 0; q--) {
    const k = V.drawn[q],
      r = k.size / 2 + 4;
    if (Math.abs(k.x - x) <= r && Math.abs(k.y - y) <= r)
      return { transfer: k.i, slot: m.chunk[k.i], waits: k.waits, queued: k.queued };
  }
  if (S.view === "logical") return null;
  const D = m.tl.devices;
  for (let q = D.x.length - 1; q >= 0; q--)
    if (x >= D.x[q] && x <= D.x[q] + D.w[q] && y >= D.y[q] && y <= D.y[q] + D.h[q]) return { device: q };
  let best = null,
    near = 1e9;
  for (let l = 0; l < m.nlinks; l++) {
    const dist = distanceTo(m.tl.links.path[l], x, y) - casing(m, l) / 2;
    if (dist < 4 && dist < near) {
      near = dist;
      best = { link: l };
    }
  }
  return best;
}

function tipLines(ui, hit) {
  const { S, m, V } = ui;
  const w = wordsOf(ui),
    L = m.tl.links;
  if (hit.transfer != null) {
    const i = hit.transfer,
      share = hopAt(m, i, V.t, {}).share,
      way = journey(m, m.chunk[i]),
      gone = way.ids.filter((q) => m.t1[q] <= V.t).length;
    const lines = [
      w.moveTip(slotText(V, m.chunk[i]), nameOf(m, m.src[i], S.lang), nameOf(m, m.dst[i], S.lang), w.op[m.reduce[i]]),
      m.k[i] >= m.goals[m.chunk[i]] ? w.whole : w.contains(m.k[i], m.goals[m.chunk[i]]),
    ];
    lines.push(hit.waits ? w.waitsTip : hit.queued ? w.queued : w.doneTip(fmtShare(share), fmtBytes(m.bytes[i])));
    lines.push(
      way.path && way.path.length <= 40
        ? w.journey(way.path.map((r, q) => (q === gone ? `[${r}]` : r)).join(" → "))
        : w.moves(gone, way.ids.length),
    );
    return lines;
  }
  if (hit.link != null) {
    const l = hit.link,
      b = linkBytes(m, l, V.t),
      share = V.facts.share[l],
      cap = L.bandwidth[l] * V.t;
    const now = V.act.filter((i) => routeLinks(m, m.route[i]).includes(l)),
      lines = [
        linkName(m, l, w, S.lang),
        `${textAt(L.label, l, S.lang)}, ${fmtRate(L.bandwidth[l])} ${w.perDir}`,
        w.sofarTip(fmtBytes(b), fmtShare(cap > 0 ? b / cap : 0)),
        share > 1e-9 ? w.usedTip(fmtShare(share), m.lockstep) : w.idleTip(m.lockstep),
      ];
    if (now.length)
      lines.push(
        w.nowTip(
          now
            .slice(0, 6)
            .map(
              (i) =>
                `${w.chunk} ${slotText(V, m.chunk[i])} (${nameOf(m, m.src[i], S.lang)} → ${nameOf(m, m.dst[i], S.lang)})`,
            )
            .join(", ") + (now.length > 6 ? ` … ${now.length}` : ""),
        ),
      );
    return lines;
  }
  if (hit.row != null) return rowLines(ui, hit);
  if (hit.heat) {
    const { heat, slots } = hit;
    return [
      w.ranksTo(heat[0], heat.at(-1)),
      `${w.chunk} ${slots[0]}–${slots.at(-1)}`,
      w.meanTip(fmtShare(meanShare(m, heat, slots, V.t))),
    ];
  }
  if (hit.device != null) {
    const e = m.tl.devices.endpoint[hit.device],
      lines = [deviceName(m, hit.device, w, S.lang)];
    if (e >= 0) lines.push(w.completeTip(V.finished[e], m.asked[e]));
    return lines;
  }
  const k = cellAt(m, hit.cell, V.t);
  return [
    `${w.rank} ${nameOf(m, hit.endpoint, S.lang)}, ${w.chunk} ${slotText(V, hit.slot)}`,
    k >= m.goals[hit.slot] ? w.whole : k ? w.contains(k, m.goals[hit.slot]) : w.emptyCell,
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
