// What a word of a text points at, outlined in the picture: {ranks: "all" | numbers, chunk: number, devices: kind,
// cables: "all" | "busiest" | kind}.

import { box, disc, stroke } from "./canvas.js";
import { edgeEnds } from "./logical.js";
import { boxOf } from "../model/names.js";

const LINE = 3; // pixels on the screen

const isRankLit = (model, lit, endpoint) =>
  lit.ranks === "all" ? endpoint >= 0 && endpoint < model.ranks : !!lit.ranks?.includes(endpoint);

/** Devices of the picture that are meant, by their numbers; a box of a whole node stands for the ranks in it. */
function litDevices(model, lit) {
  const { kind, endpoint, holds } = model.tl.devices;
  return kind.flatMap((name, device) => {
    const ranks = [endpoint[device], ...(holds?.[device] ?? [])];
    return lit.devices === name || ranks.some((e) => isRankLit(model, lit, e)) ? [device] : [];
  });
}

/** Cables of the picture that are meant, by their numbers. */
function litCables(model, lit) {
  const { kind, path } = model.tl.links,
    busiest = model.tl.bottleneck?.links ?? [];
  return kind.flatMap((name, l) =>
    path[l].length && (lit.cables === "all" || lit.cables === name || (lit.cables === "busiest" && busiest.includes(l)))
      ? [l]
      : [],
  );
}

/** Outline what is meant on the machine; returns how many things that are. */
export function drawLit(ctx, view, lit) {
  const { model, colors, k } = view,
    devices = litDevices(model, lit),
    cables = litCables(model, lit),
    edge = LINE / k;
  for (const l of cables) stroke(ctx, model.tl.links.path[l], edge, colors.ink);
  for (const device of devices) {
    const { x, y, w, h } = boxOf(model.tl.devices, device);
    box(ctx, x - edge, y - edge, w + 2 * edge, h + 2 * edge, 6, null, colors.ink, edge);
  }
  return devices.length + cables.length;
}

/** The same where the picture has ranks only, and who sends to whom. */
export function drawLogicalLit(ctx, view, lit) {
  const { model, colors, lay } = view,
    { P, cards, cw, ch, r } = lay,
    ranks = P.map((_, e) => e).filter((e) => isRankLit(model, lit, e)),
    edges = lit.cables ? (model.tl.logical?.edges ?? []) : [];
  for (const [a, b] of edges) stroke(ctx, edgeEnds(view, a, b).slice(0, 4), LINE, colors.ink);
  for (const e of ranks) {
    const [x, y] = P[e];
    if (cards) box(ctx, x - cw / 2 - LINE, y - ch / 2 - LINE, cw + 2 * LINE, ch + 2 * LINE, 11, null, colors.ink, LINE);
    else disc(ctx, x, y, r + LINE, null, colors.ink, LINE);
  }
  return ranks.length + edges.length;
}
