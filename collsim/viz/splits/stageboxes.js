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
export function drawStages(g, drawn, total, width, { C, shade, fills, words, bytes }) {
  const parts = stretches(total, drawn.cut, STAGE_LEFT, width - 10),
    most = Math.max(...drawn.rows.map((row) => row.most)),
    view = { C, shade, fills, words, bytes, most, hatch: hatchOfIdle(g, C) };
  g.clearRect(0, 0, width, stagesHigh(drawn));
  drawn.rows.forEach((row, k) => {
    const top = k * STAGE_HIGH + 4;
    stageNames(g, row, top, drawn.rows.length > 1, view);
    for (const part of parts) clipped(g, part, top, () => stageRow(g, row, top, part, view));
    if (drawn.cut) cutMark(g, parts, top, words.cut(spanOf(drawn.cut[1] - drawn.cut[0], total)), C);
  });
  for (const part of parts) stageAxis(g, part, total, drawn.rows.length * STAGE_HIGH, C);
}

const spanOf = (t, total) => {
  const { f, unit } = timeUnit(total);
  return `${Number((t * f).toPrecision(3))}\u00a0${unit}`;
};

function clipped(g, { left, right }, top, draw) {
  g.save();
  g.beginPath();
  g.rect(left, top - 2, right - left, STAGE_HIGH);
  g.clip();
  draw();
  g.restore();
}

function stageNames(g, row, top, several, { C, words, bytes }) {
  const right = { align: "right" },
    name = several ? words.stage(row.stage) : words.oneGpu;
  put(g, name, STAGE_LEFT - 8, top + 16, 13, C.ink, { ...right, bold: true });
  put(g, words.network, STAGE_LEFT - 8, top + PASS_HIGH + 12, 12, C.ink2, right);
  put(g, words.held, STAGE_LEFT - 8, top + PASS_HIGH + NET_HIGH + 24, 12, C.ink2, right);
  put(g, bytes(row.most), STAGE_LEFT - 8, top + PASS_HIGH + NET_HIGH + 39, 12, C.ink2, right);
}

function stageRow(g, row, top, part, view) {
  const { C, hatch, fills } = view,
    at = (t) => part.left + ((t - part.from) / (part.to - part.from)) * (part.right - part.left);
  g.fillStyle = hatch;
  g.fillRect(part.left, top, part.right - part.left, PASS_HIGH);
  for (const box of row.boxes) passBox(g, box, at, top, C);
  const net = top + PASS_HIGH + 3;
  g.fillStyle = C.grid;
  g.fillRect(part.left, net, part.right - part.left, NET_HIGH);
  for (const [a, b, way] of row.network) {
    g.fillStyle = C[fills[way]];
    const y = net + (INSIDE_LAYERS.includes(way) ? 0 : NET_HIGH / 2);
    g.fillRect(at(a), y, Math.max(0.7, at(b) - at(a)), NET_HIGH / 2);
  }
  heldArea(g, row.held, at, part, net + NET_HIGH + 4, view);
}

function passBox(g, [a, b, micro, kind], at, top, C) {
  const [fill, , ink] = FILLS[kind] ?? FILLS.opt,
    x = at(a),
    wide = Math.max(0.8, at(b) - x - (at(b) - x > 3 ? 0.8 : 0));
  g.fillStyle = C.card;
  g.fillRect(x, top, at(b) - x, PASS_HIGH);
  g.fillStyle = C[kind === "F" && wide < 5 ? "idle" : fill];
  g.fillRect(x, top, wide, PASS_HIGH);
  if (kind === "F" && wide >= 5) {
    g.strokeStyle = C.edge;
    g.lineWidth = 1;
    g.strokeRect(x + 0.5, top + 0.5, wide - 1, PASS_HIGH - 1);
  }
  const said = micro < 0 ? "" : String(micro);
  if (said && wide >= NUMBER_WIDE && widthOf(g, said, 12, false) < wide - 2)
    put(g, said, x + wide / 2, top + 15, 12, C[ink], { align: "center" });
}

/** What is held, by kind on one another; a full ruler is the most that either GPU holds. */
function heldArea(g, held, at, part, top, { C, shade, most }) {
  const floor = top + HELD_HIGH,
    spans = held.map((row, k) => [at(row[0]), at(held[k + 1]?.[0] ?? part.to), row]),
    high = (row, kinds) => floor - (HELD_HIGH * row.slice(1, 1 + kinds).reduce((sum, size) => sum + size, 0)) / most;
  g.fillStyle = C.room;
  for (let kind = 0; kind < (held[0]?.length ?? 1) - 1; kind++) {
    g.beginPath();
    for (const [x, end, row] of spans) for (const edge of [x, end]) g.lineTo(edge, high(row, kind + 1));
    for (const [x, end, row] of spans.toReversed()) for (const edge of [end, x]) g.lineTo(edge, high(row, kind));
    g.globalAlpha = shade(kind);
    g.fill();
  }
  g.globalAlpha = 1;
}

function cutMark(g, [before, after], top, said, C) {
  const middle = (before.right + after.left) / 2;
  put(g, said, middle, top + 16, 13, C.ink, { align: "center", bold: true });
  g.strokeStyle = C.edge;
  g.setLineDash([3, 3]);
  g.beginPath();
  for (const x of [before.right + 1.5, after.left - 1.5]) {
    g.moveTo(x, top);
    g.lineTo(x, top + STAGE_HIGH - 16);
  }
  g.stroke();
  g.setLineDash([]);
}

function stageAxis(g, { from, to, left, right }, total, top, C) {
  const every = niceStep(to - from, Math.max(2, (right - left) / 80)),
    { f, unit } = timeUnit(total);
  g.font = `12px ${FONT}`;
  for (let k = Math.ceil(from / every - 1e-9); k * every <= to * (1 + 1e-12); k++) {
    const x = left + ((k * every - from) / (to - from)) * (right - left);
    g.fillStyle = C.edge;
    g.fillRect(x, top, 1, 5);
    const said = `${Number((k * every * f).toPrecision(6))}${k === 0 ? `\u00a0${unit}` : ""}`;
    put(g, said, Math.min(x, right - widthOf(g, said, 12, false) / 2), top + 18, 12, C.ink2, { align: "center" });
  }
}
