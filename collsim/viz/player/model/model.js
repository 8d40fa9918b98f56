// The model: a timeline laid out for what is asked at every frame. Pure functions of (model, time).

import { aims, contributions } from "./cells.js";
import { groupOfSlots } from "../draw/groups.js";
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

/** Ids 0..n-1 grouped by a key column: ids of group g are `id[start[g]..start[g+1]]`, in rising order. */
export function groups(keys, ngroups, n = keys.length) {
  const start = new Int32Array(ngroups + 1),
    id = new Int32Array(n);
  for (let i = 0; i < n; i++) start[keys[i] + 1]++;
  for (let g = 0; g < ngroups; g++) start[g + 1] += start[g];
  const next = start.slice(0, ngroups);
  for (let i = 0; i < n; i++) id[next[keys[i]]++] = i;
  return { start, id };
}

export const routeLinks = (m, r) => m.tl.routes.link.slice(m.tl.routes.start[r], m.tl.routes.start[r + 1]);

// hops.t0/hops.t1 (optional) hold a time for every hop of every transfer; this is where transfer i's hops begin.
function hopOffsets(m) {
  if (!m.tl.hops) return null;
  const off = new Int32Array(m.n + 1),
    S = m.tl.routes.start;
  for (let i = 0; i < m.n; i++) off[i + 1] = off[i] + S[m.route[i] + 1] - S[m.route[i]];
  return off;
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
  let lo = 0,
    hi = m.nsteps;
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if (m.step0[mid] <= t) lo = mid + 1;
    else hi = mid;
  }
  if (!m.nsteps) return -1;
  let s = Math.max(0, lo - 1);
  while (s > 0 && m.step0[s - 1] === m.step0[s]) s--;
  return s;
}

/** When the step after s begins, of those that do not begin together with it; the end where there is none. */
export function nextStart(m, s) {
  let next = s + 1;
  while (next < m.nsteps && m.step0[next] === m.step0[s]) next++;
  return next < m.nsteps ? m.step0[next] : m.total;
}

/** Start and end of hop h of transfer i: given by `hops`, else the share of its time that the hop alone would need. */
export function hopSpan(m, i, h, out = [0, 0]) {
  if (m.hopOf) {
    const q = m.hopOf[i] + h;
    out[0] = m.tl.hops.t0[q];
    out[1] = m.tl.hops.t1[q];
    return out;
  }
  const { start, link } = m.tl.routes,
    { alpha, bandwidth } = m.tl.links,
    r = m.route[i];
  let before = 0,
    sum = 0,
    own = 0;
  for (let q = start[r]; q < start[r + 1]; q++) {
    const cost = alpha[link[q]] + m.bytes[i] / bandwidth[link[q]];
    if (q < start[r] + h) before += cost;
    if (q === start[r] + h) own = cost;
    sum += cost;
  }
  const d = m.t1[i] - m.t0[i];
  out[0] = m.t0[i] + (sum ? (d * before) / sum : 0);
  out[1] = m.t0[i] + (sum ? (d * (before + own)) / sum : d);
  return out;
}

const span = [0, 0];

/**
 * Where transfer i is at t: {hop, link, f (share of this hop), share (of the whole), waits (queued before this hop)}.
 */
export function hopAt(m, i, t, out = {}) {
  const { start, link } = m.tl.routes,
    r = m.route[i],
    n = start[r + 1] - start[r];
  const d = m.t1[i] - m.t0[i];
  out.share = d > 0 ? Math.min(1, Math.max(0, (t - m.t0[i]) / d)) : t >= m.t1[i] ? 1 : 0;
  for (let h = 0; h < n; h++) {
    hopSpan(m, i, h, span);
    if (t >= span[1] && h < n - 1) continue;
    const len = span[1] - span[0];
    out.hop = h;
    out.link = link[start[r] + h];
    out.waits = t < span[0];
    out.f = len > 0 ? Math.min(1, Math.max(0, (t - span[0]) / len)) : t >= span[1] ? 1 : 0;
    if (m.hopOf) out.share = (h + out.f) / n; // time in a queue delivers nothing
    return out;
  }
  out.hop = 0;
  out.link = -1;
  out.f = out.share;
  out.waits = false;
  return out;
}

/** Calls `add(link, t0, t1, bytes)` for every stretch in which a link carries bytes evenly. */
function eachCrossing(m, add) {
  const { start: rs, link: rl } = m.tl.routes,
    F = m.tl.flows,
    s = [0, 0];
  for (let f = 0; f < (F?.route.length ?? 0); f++)
    for (let q = rs[F.route[f]]; q < rs[F.route[f] + 1]; q++) add(rl[q], F.t0[f], F.t1[f], F.bytes[f]);
  for (let i = 0; i < (F ? 0 : m.n); i++) {
    for (let q = rs[m.route[i]]; q < rs[m.route[i] + 1]; q++) {
      if (m.hopOf) hopSpan(m, i, q - rs[m.route[i]], s);
      else {
        s[0] = m.t0[i];
        s[1] = m.t1[i];
      }
      add(rl[q], s[0], s[1], m.bytes[i]);
    }
  }
}

/**
 * Bytes over every link as exact piecewise linear functions: for link l the break points `start[l]..start[l+1]` with
 * time, bytes so far and bytes per second from there on. With given `flows` these are the rates of the run, what others
 * carry included; else a transfer loads all links of its route evenly from t0 to t1 (cut-through), with given `hops`
 * each link during its hop.
 */
function linkSeries(m) {
  const L = m.nlinks,
    events = Array.from({ length: L }, () => []);
  eachCrossing(m, (l, t0, t1, bytes) => {
    const end = Math.max(t1, t0 + 1e-12 * (m.total || 1)),
      rate = bytes / (end - t0);
    events[l].push([t0, rate, 1, 0], [end, -rate, -1, bytes]);
  });
  const start = new Int32Array(L + 1);
  for (let l = 0; l < L; l++) start[l + 1] = start[l] + events[l].length;
  const time = new Float64Array(start[L]),
    bytes = new Float64Array(start[L]),
    rate = new Float64Array(start[L]);
  for (let l = 0; l < L; l++) {
    let q = start[l],
      open = 0,
      r = 0,
      c = 0,
      last = 0,
      done = 0;
    for (const [t, dr, dn, b] of events[l].sort((a, z) => a[0] - z[0])) {
      c += r * (t - last);
      last = t;
      open += dn;
      done += b;
      r += dr;
      if (open === 0) {
        r = 0;
        c = done;
      } // no rounding is carried over an idle moment
      time[q] = t;
      bytes[q] = c;
      rate[q++] = r;
    }
  }
  return { start, time, bytes, rate };
}

/** Bytes that link l has carried up to t. */
export function linkBytes(m, l, t) {
  const { start, time, bytes, rate } = m.series;
  let lo = start[l],
    hi = start[l + 1];
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if (time[mid] <= t) lo = mid + 1;
    else hi = mid;
  }
  return lo === start[l] ? 0 : bytes[lo - 1] + rate[lo - 1] * (t - time[lo - 1]);
}

/** Share of its capacity that link l uses in step s. */
export const stepShare = (m, l, s) => shareBetween(m, l, m.step0[s], m.step1[s]);

/** Seconds that link l needs for all its bytes at full rate. */
export const busySeconds = (m, l) => linkBytes(m, l, m.total) / m.tl.links.bandwidth[l];

/** The links of all routes, the busiest first. */
export function usedLinks(m) {
  m.usedLinks ??= [...new Set(m.tl.routes.link)].sort((a, b) => busySeconds(m, b) - busySeconds(m, a) || a - b);
  return m.usedLinks;
}

/**
 * Share of its capacity that link l uses from a to b. Without `flows` each transfer is taken at its mean rate, latency
 * and waiting included, so that several could seem to pass more for a moment than the link carries: where it is shared
 * that cannot be, and all of it is in use.
 */
export function shareBetween(m, l, a, b) {
  const most = (b - a) * m.tl.links.bandwidth[l],
    share = most > 0 ? (linkBytes(m, l, b) - linkBytes(m, l, a)) / most : 0;
  return m.sharing === "none" ? share : Math.min(1, share);
}

const WINDOWS = 400;

/**
 * The span whose use of capacity is shown at t: the step where there are barriers; without them steps overlap, and it
 * is the 400th part of the run round t. `key` changes when the span does.
 */
export function spanAt(m, t, s) {
  if (m.lockstep || !(m.total > 0)) return s < 0 ? { key: -1, a: 0, b: 0 } : { key: s, a: m.step0[s], b: m.step1[s] };
  const key = Math.min(WINDOWS - 1, Math.floor((t / m.total) * WINDOWS));
  return { key, a: (key / WINDOWS) * m.total, b: ((key + 1) / WINDOWS) * m.total };
}

/** When a wrong schedule goes wrong: while its transfer is arriving, or at the end where a cell is never written. */
export function mistakeTime(m) {
  const at = m.mistake;
  if (!at) return null;
  if (at.transfer == null) return at.step == null ? m.total : (m.step0[at.step] + m.step1[at.step]) / 2;
  return m.t0[at.transfer] + 0.85 * (m.t1[at.transfer] - m.t0[at.transfer]);
}

/** Since when the wrong cell is pointed at: the step that makes it wrong, or from the start. */
export const mistakeFrom = (m) => (m.mistake?.step == null ? 0 : m.step0[m.mistake.step]);

/** room, near or full: the three classes of use. */
export const useClass = (share) => (share > 0.95 ? "full" : share >= 0.75 ? "near" : "room");

/**
 * Share of `columns` equal slices of the run in which ranks have nothing to receive (or, if they only send, to send).
 */
export function idleShare(m, ncol) {
  const out = new Float64Array(ncol),
    R = m.ranks;
  if (!m.n || !(m.total > 0)) return out;
  const receives = new Set();
  for (let i = 0; i < m.n; i++) receives.add(m.step[i] * m.endpoints + m.dst[i]);
  const spans = Array.from({ length: R }, () => []);
  for (let i = 0; i < m.n; i++) {
    if (m.dst[i] < R) spans[m.dst[i]].push([m.t0[i], m.t1[i]]);
    if (m.src[i] < R && !receives.has(m.step[i] * m.endpoints + m.src[i])) spans[m.src[i]].push([m.t0[i], m.t1[i]]);
  }
  const w = m.total / ncol;
  for (const list of spans) {
    let until = 0;
    for (let [a, b] of list.sort((x, y) => x[0] - y[0])) {
      a = Math.max(a, until);
      for (let c = Math.floor(a / w); c < ncol && c * w < b; c++)
        out[c] += Math.max(0, Math.min(b, (c + 1) * w) - Math.max(a, c * w));
      until = Math.max(until, b);
    }
  }
  return out.map((busy) => Math.min(1, Math.max(0, 1 - busy / (w * R))));
}

/**
 * A row of cables sliced into ncol equal pieces of time: mean and busiest share of capacity, and bytes so far of its
 * busiest cable.
 */
export function rowSlices(m, links, ncol) {
  const mean = new Float64Array(ncol),
    top = new Float64Array(ncol),
    sofar = new Float64Array(ncol);
  const w = m.total / ncol,
    { start, time, bytes, rate } = m.series;
  for (const l of links) {
    let q = start[l],
      before = 0;
    for (let c = 0; c < ncol; c++) {
      const t = (c + 1) * w;
      while (q < start[l + 1] && time[q] <= t) q++;
      const now = q === start[l] ? 0 : bytes[q - 1] + rate[q - 1] * (t - time[q - 1]);
      const share = w > 0 ? (now - before) / (w * m.tl.links.bandwidth[l]) : 0;
      mean[c] += share / links.length;
      top[c] = Math.max(top[c], share);
      sofar[c] = Math.max(sofar[c], now);
      before = now;
    }
  }
  return { mean, top, sofar };
}

/** The middle of the slice of the run in which the most bytes move. */
export function busiest(m, slices = 512) {
  if (!m.n || !(m.total > 0)) return 0;
  const rate = new Float64Array(slices),
    w = m.total / slices;
  for (let i = 0; i < m.n; i++) {
    const d = Math.max(m.t1[i] - m.t0[i], 1e-12 * m.total);
    for (let c = Math.min(slices - 1, Math.floor(m.t0[i] / w)); c < slices && c * w < m.t1[i]; c++) {
      rate[c] += (m.bytes[i] * Math.max(0, Math.min(m.t1[i], (c + 1) * w) - Math.max(m.t0[i], c * w))) / d;
    }
  }
  let best = 0;
  for (let c = 1; c < slices; c++) if (rate[c] > rate[best] * (1 + 1e-9)) best = c;
  return (best + 0.5) * w;
}

/** The moves of a chunk in order of time, and the ranks it visits when each move starts where the last one ended. */
export function journey(m, slot) {
  const ids = [];
  for (let i = 0; i < m.n; i++) if (m.chunk[i] === slot) ids.push(i);
  const chain = ids.every((i, q) => q === 0 || (m.src[i] === m.dst[ids[q - 1]] && m.into[ids[q - 1]] === slot));
  return { ids, path: chain && ids.length ? [m.src[ids[0]], ...ids.map((i) => m.dst[i])] : null };
}

export const clean = (v) => (Number.isFinite(v) ? v : 0);

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

export function phaseOf(m, s) {
  return m.phases.find((p) => p.first <= s && s <= p.last);
}
