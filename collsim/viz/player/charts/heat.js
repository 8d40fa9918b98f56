// More than 64 ranks: the matrix folded into strips, one per group of ranks, and saying so.

import { box, put, wrap } from "../draw/canvas.js";
import { cellAt } from "../model/cells.js";
import { endpointGroups } from "./endpoints.js";
import { hues, ramp } from "../model/look.js";
import { nameOf } from "../model/names.js";
import { textAt } from "../model/read.js";
import { NB } from "../model/units.js";

export const MOST_CELL_RANKS = 64;
const MOST_COLUMNS = 64;

/** How ranks and chunks are folded: groups of endpoints as rows, `per` neighbouring chunks as a column. */
export function folding(m, slots) {
  const per = Math.ceil(slots.length / MOST_COLUMNS),
    rows = endpointGroups(m);
  return { rows, per, columns: Math.ceil(slots.length / Math.max(1, per)) };
}

/** Mean contributions of the cells of one row and column, as a share of the goal. */
export function meanShare(m, members, slots, t) {
  let sum = 0;
  for (const e of members)
    for (const slot of slots) sum += Math.min(1, cellAt(m, e * m.slots + slot, t) / m.goals[slot]);
  return sum / (members.length * slots.length);
}

/** `3`, or `3–8` from the least to the most. */
function range(numbers) {
  const [least, most] = [Math.min(...numbers), Math.max(...numbers)];
  return least === most ? `${least}` : `${least}–${most}`;
}

export function drawHeat(g, V, w, h) {
  const { m, C, W } = V,
    { rows, per, columns } = folding(m, V.slots),
    x0 = 78,
    right = 76,
    y0 = 62,
    cw = (w - x0 - right) / columns,
    ch = Math.min(24, (h - y0 - 60) / rows.length);
  wrap(g, W.heat(rows[0].members.length, per, m.goal > 1), 0, 13, w, 13, 18, C.ink2, 2);
  V.grid = { heat: true, rows, per, x0, y0, cw, ch, columns };
  rows.forEach(({ members, panel }, q) => {
    const y = y0 + q * ch,
      done = range(members.map((e) => V.finished[e]));
    const name =
        panel >= 0
          ? textAt(m.panels.label, panel, V.lang)
          : members.length > 1
            ? `${members[0]}–${members.at(-1)}`
            : nameOf(m, members[0], V.lang),
      wrong = V.wrong != null && members.includes(m.mistake.rank);
    if (ch >= 12 || q % Math.ceil(13 / ch) === 0) {
      put(g, name, x0 - 8, y + ch / 2 + 4.5, 12, wrong ? C.fulltext : C.ink2, { align: "right", bold: wrong });
      put(g, done, w, y + ch / 2 + 4.5, 12, C.ink2, { align: "right" });
    }
    for (let c = 0; c < columns; c++) {
      const share = meanShare(m, members, V.slots.slice(c * per, (c + 1) * per), V.t),
        H = hues(C, m, V.slots[c * per]);
      g.fillStyle = share >= 1 ? H.done : share > 0 ? ramp(H, 1 + share * 14, 17) : C.grid;
      g.fillRect(x0 + c * cw, y + 0.5, cw + 0.3, ch - 1);
    }
    if (wrong) box(g, x0 - 2, y - 1, columns * cw + 4, ch + 2, 3, null, C.full, 2.4);
  });
  put(g, W.doneOf(range(m.asked)), w, y0 - 6, 12, C.ink3, { align: "right" });
  if (V.hover?.slot != null && V.slots.includes(V.hover.slot)) {
    const c = Math.floor(V.slots.indexOf(V.hover.slot) / per);
    box(g, x0 + c * cw - 1, y0 - 2, cw + 2, rows.length * ch + 4, 2, null, C.ink, 1.5);
  }
  drawRamp(g, V, x0, y0 + rows.length * ch + 12);
}

function drawRamp(g, V, x, y) {
  const { C, W } = V;
  for (let q = 0; q < 14; q++) {
    g.fillStyle = ramp(C, 1 + q, 16);
    g.fillRect(x + q * 9, y, 9, 14);
  }
  put(g, `0${NB}%`, x, y + 28, 12, C.ink2);
  put(g, `100${NB}%`, x + 126, y + 28, 12, C.ink2, { align: "right" });
  box(g, x + 142, y - 1, 17, 17, 2.5, C.done);
  put(g, W.complete, x + 165, y + 12, 12.5, C.ink2);
}
