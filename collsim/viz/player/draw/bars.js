// In the box of a node: how much of the cables inside it, and of those that leave it, is in use.

import { box, put, stroke } from "./canvas.js";
import { useClass } from "../model/load.js";
import { textAt } from "../model/read.js";
import { LEAST, onScreen } from "./ruler.js";
import { fmtShare } from "../model/units.js";

const LINE = 19; // of a bar with its name and its number
const THIN = 7; // of a bar alone

/** Pixels that the bars of a box need, 0 where there is no room for them. */
export function barsHeight(V, bars, w, h) {
  if (!bars?.length || h < 60) return 0;
  return bars.length * (named(V, w) ? Math.max(LINE, onScreen(V, LEAST + 4)) : THIN) + 4;
}

/** Is there room for words beside the bars? */
const named = (V, w) => w * Math.min(1, V.k) >= 112;

/** The bars at the foot of the box of a node: name, share of capacity in use, number. */
export function drawNodeBars(g, V, bars, x, y, w, h) {
  const tall = barsHeight(V, bars, w, h),
    words = named(V, w),
    line = (tall - 4) / Math.max(1, bars.length),
    size = onScreen(V, LEAST);
  bars.forEach(({ label, links }, q) => {
    const share = Math.max(0, ...links.map((l) => V.facts.share[l])),
      cls = useClass(share),
      top = y + h - tall + q * line,
      wide = words ? w - 116 : w - 12,
      at = words ? x + 62 : x + 6,
      high = words ? 9 : THIN - 2;
    box(g, at, top + (line - high) / 2, wide, high, 2, V.C.grid);
    if (share > 1e-9) box(g, at, top + (line - high) / 2, wide * Math.min(1, share), high, 2, V.C[cls]);
    if (!words) return;
    const look = cls === "full" ? V.C.fulltext : share > 1e-9 ? V.C.ink : V.C.ink3,
      text = share > 1e-9 ? fmtShare(share) : V.W.idleBar;
    put(g, textAt(label, 0, V.lang), x + 8, top + line / 2 + size * 0.36, size, look, { bold: share > 1e-9 });
    put(g, text, x + w - 8, top + line / 2 + size * 0.36, size, look, { bold: share > 1e-9, align: "right" });
  });
}

/** Two lines from the box of the open node to its panel. */
export function drawZoom(g, V) {
  const { m, C } = V,
    D = m.tl.devices,
    d = m.opened;
  if (d == null) return;
  const y = D.y[d] + D.h[d],
    top = m.panels.y[0];
  stroke(g, [D.x[d], y, m.panels.x[0] + 6, top], 1, C.edge);
  stroke(g, [D.x[d] + D.w[d], y, m.panels.x[0] + m.panels.w[0] - 6, top], 1, C.edge);
}
