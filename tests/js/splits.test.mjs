// Groups of ranks, the map of nodes, and the table of splits.

import assert from "node:assert/strict";
import test from "node:test";

import { coordinates, groupsOfRank, nodesInColumns } from "../../collsim/viz/splits/groups.js";
import { decimalBytes, placeOf } from "../../collsim/viz/splits/lanefigures.js";
import { LANE_WORDS } from "../../collsim/viz/splits/lanewords.js";
import { mapLayout, rankAt } from "../../collsim/viz/splits/nodemap.js";
import { logTicks } from "../../collsim/viz/splits/scatter.js";
import { reasonOf, shortWay } from "../../collsim/viz/splits/splitmap.js";
import { SPLIT_WORDS } from "../../collsim/viz/splits/splitwords.js";

const MEGATRON = { ways: [["tp", 8], ["cp", 1], ["dp", 8], ["pp", 16]], ranks: 1024, per: 8, expert: 1 };

test("the mock's rank 339 has its groups where Megatron-LM puts them", () => {
  assert.deepEqual(coordinates(339, MEGATRON.ways), { tp: 3, cp: 0, dp: 2, pp: 5 });
  const groups = groupsOfRank(339, MEGATRON);
  assert.deepEqual(groups.tp, [336, 337, 338, 339, 340, 341, 342, 343]);
  assert.deepEqual(groups.dp, [0, 1, 2, 3, 4, 5, 6, 7].map((k) => 323 + 8 * k));
  assert.deepEqual(groups.pp, Array.from({ length: 16 }, (_, k) => 19 + 64 * k));
  assert.equal("cp" in groups, false);
});

test("ranks that share experts are blocks of context and data parallel ranks", () => {
  const groups = groupsOfRank(5, { ways: [["tp", 2], ["cp", 1], ["dp", 8], ["pp", 1]], ranks: 16, per: 8, expert: 4 });
  assert.deepEqual(groups.ep, [1, 3, 5, 7]);
});

test("a column of the map is a stage where nodes have one, else nodes stand in rows", () => {
  const made = nodesInColumns(MEGATRON);
  assert.deepEqual([made.columns, made.rows, made.stages], [16, 8, true]);
  assert.deepEqual(made.places[42], { column: 5, row: 2 });
  const mixed = nodesInColumns({ ...MEGATRON, ways: [["pp", 16], ["tp", 8], ["cp", 1], ["dp", 8]] });
  assert.equal(mixed.stages, false);
});

test("a GPU of a thousand is a square that can be seen and hit, whatever the stages", () => {
  for (const [pp, dp] of [[1, 128], [2, 64], [4, 32], [16, 8]]) {
    const document = { ...MEGATRON, ways: [["tp", 8], ["cp", 1], ["dp", dp], ["pp", pp]] },
      layout = mapLayout(document, 500);
    assert.ok(layout.square >= 3, `pp ${pp}: ${layout.square} px`);
    assert.ok(layout.high <= 460 && layout.columns * layout.wide <= 500);
    for (const rank of [0, 7, 341, 1023]) {
      const place = layout.places[Math.floor(rank / 8)],
        step = layout.square + 1,
        left = 30 + place.column * layout.wide + (layout.wide - layout.across * step - 3) / 2 + 2,
        x = left + ((rank % 8) % layout.across) * step + layout.square / 2,
        y = 20 + place.row * layout.boxHigh + layout.air / 3 + Math.floor((rank % 8) / layout.across) * step + layout.square / 2;
      assert.equal(rankAt(document, layout, x, y), rank);
    }
  }
});

test("places are shared by those that took as long", () => {
  const w = LANE_WORDS.en,
    times = [25.5, 28.5, 33, 33];
  assert.deepEqual([25.5, 28.5, 33].map((t) => placeOf(t, times, w)), ["1st", "2nd", "joint 3rd"]);
  assert.equal(placeOf(33, times, LANE_WORDS.zh), "并列第 3");
});

test("bytes are decimal, ticks are round, ways are short", () => {
  assert.equal(decimalBytes(13476831232), "13.5\u00a0GB");
  assert.deepEqual(logTicks(7, 60), [10, 20, 50]);
  assert.deepEqual(["zero(1, reduce_dtype='float32')", "fsdp()", "ddp()", ""].map(shortWay), ["ZeRO-1", "FSDP", "DDP", ""]);
});

test("a row says which parts grew most against the fastest", () => {
  const table = { time: [8, 10], parts: [[6, 1, 0.5, 0.5], [6.2, 2.5, 0.5, 0.8]] };
  assert.equal(reasonOf(table, 1, SPLIT_WORDS.en), "+2\u00a0s: TP, CP, EP +1.5\u00a0s, gradients, weights +300\u00a0ms");
  assert.equal(reasonOf(table, 0, SPLIT_WORDS.zh), "放得下的里面最快");
});

test("both languages have the same words", () => {
  for (const words of [LANE_WORDS, SPLIT_WORDS])
    assert.deepEqual(shape(words.en), shape(words.zh));
});

const shape = (value) =>
  value && typeof value === "object" && !Array.isArray(value)
    ? Object.fromEntries(Object.keys(value).sort().map((key) => [key, shape(value[key])]))
    : Array.isArray(value)
      ? value.length
      : typeof value;
