// The ring as one loop: which ranks follow one another, in which node, and where they stand.

import { routeLinks } from "../player/model/hops.js";
import { panelOf } from "../player/model/names.js";
import { textAt } from "../player/model/read.js";
import { acrossNodes, gapOfCables, legsOf, placeCables, roomOfCables } from "./cables.js";

const MAX_RANKS = 24;

/**
 * The loop of the run `m` as {order, panels: [{label, note, ranks}]}, or null where its transfers are no single ring or
 * its nodes are more than two. `runs` are all that are drawn on it: {pairs} of each is added to them.
 */
export function trackOf(model) {
  const next = new Map();
  for (let i = 0; i < model.n; i++) {
    if (next.has(model.src[i]) && next.get(model.src[i]) !== model.dst[i]) return null;
    next.set(model.src[i], model.dst[i]);
  }
  if (model.endpoints !== model.ranks || model.ranks < 3 || model.ranks > MAX_RANKS || next.size !== model.ranks)
    return null;
  const order = [0];
  while (order.length < model.ranks) order.push(next.get(order.at(-1)));
  if (new Set(order).size !== model.ranks || next.get(order.at(-1)) !== 0) return null;
  const panels = panelsOf(model, order);
  return panels && { order, panels };
}

/** The nodes in the order of the loop, each with its ranks; null where a node is left and entered again. */
function panelsOf(model, order) {
  const runs = [];
  for (const rank of order) {
    const panel = panelOf(model, rank);
    if (runs.at(-1)?.panel === panel) runs.at(-1).ranks.push(rank);
    else runs.push({ panel, ranks: [rank] });
  }
  if (runs.length > 2 || runs.some(({ ranks }) => ranks.length < 2)) return null;
  return runs.map(({ panel: p, ranks }) => ({ label: model.panels.label[p], note: model.panels.note[p], ranks }));
}

/** Every pair of ranks that a run sends between: its links, the slowest of them, and the channel of its first use. */
export function pairsOf(model) {
  const pairs = new Map();
  for (let i = 0; i < model.n; i++) {
    const key = model.src[i] * model.endpoints + model.dst[i];
    if (pairs.has(key)) continue;
    const links = routeLinks(model, model.route[i]),
      { bandwidth, kind, label, alpha } = model.tl.links,
      slow = links.reduce((a, b) => (bandwidth[b] < bandwidth[a] ? b : a), links[0]);
    pairs.set(key, {
      src: model.src[i],
      dst: model.dst[i],
      links,
      slow,
      capacity: bandwidth[slow],
      alpha: links.reduce((sum, l) => sum + alpha[l], 0),
      kind: kind[slow],
      label: textAt(label, slow, "en"),
      channel: model.channel[i],
    });
  }
  return pairs;
}

// ---- places

/**
 * Where everything stands in w x h pixels: boxes by rank, panels, and for each pair {pts}. Nodes are beside one
 * another, on a narrow screen one above the other. `cabled` are the ranks that have a card and a cable when the run
 * uses all of them: there is room for those, too, as long as only one is used.
 */
export function placeTrack(track, pairs, w, h, slim, cabled = new Set()) {
  /** @type {{ cables: Map<number, any>, [part: string]: any }} */
  const layout = { w, h, slim, boxes: new Map(), panels: [], lines: new Map(), gap: null, cables: new Map() };
  const two = track.panels.length > 1,
    long = slim ? h : w,
    wide = slim ? w : h,
    half = Math.ceil(Math.max(...track.panels.map(({ ranks }) => ranks.length)) / 2),
    between = slim ? 62 : Math.max(190, Math.min(320, 0.175 * w)),
    gap = two ? Math.max(between, cabled.size ? gapOfCables(half, slim) : 0) : 0,
    size = (long - gap) / track.panels.length,
    outside = cabled.size ? roomOfCables(half, slim) : null;
  track.panels.forEach((panel, p) => {
    const from = p * (size + gap);
    layout.panels.push(turned(slim, { x: from, y: 0, w: size, h: wide }, panel));
    standInPanel(layout, panel, p, { from, size, wide, two, outside });
  });
  if (two) layout.gap = turned(slim, { x: size, y: 0, w: gap, h: wide });
  const isAcross = acrossNodes(track),
    across = [...pairs.values()].filter(isAcross);
  if (cabled.size) Object.assign(layout, placeCables(layout, cabled, { size, gap, across: wide }));
  layout.laned = across.length > track.panels.length;
  for (const [key, pair] of pairs) {
    const isInside = !isAcross(pair),
      [src, dst] = [layout.boxes.get(pair.src), layout.boxes.get(pair.dst)],
      legs = layout.laned && !isInside ? legsOf(layout, pair) : [edges(src, dst)];
    layout.lines.set(key, { pts: legs.flat(), legs, across: !isInside });
  }
  return layout;
}

const turned = (slim, { x, y, w, h }, more = {}) =>
  slim ? { ...more, x: y, y: x, w: h, h: w } : { ...more, x, y, w, h };

/** Ranks of a node on the two sides of the loop; the ends of the loop stand at the gap. */
function standInPanel(layout, { ranks }, p, { from, size, wide, two, outside }) {
  const { slim } = layout,
    k = ranks.length,
    half = Math.ceil(k / 2),
    plain = slim || !two ? (slim ? 8 : 20) : 54,
    head = outside ?? plain,
    pitch = (size - (slim ? 8 : 28)) / half,
    foot = outside ?? (slim ? 8 : 26),
    room = wide - head - foot;
  const along = slim ? Math.min(38, pitch - 12) : Math.min(124, Math.max(44, pitch * (outside ? 0.7 : 0.62))),
    most = along < 58 ? 56 : 108, // without room for a counter a rank is its number
    deep = slim ? Math.min(108, room * 0.31) : Math.min(most, room * 0.3);
  ranks.forEach((rank, i) => {
    const first = i < half,
      d = first ? i : k - 1 - i, // how far from the gap
      side = two && p === 1 ? (first ? 1 : 0) : first ? 0 : 1,
      at = two && p === 0 ? size - pitch * (d + 0.5) - (slim ? 4 : 14) : pitch * (d + 0.5) + (slim ? 4 : 14),
      y = side ? head + room - deep : head;
    const b = turned(slim, { x: from + at - along / 2, y, w: along, h: deep });
    layout.boxes.set(rank, { ...b, side, d, p, cx: b.x + b.w / 2, cy: b.y + b.h / 2 });
  });
}

/** From edge to edge between two ranks. */
function edges(a, b) {
  const level = Math.abs(a.cx - b.cx) >= Math.abs(a.cy - b.cy);
  if (level) {
    const right = b.cx > a.cx;
    return [right ? a.x + a.w : a.x, a.cy, right ? b.x : b.x + b.w, b.cy];
  }
  const down = b.cy > a.cy;
  return [a.cx, down ? a.y + a.h : a.y, b.cx, down ? b.y : b.y + b.h];
}
