// The race reads the player's own timeline: bytes delivered grow from nothing to everything, and each runner ends at
// its own time.

import assert from "node:assert/strict";
import test from "node:test";

import { index } from "../../collsim/viz/player/model/model.js";
import { flagPlaces } from "../../collsim/viz/race/finish.js";
import { arcsOf } from "../../collsim/viz/race/shape.js";
import { delivered, pace, progress } from "../../collsim/viz/race/pace.js";
import { describeParadox, drawTraffic } from "../../collsim/viz/race/traffic.js";
import { ratesAt, receivedAt, sentAt } from "../../collsim/viz/player/model/sent.js";
import { RACE } from "../../collsim/viz/words/words.js";
import { ring4 } from "./runs.mjs";

const words = RACE.en;

// Two ranks swap a chunk in step 1 (added up), then copy the sum back in step 2; the second transfer of step 1 is twice
// as slow.
const timeline = {
  schema: "collsim.timeline/1",
  meta: { ranks: 2, endpoints: 2, chunks: 2, slots: 2, channels: 1, engine: "lockstep", time: 4, nbytes: 20 },
  stage: { w: 200, h: 100 },
  panels: [],
  rows: [],
  key: [],
  devices: {
    name: ["a", "b"],
    label: ["a", "b"],
    kind: ["gpu", "gpu"],
    panel: [-1, -1],
    endpoint: [0, 1],
    x: [0, 100],
    y: [0, 0],
    w: [40, 40],
    h: [40, 40],
  },
  links: {
    src: [0, 1],
    dst: [1, 0],
    kind: ["cable", "cable"],
    label: ["c", "c"],
    alpha: [0, 0],
    bandwidth: [10, 10],
    path: [
      [40, 10, 100, 10],
      [100, 30, 40, 30],
    ],
    row: [-1, -1],
  },
  routes: { start: [0, 1, 2], link: [0, 1] },
  transfers: {
    step: [0, 0, 1],
    src: [0, 1, 0],
    dst: [1, 0, 1],
    chunk: [0, 1, 1],
    into: [0, 1, 1],
    reduce: [1, 1, 0],
    bytes: [10, 10, 20],
    t0: [0, 0, 2],
    t1: [1, 2, 4],
    route: [0, 1, 0],
    channel: [0, 0, 0],
  },
  steps: { t0: [0, 2], t1: [2, 4], text: { en: ["", ""], zh: ["", ""] } },
  phases: [
    { first: 0, last: 0, label: { en: "push", zh: "push" }, reduce: true },
    { first: 1, last: 1, label: { en: "pull", zh: "pull" }, reduce: false },
  ],
  state: { initial: "all", wanted: "all", goal: 2 },
};

test("bytes delivered are those that landed and the shares of those under way", () => {
  const m = index(timeline);
  assert.equal(delivered(m, 0), 0);
  assert.equal(delivered(m, 1), 10 + 5);
  assert.equal(delivered(m, 2), 20);
  assert.equal(delivered(m, 3), 20 + 10);
  assert.equal(delivered(m, 9), 40);
  assert.equal(progress(m, 2), 0.5);
});

test("the pace of a runner is its step, its phase and what it does", () => {
  const m = index(timeline);
  assert.deepEqual(pace(m, 0.5, "en"), { s: 1, phase: "push", reduce: true });
  assert.deepEqual(pace(m, 3, "zh"), { s: 2, phase: "pull", reduce: false });
});

test("a run in which nothing moves is at its end at once", () => {
  const still = structuredClone(timeline);
  for (const key in still.transfers) still.transfers[key] = [];
  still.steps = { t0: [], t1: [], text: { en: [], zh: [] } };
  assert.equal(progress(index(still), 0), 1);
});

test("no name of a finish covers another, however near they end", () => {
  for (const [ends, width] of [
    [
      [
        { x: 480, long: 200 },
        { x: 482, long: 130 },
        { x: 760, long: 70 },
      ],
      800,
    ],
    [
      [
        { x: 300, long: 120 },
        { x: 610, long: 190 },
        { x: 770, long: 70 },
      ],
      800,
    ],
    [
      [
        { x: 400, long: 90 },
        { x: 402, long: 90 },
        { x: 404, long: 90 },
        { x: 406, long: 90 },
      ],
      800,
    ],
    [
      // all near the end of the axis: the third name is left of the first
      [
        { x: 770, long: 90 },
        { x: 770, long: 90 },
        { x: 781, long: 90 },
      ],
      800,
    ],
  ]) {
    const spans = flagPlaces(ends, width).map(({ left, row, edge }, n) => {
      const { long } = ends[n];
      return { row, from: left ? edge - long : edge, to: left ? edge : edge + long };
    });
    for (const [n, a] of spans.entries()) {
      assert.ok(a.from >= 0 && a.to <= width, `${n} stays inside`);
      for (const b of spans.slice(0, n)) assert.ok(a.row !== b.row || a.to <= b.from || b.to <= a.from, `${n}`);
    }
  }
});

test("no pole goes through the name of another flag where there is room beside it", () => {
  const ends = [
      { x: 64, long: 100 },
      { x: 406, long: 120 },
      { x: 490, long: 160 },
    ],
    places = flagPlaces(ends, 567);
  for (const [n, { left, row, edge }] of places.entries()) {
    const from = left ? edge - ends[n].long : edge,
      poles = ends.filter((end, other) => places[other].row < row && from < end.x && end.x < from + ends[n].long);
    assert.deepEqual(poles, [], `${n}`);
  }
});

test("a name without room at its flag is the time alone, so that no name stands at the flag of another", () => {
  const ends = [
    { x: 186, long: 170, short: 26 },
    { x: 323, long: 130, short: 26 },
    { x: 382, long: 150, short: 26 },
  ];
  const places = flagPlaces(ends, 396);
  assert.deepEqual(
    places.map((place) => place.isShort),
    [false, false, true],
  );
  assert.deepEqual([places[2].left, places[2].edge], [true, 360]);
});

/** A runner of which only the end is known. */
const runner = (q, { total, sent, received, ranks }) => ({
  q,
  player: { model: { total, ranks, endpoints: sent.length, totals: { sent, received }, tl: SERVER } },
});
const SERVER = {
  meta: { nbytes: 64 },
  devices: { endpoint: [0, 1, 2], x: [0, 1, 2], label: { en: ["", "", "server"], zh: ["", "", "server"] } },
};

test("a server whose workers send less and wait longer is said to be strange, and where its bytes meet", () => {
  const ring = runner(0, { total: 1e-3, ranks: 2, sent: [112, 112], received: [112, 112] }),
    server = runner(1, { total: 9e-3, ranks: 2, sent: [64, 64, 128], received: [64, 64, 128] }),
    data = { runners: [{ name: "Ring" }, { name: "Server" }], language: "en", verdict: true },
    said = (cards, more = {}) => describeParadox({ cards, words, data: { ...data, ...more } });
  const [sentence, reason] = said([ring, server]);
  assert.match(sentence, /^Server takes longer than Ring, although its ranks send less\.$/);
  assert.match(
    reason,
    /^A rank sends at most 1 buffer with Server, 1\.75 with Ring\. But 2 buffers go into the server and 2 come out/,
  );
  assert.match(reason, /9.*ms against 1.*ms/);
  assert.deepEqual(said([ring, ring]), ["", ""]);
  assert.deepEqual(said([ring, server], { verdict: false }), ["", ""]);
  const slow = runner(1, { total: 2e-3, ranks: 2, sent: [200, 200], received: [200, 200] });
  assert.match(said([ring, slow])[0], /send more/);
  const longer = runner(1, { total: 2e-3, ranks: 2, sent: [112, 112], received: [112, 112] }),
    runners = [
      { name: "Ring", busiest: 2 ** 20 },
      { name: "Slow", busiest: 2 ** 21 },
    ],
    [same, load] = said([ring, longer], { runners });
  assert.equal(same, "Slow takes longer than Ring, although its ranks send as much.");
  assert.match(load, /^Its busiest cable carries 2.MiB, that of Ring 1.MiB: 2.*ms against 1.*ms\.$/);
});

test("a rank that receives far more than any sends is named, and how much more than with even parts", () => {
  const even = runner(0, { total: 1e-3, ranks: 2, sent: [16, 16], received: [16, 16] }),
    hot = runner(1, { total: 3e-3, ranks: 2, sent: [8, 48], received: [48, 8] }),
    zipf = runner(1, { total: 3e-3, ranks: 3, sent: [8, 24, 24], received: [48, 4, 4] }),
    data = { runners: [{ name: "Even" }, { name: "Zipf" }], language: "en", verdict: true };
  const [sentence, reason] = describeParadox({ cards: [even, zipf], words, data });
  assert.equal(sentence, "With Zipf, rank 0 receives 3 times as much as any rank with Even, and all wait for it.");
  assert.match(reason, /^0\.75 buffers go to rank 0; with Even, 0\.25 to any rank at most\. 3.*ms against 1.*ms\.$/);
  assert.match(describeParadox({ cards: [even, hot], words, data })[0], /send more/); // its sender is as busy
  const milder = runner(0, { total: 2e-3, ranks: 3, sent: [8, 24, 24], received: [36, 10, 10] });
  assert.match(describeParadox({ cards: [milder, zipf], words, data })[0], /^With Zipf, rank 0 receives 1\.33 times/);
});

test("what endpoints have sent and received adds up, at every moment and at the end", () => {
  const model = index(ring4());
  assert.deepEqual([...receivedAt(model, model.total)], [600, 600, 600, 600]);
  for (const t of [0, 0.3, 2.5, 5]) {
    const sum = (list) => list.reduce((a, b) => a + b, 0);
    assert.equal(sum(sentAt(model, t)), sum(receivedAt(model, t)));
    const { out, into } = ratesAt(model, t);
    assert.ok(Math.abs(sum(out) - sum(into)) < 1e-9);
  }
  const [rate] = ratesAt(model, 0.01).out;
  assert.ok(Math.abs(rate - model.bytes[0] / (model.t1[0] - model.t0[0])) < 1e-9);
});

test("rates stand in the first rows below a picture, where a low window still shows them", () => {
  const places = [],
    fillText = (text, x, y) => places.push([y, text]),
    answers = { fillText, measureText: (text) => ({ width: 6 * text.length }) },
    ctx = new Proxy({}, { get: (_, name) => answers[name] ?? (() => {}), set: () => true }),
    race = { ruler: 600, words, data: { language: "en" }, colors: {}, clock: { playing: true } },
    traffic = { ctx, middleOf: () => null, order: [0, 1], pitch: 60, hasFigures: true, arcs: [], w: 200, h: 200 };
  drawTraffic(race, { player: { model: index(timeline) }, traffic: { ...traffic, shape: 0, rates: 36, bars: 30 } }, 1);
  const labels = places.filter(([, text]) => Number.isNaN(Number(text))).sort(([a], [b]) => a - b);
  assert.deepEqual(
    labels.map(([, text]) => text.replace(/,.*/, "")),
    ["GB/s out", "GB/s in", "Left sent", "sent", "received"],
  );
  assert.ok(labels[1][0] < 36);
});

test("arcs are who sends to whom: a ring goes one way, trees both, a crowd has no shape", () => {
  const model = (pairs) => ({
    n: pairs.length,
    src: pairs.map(([src]) => src),
    dst: pairs.map(([, dst]) => dst),
    channel: pairs.map(([, , channel = 0]) => channel),
  });
  const order = [0, 1, 2, 3],
    ring = arcsOf(model([0, 1, 2, 3].map((rank) => [rank, (rank + 1) % 4])), order);
  assert.equal(ring.length, 4);
  assert.ok(ring.every(({ isOneWay }) => isOneWay));
  assert.deepEqual([ring[3].a, ring[3].b, ring[3].from], [0, 3, 3]);
  const trees = arcsOf(
    model([
      [0, 1, 0],
      [1, 0, 0],
      [0, 1, 1],
      [2, 1, 1],
    ]),
    order,
  );
  assert.deepEqual(
    trees.map(({ channel, isOneWay }) => [channel, isOneWay]),
    [
      [0, false],
      [1, true],
      [1, true],
    ],
  );
  const places = Array.from({ length: 8 }, (_, rank) => rank),
    everybody = places.flatMap((a) => places.map((b) => [a, b]));
  assert.deepEqual(arcsOf(model(everybody), places), []);
});
