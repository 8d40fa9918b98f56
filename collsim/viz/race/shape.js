// The shape of an algorithm below its ranks: an arc between every two that exchange bytes.

import { arrow, stroke } from "../player/draw/canvas.js";

const DEEP = 22, // pixels that the deepest arc takes
  LEAST = 6, // and the flattest
  POINTS = 12; // of the polyline that an arc is

/** Pixels that all arcs take. */
export const DEEPEST = DEEP + 5;

/**
 * The arcs of a run: {a, b, channel, isOneWay, from, to}, by the places of their ends in `order`; none where so many
 * send to one another that arcs are no shape. Trees of two halves of a buffer are two channels.
 */
export function arcsOf(model, order) {
  if (model.channels > 2) return [];
  const place = new Map(order.map((endpoint, q) => [endpoint, q])),
    arcs = new Map();
  for (let i = 0; i < model.n; i++) {
    const [from, to] = [place.get(model.src[i]), place.get(model.dst[i])],
      channel = model.channel[i] % 2,
      key = [Math.min(from, to), Math.max(from, to), channel].join();
    if (from === to || from == null || to == null) continue;
    const arc = arcs.get(key) ?? { a: Math.min(from, to), b: Math.max(from, to), channel, from, to, isOneWay: true };
    arc.isOneWay &&= arc.from === from;
    arcs.set(key, arc);
  }
  return arcs.size <= 3 * order.length ? [...arcs.values()] : [];
}

/** Draw arcs into `ctx`, between the pixels `xOf(place)`, below `top`. */
export function drawArcs(ctx, arcs, xOf, top, colors) {
  const most = Math.max(1, ...arcs.map(({ a, b }) => b - a));
  for (const arc of arcs) {
    const [x0, x1] = [xOf(arc.a), xOf(arc.b)],
      deep = LEAST + ((DEEP - LEAST) * (arc.b - arc.a - 1)) / Math.max(1, most - 1),
      color = arc.channel ? colors.room : colors.ink3,
      pts = Array.from({ length: POINTS + 1 }, (_, q) => [
        x0 + ((x1 - x0) * (1 - Math.cos((Math.PI * q) / POINTS))) / 2,
        top + deep * Math.sin((Math.PI * q) / POINTS),
      ]).flat();
    stroke(ctx, pts, 1.3, color, { dash: arc.channel ? [4, 3] : undefined });
    if (arc.isOneWay) arrow(ctx, (x0 + x1) / 2, top + deep, arc.from === arc.a ? 1 : -1, 0, 8, color);
  }
}
