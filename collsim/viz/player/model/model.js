// The model: a timeline laid out for what is asked at every frame. Pure functions of (model, time).

import { aims, contributions } from "./cells.js";
import { hopOffsets } from "./hops.js";
import { linkSeries } from "./load.js";
import { groups, upTo } from "./order.js";
import { columns } from "./read.js";

/** Everything that is asked for at every frame, laid out for binary search. */
export function index(tl) {
  const X = tl.transfers,
    n = X.t0.length,
    nsteps = tl.steps.t0.length;
  const m = {
    tl,
    n,
    nsteps,
    t0: Float64Array.from(X.t0),
    t1: Float64Array.from(X.t1),
    bytes: Float64Array.from(X.bytes),
    step: Int32Array.from(X.step),
    src: Int32Array.from(X.src),
    dst: Int32Array.from(X.dst),
    chunk: Int32Array.from(X.chunk),
    into: Int32Array.from(X.into),
    reduce: Uint8Array.from(X.reduce),
    channel: Int32Array.from(X.channel ?? new Array(n).fill(0)),
    route: Int32Array.from(X.route),
    step0: Float64Array.from(tl.steps.t0),
    step1: Float64Array.from(tl.steps.t1),
    endpoints: tl.meta.endpoints ?? tl.meta.ranks,
    ranks: tl.meta.ranks,
    slots: tl.meta.slots ?? tl.meta.chunks,
    channels: Math.max(1, tl.meta.channels ?? 1),
    goals: Int32Array.from(
      { length: tl.meta.slots ?? tl.meta.chunks },
      (_, c) => tl.state.goal?.[c] ?? tl.state.goal ?? 1,
    ),
    groups: tl.groups ?? [],
    nlinks: tl.links.src.length,
    lockstep: tl.meta.engine !== "event",
    sharing: tl.meta.sharing ?? "fair",
    mistake: tl.mistake ?? null,
    panels: columns(tl.panels, ["x", "y", "w", "h", "label", "note", "foot"]),
    rows: columns(tl.rows, ["label", "note", "links", "hot"]),
    phases: tl.phases ?? [],
    key: tl.key ?? [],
    hot: new Set(tl.bottleneck?.links ?? []),
  };
  m.goal = m.goals.reduce((a, b) => Math.max(a, b), 1); // of the collective that adds up most; too many for a spread
  m.groupOf = groupOfSlots(m.groups, m.slots);
  let end = Math.max(tl.figures?.time ?? 0, tl.meta.time ?? 0);
  for (const t of m.t1) if (t > end) end = t;
  for (const t of m.step1) if (t > end) end = t;
  m.total = end;
  // the scrubber's cells never run backwards
  for (let s = 1; s < nsteps; s++) m.step0[s] = Math.max(m.step0[s], m.step0[s - 1]);
  m.hopOf = hopOffsets(m);
  m.buckets = bucketIndex(m);
  m.series = linkSeries(m);
  m.byStep = groups(m.step, nsteps, n);
  Object.assign(m, aims(m), contributions(m));
  return m;
}

/** Time buckets, each with the transfers that are in flight at some moment of it. */
export function bucketIndex(m) {
  const count = Math.max(1, Math.min(4096, 4 * m.nsteps, m.n)),
    scale = m.total > 0 ? count / m.total : 0;
  const at = (t) => Math.max(0, Math.min(count - 1, Math.floor(t * scale)));
  const start = new Int32Array(count + 1);
  for (let i = 0; i < m.n; i++) for (let b = at(m.t0[i]), e = at(m.t1[i]); b <= e; b++) start[b + 1]++;
  for (let b = 0; b < count; b++) start[b + 1] += start[b];
  const id = new Int32Array(start[count]),
    next = start.slice(0, count);
  for (let i = 0; i < m.n; i++) for (let b = at(m.t0[i]), e = at(m.t1[i]); b <= e; b++) id[next[b]++] = i;
  return { start, id, at };
}

/** Ids of the transfers in flight at t: t0 <= t < t1. */
export function activeAt(m, t, out = []) {
  out.length = 0;
  if (!m.n) return out;
  const { start, id, at } = m.buckets,
    b = at(t);
  for (let q = start[b]; q < start[b + 1]; q++) {
    const i = id[q];
    if (m.t0[i] <= t && t < m.t1[i]) out.push(i);
  }
  return out;
}

/**
 * The current step: the last one that has begun (steps may overlap in the event engine), of several at once the first.
 * -1 when there is none.
 */
export function stepAt(m, t) {
  if (!m.nsteps) return -1;
  let s = Math.max(0, upTo(m.step0, t) - 1);
  while (s > 0 && m.step0[s - 1] === m.step0[s]) s--;
  return s;
}

/** When the step after s begins, of those that do not begin together with it; the end where there is none. */
export function nextStart(m, s) {
  let next = s + 1;
  while (next < m.nsteps && m.step0[next] === m.step0[s]) next++;
  return next < m.nsteps ? m.step0[next] : m.total;
}

/** When a wrong schedule goes wrong: while its transfer is arriving, or at the end where a cell is never written. */
export function mistakeTime(m) {
  const at = m.mistake;
  if (!at) return null;
  if (at.transfer == null) return at.step == null ? m.total : (m.step0[at.step] + m.step1[at.step]) / 2;
  return m.t0[at.transfer] + 0.85 * (m.t1[at.transfer] - m.t0[at.transfer]);
}

/** Since when the wrong cell is pointed at: the step that makes it wrong, the end if one is missing, or the start. */
export function mistakeFrom(m) {
  const at = m.mistake;
  if (at?.step != null) return m.step0[at.step];
  return at?.kind === "missing" ? m.total : 0;
}

export const slotText = (V, slot) => (V.m.groups.length ? groupSlot(V.m, slot) : plainSlot(V, slot));

const groupSlot = ({ groups, groupOf }, slot) => `${groups[groupOf[slot]].name}${slot - groups[groupOf[slot]].first}`;

const plainSlot = (V, slot) =>
  V.m.channels > 1 && V.m.slots === V.m.tl.meta.chunks * V.m.channels
    ? String(slot % V.m.tl.meta.chunks)
    : String(slot);

/** Which channel each slot belongs to, when every slot belongs to just one. */

export function slotChannels(model) {
  if (model.channels < 2) return null;
  const of = new Int32Array(model.slots).fill(-1);
  for (let i = 0; i < model.n; i++)
    for (const c of [model.chunk[i], model.into[i]]) {
      if (of[c] >= 0 && of[c] !== model.channel[i]) return null;
      of[c] = model.channel[i];
    }
  return of;
}

/** The channel whose chunks are shown first: all (-1) while they are few, else that of the wrong cell, or the first. */
export function channelShown(m, of) {
  if (m.channels < 2 || !of || m.slots <= 32) return -1;
  return m.mistake ? Math.max(0, of[m.mistake.chunk]) : 0;
}

export function phaseOf(m, s) {
  return m.phases.find((p) => p.first <= s && s <= p.last);
}

/** The number of its collective for each slot. */
export function groupOfSlots(groups, slots) {
  const of = new Int32Array(slots);
  groups.forEach(({ first, slots: n }, q) => of.fill(q, first, first + n));
  return of;
}
