// The pure half of the player, on timelines small enough to check by hand.  node --test tests/js
import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import test from "node:test";
import { activity } from "../../collsim/viz/player/charts/endpoints.js";
import { drawMatrix } from "../../collsim/viz/player/charts/matrix.js";
import { chartsOf, createGeometry } from "../../collsim/viz/player/charts/rows.js";
import { drawScrub } from "../../collsim/viz/player/charts/scrub.js";
import { drawDevices } from "../../collsim/viz/player/draw/devices.js";
import { heldSquares } from "../../collsim/viz/player/draw/held.js";
import { logicalLayout } from "../../collsim/viz/player/draw/logical.js";
import {
  cellAt,
  cellsOf,
  doneAt,
  finishedAt,
  landedBy,
  shareDone,
  waitingAt,
} from "../../collsim/viz/player/model/cells.js";
import { measure, pointAt, shape, through } from "../../collsim/viz/player/model/geometry.js";
import { hopAt, hopSpan, journey } from "../../collsim/viz/player/model/hops.js";
import {
  busiest,
  findMeeting,
  idleShare,
  linkBytes,
  rowSlices,
  shareBetween,
  spanAt,
  stepShare,
  useClass,
} from "../../collsim/viz/player/model/load.js";
import { TOKENS, hues } from "../../collsim/viz/player/model/look.js";
import {
  activeAt,
  bucketIndex,
  index,
  channelShown,
  mistakeFrom,
  mistakeTime,
  nextStart,
  slotText,
  stepAt,
} from "../../collsim/viz/player/model/model.js";
import { groups } from "../../collsim/viz/player/model/order.js";
import { sayProblem } from "../../collsim/viz/player/ui/context.js";
import { SCHEMA, problem, textAt, unpack } from "../../collsim/viz/player/model/read.js";
import { bindUnits, fmtBytes, fmtRate, fmtShare, timeUnit } from "../../collsim/viz/player/model/units.js";
import { PLAYER as WORDS } from "../../collsim/viz/words/words.js";
import { ring4, text } from "./runs.mjs";

/** One chunk of 100 bytes over two cables of 100 and 300 B/s, alpha 0, in 4/3 s, then nothing until 2 s. */
function twoHops(extra = {}) {
  const tl = ring4();
  tl.transfers = {
    step: [0],
    src: [0],
    dst: [1],
    chunk: [0],
    into: [0],
    reduce: [1],
    channel: [0],
    bytes: [100],
    t0: [0],
    t1: [4 / 3],
    route: [0],
  };
  tl.links.bandwidth[3] = 300;
  tl.steps = { t0: [0], t1: [2], text: { en: ["a"], zh: ["a"] }, phase: [0] };
  tl.phases = [];
  tl.meta.time = 2;
  tl.figures = { time: 2 };
  return Object.assign(tl, extra);
}

test("transfers in flight are those with t0 <= t < t1, at every moment and also when steps overlap", () => {
  const tl = ring4({ engine: "event" });
  tl.transfers.t0 = tl.transfers.t0.map((t, i) => t + 0.3 * (i % 4));
  tl.transfers.t1 = tl.transfers.t1.map((t, i) => t + 0.5 * (i % 3));
  const m = index(tl);
  for (let t = 0; t <= m.total; t += 0.05) {
    const plain = [...Array(m.n).keys()].filter((i) => m.t0[i] <= t && t < m.t1[i]);
    assert.deepEqual(
      activeAt(m, t).sort((a, b) => a - b),
      plain,
    );
  }
});

test("a moment on the border of two steps belongs to the later one, the end to the last", () => {
  const m = index(ring4());
  assert.deepEqual(
    [0, 0.999, 1, 5.5, 6].map((t) => stepAt(m, t)),
    [0, 0, 1, 5, 5],
  );
});

test("of steps that begin together the first is the current one, and the next begins after them all", () => {
  const tl = ring4({ engine: "event" });
  tl.steps.t0 = [0, 0, 0, 3, 4, 4];
  const m = index(tl);
  assert.deepEqual(
    [0, 2, 3, 4, 6].map((t) => stepAt(m, t)),
    [0, 0, 3, 4, 4],
  );
  assert.deepEqual(
    [0, 3, 4].map((s) => nextStart(m, s)),
    [3, 4, m.total],
  );
});

/** A canvas that remembers what was written, each character half as wide as it is high. */
const scribe = () => {
  const texts = [];
  return {
    texts,
    font: "",
    measureText(text) {
      return { width: (text.length * parseFloat(this.font.split(" ")[1])) / 2 };
    },
    fillText(text, x) {
      texts.push([text, x]);
    },
    ...Object.fromEntries(["fillRect", "beginPath", "moveTo", "lineTo", "fill", "roundRect"].map((f) => [f, () => {}])),
  };
};

test("numbers of steps under the scrubber do not touch, however uneven the steps are", () => {
  const tl = ring4({ engine: "event" });
  tl.steps.t0 = [0, 2, 2.01, 2.02, 2.03, 5];
  tl.phases = [];
  const g = scribe(),
    view = { model: index(tl), colors: TOKENS.light, words: WORDS.en, language: "en", t: 0, s: 0 };
  drawScrub(g, view, createGeometry(view.model, 1, { x0: 0, tw: 600, zoom: 1 }));
  const places = g.texts.map(([, x]) => x).sort((a, b) => a - b);
  assert.ok(places.length >= 3, String(g.texts));
  places.slice(1).forEach((x, q) => assert.ok(x - places[q] >= 10, String(g.texts)));
});

test("where a phase ends is not written while a question asks it", () => {
  const tl = ring4();
  tl.phases = [
    { first: 0, last: 2, reduce: true, label: { en: ["reduce-scatter"], zh: ["reduce-scatter"] } },
    { first: 3, last: 5, reduce: false, label: { en: ["allgather"], zh: ["allgather"] } },
  ];
  const words = (hidesPhases) => {
    const canvas = Object.assign(scribe(), { arc() {}, stroke() {}, closePath() {} }),
      view = { model: index(tl), colors: TOKENS.light, words: WORDS.en, language: "en", t: 0, s: 0, hidesPhases };
    drawScrub(canvas, view, createGeometry(view.model, 1, { x0: 0, tw: 900, zoom: 1 }));
    return canvas.texts.map(([text]) => text).join("|");
  };
  assert.match(words(false), /steps 1 to 3/);
  assert.match(words(true), /^reduce-scatter, then allgather; where one ends/);
  assert.doesNotMatch(words(true), /steps/);
});

test("ranks in a node's box: squares side by side inside it, none where they would be too small", () => {
  const eight = heldSquares([8, 9, 10, 11, 12, 13, 14, 15], 100, 20, 120, 60);
  assert.deepEqual(
    eight.map(({ rank }) => rank),
    [8, 9, 10, 11, 12, 13, 14, 15],
  );
  assert.equal(new Set(eight.map(({ y }) => y)).size, 2);
  for (const a of eight) {
    assert.ok(a.x >= 100 && a.x + a.size <= 220 && a.y >= 20 && a.y + a.size <= 80);
    for (const b of eight) assert.ok(a === b || Math.max(Math.abs(a.x - b.x), Math.abs(a.y - b.y)) >= a.size + 2);
  }
  assert.deepEqual(heldSquares([0, 1, 2, 3, 4, 5, 6, 7], 0, 0, 24, 20), []);
  assert.deepEqual(heldSquares([3], 0, 0, 100, 100), []);
});

test("steps that begin out of order are read as if in order", () => {
  const tl = ring4({ engine: "event" });
  tl.steps.t0 = [0, 1, 0.5, 3, 4, 5];
  const m = index(tl);
  assert.deepEqual(Array.from(m.step0), [0, 1, 1, 3, 4, 5]);
});

test("contributions: in a ring each chunk gains one a step, 4 of 4 after three steps, everywhere after six", () => {
  const m = index(ring4());
  assert.deepEqual(Array.from(m.k.slice(0, 12)), [1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]);
  assert.deepEqual(Array.from(m.k.slice(12)), new Array(12).fill(4));
  const at = (e, c, t) => cellAt(m, e * 4 + c, t);
  assert.equal(at(1, 0, 0.5), 1);
  assert.equal(at(1, 0, 1), 2); // rank 0 sent chunk 0 to rank 1 in step 0
  assert.equal(at(2, 0, 2), 3);
  assert.equal(at(3, 0, 3), 4);
  assert.equal(at(0, 0, 3.5), 1);
  assert.equal(at(0, 0, 4), 4); // replaced by the finished sum
  assert.equal(doneAt(m, 5.999), false);
  assert.equal(doneAt(m, 6), true);
});

test("contributions that double in every step stay more than any goal, and never turn negative", () => {
  const tl = ring4();
  tl.transfers.chunk = tl.transfers.chunk.map(() => 0);
  tl.transfers.into = tl.transfers.into.map(() => 0);
  tl.transfers.reduce = tl.transfers.reduce.map(() => 1);
  const steps = 60,
    repeated = (column) => Array.from({ length: steps }, (_, s) => column.slice(0, 4).map((x) => [s, x])).flat();
  for (const [name, column] of Object.entries(tl.transfers))
    tl.transfers[name] = repeated(column).map(([s, x]) =>
      name === "step" ? s : /^t[01]$/.test(name) ? s + +(name === "t1") : x,
    );
  tl.steps.t0 = Array.from({ length: steps }, (_, s) => s);
  tl.steps.t1 = tl.steps.t0.map((t) => t + 1);
  tl.meta.time = steps;
  const m = index(tl);
  for (let t = 1, least = 1; t <= steps; t++) {
    const now = cellAt(m, 0, t);
    assert.ok(now >= least, `${now} after ${least} at ${t}`);
    least = now;
  }
  assert.ok(Array.from(m.k).every((k) => k > 0));
  assert.ok(cellAt(m, 0, steps) > 2 ** 30);
});

test("values are sums of digits of pi: chunk 0 of four ranks is 3 + 5 + 5 + 9 = 22", () => {
  const m = index(ring4());
  assert.equal(cellAt(m, 0, 0, "value"), 3);
  for (let e = 0; e < 4; e++) assert.equal(cellAt(m, e * 4, 6, "value"), 22);
  assert.equal(cellAt(m, 4, 1, "mask"), 0b0011); // rank 1, chunk 0 after the first step: ranks 0 and 1
  assert.equal(cellAt(m, 0, 6, "mask"), 0b1111);
});

test("transfers of a step read the cells as they were when the step began, whatever arrives first", () => {
  const tl = ring4();
  tl.transfers = {
    // step 0: 0 -> 1 and 1 -> 2 of the same chunk; the first lands long before the second leaves the wire
    step: [0, 0],
    src: [0, 1],
    dst: [1, 2],
    chunk: [0, 0],
    into: [0, 0],
    reduce: [1, 1],
    channel: [0, 0],
    bytes: [1, 100],
    t0: [0, 0],
    t1: [0.01, 1],
    route: [0, 1],
  };
  const m = index(tl);
  assert.deepEqual(Array.from(m.k), [1, 1]);
  assert.equal(cellAt(m, 1 * 4, 0.5), 2);
  assert.equal(cellAt(m, 2 * 4, 1), 2); // not 3: rank 1 sent what it had at the start
});

test("several reduces into one cell in one step add up as they arrive (a parameter server)", () => {
  const tl = ring4();
  tl.meta.endpoints = 5;
  tl.transfers = {
    step: [0, 0, 0, 0],
    src: [0, 1, 2, 3],
    dst: [4, 4, 4, 4],
    chunk: [0, 0, 0, 0],
    into: [0, 0, 0, 0],
    reduce: [1, 1, 1, 1],
    channel: [0, 0, 0, 0],
    bytes: [100, 100, 100, 100],
    t0: [0, 0, 0, 0],
    t1: [1, 2, 3, 4],
    route: [0, 0, 0, 0],
  };
  const m = index(tl);
  assert.deepEqual(
    [0, 1, 2, 3, 4].map((t) => cellAt(m, 4 * 4, t)),
    [0, 1, 2, 3, 4],
  );
});

test("initial and wanted: all, own, root and lists", () => {
  const meta = { ranks: 2, chunks: 4, slots: 4, channels: 1 };
  assert.equal(cellsOf("all", {}, meta).length, 8);
  assert.deepEqual(cellsOf("own", {}, meta), [
    [0, 0],
    [0, 1],
    [1, 2],
    [1, 3],
  ]);
  assert.deepEqual(cellsOf("root", { root: 1 }, meta), [
    [1, 0],
    [1, 1],
    [1, 2],
    [1, 3],
  ]);
  assert.deepEqual(cellsOf([[1, 3]], {}, meta), [[1, 3]]);
});

test("bytes of a link grow evenly and end at what the host counted", () => {
  const tl = ring4(),
    m = index(tl);
  tl.figures.link_bytes.forEach((b, l) => assert.ok(Math.abs(linkBytes(m, l, m.total) - b) < 1e-6));
  assert.ok(Math.abs(linkBytes(m, 0, 2.25) - 225) < 1e-9);
  assert.equal(linkBytes(m, 0, 0), 0);
  assert.ok(Math.abs(stepShare(m, 0, 3) - 1) < 1e-9);
});

test("a link in use is at most full while it is shared, and says what it would have to carry where nothing is", () => {
  for (const sharing of ["fair", "none"]) {
    const tl = twoHops();
    tl.transfers = Object.fromEntries(Object.entries(tl.transfers).map(([k, [v]]) => [k, [v, v]])); // both at once
    const m = index({ ...tl, meta: { ...tl.meta, sharing } });
    const most = Math.max(...[0, 0.2, 0.4, 0.6, 0.8, 1].map((a) => shareBetween(m, 0, a, a + 0.2)));
    if (sharing === "fair") assert.ok(most <= 1, most);
    else assert.ok(most > 1.4, most);
  }
});

test("transfers that come over several cables meet on the one that all of them cross, unless they pass one by one", () => {
  const tl = ring4(),
    starts = [0];
  const link = [0, 2, 4].flatMap((own) => {
    starts.push(starts.at(-1) + 2);
    return [own, 7]; // out of three ranks, into the fourth
  });
  Object.assign(tl.routes, { start: starts, link });
  tl.transfers = Object.fromEntries(Object.entries(tl.transfers).map(([k, column]) => [k, column.slice(0, 3)]));
  assert.deepEqual(findMeeting(index(tl), [0, 1, 2]), { link: 7, n: 3 });
  assert.equal(findMeeting(index(tl), [0, 1]), null);
  assert.equal(findMeeting(index({ ...tl, meta: { ...tl.meta, sharing: "none" } }), [0, 1, 2]), null);
  const ring = index(ring4());
  assert.equal(findMeeting(ring, [0, 1, 2, 3]), null);
});

test("a link that is shared by two transfers carries both, and stands still when neither runs", () => {
  const tl = twoHops();
  tl.transfers = {
    step: [0, 0],
    src: [0, 0],
    dst: [1, 1],
    chunk: [0, 1],
    into: [0, 1],
    reduce: [1, 1],
    channel: [0, 0],
    bytes: [100, 50],
    t0: [0, 0.5],
    t1: [1, 1.5],
    route: [0, 0],
  };
  const m = index(tl);
  const near = (t, b) => assert.ok(Math.abs(linkBytes(m, 0, t) - b) < 1e-9, `${linkBytes(m, 0, t)} at ${t}`);
  near(0.5, 50);
  near(1, 125);
  near(1.5, 150);
  near(2, 150);
});

test("a transfer that takes no time still counts its bytes", () => {
  const tl = twoHops();
  tl.transfers.t1 = [0];
  const m = index(tl);
  assert.equal(linkBytes(m, 0, 1), 100);
  assert.equal(hopAt(m, 0, 0).share, 1);
});

test("a transfer takes on each hop the share of time that the hop would need alone", () => {
  const m = index(twoHops());
  const near = (a, b) => a.forEach((x, q) => assert.ok(Math.abs(x - b[q]) < 1e-12, `${a} is not ${b}`));
  near(hopSpan(m, 0, 0), [0, 1]); // 100 B at 100 B/s against 100 B at 300 B/s: 3 to 1
  near(hopSpan(m, 0, 1), [1, 4 / 3]);
  assert.deepEqual(
    [0.5, 1, 1.2].map((t) => hopAt(m, 0, t).link),
    [0, 3, 3],
  );
  assert.ok(Math.abs(hopAt(m, 0, 0.5).f - 0.5) < 1e-12);
  assert.equal(hopAt(m, 0, 2).f, 1);
});

test("times of hops, where given, win: the chunk waits in the queue and loads one link at a time", () => {
  const m = index(twoHops({ hops: { t0: [0, 1.1], t1: [1, 4 / 3] } }));
  assert.equal(hopAt(m, 0, 1.05).waits, true);
  assert.equal(hopAt(m, 0, 1.05).hop, 1);
  assert.equal(hopAt(m, 0, 1.2).waits, false);
  assert.ok(Math.abs(linkBytes(m, 0, 1) - 100) < 1e-9);
  assert.equal(linkBytes(m, 3, 1), 0);
});

test("rates of the run, where given, win: latency carries nothing, and what others carry counts", () => {
  const tl = ring4({ engine: "event" });
  // route 4: what others send over link 0
  tl.flows = { route: [0, 0, 4], t0: [0.5, 2, 1], t1: [1.5, 3, 6], bytes: [100, 50, 300] };
  tl.routes.start.push(9);
  tl.routes.link.push(0);
  const m = index(tl);
  const near = (l, t, b) => assert.ok(Math.abs(linkBytes(m, l, t) - b) < 1e-9, `${linkBytes(m, l, t)} on ${l} at ${t}`);
  near(0, 0.5, 0);
  near(0, 1.5, 100 + 30);
  near(3, 1.5, 100); // the second cable of the route
  near(0, 6, 450);
  near(2, 6, 0); // transfers themselves carry nothing twice
  assert.equal(shareBetween(m, 3, 2, 3), 0.5);
});

test("several collectives: each slot has its own goal, letter and colour, and a chart of their times", () => {
  const tl = ring4({ engine: "event" });
  tl.state.goal = [4, 4, 1, 1];
  tl.state.wanted = [
    [0, 0],
    [0, 2],
  ];
  tl.groups = [
    { name: "A", first: 0, slots: 2 },
    { name: "B", first: 2, slots: 2 },
  ];
  const m = index(tl);
  assert.deepEqual([...m.groupOf], [0, 0, 1, 1]);
  assert.deepEqual([slotText({ model: m }, 1), slotText({ model: m }, 2)], ["A1", "B0"]);
  assert.equal(doneAt(m, 0), false); // slot 2 holds its one contribution from the start, slot 0 lacks three
  assert.equal(doneAt(m, 6), true);
  assert.equal(hues(TOKENS.dark, m, 0), TOKENS.dark);
  assert.notEqual(hues(TOKENS.dark, m, 3).done, TOKENS.dark.done);
  assert.equal(hues(TOKENS.light, m, 3).room, TOKENS.light.room); // cables keep the colours of use
  assert.deepEqual(chartsOf(m), ["groups", "links", "endpoints", "use"]);
  assert.ok(!chartsOf(index(ring4())).includes("groups"));
  const came = activity(m, 0, "dst");
  assert.ok(came.every(({ i, group }) => group === m.groupOf[m.chunk[i]]));
  assert.deepEqual([...new Set(came.map(({ group }) => group))].sort(), [0, 1]);
});

/** How far each endpoint is at t. */
const shares = (m, t) =>
  Array.from({ length: m.endpoints }, (_, e) => shareDone({ model: m, finished: finishedAt(m, t) }, e));

/** Copies of a chunk in the last step of ring4, at its end: [src, dst, chunk]. */
const copies = (tl, rows) =>
  rows.forEach(([src, dst, chunk]) => {
    for (const [k, v] of Object.entries({
      step: 5,
      src,
      dst,
      chunk,
      into: chunk,
      reduce: 0,
      channel: 0,
      bytes: 1,
      t0: 5,
      t1: 6,
      route: src,
    }))
      tl.transfers[k].push(v);
  });

test("several collectives: an endpoint is full when it holds what its own ones promise, not before", () => {
  const tl = ring4({ engine: "event" }),
    four = [0, 1, 2, 3].flatMap((r) => [0, 1, 2, 3].map((c) => [r, c]));
  tl.meta.slots = 6; // A: the allreduce of all four; B: ranks 0 and 1 swap slots 4 and 5
  tl.state = { initial: [...four, [0, 4], [1, 5]], goal: [4, 4, 4, 4, 1, 1], wanted: [...four, [1, 4], [0, 5]] };
  tl.groups = [
    { name: "A", first: 0, slots: 4 },
    { name: "B", first: 4, slots: 2 },
  ];
  copies(tl, [
    [0, 1, 4],
    [1, 0, 5],
  ]);
  const m = index(tl);
  assert.deepEqual([...m.asked], [5, 5, 4, 4]);
  assert.deepEqual(shares(m, 0), [0, 0, 0, 0]); // what rank 0 gives away is not asked of it
  assert.deepEqual(shares(m, 5.5), [3 / 5, 3 / 5, 3 / 4, 3 / 4]);
  assert.deepEqual(shares(m, m.total), [1, 1, 1, 1]);
});

test("a rank of a reduce-scatter is full with its own block, a server with every sum", () => {
  const tl = ring4();
  tl.state.wanted = [
    [0, 1],
    [1, 2],
    [2, 3],
    [3, 0],
  ]; // what three steps of the ring leave where
  tl.meta.endpoints = 5;
  copies(tl, [
    [0, 4, 0],
    [0, 4, 1],
    [0, 4, 3],
  ]);
  const m = index(tl);
  assert.deepEqual(
    [2, 3, 6].map((t) => shares(m, t)),
    [
      [0, 0, 0, 0, 0],
      [1, 1, 1, 1, 0],
      [1, 1, 1, 1, 3 / 4],
    ],
  );
});

test("a buffer of more chunks than a call takes arguments is laid out, and its largest goal is found", () => {
  const tl = ring4();
  tl.meta.slots = 150_000;
  Object.assign(tl.state, { initial: [], wanted: [[0, 0]], goal: new Array(150_000).fill(1).with(149_999, 4) });
  assert.equal(index(tl).goal, 4);
});

test("names of chunks over the matrix are measured once, not at every frame", () => {
  const tl = ring4(),
    measured = [];
  tl.groups = [{ name: "A", first: 0, slots: 4 }];
  const m = index(tl),
    none = new Set(),
    g = { ...scribe(), ...Object.fromEntries(["stroke", "arcTo", "setLineDash"].map((f) => [f, () => {}])) };
  g.measureText = (str) => (measured.push(str), { width: 6 * str.length });
  const view = {
    model: m,
    colors: TOKENS.light,
    words: WORDS.en,
    language: "en",
    t: 0,
    slots: [0, 1, 2, 3],
    sends: none,
    lands: none,
    fresh: none,
    hotCells: none,
    hotRanks: none,
  };
  drawMatrix(g, view, 300, 300);
  drawMatrix(g, view, 300, 300);
  assert.deepEqual(
    measured.filter((str) => str.startsWith("A")),
    ["A0", "A1", "A2", "A3"],
  );
});

test("who has landed waits for the step only where there is a barrier", () => {
  const tl = twoHops(),
    m = index(tl);
  assert.deepEqual(waitingAt(m, 1.5, 0), [0]);
  assert.deepEqual(waitingAt(m, 1, 0), []);
  assert.deepEqual(waitingAt(m, 2, 0), []);
  tl.meta.engine = "event";
  assert.deepEqual(waitingAt(index(tl), 1.5, 0), []);
  assert.equal(landedBy(m, 1.5), 1);
});

test("ranks are idle when nothing comes in; one that only sends is not idle", () => {
  const m = index(twoHops()),
    idle = idleShare(m, 2);
  // rank 0 sends and receives nothing: busy until 4/3. Rank 1 receives: busy until 4/3. Ranks 2 and 3 idle.
  assert.ok(Math.abs(idle[0] - 0.5) < 1e-9);
  assert.ok(Math.abs(idle[1] - (0.5 + 0.5 * (2 / 3))) < 1e-9);
});

test("slices of a row: the mean over its cables, the busiest, and bytes so far", () => {
  const m = index(twoHops()),
    r = rowSlices(m, [0, 2], 4);
  assert.ok(Math.abs(r.top[0] - 0.75) < 1e-9); // 100 B in 4/3 s at 100 B/s
  assert.ok(Math.abs(r.mean[0] - 0.375) < 1e-9); // cable 2 is idle
  assert.ok(Math.abs(r.sofar[3] - 100) < 1e-9);
});

test("the busiest moment is where most bytes move", () => {
  const tl = twoHops();
  tl.transfers = {
    step: [0, 0],
    src: [0, 1],
    dst: [1, 2],
    chunk: [0, 1],
    into: [0, 1],
    reduce: [1, 1],
    channel: [0, 0],
    bytes: [100, 100],
    t0: [0, 1],
    t1: [2, 1.5],
    route: [0, 1],
  };
  const t = busiest(index(tl));
  assert.ok(t > 1 && t < 1.5, String(t));
});

test("no transfers at all is a run too", () => {
  const tl = ring4();
  for (const k in tl.transfers) tl.transfers[k] = [];
  Object.assign(tl.steps, { t0: [], t1: [], text: { en: [], zh: [] }, phase: [] });
  Object.assign(tl, { phases: [], figures: { time: 0 } });
  tl.meta.time = 0;
  assert.equal(problem(tl), null);
  const m = index(tl);
  assert.equal(stepAt(m, 0), -1);
  assert.deepEqual(activeAt(m, 0), []);
  assert.equal(busiest(m), 0);
  assert.equal(linkBytes(m, 0, 1), 0);
});

test("a chunk's journey is a path in a ring and has none in a star", () => {
  const m = index(ring4());
  assert.deepEqual(journey(m, 0).path, [0, 1, 2, 3, 0, 1, 2]);
  const tl = ring4();
  tl.transfers.dst = tl.transfers.dst.map(() => 0);
  assert.equal(journey(index(tl), 0).path, null);
});

test("a route is drawn hop by hop, with a bend through a switch whose cables are on one side", () => {
  const m = index(ring4()),
    hops = shape(m, 0);
  assert.equal(hops.length, 2);
  assert.deepEqual(hops[0].pts, [55, 200, 55, 60]);
  assert.equal(hops[1].pts[0], 55);
  assert.ok(hops[1].pts[3] < 60); // goes up into the switch before it crosses
  assert.deepEqual(hops[1].pts.slice(-2), [145, 200]);
  const devices = m.tl.devices; // the switch is 380 x 40 at (10, 20)
  assert.deepEqual(through(devices, 4, 10, 40, 390, 40), [10, 40]); // left to right on one level: straight
  assert.deepEqual(through(devices, 4, 100, 20, 200, 60), [100, 20, 100, 42.5, 200, 42.5]); // top to bottom: a Z
  assert.deepEqual(through(devices, 4, 100, 20, 390, 40), [100, 20, 100, 40]); // top to right: one corner
  assert.deepEqual(through(devices, 4, 150, 33, 222, 47), [150, 33]); // cables that end inside the box: straight
});

test("points along a polyline, clamped at both ends", () => {
  const line = measure([0, 0, 10, 0, 10, 10]),
    at = (d) => {
      const p = pointAt(line, d);
      return [p.x, p.y];
    };
  assert.deepEqual(
    [at(-5), at(5), at(15), at(99)],
    [
      [0, 0],
      [5, 0],
      [10, 5],
      [10, 10],
    ],
  );
  assert.deepEqual(at(NaN), [0, 0]);
});

test("classes of use change at 75 and above 95 percent", () => {
  assert.deepEqual([0, 0.7499, 0.75, 0.95, 0.9501].map(useClass), ["room", "room", "near", "near", "full"]);
});

test("numbers are written as in the specification", () => {
  assert.equal(fmtBytes(129 * 2 ** 20), "129\u00a0MiB");
  assert.equal(fmtBytes(1536), "1.5\u00a0KiB");
  assert.deepEqual([0, 0.083, 0.79, 0.995, 1].map(fmtShare), [
    "0\u00a0%",
    "8.3\u00a0%",
    "79\u00a0%",
    "99.5\u00a0%",
    "100\u00a0%",
  ]);
  assert.equal(fmtRate(31.5e9), "31.5\u00a0GB/s");
  assert.equal(timeUnit(0.020229).fmt(0.005438), "5.438\u00a0ms");
  assert.equal(timeUnit(0).fmt(0).endsWith("s"), true);
});

test("groups and buckets cover everything once", () => {
  const g = groups([2, 0, 2, 1], 3);
  assert.deepEqual([...g.id.slice(g.start[2], g.start[3])], [0, 2]);
  const m = index(ring4()),
    b = bucketIndex(m);
  assert.equal(new Set(b.id).size, m.n);
});

test("the frames of one size share one layout, another size has its own", () => {
  const m = index(ring4()),
    first = logicalLayout(m, 4, 1134, 470);
  assert.equal(logicalLayout(m, 4, 1134, 470), first);
  assert.notDeepEqual(logicalLayout(m, 4, 900, 470).P, first.P);
});

test("the logical picture uses cards for few ranks and circles for many, and they never overlap", () => {
  const m = index(ring4()),
    L = logicalLayout(m, 4, 1134, 470);
  assert.equal(L.cards, true);
  const tl = ring4();
  tl.meta.endpoints = 64;
  tl.meta.ranks = 64;
  tl.logical = {};
  const circles = logicalLayout(index(tl), 64, 1134, 470);
  assert.equal(circles.cards, false);
  for (let a = 0; a < 64; a++)
    for (let b = 0; b < a; b++)
      assert.ok(Math.hypot(circles.P[a][0] - circles.P[b][0], circles.P[a][1] - circles.P[b][1]) > 2 * circles.r);
});

test("between the cards of two ranks a token of their size stands free, and can move", () => {
  const model = index(ring4());
  for (const width of [590, 640, 700, 820, 1134]) {
    const layout = logicalLayout(model, 4, width, 340),
      least = 1.4 * Math.min(52, layout.c);
    assert.ok(layout.cards);
    assert.ok(layout.P[1][0] - layout.P[0][0] - layout.cw >= least, `${width} px: ${layout.c}`);
    assert.ok(layout.P[2][1] - layout.P[1][1] - layout.ch >= least);
  }
});

test("wrong data is told apart in words", () => {
  const say = (bad) => sayProblem("en", problem(bad));
  assert.match(say(null), /no timeline/);
  assert.match(say({ schema: "collsim.timeline/2" }), /collsim\.timeline\/2/);
  assert.match(say({ schema: SCHEMA }), /"meta"/);
  const tl = ring4();
  tl.transfers.t1.pop();
  assert.match(say(tl), /t1/);
  const lost = ring4();
  lost.transfers.route[0] = 9;
  assert.match(say(lost), /route/);
  assert.equal(problem(ring4()), null);
});

test("texts may come as a list of texts or as one text of lists", () => {
  assert.equal(textAt([{ en: "a", zh: "甲" }], 0, "zh"), "甲");
  assert.equal(textAt({ en: ["a", "b"], zh: ["甲", "乙"] }, 1, "zh"), "乙");
  assert.equal(textAt({ en: "a" }, 0, "zh"), "a");
  assert.equal(textAt(undefined, 0, "en"), "");
});

test("a packed timeline is unpacked", async () => {
  const tl = ring4(),
    z = gzipSync(Buffer.from(JSON.stringify(tl))).toString("base64");
  assert.deepEqual(await unpack({ schema: SCHEMA, z }), tl);
  assert.deepEqual(await unpack(JSON.stringify(tl)), tl);
});

test("a wrong schedule is pointed at from the step that makes it wrong, and is never done", () => {
  const tl = ring4();
  tl.mistake = { kind: "twice", rank: 0, chunk: 1, step: 3, transfer: 15, text: text("r1 twice") };
  const m = index(tl);
  assert.equal(mistakeFrom(m), 3);
  assert.ok(Math.abs(mistakeTime(m) - 3.85) < 1e-9);
  assert.equal(doneAt(m, 6), false);
  const never = index({
    ...ring4(),
    mistake: { kind: "nothing", rank: 0, chunk: 1, step: null, transfer: null, text: text("") },
  });
  assert.equal(mistakeTime(never), 6);
  assert.equal(mistakeFrom(never), 0);
  const short = index({
    ...ring4(),
    mistake: { kind: "missing", rank: 0, chunk: 1, step: null, transfer: null, text: text("") },
  });
  assert.equal(mistakeFrom(short), 6);
  const lost = index({
    ...ring4(),
    mistake: { kind: "missing", rank: 0, chunk: 1, step: 2, transfer: null, text: text("") },
  });
  assert.deepEqual([mistakeFrom(lost), mistakeTime(lost)], [2, 2.5]);
  assert.equal(mistakeTime(index(ring4())), null);
});

test("of many channels the one with the wrong cell is shown", () => {
  const of = Int32Array.from({ length: 64 }, (_, slot) => Math.floor(slot / 8)),
    m = { channels: 8, slots: 64, mistake: null };
  assert.equal(channelShown(m, of), 0);
  assert.equal(channelShown({ ...m, mistake: { chunk: 37 } }, of), 4);
  assert.equal(channelShown({ ...m, slots: 32 }, of), -1);
  assert.equal(channelShown({ ...m, mistake: { chunk: 37 } }, null), -1);
  assert.equal(channelShown({ ...m, channels: 1 }, of), -1);
});

test("use is shown for the step where there are barriers, and for a moment where there are none", () => {
  const lock = spanAt(index(ring4()), 2.5, 2),
    free = spanAt(index(ring4({ engine: "event" })), 2.5, 2);
  assert.deepEqual([lock.key, lock.a, lock.b], [2, 2, 3]);
  assert.ok(free.a <= 2.5 && 2.5 < free.b && free.b - free.a < 0.02);
});

test("the way through a device is told from the cable behind it", () => {
  const hops = shape(index(ring4()), 0);
  assert.equal(hops[0].lead, 0);
  assert.ok(Math.abs(hops[1].len - hops[1].lead - 140) < 1e-9); // the cable itself is 140 px long
});

test("cards too small for a name each have one together, under the lowest; a rank has its own", () => {
  const tl = ring4();
  Object.assign(tl.devices, {
    label: ["0", "1", "NIC 4", "NIC 5", "switch"],
    kind: ["gpu", "gpu", "nic", "nic", "switch"],
    endpoint: [0, 1, -1, -1, -1],
    x: [30, 130, 230, 230, 10],
    y: [200, 200, 200, 220, 20],
    w: [40, 40, 10, 10, 380],
    h: [40, 40, 8, 8, 40],
  });
  const g = { ...scribe(), ...Object.fromEntries(["stroke", "strokeText"].map((f) => [f, () => {}])) },
    facts = { live: new Set([0]), turns: new Map(), share: [] };
  drawDevices(g, { model: index(tl), colors: TOKENS.light, facts, k: 1, language: "en", act: [] });
  assert.deepEqual(g.texts.map(([text]) => text).sort(), ["0", "1", "NIC 4–5", "switch"]);
});

test("texts of a timeline come with plain spaces, and are bound to their units when it is read", async () => {
  const tl = ring4();
  tl.steps.text = {
    en: tl.steps.text.en.map(() => "4.73 ms of 25 GB/s"),
    zh: tl.steps.text.zh.map(() => "99.5 %，16 MiB的"),
  };
  const read = await unpack(tl),
    packed = await unpack({ schema: SCHEMA, z: gzipSync(JSON.stringify(tl)).toString("base64") });
  for (const one of [read, packed]) {
    assert.equal(textAt(one.steps.text, 0, "en"), "4.73~ms of 25~GB/s".replaceAll("~", "\u00a0"));
    assert.equal(textAt(one.steps.text, 0, "zh"), "99.5~%，16~MiB的".replaceAll("~", "\u00a0"));
  }
  assert.equal(read.transfers.t0, tl.transfers.t0, "columns of numbers are not copied");
  assert.equal(textAt(tl.steps.text, 0, "en"), "4.73 ms of 25 GB/s", "what was given stays as it was");
});

test("numbers are bound to units and nothing else is", () => {
  const code = "k = 2 % n; [8 for s in x]; 1 switch, 8 bytes";
  assert.equal(
    bindUnits("1.98 times slower, 3 × A100, 2 倍"),
    "1.98~times slower, 3~× A100, 2~倍".replaceAll("~", "\u00a0"),
  );
  assert.equal(bindUnits(code), code);
  assert.deepEqual(bindUnits({ a: [{ b: "1 s" }], n: null, on: true }), { a: [{ b: "1\u00a0s" }], n: null, on: true });
});
