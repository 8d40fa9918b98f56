// How far a runner is: bytes delivered, share of the course, and what its step does.

import { idsOfStep } from "../player/model/order.js";
import { landedBy } from "../player/model/cells.js";
import { hopAt } from "../player/model/hops.js";
import { activeAt, phaseOf, stepAt } from "../player/model/model.js";
import { textAt } from "../player/model/read.js";

/** Bytes that have arrived by t, with the shares of those under way: what a runner has covered of its course. */
export function delivered(model, t) {
  if (!model.landedBytes) {
    model.landedBytes = new Float64Array(model.n + 1);
    for (let q = 0; q < model.n; q++) model.landedBytes[q + 1] = model.landedBytes[q] + model.bytes[model.byEnd[q]];
  }
  const at = {};
  let sum = model.landedBytes[landedBy(model, t)];
  for (const i of activeAt(model, t)) sum += model.bytes[i] * hopAt(model, i, t, at).share;
  return sum;
}

/** The share of its course, 0 to 1; a run in which nothing moves is at its end at once. */
export function progress(model, t) {
  const all = model.n ? (delivered(model, -1), model.landedBytes[model.n]) : 0;
  return all > 0 ? Math.min(1, delivered(model, t) / all) : 1;
}

/** What the current step of a runner does: its number, its phase, and whether it adds up or copies. */
export function pace(model, t, language) {
  const s = stepAt(model, Math.min(t, model.total));
  if (s < 0) return { s: 0, phase: "", reduce: false };
  const [first] = idsOfStep(model, s);
  return {
    s: s + 1,
    phase: textAt(phaseOf(model, s)?.label, 0, language),
    reduce: first !== undefined && model.reduce[first] === 1,
  };
}
