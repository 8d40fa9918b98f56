// More than 64 ranks: the matrix folded into strips, one per group of ranks, and saying so.

import { box, fillRect, put, wrap } from "../draw/canvas.js";
import { cellAt } from "../model/cells.js";
import { endpointGroups } from "./endpoints.js";
import { hues, ramp } from "../model/look.js";
import { nameOf } from "../model/names.js";
import { textAt } from "../model/read.js";
import { NB } from "../model/units.js";
import { fill } from "../../words/choice.js";

export const MAX_CELL_RANKS = 64;
const MAX_COLUMNS = 64;

/** How ranks and chunks are folded: groups of endpoints as rows, `per` neighbouring chunks as a column. */
export function folding(model, slots) {
  const per = Math.ceil(slots.length / MAX_COLUMNS),
    rows = endpointGroups(model);
  return { rows, per, columns: Math.ceil(slots.length / Math.max(1, per)) };
}

/** Mean contributions of the cells of one row and column, as a share of the goal. */
export function meanShare(model, members, slots, t) {
  let sum = 0;
  for (const e of members)
    for (const slot of slots) sum += Math.min(1, cellAt(model, e * model.slots + slot, t) / model.goals[slot]);
  return sum / (members.length * slots.length);
}

/** `3`, or `3–8` from the least to the most. */
function range(numbers) {
  const [least, most] = [Math.min(...numbers), Math.max(...numbers)];
  return least === most ? `${least}` : `${least}–${most}`;
}

export function drawHeat(ctx, view, w, h) {
  const { model, colors, words } = view,
    { rows, per, columns } = folding(model, view.slots),
    x0 = 78,
    right = 76,
    y0 = 62,
    cw = (w - x0 - right) / columns,
    ch = Math.min(24, (h - y0 - 60) / rows.length);
  const about = fill(words.heat[model.goal > 1 ? "sum" : "data"], { ranks: rows[0].members.length, chunks: per });
  wrap(ctx, about, 0, 13, w, 13, 18, colors.ink2, { most: 2 });
  view.grid = { heat: true, rows, per, x0, y0, cw, ch, columns };
  rows.forEach(({ members, panel }, q) => {
    const y = y0 + q * ch,
      done = range(members.map((e) => view.finished[e]));
    const name =
        panel >= 0
          ? textAt(model.panels.label, panel, view.language)
          : members.length > 1
            ? `${members[0]}–${members.at(-1)}`
            : nameOf(model, members[0], view.language),
      wrong = view.wrong != null && members.includes(model.mistake.rank);
    if (ch >= 12 || q % Math.ceil(13 / ch) === 0) {
      const look = { align: "right", bold: wrong };
      put(ctx, name, x0 - 8, y + ch / 2 + 4.5, 12, wrong ? colors.fulltext : colors.ink2, look);
      put(ctx, done, w, y + ch / 2 + 4.5, 12, colors.ink2, { align: "right" });
    }
    for (let c = 0; c < columns; c++) {
      const share = meanShare(model, members, view.slots.slice(c * per, (c + 1) * per), view.t),
        hue = hues(colors, model, view.slots[c * per]),
        shade = share > 0 ? ramp(hue, 1 + share * 14, 17) : colors.grid;
      fillRect(ctx, x0 + c * cw, y + 0.5, cw + 0.3, ch - 1, share >= 1 ? hue.done : shade);
    }
    if (wrong) box(ctx, x0 - 2, y - 1, columns * cw + 4, ch + 2, 3, null, colors.full, 2.4);
  });
  put(ctx, fill(words.doneOf, { count: range(model.asked) }), w, y0 - 6, 12, colors.ink3, { align: "right" });
  if (view.hover?.slot != null && view.slots.includes(view.hover.slot)) {
    const c = Math.floor(view.slots.indexOf(view.hover.slot) / per);
    box(ctx, x0 + c * cw - 1, y0 - 2, cw + 2, rows.length * ch + 4, 2, null, colors.ink, 1.5);
  }
  drawHeatKey(ctx, view, x0, y0 + rows.length * ch + 12);
}

/** The colours from few contributions to many, and what the first and the last one stand for. */
export function drawRamp(ctx, colors, x, y, shade, ends) {
  for (let q = 0; q < 14; q++) fillRect(ctx, x + q * 9, y, 9, 14, shade(q));
  put(ctx, ends[0], x, y + 28, 12, colors.ink2);
  put(ctx, ends[1], x + 126, y + 28, 12, colors.ink2, { align: "right" });
}

function drawHeatKey(ctx, { colors, words }, x, y) {
  drawRamp(ctx, colors, x, y, (q) => ramp(colors, 1 + q, 16), [`0${NB}%`, `100${NB}%`]);
  box(ctx, x + 142, y - 1, 17, 17, 2.5, colors.done);
  put(ctx, words.complete, x + 165, y + 12, 12.5, colors.ink2);
}
