// The timeline as SVG: bands, memory, and two lanes for each kind of GPU; and what moves over it, the cursor.

import { el, setText, svg } from "../player/draw/elements.js";
import { fmtBytes, fmtSpan, timeMarks } from "../player/model/units.js";
import { ROOM, bandsOf, chainPath, fits, memoryPaths, queueOf, rowsOf, textWidth } from "./stepgeometry.js";
import { exposedHatch, hueOf } from "../transport/hues.js";
import { stepWords } from "./stepwords.js";

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
  Object.assign(ui, { layout, labels, width, across: (t) => (step.time > 0 ? t / step.time : 0) * width });
  const high = layout.bottom + (layout.left ? 22 : 0);
  const time = svg("svg", { width, height: high, class: "time", role: "group", "aria-label": stepWords(ui).time });
  time.append(exposedHatch(), ...grid(ui, high), ...bands(ui), ...memoryArea(ui));
  for (const row of layout.rows) time.append(...laneRow(ui, row));
  time.append(...chainOutline(ui), ...queueLines(ui));
  ui.cursor = cursor(high);
  time.append(ui.cursor.group);
  lanes.replaceChildren(labelColumn(ui, high), el("div", { className: "scroll" }, time));
  ui.time = time;
  lightUnderPointer(ui, time);
}

/** Under the pointer the boxes and the line of one bucket stay, all else pales, and a card says what it carries. */
function lightUnderPointer(ui, time) {
  const card = el("div", { className: "hovered", hidden: true });
  ui.lanes.append(card);
  const light = (bucket, at) => {
    const collective = bucket < 0 ? null : ui.data.step.collectives.find((c) => c.bucket === bucket);
    time.classList.toggle("dim", Boolean(collective));
    card.hidden = !collective;
    ui.root.dataset.lit = collective ? collective.name : "";
    if (!collective) return;
    for (const part of time.querySelectorAll(".part"))
      part.classList.toggle("lit", Number(part.dataset.bucket) === bucket);
    card.replaceChildren(...bucketWords(ui, collective));
    const left = at.clientX - ui.lanes.getBoundingClientRect().left + 14;
    card.style.left = `${Math.max(0, Math.min(left, ui.lanes.clientWidth - 250))}px`;
  };
  time.addEventListener("pointerover", (ev) => {
    if (ev.pointerType !== "touch") light(Number(ev.target.closest?.(".part")?.dataset.bucket ?? -1), ev);
  });
  time.addEventListener("pointerleave", (ev) => light(-1, ev));
}

function bucketWords(ui, collective) {
  const w = stepWords(ui),
    { opened } = ui.data,
    name = collective.bucket >= 0 ? `${w.bucket} ${collective.bucket}` : collective.name,
    runs = opened?.name === collective.name && opened.algorithm ? `${opened.algorithm}, ` : "",
    line = (words) => el("span", { textContent: words });
  return [
    el("b", { textContent: `${name}, ${fmtBytes(collective.nbytes)}` }),
    line(w.gradients(collective.tensors, w.layers(collective.from, collective.to))),
    line(`${runs}${fmtSpan(collective.end - collective.begin)}`),
    line(`${w.exposed}: ${fmtSpan(collective.exposed)}`),
  ];
}

const text = (x, y, words, { size = 13, bold = false, fill = "var(--ink2)", anchor = "start" } = {}) =>
  svg("text", { x, y, "font-size": size, "font-weight": bold ? 700 : 400, fill, "text-anchor": anchor }, words);

const rect = (x, y, width, height, fill, more = {}) =>
  svg("rect", { x, y, width: Math.max(0, width), height, fill, ...more });

/** Vertical rules and their times. */
function grid(ui, high) {
  const { data, across, width } = ui;
  return timeMarks(data.step.time, width / 110).flatMap(({ t, text: words }, k) => {
    const x = across(t),
      near = width - x < 24,
      rule = rect(x, ROOM.band, 1, high - ROOM.band, "var(--grid)");
    if (k === 0) return [rule, text(x + 1, ROOM.band + 18, words)];
    return [rule, text(near ? width : x, ROOM.band + 18, words, { anchor: near ? "end" : "middle" })];
  });
}

function bands(ui) {
  const words = stepWords(ui),
    fill = { forward: "var(--rs)", backward: "var(--ag)", after: "var(--fulltint)", optimizer: "var(--casing)" };
  return bandsOf(ui.data.step).flatMap(({ kind, t0, t1 }) => {
    const x = ui.across(t0),
      wide = ui.across(t1) - x,
      ink = kind === "after" ? "var(--fulltext)" : "var(--ink2)",
      named = fits(words.pass[kind], 14, wide)
        ? [text(x + 8, 16, words.pass[kind], { size: 14, bold: true, fill: ink })]
        : [];
    return [rect(x, 0, wide, ROOM.band, fill[kind]), ...named];
  });
}

/** What the fullest GPUs hold over time; the names of kinds where they fit. */
function memoryArea(ui) {
  const { memory, time } = ui.data.step,
    top = ROOM.band + ROOM.axis,
    paths = memoryPaths(memory, ui.across, top, ROOM.memory, time),
    words = stepWords(ui),
    out = paths.map((d, q) =>
      svg("path", { d, fill: MEMORY_FILL[memory.kinds[q]], stroke: "var(--ink3)", "stroke-width": 0.7 }),
    );
  const fixed = memory.bytes[0].map((v, q) => v + memory.bytes[1][q]),
    largest = Math.max(...fixed),
    y = top + ROOM.memory * (1 - largest / (memory.peak || 1));
  if (top + ROOM.memory - y > 17) {
    const label = `${words.kinds.weights}, ${words.kinds.other} ${fmtBytes(largest)}`;
    out.push(
      // The border between the two kinds would cross the words.
      rect(6, top + ROOM.memory - 15.5, textWidth(label, 12) + 8, 13, MEMORY_FILL.other),
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
const ofBucket = (bucket, parts) => svg("g", { class: "part", "data-bucket": bucket }, ...parts);

function computeBox(ui, row, box) {
  const x = ui.across(box.t0),
    wide = Math.max(box.bucket >= 0 ? 2.4 : 1, ui.across(box.t1) - x),
    { y, h } = row.compute,
    hue = box.bucket >= 0 ? hueOf(box.bucket) : { box: "var(--casing)", text: "var(--ink)" },
    words = stepWords(ui),
    mid = x + wide / 2,
    out = [rect(x, y, wide, h, hue.box, { stroke: "var(--card)", "stroke-width": 1 })];
  const name = box.bucket >= 0 ? String(box.bucket) : `${words.box[box.kind] ?? box.name} ${fmtSpan(box.t1 - box.t0)}`,
    short = box.bucket >= 0 ? name : (words.box[box.kind] ?? box.name),
    layers = box.bucket >= 0 && row.compute.h > 44 ? words.layers(box.name, box.last) : "",
    label =
      wide < NARROW_BOX && box.bucket >= 0 ? "" : fits(name, 14, wide) ? name : fits(short, 13, wide) ? short : "",
    two = layers && fits(layers, 12, wide);
  if (label)
    out.push(
      text(mid, y + h / 2 + (two ? -3 : 5), label, {
        size: 14.5,
        bold: box.bucket >= 0,
        fill: hue.text,
        anchor: "middle",
      }),
    );
  if (label && two) out.push(text(mid, y + h / 2 + 15, layers, { size: 12, fill: hue.text, anchor: "middle" }));
  return out;
}

/** A collective: a button that opens it. */
function networkBox(ui, row, box) {
  const x = ui.across(box.t0),
    wide = Math.max(1.5, ui.across(box.t1) - x),
    { y, h } = row.network,
    hue = hueOf(box.bucket),
    collective = ui.data.step.collectives.find((c) => c.name === box.name && c.begin === box.t0);
  const group = svg("g", collective ? { class: "open", role: "button", tabindex: 0, "data-name": box.name } : {});
  if (collective) group.setAttribute("aria-label", stepWords(ui).open(collective));
  group.append(
    rect(x, y, wide, h, hue.box, { stroke: "var(--card)", "stroke-width": 1 }),
    ...boxWords(ui, box, collective, x, wide, y, h),
  );
  return [group];
}

function boxWords(ui, box, collective, x, wide, y, h) {
  const hue = hueOf(box.bucket),
    words = stepWords(ui),
    fill = hue.text,
    number = box.bucket >= 0 ? String(box.bucket) : box.name,
    long = box.bucket >= 0 ? `${words.bucket} ${box.bucket}` : box.name,
    took = fmtSpan(box.t1 - box.t0),
    size = collective ? fmtBytes(collective.nbytes) : "";
  if (wide < NARROW_BOX && !fits(number, 13, wide)) return [];
  const name = fits(long, 14.5, wide) ? long : fits(number, 13, wide) ? number : "";
  if (h < 44)
    return name ? [text(x + wide / 2, y + h / 2 + 5, name, { size: 13, bold: true, fill, anchor: "middle" })] : [];
  const both = textWidth(size, 13) + textWidth(took, 13) + 24 <= wide;
  const below = both
    ? [text(x + 8, y + h - 11, size, { fill }), text(x + wide - 8, y + h - 11, took, { fill, anchor: "end" })]
    : fits(took, 12, wide)
      ? [text(x + wide / 2, y + h - 11, took, { size: 12, fill, anchor: "middle" })]
      : [];
  const at = both ? { anchor: "start" } : { anchor: "middle" };
  return name
    ? [text(both ? x + 8 : x + wide / 2, y + 22, name, { size: 14.5, bold: true, fill, ...at }), ...below]
    : below;
}

/** The alarm of the page: the GPU waits for the network. */
function waitBox(ui, row, t0, t1) {
  const x = ui.across(t0),
    wide = Math.max(1, ui.across(t1) - x),
    { y, h } = row.compute,
    w = stepWords(ui),
    words = [w.waits(fmtSpan(t1 - t0)), fmtSpan(t1 - t0)].find((text) => fits(text, 14.5, wide - 12)),
    out = [rect(x, y, wide, h, "url(#ts-hatch)", { class: "wait" })];
  if (words) {
    const room = textWidth(words, 14.5) + 16;
    out.push(
      rect(x + (wide - room) / 2, y + h / 2 - 12, room, 24, "var(--card)", { rx: 4 }),
      text(x + wide / 2, y + h / 2 + 5, words, { size: 14.5, bold: true, fill: "var(--fulltext)", anchor: "middle" }),
    );
  }
  return out;
}

/** The network as it was without the switches, 6 px high, below the lane. */
function ghostLane(ui, row) {
  if (ui.data.every) return [];
  const { y, h } = row.network;
  return ui.data.ghost.map(([t0, t1]) =>
    rect(
      ui.across(t0),
      y + h + 3,
      Math.max(1, ui.across(Math.min(t1, ui.data.step.time)) - ui.across(t0) - 1),
      6,
      "var(--wait)",
    ),
  );
}

function idleWords(ui, row, boxes) {
  const first = Math.min(...boxes.filter((b) => b.bucket >= 0 && b.stream === "network").map((b) => b.t0)),
    words = stepWords(ui).idle,
    { y, h } = row.network;
  if (!Number.isFinite(first) || h < 44 || !fits(words, 13, ui.across(first) - 20)) return [];
  return [text(ui.across(first) / 2, y + h / 2 + 5, words, { anchor: "middle" })];
}

// ---- over the lanes

function chainOutline(ui) {
  if (ui.data.every) return [];
  const at = (lane, stream) =>
    ui.layout.rows.find((row) => row.lane === lane)?.[stream === "compute" ? "compute" : "network"];
  const d = chainPath(ui.data.step.chain, at, ui.across);
  return d
    ? [
        svg("path", {
          d,
          class: "chain",
          fill: "none",
          stroke: "var(--ink)",
          "stroke-width": 2.4,
          "stroke-linejoin": "round",
        }),
      ]
    : [];
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
      room = textWidth(words, 12) + 8,
      line = { fill: "none", stroke: colour, "stroke-width": 1.8, "stroke-dasharray": "4 3" };
    const path = svg("path", { d: `M${x0} ${y}V${level}H${x1}V${y + h}`, ...line });
    if (x1 - x0 < room + 12) return [ofBucket(c.bucket, [path])];
    const mid = (x0 + x1) / 2,
      patch = rect(mid - room / 2, level - 8, room, 16, "var(--card)");
    return [ofBucket(c.bucket, [path, patch, text(mid, level + 4.5, words, { size: 12, anchor: "middle" })])];
  });
}

// ---- labels and cursor

function labelColumn(ui, high) {
  const words = stepWords(ui),
    { step } = ui.data,
    box = el("div", { className: "labels" }),
    put = (y, name, small = "") => {
      const label = el("div", { className: "label" }, el("b", { textContent: name }));
      if (small) label.append(el("small", { textContent: small }));
      label.style.top = `${y}px`;
      box.append(label);
    };
  box.style.cssText = `width:${ui.labels}px;height:${high}px`;
  put(ROOM.band + ROOM.axis + 10, words.memory, words.peak(fmtBytes(step.memory.peak)));
  for (const row of ui.layout.rows) {
    if (ui.data.every) {
      put(row.compute.y + 12, words.alone(row.first));
      continue;
    }
    const who =
      row.count === 1
        ? words.alone(row.first)
        : row.first === 0
          ? words.alike(0, row.count)
          : words.range(row.first, row.first + row.count - 1);
    put(row.compute.y + (row.compute.h - 40) / 2, words.compute, who);
    if (row.queue.h >= ROOM.queue) box.append(queueLabel(row, words));
    put(
      row.network.y + (row.network.h - 40) / 2 + (row.network.h < 44 ? 8 : 0),
      words.network,
      row.network.h < 44 ? "" : networkNote(ui, words),
    );
  }
  if (ui.layout.left) put(ui.layout.bottom, words.more(ui.layout.left));
  return box;
}

const networkNote = (ui, words) => (ui.data.ghost.length ? words.ghost : "");

function queueLabel(row, words) {
  const label = el("div", { className: "label" }, el("small", { textContent: words.queue }));
  label.style.top = `${row.queue.y + row.queue.h / 2 - 9}px`;
  return label;
}

function cursor(high) {
  const line = rect(-1, ROOM.band, 2, high - ROOM.band, "var(--ink)"),
    head = svg("path", { d: "M-7 0H7V9L0 16L-7 9Z", fill: "var(--ink)" }),
    pill = rect(-38, ROOM.band + 4, 76, 20, "var(--ink)", { rx: 4 }),
    words = text(0, ROOM.band + 18.5, "", { size: 13, bold: true, fill: "var(--card)", anchor: "middle" }),
    flag = svg("g", {}, pill, words);
  return { group: svg("g", { class: "cursor", "pointer-events": "none" }, line, head, flag), flag, words };
}

/** Put the cursor at t, whose words stand in its flag. */
export function moveCursor({ cursor: now, across, width }, t, words) {
  if (!now) return;
  const x = across(t);
  now.group.setAttribute("transform", `translate(${x.toFixed(2)} 0)`);
  now.flag.setAttribute("transform", `translate(${(Math.min(width - 38, Math.max(38, x)) - x).toFixed(2)} 0)`);
  setText(now.words, words);
}
