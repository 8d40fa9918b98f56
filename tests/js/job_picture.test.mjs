// Keys of the picture of a diagnosed job: which finding comes next, and what an element belongs to.
import assert from "node:assert/strict";
import test from "node:test";

import { drawJobChart } from "../../collsim/viz/diagnosis/jobchart.js";
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

/** What a picture consists of: each element as [tag, attributes, texts in it]. */
function elementsOf(draw) {
  const drawn = [];
  globalThis.document = /** @type {any} */ ({
    createElementNS(_, tag) {
      const attributes = {},
        texts = [];
      drawn.push([tag, attributes, texts]);
      return {
        setAttribute: (name, value) => (attributes[name] = value),
        append: (...kids) => texts.push(...kids.filter((kid) => typeof kid === "string")),
      };
    },
  });
  draw();
  return drawn;
}

test("the chart has a dot for each size, rates one above another, and short labels where it is narrow", () => {
  const chart = {
      ...{ sizes: [1e3, 1e6, 1e9], measured: [1e7, 1e9, 5e9], predicted: [2e7, 2e9, 2e10], fault: [] },
      ...{ low: [1e7, 1e9, 1e10], high: [3e7, 3e9, 3e10] },
      labels: [
        { words: "without the fault: 20 GB/s", short: "20 GB/s", rate: 2e10 },
        { words: "measured: 5 GB/s", short: "5 GB/s", rate: 5e9 },
      ],
    },
    wide = elementsOf(() => drawJobChart(chart, 544)),
    dots = wide.filter(([tag]) => tag === "circle").map(([, { cx, cy }]) => [cx, cy]),
    textsOf = (drawn) => drawn.flatMap(([, , texts]) => texts);
  assert.deepEqual(
    dots.map(([x]) => Math.round(x)),
    [78, 306, 534],
  );
  assert.ok(dots[0][1] > dots[1][1] && dots[1][1] > dots[2][1]);
  assert.ok(!wide.some(([, { class: name }]) => name === "fault"));
  assert.ok(textsOf(wide).includes("measured: 5 GB/s"));
  assert.ok(textsOf(elementsOf(() => drawJobChart(chart, 338))).includes("5 GB/s"));
  assert.ok(
    elementsOf(() => drawJobChart({ ...chart, fault: [1, 2, 3] }, 544)).some(([, { class: name }]) => name === "fault"),
  );
});
