// How many bytes each rank has sent by a moment.

import { hopAt } from "../player/model/hops.js";
import { activeAt } from "../player/model/model.js";
import { upTo } from "../player/model/order.js";

/** For each rank the moments at which its transfers have arrived, and the bytes of all up to there. */
function sendings(model) {
  const of = Array.from({ length: model.endpoints }, () => ({ at: [], sum: [] }));
  for (const i of model.byEnd) {
    const counts = of[model.src[i]];
    counts.at.push(model.t1[i]);
    counts.sum.push((counts.sum.at(-1) ?? 0) + model.bytes[i]);
  }
  return of;
}

/** Bytes that every endpoint has sent by t, with the shares of those under way. */
export function sentAt(model, t, out = new Float64Array(model.endpoints)) {
  model.sendings ??= sendings(model);
  for (let r = 0; r < model.endpoints; r++) {
    const q = upTo(model.sendings[r].at, t);
    out[r] = q ? model.sendings[r].sum[q - 1] : 0;
  }
  for (const i of activeAt(model, t)) out[model.src[i]] += model.bytes[i] * hopAt(model, i, t).share;
  return out;
}
