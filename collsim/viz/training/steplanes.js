// The timeline of a step: bands, memory, and two lanes for each kind of GPU.

import { el, svg } from "../player/draw/elements.js";
import { fmtBytes, fmtSpan, timeMarks } from "../player/model/units.js";
import { exposedHatch, hueOf } from "../transport/hues.js";
import {
  createChart,
  createCursor,
  fits,
  followPointer,
  labelIn,
  lightUp,
  patched,
  rect,
  spanOf,
  stackPaths,
  text,
  textWidth,
  timeAxis,
} from "../transport/lanechart.js";
import { sayGradients, sayOpen, spanLayers } from "./stepwords.js";
import { ROOM, bandsOf, chainPath, queueOf, rowsOf } from "./stepgeometry.js";
import { fill } from "../words/choice.js";

const MIN_TIME = 560; // pixels of the time column below which the timeline scrolls sideways
const NARROW_BOX = 24; // pixels below which a box has no number
const MEMORY_FILL = {
  weights: "var(--idle)",
  other: "var(--idle)",
  gradients: "var(--line)",
  activations: "var(--casing)",
};

/** Draw everything that stands still, at the width that the card has. */
export function drawLanes(ui) {
  const { data, lanes } = ui,
    step = data.step,
    layout = rowsOf(step, data.every),
    labels = ui.slim ? 92 : ui.small ? 150 : 216,
    width = Math.max(MIN_TIME, ui.wide - labels - 2);
  const height = layout.bottom + (layout.left ? 22 : 0),
    look = { class: "time", role: "group", "aria-label": ui.words.time },
    chart = createChart({ width, height, total: step.time, ...look }),
    { picture } = chart,
    marks = timeMarks(step.time, width / 110);
  Object.assign(ui, { layout, labels, width, chart, across: chart.across });
  picture.append(exposedHatch(), ...timeAxis(chart, marks, { y: ROOM.band + 18, top: ROOM.band }));
  picture.append(...bands(ui), ...memoryArea(ui));
  for (const row of layout.rows) picture.append(...laneRow(ui, row));
  picture.append(...chainOutline(ui), ...queueLines(ui));
  ui.cursor = createCursor(chart, { top: ROOM.band, flag: ROOM.band + 14 });
  ui.cursor.node.append(svg("path", { d: "M-7 0H7V9L0 16L-7 9Z", fill: "var(--ink)" }));
  picture.append(ui.cursor.node, ...raiseLabels(picture));
  lanes.replaceChildren(labelColumn(ui, height), el("div.scroll", picture));
  lightUnderPointer(ui, picture);
}

/** The texts of boxes, above the cursor: it would stand on the number of the bucket that is open. */
const raiseLabels = (picture) =>
  [...picture.querySelectorAll("g[data-key]")].map((group) =>
    svg(
      "g",
      { "data-key": group.dataset.key, "pointer-events": "none" },
      ...group.querySelectorAll("text[paint-order]"),
    ),
  );

/** A text on a box, with a rim that interrupts the cursor behind it. */
const onBox = (hue) => ({ fill: hue.text, stroke: hue.box, "stroke-width": 4, "paint-order": "stroke" });

/** Under the pointer the boxes and the line of one bucket stay, all else pales, and a card says what it carries. */
function lightUnderPointer(ui, picture) {
  const card = el("div.hovered", { hidden: true });
  ui.lanes.append(card);
  followPointer(picture, (key, at) => {
    const collective = ui.data.step.collectives.find((c) => c.bucket >= 0 && String(c.bucket) === key);
    lightUp(picture, collective ? key : null);
    card.hidden = !collective;
    ui.root.dataset.lit = collective ? collective.name : "";
    if (!collective) return;
    card.replaceChildren(...bucketWords(ui, collective));
    const left = at.clientX - ui.lanes.getBoundingClientRect().left + 14;
    card.style.left = `${Math.max(0, Math.min(left, ui.lanes.clientWidth - 250))}px`;
  });
}

function bucketWords(ui, collective) {
  const w = ui.words,
    { opened } = ui.data,
    name = collective.bucket >= 0 ? `${w.bucket} ${collective.bucket}` : collective.name,
    runs = opened?.name === collective.name && opened.algorithm ? `${opened.algorithm}, ` : "",
    line = (words) => el("span", words);
  return [
    el("b", `${name}, ${fmtBytes(collective.nbytes)}`),
    line(sayGradients(w, collective)),
    line(`${runs}${fmtSpan(collective.end - collective.begin)}`),
    line(`${w.exposed}: ${fmtSpan(collective.exposed)}`),
  ];
}

function bands(ui) {
  const words = ui.words,
    fill = { forward: "var(--rs)", backward: "var(--ag)", after: "var(--fulltint)", optimizer: "var(--casing)" };
  return bandsOf(ui.data.step).flatMap(({ kind, t0, t1 }) => {
    const { x, wide } = spanOf(ui.chart, t0, t1, 0),
      ink = kind === "after" ? "var(--fulltext)" : "var(--ink2)",
      named = fits(words.pass[kind], 14, wide, true)
        ? [text(x + 8, 16, words.pass[kind], { size: 14, bold: true, fill: ink })]
        : [];
    return [rect(x, 0, wide, ROOM.band, fill[kind]), ...named];
  });
}

/** What the fullest GPUs hold over time; the names of kinds where they fit. */
function memoryArea(ui) {
  const { memory, time } = ui.data.step,
    top = ROOM.band + ROOM.axis,
    height = (bytes) => top + ROOM.memory * (1 - bytes / (memory.peak || 1)),
    paths = stackPaths(memory.t, memory.bytes, time, ui.across, height),
    words = ui.words,
    out = paths.map((d, q) =>
      svg("path", { d, fill: MEMORY_FILL[memory.kinds[q]], stroke: "var(--ink3)", "stroke-width": 0.7 }),
    );
  const fixed = memory.bytes[0].map((v, q) => v + memory.bytes[1][q]),
    largest = Math.max(...fixed),
    y = height(largest);
  if (top + ROOM.memory - y > 17) {
    const label = `${words.kinds.weights}, ${words.kinds.other} ${fmtBytes(largest)}`;
    out.push(
      // The border between the two kinds would cross the words.
      rect(6, top + ROOM.memory - 15.5, textWidth(label, 13) + 4, 13, MEMORY_FILL.other),
      text(8, top + ROOM.memory - 5, label, { fill: "var(--ink)" }),
    );
  }
  return out;
}

// ---- a pair of lanes

function laneRow(ui, row) {
  const { step } = ui.data,
    boxes = step.boxes.filter((b) => b.lane === row.lane),
    servers = boxes.some((b) => b.stream === "servers"),
    out = [
      rect(0, row.compute.y, ui.width, row.compute.h, "var(--sunk)"),
      rect(0, row.network.y, ui.width, row.network.h, "var(--sunk)"),
    ];
  for (const box of boxes) {
    if (box.stream === "compute") out.push(ofBucket(box.bucket, computeBox(ui, row, box)));
    else if (box.stream === "network" || servers) out.push(ofBucket(box.bucket, networkBox(ui, row, box)));
  }
  for (const [lane, t0, t1] of step.waits) if (lane === row.lane) out.push(ofBucket(-1, waitBox(ui, row, t0, t1)));
  out.push(...ghostLane(ui, row), ...idleWords(ui, row, boxes));
  return out;
}

/** What belongs to a bucket (-1: to none), so that it can be lit with the rest of it. */
const ofBucket = (bucket, parts) => svg("g", { "data-key": bucket }, ...parts);

function computeBox(ui, row, box) {
  const isOfBucket = box.bucket >= 0,
    span = spanOf(ui.chart, box.t0, box.t1, isOfBucket ? 2.4 : 1),
    { x, wide } = span,
    { y, h } = row.compute,
    hue = isOfBucket ? hueOf(box.bucket) : { box: "var(--casing)", text: "var(--ink)" },
    words = ui.words,
    kind = words.box[box.kind] ?? box.name,
    names = isOfBucket ? [wide < NARROW_BOX ? "" : String(box.bucket)] : [`${kind} ${fmtSpan(box.t1 - box.t0)}`, kind],
    layers = isOfBucket && h > 44 ? spanLayers(box.name, box.last) : "",
    isTwo = layers && fits(layers, 12, wide),
    look = { size: 14.5, bold: isOfBucket, ...onBox(hue) },
    label = labelIn(span, y + h / 2 + (isTwo ? -3 : 5), names, look),
    below = label.length && isTwo ? labelIn(span, y + h / 2 + 15, [layers], { ...look, size: 12, bold: false }) : [];
  return [rect(x, y, wide, h, hue.box, { stroke: "var(--card)", "stroke-width": 1 }), ...label, ...below];
}

/** A collective: a button that opens it. */
function networkBox(ui, row, box) {
  const span = spanOf(ui.chart, box.t0, box.t1, 1.5),
    { x, wide } = span,
    { y, h } = row.network,
    hue = hueOf(box.bucket),
    collective = ui.data.step.collectives.find((c) => c.name === box.name && c.begin === box.t0);
  const group = svg("g", collective ? { class: "open", role: "button", tabindex: 0, "data-name": box.name } : {});
  if (collective) group.setAttribute("aria-label", sayOpen(ui.words, collective));
  group.append(
    rect(x, y, wide, h, hue.box, { stroke: "var(--card)", "stroke-width": 1 }),
    ...boxWords(ui, box, collective, span, row.network),
  );
  return [group];
}

function boxWords(ui, box, collective, span, { y, h }) {
  const { x, wide } = span,
    ink = onBox(hueOf(box.bucket)),
    number = box.bucket >= 0 ? String(box.bucket) : box.name,
    long = box.bucket >= 0 ? `${ui.words.bucket} ${box.bucket}` : box.name,
    took = fmtSpan(box.t1 - box.t0),
    size = collective ? fmtBytes(collective.nbytes) : "",
    bold = { bold: true, ...ink },
    isNarrow = wide < NARROW_BOX && !fits(number, 13, wide);
  if (isNarrow) return [];
  if (h < 44) return labelIn(span, y + h / 2 + 5, [long, number], bold);
  if (textWidth(size, 13) + textWidth(took, 13) + 24 > wide)
    return [
      ...labelIn(span, y + 22, [long, number], { size: 14.5, ...bold }),
      ...labelIn(span, y + h - 11, [took], { size: 12, ...ink }),
    ];
  return [
    text(x + 8, y + 22, fits(long, 14.5, wide, true) ? long : number, { size: 14.5, ...bold }),
    text(x + 8, y + h - 11, size, ink),
    text(x + wide - 8, y + h - 11, took, { ...ink, anchor: "end" }),
  ];
}

/** The alarm of the page: the GPU waits for the network. */
function waitBox(ui, row, t0, t1) {
  const { x, wide } = spanOf(ui.chart, t0, t1),
    { y, h } = row.compute,
    took = fmtSpan(t1 - t0),
    words = [fill(ui.words.waits, { time: took }), took].find((text) => fits(text, 14.5, wide - 12, true)),
    look = { size: 14.5, bold: true, high: 24, fill: "var(--fulltext)" };
  return [
    rect(x, y, wide, h, "url(#ts-hatch)", { class: "wait" }),
    ...(words ? patched(x + wide / 2, y + h / 2, words, look) : []),
  ];
}

/** The network as it was without the switches, 6 px high, below the lane. */
function ghostLane(ui, row) {
  if (ui.data.every) return [];
  const { y, h } = row.network;
  return ui.data.ghost.map(([t0, t1]) => {
    const { x, wide } = spanOf(ui.chart, t0, Math.min(t1, ui.data.step.time));
    return rect(x, y + h + 3, Math.max(1, wide - 1), 6, "var(--wait)");
  });
}

function idleWords(ui, row, boxes) {
  const first = Math.min(...boxes.filter((b) => b.bucket >= 0 && b.stream === "network").map((b) => b.t0)),
    words = ui.words.idle,
    { y, h } = row.network;
  if (!Number.isFinite(first) || h < 44 || !fits(words, 13, ui.across(first) - 20)) return [];
  return [text(ui.across(first) / 2, y + h / 2 + 5, words, { anchor: "middle" })];
}

// ---- over the lanes

function chainOutline(ui) {
  if (ui.data.every) return [];
  const at = (lane, stream) =>
    ui.layout.rows.find((row) => row.lane === lane)?.[stream === "compute" ? "compute" : "network"];
  const line = chainPath(ui.data.step.chain, at, ui.across),
    look = { class: "chain", fill: "none", stroke: "var(--ink)", "stroke-width": 2.4, "stroke-linejoin": "round" };
  return line ? [svg("path", { d: line, ...look, "data-key": -1 })] : [];
}

function queueLines(ui) {
  const row = ui.layout.rows[0];
  if (ui.data.every || !row || row.queue.h < ROOM.queue) return [];
  const { y, h } = row.queue;
  return queueOf(ui.data.step).flatMap((c) => {
    const [x0, x1] = [ui.across(c.ready), ui.across(c.begin)],
      level = y + 10 + (c.level * (h - 22)) / 2,
      colour = hueOf(c.bucket).box,
      words = fmtSpan(c.begin - c.ready),
      line = { fill: "none", stroke: colour, "stroke-width": 1.8, "stroke-dasharray": "4 3" };
    const path = svg("path", { d: `M${x0} ${y}V${level}H${x1}V${y + h}`, ...line });
    const isNamed = x1 - x0 > textWidth(words, 12) + 20,
      label = isNamed ? patched((x0 + x1) / 2, level, words, { size: 12, high: 16 }) : [];
    return [ofBucket(c.bucket, [path, ...label])];
  });
}

// ---- labels

function labelColumn(ui, high) {
  const words = ui.words,
    { step } = ui.data,
    box = el("div.labels"),
    put = (y, name, small = "") => {
      box.append(el("div.label", { style: `top:${y}px` }, name && el("b", name), small && el("small", small)));
    };
  box.style.cssText = `width:${ui.labels}px;height:${high}px`;
  put(ROOM.band + ROOM.axis + 10, words.memory, fill(words.peak, { bytes: fmtBytes(step.memory.peak) }));
  for (const row of ui.layout.rows) {
    if (ui.data.every) {
      put(row.compute.y + 12, fill(words.alone, { gpu: row.first }));
      continue;
    }
    const { compute, queue, network } = row,
      isLow = network.h < 44;
    put(compute.y + (compute.h - 40) / 2, words.compute, nameRow(row, words));
    if (queue.h >= ROOM.queue) put(queue.y + queue.h / 2 - 9, "", words.queue);
    const note = !isLow && ui.data.ghost.length ? words.ghost : "";
    put(network.y + (network.h - 40) / 2 + (isLow ? 8 : 0), words.network, note);
  }
  if (ui.layout.left) put(ui.layout.bottom, fill(words.more, { count: ui.layout.left }));
  return box;
}

/** The GPUs that a row stands for. */
function nameRow({ first, count }, words) {
  if (count === 1) return fill(words.alone, { gpu: first });
  if (first === 0) return fill(words.alike, { gpu: 0, others: count - 1 });
  return fill(words.range, { first, last: first + count - 1 });
}
