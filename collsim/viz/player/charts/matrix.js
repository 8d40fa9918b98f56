// The rank x chunk matrix: who has contributed to what.

import { bandOf } from "../model/order.js";
import { box, cross, fillRect, fitFont, put, stroke, widthOf } from "../draw/canvas.js";
import { cellAt } from "../model/cells.js";
import { el } from "../draw/elements.js";
import { MAX_CELL_RANKS, drawHeat, drawRamp } from "./heat.js";
import { hex, hues, mixRamp, ramp } from "../model/look.js";
import { slotText } from "../model/model.js";
import { nameOf, panelOf } from "../model/names.js";

/** Geometry of the matrix: square cells, a gap where a node ends. */
function matrixLayout(model, slots, w, h) {
  const endpointCount = model.endpoints,
    x0 = endpointCount > model.ranks ? 48 : 34,
    y0 = 18;
  let gaps = 0;
  const before = [];
  for (let e = 0; e < endpointCount; e++) {
    if (e && panelOf(model, e) !== panelOf(model, e - 1)) gaps++;
    before.push(gaps);
  }
  const image = endpointCount * slots.length > 8192,
    gap = image ? 0 : endpointCount > 32 ? 2 : 5,
    cs = Math.max(
      0.5,
      Math.min(36, (w - x0 - 4) / Math.max(1, slots.length), (h - y0 - 56 - gaps * gap) / Math.max(1, endpointCount)),
    );
  const size = cs >= 4 ? Math.floor(cs * (cs > 12 ? 1 : 10)) / (cs > 12 ? 1 : 10) : cs;
  return {
    x0,
    y0,
    cs: size,
    y: (e) => y0 + 6 + e * size + before[e] * gap,
    height: y0 + 6 + endpointCount * size + gaps * gap,
    nums: size >= 18,
    image,
  };
}

/** By the side of a cell in pixels: the gap around its square, and every which column has its number. */
const INSETS = [
  [11, 0.75],
  [5, 0.4],
];
const NUMBERED = [
  [16, 1],
  [9, 2],
  [4, 8],
  [2, 16],
];

export function drawMatrix(ctx, view, w, h) {
  if (view.model.ranks > MAX_CELL_RANKS) {
    drawHeat(ctx, view, w, h);
    return;
  }
  const { model, colors, words } = view,
    layout = (view.grid = matrixLayout(model, view.slots, w, h)),
    { cs } = layout,
    inset = bandOf(cs, INSETS, 0);
  const every = bandOf(cs, NUMBERED, 64);
  let column = every; // names with the letter of a collective are wider than numbers
  while (column * cs < widestName(ctx, view) + 3 && column < view.slots.length) column *= 2;
  put(ctx, words.rank, 0, layout.y0 - 4, 12, colors.ink3);
  view.slots.forEach((slot, q) => {
    if (q % column === 0)
      put(ctx, slotText(view, slot), layout.x0 + (q + 0.5) * cs, layout.y0 - 4, 12, colors.ink2, { align: "center" });
  });
  for (let e = 0; e < model.endpoints; e++) {
    const y = layout.y(e);
    if (e % every === 0) {
      const name = nameOf(model, e, view.language),
        size = fitFont(ctx, name, 12.5, layout.x0 - 8, false, 8) || 8;
      const look = { align: "right", bold: view.hotRanks.has(e) };
      put(ctx, name, layout.x0 - 7, y + cs / 2 + 4.5, size, colors.ink2, look);
    }
    if (!layout.image)
      view.slots.forEach((slot, q) =>
        drawMatrixCell(ctx, view, layout.x0 + q * cs, y, cs, inset, e * model.slots + slot, layout.nums),
      );
  }
  if (layout.image) drawMatrixImage(ctx, view, layout);
  if (view.hover?.slot != null) {
    const q = view.slots.indexOf(view.hover.slot);
    if (q >= 0)
      box(ctx, layout.x0 + q * cs - 1, layout.y0 + 4, cs + 2, layout.height - layout.y0 - 2, 3, null, colors.ink, 1.5);
  }
  if (view.wrong != null) markWrong(ctx, view, layout);
  drawMatrixKey(ctx, view, layout.height + 10);
}

/** Pixels that the widest name of a chunk takes: measured once, not at every frame. */
function widestName(ctx, view) {
  const { model } = view;
  if (model.widestName != null) return model.widestName;
  model.widestName = 0;
  for (let slot = 0; slot < model.slots; slot++)
    model.widestName = Math.max(model.widestName, widthOf(ctx, slotText(view, slot), 12, false));
  return model.widestName;
}

/** The cell of a schedule that does not verify. */
function markWrong(ctx, view, L) {
  const q = view.slots.indexOf(view.model.mistake.chunk);
  const [x, y, size] = [L.x0 + q * L.cs - 1.5, L.y(view.model.mistake.rank) - 1.5, L.cs + 3];
  if (q >= 0) box(ctx, x, y, size, size, 4, null, view.colors.full, 3);
}

/** Thousands of cells as one small image, a pixel each, scaled up. */
function drawMatrixImage(g, view, L) {
  const { model, colors } = view,
    w = view.slots.length,
    h = model.endpoints,
    small = el("canvas", { width: w, height: h }),
    ctx = small.getContext("2d"),
    img = ctx.createImageData(w, h);
  const shades = view.slots.map(() => new Map());
  const shade = (k, q, slot) => {
    const hue = hues(colors, model, slot),
      full = model.goals[slot];
    const mixed = () => (k >= full ? hex(hue.done) : mixRamp(hue, k, full));
    if (!shades[q].has(k)) shades[q].set(k, k ? mixed() : hex(colors.grid));
    return shades[q].get(k);
  };
  for (let e = 0, p = 0; e < h; e++)
    view.slots.forEach((slot, q) => {
      const c = shade(cellAt(model, e * model.slots + slot, view.t), q, slot);
      img.data.set([c[0], c[1], c[2], 255], p);
      p += 4;
    });
  ctx.putImageData(img, 0, 0);
  g.imageSmoothingEnabled = false;
  g.drawImage(small, L.x0, L.y(0), w * L.cs, h * L.cs);
}

function drawMatrixCell(ctx, view, x, y, cs, inset, cell, nums) {
  const { model } = view,
    slot = cell % model.slots,
    colors = hues(view.colors, model, slot),
    goal = model.goals[slot],
    k = cellAt(model, cell, view.t),
    done = k >= goal && k > 0,
    w = cs - 2 * inset;
  const dock = view.docks?.get(cell),
    shade = (n) => (n > goal ? colors.fulltint : n === goal ? colors.done : n ? ramp(colors, n, goal) : colors.grid);
  ctx.fillStyle = shade(dock ? dock.was : k);
  if (cs < 8) {
    ctx.fillRect(x + inset, y + inset, w, w);
    if (view.sends.size < 0.2 * model.endpoints * model.slots && view.sends.has(cell))
      fillRect(ctx, x + inset, y + inset, w, Math.max(1, w * 0.3), colors.ink);
    return;
  }
  ctx.beginPath();
  ctx.roundRect(x + inset, y + inset, w, w, 2.5);
  ctx.fill();
  if (dock) {
    ctx.fillStyle = shade(k);
    if (dock.copy) {
      ctx.globalAlpha = dock.f;
      ctx.fill();
      ctx.globalAlpha = 1;
    } else ctx.fillRect(x + inset, y + inset + w * (1 - dock.f), w, w * dock.f);
  }
  const out = view.sends.has(cell),
    into = view.lands.has(cell),
    cx = x + cs / 2,
    fs = Math.min(15, Math.max(12, cs * 0.44));
  const edge = view.hotCells.has(cell) ? colors.full : colors.ink;
  if (out) box(ctx, x + 1.5, y + 1.5, cs - 3, cs - 3, 2.5, null, edge, cs >= 16 ? 2 : 1.4);
  else if (into) box(ctx, x + 1.5, y + 1.5, cs - 3, cs - 3, 2.5, null, colors.ink, 1.3, [3, 2.4]);
  if (view.wrong === cell && cs >= 10) cross(ctx, cx, y + cs / 2, cs * 0.2, done ? colors.ontext : colors.fulltext);
  else if (done && k === goal && cs >= 10) {
    const mark = [cx - cs * 0.2, y + cs * 0.52, cx - cs * 0.05, y + cs * 0.67, cx + cs * 0.22, y + cs * 0.34];
    stroke(ctx, mark, Math.max(1.4, cs * 0.09), colors.ontext, { round: 0 });
  } else if (nums && k && (k > 1 || into || out || cs >= 30))
    put(ctx, String(k), cx, y + cs / 2 + fs * 0.36, fs, colors.ink, {
      align: "center",
      bold: out || view.fresh.has(cell),
    });
}

function drawMatrixKey(ctx, view, y) {
  const { model, colors, words } = view;
  let x = view.grid.x0;
  if (model.goal > 2) {
    const shade = (q) => ramp(colors, 1 + (q * (model.goal - 2)) / 13, model.goal);
    drawRamp(ctx, colors, x, y, shade, ["1", String(model.goal - 1)]);
    x += 142;
  }
  box(ctx, x, y - 1, 17, 17, 2.5, colors.done);
  stroke(ctx, [x + 4, y + 7.5, x + 7.5, y + 11, x + 13, y + 4], 2, colors.ontext, { round: 0 });
  put(ctx, words.complete, x + 23, y + 12, 12.5, colors.ink2);
  x += 90;
  box(ctx, x + 1, y + 1, 13, 13, 2.5, null, colors.ink, 1.8);
  put(ctx, words.sending, x + 20, y + 12, 12.5, colors.ink2);
  box(ctx, x + 1, y + 21, 13, 13, 2.5, null, colors.ink, 1.3, [3, 2.4]);
  put(ctx, words.arriving, x + 20, y + 32, 12.5, colors.ink2);
}
