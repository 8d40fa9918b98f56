// The charts under the scrubber and the folded matrix, on runs small enough to check by hand.
import assert from "node:assert/strict";
import test from "node:test";
import { receivedAt, sentAt } from "../../collsim/viz/player/model/sent.js";
import { activity, endpointGroups } from "../../collsim/viz/player/charts/endpoints.js";
import { folding, meanShare } from "../../collsim/viz/player/charts/heat.js";
import { eachChart } from "../../collsim/viz/player/charts/links.js";
import { linesOf, rowSize } from "../../collsim/viz/player/charts/rows.js";
import { useOver } from "../../collsim/viz/player/charts/use.js";
import { finishedAt } from "../../collsim/viz/player/model/cells.js";
import { usedLinks } from "../../collsim/viz/player/model/load.js";
import { index } from "../../collsim/viz/player/model/model.js";
import { PLAYER as WORDS } from "../../collsim/viz/words/words.js";
import { ring4, star } from "./runs.mjs";

test("what an endpoint does over time: alone, several at once, nothing", () => {
  const tl = ring4({ engine: "event" });
  const X = { src: [0, 1, 2], dst: [3, 3, 3], t0: [0, 1, 5], t1: [2, 3, 6], reduce: [1, 0, 0] };
  tl.transfers = {
    step: [0, 0, 0],
    chunk: [0, 1, 2],
    into: [0, 1, 2],
    channel: [0, 0, 0],
    bytes: [100, 100, 100],
    route: [0, 1, 2],
    ...X,
  };
  const m = index(tl),
    got = activity(m, 3, "dst");
  assert.deepEqual(
    got.map(({ a, b, n, i }) => [a, b, n, i]),
    [
      [0, 1, 1, 0],
      [1, 2, 2, -1],
      [2, 3, 1, 1],
      [5, 6, 1, 2],
    ],
  );
  assert.deepEqual(
    got.map(({ adds }) => adds),
    [true, true, false, false],
  );
  assert.deepEqual(activity(m, 3, "src"), []);
  assert.equal(receivedAt(m, 1.5)[3], 75 + 25);
  assert.equal(sentAt(m, 9)[0], 100);
});

test("two transfers that follow one another without a gap are two stretches, a crowd that stays a crowd is one", () => {
  const tl = star(3);
  tl.transfers.t0 = [0, 0.5, 0];
  tl.transfers.t1 = [4, 4, 4];
  assert.deepEqual(
    activity(index(tl), 3, "dst").map(({ a, b, n }) => [a, b, n]),
    [
      [0, 0.5, 2],
      [0.5, 4, 3],
    ],
  );
  const ring = activity(index(ring4()), 1, "dst");
  assert.equal(ring.length, 6);
  assert.ok(ring.every(({ n }) => n === 1));
});

test("up to 33 endpoints have a row each, more are folded into blocks that lose nobody", () => {
  assert.equal(endpointGroups(index(ring4())).length, 4);
  const tl = ring4();
  Object.assign(tl.meta, { ranks: 100, endpoints: 100 });
  const groups = endpointGroups(index(tl));
  assert.ok(groups.length <= 33);
  assert.deepEqual(
    groups.flatMap(({ members }) => members),
    Array.from({ length: 100 }, (_, e) => e),
  );
});

test("more than 64 ranks: the folded matrix means what its cells mean", () => {
  const tl = ring4();
  const m = index(tl);
  assert.equal(meanShare(m, [0, 1, 2, 3], [0, 1, 2, 3], 0), 0.25);
  assert.equal(meanShare(m, [0, 1, 2, 3], [0, 1, 2, 3], 6), 1);
  assert.equal(meanShare(m, [3], [0], 3), 1); // rank 3 has chunk 0 complete after three steps
  const many = folding(
    { ...m, endpoints: 128, ranks: 128, tl },
    Array.from({ length: 200 }, (_, c) => c),
  );
  assert.deepEqual([many.per, many.columns], [4, 50]);
});

test("finished cells are counted as they are", () => {
  const m = index(ring4());
  assert.deepEqual(
    [0, 3, 4, 6].map((t) => Array.from(finishedAt(m, t))),
    [
      [0, 0, 0, 0],
      [1, 1, 1, 1],
      [2, 2, 2, 2],
      [4, 4, 4, 4],
    ],
  );
});

test("use over time is per step where there are barriers; a cable used half the step is half used", () => {
  const tl = ring4();
  tl.transfers.t1 = tl.transfers.t0.map((t) => t + 0.5);
  tl.transfers.bytes = tl.transfers.bytes.map(() => 50);
  const use = useOver(index(tl), [0, 2]);
  assert.equal(use.length, 6);
  assert.ok(use.every(([, , share]) => Math.abs(share - 0.5) < 1e-9));
  assert.equal(useOver(index(ring4({ engine: "event" })), [0]).length, 120);
});

test("every cable by itself, the busiest first, and the rest in one line that says so", () => {
  const tl = ring4();
  tl.transfers.bytes[4] = 500; // rank 0 in step 1: over link 0, then link 3
  const m = index(tl);
  assert.deepEqual(usedLinks(m).slice(0, 2), [0, 3]);
  const lines = linesOf(m, "each", WORDS.en, "en");
  assert.equal(lines.length, 8);
  assert.equal(lines[0].label, "rank 0 → switch");
  const wide = { ...m, usedLinks: Array.from({ length: 40 }, (_, l) => l % 8) };
  assert.match(eachChart.lines(wide, WORDS.en, "en").at(-1).label, /^25 more links$/);
});

test("both languages have the same words, and functions where the other has functions", () => {
  const shape = (w) =>
    Object.keys(w)
      .sort()
      .map((k) => [k, typeof w[k]]);
  assert.deepEqual(shape(WORDS.en), shape(WORDS.zh));
});

test("rows get lower when there are many", () => {
  assert.ok(rowSize(30, false, "endpoints").rh < rowSize(8, false, "endpoints").rh);
  assert.ok(rowSize(2, false, "use").rh * 2 >= 150);
});
