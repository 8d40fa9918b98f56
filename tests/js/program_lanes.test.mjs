// The cursor over the lanes of a rank program: which moment is told, and where a step goes.
import assert from "node:assert/strict";
import test from "node:test";

import { findMoment, stepMoment } from "../../collsim/viz/program/programlanes.js";

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

test("a step goes to the next moment or the one before, and stays at the ends", () => {
  assert.equal(stepMoment(MOMENTS, 1.2, 1), 1.5);
  assert.equal(stepMoment(MOMENTS, 1.2, -1), 1);
  assert.equal(stepMoment(MOMENTS, 1.5, -1), 1);
  assert.equal(stepMoment(MOMENTS, 3, 1), 3);
  assert.equal(stepMoment(MOMENTS, 0, -1), 0);
});
