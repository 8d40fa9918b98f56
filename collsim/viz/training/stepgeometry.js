// Where things stand on a timeline of a step, and what happens at a moment. Pure functions of the document
// (viz/training/step_document.py); x from 0 to `width` is time from 0 to its end.

import { distinctTimes, pathOf } from "../transport/lanechart.js";

/** @import { StepDocument } from "../documents.js" */

export const ROOM = { band: 22, axis: 28, memory: 62, compute: 52, queue: 48, network: 52, gap: 16, narrow: 24 };
const MAX_LANES = 32;
const LEVELS = 3;

/**
 * The rows: each with its lane, its first GPU, how many it stands for, and {y, h} of compute, queue and network.
 *
 * @param {StepDocument} step
 */
export function rowsOf(step, every) {
  const lanes = every
    ? step.lanes.flatMap((lane, q) =>
        Array.from({ length: lane.count }, (_, k) => ({ lane: q, first: lane.first + k, count: 1 })),
      )
    : step.lanes.map((lane, q) => ({ lane: q, first: lane.first, count: lane.count }));
  const small = every || lanes.length > 1,
    visible = lanes.slice(0, MAX_LANES),
    queue = !every && queueOf(step).length > 0 ? ROOM.queue : every ? 0 : 12,
    high = small ? ROOM.narrow + (every ? 0 : 16) : ROOM.compute;
  let y = ROOM.band + ROOM.axis + ROOM.memory + ROOM.gap;
  const rows = visible.map((row) => {
    const geometry = {
      ...row,
      compute: { y, h: high },
      queue: { y: y + high, h: queue },
      network: { y: y + high + queue, h: high },
    };
    y += 2 * high + queue + (every ? 6 : ROOM.gap);
    return geometry;
  });
  return { rows, bottom: y, left: lanes.length - visible.length, small };
}

/**
 * Buckets that were ready before their turn came, each on one of three levels.
 *
 * @param {StepDocument} step
 */
export function queueOf(step) {
  const late = step.collectives.filter((c) => c.bucket >= 0 && c.begin - c.ready > 1e-3 * step.time);
  return late.map((c, q) => ({ ...c, level: LEVELS - 1 - (q % LEVELS) }));
}

/**
 * Times at which something becomes ready, begins or ends, in order and once each.
 *
 * @param {StepDocument} step
 */
export function momentsOf(step) {
  const ofCollectives = step.collectives.flatMap((c) => [c.ready, c.begin, c.end]),
    ofBoxes = step.boxes.flatMap((b) => [b.t0, b.t1]);
  return distinctTimes([0, step.time, ...ofCollectives, ...ofBoxes], 1e-9 * step.time);
}

/**
 * The outline of the critical chain, unbroken over the lanes it uses: an SVG path, clockwise. `at(lane, stream)` is
 * {y, h}; `across(t)` is x. Where the chain goes down the outline steps out by `out` to the right above and to the
 * left below, where it goes up the other way round, so that it never cuts through a box.
 */
export function chainPath(chain, at, across, out = 2.5) {
  const spans = chain.map(([lane, stream, t0, t1]) => ({ ...at(lane, stream), x0: across(t0), x1: across(t1) }));
  if (!spans.length) return "";
  const top = [],
    below = [];
  spans.forEach((s, q) => {
    const before = spans[q - 1],
      after = spans[q + 1],
      turn = (other) => (other === undefined || other.y === s.y ? 0 : other.y > s.y ? out : -out);
    // going down to the next: above it turns later, below earlier; the same seen from the other end
    top.push([s.x0 + (before ? -turn(before) : 0), s.y], [s.x1 + turn(after), s.y]);
    below.push([s.x0 + (before ? turn(before) : 0), s.y + s.h], [s.x1 - turn(after), s.y + s.h]);
  });
  const points = [...top, ...below.reverse()];
  return `${pathOf(points)}Z`;
}

/**
 * What happens at t on a lane: {box, waits, carries, queued}: the compute box (or null), the wait that t is in (or
 * null), the collective under way (or null), and the buckets that are ready and wait for their turn.
 *
 * @param {StepDocument} step
 */
export function happening(step, t, lane = 0) {
  const inside = (a, b) => a <= t && t < b;
  return {
    box: step.boxes.find((b) => b.lane === lane && b.stream === "compute" && inside(b.t0, b.t1)) ?? null,
    waits: step.waits.find(([l, a, b]) => l === lane && inside(a, b)) ?? null,
    carries: step.collectives.find((c) => inside(c.begin, c.end)) ?? null,
    queued: step.collectives.filter((c) => c.bucket >= 0 && inside(c.ready, c.begin)),
  };
}

/** From the start of the first task to the end of the last. */
const spanTasks = (tasks) => ({ t0: tasks[0].t0, t1: tasks[tasks.length - 1].t1 });

/**
 * Bands over the time: forward, backward, exposed (all that follows the backward pass until the update), update.
 *
 * @param {StepDocument} step
 */
export function bandsOf(step) {
  const of = (kind) => step.boxes.filter((b) => b.stream === "compute" && b.lane === 0 && b.kind === kind),
    forward = of("forward"),
    back = of("backward"),
    last = of("optimizer");
  if (!forward.length || !back.length) return [];
  const bands = [];
  const micros = [...new Set(forward.map((b) => b.micro))];
  for (const micro of micros) {
    const f = forward.filter((b) => b.micro === micro),
      g = back.filter((b) => b.micro === micro);
    if (!g.length) continue;
    bands.push({ kind: "forward", ...spanTasks(f) }, { kind: "backward", ...spanTasks(g) });
  }
  const end = bands.at(-1)?.t1 ?? 0,
    update = last[0]?.t0 ?? step.time;
  if (update - end > 1e-3 * step.time) bands.push({ kind: "after", t0: end, t1: update });
  if (last.length) bands.push({ kind: "optimizer", ...spanTasks(last) });
  return bands;
}

// ---- the U curve

/** Scales of the curve in a box: x over the logarithm of bytes, y over seconds. */
export function curveScales(points, { left, top, width, height }) {
  const xs = points.map(([nbytes]) => Math.log2(nbytes)),
    ys = points.map(([, seconds]) => seconds),
    [x0, x1] = [Math.min(...xs), Math.max(...xs)],
    least = Math.min(...ys),
    most = Math.max(...ys),
    pad = 0.12 * (most - least) || 0.05 * most || 1,
    [y0, y1] = [Math.max(0, least - 2 * pad), most + pad];
  return {
    x: (nbytes) => left + ((Math.log2(nbytes) - x0) / (x1 - x0 || 1)) * width,
    y: (seconds) => top + height - ((seconds - y0) / (y1 - y0)) * height,
    low: y0,
    high: y1,
    /** The size of the point that is nearest to x. */
    nearest: (x) => {
      const at = x0 + ((x - left) / width) * (x1 - x0);
      return points.reduce((a, b) => (Math.abs(Math.log2(b[0]) - at) < Math.abs(Math.log2(a[0]) - at) ? b : a))[0];
    },
  };
}

/** The fastest point. */
export const bestOf = (points) => points.reduce((a, b) => (b[1] < a[1] ? b : a));
