// The step on a GPU of the first stage and on one of the last: passes, the network, and what is held over time. The
// middle of a long step is cut, with its seconds.

import { hatch, svg } from "../player/draw/elements.js";
import { niceStep, timeUnit } from "../player/model/units.js";
import { labelIn, rect, spanOf, stackPaths, text, textWidth } from "../transport/lanechart.js";
import { FILLS } from "./laneboxes.js";
import { fill } from "../words/choice.js";

const STAGE_LEFT = 78;
const CUT_WIDE = 74;
const [PASS_HIGH, NET_HIGH, HELD_HIGH, STAGE_HIGH, AXIS_HIGH] = [22, 10, 32, 92, 24];
const INSIDE_LAYERS = ["tensor", "context", "expert"]; // in the upper half of the network, all else in the lower
const NUMBER_WIDE = 11; // a box narrower than this carries no number

/** Stretches of time that are drawn, on a ruler of so many pixels: [{from, to, left, right}], with one scale. */
export function stretches(total, cut, left, right) {
  if (!cut) return [{ from: 0, to: total, left, right }];
  const [low, high] = cut,
    scale = (right - left - CUT_WIDE) / (low + total - high),
    middle = left + low * scale;
  return [
    { from: 0, to: low, left, right: middle },
    { from: high, to: total, left: middle + CUT_WIDE, right },
  ];
}

/** The stages of a step as a picture; `shade(k)` is the share of the colour of memory that its kind has. */
export function drawStages(drawn, total, width, { shade, fills, words, bytes, ...look }) {
  const parts = stretches(total, drawn.cut, STAGE_LEFT, width - 10),
    bottom = drawn.rows.length * STAGE_HIGH,
    most = Math.max(...drawn.rows.map((row) => row.most)),
    view = { shade, fills, words, bytes, most },
    lines = { size: 5.6, width: 1.3, paper: "none", ink: "var(--wait)" },
    cut = drawn.cut && fill(words.cut, { time: durationOf(drawn.cut[1] - drawn.cut[0], total) }),
    rows = drawn.rows.flatMap((row, k) => {
      const top = k * STAGE_HIGH + 4,
        stretched = parts.map((part) => stageRow(row, top, part, view));
      return [
        ...stageNames(row, top, drawn.rows.length > 1, view),
        ...stretched,
        ...(cut ? cutMark(parts, top, cut) : []),
      ];
    });
  const axis = parts.flatMap((part) => stageAxis(part, total, bottom));
  return svg(
    "svg",
    { width, height: bottom + AXIS_HIGH, role: "img", ...look },
    hatch("sm-hatch", lines),
    ...rows,
    ...axis,
  );
}

const durationOf = (t, total) => {
  const { f, unit } = timeUnit(total);
  return `${Number((t * f).toPrecision(3))}\u00a0${unit}`;
};

function stageNames(row, top, several, { words, bytes }) {
  const x = STAGE_LEFT - 8,
    below = top + PASS_HIGH,
    look = { size: 12, anchor: "end" },
    name = several ? fill(words.stage, { stage: row.stage }) : words.oneGpu;
  return [
    text(x, top + 16, name, { bold: true, fill: "var(--ink)", anchor: "end" }),
    text(x, below + 12, words.network, look),
    text(x, below + NET_HIGH + 24, words.memoryLabel, look),
    text(x, below + NET_HIGH + 39, bytes(row.most), look),
  ];
}

/** What a stage does in a stretch of time, as a picture in the picture: what sticks out is cut off. */
function stageRow(row, top, { from, to, left, right }, view) {
  const wide = right - left,
    net = PASS_HIGH + 3,
    across = (t) => ((t - from) / (to - from)) * wide,
    sent = row.network.map(([t0, t1, axis]) => {
      const { x, wide: room } = spanOf({ across }, t0, t1, 0.7),
        y = net + (INSIDE_LAYERS.includes(axis) ? 0 : NET_HIGH / 2);
      return rect(x, y, room, NET_HIGH / 2, `var(--${view.fills[axis]})`);
    });
  return svg(
    "svg",
    { x: left, y: top, width: wide, height: STAGE_HIGH - 4 },
    rect(0, 0, wide, PASS_HIGH, "url(#sm-hatch)"),
    ...row.boxes.flatMap((box) => passBox(box, across)),
    rect(0, net, wide, NET_HIGH, "var(--grid)"),
    ...sent,
    ...memoryArea(row.memory, across, to, net + NET_HIGH + 4 + HELD_HIGH, view),
  );
}

function passBox([t0, t1, micro, kind], across) {
  const [fill, , ink] = FILLS[kind] ?? FILLS.opt,
    { x, wide: whole } = spanOf({ across }, t0, t1, 0.8),
    wide = Math.max(0.8, whole - (whole > 3 ? 0.8 : 0)),
    isPale = kind === "F" && wide < 5,
    edge = kind === "F" && wide >= 5 ? { stroke: "var(--edge)" } : {},
    label = micro < 0 || wide < NUMBER_WIDE ? "" : String(micro);
  return [
    rect(x, 0, whole, PASS_HIGH, "var(--card)"),
    rect(x, 0, wide, PASS_HIGH, `var(--${isPale ? "idle" : fill})`, edge),
    ...labelIn({ x: x - 3, wide: wide + 6 }, 15, [label], { size: 12, fill: `var(--${ink})` }),
  ];
}

/** What is held, by kind on one another; a full ruler is the most that either GPU holds. */
function memoryArea(levels, across, end, floor, { shade, most }) {
  const kinds = Array.from({ length: Math.max(0, (levels[0]?.length ?? 1) - 1) }, (_, kind) =>
      levels.map((row) => row[kind + 1]),
    ),
    times = levels.map(([t]) => t),
    areas = stackPaths(times, kinds, end, across, (sum) => floor - (HELD_HIGH * sum) / most);
  return areas.map((path, kind) => svg("path", { d: path, fill: "var(--room)", "fill-opacity": shade(kind) }));
}

function cutMark(parts, top, label) {
  const [before, after] = parts,
    lines = [before.right + 1.5, after.left - 1.5].map((x) => `M${x} ${top}v${STAGE_HIGH - 16}`).join("");
  return [
    text((before.right + after.left) / 2, top + 16, label, { bold: true, fill: "var(--ink)", anchor: "middle" }),
    svg("path", { d: lines, stroke: "var(--edge)", "stroke-dasharray": "3 3" }),
  ];
}

function stageAxis({ from, to, left, right }, total, top) {
  const every = niceStep(to - from, Math.max(2, (right - left) / 80)),
    { f, unit } = timeUnit(total),
    out = [];
  for (let k = Math.ceil(from / every - 1e-9); k * every <= to * (1 + 1e-12); k++) {
    const x = left + ((k * every - from) / (to - from)) * (right - left),
      label = `${Number((k * every * f).toPrecision(6))}${k === 0 ? `\u00a0${unit}` : ""}`,
      middle = Math.min(x, right - textWidth(label, 12) / 2);
    out.push(rect(x, top, 1, 5, "var(--edge)"), text(middle, top + 18, label, { size: 12, anchor: "middle" }));
  }
  return out;
}
