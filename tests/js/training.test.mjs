// The timeline of a training step as geometry: a step small enough to draw on paper. Two buckets, forward 4 s, backward
// 2 s each, allreduces of 3 s each: the second bucket waits 1 s for its turn, and the GPU waits 4 s for the network.

import assert from "node:assert/strict";
import test from "node:test";

import {
  ROOM,
  bandsOf,
  bestOf,
  chainPath,
  curveScales,
  happening,
  momentsOf,
  queueOf,
  rowsOf,
} from "../../collsim/viz/training/stepgeometry.js";
import { carriedAt, stackOf, standing, totalHeld } from "../../collsim/viz/training/hub.js";
import { BUCKET_HUES } from "../../collsim/viz/player/model/look.js";
import { hueOf } from "../../collsim/viz/transport/hues.js";
import { fits, stackPaths } from "../../collsim/viz/transport/lanechart.js";
import { RIVALS as RIVAL_WORDS } from "../../collsim/viz/words/words.js";
import { joinedBoxes } from "../../collsim/viz/training/tracks.js";
import { narrateStep } from "../../collsim/viz/training/stepwords.js";
import { STEP as STEP_WORDS } from "../../collsim/viz/words/words.js";

const box = (stream, kind, bucket, t0, t1, more = {}) => ({
  lane: 0,
  stream,
  kind,
  bucket,
  micro: 0,
  t0,
  t1,
  name: bucket >= 0 && stream === "network" ? `bucket ${bucket}` : kind,
  last: kind,
  ...more,
});
const collective = (bucket, ready, begin, end) => ({
  task: bucket,
  name: `bucket ${bucket}`,
  kind: "allreduce",
  bucket,
  nbytes: 2 ** 20,
  ready,
  begin,
  end,
});
const step = {
  time: 13,
  ranks: 4,
  lanes: [{ first: 0, count: 4 }],
  boxes: [
    box("compute", "forward", -1, 0, 4),
    box("compute", "backward", 0, 4, 6),
    box("network", "allreduce", 0, 6, 9),
    box("compute", "backward", 1, 6, 8),
    box("network", "allreduce", 1, 9, 12),
    box("compute", "optimizer", -1, 12, 13),
  ],
  waits: [[0, 8, 12]],
  chain: [
    [0, "compute", 0, 6],
    [0, "network", 6, 12],
    [0, "compute", 12, 13],
  ],
  collectives: [collective(0, 6, 6, 9), collective(1, 8, 9, 12)],
  memory: {
    lane: 0,
    kinds: ["weights", "activations"],
    t: [0, 4, 8],
    bytes: [
      [2, 2, 2],
      [0, 6, 0],
    ],
    peak: 8,
  },
};

test("a lane of equal GPUs is one pair of rows, and every GPU has its own when all are shown", () => {
  const one = rowsOf(step, false);
  assert.equal(one.rows.length, 1);
  assert.equal(one.rows[0].count, 4);
  assert.equal(one.rows[0].network.y - one.rows[0].compute.y, ROOM.compute + ROOM.queue);
  const all = rowsOf(step, true);
  assert.deepEqual(
    all.rows.map((row) => row.first),
    [0, 1, 2, 3],
  );
  for (const [a, b] of all.rows.slice(1).map((row, q) => [all.rows[q], row]))
    assert.ok(a.network.y + a.network.h <= b.compute.y, "rows do not overlap");
  assert.equal(rowsOf({ ...step, lanes: [{ first: 0, count: 40 }] }, true).left, 8);
});

test("a bucket that is ready before its turn waits in the queue", () => {
  assert.deepEqual(
    queueOf(step).map((c) => [c.name, c.begin - c.ready]),
    [["bucket 1", 1]],
  );
});

test("the moments are those at which something is ready, begins or ends, once each", () => {
  assert.deepEqual(momentsOf(step), [0, 4, 6, 8, 9, 12, 13]);
});

test("the outline of the critical chain goes down to the network and up again, and cuts through no box", () => {
  const rows = { compute: { y: 100, h: 50 }, network: { y: 200, h: 50 } },
    d = chainPath(
      step.chain,
      (_, stream) => rows[stream],
      (t) => 10 * t,
      2,
    );
  const points = d
    .slice(1, -1)
    .split("L")
    .map((p) => p.split(" ").map(Number));
  assert.equal(points.length, 12);
  // above: computing until 6, down just right of it, along the network, up just left of 12, to the end
  assert.deepEqual(points.slice(0, 6), [
    [0, 100],
    [62, 100],
    [62, 200],
    [118, 200],
    [118, 100],
    [130, 100],
  ]);
  // below, from the right: down just right of 12, along the network, up just left of 6
  assert.deepEqual(points.slice(6), [
    [130, 150],
    [122, 150],
    [122, 250],
    [58, 250],
    [58, 150],
    [0, 150],
  ]);
  assert.equal(
    chainPath([], () => rows.compute, Number),
    "",
  );
});

test("bands name the passes, and what follows the backward pass until the update", () => {
  assert.deepEqual(
    bandsOf(step).map((b) => [b.kind, b.t0, b.t1]),
    [
      ["forward", 0, 4],
      ["backward", 4, 8],
      ["after", 8, 12],
      ["optimizer", 12, 13],
    ],
  );
});

test("what happens at a moment: the pass, the wait, the collective, and who stands in the queue", () => {
  const at = (t) => {
    const { box: now, waits, carries, queued } = happening(step, t);
    return [now?.kind ?? null, waits !== null, carries?.name ?? null, queued.map((c) => c.name)];
  };
  assert.deepEqual(at(1), ["forward", false, null, []]);
  assert.deepEqual(at(7), ["backward", false, "bucket 0", []]);
  assert.deepEqual(at(8.5), [null, true, "bucket 0", ["bucket 1"]]);
  assert.deepEqual(at(10), [null, true, "bucket 1", []]);
  assert.deepEqual(at(12.5), ["optimizer", false, null, []]);
});

test("both languages tell the wait with its ends, and who waits for its turn", () => {
  const fmt = (t) => `${t} s`;
  const [en, more] = narrateStep(STEP_WORDS.en, step, 8.5, fmt);
  assert.match(en, /wait for the network, from 8 s to 12 s/);
  assert.match(more, /Bucket 0 \(1\u00a0MiB\) is on the network until 9 s\. Bucket 1 is ready and waits/);
  const [zh, rest] = narrateStep(STEP_WORDS.zh, step, 8.5, fmt);
  assert.match(zh, /等待网络，从 8 s 到 12 s/);
  assert.match(rest, /桶\u00a01 已就绪/);
  assert.match(narrateStep(STEP_WORDS.en, step, 13, fmt)[0], /ended at 13 s/);
});

test("every word is there in both languages", () => {
  const shape = (words) =>
    Object.entries(words)
      .map(([key, value]) => `${key}:${typeof value === "object" ? Object.keys(value) : typeof value}`)
      .sort();
  for (const words of [STEP_WORDS, RIVAL_WORDS]) assert.deepEqual(shape(words.en), shape(words.zh));
});

test("memory is a staircase: each kind lies on those before it, and the fullest moment fills the ruler", () => {
  const [weights, activations] = stackPaths(
    step.memory.t,
    step.memory.bytes,
    13,
    (t) => t,
    (v) => 80 * (1 - v / step.memory.peak),
  );
  const heights = (d) =>
    [...new Set(d.match(/-?[\d.]+ ([\d.]+)/g).map((p) => Number(p.split(" ")[1])))].sort((a, b) => a - b);
  assert.deepEqual(heights(weights), [60, 80]); // 2 of 8 bytes
  assert.deepEqual(heights(activations), [0, 60]);
});

test("the U curve puts sizes on a logarithm, and a click finds the nearest", () => {
  const points = [
      [2 ** 14, 5],
      [2 ** 20, 3],
      [2 ** 26, 4],
    ],
    scales = curveScales(points, { left: 10, top: 0, width: 120, height: 90 });
  assert.equal(scales.x(2 ** 14), 10);
  assert.equal(scales.x(2 ** 20), 70);
  assert.equal(scales.x(2 ** 26), 130);
  assert.ok(scales.y(3) > scales.y(4) && scales.y(4) > scales.y(5), "less time is lower");
  assert.ok(scales.y(5) >= 0 && scales.y(3) <= 90);
  assert.equal(scales.nearest(75), 2 ** 20);
  assert.equal(scales.nearest(-40), 2 ** 14);
  assert.deepEqual(bestOf(points), [2 ** 20, 3]);
});

test("neighbouring buckets differ in colour, in both themes, and five repeat", () => {
  for (const theme of ["light", "dark"])
    for (let q = 0; q < 5; q++) assert.notEqual(BUCKET_HUES[theme][`b${q}`], BUCKET_HUES[theme][`b${(q + 1) % 5}`]);
  assert.equal(hueOf(6).box, hueOf(1).box);
  assert.notEqual(hueOf(-1).box, hueOf(0).box);
});

test("a label is drawn only where it fits, with air on both sides", () => {
  const measureText = (words) => ({ width: 8 * words.length });
  globalThis.document = { createElement: () => ({ getContext: () => ({ measureText }) }) };
  assert.ok(fits("bucket 3", 14, 72));
  assert.ok(!fits("bucket 3", 14, 71));
  delete globalThis.document;
});

test("pieces of one collective are one box in a race, buckets and computing stay apart", () => {
  const pieces = [
    box("network", "broadcast", -1, 0, 1),
    box("network", "broadcast", -1, 1, 2),
    box("network", "reduce", -1, 5, 6),
    box("network", "allreduce", 0, 6, 7),
    box("network", "allreduce", 1, 7, 8),
  ];
  assert.deepEqual(
    joinedBoxes(pieces, 10).map((b) => [b.kind, b.t0, b.t1]),
    [
      ["broadcast", 0, 2],
      ["reduce", 5, 6],
      ["allreduce", 6, 7],
      ["allreduce", 7, 8],
    ],
  );
  assert.equal(pieces[0].t1, 1, "what was given stays as it was");
});

test("bars of memory stack to what a GPU holds", () => {
  const row = { weights: 1, other: 2, gradients: 3, activations: 4 };
  assert.equal(totalHeld(row), 10);
  const stack = stackOf(row, 100, 20);
  assert.equal(stack[0].y + stack[0].h, 100);
  assert.equal(stack.at(-1).y, 50);
  assert.equal(standing(4, 200).middle(0), 25);
  assert.equal(carriedAt(step, 7).name, "bucket 0");
  assert.equal(carriedAt(step, 12.5), null);
});
