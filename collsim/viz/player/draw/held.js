// Ranks inside the box of a node that is drawn as one: a square for each, under the name of the box.

import { box, fillRect, fitFont, put } from "./canvas.js";
import { ranksWaiting, shareDone } from "../model/cells.js";

const GAP_HELD = 3; // pixels between squares
const LARGEST_HELD = 27;
const MIN_HELD = 8; // on the screen

/**
 * Squares for ranks in a box of w by h at x, y, in as many columns as let them be largest; none where they would be too
 * small to see.
 */
export function heldSquares(ranks, x, y, w, h, scale = 1) {
  const n = ranks.length;
  let size = 0,
    across = 1;
  for (let columns = 1; columns <= n; columns++) {
    const fits = Math.min(
      LARGEST_HELD,
      (w - GAP_HELD) / columns - GAP_HELD,
      (h - GAP_HELD) / Math.ceil(n / columns) - GAP_HELD,
    );
    if (fits > size + 1e-9) [size, across] = [fits, columns];
  }
  if (n < 2 || size * scale < MIN_HELD) return [];
  const rows = Math.ceil(n / across),
    x0 = x + (w - across * (size + GAP_HELD) + GAP_HELD) / 2,
    y0 = y + (h - rows * (size + GAP_HELD) + GAP_HELD) / 2;
  return ranks.map((rank, q) => ({
    rank,
    x: x0 + (q % across) * (size + GAP_HELD),
    y: y0 + Math.floor(q / across) * (size + GAP_HELD),
    size,
  }));
}

/**
 * A square fills from below with the finished chunks of its rank; its edge is ink while the rank sends or receives, and
 * dashed while it waits for the others.
 */
export function drawHeld(ctx, view, squares, busy, least) {
  const { model, colors } = view,
    waits = ranksWaiting(model, view.t, view.s),
    longest = "8".repeat(String(model.ranks - 1).length); // all have numbers, or none
  for (const { rank, x, y, size } of squares) {
    const done = shareDone(view, rank),
      on = busy.has(rank);
    if (waits.has(rank)) box(ctx, x - 2, y - 2, size + 4, size + 4, 4, null, colors.wait, 1.6, [2.5, 2.5]);
    box(ctx, x, y, size, size, 3, colors.card);
    fillRect(ctx, x, y + size * (1 - done), size, size * done, colors.sumfill);
    box(ctx, x, y, size, size, 3, null, on ? colors.ink : colors.edge, on ? 1.4 : 1);
    const text = String(rank),
      font = fitFont(ctx, longest, Math.max(12, least), size - 3, false, least);
    if (font) put(ctx, text, x + size / 2, y + size / 2 + font * 0.36, font, colors.ink, { align: "center" });
  }
}

/** Endpoints that send or receive now. */
export function busyEndpoints(view) {
  const busy = new Set();
  for (const i of view.act) busy.add(view.model.src[i]).add(view.model.dst[i]);
  return busy;
}
