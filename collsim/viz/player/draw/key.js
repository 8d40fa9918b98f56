// The key of the cables: each kind, its rate, and how much of it is used.

import { drawCable } from "./cable.js";
import { fillRect, fitFont, put, stroke, widthOf } from "./canvas.js";
import { useClass } from "../model/load.js";
import { textAt } from "../model/read.js";
import { KEY_SCALE, MIN_TEXT_PX, onScreen, pipeRuler } from "./ruler.js";
import { fmtRate, fmtShare } from "../model/units.js";

/** Largest share of this step over the cables of one kind, for the key. */
export function keyShare(model, share, entry) {
  const { kind, label } = model.tl.links,
    alone = model.key.filter((k) => k.kind === entry.kind).length < 2;
  let best = 0;
  for (let l = 0; l < model.nlinks; l++)
    if (kind[l] === entry.kind && share[l] > best && (alone || textAt(label, l, "en") === textAt(entry.label, 0, "en")))
      best = share[l];
  return best;
}

export const sameWords = (a, b) => a.replace(/\s/g, "") === b.replace(/\s/g, "");

export function drawKey(ctx, view) {
  const { model, colors, words } = view,
    K = model.tl.stage.key;
  if (!K || !model.key.length || view.k < KEY_SCALE) return;
  const small = Math.max(13, onScreen(view, MIN_TEXT_PX)),
    right = K.x + K.w,
    n = Math.min(model.key.length, Math.floor((K.h - 48) / 44)),
    rh = Math.min(52, (K.h - 48) / Math.max(1, n));
  put(ctx, words.keyCable, K.x, K.y + 18, small, colors.ink3);
  put(ctx, model.lockstep ? words.keyUsed : words.keyNow, right, K.y + 18, small, colors.ink3, { align: "right" });
  for (let q = 0; q <= n; q++) fillRect(ctx, K.x, K.y + 28 + q * rh, K.w, 1, colors.line);
  for (let q = 0; q < n; q++) {
    const e = model.key[q],
      y = K.y + 28 + (q + 0.5) * rh,
      share = keyShare(model, view.facts.share, e),
      cls = useClass(share),
      hot = share > 0.95;
    const d = Math.min(22, Math.max(2, pipeRuler(model) * Math.sqrt(e.bandwidth / 1e9)));
    const bar = [K.x, y, K.x + 30, y];
    if (share > 1e-9)
      drawCable(ctx, colors, bar, d, Math.max(2, d * Math.sqrt(Math.min(1, share)) * 0.5), cls, e.kind, view.patterns);
    else {
      stroke(ctx, bar, d + 1.6, colors.idle);
      stroke(ctx, bar, d, colors.sunk);
    }
    const label = textAt(e.label, 0, view.language),
      used = widthOf(ctx, fmtShare(share), hot ? 19 : 15, true),
      size = fitFont(ctx, label, 14, K.w - 45 - used, true) || 10;
    put(ctx, label, K.x + 39, y - 3, size, hot ? colors.fulltext : colors.ink, { bold: true });
    if (!sameWords(label, fmtRate(e.bandwidth))) put(ctx, fmtRate(e.bandwidth), K.x + 39, y + 15, small, colors.ink2);
    put(ctx, share > 1e-9 ? fmtShare(share) : "–", right, y + 5, hot ? 19 : 15, hot ? colors.fulltext : colors.ink, {
      bold: true,
      align: "right",
    });
  }
  put(ctx, words.nominal, K.x, K.y + 28 + n * rh + 18, small, colors.ink3);
}
