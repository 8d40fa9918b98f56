// Nodes as boxes, GPUs as squares in them: the clicked rank and its groups by colour.

import { box, fillRect, put } from "../player/draw/canvas.js";
import { groupsOfRank, nodesInColumns } from "./splitgroups.js";

export const GROUP_FILL = { tp: "room", cp: "near", ep: "sum2", dp: "done", pp: "hostink" };
const MAP_LEFT = 30;
const MAP_TOP = 20;
const MAX_HEIGHT = 420;

/** How a map of `width` pixels is laid out: the GPUs of a node in as many rows as make their squares largest. */
export function mapLayout(document, width) {
  const layout = nodesInColumns(document),
    wide = Math.min(150, (width - MAP_LEFT) / layout.columns),
    air = Math.min(6, MAX_HEIGHT / layout.rows / 4), // between the squares of two nodes below one another
    candidates = [4, 2, 8, 16, 1]
      .filter((across) => across <= Math.max(4, document.per))
      .map((most) => {
        const across = Math.min(document.per, most),
          down = Math.ceil(document.per / across),
          square = Math.max(1, Math.min(20, (wide - 6) / across - 1, (MAX_HEIGHT / layout.rows - air) / down - 1));
        return { across, down, square };
      }),
    best = candidates.reduce((a, b) => (b.square > a.square + 0.5 ? b : a)),
    high = best.down * (best.square + 1) + air;
  return { ...layout, ...best, wide, air, boxHigh: high, high: MAP_TOP + layout.rows * high + 4 };
}

/** Draw the map; `rank` is the one that was clicked. */
export function drawNodeMap(ctx, document, layout, rank, colors) {
  const groups = groupsOfRank(rank, document),
    fill = new Map();
  for (const axis of ["pp", "dp", "ep", "cp", "tp"])
    for (const member of groups[axis] ?? []) fill.set(member, colors[GROUP_FILL[axis]]);
  fill.set(rank, colors.ink);
  const hit = new Set([...fill.keys()].map((member) => Math.floor(member / document.per)));
  ctx.clearRect(0, 0, ctx.canvas.width, ctx.canvas.height);
  if (layout.stages) stageNumbers(ctx, layout, colors);
  layout.places.forEach((cell, node) => nodeBox(ctx, { document, layout, colors, fill, hit }, cell, node));
  return groups;
}

function stageNumbers(ctx, { columns, wide }, colors) {
  const every = Math.ceil(20 / wide);
  for (let k = 0; k < columns; k += every)
    put(ctx, String(k), MAP_LEFT + (k + 0.5) * wide, 13, 12, colors.ink2, { align: "center" });
}

function nodeBox(ctx, { document, layout, colors, fill, hit }, cell, node) {
  const { square, across, wide, air, boxHigh } = layout,
    inner = across * (square + 1) + 3,
    x = MAP_LEFT + cell.column * wide + (wide - inner) / 2,
    y = MAP_TOP + cell.row * boxHigh;
  const [edge, lw] = hit.has(node) ? [colors.ink2, 1.6] : [colors.line, 1];
  if (square > 3 && air > 4) box(ctx, x, y, inner, boxHigh - air / 3, 3, null, edge, lw);
  for (let k = 0; k < document.per; k++) {
    const rank = node * document.per + k;
    if (rank >= document.ranks) return;
    const left = x + 2 + (k % across) * (square + 1),
      top = y + air / 3 + Math.floor(k / across) * (square + 1);
    fillRect(ctx, left, top, square, square, fill.get(rank) ?? colors.casing);
  }
}

/** The rank under a point of the map, or -1. */
export function rankAt(document, layout, x, y) {
  const { square, across, wide, air, boxHigh, places, columns } = layout,
    column = Math.floor((x - MAP_LEFT) / wide),
    row = Math.floor((y - MAP_TOP) / boxHigh);
  if (column < 0 || column >= columns || row < 0) return -1;
  const node = places.findIndex((cell) => cell.column === column && cell.row === row);
  if (node < 0) return -1;
  const inner = across * (square + 1) + 3,
    left = MAP_LEFT + column * wide + (wide - inner) / 2 + 2,
    k = Math.floor((x - left) / (square + 1)),
    down = Math.floor((y - MAP_TOP - row * boxHigh - air / 3) / (square + 1)),
    at = Math.min(across - 1, Math.max(0, k)) + across * Math.max(0, down);
  const rank = node * document.per + Math.min(document.per - 1, at);
  return rank < document.ranks ? rank : -1;
}
