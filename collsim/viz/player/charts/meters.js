// Figures at the right of a row, at the cursor.

import { box, put } from "../draw/canvas.js";

/**
 * Two meters at the right of a row: bytes of `most`, and a second one with its text; on a narrow card only their texts.
 */
export function meters(g, V, geo, mid, ly, first, second) {
  const { C } = V,
    fx = geo.fig,
    small = geo.rh < 20,
    size = small ? 12.5 : 15;
  if (geo.narrow) {
    put(g, `${first.text}   ${second.text}`, geo.x0 + geo.tw, ly, 14, second.color ?? C.ink, {
      bold: true,
      align: "right",
      halo: C.card,
    });
    return;
  }
  put(g, first.text, fx + 66, ly, size, C.ink, { bold: true, align: "right" });
  box(g, fx + 76, mid - 5, 74, small ? 8 : 11, 2, C.grid);
  box(g, fx + 76, mid - 5, 74 * Math.min(1, first.share), small ? 8 : 11, 2, C.ink3);
  box(g, fx + 194, mid - (small ? 5 : 8), 130, small ? 9 : 17, 2, C.grid);
  if (second.share > 0)
    box(
      g,
      fx + 194,
      mid - (small ? 5 : 8),
      Math.max(2, 130 * Math.min(1, second.share)),
      small ? 9 : 17,
      2,
      second.fill,
    );
  put(g, second.text, fx + 400, ly, size, second.color ?? C.ink, { bold: true, align: "right" });
}
