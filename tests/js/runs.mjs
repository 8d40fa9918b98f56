// Runs small enough to check by hand.
import { SCHEMA } from "../../collsim/viz/player/model/read.js";

export const text = (s) => ({ en: s, zh: s });

/**
 * Four ranks on one switch: rank r sends over link 2r, receives over link 2r+1. A ring allreduce of 4 chunks, 1 s a
 * step.
 */
export function ring4({ engine = "lockstep" } = {}) {
  const n = 4,
    steps = 2 * (n - 1),
    X = {
      step: [],
      src: [],
      dst: [],
      chunk: [],
      into: [],
      reduce: [],
      channel: [],
      bytes: [],
      t0: [],
      t1: [],
      route: [],
    };
  for (let s = 0; s < steps; s++)
    for (let r = 0; r < n; r++) {
      const chunk = s < n - 1 ? (r - s + n) % n : (r + 1 - (s - n + 1) + 2 * n) % n;
      const row = {
        step: s,
        src: r,
        dst: (r + 1) % n,
        chunk,
        into: chunk,
        reduce: s < n - 1 ? 1 : 0,
        channel: 0,
        bytes: 100,
        t0: s,
        t1: s + 1,
        route: r,
      };
      for (const k in X) X[k].push(row[k]);
    }
  const links = { src: [], dst: [], kind: [], label: [], alpha: [], bandwidth: [], path: [], row: [] };
  for (let r = 0; r < n; r++) {
    const x = 50 + 100 * r;
    for (const [a, b, path] of [
      [r, n, [x + 5, 200, x + 5, 60]],
      [n, r, [x - 5, 60, x - 5, 200]],
    ]) {
      links.src.push(a);
      links.dst.push(b);
      links.kind.push("cable");
      links.label.push("cable");
      links.alpha.push(0);
      links.bandwidth.push(100);
      links.path.push(path);
      links.row.push(0);
    }
  }
  return {
    schema: SCHEMA,
    meta: {
      title: text("ring"),
      collective: "allreduce",
      ranks: n,
      endpoints: n,
      chunks: n,
      slots: n,
      channels: 1,
      nbytes: 400,
      engine,
      time: steps,
      version: "0",
    },
    stage: { w: 400, h: 300 },
    panels: { x: [], y: [], w: [], h: [], label: [], note: [] },
    devices: {
      name: ["0", "1", "2", "3", "sw"],
      label: ["0", "1", "2", "3", "switch"],
      kind: ["gpu", "gpu", "gpu", "gpu", "switch"],
      panel: [-1, -1, -1, -1, -1],
      endpoint: [0, 1, 2, 3, -1],
      x: [30, 130, 230, 330, 10],
      y: [200, 200, 200, 200, 20],
      w: [40, 40, 40, 40, 380],
      h: [40, 40, 40, 40, 40],
    },
    links,
    rows: { label: [text("cables")], note: [text("")], links: [[0, 1, 2, 3, 4, 5, 6, 7]], hot: [false] },
    key: [],
    routes: { start: [0, 2, 4, 6, 8], link: [0, 3, 2, 5, 4, 7, 6, 1] },
    transfers: X,
    steps: {
      t0: [0, 1, 2, 3, 4, 5],
      t1: [1, 2, 3, 4, 5, 6],
      text: { en: ["a", "b", "c", "d", "e", "f"], zh: ["一", "二", "三", "四", "五", "六"] },
      phase: [0, 0, 0, 1, 1, 1],
    },
    phases: [
      { label: text("reduce-scatter"), first: 0, last: 2, reduce: 1 },
      { label: text("allgather"), first: 3, last: 5, reduce: 0 },
    ],
    logical: {
      x: [0, 1, 1, 0],
      y: [0, 0, 1, 1],
      kind: "ring",
      edges: [
        [0, 1],
        [1, 2],
        [2, 3],
        [3, 0],
      ],
    },
    state: { initial: "all", goal: n, wanted: "all" },
    figures: { time: steps, link_bytes: new Array(8).fill(600) },
    bottleneck: null,
    text: null,
  };
}

/** n ranks push 100 bytes each into rank n at once, in 4 s. */
export function star(n) {
  const tl = ring4({ engine: "event" }),
    all = (v) => new Array(n).fill(v);
  tl.transfers = {
    step: all(0),
    src: [...all(0).keys()],
    dst: all(n),
    chunk: all(0),
    into: all(0),
    reduce: all(1),
    channel: all(0),
    bytes: all(100),
    t0: all(0),
    t1: all(4),
    route: all(0),
  };
  return tl;
}
