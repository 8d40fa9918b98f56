// The key of the cables: each kind, its rate, and how much of it is used.

import { drawCable } from "./cable.js";
import { fitFont, put, stroke, widthOf } from "./canvas.js";
import { useClass } from "../model/load.js";
import { textAt } from "../model/read.js";
import { KEY_SCALE, LEAST, onScreen, pipeRuler } from "./ruler.js";
import { fmtRate, fmtShare } from "../model/units.js";

/** Largest share of this step over the cables of one kind, for the key. */
export function keyShare(m, share, entry) {
  const { kind, label } = m.tl.links,
    alone = m.key.filter((k) => k.kind === entry.kind).length < 2;
  let best = 0;
  for (let l = 0; l < m.nlinks; l++)
    if (kind[l] === entry.kind && share[l] > best && (alone || textAt(label, l, "en") === textAt(entry.label, 0, "en")))
      best = share[l];
  return best;
}

export const sameWords = (a, b) => a.replace(/\s/g, "") === b.replace(/\s/g, "");

export function drawKey(g, V) {
  const { m, C, W } = V,
    K = m.tl.stage.key;
  if (!K || !m.key.length || V.k < KEY_SCALE) return;
  const small = Math.max(13, onScreen(V, LEAST)),
    right = K.x + K.w,
    n = Math.min(m.key.length, Math.floor((K.h - 48) / 44)),
    rh = Math.min(52, (K.h - 48) / Math.max(1, n));
  put(g, W.keyCable, K.x, K.y + 18, small, C.ink3);
  put(g, m.lockstep ? W.keyUsed : W.keyNow, right, K.y + 18, small, C.ink3, { align: "right" });
  for (let q = 0; q <= n; q++) {
    g.fillStyle = C.line;
    g.fillRect(K.x, K.y + 28 + q * rh, K.w, 1);
  }
  for (let q = 0; q < n; q++) {
    const e = m.key[q],
      y = K.y + 28 + (q + 0.5) * rh,
      share = keyShare(m, V.facts.share, e),
      cls = useClass(share),
      hot = share > 0.95;
    const d = Math.min(22, Math.max(2, pipeRuler(m) * Math.sqrt(e.bandwidth / 1e9)));
    const bar = [K.x, y, K.x + 30, y];
    if (share > 1e-9)
      drawCable(g, C, bar, d, Math.max(2, d * Math.sqrt(Math.min(1, share)) * 0.5), cls, e.kind, V.patterns);
    else {
      stroke(g, bar, d + 1.6, C.idle);
      stroke(g, bar, d, C.sunk);
    }
    const label = textAt(e.label, 0, V.lang),
      used = widthOf(g, fmtShare(share), hot ? 19 : 15, true),
      size = fitFont(g, label, 14, K.w - 45 - used, true) || 10;
    put(g, label, K.x + 39, y - 3, size, hot ? C.fulltext : C.ink, { bold: true });
    if (!sameWords(label, fmtRate(e.bandwidth))) put(g, fmtRate(e.bandwidth), K.x + 39, y + 15, small, C.ink2);
    put(g, share > 1e-9 ? fmtShare(share) : "–", right, y + 5, hot ? 19 : 15, hot ? C.fulltext : C.ink, {
      bold: true,
      align: "right",
    });
  }
  put(g, W.nominal, K.x, K.y + 28 + n * rh + 18, small, C.ink3);
}
