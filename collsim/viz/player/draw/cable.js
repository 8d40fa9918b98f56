// One cable in use: casing, core, and the patterns that stand for colours where there are none (print, grey, on
// request).

import { stroke } from "./canvas.js";
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
export function drawCable(g, C, pts, d, core, cls, kind, patterns) {
  if (!patterns) {
    stroke(g, pts, d + 1.6, C.edge);
    stroke(g, pts, d, C[`${cls}tint`]);
    stroke(g, pts, core, C[cls]);
    return;
  }
  if (cls === "full") {
    stroke(g, pts, d + 9, C.ink);
    stroke(g, pts, d + 6, C.card);
  }
  g.setLineDash(KIND_DASHES[kind] ?? []);
  stroke(g, pts, d + 3, C.ink);
  g.setLineDash([]);
  stroke(g, pts, d, C.card);
  stroke(g, pts, core, cls === "room" ? C.edge : C.ink);
  if (cls !== "near") return;
  g.setLineDash([2, 4]);
  stroke(g, pts, core + 1, C.card);
  g.setLineDash([]);
}

/** The fill of a bar of some class of use. */
export function useFill(g, C, cls, patterns) {
  if (!patterns) return C[cls];
  return cls === "room" ? C.edge : cls === "full" ? C.ink : hatch(g, C);
}

function hatch(g, C) {
  const tile = el("canvas", { width: 6, height: 6 }),
    t = tile.getContext("2d");
  t.fillStyle = C.card;
  t.fillRect(0, 0, 6, 6);
  t.strokeStyle = C.ink;
  t.lineWidth = 2;
  t.beginPath();
  for (const x of [-6, 0, 6]) {
    t.moveTo(x, 6);
    t.lineTo(x + 6, 0);
  }
  t.stroke();
  return g.createPattern(tile, "repeat");
}
