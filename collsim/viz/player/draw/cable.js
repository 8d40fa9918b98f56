// One cable in use: casing, core, and the patterns that stand for colours where there are none (print, grey, on
// request).

import { fillRect, stroke } from "./canvas.js";
import { el } from "./elements.js";

/** Edges of a casing by kind of link, where colour is not to be relied on. */
const KIND_DASHES = {
  nvlink: [],
  pcie: [7, 4],
  infiniband: [2, 3],
  ethernet: [8, 3, 2, 3],
  upi: [4, 4],
  memory: [1, 3],
  c2c: [12, 3],
  xgmi: [12, 3, 2, 3],
};

/**
 * A cable along `pts` with a casing of d px and a core of `core` px. With patterns the edge of the casing tells the
 * kind; the core is grey with room left, ticked when nearly full, and full it is solid with a double line round the
 * cable.
 */
export function drawCable(ctx, colors, pts, d, core, cls, kind, patterns) {
  if (!patterns) {
    stroke(ctx, pts, d + 1.6, colors.edge);
    stroke(ctx, pts, d, colors[`${cls}tint`]);
    stroke(ctx, pts, core, colors[cls]);
    return;
  }
  if (cls === "full") {
    stroke(ctx, pts, d + 9, colors.ink);
    stroke(ctx, pts, d + 6, colors.card);
  }
  stroke(ctx, pts, d + 3, colors.ink, { dash: KIND_DASHES[kind] });
  stroke(ctx, pts, d, colors.card);
  stroke(ctx, pts, core, cls === "room" ? colors.edge : colors.ink);
  if (cls === "near") stroke(ctx, pts, core + 1, colors.card, { dash: [2, 4] });
}

/** The fill of a bar of some class of use. */
export function useFill(ctx, colors, cls, patterns) {
  if (!patterns) return colors[cls];
  return cls === "room" ? colors.edge : cls === "full" ? colors.ink : hatch(ctx, colors);
}

function hatch(ctx, colors) {
  const tile = el("canvas", { width: 6, height: 6 }),
    t = tile.getContext("2d");
  fillRect(t, 0, 0, 6, 6, colors.card);
  for (const x of [-6, 0, 6]) stroke(t, [x, 6, x + 6, 0], 2, colors.ink);
  return ctx.createPattern(tile, "repeat");
}
