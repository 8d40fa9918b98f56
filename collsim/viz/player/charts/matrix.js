// The rank x chunk matrix: who has contributed to what.

import { box, cross, fitFont, put, widthOf } from "../draw/canvas.js";
import { cellAt } from "../model/cells.js";
import { el } from "../draw/elements.js";
import { MOST_CELL_RANKS, drawHeat } from "./heat.js";
import { hex, hues, ramp } from "../model/look.js";
import { slotText } from "../model/model.js";
import { nameOf, panelOf } from "../model/names.js";

/** Geometry of the matrix: square cells, a gap where a node ends. */
function matrixLayout(m, slots, w, h) {
  const E = m.endpoints,
    x0 = E > m.ranks ? 48 : 34,
    y0 = 18;
  let gaps = 0;
  const before = [];
  for (let e = 0; e < E; e++) {
    if (e && panelOf(m, e) !== panelOf(m, e - 1)) gaps++;
    before.push(gaps);
  }
  const image = E * slots.length > 8192,
    gap = image ? 0 : E > 32 ? 2 : 5,
    cs = Math.max(
      0.5,
      Math.min(36, (w - x0 - 4) / Math.max(1, slots.length), (h - y0 - 56 - gaps * gap) / Math.max(1, E)),
    );
  const size = cs >= 4 ? Math.floor(cs * (cs > 12 ? 1 : 10)) / (cs > 12 ? 1 : 10) : cs;
  return {
    x0,
    y0,
    cs: size,
    y: (e) => y0 + 6 + e * size + before[e] * gap,
    height: y0 + 6 + E * size + gaps * gap,
    nums: size >= 18,
    image,
  };
}

export function drawMatrix(g, V, w, h) {
  if (V.m.ranks > MOST_CELL_RANKS) {
    drawHeat(g, V, w, h);
    return;
  }
  const { m, C, W } = V,
    L = (V.grid = matrixLayout(m, V.slots, w, h)),
    { cs } = L,
    inset = cs >= 11 ? 0.75 : cs >= 5 ? 0.4 : 0;
  const every = cs >= 16 ? 1 : cs >= 9 ? 2 : cs >= 4 ? 8 : cs >= 2 ? 16 : 64;
  let column = every; // names with the letter of a collective are wider than numbers
  while (column * cs < widestName(g, V) + 3 && column < V.slots.length) column *= 2;
  put(g, W.rank, 0, L.y0 - 4, 12, C.ink3);
  V.slots.forEach((slot, q) => {
    if (q % column === 0) put(g, slotText(V, slot), L.x0 + (q + 0.5) * cs, L.y0 - 4, 12, C.ink2, { align: "center" });
  });
  for (let e = 0; e < m.endpoints; e++) {
    const y = L.y(e);
    if (e % every === 0) {
      const name = nameOf(m, e, V.lang),
        size = fitFont(g, name, 12.5, L.x0 - 8, false, 8) || 8;
      put(g, name, L.x0 - 7, y + cs / 2 + 4.5, size, C.ink2, { align: "right", bold: V.hotRanks.has(e) });
    }
    if (!L.image)
      V.slots.forEach((slot, q) => drawMatrixCell(g, V, L.x0 + q * cs, y, cs, inset, e * m.slots + slot, L.nums));
  }
  if (L.image) drawMatrixImage(g, V, L);
  if (V.hover?.slot != null) {
    const q = V.slots.indexOf(V.hover.slot);
    if (q >= 0) box(g, L.x0 + q * cs - 1, L.y0 + 4, cs + 2, L.height - L.y0 - 2, 3, null, C.ink, 1.5);
  }
  if (V.wrong != null) markWrong(g, V, L);
  drawMatrixKey(g, V, L.height + 10, w);
}

/** Pixels that the widest name of a chunk takes: measured once, not at every frame. */
function widestName(g, V) {
  const { m } = V;
  if (m.widestName != null) return m.widestName;
  m.widestName = 0;
  for (let slot = 0; slot < m.slots; slot++)
    m.widestName = Math.max(m.widestName, widthOf(g, slotText(V, slot), 12, false));
  return m.widestName;
}

/** The cell of a schedule that does not verify. */
function markWrong(g, V, L) {
  const q = V.slots.indexOf(V.m.mistake.chunk);
  if (q >= 0) box(g, L.x0 + q * L.cs - 1.5, L.y(V.m.mistake.rank) - 1.5, L.cs + 3, L.cs + 3, 4, null, V.C.full, 3);
}

/** Thousands of cells as one small image, a pixel each, scaled up. */
function drawMatrixImage(g, V, L) {
  const { m, C } = V,
    w = V.slots.length,
    h = m.endpoints,
    small = el("canvas", { width: w, height: h }),
    ctx = small.getContext("2d"),
    img = ctx.createImageData(w, h);
  const shades = V.slots.map(() => new Map());
  const shade = (k, q, slot) => {
    const H = hues(C, m, slot),
      full = m.goals[slot];
    if (!shades[q].has(k))
      shades[q].set(k, !k ? hex(C.grid) : k >= full ? hex(H.done) : ramp(H, k, full).match(/\d+/g).map(Number));
    return shades[q].get(k);
  };
  for (let e = 0, p = 0; e < h; e++)
    V.slots.forEach((slot, q) => {
      const c = shade(cellAt(m, e * m.slots + slot, V.t), q, slot);
      img.data.set([c[0], c[1], c[2], 255], p);
      p += 4;
    });
  ctx.putImageData(img, 0, 0);
  g.imageSmoothingEnabled = false;
  g.drawImage(small, L.x0, L.y(0), w * L.cs, h * L.cs);
}

function drawMatrixCell(g, V, x, y, cs, inset, cell, nums) {
  const { m } = V,
    slot = cell % m.slots,
    C = hues(V.C, m, slot),
    goal = m.goals[slot],
    k = cellAt(m, cell, V.t),
    done = k >= goal && k > 0,
    w = cs - 2 * inset;
  const dock = V.docks?.get(cell),
    shade = (n) => (n > goal ? C.fulltint : n === goal ? C.done : n ? ramp(C, n, goal) : C.grid);
  g.fillStyle = shade(dock ? dock.was : k);
  if (cs < 8) {
    g.fillRect(x + inset, y + inset, w, w);
    if (V.sends.size < 0.2 * m.endpoints * m.slots && V.sends.has(cell)) {
      g.fillStyle = C.ink;
      g.fillRect(x + inset, y + inset, w, Math.max(1, w * 0.3));
    }
    return;
  }
  g.beginPath();
  g.roundRect(x + inset, y + inset, w, w, 2.5);
  g.fill();
  if (dock) {
    g.fillStyle = shade(k);
    if (dock.copy) {
      g.globalAlpha = dock.f;
      g.fill();
      g.globalAlpha = 1;
    } else g.fillRect(x + inset, y + inset + w * (1 - dock.f), w, w * dock.f);
  }
  const out = V.sends.has(cell),
    into = V.lands.has(cell),
    cx = x + cs / 2,
    fs = Math.min(15, Math.max(12, cs * 0.44));
  if (out)
    box(g, x + 1.5, y + 1.5, cs - 3, cs - 3, 2.5, null, V.hotCells.has(cell) ? C.full : C.ink, cs >= 16 ? 2 : 1.4);
  else if (into) box(g, x + 1.5, y + 1.5, cs - 3, cs - 3, 2.5, null, C.ink, 1.3, [3, 2.4]);
  if (V.wrong === cell && cs >= 10) cross(g, cx, y + cs / 2, cs * 0.2, done ? C.ontext : C.fulltext);
  else if (done && k === goal && cs >= 10) {
    g.beginPath();
    g.moveTo(cx - cs * 0.2, y + cs * 0.52);
    g.lineTo(cx - cs * 0.05, y + cs * 0.67);
    g.lineTo(cx + cs * 0.22, y + cs * 0.34);
    g.strokeStyle = C.ontext;
    g.lineWidth = Math.max(1.4, cs * 0.09);
    g.stroke();
  } else if (nums && k && (k > 1 || into || out || cs >= 30))
    put(g, String(k), cx, y + cs / 2 + fs * 0.36, fs, C.ink, { align: "center", bold: out || V.fresh.has(cell) });
}

function drawMatrixKey(g, V, y, w) {
  const { m, C, W } = V;
  let x = V.grid.x0;
  if (m.goal > 2) {
    for (let q = 0; q < 14; q++) {
      g.fillStyle = ramp(C, 1 + (q * (m.goal - 2)) / 13, m.goal);
      g.fillRect(x + q * 9, y, 9, 14);
    }
    put(g, "1", x, y + 28, 12, C.ink2);
    put(g, String(m.goal - 1), x + 126, y + 28, 12, C.ink2, { align: "right" });
    x += 142;
  }
  box(g, x, y - 1, 17, 17, 2.5, C.done);
  g.beginPath();
  g.moveTo(x + 4, y + 7.5);
  g.lineTo(x + 7.5, y + 11);
  g.lineTo(x + 13, y + 4);
  g.strokeStyle = C.ontext;
  g.lineWidth = 2;
  g.stroke();
  put(g, W.complete, x + 23, y + 12, 12.5, C.ink2);
  x += 90;
  box(g, x + 1, y + 1, 13, 13, 2.5, null, C.ink, 1.8);
  put(g, W.sending, x + 20, y + 12, 12.5, C.ink2);
  box(g, x + 1, y + 21, 13, 13, 2.5, null, C.ink, 1.3, [3, 2.4]);
  put(g, W.arriving, x + 20, y + 32, 12.5, C.ink2);
}
