// Hops: where a transfer is on its route, and when.

export const routeLinks = (model, r) =>
  model.tl.routes.link.slice(model.tl.routes.start[r], model.tl.routes.start[r + 1]);

// hops.t0/hops.t1 (optional) hold a time for every hop of every transfer; this is where transfer i's hops begin.
export function hopOffsets(model) {
  if (!model.tl.hops) return null;
  const off = new Int32Array(model.n + 1),
    starts = model.tl.routes.start;
  for (let i = 0; i < model.n; i++) off[i + 1] = off[i] + starts[model.route[i] + 1] - starts[model.route[i]];
  return off;
}

/** Start and end of hop h of transfer i: given by `hops`, else the share of its time that the hop alone would need. */
export function hopSpan(model, i, h, out = [0, 0]) {
  if (model.hopOf) {
    const q = model.hopOf[i] + h;
    out[0] = model.tl.hops.t0[q];
    out[1] = model.tl.hops.t1[q];
    return out;
  }
  const { start, link } = model.tl.routes,
    { alpha, bandwidth } = model.tl.links,
    r = model.route[i];
  let before = 0,
    sum = 0,
    ownTime = 0;
  for (let q = start[r]; q < start[r + 1]; q++) {
    const cost = alpha[link[q]] + model.bytes[i] / bandwidth[link[q]];
    if (q < start[r] + h) before += cost;
    if (q === start[r] + h) ownTime = cost;
    sum += cost;
  }
  const d = model.t1[i] - model.t0[i];
  out[0] = model.t0[i] + (sum ? (d * before) / sum : 0);
  out[1] = model.t0[i] + (sum ? (d * (before + ownTime)) / sum : d);
  return out;
}

/** When transfer i loads the link of hop h: during the hop where hops have times, else as long as it lasts. */
export function linkSpan(model, i, h, out) {
  if (model.hopOf) hopSpan(model, i, h, out);
  else [out[0], out[1]] = [model.t0[i], model.t1[i]];
}

const span = [0, 0];

/**
 * Where transfer i is at t: {hop, link, f (share of this hop), share (of the whole), waits (queued before this hop)}.
 */
export function hopAt(model, i, t, out = {}) {
  const { start, link } = model.tl.routes,
    r = model.route[i],
    n = start[r + 1] - start[r];
  const d = model.t1[i] - model.t0[i];
  out.share = d > 0 ? Math.min(1, Math.max(0, (t - model.t0[i]) / d)) : t >= model.t1[i] ? 1 : 0;
  for (let h = 0; h < n; h++) {
    hopSpan(model, i, h, span);
    if (t >= span[1] && h < n - 1) continue;
    const len = span[1] - span[0];
    out.hop = h;
    out.link = link[start[r] + h];
    out.waits = t < span[0];
    out.f = len > 0 ? Math.min(1, Math.max(0, (t - span[0]) / len)) : t >= span[1] ? 1 : 0;
    if (model.hopOf) out.share = (h + out.f) / n; // time in a queue delivers nothing
    return out;
  }
  out.hop = 0;
  out.link = -1;
  out.f = out.share;
  out.waits = false;
  return out;
}

/** The moves of a chunk in order of time, and the ranks it visits when each move starts where the last one ended. */
export function journey(model, slot) {
  const ids = [];
  for (let i = 0; i < model.n; i++) if (model.chunk[i] === slot) ids.push(i);
  const chain = ids.every(
    (i, q) => q === 0 || (model.src[i] === model.dst[ids[q - 1]] && model.into[ids[q - 1]] === slot),
  );
  return { ids, path: chain && ids.length ? [model.src[ids[0]], ...ids.map((i) => model.dst[i])] : null };
}
