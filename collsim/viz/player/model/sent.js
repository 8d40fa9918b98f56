// How many bytes each endpoint has sent and received by a moment, and how fast it does now.

import { hopAt } from "./hops.js";
import { activeAt } from "./model.js";
import { upTo } from "./order.js";

/** For each endpoint the moments at which its transfers have arrived, and the bytes of all up to there. */
function arrivals(model, ends) {
  /** @type {{ at: number[], sum: number[] }[]} */
  const of = Array.from({ length: model.endpoints }, () => ({ at: [], sum: [] }));
  for (const i of model.byEnd) {
    const counts = of[ends[i]];
    counts.at.push(model.t1[i]);
    counts.sum.push((counts.sum.at(-1) ?? 0) + model.bytes[i]);
  }
  return of;
}

/** Bytes by endpoint at t, with the shares of those under way; `side` says whose a transfer is, "src" or "dst". */
function bytesAt(model, side, t) {
  model.arrivals ??= { src: arrivals(model, model.src), dst: arrivals(model, model.dst) };
  const sums = Float64Array.from(model.arrivals[side], ({ at, sum }) => sum[upTo(at, t) - 1] ?? 0);
  for (const i of activeAt(model, t)) sums[model[side][i]] += model.bytes[i] * hopAt(model, i, t).share;
  return sums;
}

/** Bytes that every endpoint has sent by t. */
export const sentAt = (model, t) => bytesAt(model, "src", t);

/** Bytes that every endpoint has received by t. */
export const receivedAt = (model, t) => bytesAt(model, "dst", t);

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
