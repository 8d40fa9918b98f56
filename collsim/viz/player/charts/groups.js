// Several collectives in one run: whose a slot is, the colours of each, and a chart with a row for each.

import { put, widthOf } from "../draw/canvas.js";
import { svg, symbol } from "../draw/elements.js";
import { HUES, huesOfGroup } from "../model/look.js";
import { textAt } from "../model/read.js";

/**
 * Entries of the legend: colour, letter, name and slow-down of each collective, as long as they have colours of their
 * own.
 */
export const groupKeys = (model, colors, { words, language }, item) =>
  model.groups
    .slice(0, HUES.light.length + 1)
    .map((group, q) =>
      item(
        symbol(20, 20, svg("rect", { x: 1, y: 1, width: 18, height: 18, rx: 3.5, fill: huesOfGroup(colors, q).done })),
        `${group.name} ${textAt(group.label, 0, language)}` + `${words.colon}${textAt(group.note, 0, language)}`,
      ),
    );

/**
 * Where a collective would have ended alone: said beside the bar's faint part, on which ink can be read before and
 * after the cursor.
 */

function drawAlone(ctx, view, geo, group, y) {
  const X = (t) => geo.x0 + (t / (view.model.total || 1)) * geo.tw,
    at = X(group.alone);
  if (X(group.t1) - at < widthOf(ctx, view.words.alone, 12, true) + 10) return;
  ctx.fillStyle = view.colors.ink;
  ctx.fillRect(at - 1, y, 2, geo.bh);
  put(ctx, view.words.alone, at + 5, y + geo.bh / 2 + 4.3, 12, view.colors.ink, { bold: true });
}

/**
 * A row per collective: how long it would run alone (full colour), and what it waits for the others beside it (faint).
 */
export const groupChart = {
  lines: (model, _, language) =>
    model.groups.map((group, q) => ({ group, q, label: `${group.name} ${textAt(group.label, 0, language)}` })),
  bars(ctx, view, geo, lines) {
    const { tw, rh, bh, top, off } = geo,
      X = (t) => (t / (view.model.total || 1)) * tw;
    lines.forEach(({ group, q }, row) => {
      const colors = huesOfGroup(view.colors, q),
        y = top + row * rh + off,
        alone = Math.min(group.t1, group.alone);
      ctx.fillStyle = colors.sum2;
      ctx.fillRect(X(group.t0), y, Math.max(1, X(group.t1) - X(group.t0)), bh);
      ctx.fillStyle = colors.done;
      ctx.fillRect(X(group.t0), y, Math.max(1, X(alone) - X(group.t0)), bh);
    });
  },
  figure(ctx, view, geo, { group, q }, mid, ly) {
    drawAlone(ctx, view, geo, group, geo.top + q * geo.rh + geo.off);
    const text = textAt(group.note, 0, view.language),
      slow = group.slowdown > 1.005;
    put(
      ctx,
      text,
      geo.narrow ? geo.x0 + geo.tw : geo.fig + 400,
      ly,
      geo.rh < 20 ? 12.5 : 15,
      slow ? view.colors.fulltext : view.colors.ink,
      {
        bold: true,
        align: "right",
        halo: geo.narrow ? view.colors.card : null,
      },
    );
  },
};
