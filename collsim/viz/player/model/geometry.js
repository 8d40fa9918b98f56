// Routes as polylines, and points on them.

import { routeLinks } from "./hops.js";
import { boxOf } from "./names.js";
import { clean } from "./order.js";

/**
 * The polyline of a route, one piece per hop, null for a hop that is not drawn; each piece begins with the way through
 * the device before it, `lead` px long.
 */
export function shape(model, r) {
  model.shapes ??= [];
  if (model.shapes[r]) return model.shapes[r];
  const { path, src } = model.tl.links,
    hops = [];
  /** @type {number[] | null} */
  let prev = null;
  for (const l of routeLinks(model, r)) {
    const pts = Array.from(path[l]);
    if (!pts.length) {
      hops.push(null); // in a node that is closed, or outside the open one
      prev = null;
      continue;
    }
    const track = prev ? through(model.tl.devices, src[l], prev[0], prev[1], pts[0], pts[1]) : [];
    pts.unshift(...track);
    prev = pts.slice(-2);
    const line = measure(pts);
    line.lead = line.at[track.length / 2];
    hops.push(line);
  }
  return (model.shapes[r] = hops);
}

/**
 * The points from where a route enters device d up to (not including) where it leaves, right-angled like the cables:
 * a U when both are on one edge (NVSwitch bars), a Z between opposite edges, one corner between edges that meet.
 */
export function through(devices, d, x0, y0, x1, y1) {
  const { x, y, w, h } = boxOf(devices, d),
    near = (a, b) => Math.abs(a - b) < 2.5,
    far = Math.abs(x1 - x0) + Math.abs(y1 - y0);
  const level = (v) => near(v, y) || near(v, y + h),
    upright = (u) => near(u, x) || near(u, x + w);
  const deep = (size) =>
    Math.min(
      size * (size >= 60 ? 0.56 : far > 0.5 * Math.max(w, h) ? 0.42 : 0.27),
      Math.max(Math.min(8, size * 0.27), far * 0.12),
    );
  const apart = (from) => (from > 0 ? 2.5 : -2.5); // both ways through one switch: two tracks, not one
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
  const n = pts.length / 2,
    at = new Float64Array(Math.max(1, n));
  for (let q = 1; q < n; q++)
    at[q] = at[q - 1] + Math.hypot(pts[2 * q] - pts[2 * q - 2], pts[2 * q + 1] - pts[2 * q - 1]);
  return { pts, at, len: at[at.length - 1] };
}

/**
 * The point at distance d along a measured polyline, with the direction of travel.
 *
 * @param {any} [out] the object to fill
 * @returns {{ x: number, y: number, dx: number, dy: number }}
 */
export function pointAt(line, d, out = {}) {
  const { pts, at } = line,
    n = pts.length / 2;
  d = Math.min(line.len, Math.max(0, clean(d)));
  let q = 1;
  while (q < n - 1 && at[q] < d) q++;
  if (n < 2) return Object.assign(out, { x: pts[0], y: pts[1], dx: 1, dy: 0 });
  const len = at[q] - at[q - 1],
    f = len > 0 ? (d - at[q - 1]) / len : 0;
  out.dx = len > 0 ? (pts[2 * q] - pts[2 * q - 2]) / len : 1;
  out.dy = len > 0 ? (pts[2 * q + 1] - pts[2 * q - 1]) / len : 0;
  out.x = pts[2 * q - 2] + out.dx * len * f;
  out.y = pts[2 * q - 1] + out.dy * len * f;
  return out;
}

export function distanceTo(p, x, y) {
  let best = 1e9;
  for (let q = 2; q < p.length; q += 2) {
    const ax = p[q - 2],
      ay = p[q - 1],
      bx = p[q] - ax,
      by = p[q + 1] - ay,
      f = Math.min(1, Math.max(0, ((x - ax) * bx + (y - ay) * by) / (bx * bx + by * by || 1)));
    best = Math.min(best, Math.hypot(ax + f * bx - x, ay + f * by - y));
  }
  return best;
}
