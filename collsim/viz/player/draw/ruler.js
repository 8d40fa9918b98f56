// Sizes on the stage: how thick a cable is, and how small a letter may be.

import { measure, pointAt } from "../model/geometry.js";
import { linkBytes } from "../model/load.js";

/** No letter is smaller on the screen: what has no room for that is not written. */
export const LEAST = 12;

/** Below this scale the key of the cables stands under the stage. */
export const KEY_SCALE = 0.8;

/** Stage units that are so many pixels on the screen; a stage that is enlarged keeps its own size. */
export const onScreen = (V, pixels) => pixels / Math.min(1, V.k);

/**
 * Pixels of casing per square root of GB/s: one ruler for all cables, narrowed until the two directions of a cable fit
 * side by side.
 */
export function pipeRuler(m) {
  if (m.pipe) return m.pipe;
  const { src, dst, bandwidth, path } = m.tl.links,
    line = path.map(measure);
  const root = (l) => Math.sqrt(bandwidth[l] / 1e9),
    seen = new Map();
  const used = m.tl.routes.link.length ? [...new Set(m.tl.routes.link)] : [...src.keys()];
  const widest = Math.max(1e-9, ...used.map(root));
  let k = m.tl.stage.pipe ?? Math.max(9 / widest, Math.min(1.1, 19 / widest));
  for (let l = 0; l < src.length; l++) seen.set(src[l] * 1e6 + dst[l], l);
  for (let l = 0; l < src.length && !m.tl.stage.pipe; l++) {
    const back = seen.get(dst[l] * 1e6 + src[l]);
    if (back == null) continue;
    const a = pointAt(line[l], line[l].len / 2),
      b = pointAt(line[back], line[back].len / 2, {});
    const gap = Math.hypot(a.x - b.x, a.y - b.y);
    if (gap >= 3 && gap < 40) k = Math.min(k, gap / Math.max(root(l), root(back)));
  }
  return (m.pipe = k);
}

export const casing = (m, l) => Math.max(2, pipeRuler(m) * Math.sqrt(m.tl.links.bandwidth[l] / 1e9));

export function core(V, l) {
  const cap = V.m.tl.links.bandwidth[l] * V.m.total,
    b = linkBytes(V.m, l, V.t);
  return cap > 0 && b > 0 ? casing(V.m, l) * Math.sqrt(Math.min(1, b / cap)) : 0;
}
