// Ranks along the axes of a split: which make a group with one of them, and on which nodes.

import { bandOf } from "../player/model/order.js";

const COLUMNS = [
  [257, 32],
  [17, 16],
]; // of the map, by the number of nodes

/** Place of a rank along each axis: {tp, cp, dp, pp}; the first of `axes` varies fastest. */
export function coordinates(rank, axes) {
  const out = {};
  let rest = rank;
  for (const [axis, size] of axes) {
    out[axis] = rest % size;
    rest = Math.floor(rest / size);
  }
  return out;
}

/** Do two ranks differ along this axis only? */
function sameGroup(a, b, axis, axes, expert = 1) {
  if (axis !== "ep") return axes.every(([name]) => name === axis || a[name] === b[name]);
  const shared = axes.filter(([name]) => name === "cp" || name === "dp"),
    block = (at) => Math.floor(shared.reduceRight((sum, [name, size]) => sum * size + at[name], 0) / expert);
  return block(a) === block(b) && axes.every(([name]) => name === "cp" || name === "dp" || a[name] === b[name]);
}

/** The groups of a rank: {axis: [ranks]}, those of one rank left out. */
export function groupsOfRank(rank, { axes, ranks, expert }) {
  const position = coordinates(rank, axes),
    names = [...axes.filter(([, size]) => size > 1).map(([axis]) => axis), ...(expert > 1 ? ["ep"] : [])],
    members = Object.fromEntries(names.map((axis) => [axis, []]));
  for (let other = 0; other < ranks; other++) {
    const at = coordinates(other, axes);
    for (const axis of names) if (sameGroup(position, at, axis, axes, expert)) members[axis].push(other);
  }
  return members;
}

/** Where nodes are drawn: columns are stages where every node is of one stage, else nodes in rows of at most 16. */
export function nodesInColumns({ axes, ranks, per }) {
  const nodes = Math.ceil(ranks / per),
    pp = axes.find(([axis]) => axis === "pp")?.[1] ?? 1,
    stageOf = (node) => coordinates(node * per, axes).pp,
    isOneStage = (node) => coordinates(Math.min(ranks, (node + 1) * per) - 1, axes).pp === stageOf(node);
  if (pp > 1 && nodes % pp === 0 && Array.from({ length: nodes }, (_, k) => k).every(isOneStage)) {
    const seen = new Map();
    const places = Array.from({ length: nodes }, (_, node) => {
      const column = stageOf(node),
        row = seen.get(column) ?? 0;
      seen.set(column, row + 1);
      return { column, row };
    });
    return { columns: pp, rows: nodes / pp, places, stages: true };
  }
  const columns = bandOf(nodes, COLUMNS, Math.min(8, nodes));
  const places = Array.from({ length: nodes }, (_, k) => ({ column: k % columns, row: Math.floor(k / columns) }));
  return { columns, rows: Math.ceil(nodes / columns), places, stages: false };
}
