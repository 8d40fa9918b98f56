// Groups of ranks, the map of nodes, and the table of splits.

import assert from "node:assert/strict";
import test from "node:test";

import { coordinates, groupsOfRank, nodesInColumns } from "../../collsim/viz/splits/splitgroups.js";
import { numberSizes, topOfLevel } from "../../collsim/viz/splits/laneboxes.js";
import { sayDone, unitOfLanes } from "../../collsim/viz/splits/lanes.js";
import { decimalBytes, placeOf } from "../../collsim/viz/splits/lanefigures.js";
import { LANES as LANE_WORDS } from "../../collsim/viz/words/words.js";
import { mapLayout, rankAt } from "../../collsim/viz/splits/nodemap.js";
import { freeLabels, logTicks, scatterScales } from "../../collsim/viz/splits/scatter.js";
import { fixedSpan, reasonOf, shortenStrategy, stageOf, nameSplit } from "../../collsim/viz/splits/splitmap.js";
import { stretches } from "../../collsim/viz/splits/stageboxes.js";
import { SPLITS as SPLIT_WORDS } from "../../collsim/viz/words/words.js";

const MEGATRON = {
  axes: [
    ["tp", 8],
    ["cp", 1],
    ["dp", 8],
    ["pp", 16],
  ],
  ranks: 1024,
  per: 8,
  expert: 1,
};

test("the mock's rank 339 has its groups where Megatron-LM puts them", () => {
  assert.deepEqual(coordinates(339, MEGATRON.axes), { tp: 3, cp: 0, dp: 2, pp: 5 });
  const groups = groupsOfRank(339, MEGATRON);
  assert.deepEqual(groups.tp, [336, 337, 338, 339, 340, 341, 342, 343]);
  assert.deepEqual(
    groups.dp,
    [0, 1, 2, 3, 4, 5, 6, 7].map((k) => 323 + 8 * k),
  );
  assert.deepEqual(
    groups.pp,
    Array.from({ length: 16 }, (_, k) => 19 + 64 * k),
  );
  assert.equal("cp" in groups, false);
});

test("ranks that share experts are blocks of context and data parallel ranks", () => {
  const groups = groupsOfRank(5, {
    axes: [
      ["tp", 2],
      ["cp", 1],
      ["dp", 8],
      ["pp", 1],
    ],
    ranks: 16,
    per: 8,
    expert: 4,
  });
  assert.deepEqual(groups.ep, [1, 3, 5, 7]);
});

test("a column of the map is a stage where nodes have one, else nodes stand in rows", () => {
  const made = nodesInColumns(MEGATRON);
  assert.deepEqual([made.columns, made.rows, made.stages], [16, 8, true]);
  assert.deepEqual(made.places[42], { column: 5, row: 2 });
  const mixed = nodesInColumns({
    ...MEGATRON,
    axes: [
      ["pp", 16],
      ["tp", 8],
      ["cp", 1],
      ["dp", 8],
    ],
  });
  assert.equal(mixed.stages, false);
});

test("a GPU of a thousand is a square that can be seen and hit, whatever the stages", () => {
  for (const [pp, dp] of [
    [1, 128],
    [2, 64],
    [4, 32],
    [16, 8],
  ]) {
    const document = {
        ...MEGATRON,
        axes: [
          ["tp", 8],
          ["cp", 1],
          ["dp", dp],
          ["pp", pp],
        ],
      },
      layout = mapLayout(document, 500);
    assert.ok(layout.square >= 3, `pp ${pp}: ${layout.square} px`);
    assert.ok(layout.high <= 460 && layout.columns * layout.wide <= 500);
    for (const rank of [0, 7, 341, 1023]) {
      const place = layout.places[Math.floor(rank / 8)],
        step = layout.square + 1,
        left = 30 + place.column * layout.wide + (layout.wide - layout.across * step - 3) / 2 + 2,
        x = left + ((rank % 8) % layout.across) * step + layout.square / 2,
        y =
          20 +
          place.row * layout.boxHigh +
          layout.air / 3 +
          Math.floor((rank % 8) / layout.across) * step +
          layout.square / 2;
      assert.equal(rankAt(document, layout, x, y), rank);
    }
  }
});

test("places are shared by those that took as long", () => {
  const w = LANE_WORDS.en,
    times = [25.5, 28.5, 33, 33];
  assert.deepEqual(
    [25.5, 28.5, 33].map((t) => placeOf(t, times, w)),
    ["1st", "2nd", "joint 3rd"],
  );
  assert.equal(placeOf(33, times, LANE_WORDS.zh), "并列第 3");
});

test("all who need as long as the slowest are named, and all who are done", () => {
  const runs = (text) => [...text].map((name) => ({ name })),
    say = (done, open, t, left, language = "en") =>
      sayDone(LANE_WORDS[language], { done: runs(done), open: runs(open), slowest: runs(open) }, t, left);
  assert.equal(say("Z", "GF", "25.5", "7.5"), "At 25.5 Z is done; G and F need 7.5 more.");
  assert.equal(say("ABC", "D", "30", "3"), "At 30 A, B and C are done; D needs 3 more.");
  assert.equal(say("ABC", "", "33", "0"), "At 33 all are done.");
  assert.equal(say("ABC", "", "33", "0", "zh"), "在 33：全部已完成。");
  assert.equal(say("AB", "C", "30", "3", "zh"), "在 30：A、B已完成；C 还需 3。");
  assert.equal(say("", "AB", "1", "3"), "");
});

test("a small level has a ruler of its own where it stands alone, else all have one", () => {
  const runs = [1.5e9, 1.2e9, 14e9].map((both) => ({ most: { both } }));
  assert.equal(topOfLevel(runs[0], runs, 13e9, false), 14e9);
  assert.equal(topOfLevel(runs[0], runs, 13e9, true), 1.05 * 1.5e9);
  assert.equal(topOfLevel(runs[2], runs, 13e9, true), 14e9);
});

test("boxes are numbered by kind: nearly all of a kind have room, or none is written", () => {
  const measure = (words, size) => 0.6 * words.length * size,
    row = (wide) => ({ high: 21, data: { boxes: [0, 1, 2].map((k) => [k * wide, (k + 1) * wide, "12", "B", 0, 0]) } }),
    sizeAt = (wide) => numberSizes(row(wide), (t) => t, measure).B.size;
  assert.deepEqual([30, 17, 9].map(sizeAt), [13, 11, undefined]);
});

test("times of sharding have four digits of the longest, and nothing is 0 with its unit", () => {
  const { fmt, zero } = unitOfLanes("sharding", 0.49824);
  assert.deepEqual([fmt(0.49824), fmt(0.00492), zero], ["498.2\u00a0ms", "4.9\u00a0ms", "0\u00a0ms"]);
  assert.equal(unitOfLanes("pipelines", 33).fmt(25.5), "25.5");
});

test("bytes are decimal, ticks are round, strategies are short", () => {
  assert.equal(decimalBytes(13476831232), "13.5\u00a0GB");
  assert.deepEqual(logTicks(7, 60), [10, 20, 50]);
  assert.deepEqual(["zero(1, reduce_dtype='float32')", "fsdp()", "ddp()", ""].map(shortenStrategy), [
    "ZeRO-1",
    "FSDP",
    "DDP",
    "",
  ]);
});

test("a row says which parts changed most against the fastest, in the direction of its time", () => {
  const table = {
    tp: [1, 2, 1],
    ep: [1, 4, 1],
    time: [8, 10, 7.5],
    parts: [
      [6, 1, 0.5, 0.5],
      [6.2, 2.5, 0.5, 0.8],
      [6.2, 0.6, 0.5, 0.2],
    ],
  };
  assert.equal(reasonOf(table, 1, SPLIT_WORDS.en), "+2\u00a0s: TP/EP +1.5\u00a0s, gradients and weights +300\u00a0ms");
  assert.equal(reasonOf(table, 1, SPLIT_WORDS.zh), "+2\u00a0s：TP/EP +1.5\u00a0s，梯度与权重 +300\u00a0ms");
  assert.equal(
    reasonOf(table, 2, SPLIT_WORDS.en),
    "−500\u00a0ms: TP/CP/EP −400\u00a0ms, gradients and weights −300\u00a0ms",
  );
  assert.match(reasonOf(table, 1, SPLIT_WORDS.en, 10.5), /^\+2\.5\u00a0s/);
  assert.equal(reasonOf(table, 0, SPLIT_WORDS.zh), "放得下的里面最快");
});

test("times of a column have as many digits as one another", () => {
  assert.deepEqual([8.8, 12, 0.0999].map(fixedSpan), ["8.80\u00a0s", "12.0\u00a0s", "99.9\u00a0ms"]);
  assert.equal(
    nameSplit({ tp: 8, cp: 1, pp: 4, dp: 4, data: "zero(1, reduce_dtype='float32')" }),
    "TP 8 × PP 4 × DP 4, ZeRO-1",
  );
});

test("the stage of a rank is its place along the pipeline", () => {
  assert.equal(stageOf(339, { ...MEGATRON, stages: 16 }), 5);
  assert.equal(stageOf(339, { ...MEGATRON, stages: 1 }), 0);
});

test("the middle of a long step is cut, and both ends keep one scale", () => {
  assert.deepEqual(stretches(10, null, 78, 578), [{ from: 0, to: 10, left: 78, right: 578 }]);
  const [head, tail] = stretches(10, [2, 9], 78, 678);
  assert.deepEqual([head.from, head.to, tail.from, tail.to, tail.right], [0, 2, 9, 10, 678]);
  const scale = ({ from, to, left, right }) => (right - left) / (to - from);
  assert.ok(Math.abs(scale(head) - scale(tail)) < 1e-9 && tail.left > head.right);
});

test("labels of an axis never touch one another nor leave the picture", () => {
  const wide = () => 40,
    narrow = freeLabels([10, 20, 50, 100, 200], (v) => 60 * Math.log10(v), wide, 0, 150);
  assert.deepEqual(
    narrow.map(([value]) => value),
    [10, 100],
  );
  assert.equal(freeLabels([1, 2, 3], (v) => 100 * v, wide, 0, 330).length, 3);
  assert.equal(freeLabels([1, 2, 3], (v) => 100 * v, wide, 0, 310).length, 2);
});

test("what a GPU has and the split that is shown are in the picture though the search lists neither", () => {
  const table = { time: [8, 10], memory: [40e9, 60e9] },
    scales = scatterScales(table, 600, 400, 80e9, { time: 30, memory: 1e9 });
  assert.ok(scales.ends.x0 < 1e9 && scales.ends.x1 > 80e9 && scales.ends.y1 > 30);
});

test("both languages have the same words", () => {
  for (const words of [LANE_WORDS, SPLIT_WORDS]) assert.deepEqual(shape(words.en), shape(words.zh));
});

const shape = (value) =>
  value && typeof value === "object" && !Array.isArray(value)
    ? Object.fromEntries(
        Object.keys(value)
          .sort()
          .map((key) => [key, shape(value[key])]),
      )
    : Array.isArray(value)
      ? value.length
      : typeof value;
