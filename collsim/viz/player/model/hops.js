// Hops: where a transfer is on its route, and when.

export const routeLinks = (m, r) => m.tl.routes.link.slice(m.tl.routes.start[r], m.tl.routes.start[r + 1]);

// hops.t0/hops.t1 (optional) hold a time for every hop of every transfer; this is where transfer i's hops begin.
export function hopOffsets(m) {
  if (!m.tl.hops) return null;
  const off = new Int32Array(m.n + 1),
    S = m.tl.routes.start;
  for (let i = 0; i < m.n; i++) off[i + 1] = off[i] + S[m.route[i] + 1] - S[m.route[i]];
  return off;
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

/** The moves of a chunk in order of time, and the ranks it visits when each move starts where the last one ended. */
export function journey(m, slot) {
  const ids = [];
  for (let i = 0; i < m.n; i++) if (m.chunk[i] === slot) ids.push(i);
  const chain = ids.every((i, q) => q === 0 || (m.src[i] === m.dst[ids[q - 1]] && m.into[ids[q - 1]] === slot));
  return { ids, path: chain && ids.length ? [m.src[ids[0]], ...ids.map((i) => m.dst[i])] : null };
}
