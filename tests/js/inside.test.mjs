// A node that is drawn as a box, opened.  node --test tests/js
import assert from "node:assert/strict";
import test from "node:test";
import { waitText } from "../../collsim/viz/player/charts/links.js";
import { barsHeight } from "../../collsim/viz/player/draw/bars.js";
import { panelNameY } from "../../collsim/viz/player/draw/stage.js";
import { ranksWaiting, waitingAt } from "../../collsim/viz/player/model/cells.js";
import { shape } from "../../collsim/viz/player/model/geometry.js";
import {
  insideOf,
  narrowStage,
  nodeAt,
  nodesAlike,
  nodesOf,
  openNode,
  stageFor,
} from "../../collsim/viz/player/model/inside.js";
import { linkBytes } from "../../collsim/viz/player/model/load.js";
import { linkName } from "../../collsim/viz/player/model/names.js";
import { index } from "../../collsim/viz/player/model/model.js";
import { PLAYER as WORDS } from "../../collsim/viz/words/words.js";
import { ring4, text } from "./runs.mjs";

/**
 * Two boxes of two ranks under a switch: rank 0 → 1 inside node 0 (link 4), 1 → 2 over the switch (4 hops: out of node 0
 * by link 5, links 0 and 3 outside, into node 1 by link 7); node 1 has links 6 and 7.
 */
function cluster() {
  const tl = ring4();
  tl.transfers = {
    ...{ step: [0, 0], src: [0, 1], dst: [1, 2], chunk: [0, 1], into: [0, 1], reduce: [1, 1], channel: [0, 0] },
    ...{ bytes: [100, 100], t0: [0, 0], t1: [1, 4], route: [0, 1] },
  };
  tl.steps = { t0: [0], t1: [4], text: { en: ["a"], zh: ["一"] }, phase: [0] };
  tl.phases = [{ label: text("one"), first: 0, last: 0, reduce: 1 }];
  tl.meta.time = 4;
  tl.figures = { time: 4 };
  const out = [0, 2, 1, 2],
    into = [2, 0, 2, 1];
  tl.links = {
    src: [...out, -1, -1, -1, -1],
    dst: [...into, -1, -1, -1, -1],
    kind: [...new Array(4).fill("infiniband"), ...new Array(4).fill("nvlink")],
    label: new Array(8).fill("x"),
    alpha: new Array(8).fill(0),
    bandwidth: new Array(8).fill(100),
    path: [...new Array(4).fill([0, 0, 0, 50]), [], [], [], []],
    row: new Array(8).fill(0),
  };
  tl.rows = [];
  tl.routes = { start: [0, 1, 5], link: [4, 5, 0, 3, 7] };
  const bars = [[{ label: text("NVLink"), links: [4, 5] }], [{ label: text("NVLink"), links: [6, 7] }], []];
  tl.devices = {
    ...{ name: ["node0", "node1", "switch"], label: ["0–1", "2–3", "switch"], kind: ["host", "host", "switch"] },
    ...{ panel: [-1, -1, -1], endpoint: [-1, -1, -1], x: [0, 200, 0], y: [100, 100, 0] },
    ...{ w: [120, 120, 320], h: [112, 112, 40], holds: [[0, 1], [2, 3], []], bars },
  };
  const node = (k, device, first) => ({
    ...{ node: k, device, first, label: text(`Node ${k}`), note: text(""), foot: true },
    ...{ labels: [String(2 * k), String(2 * k + 1)], endpoint: [2 * k, 2 * k + 1] },
  });
  tl.inside = [
    {
      stage: { w: 400, h: 300, pipe: 1 },
      panel: { x: 10, y: 130, w: 300, h: 160 },
      strip: { device: [0, 1], x: [0, 130], y: [3, 3], w: [120, 120], h: [104, 104] },
      devices: { name: ["a", "b"], kind: ["gpu", "gpu"], x: [20, 200], y: [200, 200], w: [40, 40], h: [40, 40] },
      links: {
        src: [0, 1],
        dst: [1, 0],
        path: [
          [60, 220, 200, 220],
          [200, 225, 60, 225],
        ],
      },
      nodes: [node(0, 0, 4), node(1, 1, 6)],
    },
  ];
  return index(tl);
}

test("closed, a way through a node has no drawn hops inside; open, only those inside", () => {
  const m = cluster(),
    drawn = (model, r) => shape(model, r).map(Boolean);
  assert.deepEqual(drawn(m, 0), [false]);
  assert.deepEqual(drawn(m, 1), [false, true, true, false]);
  assert.deepEqual(drawn(openNode(m, 0), 0), [true]);
  assert.deepEqual(drawn(openNode(m, 0), 1), [true, false, false, false]);
  assert.deepEqual(drawn(openNode(m, 1), 1), [false, false, false, true]);
  assert.deepEqual(drawn(m, 1), [false, true, true, false], "opening a node leaves the closed picture as it was");
});

test("an open node is drawn with its own ranks, under all nodes; its bytes are those of the run", () => {
  const m = cluster(),
    open = openNode(m, 1);
  assert.deepEqual(open.tl.devices.endpoint, [2, 3, -1, -1]);
  assert.deepEqual(open.tl.devices.label, ["2", "3", "0–1", "2–3"]);
  assert.equal(open.opened, 3);
  assert.equal(nodeAt(open, 2), 0, "a click on the strip opens another node");
  assert.equal(nodeAt(open, 0), null);
  assert.equal(nodeAt(m, 1), 1);
  assert.equal(nodeAt(m, 2), null, "a switch does not open");
  assert.equal(linkBytes(open, 7, 2), linkBytes(m, 7, 2));
  assert.deepEqual(nodesOf(m), [0, 1]);
  assert.equal(insideOf(m, 2), null);
  assert.equal(openNode(m, 9), m);
});

test("a link inside a node is named by its ends and its node, closed or open", () => {
  const m = cluster();
  assert.equal(linkName(m, 6, WORDS.en, "en"), "rank 2 → rank 3, node 1");
  assert.equal(linkName(openNode(m, 1), 6, WORDS.en, "en"), "rank 2 → rank 3");
  assert.equal(linkName(m, 0, WORDS.en, "en"), "0–1 → switch");
});

test("nodes do the same when the bars in all boxes show the same use", () => {
  const m = cluster();
  assert.equal(nodesAlike(m, [0, 0, 0, 0, 0.5, 0.2, 0.1, 0.5]), true);
  assert.equal(nodesAlike(m, [0, 0, 0, 0, 0.5, 0.2, 0.1, 0.4]), false);
});

test("bars stand in a box that has room for them", () => {
  const view = { k: 1 },
    bars = [{}, {}];
  assert.equal(barsHeight(view, bars, 120, 104), 2 * 19 + 4);
  assert.equal(barsHeight(view, bars, 60, 104), 2 * 7 + 4);
  assert.equal(barsHeight(view, bars, 60, 40), 0);
});

test("the row of waiting ranks counts the chunks that have rings, and ranks with nothing left to do", () => {
  const m = cluster(), // rank 1 receives until 1 s, rank 2 until 4 s; 0 only sends, until 1 s; 3 has no part
    at = (t) => ({ model: m, words: WORDS.en, s: 0, t, wait: waitingAt(m, t, 0, []), act: [] });
  assert.deepEqual([...ranksWaiting(m, 0.5, 0)], [3]);
  assert.deepEqual([...ranksWaiting(m, 2, 0)], [0, 1, 3]);
  assert.equal(waitText(at(0.5)), "1 of 4 ranks");
  assert.equal(waitText(at(2)), "3 of 4 ranks, 1 chunk landed");
  assert.equal(waitText(at(4)), "0 of 4 ranks");
});

test("a run has another picture where there is little room: other places, the same cables and their bytes", () => {
  const tl = ring4(),
    n = tl.devices.x.length,
    path = tl.links.path.map(() => [1, 2, 3, 4]);
  assert.equal(stageFor(tl, 300), tl.stage);
  const places = { x: new Array(n).fill(7), label: new Array(n).fill("a") };
  tl.narrow = { stage: { w: 90, h: 80, pipe: 1 }, panels: [], devices: places, path };
  assert.equal(stageFor(tl, 300), tl.narrow.stage);
  assert.equal(stageFor(tl, 1000), tl.stage);
  const wide = index(tl),
    narrow = narrowStage(wide);
  assert.deepEqual([narrow.tl.stage.w, narrow.tl.devices.x[0], narrow.tl.links.path[0]], [90, 7, [1, 2, 3, 4]]);
  assert.equal(narrow.tl.devices.y, wide.tl.devices.y);
  assert.equal(linkBytes(narrow, 0, 1), linkBytes(wide, 0, 1));
  assert.notEqual(wide.tl.devices.x[0], 7);
});

test("the name of a node stands at the edge that its cables do not cross, at every scale", () => {
  const panels = { y: [8, 450], h: [364, 364], foot: [false, true] };
  for (const scale of [0.3, 0.6, 1])
    for (const above of [0, 60]) {
      const size = 13 / Math.min(1, scale),
        [upper, lower] = [0, 1].map((p) => panelNameY(panels, p, size, { k: scale, above }));
      assert.ok(upper < 8 + 60 && upper >= 8 - 5, `${upper}`);
      assert.ok(lower > 814 - 20 && lower <= 814 + size + 1, `${lower}`);
    }
});
