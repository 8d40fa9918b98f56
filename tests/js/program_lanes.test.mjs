// The cursor over the lanes of a rank program: which moment is told.
import assert from "node:assert/strict";
import test from "node:test";

import { countUpTo, findLines, findMoment } from "../../collsim/viz/program/programlanes.js";

import { labelRanks } from "../../collsim/app/pages/write/codeeditor.js";

const MOMENTS = [
  [0, "begin"],
  [1, "one"],
  [1.5, "two"],
  [3, "end"],
];

test("the sentence is that of the last moment that has begun", () => {
  assert.deepEqual(
    [0, 0.99, 1, 1.2, 1.5, 2.9, 3, 99].map((time) => findMoment(MOMENTS, time)),
    [0, 0, 1, 1, 2, 2, 3, 3],
  );
});

/** Rank 0 sends 8 bytes to rank 1 from 1 s on for 2 s, of which each byte takes 1 s; rank 2 waits forever. */
const RUN = {
  ranks: 3,
  messages: [[0, 1, 8, 1, 3, 1]],
  spans: [
    [1, 7, 0, 3],
    [2, 9, 2, null],
  ],
};

test("the counters grow with the bytes that have left and arrived, and end at their sums", () => {
  const at = (time) => countUpTo(RUN, time).map(({ sent, received, waited }) => [sent, received, waited]);
  assert.deepEqual(at(0), [
    [0, 0, 0],
    [0, 0, 0],
    [0, 0, 0],
  ]);
  assert.deepEqual(at(1.5), [
    [4, 0, 0],
    [0, 0, 1.5],
    [0, 0, 0],
  ]);
  assert.deepEqual(at(2.25), [
    [8, 0, 0],
    [0, 2, 2.25],
    [0, 0, 0.25],
  ]);
  assert.deepEqual(at(3), [
    [8, 0, 0],
    [0, 8, 3],
    [0, 0, 1],
  ]);
});

test("a line has the ranks that are in its call, and says whether one never leaves it", () => {
  assert.deepEqual(findLines(RUN.spans, 1), { 7: { ranks: [1], isStuck: false } });
  assert.deepEqual(findLines(RUN.spans, 2), {
    7: { ranks: [1], isStuck: false },
    9: { ranks: [2], isStuck: true },
  });
  assert.deepEqual(findLines(RUN.spans, 5), { 9: { ranks: [2], isStuck: true } });
});

test("the margin names up to three ranks, a range, or how many there are", () => {
  assert.deepEqual(labelRanks([3, 1]), ["1", "3"]);
  assert.deepEqual(labelRanks([2, 0, 1]), ["0–2"]);
  assert.deepEqual(labelRanks([0, 1, 3]), ["0", "1", "3"]);
  assert.deepEqual(labelRanks([0, 1, 3, 9]), ["×4"]);
});
