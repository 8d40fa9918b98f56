// Several collectives in one run: whose a slot is, the colours of each, and a chart with a row for each.

import { fillRect, put, widthOf } from "../draw/canvas.js";
import { svg, symbol } from "../draw/elements.js";
import { HUES, huesOfGroup } from "../model/look.js";
import { rightOf } from "./meters.js";
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
  const at = geo.x0 + geo.across(group.alone);
  if (geo.across(group.t1) - geo.across(group.alone) < widthOf(ctx, view.words.alone, 12, true) + 10) return;
  fillRect(ctx, at - 1, y, 2, geo.bh, view.colors.ink);
  put(ctx, view.words.alone, at + 5, y + geo.bh / 2 + 4.3, 12, view.colors.ink, { bold: true });
}

/**
 * A row per collective: how long it would run alone (full colour), and what it waits for the others beside it (faint).
 */
export const groupChart = {
  lines: (model, _, language) =>
    model.groups.map((group, q) => ({ group, q, label: `${group.name} ${textAt(group.label, 0, language)}` })),
  bars(ctx, view, geo, lines) {
    lines.forEach(({ group, q }, row) => {
      const { sum2, done } = huesOfGroup(view.colors, q),
        x = geo.across(group.t0);
      for (const [end, fill] of [
        [group.t1, sum2],
        [Math.min(group.t1, group.alone), done],
      ])
        fillRect(ctx, x, geo.y(row), Math.max(1, geo.across(end) - x), geo.bh, fill);
    });
  },
  figure(ctx, view, geo, { group, q }, mid, ly) {
    drawAlone(ctx, view, geo, group, geo.y(q));
    const ink = group.slowdown > 1.005 ? view.colors.fulltext : view.colors.ink,
      look = { bold: true, align: "right", halo: geo.narrow ? view.colors.card : null };
    put(ctx, textAt(group.note, 0, view.language), rightOf(geo), ly, geo.rh < 20 ? 12.5 : 15, ink, look);
  },
};
