// What links carry over time, and how much of their capacity that is.

import { linkSpan, routeLinks } from "./hops.js";
import { upTo } from "./order.js";

/** Calls `add(link, t0, t1, bytes)` for every stretch in which a link carries bytes evenly. */
function eachCrossing(model, add) {
  const { start: rs, link: rl } = model.tl.routes,
    F = model.tl.flows,
    s = [0, 0];
  for (let f = 0; f < (F?.route.length ?? 0); f++)
    for (let q = rs[F.route[f]]; q < rs[F.route[f] + 1]; q++) add(rl[q], F.t0[f], F.t1[f], F.bytes[f]);
  for (let i = 0; i < (F ? 0 : model.n); i++) {
    for (let q = rs[model.route[i]]; q < rs[model.route[i] + 1]; q++) {
      linkSpan(model, i, q - rs[model.route[i]], s);
      add(rl[q], s[0], s[1], model.bytes[i]);
    }
  }
}

/**
 * Bytes over every link as exact piecewise linear functions: for link l the break points `start[l]..start[l+1]` with
 * time, bytes so far and bytes per second from there on. With given `flows` these are the rates of the run, what others
 * carry included; else a transfer loads all links of its route evenly from t0 to t1 (cut-through), with given `hops`
 * each link during its hop.
 */
export function linkSeries(model) {
  const layout = model.nlinks;
  /** @type {number[][][]} */
  const events = Array.from({ length: layout }, () => []);
  eachCrossing(model, (l, t0, t1, bytes) => {
    const end = Math.max(t1, t0 + 1e-12 * (model.total || 1)),
      rate = bytes / (end - t0);
    events[l].push([t0, rate, 1, 0], [end, -rate, -1, bytes]);
  });
  const start = new Int32Array(layout + 1);
  for (let l = 0; l < layout; l++) start[l + 1] = start[l] + events[l].length;
  const time = new Float64Array(start[layout]),
    bytes = new Float64Array(start[layout]),
    rate = new Float64Array(start[layout]);
  for (let l = 0; l < layout; l++) {
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
export function linkBytes(model, l, t) {
  const { start, time, bytes, rate } = model.series;
  const q = upTo(time, t, start[l], start[l + 1]);
  return q === start[l] ? 0 : bytes[q - 1] + rate[q - 1] * (t - time[q - 1]);
}

/** Share of its capacity that link l uses in step s. */
export const stepShare = (model, l, s) => shareBetween(model, l, model.step0[s], model.step1[s]);

/** Seconds that link l needs for all its bytes at full rate. */
export const busySeconds = (model, l) => linkBytes(model, l, model.total) / model.tl.links.bandwidth[l];

/** The links of all routes, the busiest first. */
export function usedLinks(model) {
  model.usedLinks ??= [...new Set(model.tl.routes.link)].sort(
    (a, b) => busySeconds(model, b) - busySeconds(model, a) || a - b,
  );
  return model.usedLinks;
}

/**
 * Share of its capacity that link l uses from a to b. Without `flows` each transfer is taken at its mean rate, latency
 * and waiting included, so that several could seem to pass more for a moment than the link carries: where it is shared
 * that cannot be, and all of it is in use.
 */
export function shareBetween(model, l, a, b) {
  const most = (b - a) * model.tl.links.bandwidth[l],
    share = most > 0 ? (linkBytes(model, l, b) - linkBytes(model, l, a)) / most : 0;
  return model.sharing === "none" ? share : Math.min(1, share);
}

const LEAST_TO_MEET = 3, // transfers on one link from which on it is said
  MOST_MOVING = 512; // more at once are not counted

/**
 * The one link that most of the moving transfers cross, and how many they are: {link, n}; null where several links
 * carry as many, and where transfers do not share a link.
 */
export function findMeeting(model, moving) {
  if (model.hopOf || model.sharing === "none" || moving.length > MOST_MOVING) return null;
  const counts = new Map();
  for (const i of moving)
    for (const link of routeLinks(model, model.route[i])) counts.set(link, (counts.get(link) ?? 0) + 1);
  const [first, second] = [...counts].sort((a, b) => b[1] - a[1]);
  return first?.[1] >= LEAST_TO_MEET && !(second?.[1] >= first[1]) ? { link: first[0], n: first[1] } : null;
}

/** Add what lasts from a to b to slices of time that are `w` s long each: the time in each of them, `weight` times. */
export function addToSlices(slices, w, a, b, weight = 1) {
  for (let c = Math.min(slices.length - 1, Math.floor(a / w)); c < slices.length && c * w < b; c++)
    slices[c] += weight * Math.max(0, Math.min(b, (c + 1) * w) - Math.max(a, c * w));
}

const WINDOWS = 400;

/**
 * The span whose use of capacity is shown at t: the step where there are barriers; without them steps overlap, and it
 * is the 400th part of the run round t. `key` changes when the span does.
 */
export function spanAt(model, t, s) {
  if (model.lockstep || !(model.total > 0))
    return s < 0 ? { key: -1, a: 0, b: 0 } : { key: s, a: model.step0[s], b: model.step1[s] };
  const key = Math.min(WINDOWS - 1, Math.floor((t / model.total) * WINDOWS));
  return { key, a: (key / WINDOWS) * model.total, b: ((key + 1) / WINDOWS) * model.total };
}

/** room, near or full: the three classes of use. */
export const useClass = (share) => (share > 0.95 ? "full" : share >= 0.75 ? "near" : "room");

/**
 * Share of `columns` equal slices of the run in which ranks have nothing to receive (or, if they only send, to send).
 */
export function idleShare(model, ncol) {
  const out = new Float64Array(ncol),
    R = model.ranks;
  if (!model.n || !(model.total > 0)) return out;
  const receives = new Set();
  for (let i = 0; i < model.n; i++) receives.add(model.step[i] * model.endpoints + model.dst[i]);
  /** @type {number[][][]} */
  const spans = Array.from({ length: R }, () => []);
  for (let i = 0; i < model.n; i++) {
    if (model.dst[i] < R) spans[model.dst[i]].push([model.t0[i], model.t1[i]]);
    if (model.src[i] < R && !receives.has(model.step[i] * model.endpoints + model.src[i]))
      spans[model.src[i]].push([model.t0[i], model.t1[i]]);
  }
  const w = model.total / ncol;
  for (const list of spans) {
    let until = 0;
    for (const [a, b] of list.sort((x, y) => x[0] - y[0])) {
      addToSlices(out, w, Math.max(a, until), b);
      until = Math.max(until, b);
    }
  }
  return out.map((busy) => Math.min(1, Math.max(0, 1 - busy / (w * R))));
}

/**
 * A row of cables sliced into ncol equal pieces of time: mean and busiest share of capacity, and bytes so far of its
 * busiest cable.
 */
export function rowSlices(model, links, ncol) {
  const mean = new Float64Array(ncol),
    top = new Float64Array(ncol),
    sofar = new Float64Array(ncol);
  const w = model.total / ncol,
    { start, time, bytes, rate } = model.series;
  for (const l of links) {
    let q = start[l],
      before = 0;
    for (let c = 0; c < ncol; c++) {
      const t = (c + 1) * w;
      while (q < start[l + 1] && time[q] <= t) q++;
      const now = q === start[l] ? 0 : bytes[q - 1] + rate[q - 1] * (t - time[q - 1]);
      const share = w > 0 ? (now - before) / (w * model.tl.links.bandwidth[l]) : 0;
      mean[c] += share / links.length;
      top[c] = Math.max(top[c], share);
      sofar[c] = Math.max(sofar[c], now);
      before = now;
    }
  }
  return { mean, top, sofar };
}

/** The middle of the slice of the run in which the most bytes move. */
export function busiest(model, slices = 512) {
  if (!model.n || !(model.total > 0)) return 0;
  const rate = new Float64Array(slices),
    w = model.total / slices;
  for (let i = 0; i < model.n; i++) {
    const d = Math.max(model.t1[i] - model.t0[i], 1e-12 * model.total);
    addToSlices(rate, w, model.t0[i], model.t1[i], model.bytes[i] / d);
  }
  let best = 0;
  for (let c = 1; c < slices; c++) if (rate[c] > rate[best] * (1 + 1e-9)) best = c;
  return (best + 0.5) * w;
}
