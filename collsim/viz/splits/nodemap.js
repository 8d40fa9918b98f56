// Nodes as boxes, GPUs as squares in them: the clicked rank and its groups by colour.

import { FONT } from "../player/model/look.js";
import { groupsOfRank, nodesInColumns } from "./groups.js";

export const GROUP_FILL = { tp: "room", cp: "near", ep: "sum2", dp: "done", pp: "hostink" };
const MAP_LEFT = 30;
const MAP_TOP = 20;
const MOST_HIGH = 420;

/** How a map of `width` pixels is laid out. */
export function mapLayout(document, width) {
  const made = nodesInColumns(document),
    across = Math.min(document.per, 4),
    down = Math.ceil(document.per / across),
    wide = Math.min(120, (width - MAP_LEFT) / made.columns),
    square = Math.max(1, Math.min(14, (wide - 6) / across - 1, (MOST_HIGH / made.rows - 6) / down - 1)),
    high = down * (square + 1) + 6;
  return { ...made, across, down, square, wide, boxHigh: high, high: MAP_TOP + made.rows * high + 4 };
}

/** Draw the map; `rank` is the one that was clicked. */
export function drawNodeMap(g, document, layout, rank, C) {
  const groups = groupsOfRank(rank, document),
    fill = new Map();
  for (const way of ["pp", "dp", "ep", "cp", "tp"])
    for (const member of groups[way] ?? []) fill.set(member, C[GROUP_FILL[way]]);
  fill.set(rank, C.ink);
  const hit = new Set([...fill.keys()].map((member) => Math.floor(member / document.per)));
  g.clearRect(0, 0, g.canvas.width, g.canvas.height);
  if (layout.stages) stageNumbers(g, layout, C);
  layout.places.forEach((place, node) => nodeBox(g, { document, layout, C, fill, hit }, place, node));
  return groups;
}

function stageNumbers(g, { columns, wide }, C) {
  g.font = `12px ${FONT}`;
  g.fillStyle = C.ink2;
  g.textAlign = "center";
  g.textBaseline = "middle";
  const every = Math.ceil(20 / wide);
  for (let k = 0; k < columns; k += every) g.fillText(String(k), MAP_LEFT + (k + 0.5) * wide, 9);
}

function nodeBox(g, { document, layout, C, fill, hit }, place, node) {
  const { square, across, wide, boxHigh } = layout,
    inner = across * (square + 1) + 3,
    x = MAP_LEFT + place.column * wide + (wide - inner) / 2,
    y = MAP_TOP + place.row * boxHigh;
  if (square > 3) {
    g.strokeStyle = hit.has(node) ? C.ink2 : C.line;
    g.lineWidth = hit.has(node) ? 1.6 : 1;
    g.beginPath();
    g.roundRect(x, y, inner, boxHigh - 2, 3);
    g.stroke();
  }
  for (let k = 0; k < document.per; k++) {
    const rank = node * document.per + k;
    if (rank >= document.ranks) return;
    g.fillStyle = fill.get(rank) ?? C.casing;
    g.fillRect(x + 2 + (k % across) * (square + 1), y + 2 + Math.floor(k / across) * (square + 1), square, square);
  }
}

/** The rank under a point of the map, or -1. */
export function rankAt(document, layout, x, y) {
  const { square, across, wide, boxHigh, places, columns } = layout,
    column = Math.floor((x - MAP_LEFT) / wide),
    row = Math.floor((y - MAP_TOP) / boxHigh);
  if (column < 0 || column >= columns || row < 0) return -1;
  const node = places.findIndex((place) => place.column === column && place.row === row);
  if (node < 0) return -1;
  const inner = across * (square + 1) + 3,
    left = MAP_LEFT + column * wide + (wide - inner) / 2 + 2,
    k = Math.floor((x - left) / (square + 1)),
    down = Math.floor((y - MAP_TOP - row * boxHigh - 2) / (square + 1)),
    at = Math.min(across - 1, Math.max(0, k)) + across * Math.max(0, down);
  const rank = node * document.per + Math.min(document.per - 1, at);
  return rank < document.ranks ? rank : -1;
}
