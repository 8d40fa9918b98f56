// Gantt chart of endpoints: when each sends (thin, above) and receives (below; a sum and a copy look different).

import { put, widthOf } from "../draw/canvas.js";
import { huesOfGroup } from "../model/look.js";
import { meters } from "./meters.js";
import { slotText } from "../model/model.js";
import { nameOf, panelOf } from "../model/names.js";
import { groups } from "../model/order.js";
import { textAt } from "../model/read.js";
import { fmtBytes } from "../model/units.js";

const MOST_ROWS = 33; // beyond, endpoints are folded into groups

/**
 * What an endpoint sends (side "src") or receives ("dst") over time: stretches {a, b, n, i, adds, group} with n
 * transfers at once, i the one where it is alone, adds true where any of them is a reduce, group the collective whose
 * they are (-1: of several).
 */
export function activity(m, endpoint, side) {
  m.activity ??= { src: groups(m.src, m.endpoints, m.n), dst: groups(m.dst, m.endpoints, m.n), made: new Map() };
  const key = `${side}${endpoint}`,
    { start, id } = m.activity[side];
  if (!m.activity.made.has(key))
    m.activity.made.set(key, stretches(m, Array.from(id.subarray(start[endpoint], start[endpoint + 1]))));
  return m.activity.made.get(key);
}

function stretches(m, ids) {
  const events = ids
    .flatMap((i) => [
      [m.t0[i], 1, i],
      [m.t1[i], -1, i],
    ])
    .sort((x, y) => x[0] - y[0] || x[1] - y[1]);
  const out = [],
    open = new Set();
  let since = 0;
  for (const [t, change, i] of events) {
    if (open.size && t > since) push(out, m, open, since, t);
    if (change > 0) open.add(i);
    else open.delete(i);
    since = t;
  }
  return out;
}

function push(out, m, open, a, b) {
  const n = open.size,
    i = n === 1 ? open.values().next().value : -1,
    last = out.at(-1);
  let adds = false;
  const whose = new Set();
  for (const k of open) {
    adds ||= m.reduce[k] === 1;
    whose.add(m.groupOf[m.chunk[k]]);
  }
  const group = whose.size > 1 ? -1 : whose.values().next().value;
  if (last && last.b === a && last.n === n && n > 1 && last.group === group) {
    last.b = b;
    return;
  }
  out.push({ a, b, n, i, adds, group });
}

/** Bytes that an endpoint has sent or received by t, with the shares of those under way. */
export function endpointBytes(m, endpoint, side, t) {
  const { start, id } = (activity(m, endpoint, side), m.activity[side]);
  let sum = 0;
  for (let q = start[endpoint]; q < start[endpoint + 1]; q++) {
    const i = id[q],
      d = m.t1[i] - m.t0[i];
    if (m.t0[i] < t) sum += m.bytes[i] * (d > 0 ? Math.min(1, (t - m.t0[i]) / d) : 1);
  }
  return sum;
}

/** Groups of endpoints that share a row: nodes where there are several, else blocks of equal size. */
export function endpointGroups(m) {
  const ids = Array.from({ length: m.endpoints }, (_, e) => e);
  if (m.endpoints <= MOST_ROWS) return ids.map((e) => ({ members: [e], panel: -1 }));
  const panels = new Set(ids.map((e) => panelOf(m, e)));
  if (panels.size > 1 && panels.size <= MOST_ROWS)
    return [...panels].map((panel) => ({ members: ids.filter((e) => panelOf(m, e) === panel), panel }));
  const per = Math.ceil(m.endpoints / 32);
  return Array.from({ length: Math.ceil(m.endpoints / per) }, (_, q) => ({
    members: ids.slice(q * per, (q + 1) * per),
    panel: -1,
  }));
}

export const endpointChart = {
  lines: (m, W, lang) =>
    endpointGroups(m).map(({ members, panel }) => {
      const [first, last] = [members[0], members.at(-1)];
      if (members.length === 1)
        return { members, endpoint: first, label: first < m.ranks ? `${W.rank} ${first}` : nameOf(m, first, lang) };
      return {
        members,
        label: panel >= 0 ? textAt(m.panels.label, panel, lang) : W.ranksTo(first, last),
        note: W.folded(members.length),
      };
    }),
  bars(g, V, geo, lines) {
    lines.forEach((line, q) =>
      line.members.length === 1 ? drawOwn(g, V, geo, line.endpoint, q) : drawGroup(g, V, geo, line.members, q),
    );
  },
  figure(g, V, geo, line, mid, ly) {
    const { m, C } = V,
      most = mostBytes(m) * line.members.length,
      sum = (side) => line.members.reduce((a, e) => a + endpointBytes(m, e, side, V.t), 0),
      out = sum("src"),
      got = sum("dst");
    meters(
      g,
      V,
      geo,
      mid,
      ly,
      { text: geo.narrow ? V.W.sentTip(fmtBytes(out)) : fmtBytes(out), share: out / most },
      { text: geo.narrow ? V.W.gotTip(fmtBytes(got)) : fmtBytes(got), share: got / most, fill: C.sum2 },
    );
  },
};

function mostBytes(m) {
  if (m.mostBytes) return m.mostBytes;
  const sums = ["src", "dst"].flatMap((side) =>
    Array.from({ length: m.endpoints }, (_, e) => endpointBytes(m, e, side, m.total)),
  );
  return (m.mostBytes = Math.max(1, ...sums));
}

function drawOwn(g, V, geo, endpoint, q) {
  const { m, C } = V,
    { tw, rh, bh, top, off } = geo,
    y = top + q * rh + off,
    thin = Math.max(3, Math.round(bh * 0.28)),
    X = (t) => (t / (m.total || 1)) * tw;
  g.fillStyle = C.ink3;
  for (const { a, b } of activity(m, endpoint, "src")) g.fillRect(X(a), y, Math.max(0.7, X(b) - X(a) - 0.6), thin);
  for (const { a, b, n, i, adds, group } of activity(m, endpoint, "dst")) {
    const C = group < 0 ? { ...V.C, done: V.C.ink2, sum2: V.C.wait } : huesOfGroup(V.C, group),
      x = X(a),
      w = Math.max(0.7, X(b) - x - 0.6),
      h = bh - thin - 1;
    g.fillStyle = adds ? C.sum2 : C.done;
    g.fillRect(x, y + thin + 1, w, h);
    const text = n > 1 ? `×${n}` : slotText(V, m.chunk[i]);
    if (h >= 13 && w > widthOf(g, text, 12, true) + 5)
      put(g, text, x + w / 2, y + thin + 1 + h / 2 + 4.3, 12, adds ? C.ink : C.ontext, { bold: true, align: "center" });
  }
}

/** Many endpoints in one row: the share of them that send (above) and receive (below). */
function drawGroup(g, V, geo, members, q) {
  const { m, C } = V,
    { tw, rh, bh, top, off } = geo,
    ncol = Math.max(1, Math.round(tw / 2)),
    y = top + q * rh + off,
    thin = Math.round(bh * 0.35),
    w = tw / ncol;
  const out = shareOf(m, members, "src", ncol),
    got = shareOf(m, members, "dst", ncol);
  for (let c = 0; c < ncol; c++) {
    g.fillStyle = C.ink3;
    g.fillRect(c * w, y + thin * (1 - out[c]), w + 0.3, thin * out[c]);
    g.fillStyle = C.sum2;
    g.fillRect(c * w, y + thin + 1, w + 0.3, (bh - thin - 1) * got[c]);
  }
}

function shareOf(m, members, side, ncol) {
  const sum = new Float64Array(ncol),
    w = m.total / ncol;
  for (const e of members) {
    for (const { a, b } of activity(m, e, side)) {
      for (let c = Math.floor(a / w); c < ncol && c * w < b; c++)
        sum[c] += Math.max(0, Math.min(b, (c + 1) * w) - Math.max(a, c * w));
    }
  }
  return sum.map((v) => Math.min(1, v / (w * members.length)));
}
