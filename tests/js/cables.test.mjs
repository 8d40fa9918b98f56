// The cables of all network cards: they end at the cards and at the switch, and none crosses another.
import assert from "node:assert/strict";
import test from "node:test";
import { cabledRanks } from "../../collsim/viz/simple/cables.js";
import { placeTrack } from "../../collsim/viz/simple/track.js";
import { placeOn } from "../../collsim/viz/simple/trackdraw.js";

const RANKS = Array.from({ length: 16 }, (_, rank) => rank),
  TRACK = { order: RANKS, panels: [{ ranks: RANKS.slice(0, 8) }, { ranks: RANKS.slice(8) }] };
const pairsOf = (sends) => new Map(sends.map(([src, dst, channel]) => [src * 16 + dst, { src, dst, channel }]));
const inNode = RANKS.flatMap((rank) => (rank % 8 === 7 ? [] : [[rank, rank + 1, 0]]));
/** Each of eight rings leaves a node from another rank. */
const ALL = pairsOf([
  ...inNode,
  ...RANKS.map((rank) => [rank, rank < 8 ? 8 + ((rank + 1) % 8) : (rank - 8 + 1) % 8, rank % 8]),
]);
const ONE = pairsOf([...inNode, [7, 8, 0], [15, 0, 0]]);
const SIZES = [
  [1046, 368, false],
  [1400, 596, false],
  [762, 300, false],
  [342, 540, true],
];

const segmentsOf = (pts) =>
  Array.from({ length: pts.length / 2 - 1 }, (_, q) => pts.slice(2 * q, 2 * q + 4)).map(([x0, y0, x1, y1]) => [
    Math.min(x0, x1),
    Math.min(y0, y1),
    Math.max(x0, x1),
    Math.max(y0, y1),
  ]);
/** All segments are level or upright: they meet where their boxes do. */
const meet = (a, b) => a[0] <= b[2] && b[0] <= a[2] && a[1] <= b[3] && b[1] <= a[3];

test("with one card there are no cables, with all every rank has one", () => {
  assert.equal(cabledRanks(TRACK, ONE).size, 0);
  assert.deepEqual(
    [...cabledRanks(TRACK, ALL)].sort((a, b) => a - b),
    RANKS,
  );
  assert.equal(cabledRanks(TRACK, null).size, 0);
});

for (const [w, h, slim] of SIZES) {
  const layout = placeTrack(TRACK, ALL, w, h, slim, cabledRanks(TRACK, ALL));

  test(`${w} x ${h}: each cable goes from the edge of its card to the edge of the switch`, () => {
    const { hub } = layout;
    for (const [rank, { card, out, into }] of layout.cables) {
      const b = layout.boxes.get(rank),
        [x, y] = out;
      assert.ok(x >= card.x && x <= card.x + card.w && y >= card.y - 0.01 && y <= card.y + card.h + 0.01, `${rank}`);
      assert.ok(meet([card.x, card.y, card.x + card.w, card.y + card.h], [b.x, b.y, b.x + b.w, b.y + b.h]));
      for (const [end, line] of [
        [out.slice(-2), "out"],
        [into.slice(0, 2), "into"],
      ]) {
        const edges = slim ? [hub.y, hub.y + hub.h] : [hub.x, hub.x + hub.w];
        assert.ok(Math.min(...edges.map((edge) => Math.abs(edge - end[slim ? 1 : 0]))) < 0.01, `${rank} ${line}`);
      }
      for (const value of [...out, ...into]) assert.ok(Number.isFinite(value) && value >= 0);
    }
  });

  test(`${w} x ${h}: a piece goes from card to card and never covers the switch`, () => {
    const { hub } = layout,
      size = 12,
      own = ({ src, dst }) => layout.lines.get(src * 16 + dst).legs;
    for (const pair of ALL.values()) {
      if (own(pair).length < 2) continue;
      for (let share = 0; share <= 1; share += 0.05) {
        const { x, y } = placeOn(own(pair), size, share),
          box = [x - size / 2, y - size / 2, x + size / 2, y + size / 2];
        assert.ok(!meet(box, [hub.x, hub.y, hub.x + hub.w, hub.y + hub.h]), `${pair.src} to ${pair.dst}, ${share}`);
      }
      const [begin, end] = [0, 1].map((share) => placeOn(own(pair), size, share)),
        { card } = layout.cables.get(pair.dst);
      assert.ok(Math.hypot(end.x - card.x - card.w / 2, end.y - card.y - card.h / 2) < card.w + size);
      assert.notDeepEqual(begin, end);
    }
  });

  test(`${w} x ${h}: no cable crosses another, and none lies on a rank`, () => {
    const lines = [...layout.cables].flatMap(([rank, { out, into }]) => [
      [`${rank} out`, segmentsOf(out)],
      [`${rank} in`, segmentsOf(into)],
    ]);
    lines.forEach(([name, segments], q) => {
      for (const [other, others] of lines.slice(q + 1))
        for (const a of segments)
          assert.ok(
            others.every((b) => !meet(a, b)),
            `${name} meets ${other}`,
          );
      for (const b of layout.boxes.values())
        for (const a of segments) assert.ok(!meet(a, [b.x + 1, b.y + 1, b.x + b.w - 1, b.y + b.h - 1]), name);
    });
  });

  test(`${w} x ${h}: a piece goes from one card over the switch to the other`, () => {
    const { pts } = layout.lines.get(3 * 16 + 12);
    assert.deepEqual(pts.slice(0, 2), layout.cables.get(3).out.slice(0, 2));
    assert.deepEqual(pts.slice(-2), layout.cables.get(12).into.slice(-2));
  });

  test(`${w} x ${h}: no GPU moves when all cards are turned on`, () => {
    const one = placeTrack(TRACK, ONE, w, h, slim, cabledRanks(TRACK, ALL));
    assert.deepEqual([...one.boxes], [...layout.boxes]);
    assert.equal(one.laned, false);
    assert.equal(layout.laned, true);
  });
}
