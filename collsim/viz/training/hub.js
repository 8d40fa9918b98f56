// GPUs in a row: who sends to whom now, as arcs over them, and what each holds, as bars below.

import { svg } from "../player/draw/elements.js";
import { fmtBytes } from "../player/model/units.js";
import { rect, text } from "../transport/lanechart.js";

const ARCS = 74;
const BOX = 34;
const BARS = 96;
const MAX_DRAWN = 16;
/** Colours of what a GPU holds, from below. */
export const HELD_FILL = {
  weights: "var(--ink3)",
  other: "var(--ink)",
  gradients: "var(--wait)",
  activations: "var(--idle)",
};

/** Bytes that a GPU holds. */
export const totalHeld = (row) => Object.keys(HELD_FILL).reduce((sum, kind) => sum + row[kind], 0);

/** Where GPUs (and a server behind them) stand across a picture: middles, and the room of each. */
export function standing(count, width) {
  const apart = width / Math.max(1, count);
  return { apart, middle: (k) => apart * (k + 0.5) };
}

/** Heights of the parts of a bar, from below: [{kind, y, h}] in a box of `high`, where `most` fills it. */
export function stackOf(row, high, most) {
  let y = high;
  return Object.keys(HELD_FILL).map((kind) => {
    const h = (row[kind] / most) * high;
    y -= h;
    return { kind, y, h };
  });
}

/** Draw a runner's picture into `box`; what moves is drawn by `moveHub`. */
export function drawHub(run, width, most) {
  const { document: step, patterns } = run.data,
    servers = Math.max(0, ...Object.values(patterns).map((p) => p.servers)),
    gpus = step.peak_memory.slice(0, MAX_DRAWN),
    places = standing(gpus.length + servers, width),
    totals = gpus.map(totalHeld),
    least = Math.min(...totals),
    picture = svg("svg", { width, height: ARCS + BOX + BARS + 44, "aria-hidden": "true" });
  run.hub = { arcs: svg("g", {}), places, gpus: gpus.length, drawn: "", width };
  picture.append(run.hub.arcs);
  gpus.forEach((row, k) =>
    picture.append(...gpuBox(places, k, row.rank, totals[k] > least * 1.001), ...heldBar(places, k, row, most)),
  );
  gpus.forEach((row, k) =>
    picture.append(heldWords(places, k, totals[k], totals[k] === Math.max(...totals) && totals[k] > least * 1.001)),
  );
  for (let k = 0; k < servers; k++) picture.append(...serverBox(places, gpus.length + k));
  return picture;
}

const wideOf = (places) => Math.min(46, places.apart - 6);

/** The box of a GPU, or of a server behind them, with its name. */
function endpointBox(places, k, name, { size, fill, ink, edge }) {
  const wide = wideOf(places),
    middle = places.middle(k),
    look = { rx: 6, stroke: edge, "stroke-width": 1.8 };
  return [
    rect(middle - wide / 2, ARCS, wide, BOX, fill, look),
    text(middle, ARCS + 23, name, { size, bold: true, fill: ink, anchor: "middle" }),
  ];
}

function gpuBox(places, k, rank, isFull) {
  const [fill, ink] = isFull ? ["var(--ink)", "var(--card)"] : ["var(--card)", "var(--ink)"],
    size = wideOf(places) < 24 ? 12 : 17;
  return endpointBox(places, k, String(rank), { size, fill, ink, edge: "var(--ink)" });
}

const serverBox = (places, k) =>
  endpointBox(places, k, wideOf(places) < 30 ? "S" : "PS", {
    size: 14,
    fill: "var(--host)",
    ink: "var(--hostink)",
    edge: "var(--hostink)",
  });

function heldBar(places, k, row, most) {
  const wide = wideOf(places),
    left = places.middle(k) - wide / 2,
    top = ARCS + BOX + 16;
  return stackOf(row, BARS, most).map(({ kind, y, h }) => rect(left, top + y, wide, h, HELD_FILL[kind]));
}

function heldWords(places, k, total, isMost) {
  const words = places.apart < 62 ? (total / 2 ** 30).toFixed(total < 10 * 2 ** 30 ? 2 : 0) : fmtBytes(total),
    look = { size: places.apart < 38 ? 12 : 13, ...(isMost && { bold: true, fill: "var(--fulltext)" }) };
  return text(places.middle(k), ARCS + BOX + BARS + 34, words, { ...look, anchor: "middle" });
}

/** The collective that is under way at t, or null. */
export const carriedAt = (step, t) => step.collectives.find((c) => c.begin <= t && t < c.end) ?? null;

/** Draw who sends to whom at t. */
export function moveHub(run, t, moving) {
  const { hub, data } = run,
    now = carriedAt(data.document, t),
    key = now ? now.pattern : "";
  if (hub.drawn !== key) {
    hub.drawn = key;
    hub.curves = key ? arcsOf(hub, data.patterns[key]) : [];
    hub.arcs.replaceChildren(...hub.curves.flatMap(({ path, dot }) => [path, dot]));
  }
  const share = now ? moving(now, t) : 0;
  for (const { dot, at } of hub.curves ?? []) {
    const [x, y] = at(share);
    dot.setAttribute("transform", `translate(${x.toFixed(1)} ${y.toFixed(1)})`);
  }
}

/** An arc for each pair of GPUs that are drawn; a square for what is added up, a circle for a copy. */
function arcsOf(hub, pattern) {
  const { places, gpus } = hub,
    positionOf = (k) => (k < gpus ? k : gpus + (k - pattern.ranks)),
    pairs = pattern.pairs.filter(([a, b]) => [a, b].every((k) => k < gpus || k >= pattern.ranks));
  return pairs.map(([a, b]) => {
    const [x0, x1] = [places.middle(positionOf(a)), places.middle(positionOf(b))],
      high = Math.min(ARCS - 8, 16 + Math.abs(x1 - x0) * 0.16),
      path = `M${x0} ${ARCS}Q${(x0 + x1) / 2} ${ARCS - 2 * high} ${x1} ${ARCS}`,
      line = { d: path, fill: "none", stroke: "var(--full)", "stroke-width": 1.5 },
      sum = { rx: 2, stroke: "var(--ink)", "stroke-width": 1.6 },
      copy = { r: 5, fill: "var(--done)", stroke: "var(--card)", "stroke-width": 1.2 },
      dot = pattern.adds ? rect(-5, -5, 10, 10, "var(--sumfill)", sum) : svg("circle", copy);
    const at = (f) => [(1 - f) * x0 + f * x1, ARCS - 4 * high * f * (1 - f)];
    return { path: svg("path", line), dot, at };
  });
}
