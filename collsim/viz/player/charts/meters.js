// Figures at the right of a row, at the cursor.

import { meter, put } from "../draw/canvas.js";
import { useFill } from "../draw/cable.js";
import { useClass } from "../model/load.js";

/** Where the figures of a row end. */
export const rightOf = ({ narrow, x0, tw, fig }) => (narrow ? x0 + tw : fig + 400);

/** How the use of a cable looks in a meter. */
export const lookOfUse = (ctx, { colors, patterns }, share) => ({
  share,
  fill: useFill(ctx, colors, useClass(share), patterns),
  color: share > 0.95 ? colors.fulltext : colors.ink,
});

/**
 * Two meters at the right of a row: bytes of `most`, and a second one with its text; on a narrow card only their texts.
 */
export function meters(ctx, view, geo, mid, ly, first, second) {
  const { colors } = view,
    fx = geo.fig,
    small = geo.rh < 20,
    size = small ? 12.5 : 15,
    look = { bold: true, align: "right" },
    ink = second.color ?? colors.ink;
  if (geo.narrow) {
    put(ctx, `${first.text}   ${second.text}`, rightOf(geo), ly, 14, ink, { ...look, halo: colors.card });
    return;
  }
  put(ctx, first.text, fx + 66, ly, size, colors.ink, look);
  meter(ctx, fx + 76, mid - 5, 74, small ? 8 : 11, 2, { share: first.share, fill: colors.ink3, ground: colors.grid });
  const share = second.share > 0 ? Math.max(2 / 130, second.share) : 0;
  meter(ctx, fx + 194, mid - (small ? 5 : 8), 130, small ? 9 : 17, 2, {
    share,
    fill: second.fill,
    ground: colors.grid,
  });
  put(ctx, second.text, rightOf(geo), ly, size, ink, look);
}
