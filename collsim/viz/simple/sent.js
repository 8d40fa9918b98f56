// How many bytes each rank has sent by a moment.

import { hopAt } from "../player/model/hops.js";
import { activeAt } from "../player/model/model.js";
import { upTo } from "../player/model/order.js";

/** For each rank the moments at which its transfers have arrived, and the bytes of all up to there. */
function sendings(m) {
  const of = Array.from({ length: m.endpoints }, () => ({ at: [], sum: [] }));
  for (const i of m.byEnd) {
    const one = of[m.src[i]];
    one.at.push(m.t1[i]);
    one.sum.push((one.sum.at(-1) ?? 0) + m.bytes[i]);
  }
  return of;
}

/** Bytes that every endpoint has sent by t, with the shares of those under way. */
export function sentAt(m, t, out = new Float64Array(m.endpoints)) {
  m.sendings ??= sendings(m);
  for (let r = 0; r < m.endpoints; r++) {
    const q = upTo(m.sendings[r].at, t);
    out[r] = q ? m.sendings[r].sum[q - 1] : 0;
  }
  for (const i of activeAt(m, t)) out[m.src[i]] += m.bytes[i] * hopAt(m, i, t).share;
  return out;
}
