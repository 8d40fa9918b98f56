// What every rank holds: contributions of each chunk over time. Pure functions of (model, time).

import { groups, idsOf, idsOfStep, upTo } from "./order.js";

/** The cells [endpoint, slot] that an `initial` or `wanted` entry of the state names. */
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
    required = new Int32Array(endpoints),
    counts = new Uint8Array(endpoints * slots);
  for (const [e, c] of wanted) {
    required[e]++;
    counts[e * slots + c] = 1;
  }
  required.forEach((n, e) => {
    if (n) return;
    required[e] = slots;
    counts.fill(1, e * slots, (e + 1) * slots);
  });
  return { wanted, asked: required, counts };
}

// Numbers for the logical picture: the digits of pi without zeros, so that every rank starts with its own small values.
const PI = "31415926535897932384626433832795288419716939937515820974944592378164628628998628348253421176798214865";

const MAX_COUNTED = 2 ** 31 - 1; // more than any goal: a wrong schedule can double a count in every step

/**
 * What every transfer carries (k contributions, which ranks, which value) and what every cell holds after each arrival.
 * Transfers of a step read the cells as they were when the step began; arrivals take effect at their own t1.
 */
export function contributions(model) {
  const endpointCount = model.endpoints,
    slotCount = model.slots,
    n = model.n;
  const count = new Int32Array(endpointCount * slotCount),
    value = new Float64Array(endpointCount * slotCount),
    mask = new Uint32Array(endpointCount * slotCount);
  for (const [e, c] of cellsOf(model.tl.state.initial ?? "all", model.tl.state, model.tl.meta)) {
    const cell = e * slotCount + c;
    count[cell] = 1;
    value[cell] = +PI[cell % PI.length];
    mask[cell] = (1 << (e % 32)) >>> 0;
  }
  const first = { count: count.slice(), value: value.slice(), mask: mask.slice() };
  const k = new Int32Array(n),
    val = new Float64Array(n),
    who = new Uint32Array(n);
  const byStep = groups(model.step, model.nsteps, n);
  for (let s = 0; s < model.nsteps; s++) {
    for (const i of idsOf(byStep, s)) {
      const from = model.src[i] * slotCount + model.chunk[i];
      k[i] = count[from];
      val[i] = value[from];
      who[i] = mask[from];
    }
    for (const i of idsOf(byStep, s)) arrive(count, value, mask, model.dst[i] * slotCount + model.into[i], i);
  }
  function arrive(c, v, words, cell, i) {
    if (model.reduce[i]) {
      c[cell] = Math.min(c[cell] + k[i], MAX_COUNTED);
      v[cell] += val[i];
      words[cell] |= who[i];
    } else {
      c[cell] = k[i];
      v[cell] = val[i];
      words[cell] = who[i];
    }
  }
  const byEnd = Int32Array.from({ length: n }, (_, i) => i).sort(
    (a, b) => model.t1[a] - model.t1[b] || model.step[a] - model.step[b] || a - b,
  );
  const cellOf = byEnd.map((i) => model.dst[i] * slotCount + model.into[i]),
    events = groups(cellOf, endpointCount * slotCount, n);
  const after = { count: new Int32Array(n), value: new Float64Array(n), mask: new Uint32Array(n) };
  const now = { count: first.count.slice(), value: first.value.slice(), mask: first.mask.slice() };
  for (let cell = 0; cell < endpointCount * slotCount; cell++) {
    for (let q = events.start[cell]; q < events.start[cell + 1]; q++) {
      arrive(now.count, now.value, now.mask, cell, byEnd[events.id[q]]);
      for (const f of ["count", "value", "mask"]) after[f][q] = now[f][cell];
    }
  }
  const eventTime = Float64Array.from(events.id, (q) => model.t1[byEnd[q]]);
  return { k, val, who, byEnd, first, after, eventStart: events.start, eventTime };
}

/** What a cell holds at t: "count" (contributions), "value" or "mask" (bits of the ranks that are in it). */
export function cellAt(model, cell, t, field = "count") {
  const begin = model.eventStart[cell],
    q = upTo(model.eventTime, t, begin, model.eventStart[cell + 1]);
  return q === begin ? model.first[field][cell] : model.after[field][q - 1];
}

/** How many transfers have landed by t. */
export function landedBy(model, t) {
  model.ends ??= Float64Array.from(model.byEnd, (i) => model.t1[i]);
  return upTo(model.ends, t);
}

/**
 * Transfers of the current step that have landed while others of it are still under way (lockstep only: nobody waits
 * without a barrier).
 */
export function waitingAt(model, t, s, out = []) {
  out.length = 0;
  if (!model.lockstep || s < 0 || t >= model.step1[s]) return out;
  const slack = 0.005 * (model.step1[s] - model.step0[s]);
  for (const i of idsOfStep(model, s)) if (model.t1[i] <= t && model.t1[i] < model.step1[s] - slack) out.push(i);
  return out;
}

/**
 * Ranks that have nothing more to do in step s of a run with barriers at t, and wait for the others: all that they
 * receive has arrived, or all that they send where they receive nothing.
 */
export function ranksWaiting(model, t, s) {
  const waits = new Set();
  if (!model.lockstep || !(s >= 0) || t >= model.step1[s]) return waits;
  const until = doneInStep(model, s),
    slack = 0.005 * (model.step1[s] - model.step0[s]);
  for (let e = 0; e < model.ranks; e++) if (until[e] <= t && until[e] < model.step1[s] - slack) waits.add(e);
  return waits;
}

/** When each endpoint is done with step s, its start for those that have no part in it. */
function doneInStep(model, s) {
  if (model.doneInStep?.s === s) return model.doneInStep.until;
  const ids = idsOfStep(model, s),
    until = new Float64Array(model.endpoints).fill(model.step0[s]),
    receives = new Set(Array.from(ids, (i) => model.dst[i]));
  for (const i of ids)
    for (const e of receives.has(model.src[i]) ? [model.dst[i]] : [model.src[i], model.dst[i]])
      until[e] = Math.max(until[e], model.t1[i]);
  model.doneInStep = { s, until };
  return until;
}

/** True when every cell that must be finished at the end is finished at t. */
export function doneAt(model, t) {
  if (model.mistake) return false; // a count alone cannot tell: a rank that is added twice hides one that is missing
  return model.wanted.every(([e, c]) => cellAt(model, e * model.slots + c, t) >= model.goals[c]);
}

/** How many of the cells asked of it each endpoint has finished at t. */
export function finishedAt(model, t) {
  model.finishing ??= Array.from({ length: model.endpoints }, (_, e) => finishing(model, e));
  return Float64Array.from(model.finishing, ({ at, first, gain }) => {
    const q = upTo(at, t);
    return q ? gain[q - 1] : first;
  });
}

/** How far an endpoint is: finished of those asked of it, 0 to 1. */
export const shareDone = (view, e) => (view.model.asked[e] ? view.finished[e] / view.model.asked[e] : 0);

// When the number of finished cells of an endpoint changes, and what it is from then on.
function finishing(model, e) {
  const events = [];
  let first = 0;
  for (let cell = e * model.slots; cell < (e + 1) * model.slots; cell++) {
    if (!model.counts[cell]) continue;
    const goal = model.goals[cell - e * model.slots];
    let was = model.first.count[cell] >= goal;
    first += Number(was);
    for (let q = model.eventStart[cell]; q < model.eventStart[cell + 1]; q++) {
      const is = model.after.count[q] >= goal;
      if (is !== was) events.push([model.eventTime[q], is ? 1 : -1]);
      was = is;
    }
  }
  events.sort((a, b) => a[0] - b[0]);
  let now = first;
  return { first, at: events.map(([t]) => t), gain: events.map(([, change]) => (now += change)) };
}
