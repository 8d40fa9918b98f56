// collsim player: draws one timeline (docs/timeline.md) and knows nothing else.
//
// One ES module, no dependency, no build step. Order of the file:
//   1 the timeline, read     pure functions: index, bytes, contributions, positions (tests/js)
//   2 words and numbers      English and Chinese strings, units
//   3 look                   colour tokens, style sheet, icons
//   4 clock                  one clock can drive several players
//   5 drawing                functions of (canvas context, scene); used by the screen and by "save PNG"
//   6 player                 the card: elements, state, events
//   7 hosts                  Streamlit components v2, anywidget
//
// Data is only ever written with textContent or canvas text, never as markup.

export const SCHEMA = "collsim.timeline/1";

// ---------------------------------------------------------------- 1 the timeline, read

const sameMajor = s => typeof s === "string" && (s === SCHEMA || s.startsWith(SCHEMA + "."));

/** A timeline object from an object, a JSON string or a gzip+base64 envelope {schema, z}. */
export async function unpack(tl) {
  if (typeof tl === "string") tl = JSON.parse(tl);
  if (!tl || typeof tl.z !== "string" || !sameMajor(tl.schema)) return tl;
  const raw = Uint8Array.from(atob(tl.z), c => c.charCodeAt(0));
  const stream = new Blob([raw]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

/** What is wrong with a timeline, as {en, zh}, or null. Checked before anything is drawn: never a blank box. */
export function problem(tl) {
  const say = (en, zh) => ({ en, zh });
  if (!tl || typeof tl !== "object") return say("The player was given no timeline.", "播放器没有收到 timeline 数据。");
  if (!sameMajor(tl.schema)) {
    return say(`This player reads ${SCHEMA}; the data says ${JSON.stringify(tl.schema ?? null)}.`,
      `本播放器读取 ${SCHEMA}，数据却是 ${JSON.stringify(tl.schema ?? null)}。`);
  }
  for (const key of ["meta", "stage", "devices", "links", "routes", "transfers", "steps", "state"]) {
    if (!tl[key] || typeof tl[key] !== "object") return say(`The timeline has no "${key}".`, `timeline 缺少 “${key}”。`);
  }
  const X = tl.transfers, n = X.t0?.length ?? -1;
  for (const key of ["step", "src", "dst", "chunk", "into", "reduce", "bytes", "t0", "t1", "route"]) {
    if (!Array.isArray(X[key]) || X[key].length !== n) {
      return say(`transfers.${key} must be a list as long as transfers.t0.`, `transfers.${key} 的长度必须与 transfers.t0 相同。`);
    }
  }
  const routes = tl.routes.start.length - 1, links = tl.links.src.length;
  if (X.route.some(r => !(r >= 0 && r < routes))) return say("A transfer names a route that does not exist.", "有 transfer 引用了不存在的 route。");
  if (tl.routes.link.some(l => !(l >= 0 && l < links))) return say("A route names a link that does not exist.", "有 route 引用了不存在的 link。");
  return null;
}

/** A text of a column of texts, written as [{en, zh}, ...] or as {en: [...], zh: [...]}. */
export function textAt(column, i, lang) {
  if (column == null) return "";
  if (typeof column === "string") return column;
  const one = Array.isArray(column) ? column[i] : (column[lang] ?? column.en);
  if (one == null) return "";
  if (Array.isArray(one)) return String(one[i] ?? "");
  return typeof one === "object" ? String(one[lang] ?? one.en ?? "") : String(one);
}

// Tables may come as columns or as a list of rows; inside they are columns.
function columns(table, names) {
  if (!Array.isArray(table)) return { ...Object.fromEntries(names.map(k => [k, []])), ...(table ?? {}) };
  return Object.fromEntries(names.map(k => [k, table.map(row => row[k])]));
}

/** Everything that is asked for at every frame, laid out for binary search. */
export function index(tl) {
  const X = tl.transfers, n = X.t0.length, nsteps = tl.steps.t0.length;
  const m = {
    tl, n, nsteps,
    t0: Float64Array.from(X.t0), t1: Float64Array.from(X.t1), bytes: Float64Array.from(X.bytes),
    step: Int32Array.from(X.step), src: Int32Array.from(X.src), dst: Int32Array.from(X.dst),
    chunk: Int32Array.from(X.chunk), into: Int32Array.from(X.into), reduce: Uint8Array.from(X.reduce),
    channel: Int32Array.from(X.channel ?? new Array(n).fill(0)), route: Int32Array.from(X.route),
    step0: Float64Array.from(tl.steps.t0), step1: Float64Array.from(tl.steps.t1),
    endpoints: tl.meta.endpoints ?? tl.meta.ranks, ranks: tl.meta.ranks, slots: tl.meta.slots ?? tl.meta.chunks,
    channels: Math.max(1, tl.meta.channels ?? 1), goal: tl.state.goal ?? 1,
    nlinks: tl.links.src.length, lockstep: tl.meta.engine !== "event",
    panels: columns(tl.panels, ["x", "y", "w", "h", "label", "note"]),
    rows: columns(tl.rows, ["label", "note", "links", "hot"]), phases: tl.phases ?? [], key: tl.key ?? [],
    hot: new Set(tl.bottleneck?.links ?? []),
  };
  let end = Math.max(tl.figures?.time ?? 0, tl.meta.time ?? 0);
  for (const t of m.t1) if (t > end) end = t;
  for (const t of m.step1) if (t > end) end = t;
  m.total = end;
  for (let s = 1; s < nsteps; s++) m.step0[s] = Math.max(m.step0[s], m.step0[s - 1]);   // the scrubber's cells never run backwards
  m.hopOf = hopOffsets(m);
  m.buckets = bucketIndex(m);
  m.series = linkSeries(m);
  m.byStep = groups(m.step, nsteps, n);
  Object.assign(m, contributions(m));
  return m;
}

/** Ids 0..n-1 grouped by a key column: ids of group g are `id[start[g]..start[g+1]]`, in rising order. */
export function groups(keys, ngroups, n = keys.length) {
  const start = new Int32Array(ngroups + 1), id = new Int32Array(n);
  for (let i = 0; i < n; i++) start[keys[i] + 1]++;
  for (let g = 0; g < ngroups; g++) start[g + 1] += start[g];
  const next = start.slice(0, ngroups);
  for (let i = 0; i < n; i++) id[next[keys[i]]++] = i;
  return { start, id };
}

const routeLinks = (m, r) => m.tl.routes.link.slice(m.tl.routes.start[r], m.tl.routes.start[r + 1]);

// hops.t0/hops.t1 (optional) hold a time for every hop of every transfer; this is where transfer i's hops begin.
function hopOffsets(m) {
  if (!m.tl.hops) return null;
  const off = new Int32Array(m.n + 1), S = m.tl.routes.start;
  for (let i = 0; i < m.n; i++) off[i + 1] = off[i] + S[m.route[i] + 1] - S[m.route[i]];
  return off;
}

/** Time buckets, each with the transfers that are in flight at some moment of it. */
export function bucketIndex(m) {
  const count = Math.max(1, Math.min(4096, 4 * m.nsteps, m.n)), scale = m.total > 0 ? count / m.total : 0;
  const at = t => Math.max(0, Math.min(count - 1, Math.floor(t * scale)));
  const start = new Int32Array(count + 1);
  for (let i = 0; i < m.n; i++) for (let b = at(m.t0[i]), e = at(m.t1[i]); b <= e; b++) start[b + 1]++;
  for (let b = 0; b < count; b++) start[b + 1] += start[b];
  const id = new Int32Array(start[count]), next = start.slice(0, count);
  for (let i = 0; i < m.n; i++) for (let b = at(m.t0[i]), e = at(m.t1[i]); b <= e; b++) id[next[b]++] = i;
  return { start, id, at };
}

/** Ids of the transfers in flight at t: t0 <= t < t1. */
export function activeAt(m, t, out = []) {
  out.length = 0;
  if (!m.n) return out;
  const { start, id, at } = m.buckets, b = at(t);
  for (let q = start[b]; q < start[b + 1]; q++) {
    const i = id[q];
    if (m.t0[i] <= t && t < m.t1[i]) out.push(i);
  }
  return out;
}

/** The current step: the last one that has begun (steps may overlap in the event engine). -1 when there is none. */
export function stepAt(m, t) {
  let lo = 0, hi = m.nsteps;
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if (m.step0[mid] <= t) lo = mid + 1; else hi = mid;
  }
  return m.nsteps ? Math.max(0, lo - 1) : -1;
}

/** Start and end of hop h of transfer i: given by `hops`, else the share of its time that the hop alone would need. */
export function hopSpan(m, i, h, out = [0, 0]) {
  if (m.hopOf) {
    const q = m.hopOf[i] + h;
    out[0] = m.tl.hops.t0[q]; out[1] = m.tl.hops.t1[q];
    return out;
  }
  const { start, link } = m.tl.routes, { alpha, bandwidth } = m.tl.links, r = m.route[i];
  let before = 0, sum = 0, own = 0;
  for (let q = start[r]; q < start[r + 1]; q++) {
    const cost = alpha[link[q]] + m.bytes[i] / bandwidth[link[q]];
    if (q < start[r] + h) before += cost;
    if (q === start[r] + h) own = cost;
    sum += cost;
  }
  const d = m.t1[i] - m.t0[i];
  out[0] = m.t0[i] + (sum ? d * before / sum : 0); out[1] = m.t0[i] + (sum ? d * (before + own) / sum : d);
  return out;
}

const span = [0, 0];

/** Where transfer i is at t: {hop, link, f (share of this hop), share (of the whole), waits (queued before this hop)}. */
export function hopAt(m, i, t, out = {}) {
  const { start, link } = m.tl.routes, r = m.route[i], n = start[r + 1] - start[r];
  const d = m.t1[i] - m.t0[i];
  out.share = d > 0 ? Math.min(1, Math.max(0, (t - m.t0[i]) / d)) : (t >= m.t1[i] ? 1 : 0);
  for (let h = 0; h < n; h++) {
    hopSpan(m, i, h, span);
    if (t >= span[1] && h < n - 1) continue;
    const len = span[1] - span[0];
    out.hop = h; out.link = link[start[r] + h]; out.waits = t < span[0];
    out.f = len > 0 ? Math.min(1, Math.max(0, (t - span[0]) / len)) : (t >= span[1] ? 1 : 0);
    if (m.hopOf) out.share = (h + out.f) / n;               // time in a queue delivers nothing
    return out;
  }
  out.hop = 0; out.link = -1; out.f = out.share; out.waits = false;
  return out;
}

/**
 * Bytes over every link as exact piecewise linear functions: for link l the break points `start[l]..start[l+1]` with
 * time, bytes so far and bytes per second from there on. A transfer loads all links of its route evenly from t0 to t1
 * (cut-through, as the engines count); with given `hops` each link only during its own hop.
 */
export function linkSeries(m) {
  const { start: rs, link: rl } = m.tl.routes, L = m.nlinks, s = [0, 0];
  const events = Array.from({ length: L }, () => []);
  for (let i = 0; i < m.n; i++) {
    for (let q = rs[m.route[i]]; q < rs[m.route[i] + 1]; q++) {
      if (m.hopOf) hopSpan(m, i, q - rs[m.route[i]], s); else { s[0] = m.t0[i]; s[1] = m.t1[i]; }
      const end = Math.max(s[1], s[0] + 1e-12 * (m.total || 1)), rate = m.bytes[i] / (end - s[0]);
      events[rl[q]].push([s[0], rate, 1, 0], [end, -rate, -1, m.bytes[i]]);
    }
  }
  const start = new Int32Array(L + 1);
  for (let l = 0; l < L; l++) start[l + 1] = start[l] + events[l].length;
  const time = new Float64Array(start[L]), bytes = new Float64Array(start[L]), rate = new Float64Array(start[L]);
  for (let l = 0; l < L; l++) {
    let q = start[l], open = 0, r = 0, c = 0, last = 0, done = 0;
    for (const [t, dr, dn, b] of events[l].sort((a, z) => a[0] - z[0])) {
      c += r * (t - last); last = t; open += dn; done += b; r += dr;
      if (open === 0) { r = 0; c = done; }             // no rounding is carried over an idle moment
      time[q] = t; bytes[q] = c; rate[q++] = r;
    }
  }
  return { start, time, bytes, rate };
}

/** Bytes that link l has carried up to t. */
export function linkBytes(m, l, t) {
  const { start, time, bytes, rate } = m.series;
  let lo = start[l], hi = start[l + 1];
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if (time[mid] <= t) lo = mid + 1; else hi = mid;
  }
  return lo === start[l] ? 0 : bytes[lo - 1] + rate[lo - 1] * (t - time[lo - 1]);
}

/** Share of its capacity that link l uses in step s. */
export function stepShare(m, l, s) {
  const d = m.step1[s] - m.step0[s];
  return d > 0 ? (linkBytes(m, l, m.step1[s]) - linkBytes(m, l, m.step0[s])) / (d * m.tl.links.bandwidth[l]) : 0;
}

/** room, near or full: the three classes of use. */
export const useClass = share => (share > 0.95 ? "full" : share >= 0.75 ? "near" : "room");

/** The cells [endpoint, slot] that a `held` or `wanted` entry of the state names. */
export function cellsOf(what, state, meta) {
  const out = [], slots = meta.slots ?? meta.chunks, k = Math.max(1, Math.round(meta.chunks / meta.ranks));
  const per = slots === meta.chunks * meta.channels ? meta.channels : 1;     // each channel may have its own copy of the chunks
  if (Array.isArray(what)) return what;
  for (let r = 0; r < meta.ranks; r++) {
    if (what === "all" || (what === "root" && r === (state.root ?? 0))) for (let c = 0; c < slots; c++) out.push([r, c]);
    if (what === "own") for (let p = 0; p < per; p++) for (let c = 0; c < k; c++) out.push([r, p * meta.chunks + r * k + c]);
  }
  return out;
}

// Numbers for the logical picture: the digits of pi without zeros, so that every rank starts with its own small values.
const PI = "31415926535897932384626433832795288419716939937515820974944592378164628628998628348253421176798214865";

/**
 * What every transfer carries (k contributions, which ranks, which value) and what every cell holds after each arrival.
 * Transfers of a step read the cells as they were when the step began; arrivals take effect at their own t1.
 */
export function contributions(m) {
  const E = m.endpoints, S = m.slots, n = m.n;
  const count = new Int32Array(E * S), value = new Float64Array(E * S), mask = new Uint32Array(E * S);
  for (const [e, c] of cellsOf(m.tl.state.held ?? "all", m.tl.state, m.tl.meta)) {
    const cell = e * S + c;
    count[cell] = 1; value[cell] = +PI[cell % PI.length]; mask[cell] = (1 << (e % 32)) >>> 0;
  }
  const first = { count: count.slice(), value: value.slice(), mask: mask.slice() };
  const k = new Int32Array(n), val = new Float64Array(n), who = new Uint32Array(n);
  const { start, id } = groups(m.step, m.nsteps, n);
  for (let s = 0; s < m.nsteps; s++) {
    for (let q = start[s]; q < start[s + 1]; q++) {
      const i = id[q], from = m.src[i] * S + m.chunk[i];
      k[i] = count[from]; val[i] = value[from]; who[i] = mask[from];
    }
    for (let q = start[s]; q < start[s + 1]; q++) arrive(count, value, mask, m.dst[id[q]] * S + m.into[id[q]], id[q]);
  }
  function arrive(c, v, w, cell, i) {
    if (m.reduce[i]) { c[cell] += k[i]; v[cell] += val[i]; w[cell] |= who[i]; }
    else { c[cell] = k[i]; v[cell] = val[i]; w[cell] = who[i]; }
  }
  const byEnd = Int32Array.from({ length: n }, (_, i) => i).sort((a, b) => m.t1[a] - m.t1[b] || m.step[a] - m.step[b] || a - b);
  const cellOf = byEnd.map(i => m.dst[i] * S + m.into[i]), events = groups(cellOf, E * S, n);
  const after = { count: new Int32Array(n), value: new Float64Array(n), mask: new Uint32Array(n) };
  const now = { count: first.count.slice(), value: first.value.slice(), mask: first.mask.slice() };
  for (let cell = 0; cell < E * S; cell++) {
    for (let q = events.start[cell]; q < events.start[cell + 1]; q++) {
      arrive(now.count, now.value, now.mask, cell, byEnd[events.id[q]]);
      for (const f of ["count", "value", "mask"]) after[f][q] = now[f][cell];
    }
  }
  const eventTime = Float64Array.from(events.id, q => m.t1[byEnd[q]]);
  return { k, val, who, byEnd, first, after, eventStart: events.start, eventTime };
}

/** What a cell holds at t: "count" (contributions), "value" or "mask" (bits of the ranks that are in it). */
export function cellAt(m, cell, t, field = "count") {
  let lo = m.eventStart[cell], hi = m.eventStart[cell + 1];
  const begin = lo;
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if (m.eventTime[mid] <= t) lo = mid + 1; else hi = mid;
  }
  return lo === begin ? m.first[field][cell] : m.after[field][lo - 1];
}

/** How many transfers have landed by t. */
export function landedBy(m, t) {
  let lo = 0, hi = m.n;
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if (m.t1[m.byEnd[mid]] <= t) lo = mid + 1; else hi = mid;
  }
  return lo;
}

/** Transfers of the current step that have landed while others of it are still under way (lockstep only: nobody waits without a barrier). */
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

/** True when every cell that must be finished at the end is finished at t. */
export function doneAt(m, t) {
  m.wanted ??= cellsOf(m.tl.state.wanted ?? "all", m.tl.state, m.tl.meta);
  return m.wanted.every(([e, c]) => cellAt(m, e * m.slots + c, t) >= m.goal);
}

/** Share of `columns` equal slices of the run in which ranks have nothing to receive (or, if they only send, to send). */
export function idleShare(m, ncol) {
  const out = new Float64Array(ncol), R = m.ranks;
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
      for (let c = Math.floor(a / w); c < ncol && c * w < b; c++) out[c] += Math.max(0, Math.min(b, (c + 1) * w) - Math.max(a, c * w));
      until = Math.max(until, b);
    }
  }
  return out.map(busy => Math.min(1, Math.max(0, 1 - busy / (w * R))));
}

/** A row of cables sliced into ncol equal pieces of time: mean and busiest share of capacity, and bytes so far of its busiest cable. */
export function rowSlices(m, links, ncol) {
  const mean = new Float64Array(ncol), top = new Float64Array(ncol), sofar = new Float64Array(ncol);
  const w = m.total / ncol, { start, time, bytes, rate } = m.series;
  for (const l of links) {
    let q = start[l], before = 0;
    for (let c = 0; c < ncol; c++) {
      const t = (c + 1) * w;
      while (q < start[l + 1] && time[q] <= t) q++;
      const now = q === start[l] ? 0 : bytes[q - 1] + rate[q - 1] * (t - time[q - 1]);
      const share = w > 0 ? (now - before) / (w * m.tl.links.bandwidth[l]) : 0;
      mean[c] += share / links.length; top[c] = Math.max(top[c], share); sofar[c] = Math.max(sofar[c], now);
      before = now;
    }
  }
  return { mean, top, sofar };
}

/** The middle of the slice of the run in which the most bytes move. */
export function busiest(m, slices = 512) {
  if (!m.n || !(m.total > 0)) return 0;
  const rate = new Float64Array(slices), w = m.total / slices;
  for (let i = 0; i < m.n; i++) {
    const d = Math.max(m.t1[i] - m.t0[i], 1e-12 * m.total);
    for (let c = Math.min(slices - 1, Math.floor(m.t0[i] / w)); c < slices && c * w < m.t1[i]; c++) {
      rate[c] += m.bytes[i] * Math.max(0, Math.min(m.t1[i], (c + 1) * w) - Math.max(m.t0[i], c * w)) / d;
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
  return { ids, path: chain && ids.length ? [m.src[ids[0]], ...ids.map(i => m.dst[i])] : null };
}

/** The polyline of a route, one piece per hop; each piece begins with the way through the device before it. */
export function shape(m, r) {
  m.shapes ??= [];
  if (m.shapes[r]) return m.shapes[r];
  const { path, src } = m.tl.links, hops = [];
  let prev = null;
  for (const l of routeLinks(m, r)) {
    const pts = Array.from(path[l]);
    if (prev) pts.unshift(...through(m.tl.devices, src[l], prev[0], prev[1], pts[0], pts[1]));
    prev = pts.slice(-2);
    hops.push(measure(pts));
  }
  return (m.shapes[r] = hops);
}

const clean = v => (Number.isFinite(v) ? v : 0);

/**
 * The points from where a route enters device d up to (not including) where it leaves, right-angled like the cables:
 * a U when both are on one edge (NVSwitch bars), a Z between opposite edges, one corner between edges that meet.
 */
export function through(D, d, x0, y0, x1, y1) {
  const x = D.x[d], y = D.y[d], w = D.w[d], h = D.h[d], near = (a, b) => Math.abs(a - b) < 2.5, far = Math.abs(x1 - x0) + Math.abs(y1 - y0);
  const level = v => near(v, y) || near(v, y + h), upright = u => near(u, x) || near(u, x + w);
  const deep = size => Math.min(size * (size >= 60 ? 0.56 : far > 0.5 * Math.max(w, h) ? 0.42 : 0.27), Math.max(Math.min(8, size * 0.27), far * 0.12));
  const apart = from => (from > 0 ? 2.5 : -2.5);             // both ways through one switch: two tracks, not one
  if (far <= 1) return [x0, y0];
  if (level(y0) && level(y1)) {
    if (near(x0, x1)) return [x0, y0];
    const v = !near(y0, y1) ? (y0 + y1) / 2 + apart(x1 - x0) : near(y0, y) ? y0 + deep(h) : y0 - deep(h);
    return [x0, y0, x0, v, x1, v];
  }
  if (upright(x0) && upright(x1)) {
    if (near(y0, y1)) return [x0, y0];
    const u = !near(x0, x1) ? (x0 + x1) / 2 + apart(y1 - y0) : near(x0, x) ? x0 + deep(w) : x0 - deep(w);
    return [x0, y0, u, y0, u, y1];
  }
  if (level(y0) && upright(x1)) return [x0, y0, x0, y1];
  if (upright(x0) && level(y1)) return [x0, y0, x1, y0];
  return [x0, y0];
}

export function measure(pts) {
  const n = pts.length / 2, at = new Float64Array(Math.max(1, n));
  for (let q = 1; q < n; q++) at[q] = at[q - 1] + Math.hypot(pts[2 * q] - pts[2 * q - 2], pts[2 * q + 1] - pts[2 * q - 1]);
  return { pts, at, len: at[at.length - 1] };
}

/** The point at distance d along a measured polyline, with the direction of travel. */
export function pointAt(line, d, out = {}) {
  const { pts, at } = line, n = pts.length / 2;
  d = Math.min(line.len, Math.max(0, clean(d)));
  let q = 1;
  while (q < n - 1 && at[q] < d) q++;
  if (n < 2) return Object.assign(out, { x: pts[0], y: pts[1], dx: 1, dy: 0 });
  const len = at[q] - at[q - 1], f = len > 0 ? (d - at[q - 1]) / len : 0;
  out.dx = len > 0 ? (pts[2 * q] - pts[2 * q - 2]) / len : 1; out.dy = len > 0 ? (pts[2 * q + 1] - pts[2 * q - 1]) / len : 0;
  out.x = pts[2 * q - 2] + out.dx * len * f; out.y = pts[2 * q - 1] + out.dy * len * f;
  return out;
}

// ---------------------------------------------------------------- 2 words and numbers

const NB = "\u00a0";   // no-break space between a number and its unit

const WORDS = {
  en: {
    step: (s, n) => `Step ${s} of ${n}`, head: (s, n, phase) => `Step ${s} of ${n}${phase ? `, ${phase}` : ""}.`,
    physical: "Physical", logical: "Logical", view: "View (V)", speed: "Speed",
    real: (a) => `1${NB}s shows ${a}`,
    first: "To the start (Home)", back: "Step back (←)", play: "Play (Space)", pause: "Pause (Space)", next: "Step forward (→)",
    loop: "Loop this step (L)", busy: "Busiest moment (B)", link: "Copy link", png: "Save PNG", full: "Presenter mode (F)",
    playLabel: "Play", pauseLabel: "Pause", time: "Time",
    contributions: n => `Contributions in each chunk, of ${n}`, holds: "Chunks on each rank", rank: "rank", chunk: "chunk", channel: "channel", all: "all",
    complete: "complete", sending: "sending now", arriving: "will arrive here",
    reduce: "reduce: fill = share of the sum", copy: "copy: finished chunk",
    copySum: "copy: finished sum", cable: "cable: width = capacity, core = bytes so far", inUse: "blue: in use in this step", used: "used:", range: ["<75 %", "75–95 %", ">95 %"],
    waitsKey: "landed, waiting",
    keyCable: "cable", keyUsed: "used this step", nominal: "nominal, per direction",
    steps: (a, b) => (a === b ? `step ${a}` : `steps ${a} to ${b}`), stepsSep: ": ",
    rate: "Rate", bytes: "Bytes", chart: "What the rows show",
    sofar: "Bytes so far, busiest cable", capacity: "Capacity used this step", of: x => `of ${x}`,
    waiting: "Ranks waiting", waitNote: "for the step to end", idle: "Ranks idle", idleNote: "nothing arrives",
    waitFig: (a, n, p) => `${a} of ${n} ranks, ${p}`, idleFig: (a, n) => `${a} of ${n} ranks now`,
    tabs: ["Links over time", "Contributions", "Schedule as text", "Key"], asText: "Schedule as text", hideText: "Hide the text",
    none: "One rank: there is nothing to send.", idleRun: "There is nothing to send.",
    finished: (n, sum) => `All ${n} ranks hold ${sum ? "the sum" : "what they asked for"}.`, over: "The run is over.",
    aggregated: n => `${n} transfers in flight, aggregated: arrows show where bytes move`,
    copied: "Link copied", noLink: "This page has no link to copy", saved: "Saved",
    sofarTip: (b, p) => `${b} so far, ${p} of what it could have carried`, usedTip: p => `${p} used in this step`, nowTip: x => `now: ${x}`,
    idleTip: "idle in this step", perDir: "per direction", contains: (k, n) => `holds ${k} of ${n} contributions`, whole: "finished",
    moveTip: (c, a, b, op) => `chunk ${c}, ${a} → ${b}, ${op}`, op: ["copy", "reduce"], doneTip: (p, b) => `${p} of ${b} delivered`,
    journey: p => `journey: ${p}`, moves: (k, n) => `moved ${k} of ${n} times`, waitsTip: "waits for the step to end", queued: "waits for this cable", queue: n => `${n} wait`,
    completeTip: (k, n) => `${k} of ${n} chunks finished`, goal: "The goal, on every rank:", dots: "dots: whose numbers are in the chunk",
    linkTable: "Links", cols: ["cable", "used in the run", "bytes", "capacity"], valuetext: (s, n, phase, t) => `step ${s} of ${n}${phase ? `, ${phase}` : ""}, ${t}`,
    emptyCell: "nothing yet", more: n => `${n} more not drawn`, big: "The schedule is too large to print here.", stageLabel: "Picture of the machine",
    algbw: "algbw", busbw: "busbw", bound: "Lower bound", bottleneck: "Bottleneck", times: x => `this run takes ${x} × that`, ranksSteps: (r, s) => `${r} ${r === 1 ? "rank" : "ranks"}, ${s} ${s === 1 ? "step" : "steps"}`,
    wrong: "This picture cannot be drawn.",
  },
  zh: {
    step: (s, n) => `第 ${s} 步，共 ${n} 步`, head: (s, n, phase) => `第 ${s} 步，共 ${n} 步${phase ? `，${phase}` : ""}。`,
    physical: "物理视图", logical: "逻辑视图", view: "视图 (V)", speed: "速度",
    real: (a) => `1${NB}s 放映 ${a}`,
    first: "回到开头 (Home)", back: "上一步 (←)", play: "播放 (空格)", pause: "暂停 (空格)", next: "下一步 (→)",
    loop: "循环播放本步 (L)", busy: "最忙的时刻 (B)", link: "复制链接", png: "保存 PNG", full: "演示模式 (F)",
    playLabel: "播放", pauseLabel: "暂停", time: "时间",
    contributions: n => `每个 chunk 已累加的贡献数（共 ${n}）`, holds: "每个 rank 持有的 chunk", rank: "rank", chunk: "chunk", channel: "channel", all: "全部",
    complete: "完整", sending: "正在发送", arriving: "即将到达",
    reduce: "reduce：填充高度 = 已累加的比例", copy: "copy：完整的 chunk",
    copySum: "copy：完整的和", cable: "线缆：外宽 = 容量，内芯 = 已传字节", inUse: "蓝色：本步在用", used: "占用：", range: ["<75 %", "75–95 %", ">95 %"],
    waitsKey: "已到达，等待中",
    keyCable: "线缆", keyUsed: "本步占用", nominal: "标称值，单向",
    steps: (a, b) => (a === b ? `第 ${a} 步` : `第 ${a}–${b} 步`), stepsSep: "：",
    rate: "速率", bytes: "字节", chart: "各行显示的内容",
    sofar: "已传字节（最忙的一条）", capacity: "本步占用容量", of: x => `共 ${x}`,
    waiting: "等待中的 rank", waitNote: "等本步结束", idle: "空闲的 rank", idleNote: "没有数据到达",
    waitFig: (a, n, p) => `${n} 个 rank 中的 ${a} 个，${p}`, idleFig: (a, n) => `此刻 ${n} 个 rank 中的 ${a} 个`,
    tabs: ["链路随时间", "贡献数", "文字版日程", "图例"], asText: "文字版日程", hideText: "收起文字",
    none: "只有一个 rank：没有要发送的数据。", idleRun: "没有要发送的数据。",
    finished: (n, sum) => `全部 ${n} 个 rank 都得到了${sum ? "完整的和" : "所需的数据"}。`, over: "运行结束。",
    aggregated: n => `${n} 个传输在途，已合并显示：箭头表示字节流向`,
    copied: "链接已复制", noLink: "此页面没有可复制的链接", saved: "已保存",
    sofarTip: (b, p) => `已传 ${b}，占可传量的 ${p}`, usedTip: p => `本步占用 ${p}`, nowTip: x => `此刻：${x}`,
    idleTip: "本步空闲", perDir: "单向", contains: (k, n) => `含 ${n} 份贡献中的 ${k} 份`, whole: "已完成",
    moveTip: (c, a, b, op) => `chunk ${c}，${a} → ${b}，${op}`, op: ["copy", "reduce"], doneTip: (p, b) => `${b} 中的 ${p} 已送达`,
    journey: p => `路径：${p}`, moves: (k, n) => `共 ${n} 次移动，已完成 ${k} 次`, waitsTip: "等本步结束", queued: "在等这条线缆", queue: n => `${n} 个在等`,
    completeTip: (k, n) => `${n} 个 chunk 中 ${k} 个已完成`, goal: "目标：每个 rank 都得到", dots: "圆点：chunk 中包含哪些 rank 的数",
    linkTable: "链路", cols: ["线缆", "全程占用", "字节", "容量"], valuetext: (s, n, phase, t) => `第 ${s} 步，共 ${n} 步${phase ? `，${phase}` : ""}，${t}`,
    emptyCell: "尚无数据", more: n => `另有 ${n} 条未画出`, big: "日程太大，无法在此列出。", stageLabel: "机器示意图",
    algbw: "algbw", busbw: "busbw", bound: "下界", bottleneck: "瓶颈", times: x => `本次运行是它的 ${x} 倍`, ranksSteps: (r, s) => `${r} 个 rank，${s} 步`,
    wrong: "无法绘制此图。",
  },
};

const three = x => (Math.abs(x) >= 1000 ? String(Math.round(x)) : String(Number(x.toPrecision(3))));

/** 134217728 -> "128 MiB". */
export function fmtBytes(b) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let u = 0;
  while (u < 4 && Math.abs(b) >= 1023.5) { b /= 1024; u++; }
  return three(b) + NB + units[u];
}

/** A share as "8.3 %", "79 %", "99.5 %". */
export function fmtShare(x) {
  const p = 100 * x;
  return (p > 0 && p < 10) || (p > 95 && p < 99.95) ? `${Number(p.toFixed(1))}${NB}%` : `${Math.round(p)}${NB}%`;
}

export const fmtRate = b => (b >= 1e9 ? `${three(b / 1e9)}${NB}GB/s` : b >= 1e6 ? `${three(b / 1e6)}${NB}MB/s` : `${three(b / 1e3)}${NB}kB/s`);

/** One unit and one number of decimals for all times of a run of `total` seconds. */
export function timeUnit(total) {
  const [f, unit] = total >= 1 ? [1, "s"] : total >= 1e-3 ? [1e3, "ms"] : total >= 1e-6 ? [1e6, "µs"] : [1e9, "ns"];
  const digits = total > 0 ? Math.max(0, 4 - Math.floor(Math.log10(total * f))) : 0;
  return { f, unit, digits: Math.min(3, digits), num: t => (t * f).toFixed(Math.min(3, digits)), fmt: t => (t * f).toFixed(Math.min(3, digits)) + NB + unit };
}

function fmtSpan(t) {
  const u = timeUnit(t);
  return three(t * u.f) + NB + u.unit;
}

function niceStep(range, count) {
  const raw = range / Math.max(1, count), p = 10 ** Math.floor(Math.log10(raw || 1));
  return p * [1, 2, 5, 10].find(k => k * p >= raw * 0.999);
}

// ---------------------------------------------------------------- 3 look

const FONT = '"Source Sans 3","Segoe UI","Helvetica Neue",Arial,"Noto Sans CJK SC","PingFang SC","Microsoft YaHei",sans-serif';

const TOKENS = {
  light: {
    bg: "#F4F6F5", card: "#FFFFFF", sunk: "#F0F3F2", ink: "#162026", ink2: "#45535B", ink3: "#5C6A72", line: "#D3DADD", grid: "#E6EAEC",
    edge: "#7F8D95", idle: "#CBD4D8", casing: "#EBEFF1", room: "#3F8FC8", roomtint: "#E6F2FA", near: "#A87000", neartint: "#FDF4E0",
    full: "#A63A00", fulltint: "#FCE0CF", fulltext: "#9C3700", sum1: "#EAF4F0", sum2: "#3FAE8C", sumfill: "#8FD3BB", done: "#00664A",
    ontext: "#FFFFFF", rs: "#E3E8F1", ag: "#E2F1EB", wait: "#87949B", host: "#F1E9F2", hostink: "#7A3E68",
  },
  dark: {
    bg: "#0E1316", card: "#161D21", sunk: "#1C2529", ink: "#EEF3F5", ink2: "#BCC8CE", ink3: "#98A7AE", line: "#334046", grid: "#242E33",
    edge: "#71818A", idle: "#38444B", casing: "#222C31", room: "#56B4E9", roomtint: "#173245", near: "#F2BC45", neartint: "#3E2F0C",
    full: "#F26A2E", fulltint: "#4A2410", fulltext: "#FF9A66", sum1: "#1D2E2A", sum2: "#1E7561", sumfill: "#1D705B", done: "#5FE0B5",
    ontext: "#06241B", rs: "#232C3A", ag: "#16302A", wait: "#7C8B93", host: "#33242F", hostink: "#E3A5CF",
  },
};

const CSS = `
.cs{all:initial;display:block;box-sizing:border-box;font:15px/1.4 ${FONT};color:var(--ink);font-variant-numeric:tabular-nums;outline:none;-webkit-font-smoothing:antialiased;text-align:left}
.cs *,.cs *:before{box-sizing:border-box}
.cs :focus-visible{outline:2px solid var(--ink);outline-offset:2px}
.cs:focus-visible .card{outline:2px solid var(--ink);outline-offset:2px}
.cs .card{position:relative;background:var(--card);border:1px solid var(--line);border-radius:10px;padding:0 20px 14px}
.cs .load{position:absolute;left:10px;right:10px;top:-1px;height:2px;background:var(--ink);display:none}
.cs.loading .load{display:block}.cs.loading .body{opacity:.6}
.cs .error{display:none;padding:20px 0;font-size:17px;line-height:25px}.cs.bad .error{display:block}.cs.bad .body{display:none}
.cs .nar{display:flex;align-items:center;gap:20px;height:72px;font-size:19.5px;line-height:27px}
.cs .nar.long{font-size:16.5px;line-height:22px}
.cs .say{flex:1;margin:0;text-wrap:pretty;max-height:100%;overflow:hidden}.cs .say b{font-weight:700}
.cs .seg{display:inline-flex;flex:none;border:1px solid var(--edge);border-radius:6px;overflow:hidden;background:var(--card)}
.cs button,.cs select{font:inherit;color:var(--ink);cursor:pointer;margin:0}
.cs .seg button{border:0;background:none;padding:4px 11px;font-size:14px;line-height:20px;min-height:32px;color:var(--ink2);white-space:nowrap}
.cs .seg button:focus-visible{outline-offset:-4px}
.cs .seg button[aria-pressed=true]:focus-visible{outline-color:var(--card)}
.cs .seg button+button{border-left:1px solid var(--line)}
.cs .seg button[aria-pressed=true]{background:var(--ink);color:var(--card);font-weight:700}
.cs .seg.small button{font-size:13px;padding:1px 8px;min-height:24px;line-height:18px}
.cs .mid{display:grid;grid-template-columns:minmax(0,1fr) 400px;gap:0 24px}
.cs.narrow .mid{grid-template-columns:minmax(0,1fr)}
.cs .stage{position:relative;overflow-x:auto;overflow-y:hidden}.cs .stage canvas{position:absolute;left:0;top:0;display:block}
.cs canvas{display:block}
.cs .legend{display:flex;flex-wrap:wrap;align-items:center;gap:4px 16px;min-height:30px;font-size:13px;line-height:18px;color:var(--ink2);padding:2px 4px 4px}
.cs .legend span{display:inline-flex;align-items:center;gap:7px;white-space:nowrap}.cs .legend svg{flex:none}
.cs .kinds{display:flex;flex-wrap:wrap;gap:2px 26px;font-size:13px;line-height:24px;color:var(--ink2);padding:2px 4px 0}.cs .kinds b{color:var(--ink)}.cs .kinds .full b{color:var(--fulltext)}
.cs .kinds span{display:inline-flex;gap:7px;align-items:center;white-space:nowrap}
.cs .right h3{font-size:15px;line-height:20px;margin:0;font-weight:700;display:flex;justify-content:space-between;align-items:center;height:26px;white-space:nowrap}
.cs .right select{font-size:13px;height:26px;border:1px solid var(--edge);border-radius:6px;background:var(--card);padding:0 4px}
.cs .right label{font-weight:400;font-size:13px;color:var(--ink2);display:inline-flex;gap:6px;align-items:center}
.cs .tr{display:flex;align-items:center;gap:6px;min-height:50px;border-top:1px solid var(--line);padding-top:6px;margin-top:2px}
.cs .tr .gap{flex:1}.cs .tr .g{display:flex;gap:6px;align-items:center}.cs .lead{margin-right:12px}.cs .real{margin-left:6px}
.cs .btn{display:inline-flex;align-items:center;justify-content:center;width:36px;height:36px;border-radius:8px;border:1px solid var(--edge);background:var(--card);color:var(--ink);padding:0}
.cs .btn svg{width:18px;height:18px;fill:none;stroke:currentColor;stroke-width:1.7;stroke-linejoin:round;stroke-linecap:round}
.cs .btn.play{width:48px}.cs .btn.play,.cs .btn[aria-pressed=true]{background:var(--ink);border-color:var(--ink);color:var(--card)}
.cs .btn:disabled{opacity:.4;cursor:default}
.cs .stepno{font-size:17px;font-weight:700;margin-right:10px;white-space:nowrap}.cs .clock{font-size:14px;color:var(--ink2);white-space:nowrap;margin-right:14px}
.cs .dim{font-size:13px;color:var(--ink2);white-space:nowrap}
.cs .scrub,.cs .rows{touch-action:none;cursor:pointer;position:relative}
.cs .scrub:focus-visible{outline-offset:0}
.cs .mode{position:absolute;left:0;top:3px}
.cs .tabs{display:none;gap:4px;height:42px;align-items:flex-end;border-bottom:1px solid var(--line);margin-bottom:8px}
.cs.narrow .tabs{display:flex}
.cs .tablist{display:flex;gap:4px;align-items:flex-end}
.cs .tabs button{border:0;background:none;padding:6px 14px;font-size:14px;min-height:38px;color:var(--ink2);border-bottom:3px solid transparent;white-space:nowrap}
.cs .tabs button[aria-selected=true]{color:var(--ink);font-weight:700;border-bottom-color:var(--ink)}
.cs .panel{position:relative}
.cs .foot{display:flex;justify-content:flex-end;gap:12px;align-items:center}.cs.narrow .foot{display:none}
.cs .textlink{border:0;background:none;padding:4px 0;font-size:13px;color:var(--ink2);text-decoration:underline;min-height:28px}
.cs .words{overflow:auto;max-height:440px;font-size:13px;line-height:20px}
.cs table{border-collapse:collapse;font-family:ui-monospace,"Cascadia Code",Menlo,"Liberation Mono",monospace;font-size:12.5px;margin:4px 0 14px}
.cs td,.cs th{padding:1px 8px;text-align:left;white-space:nowrap;border-bottom:1px solid var(--grid);font-weight:400;color:var(--ink)}
.cs th{color:var(--ink2);position:sticky;left:0;background:var(--card)}.cs td.now{background:var(--sumfill)}.cs caption{text-align:left;font:700 14px/22px ${FONT};color:var(--ink)}
.cs .tip{position:absolute;z-index:5;pointer-events:none;background:var(--ink);color:var(--card);font-size:13px;line-height:18px;border-radius:6px;padding:6px 9px;max-width:330px;display:none}
.cs .tip b{display:block}
.cs .toast{position:absolute;right:20px;top:76px;background:var(--ink);color:var(--card);border-radius:6px;padding:6px 12px;font-size:14px;opacity:0;transition:opacity .12s ease-out;pointer-events:none}
.cs .toast.on{opacity:1}
.cs .left{position:relative}.cs .note{position:absolute;left:12px;top:6px;font-size:13px;color:var(--ink2);background:var(--card);padding:2px 8px;border-radius:4px;display:none}
.cs .head{display:none;gap:8px 32px;align-items:flex-start;padding:10px 4px 14px;flex-wrap:wrap}.cs.withhead .head{display:flex}
.cs .fig small{display:block;font-size:14px;line-height:18px;font-weight:700;color:var(--ink2)}.cs .fig b{display:block;font-size:30px;line-height:36px;letter-spacing:-.6px;white-space:nowrap}
.cs .fig i{font-style:normal;font-size:13px;line-height:18px;color:var(--ink2);display:block}
.cs .bn{border-left:4px solid var(--full);padding-left:16px;flex:1;min-width:300px}.cs .bn small{display:block;color:var(--fulltext);font-weight:700;font-size:14px;line-height:18px}
.cs .bn b{display:block;font-size:19px;line-height:25px}.cs .bn i{font-style:normal;font-size:15px;line-height:20px;color:var(--ink2);display:block}
.cs h2{font-size:22px;line-height:28px;letter-spacing:-.2px;margin:0;width:100%}
.cs.narrow .card{padding:0 16px 12px}.cs.narrow .nar{height:58px;font-size:16.5px;line-height:23px;gap:16px}.cs.narrow .nar.long{font-size:14.5px;line-height:19px}
.cs.narrow .btn{width:34px;height:34px}.cs.narrow .btn.play{width:48px}.cs.narrow .tr{min-height:44px;padding-top:4px}
.cs.tight .real,.cs.tight .speedword{display:none}.cs.narrow .head{gap:4px 26px;padding:4px 4px 10px}.cs.narrow .fig b{font-size:24px;line-height:28px}.cs.narrow .bn b{font-size:17px;line-height:22px}.cs.narrow .bn i{font-size:14px;line-height:18px}
.cs.slim .nar{height:auto;min-height:58px;flex-wrap:wrap;padding:8px 0;gap:8px}.cs.slim .say{flex:1 0 100%}.cs.slim .tr{flex-wrap:wrap;padding-bottom:6px}.cs.slim .tr .g{flex-wrap:wrap}.cs.slim .tabs{overflow-x:auto}.cs.slim .real{display:none}
.cs.present{position:fixed;inset:0;z-index:2147483000;background:var(--card);overflow:auto}
.cs.present .card{border:0;min-height:100%;padding:0 36px 14px}.cs.present .head,.cs.present .foot,.cs.present .tabs,.cs.present .panel:not(.keep),.cs.present .right{display:none!important}
.cs.present .mid{grid-template-columns:minmax(0,1fr)}
.cs.present .nar{height:124px;font-size:32px;line-height:40px}.cs.present .nar.long{font-size:26px;line-height:33px}.cs.present .stepno{font-size:40px;line-height:48px}.cs.present .clock{font-size:24px}
.cs.present .seg button{font-size:20px;padding:8px 16px}.cs.present .btn{width:52px;height:52px}.cs.present .btn.play{width:72px}.cs.present .btn svg{width:26px;height:26px}
.cs.present .dim{font-size:18px}.cs.present .legend{font-size:18px;line-height:26px}.cs.present .kinds{font-size:18px;line-height:30px}
.cs.compact .card{border:0;padding:0;background:none}.cs.compact .mid{grid-template-columns:minmax(0,1fr)}
.cs.compact :is(.nar,.head,.tr,.right,.panel,.tabs,.foot,.words,.kinds,.legend){display:none!important}
@media (prefers-reduced-motion:reduce){.cs .toast{transition:none}}
@media print{.cs .tr,.cs .tabs,.cs .foot,.cs .nar .seg{display:none}}
`;

// 18 x 18 line icons; a glyph font would show boxes where it is missing.
const ICONS = {
  first: ["M4 3.5v11", "M14.5 3.5L7 9l7.5 5.5z*"], back: ["M12 3.5L5.5 9l6.5 5.5z*"], play: ["M5.5 3l9 6-9 6z*"],
  pause: ["M5.2 3.5h2.4v11H5.2z*", "M10.6 3.5H13v11h-2.4z*"], next: ["M6 3.5L12.500 9 6 14.500z*"],
  loop: ["M3.500 10.500V9a3.500 3.500 0 013.500-3.500h7.500", "M12 2.800l2.700 2.700L12 8.200", "M14.500 8v1.200a3.500 3.500 0 01-3.500 3.500H3.500", "M6 10l-2.700 2.700L6 15.400"],
  busy: ["M2.500 15.500h13", "M4.500 12.500V10", "M7.600 12.500V8", "M10.700 12.500V3.500", "M13.800 12.500V7"],
  link: ["M7.200 10.800l3.600-3.600", "M6.200 8.200l-2 2a2.700 2.700 0 003.800 3.800l2-2", "M11.800 9.800l2-2a2.700 2.700 0 00-3.800-3.800l-2 2"],
  png: ["M9 2.800v8", "M5.300 7.400L9 11.100l3.700-3.700", "M3 14.800h12"], full: ["M3 6.800V3h3.800", "M11.200 3H15v3.800", "M15 11.200V15h-3.800", "M6.800 15H3v-3.800"],
};

const SVG = "http://www.w3.org/2000/svg";
function svg(tag, attrs, ...kids) {
  const e = document.createElementNS(SVG, tag);
  for (const k in attrs) e.setAttribute(k, attrs[k]);
  e.append(...kids);
  return e;
}
function icon(name) {
  const paths = ICONS[name].map(d => svg("path", d.endsWith("*") ? { d: d.slice(0, -1), fill: "currentColor" } : { d }));
  return svg("svg", { viewBox: "0 0 18 18", "aria-hidden": "true" }, ...paths);
}
function el(tag, props = {}, ...kids) {
  const e = document.createElement(tag);
  for (const k in props) k in e && k !== "list" ? (e[k] = props[k]) : e.setAttribute(k, props[k]);
  e.append(...kids);
  return e;
}

const hex = c => [1, 3, 5].map(i => parseInt(c.slice(i, i + 2), 16));
/** The colour of k of n contributions. */
export function ramp(C, k, n) {
  const f = n > 2 ? Math.min(1, Math.max(0, (k - 1) / (n - 2))) : 0, a = hex(C.sum1), b = hex(C.sum2);
  return `rgb(${a.map((v, i) => Math.round(v + (b[i] - v) * f)).join(",")})`;
}

// ---------------------------------------------------------------- 4 clock

/**
 * A clock in simulated seconds. Players subscribe; a race gives one clock to several players (opts.clock), each of which
 * shows min(t, its own end). `base` is simulated seconds per second on screen at speed 1.
 */
export function createClock() {
  const subs = new Map();
  let frame = 0, last = 0;
  const clock = {
    t: 0, playing: false, speed: 1, base: 0, total: 0, loop: null, until: null,
    on(fn, total = 0, base = 0) { subs.set(fn, { total, base }); retotal(); return () => { subs.delete(fn); retotal(); }; },
    seek(t) { clock.until = null; clock.t = Math.min(clock.total, Math.max(0, clean(t))); tell("seek"); },
    play(until = null) {
      if (!(clock.total > 0)) return;
      if (clock.t >= clock.total) clock.t = 0;
      clock.until = until;
      if (!clock.playing) { clock.playing = true; last = 0; frame = requestAnimationFrame(tick); }
      tell("play");
    },
    pause() { if (!clock.playing) return; clock.playing = false; clock.until = null; cancelAnimationFrame(frame); tell("pause"); },
    setSpeed(x) { clock.speed = x; tell("speed"); },
  };
  function retotal() {
    clock.total = Math.max(0, ...[...subs.values()].map(v => v.total));
    clock.base = Math.max(0, ...[...subs.values()].map(v => v.base));
    clock.t = Math.min(clock.t, clock.total);
  }
  function tell(why) { for (const fn of [...subs.keys()]) fn(clock, why); }
  function tick(now) {
    if (!clock.playing) return;
    const dt = last ? Math.min(0.1, (now - last) / 1000) : 0;   // a hidden tab must not leap
    last = now;
    let t = clock.t + dt * clock.base * clock.speed, stop = clock.total;
    if (clock.loop) {
      const [a, b] = clock.loop;
      if (t >= b || t < a) t = a;
    } else if (clock.until != null) stop = Math.min(stop, clock.until);
    clock.t = Math.min(t, stop);
    if (clock.t >= stop && !clock.loop) { clock.playing = false; clock.until = null; tell("end"); return; }
    tell("tick");
    if (clock.playing) frame = requestAnimationFrame(tick);
  }
  return clock;
}

// ---------------------------------------------------------------- 5 drawing
//
// A scene V holds what is to be drawn: model m, colours C, words W, language, time t, step s, active and waiting
// transfers, shares of capacity in this step, what the pointer is on. Drawing functions change nothing but the canvas.

function put(g, str, x, y, size, fill, o = {}) {
  g.font = `${o.bold ? 700 : 400} ${size}px ${FONT}`;
  g.textAlign = o.align ?? "left";
  g.textBaseline = "alphabetic";
  if (o.halo) { g.strokeStyle = o.halo; g.lineWidth = 5; g.lineJoin = "round"; g.strokeText(str, x, y); }
  g.fillStyle = fill;
  g.fillText(str, x, y);
}

/** Text in lines of at most `width`; breaks at blanks, or anywhere in a word that is too long (Chinese). Returns the lines drawn. */
function wrap(g, str, x, y, width, size, leading, fill, most) {
  const lines = [""], parts = str.match(/[\u2e80-\uffff]|[^\s\u2e80-\uffff]+[^\S\n]*|\s+/g) ?? [];
  for (const part of parts) {
    if (widthOf(g, lines.at(-1) + part.trimEnd(), size, false) > width && lines.at(-1)) lines.push("");
    lines[lines.length - 1] += part;
  }
  lines.slice(0, most).forEach((line, k) => put(g, line, x, y + k * leading, size, fill));
  return Math.min(most, lines.length);
}

function widthOf(g, str, size, bold) {
  g.font = `${bold ? 700 : 400} ${size}px ${FONT}`;
  return g.measureText(str).width;
}

function box(g, x, y, w, h, r, fill, stroke, lw = 1, dash) {
  g.beginPath();
  g.roundRect(x, y, w, h, Math.max(0, Math.min(r, w / 2, h / 2)));
  if (fill) { g.fillStyle = fill; g.fill(); }
  if (stroke) {
    g.strokeStyle = stroke; g.lineWidth = lw;
    if (dash) g.setLineDash(dash);
    g.stroke();
    if (dash) g.setLineDash([]);
  }
}

function trace(g, pts, r = 5) {
  g.beginPath();
  g.moveTo(pts[0], pts[1]);
  for (let q = 2; q < pts.length - 2; q += 2) g.arcTo(pts[q], pts[q + 1], pts[q + 2], pts[q + 3], r);
  g.lineTo(pts[pts.length - 2], pts[pts.length - 1]);
}

function stroke(g, pts, width, color) {
  trace(g, pts);
  g.lineWidth = width; g.strokeStyle = color;
  g.stroke();
}

function arrow(g, x, y, dx, dy, size, color) {
  g.beginPath();
  g.moveTo(x + dx * size * 0.6, y + dy * size * 0.6);
  g.lineTo(x - dx * size * 0.5 - dy * size * 0.5, y - dy * size * 0.5 + dx * size * 0.5);
  g.lineTo(x - dx * size * 0.5 + dy * size * 0.5, y - dy * size * 0.5 - dx * size * 0.5);
  g.fillStyle = color;
  g.fill();
}

/** Pixels of casing per square root of GB/s: one ruler for all cables, narrowed until the two directions of a cable fit side by side. */
export function pipeRuler(m) {
  if (m.pipe) return m.pipe;
  const { src, dst, bandwidth, path } = m.tl.links, line = path.map(measure);
  const root = l => Math.sqrt(bandwidth[l] / 1e9), seen = new Map();
  const used = m.tl.routes.link.length ? [...new Set(m.tl.routes.link)] : [...src.keys()];
  const widest = Math.max(1e-9, ...used.map(root));
  let k = m.tl.stage.pipe ?? Math.max(9 / widest, Math.min(1.1, 19 / widest));
  for (let l = 0; l < src.length; l++) seen.set(src[l] * 1e6 + dst[l], l);
  for (let l = 0; l < src.length && !m.tl.stage.pipe; l++) {
    const back = seen.get(dst[l] * 1e6 + src[l]);
    if (back == null) continue;
    const a = pointAt(line[l], line[l].len / 2), b = pointAt(line[back], line[back].len / 2, {});
    const gap = Math.hypot(a.x - b.x, a.y - b.y);
    if (gap >= 3 && gap < 40) k = Math.min(k, gap / Math.max(root(l), root(back)));
  }
  return (m.pipe = k);
}

const casing = (m, l) => Math.max(2, pipeRuler(m) * Math.sqrt(m.tl.links.bandwidth[l] / 1e9));

function core(V, l) {
  const cap = V.m.tl.links.bandwidth[l] * V.m.total, b = linkBytes(V.m, l, V.t);
  return cap > 0 && b > 0 ? casing(V.m, l) * Math.sqrt(Math.min(1, b / cap)) : 0;
}

/** Which links and devices take part in step s; per step, because colours are per step. */
function stepFacts(m, s) {
  if (m.facts?.s === s) return m.facts;
  const share = new Float64Array(m.nlinks), live = new Set(), turns = new Map();
  const D = m.tl.devices;
  if (s >= 0) {
    for (let l = 0; l < m.nlinks; l++) share[l] = m.tl.routes.link.length ? stepShare(m, l, s) : 0;
    for (let l = 0; l < m.nlinks; l++) if (share[l] > 1e-9) { live.add(m.tl.links.src[l]); live.add(m.tl.links.dst[l]); }
    const seen = new Set();
    for (let q = m.byStep.start[s]; q < m.byStep.start[s + 1]; q++) {
      const r = m.route[m.byStep.id[q]];
      if (seen.has(r)) continue;
      seen.add(r);
      const ls = routeLinks(m, r);
      for (let h = 1; h < ls.length; h++) {
        const d = m.tl.links.src[ls[h]];
        if (D.kind[d] !== "nvswitch" && (D.kind[d] !== "switch" || Math.max(D.w[d], 2 * D.h[d]) < 140)) continue;   // no room for lines in a small box
        const a = m.tl.links.path[ls[h - 1]].slice(-2), b = m.tl.links.path[ls[h]].slice(0, 2), way = through(D, d, a[0], a[1], b[0], b[1]);
        if (!turns.has(d)) turns.set(d, []);
        turns.get(d).push({ pts: [...way, b[0], b[1]], link: ls[h], bends: way.length > 2 });
      }
    }
  }
  return (m.facts = { s, share, live, turns });
}

const panelOf = (m, e) => { const d = deviceOf(m, e); return d == null ? -1 : m.tl.devices.panel[d]; };
function deviceOf(m, e) {
  if (!m.deviceOf) {
    m.deviceOf = new Map();
    m.tl.devices.endpoint.forEach((x, d) => { if (x >= 0 && !m.deviceOf.has(x)) m.deviceOf.set(x, d); });
  }
  return m.deviceOf.get(e);
}
const nameOf = (m, e) => { const d = deviceOf(m, e); return e < m.ranks || d == null ? String(e) : textAt(m.tl.devices.label, d, "en") || String(e); };

// ---- physical stage

function drawPanels(g, V) {
  const { m, C } = V, P = m.panels;
  for (let p = 0; p < P.x.length; p++) box(g, P.x[p], P.y[p], P.w[p], P.h[p], 10, C.sunk, C.line);
}

function drawPanelNames(g, V) {
  const { m, C } = V, P = m.panels, mid = m.tl.stage.w / 2, halo = C.sunk;
  for (let p = 0; p < P.x.length; p++) {
    const label = textAt(P.label, p, V.lang), note = textAt(P.note, p, V.lang), size = P.w[p] < 320 ? 14 : 16;
    const wl = widthOf(g, label, size, true), wn = note ? widthOf(g, note, 13, false) + 10 : 0;
    const fits = wl + wn < P.w[p] - 32, right = P.x.length === 2 && P.x[p] > mid;
    let x = right ? P.x[p] + P.w[p] - 16 - wl - (fits ? wn : 0) : P.x[p] + 16;
    put(g, label, x, P.y[p] + 21, size, C.ink, { bold: true, halo });
    if (fits && note) put(g, note, x + wl + 10, P.y[p] + 21, 13, C.ink2, { halo });
  }
}

function drawLinks(g, V) {
  const { m, C, facts } = V, { path } = m.tl.links, share = facts.share;
  const active = [], few = m.hot.size <= 8;
  g.lineCap = "butt"; g.lineJoin = "round";
  for (let l = 0; l < m.nlinks; l++) {
    if (share[l] > 1e-9) { active.push(l); continue; }
    const d = casing(m, l), c = core(V, l);
    stroke(g, path[l], d > 8 ? d : Math.max(2, d - 1.8), C.idle);
    if (d > 8) stroke(g, path[l], d - 2, C.sunk);
    if (c > 0) stroke(g, path[l], Math.max(1, c), C.edge);
  }
  g.lineCap = "round";
  m.usedLinks ??= new Set(m.tl.routes.link).size;
  // A halo points at something: where most cables are equally full there is nothing to point at.
  if (m.hot.size <= 0.6 * m.usedLinks || m.hot.size <= 2) for (const l of m.hot) if (path[l]) stroke(g, path[l], few ? Math.min(22, casing(m, l) + 16) : casing(m, l) + 6, C.fulltint);
  g.lineCap = "butt";
  active.sort((a, b) => share[a] - share[b]);
  for (const l of active) {
    const d = casing(m, l), cls = useClass(share[l]);
    stroke(g, path[l], d + 1.6, C.edge);
    stroke(g, path[l], d, C[cls + "tint"]);
    stroke(g, path[l], Math.max(1.3, core(V, l)), C[cls]);
  }
  V.arrows = active;
}

function drawArrows(g, V) {
  const { m, C, facts } = V;
  for (const l of V.arrows) {
    const line = measure(m.tl.links.path[l]), n = line.len > 220 ? 2 : line.len >= 44 ? 1 : 0;
    const into = m.tl.devices.kind[m.tl.links.dst[l]], from = m.tl.devices.kind[m.tl.links.src[l]];
    if (into === "nvswitch" || from === "nvswitch") continue;   // the arrow sits on the bend inside the switch
    for (let q = 1; q <= n; q++) {
      const p = pointAt(line, line.len * q / (n + 1));
      const c = core(V, l);
      if (c > 4.5) arrow(g, p.x, p.y, p.dx, p.dy, Math.min(8, c * 1.1), C.card);   // inside a thick core
      else arrow(g, p.x, p.y, p.dx, p.dy, Math.max(c + 5, Math.min(10, 6 + 0.25 * casing(m, l))), C[useClass(facts.share[l])]);
    }
  }
}

function fitFont(g, str, size, width, bold, least = 8) {
  while (size > least && widthOf(g, str, size, bold) > width) size -= 0.5;
  return widthOf(g, str, size, bold) <= width + 2 ? size : 0;
}

function drawDevices(g, V) {
  const { m, C, facts } = V, D = m.tl.devices, names = [], upright = [];
  for (let d = 0; d < D.x.length; d++) {
    const x = D.x[d], y = D.y[d], w = D.w[d], h = D.h[d], kind = D.kind[d], on = facts.live.has(d), label = textAt(D.label, d, V.lang);
    const rank = D.endpoint[d] >= 0, big = kind === "switch" || kind === "nvswitch", host = kind === "cpu" || kind === "memory";
    const helper = rank && D.endpoint[d] >= m.ranks && kind !== "switch" && kind !== "nvswitch";
    const fill = helper ? C.ink : host ? (on ? C.host : C.sunk) : C.card;
    box(g, x, y, w, h, big ? 6 : rank ? 5 : 4, fill, on ? (host ? C.hostink : C.ink) : C.edge, on ? (rank || big ? 1.8 : 1.6) : 1);
    if (rank && m.ranks > 32 && V.fill) fillSquare(g, V, D.endpoint[d], x, y, w, h);
    const color = helper ? C.card : host && on ? C.hostink : rank || (on && !host) ? C.ink : C.ink3, bold = on || rank;
    if (h > 1.7 * w) {
      const size = fitFont(g, label, 14, h - 12, bold);
      if (!size) continue;
      upright.push([x + w / 2 + size * 0.35, y + h / 2, label, size, color, { bold, align: "center", halo: facts.turns.has(d) ? fill : null }]);
      continue;
    }
    const size = fitFont(g, label, rank ? Math.min(19, h * 0.55) : big ? 13.5 : 12, w - 5, bold);
    if (!size) continue;
    const turns = facts.turns.get(d)?.some(q => q.bends), deep = turns && big && h >= 24;
    const top = deep && facts.turns.get(d).every(q => !q.bends || q.pts[3] < q.pts[1]);   // all cables come in from below
    const at = deep && h > 50 ? [x + 14, top ? y + 20 : y + h - 9] : [x + w / 2, deep ? (top ? y + size : y + h - 5) : y + h / 2 + size * 0.36];
    names.push([label, ...at, size, color, { bold, align: deep && h > 50 ? "left" : "center", halo: turns ? fill : null }]);
  }
  for (const [, list] of facts.turns) {
    if (list.length > 40) continue;
    for (const q of list) {
      if (!q.bends) continue;
      const cls = useClass(facts.share[q.link]), line = measure(q.pts);
      stroke(g, q.pts, Math.max(1.3, Math.min(4, core(V, q.link))), C[cls]);
      const p = pointAt(line, line.len / 2);
      if (line.len > 22) arrow(g, p.x, p.y, p.dx, p.dy, 8, C[cls]);
    }
  }
  for (const name of names) put(g, ...name);   // above the ways through the box
  for (const [x, y, label, size, color, o] of upright) {
    g.save(); g.translate(x, y); g.rotate(-Math.PI / 2);
    put(g, label, 0, 0, size, color, o);
    g.restore();
  }
}

// Above 32 ranks a rank is a small square: it fills from below with its finished chunks instead of showing tokens.
function fillSquare(g, V, e, x, y, w, h) {
  const f = V.m.slots ? V.finished[e] / V.m.slots : 0;
  if (f > 0) { g.fillStyle = V.C.sumfill; g.fillRect(x + 1, y + h - 1 - (h - 2) * f, w - 2, (h - 2) * f); }
}

/** Largest share of this step over the cables of one kind, for the key. */
export function keyShare(m, share, entry) {
  const { kind, label } = m.tl.links, alone = m.key.filter(k => k.kind === entry.kind).length < 2;
  let best = 0;
  for (let l = 0; l < m.nlinks; l++) if (kind[l] === entry.kind && share[l] > best && (alone || textAt(label, l, "en") === textAt(entry.label, 0, "en"))) best = share[l];
  return best;
}

const sameWords = (a, b) => a.replace(/\s/g, "") === b.replace(/\s/g, "");

function drawKey(g, V) {
  const { m, C, W } = V, K = m.tl.stage.key;
  if (!K || !m.key.length) return;
  const right = K.x + K.w, n = Math.min(m.key.length, Math.floor((K.h - 48) / 44)), rh = Math.min(52, (K.h - 48) / Math.max(1, n));
  put(g, W.keyCable, K.x, K.y + 18, 13, C.ink3);
  put(g, W.keyUsed, right, K.y + 18, 13, C.ink3, { align: "right" });
  for (let q = 0; q <= n; q++) { g.fillStyle = C.line; g.fillRect(K.x, K.y + 28 + q * rh, K.w, 1); }
  for (let q = 0; q < n; q++) {
    const e = m.key[q], y = K.y + 28 + (q + 0.5) * rh, share = keyShare(m, V.facts.share, e), cls = useClass(share), hot = share > 0.95;
    const d = Math.min(22, Math.max(2, pipeRuler(m) * Math.sqrt(e.bandwidth / 1e9)));
    const bar = [K.x, y, K.x + 30, y];
    stroke(g, bar, d + 1.6, share > 1e-9 ? C.edge : C.idle);
    stroke(g, bar, d, share > 1e-9 ? C[cls + "tint"] : C.sunk);
    if (share > 1e-9) stroke(g, bar, Math.max(2, d * Math.sqrt(Math.min(1, share)) * 0.5), C[cls]);
    const label = textAt(e.label, 0, V.lang), used = widthOf(g, fmtShare(share), hot ? 19 : 15, true), size = fitFont(g, label, 14, K.w - 45 - used, true) || 10;
    put(g, label, K.x + 39, y - 3, size, hot ? C.fulltext : C.ink, { bold: true });
    if (!sameWords(label, fmtRate(e.bandwidth))) put(g, fmtRate(e.bandwidth), K.x + 39, y + 14, 13, C.ink2);
    put(g, share > 1e-9 ? fmtShare(share) : "–", right, y + 5, hot ? 19 : 15, hot ? C.fulltext : C.ink, { bold: true, align: "right" });
  }
  put(g, W.nominal, K.x, K.y + 28 + n * rh + 18, 12, C.ink3);
}

/** Numbers beside the middle of cables, on the side on which they leave: a way hop by hop. */
function drawMarks(g, V, marks) {
  const { m, C } = V;
  for (const { link, text, hot } of marks) {
    const line = measure(m.tl.links.path[link]), p = pointAt(line, line.len / 2, {}), off = Math.min(34, casing(m, link) / 2 + 14), x = Math.max(12, p.x + p.dy * off), y = Math.min(m.tl.stage.h - 12, Math.max(12, p.y - p.dx * off));
    box(g, x - 11, y - 11, 22, 22, 11, C.card, hot ? C.full : C.ink, 1.6);
    put(g, text, x, y + 4.8, 13.5, hot ? C.fulltext : C.ink, { bold: true, align: "center" });
  }
}

function drawPhysical(g, V) {
  drawPanels(g, V);
  drawLinks(g, V);
  drawPanelNames(g, V);
  drawDevices(g, V);
  drawArrows(g, V);
  drawKey(g, V);
}

// ---- tokens

/** A chunk: square = reduce with the glass filled to k of n, circle = copy. */
function token(g, C, x, y, size, o) {
  const h = size / 2, lw = size > 18 ? 2 : 1.5, f = o.f ?? 0;
  if (o.round) {
    g.beginPath(); g.arc(x, y, h + 1, 0, 7); g.fillStyle = C.card; g.fill();
    g.beginPath(); g.arc(x, y, h - 0.5, 0, 7);
    g.fillStyle = f >= 1 ? C.done : C.sumfill; g.fill();
    if (f < 1) { g.strokeStyle = C.ink; g.lineWidth = lw; g.stroke(); }
  } else {
    box(g, x - h - 1.5, y - h - 1.5, size + 3, size + 3, 5, C.card);
    const inner = size - 2 * lw;
    if (f > 0) { g.fillStyle = f >= 1 ? C.done : C.sumfill; g.fillRect(x - inner / 2, y + inner / 2 - inner * Math.min(1, f), inner, inner * Math.min(1, f)); }
    box(g, x - h + lw / 2, y - h + lw / 2, size - lw, size - lw, Math.min(3.5, size / 6), null, C.ink, lw);
  }
  if (o.text) {
    const fs = o.text.length > 3 ? size * 0.38 : o.text.length > 2 ? size * 0.46 : size * 0.54;
    put(g, o.text, x, y + fs * 0.36, fs, f >= 1 ? C.ontext : C.ink, { bold: true, align: "center" });
  }
  if (o.ring) box(g, x - h - 3, y - h - 3, size + 6, size + 6, o.round ? h + 3 : 5, null, C.wait, 1.6, [2.5, 2.5]);
  if (o.lit) box(g, x - h - 4, y - h - 4, size + 8, size + 8, o.round ? h + 4 : 6, null, C.ink, 2);
}

/** 26 px where ranks are drawn full size, less where the layout has made them small. */
function tokenSize(m) {
  if (m.tokenSize) return m.tokenSize;
  const D = m.tl.devices, box = Math.min(42, ...D.endpoint.map((e, d) => (e >= 0 && e < m.ranks ? Math.min(D.w[d], D.h[d] * 1.05) : 42)));
  return (m.tokenSize = Math.max(12, Math.min(26, Math.round(box * 0.62))));
}

const hopOut = {}, pt = {}, pt2 = {};

/**
 * The tokens of one cable: up to 4 as they are, more as small ones without numbers, nose to tail where they are in one
 * place; more than 12, or several in one place that find no room, as one token with their number.
 */
function train(list, out) {
  const n = list.length;
  list.sort((a, b) => b.d - a.d || a.i - b.i);
  const spread = list[0].d - list[n - 1].d, small = n > 4 ? 12 : list[0].size, fits = list[0].d >= (n - 1) * (small + 2);
  if (n > 12 || (n > 1 && (list[0].waits || !fits) && spread < n * small * 0.6)) {
    out.push(Object.assign(list[0], { count: n, d: list.reduce((a, q) => a + q.d, 0) / n }));
    return;
  }
  let limit = Infinity;
  for (const q of list) {
    if (n > 4) { q.size = Math.min(12, q.size); q.plain = true; }
    q.d = Math.max(0, Math.min(q.d, limit));
    limit = q.d - q.size - 2;
    out.push(q);
  }
}

/** Where to draw the tokens: grouped by cable, so that many on one cable become a train or one token with a count. */
function placeTokens(V) {
  const { m } = V, per = new Map(), size = tokenSize(m);
  const add = (i, waits) => {
    if (m.ranks > 32 && panelOf(m, m.src[i]) >= 0 && panelOf(m, m.src[i]) === panelOf(m, m.dst[i])) return;
    const hops = shape(m, m.route[i]);
    if (!hops.length) return;
    let h = hops.length - 1, f = 1, queued = false, share = 1;
    if (!waits) { hopAt(m, i, V.t, hopOut); h = hopOut.hop; f = hopOut.f; queued = hopOut.waits; share = hopOut.share; }
    const line = hops[h], s = waits ? Math.min(22, size) : size, pad = Math.min(s / 2 + 2, line.len / 3);
    const lo = h === 0 ? pad : 0, hi = h === hops.length - 1 ? pad : 0;
    const link = m.tl.routes.link[m.tl.routes.start[m.route[i]] + h], key = `${waits ? "w" : queued ? "q" : "m"}${link}`;
    if (!per.has(key)) per.set(key, []);
    per.get(key).push({ i, link, line, d: lo + f * (line.len - lo - hi), size: s, waits, queued, share });
  };
  for (const i of V.act) add(i, false);
  for (const i of V.wait) add(i, true);
  const out = [];
  for (const list of per.values()) {
    if (list[0].queued) queue(V, list[0].link, list, out); else train(list, out);
  }
  for (const q of out) {
    if (q.x == null) { pointAt(q.line, q.d, pt); q.x = pt.x; q.y = pt.y; q.dx = pt.dx; q.dy = pt.dy; }
  }
  return out;
}

/** Chunks that wait for a busy port stand before it in rows of four, in the order in which they are served; the label counts them. */
function queue(V, link, list, out) {
  const { m } = V, s = list.length > 1 ? 15 : list[0].size, gap = s + 3;
  pointAt(measure(m.tl.links.path[link]), 0, pt);
  const { x, y, dx, dy } = pt, wide = (Math.min(4, list.length) - 1) / 2;
  list.sort((a, b) => m.t1[a.i] - m.t1[b.i]).slice(0, 16).forEach((q, k) => {
    const back = s / 2 + 6 + Math.floor(k / 4) * gap, side = ((k % 4) - wide) * gap;
    Object.assign(q, { size: s, plain: s < 18, x: x - dx * back - dy * side, y: y - dy * back + dx * side, dx, dy });
    if (k === 0 && list.length > 1) q.queue = { n: list.length, x: x - dx * 10 - Math.abs(dy) * (wide * gap + s), y: y - dy * (s + 4) - Math.abs(dx) * (wide * gap + s) };
    out.push(q);
  });
}

function drawTrail(g, V, q) {
  const len = Math.min(46, q.d), steps = 7, width = Math.min(15, q.size * 0.6);
  if (len < 6) return;
  g.strokeStyle = V.m.reduce[q.i] ? V.C.sum2 : V.C.done;
  for (let k = 0; k < steps; k++) {
    pointAt(q.line, q.d - len * (1 - k / steps), pt); pointAt(q.line, q.d - len * (1 - (k + 1) / steps), pt2);
    g.globalAlpha = V.dim(q.i) * (0.12 + 0.09 * k); g.lineWidth = 3 + (width - 3) * k / steps;
    g.beginPath(); g.moveTo(pt.x, pt.y); g.lineTo(pt2.x, pt2.y); g.stroke();
  }
  g.globalAlpha = 1;
}

const slotText = (V, slot) => (V.m.channels > 1 && V.m.slots === V.m.tl.meta.chunks * V.m.channels ? String(slot % V.m.tl.meta.chunks) : String(slot));

function drawTokens(g, V) {
  const { m, C } = V;
  if (V.act.length > 2000) return drawChevrons(g, V);
  const list = placeTokens(V), labelled = list.filter(q => !q.waits && !q.queued && !q.count && routeHot(m, m.route[q.i])), spots = labelled.map(q => labelSpot(V, q));
  const clash = spots.some((a, k) => list.some(q => q !== labelled[k] && Math.abs(q.x - a.mx) < 18 + q.size / 2 && Math.abs(q.y - a.my) < 10 + q.size / 2)
    || spots.some((b, n) => n < k && Math.abs(a.mx - b.mx) < 40 && Math.abs(a.my - b.my) < 18));
  const labels = labelled.length <= 4 && !clash;
  if (!V.reduced && list.length <= 240) for (const q of list) if (!q.waits && !q.queued) drawTrail(g, V, q);
  for (const q of list) {
    const i = q.i;
    g.globalAlpha = V.dim(i);
    token(g, C, q.x, q.y, q.size, {
      round: !m.reduce[i], f: m.goal ? m.k[i] / m.goal : 0, ring: q.waits, lit: V.hover?.transfer === i,
      text: q.count ? `×${q.count}` : q.plain || q.size < 16 ? "" : slotText(V, m.chunk[i]),
    });
    if (q.queue) put(g, V.W.queue(q.queue.n), q.queue.x, q.queue.y + 5, 14, C.fulltext, { bold: true, align: "right", halo: C.card });
    g.globalAlpha = 1;
  }
  if (labels) labelled.forEach((q, k) => put(g, `${Math.round(100 * q.share)}${NB}%`, spots[k].x, spots[k].y, 14, C.fulltext, { bold: true, align: spots[k].align, halo: m.panels.x.length ? C.sunk : C.card }));
  V.drawn = list;
}

function routeHot(m, r) {
  m.routeHot ??= [];
  return (m.routeHot[r] ??= m.hot.size > 0 && routeLinks(m, r).some(l => m.hot.has(l)));
}

/** Where the share delivered is written beside a token: towards the middle of the stage, or above and below a level cable. */
function labelSpot(V, q) {
  const r = q.size / 2 + 7, { w, h } = V.m.tl.stage, left = q.x < w / 2;
  if (Math.abs(q.dy) > Math.abs(q.dx)) return { x: q.x + (left ? r : -r), y: q.y + 5, mx: q.x + (left ? r + 16 : -r - 16), my: q.y, align: left ? "left" : "right" };
  const y = q.y < h * 0.3 && q.y > 30 ? q.y - r - 1 : q.y + r + 11;
  return { x: q.x, y, mx: q.x, my: y - 5, align: "center" };
}

// More than 2,000 in flight: no tokens, arrows on the cables that carry something now.
function drawChevrons(g, V) {
  const { m, C } = V, busy = new Set();
  for (const i of V.act) {
    if (!m.hopOf) { for (const l of routeLinks(m, m.route[i])) busy.add(l); continue; }   // cut-through: all links of the route at once
    hopAt(m, i, V.t, hopOut);
    if (hopOut.link >= 0 && !hopOut.waits) busy.add(hopOut.link);
  }
  for (const l of busy) {
    const line = measure(m.tl.links.path[l]), gap = 18, phase = V.reduced ? 9 : (V.t / (m.total || 1) * 900) % gap;
    for (let d = phase; d < line.len; d += gap) { pointAt(line, d, pt); arrow(g, pt.x, pt.y, pt.dx, pt.dy, 8, C.ink); }
  }
  V.drawn = [];
}

// ---- logical stage: the same steps without a machine

/** Cards with the cells of each rank where they fit, else circles; the largest size that does not overlap. */
export function logicalLayout(m, nslots, w, h) {
  const G = m.tl.logical ?? {}, E = m.endpoints, xs = G.x ?? [], ys = G.y ?? [];
  const frame = { 3: [0, 0, 1, 0, 0.5, 1], 4: [0, 0, 1, 0, 1, 1, 0, 1], 5: [0, 0, 0.5, 0, 1, 0, 1, 1, 0, 1], 6: [0, 0, 0.5, 0, 1, 0, 1, 1, 0.5, 1, 0, 1],
    7: [0, 0, 0.5, 0, 1, 0, 1, 0.5, 1, 1, 0.5, 1, 0, 1], 8: [0, 0, 0.5, 0, 1, 0, 1, 0.5, 1, 1, 0.5, 1, 0, 1, 0, 0.5] }[E];
  const turn = e => (2 * Math.PI + Math.atan2((xs[e] ?? 0.5) - 0.5, 0.5 - (ys[e] ?? 0.5)) - Math.atan2((xs[0] ?? 0.5) - 0.5, 0.5 - (ys[0] ?? 0.5)) + 1e-9) % (2 * Math.PI);
  const order = Array.from({ length: E }, (_, e) => e).sort((a, b) => turn(a) - turn(b)), seat = Array.from(order, () => 0);
  order.forEach((e, k) => { seat[e] = k; });               // the ring need not go 0, 1, 2: keep the order of the given places
  const inFrame = (cw, ch) => seat.map(k => [12 + cw / 2 + frame[2 * k] * (w - 24 - cw), 12 + ch / 2 + frame[2 * k + 1] * (h - 24 - ch)]);
  const at = (cw, ch) => Array.from({ length: E }, (_, e) => {
    const a = 2 * Math.PI * e / E, x = xs[e] ?? 0.5 + 0.5 * Math.sin(a), y = ys[e] ?? 0.5 - 0.5 * Math.cos(a);
    return [12 + cw / 2 + x * Math.max(0, w - 24 - cw), 12 + ch / 2 + y * Math.max(0, h - 24 - ch)];
  });
  const clear = (P, cw, ch) => P.every(([x, y], a) => P.every(([u, v], b) => a >= b || Math.abs(x - u) >= cw || Math.abs(y - v) >= ch));
  if (E <= 8 && nslots <= 8) {
    for (const c of [60, 52, 44, 36, 30, 26]) {
      const cw = Math.max(nslots * (c + 6) + 22, c >= 44 ? 104 : 88), ch = c + (c >= 44 ? 62 : 46), P = G.kind === "ring" && frame ? inFrame(cw, ch) : at(cw, ch);   // a ring of cards runs round the frame
      if (cw < w - 24 && ch < h - 24 && clear(P, cw + 40, ch + 30)) return { cards: true, c, cw, ch, P };
    }
  }
  for (let r = 30; r > 3; r -= 1) {
    const P = at(2 * r, 2 * r);
    if (r <= 5 || P.every(([x, y], a) => P.every(([u, v], b) => a >= b || Math.hypot(x - u, y - v) >= 3 * r))) return { cards: false, r, cw: 2 * r, ch: 2 * r, P };
  }
  return { cards: false, r: 4, cw: 8, ch: 8, P: at(8, 8) };
}

function edgeEnds(V, a, b) {
  const { P, cards, cw, ch, r } = V.lay, two = V.m.pairs.has(b * V.m.endpoints + a);
  let [x0, y0] = P[a], [x1, y1] = P[b];
  const len = Math.hypot(x1 - x0, y1 - y0) || 1, dx = (x1 - x0) / len, dy = (y1 - y0) / len;
  const side = two ? Math.min(8, cards ? 8 : r * 0.4) : 0;
  x0 -= dy * side; y0 += dx * side; x1 -= dy * side; y1 += dx * side;
  const cut = cards ? Math.min(Math.abs(dx) > 1e-6 ? cw / 2 / Math.abs(dx) : 1e9, Math.abs(dy) > 1e-6 ? ch / 2 / Math.abs(dy) : 1e9) : r;
  return [x0 + dx * cut, y0 + dy * cut, x1 - dx * cut, y1 - dy * cut, dx, dy, x0, y0, x1, y1];
}

function ensurePairs(m) {
  if (m.pairs) return;
  m.pairs = new Set();
  for (let i = 0; i < m.n; i++) m.pairs.add(m.src[i] * m.endpoints + m.dst[i]);
}

function drawLogical(g, V, w, h) {
  const { m, C } = V, E = m.endpoints, thick = V.lay.cards ? 22 : Math.max(2, V.lay.r * 0.5);
  ensurePairs(m);
  const busy = new Set(V.now.map(i => m.src[i] * E + m.dst[i]));
  for (const on of [false, true]) {
    for (const key of m.pairs) {
      if (busy.has(key) !== on || (!on && m.pairs.size > 600)) continue;
      const e = edgeEnds(V, Math.floor(key / E), key % E), line = e.slice(6), wide = m.pairs.has((key % E) * E + Math.floor(key / E)) ? Math.min(thick, 12) : thick;
      if (!on) { stroke(g, line, wide, C.idle); if (wide > 5) stroke(g, line, wide - 2, C.sunk); continue; }
      stroke(g, line, wide + 1.6, C.edge); stroke(g, line, wide, C.roomtint); stroke(g, line, Math.max(1.5, wide * 0.36), C.room);
      arrow(g, e[2] - e[4] * (6 + wide * 0.3), e[3] - e[5] * (6 + wide * 0.3), e[4], e[5], 6 + wide * 0.4, C.room);
    }
  }
  for (let e = 0; e < E; e++) V.lay.cards ? drawCard(g, V, e) : drawRankCircle(g, V, e);
  const mid = V.lay.P.every(([x, y]) => Math.abs(x - w / 2) > V.lay.cw / 2 + 150 || Math.abs(y - h / 2) > V.lay.ch / 2 + 50);
  if (V.lay.cards && m.goal > 1 && mid && m.tl.state.wanted === "all" && m.tl.state.held === "all") drawGoal(g, V, w / 2, h / 2);
}

function drawGoal(g, V, x, y) {
  const { m, C } = V, n = V.slots.length, gap = 40;
  put(g, V.W.goal, x, y - 22, 15, C.ink2, { align: "center" });
  V.slots.forEach((slot, q) => {
    let sum = 0;
    for (let r = 0; r < m.ranks; r++) sum += m.first.value[r * m.slots + slot];
    const cx = x + (q - (n - 1) / 2) * gap;
    token(g, C, cx, y + 6, 34, { round: true, f: 1, text: String(sum) });
    put(g, slotText(V, slot), cx, y + 40, 13, C.ink2, { align: "center" });
  });
}

function dots(g, V, x, y, mask, width) {
  const n = Math.min(8, V.m.ranks), r = Math.min(4, width / (n * 3.2)), gap = Math.min(13, (width - 2 * r) / Math.max(1, n - 1) * 0.9);
  for (let q = 0; q < n; q++) {
    g.beginPath(); g.arc(x + (q - (n - 1) / 2) * gap, y, r, 0, 7);
    g.fillStyle = mask & (1 << q) ? V.C.ink : V.C.card; g.fill();
    g.strokeStyle = V.C.ink; g.lineWidth = 1.2; g.stroke();
  }
}

function drawCell(g, V, x, y, c, o) {
  const { C, m } = V, f = m.goal ? Math.min(1, o.count / m.goal) : 0, done = f >= 1;
  box(g, x, y, c, c, 4, done ? C.done : C.card);
  if (f > 0 && !done) { g.fillStyle = C.sumfill; g.fillRect(x, y + c * (1 - f), c, c * f); }
  const dash = o.arriving ? [5, 4] : null;
  box(g, x, y, c, c, 4, null, o.sending || o.arriving ? C.ink : C.edge, o.sending ? 2.6 : o.arriving ? 2 : 1.2, dash);
  if (!o.count) return;
  const text = m.goal > 1 && m.ranks <= 32 ? String(o.value) : done ? "✓" : String(o.count), size = Math.min(c * 0.44, 31, c / Math.max(1.6, text.length * 0.72));
  put(g, text, x + c / 2, y + c / 2 + size * (c >= 36 ? 0.22 : 0.36), size, done ? C.ontext : C.ink, { bold: true, align: "center" });
  if (c >= 36 && m.goal > 1 && !done) dots(g, V, x + c / 2, y + c - 9, o.mask, c - 8);
}

function drawCard(g, V, e) {
  const { m, C } = V, { P, c, cw, ch } = V.lay, x = P[e][0] - cw / 2, y = P[e][1] - ch / 2, big = c >= 44;
  box(g, x, y, cw, ch, 10, C.card, C.ink, 2.2);
  put(g, e < m.ranks ? `${V.W.rank} ${e}` : nameOf(m, e), x + 16, y + (big ? 27 : 19), big ? 19 : 14, C.ink, { bold: true });
  V.slots.forEach((slot, q) => {
    const cx = x + cw / 2 + (q - V.slots.length / 2) * (c + 6) + 3, cy = y + ch - c - 12, cell = e * m.slots + slot;
    if (big) put(g, slotText(V, slot), cx + c / 2, cy - 5, 13, C.ink3, { align: "center" });
    drawCell(g, V, cx, cy, c, {
      count: cellAt(m, cell, V.t), value: cellAt(m, cell, V.t, "value"), mask: cellAt(m, cell, V.t, "mask"),
      sending: V.sends.has(cell), arriving: V.lands.has(cell),
    });
  });
}

function drawRankCircle(g, V, e) {
  const { m, C } = V, { P, r } = V.lay, [x, y] = P[e], f = m.slots ? V.finished[e] / m.slots : 0;
  g.beginPath(); g.arc(x, y, r, 0, 7); g.fillStyle = f >= 1 ? C.done : C.card; g.fill();
  g.strokeStyle = e < m.ranks ? C.ink : C.hostink; g.lineWidth = 1.8; g.stroke();
  if (f > 0 && f < 1) { g.beginPath(); g.arc(x, y, r - 3, -Math.PI / 2, -Math.PI / 2 + 2 * Math.PI * f); g.strokeStyle = C.done; g.lineWidth = 4; g.stroke(); }
  const name = nameOf(m, e), size = fitFont(g, name, Math.min(19, r * 0.85), 2 * r - 6, true, 7);
  if (size) put(g, name, x, y + size * 0.36, size, f >= 1 ? C.ontext : C.ink, { bold: true, align: "center" });
}

function drawLogicalTokens(g, V) {
  const { m, C } = V, per = new Map(), list = [];
  if (V.act.length > 2000) { V.drawn = []; return; }
  ensurePairs(m);
  const big = V.lay.cards && V.lay.c >= 36, base = big ? Math.min(52, V.lay.c) : V.lay.cards ? 26 : Math.max(10, Math.min(26, V.lay.r * 1.1));
  for (const i of V.act) {
    const key = m.src[i] * m.endpoints + m.dst[i], line = measure(edgeEnds(V, m.src[i], m.dst[i]).slice(0, 4)), pad = Math.min(base / 2 + 2, line.len / 3);
    if (!per.has(key)) per.set(key, []);
    hopAt(m, i, V.t, hopOut);
    per.get(key).push({ i, line, d: pad + hopOut.share * (line.len - 2 * pad), size: base });
  }
  for (const group of per.values()) train(group, list);
  for (const q of list) { pointAt(q.line, q.d, pt); q.x = pt.x; q.y = pt.y; q.dx = pt.dx; q.dy = pt.dy; }
  if (!V.reduced && list.length <= 240) for (const q of list) drawTrail(g, V, q);
  for (const q of list) {
    const i = q.i;
    g.globalAlpha = V.dim(i);
    const f = m.goal ? m.k[i] / m.goal : 0, one = big && !q.count && !q.plain, text = q.count ? `×${q.count}` : one && m.goal > 1 ? String(m.val[i]) : q.size >= 16 ? slotText(V, m.chunk[i]) : "";
    token(g, C, q.x, q.y, q.size, { round: !m.reduce[i], f, text: "", lit: V.hover?.transfer === i });
    if (text) put(g, text, q.x, q.y + (one && f < 1 ? 3 : q.size * 0.18), q.size * (one || text.length > 2 ? 0.42 : 0.52), f >= 1 ? C.ontext : C.ink, { bold: true, align: "center" });
    if (one && f < 1 && m.goal > 1) dots(g, V, q.x, q.y + q.size / 2 - 9, m.who[i], q.size - 8);
    if (one) {
      const flat = Math.abs(q.dx) > Math.abs(q.dy), str = `${V.W.chunk} ${slotText(V, m.chunk[i])}`;
      put(g, str, flat ? q.x : q.x + q.size / 2 + 10, flat ? q.y - q.size / 2 - 8 : q.y + 5, 13.5, C.ink2, { bold: true, align: flat ? "center" : "left" });
    }
    g.globalAlpha = 1;
  }
  V.drawn = list;
}

// ---- matrix of contributions

/** Geometry of the matrix: square cells, a gap where a node ends. */
function matrixLayout(m, slots, w, h) {
  const E = m.endpoints, x0 = E > m.ranks ? 48 : 34, y0 = 18;
  let gaps = 0;
  const before = [];
  for (let e = 0; e < E; e++) { if (e && panelOf(m, e) !== panelOf(m, e - 1)) gaps++; before.push(gaps); }
  const image = E * slots.length > 8192, gap = image ? 0 : E > 32 ? 2 : 5, cs = Math.max(0.5, Math.min(36, (w - x0 - 4) / Math.max(1, slots.length), (h - y0 - 56 - gaps * gap) / Math.max(1, E)));
  const size = cs >= 4 ? Math.floor(cs * (cs > 12 ? 1 : 10)) / (cs > 12 ? 1 : 10) : cs;
  return { x0, y0, cs: size, y: e => y0 + 6 + e * size + before[e] * gap, height: y0 + 6 + E * size + gaps * gap, nums: size >= 18, image };
}

function drawMatrix(g, V, w, h) {
  const { m, C, W } = V, L = (V.grid = matrixLayout(m, V.slots, w, h)), { cs } = L, inset = cs >= 11 ? 0.75 : cs >= 5 ? 0.4 : 0;
  const every = cs >= 16 ? 1 : cs >= 9 ? 2 : cs >= 4 ? 8 : cs >= 2 ? 16 : 64;
  put(g, W.rank, 0, L.y0 - 4, 12, C.ink3);
  V.slots.forEach((slot, q) => { if (q % every === 0) put(g, slotText(V, slot), L.x0 + (q + 0.5) * cs, L.y0 - 4, 12, C.ink2, { align: "center" }); });
  for (let e = 0; e < m.endpoints; e++) {
    const y = L.y(e);
    if (e % every === 0) {
      const name = nameOf(m, e), size = fitFont(g, name, 12.5, L.x0 - 8, false, 8) || 8;
      put(g, name, L.x0 - 7, y + cs / 2 + 4.5, size, C.ink2, { align: "right", bold: V.hotRanks.has(e) });
    }
    if (!L.image) V.slots.forEach((slot, q) => drawMatrixCell(g, V, L.x0 + q * cs, y, cs, inset, e * m.slots + slot, L.nums));
  }
  if (L.image) drawMatrixImage(g, V, L);
  if (V.hover?.slot != null) {
    const q = V.slots.indexOf(V.hover.slot);
    if (q >= 0) box(g, L.x0 + q * cs - 1, L.y0 + 4, cs + 2, L.height - L.y0 - 2, 3, null, C.ink, 1.5);
  }
  drawMatrixKey(g, V, L.height + 10, w);
}

/** Thousands of cells as one small image, a pixel each, scaled up. */
function drawMatrixImage(g, V, L) {
  const { m, C } = V, w = V.slots.length, h = m.endpoints, shades = new Map(), small = el("canvas", { width: w, height: h }), ctx = small.getContext("2d"), img = ctx.createImageData(w, h);
  const shade = k => {
    if (!shades.has(k)) shades.set(k, !k ? hex(C.grid) : k >= m.goal ? hex(C.done) : ramp(C, k, m.goal).match(/\d+/g).map(Number));
    return shades.get(k);
  };
  for (let e = 0, p = 0; e < h; e++) for (const slot of V.slots) { const c = shade(cellAt(m, e * m.slots + slot, V.t)); img.data.set([c[0], c[1], c[2], 255], p); p += 4; }
  ctx.putImageData(img, 0, 0);
  g.imageSmoothingEnabled = false;
  g.drawImage(small, L.x0, L.y(0), w * L.cs, h * L.cs);
}

function drawMatrixCell(g, V, x, y, cs, inset, cell, nums) {
  const { m, C } = V, k = cellAt(m, cell, V.t), done = k >= m.goal && k > 0, w = cs - 2 * inset;
  const dock = V.docks?.get(cell), shade = n => (n >= m.goal ? C.done : n ? ramp(C, n, m.goal) : C.grid);
  g.fillStyle = shade(dock ? dock.was : k);
  if (cs < 8) { g.fillRect(x + inset, y + inset, w, w); if (V.sends.size < 0.2 * m.endpoints * m.slots && V.sends.has(cell)) { g.fillStyle = C.ink; g.fillRect(x + inset, y + inset, w, Math.max(1, w * 0.3)); } return; }
  g.beginPath(); g.roundRect(x + inset, y + inset, w, w, 2.5); g.fill();
  if (dock) {
    g.fillStyle = shade(k);
    if (dock.copy) { g.globalAlpha = dock.f; g.fill(); g.globalAlpha = 1; } else g.fillRect(x + inset, y + inset + w * (1 - dock.f), w, w * dock.f);
  }
  const out = V.sends.has(cell), into = V.lands.has(cell), cx = x + cs / 2, fs = Math.min(15, Math.max(12, cs * 0.44));
  if (out) box(g, x + 1.5, y + 1.5, cs - 3, cs - 3, 2.5, null, V.hotCells.has(cell) ? C.full : C.ink, cs >= 16 ? 2 : 1.4);
  else if (into) box(g, x + 1.5, y + 1.5, cs - 3, cs - 3, 2.5, null, C.ink, 1.3, [3, 2.4]);
  if (done && cs >= 10) {
    g.beginPath(); g.moveTo(cx - cs * 0.2, y + cs * 0.52); g.lineTo(cx - cs * 0.05, y + cs * 0.67); g.lineTo(cx + cs * 0.22, y + cs * 0.34);
    g.strokeStyle = C.ontext; g.lineWidth = Math.max(1.4, cs * 0.09); g.stroke();
  } else if (nums && k && (k > 1 || into || out || cs >= 30)) put(g, String(k), cx, y + cs / 2 + fs * 0.36, fs, C.ink, { align: "center", bold: out || V.fresh.has(cell) });
}

function drawMatrixKey(g, V, y, w) {
  const { m, C, W } = V;
  let x = V.grid.x0;
  if (m.goal > 2) {
    for (let q = 0; q < 14; q++) { g.fillStyle = ramp(C, 1 + q * (m.goal - 2) / 13, m.goal); g.fillRect(x + q * 9, y, 9, 14); }
    put(g, "1", x, y + 28, 12, C.ink2); put(g, String(m.goal - 1), x + 126, y + 28, 12, C.ink2, { align: "right" });
    x += 142;
  }
  box(g, x, y - 1, 17, 17, 2.5, C.done);
  g.beginPath(); g.moveTo(x + 4, y + 7.5); g.lineTo(x + 7.5, y + 11); g.lineTo(x + 13, y + 4); g.strokeStyle = C.ontext; g.lineWidth = 2; g.stroke();
  put(g, W.complete, x + 23, y + 12, 12.5, C.ink2);
  x += 90;
  box(g, x + 1, y + 1, 13, 13, 2.5, null, C.ink, 1.8); put(g, W.sending, x + 20, y + 12, 12.5, C.ink2);
  box(g, x + 1, y + 21, 13, 13, 2.5, null, C.ink, 1.3, [3, 2.4]); put(g, W.arriving, x + 20, y + 32, 12.5, C.ink2);
}

// ---- scrubber and rows: one x axis, one cursor

function phaseOf(m, s) { return m.phases.find(p => p.first <= s && s <= p.last); }

function drawScrub(g, V, geo) {
  const { m, C, W } = V, { x0, tw } = geo, X = t => x0 + (m.total > 0 ? t / m.total : 0) * tw, z = geo.zoom;
  const bh = 24 * z, cy = 6 * z + bh, chh = 22 * z;
  for (const p of m.phases) {
    const a = X(m.step0[p.first] ?? 0), b = p.last + 1 < m.nsteps ? X(m.step0[p.last + 1]) : x0 + tw, name = textAt(p.label, 0, V.lang);
    g.fillStyle = p.reduce ? C.rs : C.ag; g.fillRect(a, 4, b - a, bh);
    const full = name + W.stepsSep + W.steps(p.first + 1, p.last + 1), fs = 13.5 * z, room = b - a - 44 * z;
    const str = widthOf(g, full, fs, true) < room ? full : widthOf(g, name, fs, true) < room ? name : "";
    put(g, str, a + 10, 4 + bh / 2 + fs * 0.36, fs, C.ink2, { bold: true });
    if (b - a > 40 * z) token(g, C, b - 18 * z, 4 + bh / 2, 14 * z, { round: !p.reduce, f: p.reduce ? 0.55 : 1 });
  }
  if (!m.nsteps) { g.fillStyle = C.grid; g.fillRect(x0, 4, tw, bh); }
  const cw = tw / Math.max(1, m.nsteps), every = m.nsteps ? Math.max(1, niceInt(21 * z / cw)) : 1;
  const edge = s => (s < m.nsteps ? X(m.step0[s]) : x0 + tw), cellMid = s => (edge(s) + edge(s + 1)) / 2, here = V.s;
  for (let s = 0; s < m.nsteps; s++) {
    if ((s + 1) % every && every > 1) continue;
    if (Math.abs(cellMid(s) - cellMid(here)) < 24 * z && s !== here && every > 1) continue;
    if (edge(s + 1) - edge(s) < 9 && every === 1) continue;
    put(g, String(s + 1), cellMid(s), cy + 15.5 * z, 12.5 * z, s <= here ? C.ink : C.ink3, { align: "center" });
  }
  if (here >= 0) {
    const w = Math.max(edge(here + 1) - edge(here), 30 * z), x = Math.min(x0 + tw - w, Math.max(x0, cellMid(here) - w / 2));
    box(g, x, cy, w, chh, 3, C.ink);
    put(g, String(here + 1), x + w / 2, cy + 15.5 * z, 13.5 * z, C.card, { bold: true, align: "center" });
  }
  const x = X(V.t);
  g.fillStyle = C.ink; g.fillRect(x - 1, 0, 2, cy);
  g.beginPath(); g.moveTo(x - 7 * z, 0); g.lineTo(x + 7 * z, 0); g.lineTo(x + 7 * z, 5 * z); g.lineTo(x, 12 * z); g.lineTo(x - 7 * z, 5 * z); g.fill();
  g.fillRect(x - 1, cy + chh, 2, 8);
  if (geo.fig) {
    put(g, W.sofar, geo.fig, cy + 15.5, 13, C.ink2);
    put(g, W.capacity, geo.fig + 194, cy + 15.5, 13, C.ink2);
  }
}

const niceInt = x => [1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000, 2000, 5000, 10000].find(k => k >= x) ?? Math.ceil(x);

/** What the rows need that does not change with time: slices per pixel, class per step. */
function rowData(m, ncol) {
  if (m.rowData?.ncol === ncol) return m.rowData;
  const rows = m.rows.links.map(links => {
    const total = Math.max(0, ...links.map(l => linkBytes(m, l, m.total)));
    const cls = Array.from({ length: m.nsteps }, (_, s) => useClass(Math.max(0, ...links.map(l => stepShare(m, l, s)))));
    return { ...rowSlices(m, links, ncol), total, cls };
  });
  return (m.rowData = { ncol, rows, idle: idleShare(m, ncol), most: Math.max(1, ...rows.map(r => r.total)) });
}

/** The bars of all rows for the whole run; drawn once, shown twice (past solid, future faint). */
function drawBars(g, V, geo) {
  const { m, C } = V, { tw, rh, bh, top } = geo, ncol = Math.max(1, Math.round(tw)), D = rowData(m, ncol), w = tw / ncol;
  const stepOf = c => stepAt(m, (c + 0.5) / ncol * m.total);
  D.rows.forEach((r, q) => {
    const base = top + q * rh + geo.off + bh;
    if (geo.mode === "bytes") {
      g.beginPath(); g.moveTo(0, base);
      for (let c = 0; c < ncol; c++) g.lineTo((c + 1) * w, base - bh * r.sofar[c] / D.most);
      g.lineTo(tw, base); g.fillStyle = m.rows.hot[q] ? C.full : C.ink3; g.fill();
      return;
    }
    for (let c = 0; c < ncol; c++) {
      if (r.top[c] < 1e-6) continue;
      g.fillStyle = C[r.cls[stepOf(c)] ?? "room"];
      const h = bh * Math.min(1, r.mean[c]), ht = bh * Math.min(1, r.top[c]);
      g.fillRect(c * w, base - h, w + 0.3, h);
      if (ht - h > 1) { g.globalAlpha = 0.35; g.fillRect(c * w, base - ht, w + 0.3, ht - h); g.globalAlpha = 1; }   // the busiest cable of the row, where they differ
    }
  });
  g.save(); g.beginPath();
  const base = top + D.rows.length * rh + geo.off + bh;
  for (let c = 0; c < ncol; c++) if (D.idle[c] > 1e-6) g.rect(c * w, base - bh * D.idle[c], w, bh * D.idle[c]);
  g.clip();
  g.strokeStyle = C.wait; g.lineWidth = 1.8; g.beginPath();
  for (let x = -bh; x < tw + bh; x += 7) { g.moveTo(x, base); g.lineTo(x + bh, base - bh); }
  g.stroke(); g.restore();
}

function drawRows(g, V, geo, bars) {
  const { m, C, W } = V, { x0, tw, rh, bh, top } = geo, D = rowData(m, Math.max(1, Math.round(tw))), n = D.rows.length;
  const X = t => x0 + (m.total > 0 ? t / m.total : 0) * tw, bottom = top + (n + 1) * rh, x = X(V.t), dense = tw / Math.max(1, m.nsteps);
  for (let s = 0; s <= m.nsteps && dense >= 6; s++) {
    const strong = s === 0 || s === m.nsteps || m.phases.some(p => p.first === s);
    g.fillStyle = strong ? C.edge : C.grid; g.fillRect((s < m.nsteps ? X(m.step0[s]) : x0 + tw) - 0.5, 0, 1, bottom);
  }
  if (bars) {
    const dpr = bars.width / tw, cut = Math.max(0, Math.min(bars.width, Math.round((x - x0) * dpr)));
    if (cut > 0) g.drawImage(bars, 0, 0, cut, bars.height, x0, 0, cut / dpr, bars.height / dpr);
    g.globalAlpha = 0.3;
    if (cut < bars.width) g.drawImage(bars, cut, 0, bars.width - cut, bars.height, x0 + cut / dpr, 0, (bars.width - cut) / dpr, bars.height / dpr);
    g.globalAlpha = 1;
  }
  g.fillStyle = C.card;
  for (let s = 1; s < m.nsteps && dense >= 8; s++) g.fillRect(X(m.step0[s]) - 0.6, top, 1.2, n * rh);
  for (let q = 0; q <= n; q++) drawRow(g, V, geo, D, q);
  drawAxis(g, V, geo, bottom, x);
}

function drawRow(g, V, geo, D, q) {
  const { m, C, W } = V, { x0, rh, bh, top } = geo, y = top + q * rh, mid = y + geo.off + bh / 2, last = q === D.rows.length;
  const label = last ? (m.lockstep ? W.waiting : W.idle) : textAt(m.rows.label, q, V.lang), note = last ? (m.lockstep ? W.waitNote : W.idleNote) : textAt(m.rows.note, q, V.lang);
  const hot = !last && m.rows.hot[q], ly = geo.narrow ? y + 14 : mid + 5, color = hot ? C.fulltext : C.ink;
  const room = geo.narrow ? geo.W * 0.5 : x0 - 12, lx = geo.narrow ? x0 : 0, size = fitFont(g, label, 15, room, hot, 11) || 11, lw = widthOf(g, label, size, hot);
  put(g, label, lx, ly, size, color, { bold: hot });
  if (note) {
    const fs = geo.narrow ? 13 : fitFont(g, note, 13, x0 - 18 - lw, false, 11.5);
    if (geo.narrow) put(g, note, lx + lw + 10, ly, 13, C.ink2);
    else if (fs) put(g, note, x0 - 10, ly, fs, C.ink2, { align: "right" });
  }
  if (q && !geo.narrow) { g.fillStyle = C.line; g.globalAlpha = 0.6; g.fillRect(0, y, x0 - 8, 1); if (geo.fig) g.fillRect(geo.fig, y, 400, 1); g.globalAlpha = 1; }
  const fx = geo.fig, right = geo.narrow ? x0 + geo.tw : fx + 400;
  if (!geo.narrow && !fx) return;
  if (last) { put(g, waitText(V), right, ly, 14.5, C.ink, { align: "right" }); return; }
  const links = m.rows.links[q], bytes = Math.max(0, ...links.map(l => linkBytes(m, l, V.t))), share = V.s >= 0 ? Math.max(0, ...links.map(l => V.facts.share[l])) : 0, cls = useClass(share);
  if (geo.narrow) { put(g, `${fmtBytes(bytes)}   ${fmtShare(share)}`, right, ly, 14, share > 0.95 ? C.fulltext : C.ink, { bold: true, align: "right" }); return; }
  put(g, fmtBytes(bytes), fx + 66, ly, 15, C.ink, { bold: true, align: "right" });
  box(g, fx + 76, mid - 5, 74, 11, 2, C.grid); box(g, fx + 76, mid - 5, 74 * Math.min(1, bytes / D.most), 11, 2, C.ink3);
  box(g, fx + 194, mid - 8, 130, 17, 2, C.grid); if (share > 0) box(g, fx + 194, mid - 8, Math.max(2, 130 * Math.min(1, share)), 17, 2, C[cls]);
  put(g, fmtShare(share), right, ly, 15, share > 0.95 ? C.fulltext : C.ink, { bold: true, align: "right" });
}

// Ranks that wait for others: in lockstep over the whole step, in the event engine at this moment.
function waitText(V) {
  const { m, W } = V;
  if (V.s < 0) return "";
  const receives = new Set(), busy = new Set(), longest = new Map();
  const from = m.lockstep ? m.byStep.id.subarray(m.byStep.start[V.s], m.byStep.start[V.s + 1]) : V.act;
  for (const i of from) { receives.add(m.dst[i]); busy.add(m.dst[i]); busy.add(m.src[i]); }
  if (!m.lockstep) return W.idleFig(m.ranks - [...busy].filter(e => e < m.ranks).length, m.ranks);
  const dur = m.step1[V.s] - m.step0[V.s];
  for (const i of from) for (const e of [m.dst[i], receives.has(m.src[i]) ? -1 : m.src[i]]) if (e >= 0 && e < m.ranks) longest.set(e, Math.max(longest.get(e) ?? 0, m.t1[i] - m.step0[V.s]));
  let waiting = 0, least = 1;
  for (let e = 0; e < m.ranks; e++) {
    const f = 1 - (longest.get(e) ?? 0) / dur;
    if (f > 0.005) { waiting++; least = Math.min(least, f); }
  }
  return waiting ? W.waitFig(waiting, m.ranks, fmtShare(least)) : W.waitFig(0, m.ranks, fmtShare(0));
}

function drawAxis(g, V, geo, y, x) {
  const { m, C, W } = V, { x0, tw } = geo, u = timeUnit(m.total), step = niceStep(m.total * u.f, tw / 90), boxW = widthOf(g, u.fmt(m.total), 13.5, true) + 18;
  g.fillStyle = C.edge; g.fillRect(x0, y, tw, 1);
  const count = step > 0 ? Math.floor(m.total * u.f / step + 1e-9) : 0, slack = geo.narrow ? 8 : 20, bx = Math.min(x0 + tw + slack - boxW / 2, Math.max(x0 - slack + boxW / 2, x));
  for (let k = 0; k <= count; k++) {
    const v = k * step, tx = x0 + (m.total > 0 ? v / (m.total * u.f) : 0) * tw, str = String(Number(v.toPrecision(6))) + (k === 0 || k === count ? NB + u.unit : "");
    g.fillStyle = C.edge; g.fillRect(tx - 0.5, y, 1, 5);
    if (Math.abs(tx - bx) > boxW / 2 + 18) put(g, str, tx, y + 19, 12.5, C.ink2, { align: geo.narrow && k === 0 ? "left" : geo.narrow && tx > x0 + tw - 16 ? "right" : "center" });
  }
  g.fillStyle = C.ink; g.fillRect(x - 1, 0, 2, y + 6);
  box(g, bx - boxW / 2, y + 5, boxW, 20, 4, C.ink);
  put(g, u.fmt(V.t), bx, y + 19.5, 13.5, C.card, { bold: true, align: "center" });
  if (geo.fig) {
    put(g, W.of(fmtBytes(rowData(m, Math.max(1, Math.round(tw))).most)), geo.fig + 76, y + 19, 12.5, C.ink3);
    put(g, "0", geo.fig + 194, y + 19, 12.5, C.ink3); put(g, `100${NB}%`, geo.fig + 324, y + 19, 12.5, C.ink3, { align: "right" });
  }
}

// ---------------------------------------------------------------- 6 player

const SPEEDS = [[1 / 16, "1/16"], [1 / 4, "1/4"], [1, "1"], [4, "4"], [16, "16"]];
const media = q => (typeof matchMedia === "function" ? matchMedia(q) : { matches: false, addEventListener() {}, removeEventListener() {} });

function sizeCanvas(canvas, w, h) {
  const dpr = Math.min(2, globalThis.devicePixelRatio || 1), pw = Math.max(1, Math.round(w * dpr)), ph = Math.max(1, Math.round(h * dpr));
  if (canvas.width !== pw || canvas.height !== ph) { canvas.width = pw; canvas.height = ph; }
  canvas.style.width = `${w}px`; canvas.style.height = `${h}px`;
  const g = canvas.getContext("2d");
  g.setTransform(dpr, 0, 0, dpr, 0, 0);
  return g;
}

/** Elements of the card, without any data in them. */
function buildCard(host) {
  const d = {};
  const button = (name, cls = "btn") => (d[name] = el("button", { type: "button", className: cls }, icon(name)));
  d.root = el("div", { className: "cs", tabIndex: 0, role: "group", "aria-label": "collsim player" });
  d.say = el("p", { className: "say", "aria-live": "polite" });
  d.views = el("span", { className: "seg", role: "group" });
  d.base = el("canvas", {}); d.live = el("canvas", { role: "img" }); d.note = el("div", { className: "note" });
  d.stage = el("div", { className: "stage" }, d.base, d.live);
  d.kinds = el("div", { className: "kinds" }); d.legend = el("div", { className: "legend" });
  d.left = el("div", { className: "left" }, d.stage, d.note, d.kinds, d.legend);
  d.matrixTitle = el("span"); d.channel = el("select", {}); d.channelLabel = el("label", {});
  d.matrix = el("canvas", { role: "img" });
  d.right = el("div", { className: "right" }, el("h3", {}, d.matrixTitle, d.channelLabel), d.matrix);
  d.play = el("button", { type: "button", className: "btn play" });
  d.stepno = el("span", { className: "stepno" }); d.clock = el("span", { className: "clock" });
  d.speedWord = el("span", { className: "dim speedword" }); d.speeds = el("span", { className: "seg", role: "group" }); d.real = el("span", { className: "dim real" });
  d.tr = el("div", { className: "tr" },
    el("span", { className: "g lead" }, button("first"), button("back"), d.play, button("next")),
    el("span", { className: "g" }, d.stepno, d.clock, d.speedWord, d.speeds, d.real), el("span", { className: "gap" }),
    el("span", { className: "g" }, button("loop"), button("busy"), button("link"), button("png"), button("full")));
  d.scrubCanvas = el("canvas"); d.mode = el("span", { className: "seg small mode", role: "group" });
  d.scrub = el("div", { className: "scrub", role: "slider", tabIndex: 0 }, d.scrubCanvas);
  d.scrubBox = el("div", { className: "panel keep" }, d.scrub, d.mode);
  d.tabList = el("div", { className: "tablist", role: "tablist" }); d.tabs = el("div", { className: "tabs" }, d.tabList);
  d.rowsCanvas = el("canvas", { role: "img" }); d.rows = el("div", { className: "rows" }, d.rowsCanvas);
  d.words = el("div", { className: "words", tabIndex: 0 }); d.textlink = el("button", { type: "button", className: "textlink" });
  d.panel = el("div", { className: "panel" }, d.rows);
  d.tip = el("div", { className: "tip", role: "tooltip" }); d.toast = el("div", { className: "toast", role: "status" });
  d.nar = el("div", { className: "nar" }, d.say, d.views);
  d.mid = el("div", { className: "mid" }, d.left, d.right);
  d.body = el("div", { className: "body" }, d.nar, d.mid, d.tr, d.scrubBox, d.tabs, d.panel, el("div", { className: "foot" }, d.textlink), d.words);
  d.error = el("div", { className: "error", role: "alert" }); d.head = el("div", { className: "head" });
  d.card = el("section", { className: "card" }, el("div", { className: "load" }), d.error, d.body, d.toast, d.tip);
  d.root.append(el("style", { textContent: CSS }), d.head, d.card);
  host.append(d.root);
  return d;
}

/**
 * Mount a player into `host`. Options (all may be left out):
 *   timeline  object, JSON text or {schema, z}; may come later through setTimeline
 *   lang "en" | "zh", theme "light" | "dark" | null (the system's), view "physical" | "logical", t seconds, header true
 *   clock     a clock from createClock() shared with other players (a race)
 *   compact   height in pixels of a stage that stands alone, without narration, controls and linked views (a race, a machine)
 *   marks     [{link, text}]: numbers beside cables, a way hop by hop;  onPick(endpoint) when a rank's box is clicked
 *   onState(state, why)  after pause, seek, end, view: {t, step, playing, view, speed, done}; never per frame
 *   onShare(state)       instead of copying a link; may return the text to copy
 */
export function createPlayer(host, opts = {}) {
  const d = buildCard(host), clock = opts.clock ?? createClock(), dark = media("(prefers-color-scheme: dark)"), still = media("(prefers-reduced-motion: reduce)");
  const S = { lang: opts.lang === "zh" ? "zh" : "en", theme: opts.theme ?? null, view: opts.view ?? null, mode: "rate", tab: 0, channel: -1, present: false, words: false, narrow: false };
  const scratch = { act: [], wait: [] };
  let m = null, V = null, off = () => {}, frame = 0, ticket = 0, dead = false, reportTimer = 0, baseAt = 0, bars = null, narrated = "";
  const W = () => WORDS[S.lang], themeName = () => (S.theme === "dark" || (S.theme !== "light" && dark.matches) ? "dark" : "light"), colors = () => TOKENS[themeName()];
  const keys = { base: "", matrix: "", bars: "", kinds: "" };
  const forget = () => { for (const k in keys) keys[k] = ""; };

  // ---- timeline in, timeline out

  async function setTimeline(tl, keep = false) {
    const mine = ++ticket, slow = setTimeout(() => d.root.classList.add("loading"), 300);
    try {
      const data = await unpack(tl);
      if (mine !== ticket || dead) return;
      const bad = problem(data);
      if (bad) { fail(bad); return; }
      const f = m && keep && m.total > 0 ? clock.t / m.total : 0;
      accept(index(data), f);
    } catch (e) {
      if (mine === ticket && !dead) fail({ en: `The timeline could not be read: ${e?.message ?? e}`, zh: `无法读取 timeline：${e?.message ?? e}` });
    } finally {
      clearTimeout(slow);
      if (mine === ticket) d.root.classList.remove("loading");
    }
  }

  function accept(model, f) {
    m = model;
    off();
    off = clock.on(onClock, m.total, m.total / Math.max(1, Math.min(30, m.nsteps)));
    clock.loop = null;
    if (!opts.clock) clock.t = f * m.total;
    if (opts.t != null) { clock.t = Math.min(m.total, Math.max(0, clean(opts.t))); opts.t = null; }
    S.view ??= d.root.clientWidth < 600 && m.tl.logical ? "logical" : "physical";
    S.slotChannel = slotChannels(m);
    S.channel = m.channels > 1 && S.slotChannel && m.slots > 32 ? 0 : -1;
    d.root.classList.remove("bad");
    forget(); narrated = ""; V = null; hide();
    rebuild();
  }

  function fail(text) {
    clock.pause();
    S.problem = text; m = null; V = null;
    d.root.classList.add("bad");
    d.error.textContent = `${W().wrong} ${text[S.lang]}`;
    Object.assign(d.root.dataset, { playing: "false", transfers: "0", active: "0", step: "0", t: "0", error: text.en });
  }

  /** Which channel each slot belongs to, when every slot belongs to just one. */
  function slotChannels(model) {
    if (model.channels < 2) return null;
    const of = new Int32Array(model.slots).fill(-1);
    for (let i = 0; i < model.n; i++) for (const c of [model.chunk[i], model.into[i]]) {
      if (of[c] >= 0 && of[c] !== model.channel[i]) return null;
      of[c] = model.channel[i];
    }
    return of;
  }

  // ---- static parts: words, legend, layout

  function rebuild() {
    const w = W();
    applyTheme();
    d.root.dataset.lang = S.lang; d.root.lang = S.lang === "zh" ? "zh-CN" : "en";
    if (!m) { if (S.problem) d.error.textContent = `${w.wrong} ${S.problem[S.lang]}`; return; }
    delete d.root.dataset.error;
    segment(d.views, [["physical", w.physical], ["logical", w.logical]], S.view, setView, w.view);
    segment(d.speeds, SPEEDS, clock.speed, clock.setSpeed, w.speed);
    segment(d.mode, [["rate", w.rate], ["bytes", w.bytes]], S.mode, v => { S.mode = v; rebuild(); }, w.chart);
    for (const name of ["first", "back", "next", "loop", "busy", "link", "png", "full"]) { d[name].title = w[name]; d[name].setAttribute("aria-label", w[name]); }
    d.speedWord.textContent = w.speed;
    d.live.setAttribute("aria-label", w.stageLabel); d.scrub.setAttribute("aria-label", w.time);
    d.textlink.textContent = S.words ? w.hideText : w.asText;
    d.matrixTitle.textContent = m.goal > 1 ? w.contributions(m.goal) : w.holds;
    d.matrix.setAttribute("aria-label", d.matrixTitle.textContent); d.rowsCanvas.setAttribute("aria-label", w.tabs[0]);
    buildChannels(); buildTabs(); buildLegend(); buildHead();
    d.root.dataset.transfers = String(m.n);
    layout();
  }

  function applyTheme() {
    const C = colors();
    for (const k in C) d.root.style.setProperty(`--${k}`, C[k]);
    d.root.dataset.theme = themeName();
    forget();
  }

  function segment(box, items, value, pick, label) {
    box.setAttribute("aria-label", label); box.title = label;
    box.replaceChildren(...items.map(([v, text]) => el("button", { type: "button", textContent: text, "aria-pressed": String(v === value), onclick: () => pick(v) })));
  }

  function buildChannels() {
    const on = m.channels > 1 && S.slotChannel;
    d.channelLabel.replaceChildren(...(on ? [W().channel, d.channel] : []));
    if (!on) return;
    const items = [[-1, W().all], ...Array.from({ length: m.channels }, (_, c) => [c, String(c)])];
    d.channel.replaceChildren(...items.map(([v, t]) => el("option", { value: String(v), textContent: t, selected: v === S.channel })));
  }

  function buildTabs() {
    d.tabList.replaceChildren(...W().tabs.map((t, q) => el("button", {
      type: "button", role: "tab", textContent: t, "aria-selected": String(q === S.tab), onclick: () => { S.tab = q; rebuild(); },
    })));
  }

  function symbol(w, h, ...kids) { return svg("svg", { width: w, height: h, viewBox: `0 0 ${w} ${h}`, "aria-hidden": "true" }, ...kids); }

  function buildLegend() {
    const w = W(), C = colors(), item = (s, t) => el("span", {}, s, t), items = [];
    const square = symbol(22, 22, svg("rect", { x: 1, y: 1, width: 20, height: 20, rx: 3.5, fill: C.card, stroke: C.ink, "stroke-width": 2 }), svg("rect", { x: 3, y: 11, width: 16, height: 8, fill: C.sumfill }));
    const summing = m.tl.transfers.reduce.some(Boolean);
    if (summing) items.push(item(square, w.reduce));
    items.push(item(symbol(20, 20, svg("circle", { cx: 10, cy: 10, r: 9.5, fill: C.done })), summing ? w.copySum : w.copy));
    if (m.lockstep && S.view === "physical") items.push(item(symbol(22, 22, svg("rect", { x: 1, y: 1, width: 20, height: 20, rx: 4, fill: "none", stroke: C.wait, "stroke-width": 1.6, "stroke-dasharray": "2.5 2.5" }), svg("rect", { x: 5, y: 5, width: 12, height: 12, rx: 2, fill: C.sumfill })), w.waitsKey));
    items.push(item(symbol(34, 16, svg("rect", { x: 0, y: 0.8, width: 34, height: 14.4, fill: C.edge }), svg("rect", { x: 0, y: 1.6, width: 34, height: 12.8, fill: C.roomtint }), svg("rect", { x: 0, y: 5.5, width: 34, height: 5, fill: C.room })), S.view === "physical" ? w.cable : w.inUse));
    if (S.view === "logical" && summing && m.ranks <= 4) {
      items.push(item(symbol(34, 10, ...[4, 13, 22, 31].map((x, q) => svg("circle", { cx: x - 0.5, cy: 5, r: 3.5, fill: q % 2 ? C.card : C.ink, stroke: C.ink, "stroke-width": 1.2 }))), w.dots));
    }
    const classes = ["room", "near", "full"].flatMap((c, q) => [symbol(12, 12, svg("rect", { width: 12, height: 12, rx: 2, fill: C[c] })), el("span", { textContent: w.range[q] })]);
    if (S.view === "physical") items.push(el("span", {}, w.used, ...classes));
    d.legend.replaceChildren(...items);
  }

  function buildHead() {
    d.root.classList.toggle("withhead", !!opts.header);
    if (!opts.header) return;
    const w = W(), F = m.tl.figures ?? {}, u = timeUnit(m.total), B = m.tl.bottleneck;
    const fig = (a, b, c) => el("div", { className: "fig" }, el("small", { textContent: a }), el("b", { textContent: b }), el("i", { textContent: c ?? "" }));
    const kids = [el("h2", { textContent: textAt(m.tl.meta.title, 0, S.lang) }), fig(w.time, u.fmt(m.total), w.ranksSteps(m.ranks, m.nsteps))];
    if (F.algbw) kids.push(fig(w.algbw, fmtRate(F.algbw), fmtBytes(m.tl.meta.nbytes)));
    if (F.busbw) kids.push(fig(w.busbw, fmtRate(F.busbw)));
    if (F.bound) kids.push(fig(w.bound, fmtSpan(F.bound), w.times(three(m.total / F.bound))));
    if (B) kids.push(el("div", { className: "bn" }, el("small", { textContent: w.bottleneck }), el("b", { textContent: textAt(B.text, 0, S.lang) }), el("i", { textContent: textAt(B.more, 0, S.lang) })));
    d.head.replaceChildren(...kids);
  }

  function layout() {
    if (!m || !d.root.clientWidth) return;
    const compact = opts.compact > 0 && !S.present, outer = d.root.clientWidth, pad = compact ? -2 : S.present ? 72 : outer < 1340 ? 32 : 40, inner = outer - pad - 2;
    d.root.classList.toggle("compact", compact);
    S.narrow = outer < 1340 || S.present;
    d.root.classList.toggle("narrow", S.narrow && !S.present); d.root.classList.toggle("slim", outer < 820 && !S.present); d.root.classList.toggle("tight", outer < 1120 && !S.present);
    const leftW = S.narrow ? inner : inner - 424, st = m.tl.stage;
    const roomH = compact ? opts.compact : S.present ? Math.max(260, globalThis.innerHeight - 124 - 100 - 76 - 110) : Math.min(900, Math.max(470, globalThis.innerHeight - (S.narrow ? 330 : 610)));
    let k = Math.min(leftW / st.w, roomH / st.h, S.present ? 4 : 1.3);
    if (!compact) k = Math.max(k, Math.min(0.75, roomH / st.h));   // too small to read: the stage scrolls sideways instead
    k = Math.min(k, 8000 / st.w);                             // browsers refuse very wide canvases
    S.k = k; S.stageW = Math.max(leftW, st.w * k); S.stageH = compact ? opts.compact : Math.max(260, Math.round(st.h * k));
    if (S.view === "logical") { S.stageW = leftW; if (!compact) S.stageH = Math.max(S.stageH, leftW < 700 ? 380 : 420); }
    S.ox = Math.max(0, (S.stageW - st.w * k) / 2); S.oy = Math.max(0, (S.stageH - st.h * k) / 2);
    d.stage.style.height = `${S.stageH + (S.stageW > leftW ? 12 : 0)}px`;
    S.zoom = S.present ? 1.5 : 1;
    d.tr.querySelector(".lead").style.width = S.narrow ? "" : "198px";
    arrangePanels();
    S.matW = S.narrow ? Math.min(inner, 640) : 400; S.matH = S.narrow ? 480 : Math.max(300, S.stageH + (m.tl.stage.key ? 4 : 28));
    const x0 = S.narrow ? 8 : 216, n = m.rows.links.length;
    const rh = S.narrow ? 40 : n > 7 ? 25 : 31, bh = S.narrow ? 17 : rh - 9;
    S.geo = { x0, tw: Math.max(50, leftW - x0 - (S.narrow ? 8 : 0)), W: inner, rh, bh, off: S.narrow ? 20 : 4, top: S.narrow ? 0 : 6, narrow: S.narrow, fig: S.narrow ? 0 : leftW + 24, mode: S.mode, zoom: S.zoom };
    S.scrubH = (30 + 24) * S.zoom + 2; S.rowsH = S.geo.top + (n + 1) * rh + 28;
    forget();
    invalidate();
  }

  /** Wide: everything is in sight. Narrow: the linked views stand behind tabs. */
  function arrangePanels() {
    const narrow = S.narrow && !S.present, show = (e, on) => { e.style.display = on ? "" : "none"; };
    if (narrow) { d.panel.append(d.right, d.legend); } else { d.mid.append(d.right); d.left.append(d.legend); }
    show(d.rows, S.present ? false : !narrow || S.tab === 0); show(d.right, !S.present && (!narrow || S.tab === 1));
    show(d.words, S.present ? false : narrow ? S.tab === 2 : S.words); show(d.legend, !narrow || S.tab === 3);
    show(d.mode, !S.present && (!narrow || S.tab === 0)); show(d.kinds, !m.tl.stage.key && m.key.length > 0 && S.view === "physical");
    if (narrow) { d.tabs.append(d.mode); d.mode.style.cssText += ";position:static;margin-left:auto;margin-bottom:7px"; } else { d.scrubBox.append(d.mode); d.mode.style.position = ""; d.mode.style.margin = ""; }
    if (d.words.style.display !== "none") buildWords();
  }

  function buildWords() {
    const w = W(), text = m.tl.text, table = (caption, head, rows) => {
      const t = el("table", {}, el("caption", { textContent: caption }));
      if (head) t.append(el("tr", {}, ...head.map(h => el("th", { textContent: h }))));
      for (const [first, ...cells] of rows) t.append(el("tr", {}, el("th", { textContent: first }), ...cells.map(c => el("td", { textContent: c }))));
      return t;
    };
    const kids = [text ? table(w.asText, ["", ...Array.from({ length: m.nsteps }, (_, s) => String(s + 1))], text.row.map((r, q) => [r, ...text.cell[q].map(c => String(c ?? ""))])) : el("p", { textContent: w.big })];
    S.textTable = text ? kids[0] : null;
    const L = m.tl.links, used = [...new Set(m.tl.routes.link)].sort((a, b) => b === a ? 0 : linkBytes(m, b, m.total) / L.bandwidth[b] - linkBytes(m, a, m.total) / L.bandwidth[a]);
    kids.push(table(w.linkTable, w.cols, used.slice(0, 200).map(l => {
      const b = linkBytes(m, l, m.total);
      return [linkName(l), fmtShare(m.total > 0 ? b / (L.bandwidth[l] * m.total) : 0), fmtBytes(b), `${textAt(L.label, l, S.lang)} ${fmtRate(L.bandwidth[l])}`];
    })));
    if (used.length > 200) kids.push(el("p", { textContent: w.more(used.length - 200) }));
    S.cellTable = null;
    if (m.endpoints * m.slots <= 1024) {                     // the matrix as a table, kept up to date once per step
      S.cellTable = table(d.matrixTitle.textContent, [w.rank, ...Array.from({ length: m.slots }, (_, c) => String(c))], Array.from({ length: m.endpoints }, (_, e) => [nameOf(m, e), ...new Array(m.slots).fill("")]));
      kids.push(S.cellTable);
    }
    d.words.replaceChildren(...kids);
    d.words.setAttribute("aria-label", w.asText); d.words.setAttribute("role", "region");
    S.wordsStep = -1;
  }

  const linkName = l => [m.tl.links.src[l], m.tl.links.dst[l]].map(q => deviceName(q)).join(" → ");
  function deviceName(q) {
    const D = m.tl.devices, label = textAt(D.label, q, S.lang), e = D.endpoint[q];
    const own = e >= 0 && e < m.ranks ? `${W().rank} ${e}` : label;
    return D.panel[q] >= 0 && m.panels.x.length > 1 && !(e >= 0) ? `${own} (${textAt(m.panels.label, D.panel[q], S.lang)})` : own;
  }

  // ---- one frame

  function invalidate() { if (!frame && !dead) frame = requestAnimationFrame(() => { frame = 0; render(); }); }
  function onClock(_, why) {
    if (dead || !m) return;
    if (why === "tick") { render(); return; }
    if (why === "seek" && clock.loop) clock.loop = stepSpan();
    if (why === "speed") { segment(d.speeds, SPEEDS, clock.speed, clock.setSpeed, W().speed); }
    render();
    if (why === "pause" || why === "end") report(why, 0); else if (why === "seek" && !clock.playing) report(why, 350);
  }
  const stepSpan = () => { const s = stepAt(m, Math.min(clock.t, m.total)); return s < 0 ? null : [m.step0[s], Math.max(m.step1[s], m.step0[s] + 1e-12)]; };
  const state = () => ({ t: m ? Math.min(clock.t, m.total) : 0, step: V && m?.nsteps ? V.s + 1 : 0, playing: clock.playing, view: S.view ?? "physical", speed: clock.speed, done: !!m && doneAt(m, Math.min(clock.t, m.total)) });
  function report(why, delay) {
    clearTimeout(reportTimer);
    if (!opts.onState) return;
    reportTimer = setTimeout(() => { if (!dead && m) opts.onState(state(), why); }, delay);
  }

  /** In reduced motion time stands at the start, the middle and the end of each step. */
  function shownTime(t) {
    if (!still.matches || !clock.playing || !m.nsteps) return t;
    const s = stepAt(m, t), a = m.step0[s], b = s + 1 < m.nsteps ? m.step0[s + 1] : m.total, f = b > a ? (t - a) / (b - a) : 0;
    return a + (b - a) * (f < 0.2 ? 0 : f < 0.7 ? 0.5 : 0.999);
  }

  function scene() {
    const t = shownTime(Math.min(clock.t, m.total)), s = stepAt(m, t), act = activeAt(m, t, scratch.act), wait = waitingAt(m, t, s, scratch.wait), hover = V?.hover ?? null;
    const v = { m, C: colors(), W: W(), lang: S.lang, t, s, act, wait, hover, reduced: still.matches, facts: stepFacts(m, s), fill: true, grid: V?.grid, drawn: V?.drawn ?? [], landed: landedBy(m, t) };
    v.dim = i => (v.hover?.slot != null && m.chunk[i] !== v.hover.slot ? 0.22 : 1);
    v.slots = V && V.channel === S.channel && V.m === m ? V.slots : Array.from({ length: m.slots }, (_, c) => c).filter(c => S.channel < 0 || S.slotChannel[c] === S.channel);
    v.channel = S.channel;
    v.now = m.lockstep && s >= 0 ? (t >= m.total ? [] : Array.from(m.byStep.id.subarray(m.byStep.start[s], m.byStep.start[s + 1]))) : act;
    v.finished = V && V.m === m && V.landed === v.landed ? V.finished : finishedCells(t);
    markCells(v);
    return v;
  }

  function finishedCells(t) {
    const out = new Float64Array(m.endpoints);
    for (let e = 0; e < m.endpoints; e++) for (let c = 0; c < m.slots; c++) if (cellAt(m, e * m.slots + c, t) >= m.goal) out[e]++;
    return out;
  }

  function markCells(v) {
    v.sends = new Set(); v.lands = new Set(); v.fresh = new Set(); v.hotCells = new Set(); v.hotRanks = new Set();
    for (const i of v.now) {
      const from = m.src[i] * m.slots + m.chunk[i], to = m.dst[i] * m.slots + m.into[i];
      v.sends.add(from); (v.t < m.t1[i] ? v.lands : v.fresh).add(to);
      if (routeHot(m, m.route[i])) { v.hotCells.add(from); v.hotRanks.add(m.src[i]); v.hotRanks.add(m.dst[i]); }
    }
  }

  function render() {
    if (!m || dead || !S.geo) return;
    V = scene();
    drawStage();
    if (opts.compact > 0 && !S.present) { mirror(); return; }
    if (!S.present && (!S.narrow || S.tab === 1)) drawMatrixView();
    drawTime();
    mirror();
  }

  function drawStage() {
    const now = performance.now(), logical = S.view === "logical";
    const key = [V.s, S.view, S.stageW, S.stageH, S.lang, themeName(), S.channel, logical || m.ranks > 32 ? V.landed : 0, V.t >= m.total].join();
    if (logical) V.lay = logicalLayout(m, V.slots.length, S.stageW, S.stageH);
    // Colours change with the step; the cores of the cables grow slowly, so ten times a second is enough for them.
    if (key !== keys.base || !clock.playing || now - baseAt > 100) {
      const g = sizeCanvas(d.base, S.stageW, S.stageH);
      g.clearRect(0, 0, S.stageW, S.stageH);
      if (logical) drawLogical(g, V, S.stageW, S.stageH);
      else { g.translate(S.ox, S.oy); g.scale(S.k, S.k); drawPhysical(g, V); drawMarks(g, V, opts.marks ?? []); }
      keys.base = key; baseAt = now;
    }
    const g = sizeCanvas(d.live, S.stageW, S.stageH);
    g.clearRect(0, 0, S.stageW, S.stageH);
    if (logical) drawLogicalTokens(g, V); else {
      g.translate(S.ox, S.oy); g.scale(S.k, S.k);
      if (V.hover?.link != null) stroke(g, m.tl.links.path[V.hover.link], 2, V.C.ink);
      drawTokens(g, V);
    }
    const many = V.act.length > 2000;
    d.note.style.display = many ? "block" : "none";
    if (many) d.note.textContent = W().aggregated(V.act.length);
    drawKinds();
  }

  function drawKinds() {
    if (m.tl.stage.key || S.view === "logical" || !m.key.length) return;
    const key = `${V.s},${S.lang},${themeName()}`;
    if (key === keys.kinds) return;
    keys.kinds = key;
    const C = colors();
    d.kinds.replaceChildren(el("span", { textContent: W().keyUsed }), ...m.key.map(e => {
      const share = keyShare(m, V.facts.share, e), cls = useClass(share), h = Math.min(18, Math.max(3, pipeRuler(m) * Math.sqrt(e.bandwidth / 1e9)));
      const bar = symbol(30, 20, svg("rect", { x: 0, y: 10 - h / 2 - 0.8, width: 30, height: h + 1.6, fill: C.edge }), svg("rect", { x: 0, y: 10 - h / 2, width: 30, height: h, fill: C[`${cls}tint`] }), svg("rect", { x: 0, y: 8.5, width: 30, height: 3, fill: C[cls] }));
      return el("span", { className: cls }, bar, el("b", { textContent: textAt(e.label, 0, S.lang) }), sameWords(textAt(e.label, 0, S.lang), fmtRate(e.bandwidth)) ? "" : fmtRate(e.bandwidth), el("b", { textContent: share > 1e-9 ? fmtShare(share) : "–" }));
    }), el("span", { textContent: W().nominal }));
  }

  function drawMatrixView() {
    const key = [V.landed, V.s, S.channel, V.hover?.slot, S.matW, S.matH, S.lang, themeName(), V.now.length, m.lockstep ? 0 : V.act.join()].join();
    const docks = dockings();
    if (key === keys.matrix && !docks && !S.docked) return;
    S.docked = !!docks;
    keys.matrix = key;
    V.docks = docks;
    const g = sizeCanvas(d.matrix, S.matW, S.matH);
    g.clearRect(0, 0, S.matW, S.matH);
    drawMatrix(g, V, S.matW, S.matH);
  }

  /** Chunks that have just landed: for 160 ms of screen time the cell's level rises (reduce) or fades over (copy). */
  function dockings() {
    const now = performance.now(), short = clock.playing && !still.matches && clock.speed <= 1 && m.endpoints * m.slots <= 1024;
    const from = S.dockFor === m && V.landed >= (S.dockAt ?? 0) ? S.dockAt : V.landed;
    S.dockFor = m; S.dockAt = V.landed;
    S.docks ??= new Map();
    if (!short) { S.docks.clear(); return null; }
    for (let q = from; q < V.landed; q++) {
      const i = m.byEnd[q], cell = m.dst[i] * m.slots + m.into[i];
      S.docks.set(cell, { since: now, copy: !m.reduce[i], was: cellAt(m, cell, m.t1[i] - 1e-9 * m.total) });
    }
    for (const [cell, k] of S.docks) { k.f = (now - k.since) / 160; if (k.f >= 1) S.docks.delete(cell); }
    return S.docks.size ? S.docks : null;
  }

  function barsCanvas() {
    const key = [S.geo.tw, S.rowsH, S.mode, themeName()].join();
    if (key !== keys.bars) {
      bars ??= el("canvas");
      const g = sizeCanvas(bars, S.geo.tw, S.rowsH);
      g.clearRect(0, 0, S.geo.tw, S.rowsH);
      drawBars(g, V, S.geo);
      keys.bars = key;
    }
    return bars;
  }

  function drawTime() {
    let g = sizeCanvas(d.scrubCanvas, S.geo.W, S.scrubH);
    g.clearRect(0, 0, S.geo.W, S.scrubH);
    drawScrub(g, V, S.geo);
    if (S.present || (S.narrow && S.tab !== 0)) return;
    const b = barsCanvas();
    g = sizeCanvas(d.rowsCanvas, S.geo.W, S.rowsH);
    g.clearRect(0, 0, S.geo.W, S.rowsH);
    drawRows(g, V, S.geo, b);
  }

  /** What is on the canvas, in words and data attributes: for screen readers and tests. */
  function mirror() {
    const w = W(), u = timeUnit(m.total), n = m.nsteps, s = V.s, ended = V.t >= m.total && m.n > 0, phase = s >= 0 ? textAt(phaseOf(m, s)?.label, 0, S.lang) : "";
    const done = doneCached();
    put2(d.stepno, n ? w.step(s + 1, n) : "–"); put2(d.clock, `${u.num(V.t)} / ${u.num(m.total)}${NB}${u.unit}`);
    put2(d.real, n ? w.real(fmtSpan(clock.base * clock.speed)) : "");
    const label = clock.playing ? w.pauseLabel : w.playLabel;
    if (d.play.getAttribute("aria-label") !== label) { d.play.replaceChildren(icon(clock.playing ? "pause" : "play")); d.play.setAttribute("aria-label", label); d.play.title = clock.playing ? w.pause : w.play; }
    d.loop.setAttribute("aria-pressed", String(!!clock.loop)); d.full.setAttribute("aria-pressed", String(S.present));
    for (const b of [d.play, d.first, d.back, d.next, d.loop, d.busy]) b.disabled = !(m.total > 0);
    narrate(ended ? "end" : `s${s}`, ended, phase);
    const a = { t: String(Number(V.t.toPrecision(9))), playing: String(clock.playing), step: String(n ? s + 1 : 0), active: String(V.act.length), waiting: String(V.wait.length), view: S.view, done: String(done), transfers: String(m.n) };
    for (const k in a) if (d.root.dataset[k] !== a[k]) d.root.dataset[k] = a[k];
    const slider = { "aria-valuemin": "0", "aria-valuemax": String(m.total), "aria-valuenow": a.t, "aria-valuetext": w.valuetext(s + 1, n, phase, u.fmt(V.t)) };
    for (const k in slider) if (d.scrub.getAttribute(k) !== slider[k]) d.scrub.setAttribute(k, slider[k]);
    if (S.wordsStep !== s && d.words.style.display !== "none") {
      S.wordsStep = s;
      if (S.textTable) for (const row of S.textTable.rows) for (let q = 1; q < row.cells.length; q++) row.cells[q].className = q === s + 1 && row.rowIndex > 0 ? "now" : "";
      if (S.cellTable) for (let e = 0; e < m.endpoints; e++) for (let c = 0; c < m.slots; c++) put2(S.cellTable.rows[e + 1].cells[c + 1], String(cellAt(m, e * m.slots + c, V.t)));
    }
  }
  const put2 = (e, text) => { if (e.textContent !== text) e.textContent = text; };
  function doneCached() {
    if (S.doneKey !== V.landed || S.doneFor !== m) { S.doneKey = V.landed; S.doneFor = m; S.done = doneAt(m, V.t); }
    return S.done;
  }

  /** Once per step: the sentence of the step, spoken too unless steps fly by. */
  function narrate(key, ended, phase) {
    const k = `${key},${S.lang}`;
    if (k === narrated) return;
    narrated = k;
    const w = W();
    d.say.setAttribute("aria-live", clock.playing && clock.speed > 1 ? "off" : "polite");
    let head = "", text = "";
    if (!m.n) text = m.ranks === 1 ? w.none : w.idleRun;
    else if (ended) {
      head = doneCached() ? w.finished(m.ranks, m.goal > 1) : w.over;
      text = m.tl.bottleneck ? `${textAt(m.tl.bottleneck.text, 0, S.lang)} ${textAt(m.tl.bottleneck.more, 0, S.lang)}` : "";
    } else { head = w.head(V.s + 1, m.nsteps, phase); text = textAt(m.tl.steps.text, V.s, S.lang); }
    d.say.replaceChildren(el("b", { textContent: head }), head && S.lang === "en" ? " " : "", text);
    d.nar.classList.remove("long");
    d.nar.classList.toggle("long", d.say.scrollHeight > d.nar.clientHeight + 2);
  }

  // ---- what a person can do

  function setView(v) { if (v !== S.view) { S.view = v; hide(); rebuild(); report("view", 0); } }
  const toggle = () => (clock.playing ? clock.pause() : clock.play());
  function next() {
    if (!m?.nsteps) return;
    const free = clock.playing && clock.until == null, from = clock.playing && !free ? clock.until : clock.t;
    if (from !== clock.t) clock.seek(from);                  // pressed again while a step is shown: skip to its end
    const s = stepAt(m, from), target = s + 1 < m.nsteps ? m.step0[s + 1] : m.total;
    if (from >= m.total) return;
    if (still.matches || free) clock.seek(target); else clock.play(target);
  }
  function back() {
    if (!m?.nsteps) return;
    const s = stepAt(m, clock.t), into = clock.t - m.step0[s], long = 0.12 * Math.max(1e-15, m.step1[s] - m.step0[s]);
    clock.seek(into > long || s === 0 ? m.step0[s] : m.step0[s - 1]);
  }
  function loop() {
    if (!m?.nsteps) return;
    clock.loop = clock.loop ? null : stepSpan();
    if (clock.loop && !clock.playing) clock.play(); else invalidate();
  }
  function faster(by) {
    const q = SPEEDS.findIndex(([v]) => v === clock.speed);
    clock.setSpeed(SPEEDS[Math.min(SPEEDS.length - 1, Math.max(0, (q < 0 ? 2 : q) + by))][0]);
  }
  function goBusiest() { if (m) { clock.loop = null; clock.seek(busiest(m)); } }

  function present(on = !S.present) {
    S.present = on;
    d.root.classList.toggle("present", on);
    if (on && d.root.requestFullscreen) d.root.requestFullscreen().catch(() => {});
    if (!on && document.fullscreenElement) document.exitFullscreen?.().catch(() => {});
    narrated = "";
    layout();
    d.root.focus({ preventScroll: true });
  }

  function toast(text) {
    d.toast.textContent = text; d.toast.classList.add("on");
    clearTimeout(S.toastTimer);
    S.toastTimer = setTimeout(() => d.toast.classList.remove("on"), 2000);
  }

  async function share() {
    const st = state();
    let text = opts.onShare ? opts.onShare(st) : null;
    if (text === undefined) return;
    if (text == null && /^(https?|file):/.test(location.protocol)) {
      const u = new URL(location.href);
      if (opts.link === "hash" || u.protocol === "file:") u.hash = `t=${Number(st.t.toPrecision(6))}&view=${st.view}&lang=${S.lang}`;
      else { u.searchParams.set("t", String(Number(st.t.toPrecision(6)))); u.searchParams.set("view", st.view); }
      text = u.href;
    }
    if (!text) { toast(W().noLink); return; }
    try { await navigator.clipboard.writeText(text); } catch { if (!copyByHand(text)) { toast(text); return; } }
    toast(W().copied);
  }

  function copyByHand(text) {
    const area = el("textarea", { value: text });
    d.card.append(area); area.select();
    const ok = document.execCommand?.("copy");
    area.remove();
    return ok;
  }

  /** The card as a picture: light colours, narration as caption, address and version at the foot, no controls. */
  function picture() {
    const w = 1598, left = 1134, stH = S.view === "logical" ? Math.max(470, S.stageH) : Math.round(m.tl.stage.h * Math.min(left / m.tl.stage.w, 1.3)), n = m.rows.links.length;
    const top = 92, timeY = top + Math.max(stH, 470) + 16, rowsY = timeY + 56, h = rowsY + (n + 1) * 31 + 78, canvas = el("canvas", { width: w * 2, height: h * 2 }), g = canvas.getContext("2d");
    const P = { ...V, C: TOKENS.light, hover: null, dim: () => 1 }, geo = { x0: 216, tw: left - 216, W: w - 40, rh: 31, bh: 22, off: 4, top: 6, narrow: false, fig: left + 24, mode: S.mode, zoom: 1 };
    g.scale(2, 2); g.fillStyle = P.C.card; g.fillRect(0, 0, w, h);
    wrap(g, d.say.textContent, 20, 40, w - 40, 19.5, 27, P.C.ink, 2);
    const at = (x, y, fn) => { g.save(); g.translate(x, y); fn(); g.restore(); };
    at(20, top, () => {
      if (S.view === "logical") { P.lay = logicalLayout(m, P.slots.length, left, stH); drawLogical(g, P, left, stH); drawLogicalTokens(g, P); return; }
      const k = Math.min(left / m.tl.stage.w, stH / m.tl.stage.h);
      g.translate((left - m.tl.stage.w * k) / 2, 0); g.scale(k, k);
      drawPhysical(g, P); drawTokens(g, P);
    });
    at(20 + left + 24, top, () => { put(g, d.matrixTitle.textContent, 0, 16, 15, P.C.ink, { bold: true }); g.translate(0, 24); drawMatrix(g, P, 400, Math.max(stH, 470) - 24); });
    const b = el("canvas");
    drawBars(sizeCanvas(b, geo.tw, (n + 1) * 31 + 40), P, geo);
    at(20, timeY, () => drawScrub(g, P, geo));
    at(20, rowsY, () => drawRows(g, P, geo, b));
    put(g, `collsim ${m.tl.meta.version ?? ""}   ${/^https?:/.test(location.protocol) ? location.href : textAt(m.tl.meta.title, 0, S.lang)}`, 20, h - 14, 12, P.C.ink3);
    return canvas;
  }

  function savePng() {
    if (!m || !V) return;
    picture().toBlob(blob => {
      const a = el("a", { href: URL.createObjectURL(blob), download: `collsim-${m.tl.meta.collective ?? "run"}-step${V.s + 1}.png` });
      a.click();
      setTimeout(() => URL.revokeObjectURL(a.href), 1000);
      toast(W().saved);
    });
    if (V) forget();
    invalidate();
  }

  // ---- pointer

  function hitStage(x, y) {
    for (let q = V.drawn.length - 1; q >= 0; q--) {
      const k = V.drawn[q], r = k.size / 2 + 4;
      if (Math.abs(k.x - x) <= r && Math.abs(k.y - y) <= r) return { transfer: k.i, slot: m.chunk[k.i], waits: k.waits, queued: k.queued };
    }
    if (S.view === "logical") return null;
    const D = m.tl.devices;
    for (let q = D.x.length - 1; q >= 0; q--) if (x >= D.x[q] && x <= D.x[q] + D.w[q] && y >= D.y[q] && y <= D.y[q] + D.h[q]) return { device: q };
    let best = null, near = 1e9;
    for (let l = 0; l < m.nlinks; l++) {
      const dist = distance(m.tl.links.path[l], x, y) - casing(m, l) / 2;
      if (dist < 4 && dist < near) { near = dist; best = { link: l }; }
    }
    return best;
  }

  function distance(p, x, y) {
    let best = 1e9;
    for (let q = 2; q < p.length; q += 2) {
      const ax = p[q - 2], ay = p[q - 1], bx = p[q] - ax, by = p[q + 1] - ay, f = Math.min(1, Math.max(0, ((x - ax) * bx + (y - ay) * by) / (bx * bx + by * by || 1)));
      best = Math.min(best, Math.hypot(ax + f * bx - x, ay + f * by - y));
    }
    return best;
  }

  function tipLines(hit) {
    const w = W(), L = m.tl.links;
    if (hit.transfer != null) {
      const i = hit.transfer, share = hopAt(m, i, V.t, {}).share, way = journey(m, m.chunk[i]), gone = way.ids.filter(q => m.t1[q] <= V.t).length;
      const lines = [w.moveTip(slotText(V, m.chunk[i]), nameOf(m, m.src[i]), nameOf(m, m.dst[i]), w.op[m.reduce[i]]), m.k[i] >= m.goal ? w.whole : w.contains(m.k[i], m.goal)];
      lines.push(hit.waits ? w.waitsTip : hit.queued ? w.queued : w.doneTip(fmtShare(share), fmtBytes(m.bytes[i])));
      lines.push(way.path && way.path.length <= 40 ? w.journey(way.path.map((r, q) => (q === gone ? `[${r}]` : r)).join(" → ")) : w.moves(gone, way.ids.length));
      return lines;
    }
    if (hit.link != null) {
      const l = hit.link, b = linkBytes(m, l, V.t), share = V.facts.share[l], cap = L.bandwidth[l] * V.t;
      const now = V.act.filter(i => routeLinks(m, m.route[i]).includes(l)), lines = [linkName(l), `${textAt(L.label, l, S.lang)}, ${fmtRate(L.bandwidth[l])} ${w.perDir}`, w.sofarTip(fmtBytes(b), fmtShare(cap > 0 ? b / cap : 0)), share > 1e-9 ? w.usedTip(fmtShare(share)) : w.idleTip];
      if (now.length) lines.push(w.nowTip(now.slice(0, 6).map(i => `${w.chunk} ${slotText(V, m.chunk[i])} (${nameOf(m, m.src[i])} → ${nameOf(m, m.dst[i])})`).join(", ") + (now.length > 6 ? ` … ${now.length}` : "")));
      return lines;
    }
    if (hit.device != null) {
      const e = m.tl.devices.endpoint[hit.device], lines = [deviceName(hit.device)];
      if (e >= 0) lines.push(w.completeTip(V.finished[e], m.slots));
      return lines;
    }
    const k = cellAt(m, hit.cell, V.t);
    return [`${w.rank} ${nameOf(m, hit.endpoint)}, ${w.chunk} ${slotText(V, hit.slot)}`, k >= m.goal ? w.whole : k ? w.contains(k, m.goal) : w.emptyCell];
  }

  function showTip(hit, ev) {
    if (!V) return;
    const same = V.hover && hit && V.hover.transfer === hit.transfer && V.hover.link === hit.link && V.hover.device === hit.device && V.hover.cell === hit.cell;
    V.hover = hit;
    if (!hit) { hide(); return; }
    const lines = tipLines(hit), r = d.card.getBoundingClientRect();
    d.tip.replaceChildren(...lines.map((t, q) => el(q ? "span" : "b", { textContent: t, style: q ? "display:block" : "" })));
    d.tip.style.display = "block";
    const x = ev.clientX - r.left + 14, y = ev.clientY - r.top + 14, tw = d.tip.offsetWidth, th = d.tip.offsetHeight;
    d.tip.style.left = `${Math.max(4, x + tw > r.width - 8 ? x - tw - 28 : x)}px`; d.tip.style.top = `${y + th > r.height - 4 ? Math.max(4, y - th - 28) : y}px`;
    if (!same) invalidate();
  }
  function hide() { d.tip.style.display = "none"; if (V?.hover) { V.hover = null; invalidate(); } }

  function onStageMove(ev) {
    if (!V) return;
    const r = d.live.getBoundingClientRect(), x = ev.clientX - r.left, y = ev.clientY - r.top;
    showTip(S.view === "logical" ? hitStage(x, y) : hitStage((x - S.ox) / S.k, (y - S.oy) / S.k), ev);
  }

  function onMatrixMove(ev) {
    if (!V?.grid) return;
    const r = d.matrix.getBoundingClientRect(), x = ev.clientX - r.left, y = ev.clientY - r.top, G = V.grid, q = Math.floor((x - G.x0) / G.cs);
    if (q < 0 || q >= V.slots.length) { showTip(null); return; }
    for (let e = 0; e < m.endpoints; e++) {
      if (y >= G.y(e) && y < G.y(e) + G.cs) { showTip({ slot: V.slots[q], endpoint: e, cell: e * m.slots + V.slots[q] }, ev); return; }
    }
    showTip(null);
  }

  function timeAt(ev) {
    const r = d.scrubCanvas.getBoundingClientRect();
    return Math.min(1, Math.max(0, (ev.clientX - r.left - S.geo.x0) / S.geo.tw)) * m.total;
  }

  function dragTime(box) {
    let from = null;
    const move = ev => { if (from && Math.abs(ev.clientX - from.x) > 2) from.moved = true; if (from?.moved) clock.seek(timeAt(ev)); };
    box.addEventListener("pointerdown", ev => {
      const r = box.getBoundingClientRect();
      if (!m || ev.button || (!S.narrow && ev.clientX - r.left < S.geo.x0 - 8) || ev.clientX - r.left > S.geo.x0 + S.geo.tw + 8) return;
      from = { x: ev.clientX, y: ev.clientY - r.top, moved: false };
      clock.loop = null;
      box.setPointerCapture?.(ev.pointerId);
    });
    box.addEventListener("pointermove", move);
    box.addEventListener("pointerup", ev => {
      if (!from) return;
      const onCell = box === d.scrub && from.y > 30 * S.zoom, t = timeAt(ev), s = stepAt(m, t);
      if (!from.moved) clock.seek(onCell && s >= 0 ? m.step0[s] : t);       // a click on a step number goes to its start
      from = null;
    });
    box.addEventListener("pointercancel", () => { from = null; });
  }

  function onKey(ev) {
    ev.stopPropagation();                                    // hosts bind single letters (rerun, clear cache, new cell)
    if (!m || ev.ctrlKey || ev.metaKey || ev.altKey) return;
    const tag = ev.target?.tagName, typing = tag === "SELECT" || tag === "INPUT" || tag === "TEXTAREA";
    if (typing || (tag === "BUTTON" && (ev.key === " " || ev.key === "Enter"))) return;
    const act = {
      " ": toggle, ArrowRight: next, PageDown: next, ArrowLeft: back, PageUp: back, Home: () => clock.seek(0), End: () => clock.seek(m.total),
      "[": () => faster(-1), "]": () => faster(1), b: goBusiest, l: loop, f: () => present(), v: () => setView(S.view === "logical" ? "physical" : "logical"),
      Escape: () => S.present && present(false),
    }[ev.key.length === 1 ? ev.key.toLowerCase() : ev.key];
    if (!act) return;
    ev.preventDefault();
    act();
  }

  // ---- wiring

  const onScheme = () => rebuild(), onFull = () => { if (!document.fullscreenElement && S.present && S.wasFull) present(false); S.wasFull = !!document.fullscreenElement; };
  d.play.onclick = toggle; d.first.onclick = () => clock.seek(0); d.back.onclick = back; d.next.onclick = next; d.loop.onclick = loop; d.busy.onclick = goBusiest;
  d.link.onclick = share; d.png.onclick = savePng; d.full.onclick = () => present();
  d.channel.onchange = () => { S.channel = Number(d.channel.value); forget(); invalidate(); };
  d.textlink.onclick = () => { S.words = !S.words; rebuild(); };
  d.root.addEventListener("keydown", onKey);
  d.live.addEventListener("click", ev => {
    if (!opts.onPick || !V || S.view === "logical") return;
    const r = d.live.getBoundingClientRect(), hit = hitStage((ev.clientX - r.left - S.ox) / S.k, (ev.clientY - r.top - S.oy) / S.k), e = hit?.device != null ? m.tl.devices.endpoint[hit.device] : -1;
    if (e >= 0) opts.onPick(e);
  });
  d.live.addEventListener("pointermove", onStageMove); d.live.addEventListener("pointerdown", onStageMove); d.live.addEventListener("pointerleave", hide);
  d.matrix.addEventListener("pointermove", onMatrixMove); d.matrix.addEventListener("pointerdown", onMatrixMove); d.matrix.addEventListener("pointerleave", hide);
  dragTime(d.scrub); dragTime(d.rows);
  dark.addEventListener?.("change", onScheme); document.addEventListener("fullscreenchange", onFull);
  const seen = typeof ResizeObserver === "function" ? new ResizeObserver(() => layout()) : null;
  seen?.observe(d.root);
  applyTheme();

  const player = {
    root: d.root, clock, state, setTimeline, next, back, toggle, present, picture,
    play: () => clock.play(), pause: () => clock.pause(), seek: t => clock.seek(t), busiest: goBusiest,
    get model() { return m; },
    /** Change language, theme or view in place; position and playing go on. */
    set(o) {
      let changed = false;
      for (const k of ["lang", "theme", "view"]) if (k in o && o[k] !== undefined && !(k === "view" && o[k] == null) && o[k] !== S[k]) { S[k] = k === "lang" ? (o[k] === "zh" ? "zh" : "en") : o[k]; changed = true; }
      for (const k of ["header", "compact", "marks"]) if (k in o && o[k] !== opts[k]) { opts[k] = o[k]; changed = true; }
      if (changed) { narrated = ""; rebuild(); }
    },
    destroy() {
      dead = true; ticket++;
      if (!opts.clock) clock.pause();
      off(); seen?.disconnect(); cancelAnimationFrame(frame); clearTimeout(reportTimer); clearTimeout(S.toastTimer);
      dark.removeEventListener?.("change", onScheme); document.removeEventListener("fullscreenchange", onFull);
      d.root.remove();
    },
  };
  player.ready = opts.timeline !== undefined ? setTimeline(opts.timeline) : Promise.resolve();
  return player;
}

/** For modules that mount several stages, so that they look and speak alike. */
export { FONT, NB, SPEEDS, TOKENS, el, icon, niceStep, phaseOf, svg };

// ---------------------------------------------------------------- 7 hosts

const MOUNTS = new WeakMap();

/**
 * Streamlit components v2. data = {id, timeline, lang, theme, t, view, header}; sends state {t, step, playing, view, speed, done, why}.
 * Must stay synchronous: Streamlit runs the clean-up of an overtaken async call. The generation number makes a late
 * clean-up of an old call harmless; a call with the same id changes neither position nor playing.
 */
function streamlit({ data, parentElement, setStateValue }) {
  data ??= {};
  let s = MOUNTS.get(parentElement);
  const fresh = !s;
  if (fresh) {
    s = { gen: 0 };
    s.player = createPlayer(parentElement, {
      lang: data.lang, theme: data.theme, view: data.view, t: data.t, header: data.header,
      onState: (state, why) => { s.sent = state.t; s.view = state.view; s.send?.("state", { ...state, why }); },
    });
    MOUNTS.set(parentElement, s);
  }
  s.send = setStateValue;
  if (!fresh) s.player.set({ lang: data.lang, theme: data.theme, header: data.header, ...(data.view !== s.view && data.view !== s.given ? { view: data.view } : {}) });
  s.given = data.view;
  const id = data.id ?? data.timeline?.meta?.id ?? data.timeline;
  if (fresh || s.id !== id) { s.id = id; s.player.setTimeline(data.timeline, true); }
  else if (data.t != null && data.t !== s.t && data.t !== s.sent) s.player.seek(data.t);
  s.t = data.t;
  const gen = ++s.gen;
  return () => { if (s.gen === gen) { s.player.destroy(); MOUNTS.delete(parentElement); } };
}

/** anywidget: a model with `timeline`, and optionally `lang`, `theme`, `view`; `state` is written back where the model has it. */
function jupyter({ model, el: box }) {
  const player = createPlayer(box, {
    lang: model.get("lang"), theme: model.get("theme"), view: model.get("view"), header: true,
    onState: st => { if (model.get("state") !== undefined) { model.set("state", st); model.save_changes(); } },
  });
  const data = () => player.setTimeline(model.get("timeline"), true), look = () => player.set({ lang: model.get("lang"), theme: model.get("theme") });
  data();
  model.on("change:timeline", data); model.on("change:lang", look); model.on("change:theme", look);
  return () => { model.off("change:timeline", data); model.off("change:lang", look); model.off("change:theme", look); player.destroy(); };
}

export default function mount(arg) { return arg?.parentElement ? streamlit(arg) : { render: jupyter }; }
