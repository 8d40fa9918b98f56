// Keys of the picture of a diagnosed job: which finding comes next, and what an element belongs to.
import assert from "node:assert/strict";
import test from "node:test";

import { readFindings, stepFinding } from "../../collsim/viz/diagnosis/jobpicture.js";

test("arrows go from finding to finding and stay at the ends", () => {
  assert.deepEqual(
    [0, 1, 2, 3].map((number) => stepFinding(number, 3, 1)),
    [1, 2, 3, 3],
  );
  assert.deepEqual(
    [0, 1, 3].map((number) => stepFinding(number, 3, -1)),
    [3, 1, 2],
  );
  assert.equal(stepFinding(0, 0, 1), 0);
});

test("an element names the findings that it belongs to", () => {
  assert.deepEqual(readFindings({ dataset: { findings: "1 3" } }), [1, 3]);
  assert.deepEqual(readFindings({ dataset: { findings: "" } }), []);
  assert.deepEqual(readFindings({ dataset: {} }), []);
});
