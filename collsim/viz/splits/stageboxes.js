// The step on a GPU of the first stage and on one of the last: passes, the network, and what is held over time. The
// middle of a long step is cut, with its seconds.

import { put, widthOf } from "../player/draw/canvas.js";
import { FONT } from "../player/model/look.js";
import { niceStep, timeUnit } from "../player/model/units.js";
import { FILLS, hatchOfIdle } from "./laneboxes.js";

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

export const stagesHigh = ({ rows }) => rows.length * STAGE_HIGH + AXIS_HIGH;

/** Draw the stages of a step; `shade(k)` is the share of the colour of memory that its kind has. */
export function drawStages(ctx, drawn, total, width, { colors, shade, fills, words, bytes }) {
  const parts = stretches(total, drawn.cut, STAGE_LEFT, width - 10),
    most = Math.max(...drawn.rows.map((row) => row.most)),
    view = { colors, shade, fills, words, bytes, most, hatch: hatchOfIdle(ctx, colors) };
  ctx.clearRect(0, 0, width, stagesHigh(drawn));
  drawn.rows.forEach((row, k) => {
    const top = k * STAGE_HIGH + 4;
    stageNames(ctx, row, top, drawn.rows.length > 1, view);
    for (const part of parts) clipped(ctx, part, top, () => stageRow(ctx, row, top, part, view));
    if (drawn.cut) cutMark(ctx, parts, top, words.cut(spanOf(drawn.cut[1] - drawn.cut[0], total)), colors);
  });
  for (const part of parts) stageAxis(ctx, part, total, drawn.rows.length * STAGE_HIGH, colors);
}

const spanOf = (t, total) => {
  const { f, unit } = timeUnit(total);
  return `${Number((t * f).toPrecision(3))}\u00a0${unit}`;
};

function clipped(ctx, { left, right }, top, draw) {
  ctx.save();
  ctx.beginPath();
  ctx.rect(left, top - 2, right - left, STAGE_HIGH);
  ctx.clip();
  draw();
  ctx.restore();
}

function stageNames(ctx, row, top, several, { colors, words, bytes }) {
  const right = { align: "right" },
    name = several ? words.stage(row.stage) : words.oneGpu;
  put(ctx, name, STAGE_LEFT - 8, top + 16, 13, colors.ink, { ...right, bold: true });
  put(ctx, words.network, STAGE_LEFT - 8, top + PASS_HIGH + 12, 12, colors.ink2, right);
  put(ctx, words.memoryLabel, STAGE_LEFT - 8, top + PASS_HIGH + NET_HIGH + 24, 12, colors.ink2, right);
  put(ctx, bytes(row.most), STAGE_LEFT - 8, top + PASS_HIGH + NET_HIGH + 39, 12, colors.ink2, right);
}

function stageRow(ctx, row, top, part, view) {
  const { colors, hatch, fills } = view,
    at = (t) => part.left + ((t - part.from) / (part.to - part.from)) * (part.right - part.left);
  ctx.fillStyle = hatch;
  ctx.fillRect(part.left, top, part.right - part.left, PASS_HIGH);
  for (const box of row.boxes) passBox(ctx, box, at, top, colors);
  const net = top + PASS_HIGH + 3;
  ctx.fillStyle = colors.grid;
  ctx.fillRect(part.left, net, part.right - part.left, NET_HIGH);
  for (const [a, b, axis] of row.network) {
    ctx.fillStyle = colors[fills[axis]];
    const y = net + (INSIDE_LAYERS.includes(axis) ? 0 : NET_HIGH / 2);
    ctx.fillRect(at(a), y, Math.max(0.7, at(b) - at(a)), NET_HIGH / 2);
  }
  memoryArea(ctx, row.memory, at, part, net + NET_HIGH + 4, view);
}

function passBox(ctx, [a, b, micro, kind], at, top, colors) {
  const [fill, , ink] = FILLS[kind] ?? FILLS.opt,
    x = at(a),
    wide = Math.max(0.8, at(b) - x - (at(b) - x > 3 ? 0.8 : 0));
  ctx.fillStyle = colors.card;
  ctx.fillRect(x, top, at(b) - x, PASS_HIGH);
  ctx.fillStyle = colors[kind === "F" && wide < 5 ? "idle" : fill];
  ctx.fillRect(x, top, wide, PASS_HIGH);
  if (kind === "F" && wide >= 5) {
    ctx.strokeStyle = colors.edge;
    ctx.lineWidth = 1;
    ctx.strokeRect(x + 0.5, top + 0.5, wide - 1, PASS_HIGH - 1);
  }
  const label = micro < 0 ? "" : String(micro);
  if (label && wide >= NUMBER_WIDE && widthOf(ctx, label, 12, false) < wide - 2)
    put(ctx, label, x + wide / 2, top + 15, 12, colors[ink], { align: "center" });
}

/** What is held, by kind on one another; a full ruler is the most that either GPU holds. */
function memoryArea(ctx, levels, at, part, top, { colors, shade, most }) {
  const floor = top + HELD_HIGH,
    spans = levels.map((row, k) => [at(row[0]), at(levels[k + 1]?.[0] ?? part.to), row]),
    high = (row, kinds) => floor - (HELD_HIGH * row.slice(1, 1 + kinds).reduce((sum, size) => sum + size, 0)) / most;
  ctx.fillStyle = colors.room;
  for (let kind = 0; kind < (levels[0]?.length ?? 1) - 1; kind++) {
    ctx.beginPath();
    for (const [x, end, row] of spans) for (const edge of [x, end]) ctx.lineTo(edge, high(row, kind + 1));
    for (const [x, end, row] of spans.toReversed()) for (const edge of [end, x]) ctx.lineTo(edge, high(row, kind));
    ctx.globalAlpha = shade(kind);
    ctx.fill();
  }
  ctx.globalAlpha = 1;
}

function cutMark(ctx, parts, top, label, colors) {
  const [before, after] = parts,
    middle = (before.right + after.left) / 2;
  put(ctx, label, middle, top + 16, 13, colors.ink, { align: "center", bold: true });
  ctx.strokeStyle = colors.edge;
  ctx.setLineDash([3, 3]);
  ctx.beginPath();
  for (const x of [before.right + 1.5, after.left - 1.5]) {
    ctx.moveTo(x, top);
    ctx.lineTo(x, top + STAGE_HIGH - 16);
  }
  ctx.stroke();
  ctx.setLineDash([]);
}

function stageAxis(ctx, { from, to, left, right }, total, top, colors) {
  const every = niceStep(to - from, Math.max(2, (right - left) / 80)),
    { f, unit } = timeUnit(total);
  ctx.font = `12px ${FONT}`;
  for (let k = Math.ceil(from / every - 1e-9); k * every <= to * (1 + 1e-12); k++) {
    const x = left + ((k * every - from) / (to - from)) * (right - left);
    ctx.fillStyle = colors.edge;
    ctx.fillRect(x, top, 1, 5);
    const label = `${Number((k * every * f).toPrecision(6))}${k === 0 ? `\u00a0${unit}` : ""}`;
    put(ctx, label, Math.min(x, right - widthOf(ctx, label, 12, false) / 2), top + 18, 12, colors.ink2, {
      align: "center",
    });
  }
}
