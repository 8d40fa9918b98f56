// In the box of a node: how much of the cables inside it, and of those that leave it, is in use.

import { meter, put, stroke } from "./canvas.js";
import { useClass } from "../model/load.js";
import { textAt } from "../model/read.js";
import { MIN_TEXT_PX, onScreen } from "./ruler.js";
import { fmtShare } from "../model/units.js";

const LINE = 19; // of a bar with its name and its number
const THIN = 7; // of a bar alone

/** Pixels that the bars of a box need, 0 where there is no room for them. */
export function barsHeight(view, bars, w, h) {
  if (!bars?.length || h < 60) return 0;
  return bars.length * (named(view, w) ? Math.max(LINE, onScreen(view, MIN_TEXT_PX + 4)) : THIN) + 4;
}

/** Is there room for words beside the bars? */
const named = (view, w) => w * Math.min(1, view.k) >= 112;

/** The bars at the foot of the box of a node: name, share of capacity in use, number. */
export function drawNodeBars(ctx, view, bars, x, y, w, h) {
  const tall = barsHeight(view, bars, w, h),
    words = named(view, w),
    line = (tall - 4) / Math.max(1, bars.length),
    size = onScreen(view, MIN_TEXT_PX);
  bars.forEach(({ label, links }, q) => {
    const share = Math.max(0, ...links.map((l) => view.facts.share[l])),
      cls = useClass(share),
      top = y + h - tall + q * line,
      wide = words ? w - 116 : w - 12,
      at = words ? x + 62 : x + 6,
      high = words ? 9 : THIN - 2;
    meter(ctx, at, top + (line - high) / 2, wide, high, 2, { share, fill: view.colors[cls], ground: view.colors.grid });
    if (!words) return;
    const look = cls === "full" ? view.colors.fulltext : share > 1e-9 ? view.colors.ink : view.colors.ink3,
      text = share > 1e-9 ? fmtShare(share) : view.words.idleBar,
      [y0, bold] = [top + line / 2 + size * 0.36, share > 1e-9];
    put(ctx, textAt(label, 0, view.language), x + 8, y0, size, look, { bold });
    put(ctx, text, x + w - 8, y0, size, look, { bold, align: "right" });
  });
}

/** Two lines from the box of the open node to its panel. */
export function drawZoom(ctx, view) {
  const { model, colors } = view,
    devices = model.tl.devices,
    d = model.opened;
  if (d == null) return;
  const y = devices.y[d] + devices.h[d],
    top = model.panels.y[0];
  stroke(ctx, [devices.x[d], y, model.panels.x[0] + 6, top], 1, colors.edge);
  stroke(ctx, [devices.x[d] + devices.w[d], y, model.panels.x[0] + model.panels.w[0] - 6, top], 1, colors.edge);
}
