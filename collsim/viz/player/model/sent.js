// How many bytes each endpoint has sent and received by a moment, and how fast it does now.

import { hopAt } from "./hops.js";
import { activeAt } from "./model.js";
import { upTo } from "./order.js";

/** For each endpoint the moments at which its transfers have arrived, and the bytes of all up to there; `ends` says
 * whose a transfer is: `model.src` or `model.dst`. */
function arrivals(model, ends) {
  const of = Array.from({ length: model.endpoints }, () => ({ at: [], sum: [] }));
  for (const i of model.byEnd) {
    const counts = of[ends[i]];
    counts.at.push(model.t1[i]);
    counts.sum.push((counts.sum.at(-1) ?? 0) + model.bytes[i]);
  }
  return of;
}

/** Bytes by endpoint at t, with the shares of those under way. */
function bytesAt(model, ends, list, t, out) {
  for (let r = 0; r < model.endpoints; r++) {
    const q = upTo(list[r].at, t);
    out[r] = q ? list[r].sum[q - 1] : 0;
  }
  for (const i of activeAt(model, t)) out[ends[i]] += model.bytes[i] * hopAt(model, i, t).share;
  return out;
}

/** Bytes that every endpoint has sent by t. */
export function sentAt(model, t, out = new Float64Array(model.endpoints)) {
  model.sendings ??= arrivals(model, model.src);
  return bytesAt(model, model.src, model.sendings, t, out);
}

/** Bytes that every endpoint has received by t. */
export function receivedAt(model, t, out = new Float64Array(model.endpoints)) {
  model.receivings ??= arrivals(model, model.dst);
  return bytesAt(model, model.dst, model.receivings, t, out);
}

/** Bytes per second that leave and enter every endpoint at t, each transfer at its mean rate. */
export function ratesAt(model, t) {
  const out = new Float64Array(model.endpoints),
    into = new Float64Array(model.endpoints);
  for (const i of activeAt(model, t)) {
    const rate = model.bytes[i] / (model.t1[i] - model.t0[i]);
    out[model.src[i]] += rate;
    into[model.dst[i]] += rate;
  }
  return { out, into };
}
