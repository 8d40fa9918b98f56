// The model: a timeline laid out for what is asked at every frame. Pure functions of (model, time).

import { aims, contributions } from "./cells.js";
import { hopOffsets } from "./hops.js";
import { linkSeries } from "./load.js";
import { groups, upTo } from "./order.js";
import { columns, readPanels } from "./read.js";

/** @import { Timeline } from "../../documents.js" */

/**
 * Everything that is asked for at every frame, laid out for binary search.
 *
 * @param {Timeline} tl
 */
export function index(tl) {
  const transfers = tl.transfers,
    n = transfers.t0.length,
    nsteps = tl.steps.t0.length;
  const model = {
    tl,
    n,
    nsteps,
    t0: Float64Array.from(transfers.t0),
    t1: Float64Array.from(transfers.t1),
    bytes: Float64Array.from(transfers.bytes),
    step: Int32Array.from(transfers.step),
    src: Int32Array.from(transfers.src),
    dst: Int32Array.from(transfers.dst),
    chunk: Int32Array.from(transfers.chunk),
    into: Int32Array.from(transfers.into),
    reduce: Uint8Array.from(transfers.reduce),
    channel: Int32Array.from(transfers.channel ?? new Array(n).fill(0)),
    route: Int32Array.from(transfers.route),
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
    panels: readPanels(tl.panels),
    rows: columns(tl.rows, ["label", "note", "links", "hot"]),
    phases: tl.phases ?? [],
    key: tl.key ?? [],
    hot: new Set(tl.bottleneck?.links ?? []),
  };
  // of the collective that adds up most; too many for a spread
  model.goal = model.goals.reduce((a, b) => Math.max(a, b), 1);
  model.groupOf = groupOfSlots(model.groups, model.slots);
  let end = Math.max(tl.figures?.time ?? 0, tl.meta.time ?? 0);
  for (const t of model.t1) if (t > end) end = t;
  for (const t of model.step1) if (t > end) end = t;
  model.total = end;
  // the scrubber's cells never run backwards
  for (let s = 1; s < nsteps; s++) model.step0[s] = Math.max(model.step0[s], model.step0[s - 1]);
  model.hopOf = hopOffsets(model);
  model.buckets = bucketIndex(model);
  model.series = linkSeries(model);
  model.byStep = groups(model.step, nsteps, n);
  Object.assign(model, aims(model), contributions(model));
  return model;
}

/** Time buckets, each with the transfers that are in flight at some moment of it. */
export function bucketIndex(model) {
  const count = Math.max(1, Math.min(4096, 4 * model.nsteps, model.n)),
    scale = model.total > 0 ? count / model.total : 0;
  const at = (t) => Math.max(0, Math.min(count - 1, Math.floor(t * scale)));
  const start = new Int32Array(count + 1);
  for (let i = 0; i < model.n; i++) for (let b = at(model.t0[i]), e = at(model.t1[i]); b <= e; b++) start[b + 1]++;
  for (let b = 0; b < count; b++) start[b + 1] += start[b];
  const id = new Int32Array(start[count]),
    next = start.slice(0, count);
  for (let i = 0; i < model.n; i++) for (let b = at(model.t0[i]), e = at(model.t1[i]); b <= e; b++) id[next[b]++] = i;
  return { start, id, at };
}

/** Ids of the transfers in flight at t: t0 <= t < t1. */
export function activeAt(model, t, out = []) {
  out.length = 0;
  if (!model.n) return out;
  const { start, id, at } = model.buckets,
    b = at(t);
  for (const i of id.subarray(start[b], start[b + 1])) if (model.t0[i] <= t && t < model.t1[i]) out.push(i);
  return out;
}

/**
 * The current step: the last one that has begun (steps may overlap in the event engine), of several at once the first.
 * -1 when there is none.
 */
export function stepAt(model, t) {
  if (!model.nsteps) return -1;
  let s = Math.max(0, upTo(model.step0, t) - 1);
  while (s > 0 && model.step0[s - 1] === model.step0[s]) s--;
  return s;
}

/** When the step after s begins, of those that do not begin together with it; the end where there is none. */
export function nextStart(model, s) {
  let next = s + 1;
  while (next < model.nsteps && model.step0[next] === model.step0[s]) next++;
  return next < model.nsteps ? model.step0[next] : model.total;
}

/** When a wrong schedule goes wrong: while its transfer is arriving, or at the end where a cell is never written. */
export function mistakeTime(model) {
  const at = model.mistake;
  if (!at) return null;
  if (at.transfer == null) return at.step == null ? model.total : (model.step0[at.step] + model.step1[at.step]) / 2;
  return model.t0[at.transfer] + 0.85 * (model.t1[at.transfer] - model.t0[at.transfer]);
}

/** Since when the wrong cell is pointed at: the step that makes it wrong, the end if one is missing, or the start. */
export function mistakeFrom(model) {
  const at = model.mistake;
  if (at?.step != null) return model.step0[at.step];
  return at?.kind === "missing" ? model.total : 0;
}

export const slotText = (view, slot) =>
  view.model.groups.length ? groupSlot(view.model, slot) : plainSlot(view, slot);

const groupSlot = ({ groups, groupOf }, slot) => `${groups[groupOf[slot]].name}${slot - groups[groupOf[slot]].first}`;

const plainSlot = (view, slot) =>
  view.model.channels > 1 && view.model.slots === view.model.tl.meta.chunks * view.model.channels
    ? String(slot % view.model.tl.meta.chunks)
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
export function channelShown(model, of) {
  if (model.channels < 2 || !of || model.slots <= 32) return -1;
  return model.mistake ? Math.max(0, of[model.mistake.chunk]) : 0;
}

export function phaseOf(model, s) {
  return model.phases.find((p) => p.first <= s && s <= p.last);
}

/** In reduced motion time stands at the start, the middle and the end of each step. */
function stillMoment(model, t) {
  const s = stepAt(model, t),
    a = model.step0[s],
    b = nextStart(model, s),
    f = b > a ? (t - a) / (b - a) : 0,
    share = [0, 0.5].find((_, k) => f < [0.2, 0.7][k]) ?? 0.999;
  return a + (b - a) * share;
}

/**
 * What a clock shows of a run: the moment, and its step. Where motion is reduced, a run that plays does not move within
 * the parts of a step.
 */
export function momentOf(model, { t: now, playing }, isStill) {
  const moment = Math.min(now, model.total),
    t = isStill && playing && model.nsteps ? stillMoment(model, moment) : moment;
  return { t, s: stepAt(model, t) };
}

/** Seconds of a run for each on the screen, at speed 1: about a step, and all of it in 30 s at most. */
export const paceOf = ({ total, nsteps }) => total / Math.max(1, Math.min(30, nsteps));

/** The number of its collective for each slot. */
function groupOfSlots(groups, slots) {
  const of = new Int32Array(slots);
  groups.forEach(({ first, slots: n }, q) => of.fill(q, first, first + n));
  return of;
}
