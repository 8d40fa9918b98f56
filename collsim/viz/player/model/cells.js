// What every rank holds: contributions of each chunk over time. Pure functions of (model, time).

import { groups, upTo } from "./order.js";

/** The cells [endpoint, slot] that a `held` or `wanted` entry of the state names. */
export function cellsOf(what, state, meta) {
  const out = [],
    slots = meta.slots ?? meta.chunks,
    k = Math.max(1, Math.round(meta.chunks / meta.ranks));
  // each channel may have its own copy of the chunks
  const per = slots === meta.chunks * meta.channels ? meta.channels : 1;
  if (Array.isArray(what)) return what;
  for (let r = 0; r < meta.ranks; r++) {
    if (what === "all" || (what === "root" && r === (state.root ?? 0)))
      for (let c = 0; c < slots; c++) out.push([r, c]);
    if (what === "own")
      for (let p = 0; p < per; p++) for (let c = 0; c < k; c++) out.push([r, p * meta.chunks + r * k + c]);
  }
  return out;
}

/**
 * The cells that must be finished at the end; of each endpoint how many there are, and which. Where nothing is asked of
 * an endpoint (a server, a rank that only gives), each of its cells counts.
 */
export function aims({ tl, endpoints, slots }) {
  const wanted = cellsOf(tl.state.wanted ?? "all", tl.state, tl.meta),
    asked = new Int32Array(endpoints),
    counts = new Uint8Array(endpoints * slots);
  for (const [e, c] of wanted) {
    asked[e]++;
    counts[e * slots + c] = 1;
  }
  asked.forEach((n, e) => {
    if (n) return;
    asked[e] = slots;
    counts.fill(1, e * slots, (e + 1) * slots);
  });
  return { wanted, asked, counts };
}

// Numbers for the logical picture: the digits of pi without zeros, so that every rank starts with its own small values.
const PI = "31415926535897932384626433832795288419716939937515820974944592378164628628998628348253421176798214865";

const MOST_COUNTED = 2 ** 31 - 1; // more than any goal: a wrong schedule can double a count in every step

/**
 * What every transfer carries (k contributions, which ranks, which value) and what every cell holds after each arrival.
 * Transfers of a step read the cells as they were when the step began; arrivals take effect at their own t1.
 */
export function contributions(m) {
  const E = m.endpoints,
    S = m.slots,
    n = m.n;
  const count = new Int32Array(E * S),
    value = new Float64Array(E * S),
    mask = new Uint32Array(E * S);
  for (const [e, c] of cellsOf(m.tl.state.held ?? "all", m.tl.state, m.tl.meta)) {
    const cell = e * S + c;
    count[cell] = 1;
    value[cell] = +PI[cell % PI.length];
    mask[cell] = (1 << (e % 32)) >>> 0;
  }
  const first = { count: count.slice(), value: value.slice(), mask: mask.slice() };
  const k = new Int32Array(n),
    val = new Float64Array(n),
    who = new Uint32Array(n);
  const { start, id } = groups(m.step, m.nsteps, n);
  for (let s = 0; s < m.nsteps; s++) {
    for (let q = start[s]; q < start[s + 1]; q++) {
      const i = id[q],
        from = m.src[i] * S + m.chunk[i];
      k[i] = count[from];
      val[i] = value[from];
      who[i] = mask[from];
    }
    for (let q = start[s]; q < start[s + 1]; q++) arrive(count, value, mask, m.dst[id[q]] * S + m.into[id[q]], id[q]);
  }
  function arrive(c, v, w, cell, i) {
    if (m.reduce[i]) {
      c[cell] = Math.min(c[cell] + k[i], MOST_COUNTED);
      v[cell] += val[i];
      w[cell] |= who[i];
    } else {
      c[cell] = k[i];
      v[cell] = val[i];
      w[cell] = who[i];
    }
  }
  const byEnd = Int32Array.from({ length: n }, (_, i) => i).sort(
    (a, b) => m.t1[a] - m.t1[b] || m.step[a] - m.step[b] || a - b,
  );
  const cellOf = byEnd.map((i) => m.dst[i] * S + m.into[i]),
    events = groups(cellOf, E * S, n);
  const after = { count: new Int32Array(n), value: new Float64Array(n), mask: new Uint32Array(n) };
  const now = { count: first.count.slice(), value: first.value.slice(), mask: first.mask.slice() };
  for (let cell = 0; cell < E * S; cell++) {
    for (let q = events.start[cell]; q < events.start[cell + 1]; q++) {
      arrive(now.count, now.value, now.mask, cell, byEnd[events.id[q]]);
      for (const f of ["count", "value", "mask"]) after[f][q] = now[f][cell];
    }
  }
  const eventTime = Float64Array.from(events.id, (q) => m.t1[byEnd[q]]);
  return { k, val, who, byEnd, first, after, eventStart: events.start, eventTime };
}

/** What a cell holds at t: "count" (contributions), "value" or "mask" (bits of the ranks that are in it). */
export function cellAt(m, cell, t, field = "count") {
  const begin = m.eventStart[cell],
    q = upTo(m.eventTime, t, begin, m.eventStart[cell + 1]);
  return q === begin ? m.first[field][cell] : m.after[field][q - 1];
}

/** How many transfers have landed by t. */
export function landedBy(m, t) {
  m.ends ??= Float64Array.from(m.byEnd, (i) => m.t1[i]);
  return upTo(m.ends, t);
}

/**
 * Transfers of the current step that have landed while others of it are still under way (lockstep only: nobody waits
 * without a barrier).
 */
export function waitingAt(m, t, s, out = []) {
  out.length = 0;
  if (!m.lockstep || s < 0 || t >= m.step1[s]) return out;
  const slack = 0.005 * (m.step1[s] - m.step0[s]);
  for (let q = m.byStep.start[s]; q < m.byStep.start[s + 1]; q++) {
    const i = m.byStep.id[q];
    if (m.t1[i] <= t && m.t1[i] < m.step1[s] - slack) out.push(i);
  }
  return out;
}

/**
 * Ranks that have nothing more to do in step s of a run with barriers at t, and wait for the others: all that they
 * receive has arrived, or all that they send where they receive nothing.
 */
export function ranksWaiting(m, t, s) {
  const waits = new Set();
  if (!m.lockstep || !(s >= 0) || t >= m.step1[s]) return waits;
  const until = doneInStep(m, s),
    slack = 0.005 * (m.step1[s] - m.step0[s]);
  for (let e = 0; e < m.ranks; e++) if (until[e] <= t && until[e] < m.step1[s] - slack) waits.add(e);
  return waits;
}

/** When each endpoint is done with step s, its start for those that have no part in it. */
function doneInStep(m, s) {
  if (m.doneInStep?.s === s) return m.doneInStep.until;
  const ids = m.byStep.id.subarray(m.byStep.start[s], m.byStep.start[s + 1]),
    until = new Float64Array(m.endpoints).fill(m.step0[s]),
    receives = new Set(Array.from(ids, (i) => m.dst[i]));
  for (const i of ids)
    for (const e of receives.has(m.src[i]) ? [m.dst[i]] : [m.src[i], m.dst[i]]) until[e] = Math.max(until[e], m.t1[i]);
  m.doneInStep = { s, until };
  return until;
}

/** True when every cell that must be finished at the end is finished at t. */
export function doneAt(m, t) {
  if (m.mistake) return false; // a count alone cannot tell: a rank that is added twice hides one that is missing
  return m.wanted.every(([e, c]) => cellAt(m, e * m.slots + c, t) >= m.goals[c]);
}

/** How many of the cells asked of it each endpoint has finished at t. */
export function finishedAt(m, t) {
  m.finishing ??= Array.from({ length: m.endpoints }, (_, e) => finishing(m, e));
  return Float64Array.from(m.finishing, ({ at, first, gain }) => {
    const q = upTo(at, t);
    return q ? gain[q - 1] : first;
  });
}

/** How far an endpoint is: finished of those asked of it, 0 to 1. */
export const shareDone = (V, e) => (V.m.asked[e] ? V.finished[e] / V.m.asked[e] : 0);

// When the number of finished cells of an endpoint changes, and what it is from then on.
function finishing(m, e) {
  const events = [];
  let first = 0;
  for (let cell = e * m.slots; cell < (e + 1) * m.slots; cell++) {
    if (!m.counts[cell]) continue;
    const goal = m.goals[cell - e * m.slots];
    let was = m.first.count[cell] >= goal;
    first += was;
    for (let q = m.eventStart[cell]; q < m.eventStart[cell + 1]; q++) {
      const is = m.after.count[q] >= goal;
      if (is !== was) events.push([m.eventTime[q], is ? 1 : -1]);
      was = is;
    }
  }
  events.sort((a, b) => a[0] - b[0]);
  let now = first;
  return { first, at: events.map(([t]) => t), gain: events.map(([, change]) => (now += change)) };
}
