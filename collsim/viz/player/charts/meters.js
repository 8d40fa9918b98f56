// Figures at the right of a row, at the cursor.

import { box, put } from "../draw/canvas.js";

/**
 * Two meters at the right of a row: bytes of `most`, and a second one with its text; on a narrow card only their texts.
 */
export function meters(ctx, view, geo, mid, ly, first, second) {
  const { colors } = view,
    fx = geo.fig,
    small = geo.rh < 20,
    size = small ? 12.5 : 15;
  if (geo.narrow) {
    put(ctx, `${first.text}   ${second.text}`, geo.x0 + geo.tw, ly, 14, second.color ?? colors.ink, {
      bold: true,
      align: "right",
      halo: colors.card,
    });
    return;
  }
  put(ctx, first.text, fx + 66, ly, size, colors.ink, { bold: true, align: "right" });
  box(ctx, fx + 76, mid - 5, 74, small ? 8 : 11, 2, colors.grid);
  box(ctx, fx + 76, mid - 5, 74 * Math.min(1, first.share), small ? 8 : 11, 2, colors.ink3);
  box(ctx, fx + 194, mid - (small ? 5 : 8), 130, small ? 9 : 17, 2, colors.grid);
  if (second.share > 0)
    box(
      ctx,
      fx + 194,
      mid - (small ? 5 : 8),
      Math.max(2, 130 * Math.min(1, second.share)),
      small ? 9 : 17,
      2,
      second.fill,
    );
  put(ctx, second.text, fx + 400, ly, size, second.color ?? colors.ink, { bold: true, align: "right" });
}
