// Sizes on the stage: how thick a cable is, and how small a letter may be.

import { measure, pointAt } from "../model/geometry.js";
import { linkBytes } from "../model/load.js";

/** No letter is smaller on the screen: what has no room for that is not written. */
export const MIN_TEXT_PX = 12;

/** Below this scale the key of the cables stands under the stage. */
export const KEY_SCALE = 0.8;

/** Stage units that are so many pixels on the screen; a stage that is enlarged keeps its own size. */
export const onScreen = (view, pixels) => pixels / Math.min(1, view.k);

/**
 * Pixels of casing per square root of GB/s: one ruler for all cables, narrowed until the two directions of a cable fit
 * side by side.
 */
export function pipeRuler(model) {
  if (model.pipe) return model.pipe;
  const { src, dst, bandwidth, path } = model.tl.links,
    line = path.map(measure);
  const root = (l) => Math.sqrt(bandwidth[l] / 1e9),
    seen = new Map();
  const used = model.tl.routes.link.length ? [...new Set(model.tl.routes.link)] : [...src.keys()];
  const widest = Math.max(1e-9, ...used.map(root));
  let k = model.tl.stage.pipe ?? Math.max(9 / widest, Math.min(1.1, 19 / widest));
  for (let l = 0; l < src.length; l++) seen.set(src[l] * 1e6 + dst[l], l);
  for (let l = 0; l < src.length && !model.tl.stage.pipe; l++) {
    const back = seen.get(dst[l] * 1e6 + src[l]);
    if (back == null) continue;
    const a = pointAt(line[l], line[l].len / 2),
      b = pointAt(line[back], line[back].len / 2, {});
    const gap = Math.hypot(a.x - b.x, a.y - b.y);
    if (gap >= 3 && gap < 40) k = Math.min(k, gap / Math.max(root(l), root(back)));
  }
  return (model.pipe = k);
}

export const casing = (model, l) => Math.max(2, pipeRuler(model) * Math.sqrt(model.tl.links.bandwidth[l] / 1e9));

export function core(view, l) {
  const cap = view.model.tl.links.bandwidth[l] * view.model.total,
    b = linkBytes(view.model, l, view.t);
  return cap > 0 && b > 0 ? casing(view.model, l) * Math.sqrt(Math.min(1, b / cap)) : 0;
}
