// How far a runner is: bytes delivered, share of the course, and what its step does.

import { landedBy } from "../player/model/cells.js";
import { hopAt } from "../player/model/hops.js";
import { activeAt, phaseOf, stepAt } from "../player/model/model.js";
import { textAt } from "../player/model/read.js";

/** Bytes that have arrived by t, with the shares of those under way: what a runner has covered of its course. */
export function delivered(m, t) {
  if (!m.landedBytes) {
    m.landedBytes = new Float64Array(m.n + 1);
    for (let q = 0; q < m.n; q++) m.landedBytes[q + 1] = m.landedBytes[q] + m.bytes[m.byEnd[q]];
  }
  const at = {};
  let sum = m.landedBytes[landedBy(m, t)];
  for (const i of activeAt(m, t)) sum += m.bytes[i] * hopAt(m, i, t, at).share;
  return sum;
}

/** The share of its course, 0 to 1; a run in which nothing moves is at its end at once. */
export function progress(m, t) {
  const all = m.n ? (delivered(m, -1), m.landedBytes[m.n]) : 0;
  return all > 0 ? Math.min(1, delivered(m, t) / all) : 1;
}

/** What the current step of a runner does: its number, its phase, and whether it adds up or copies. */
export function pace(m, t, lang) {
  const s = stepAt(m, Math.min(t, m.total));
  if (s < 0) return { s: 0, phase: "", reduce: false };
  const first = m.byStep.id[m.byStep.start[s]];
  return {
    s: s + 1,
    phase: textAt(phaseOf(m, s)?.label, 0, lang),
    reduce: first !== undefined && m.reduce[first] === 1,
  };
}
