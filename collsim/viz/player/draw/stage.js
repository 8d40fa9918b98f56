// The machine: panels, cables, devices. Drawing functions take (canvas context, scene) and change nothing but the
// canvas.

import { bandOf, idsOfStep } from "../model/order.js";
import { drawCable } from "./cable.js";
import { arrow, box, put, stroke, widthOf } from "./canvas.js";
import { drawZoom } from "./bars.js";
import { drawDevices } from "./devices.js";
import { measure, pointAt, through } from "../model/geometry.js";
import { routeLinks } from "../model/hops.js";
import { drawKey } from "./key.js";
import { shareBetween, spanAt, useClass, usedLinks } from "../model/load.js";
import { slotText } from "../model/model.js";
import { boxOf, deviceOf } from "../model/names.js";
import { textAt } from "../model/read.js";
import { KEY_SCALE, MIN_TEXT_PX, casing, core, onScreen } from "./ruler.js";

const ARROWS = [
  [220, 2],
  [44, 1],
]; // on a cable, by its length in pixels

/** Which links and devices take part in the step; without barriers, at this moment. */
export function stageFacts(model, t, s, act) {
  const { key, a, b } = spanAt(model, t, s);
  if (model.facts?.key === key) return model.facts;
  const share = new Float64Array(model.nlinks),
    live = new Set(),
    turns = new Map();
  if (key >= 0) {
    for (let l = 0; l < model.nlinks; l++) {
      share[l] = shareBetween(model, l, a, b);
      if (share[l] > 1e-9) live.add(model.tl.links.src[l]).add(model.tl.links.dst[l]);
    }
    const moving = model.lockstep ? idsOfStep(model, s) : act;
    for (const r of new Set(Array.from(moving, (i) => model.route[i]))) addTurns(model, r, turns);
  }
  return (model.facts = { key, share, live, turns });
}

/** The ways of a route through the switches on it that are large enough to draw lines in. */
function addTurns(model, r, turns) {
  const devices = model.tl.devices,
    ls = routeLinks(model, r);
  for (let h = 1; h < ls.length; h++) {
    const d = model.tl.links.src[ls[h]];
    const isLarge = devices.kind[d] === "switch" && Math.max(devices.w[d], 2 * devices.h[d]) >= 140;
    if (devices.kind[d] !== "nvswitch" && !isLarge) continue;
    const a = model.tl.links.path[ls[h - 1]].slice(-2),
      b = model.tl.links.path[ls[h]].slice(0, 2);
    if (!a.length || !b.length) continue;
    const track = through(devices, d, a[0], a[1], b[0], b[1]);
    if (!turns.has(d)) turns.set(d, []);
    turns.get(d).push({ pts: [...track, b[0], b[1]], link: ls[h], bends: track.length > 2 });
  }
}

function drawPanels(ctx, view) {
  const { model, colors } = view,
    panels = model.panels;
  for (let p = 0; p < panels.x.length; p++)
    box(ctx, panels.x[p], panels.y[p], panels.w[p], panels.h[p], 10, colors.sunk, colors.line);
}

const FOOT_ROOM = 24; // stage units of the tallest name under what is in a panel

/**
 * The line that a panel's name stands on, at the edge without cables: the lower one where cards are on top. A small
 * stage has no room inside, the space around it may have.
 */
export function panelNameY({ y, h, foot }, p, size, { k, above }) {
  const isOutside = above >= size + 4 && (foot[p] ? size > FOOT_ROOM : k < KEY_SCALE);
  if (foot[p]) return y[p] + h[p] + (isOutside ? size + 1 : -10);
  return y[p] + (isOutside ? -5 : Math.max(21, size + 5));
}

function drawPanelNames(ctx, view) {
  const { model, colors } = view,
    panels = model.panels,
    mid = model.tl.stage.w / 2;
  for (let p = 0; p < panels.x.length; p++) {
    const label = textAt(panels.label, p, view.language),
      note = textAt(panels.note, p, view.language),
      small = Math.max(13, onScreen(view, MIN_TEXT_PX)),
      size = Math.max(panels.w[p] < 320 ? 14 : 16, onScreen(view, MIN_TEXT_PX + 1));
    const wl = widthOf(ctx, label, size, true),
      wn = note ? widthOf(ctx, note, small, false) + 10 : 0;
    const fits = wl + wn < panels.w[p] - 32,
      right = panels.x.length === 2 && panels.x[p] > mid;
    const x = right ? panels.x[p] + panels.w[p] - 16 - wl - (fits ? wn : 0) : panels.x[p] + 16;
    const y = panelNameY(panels, p, size, view),
      halo = y < panels.y[p] || y > panels.y[p] + panels.h[p] ? colors.card : colors.sunk;
    put(ctx, label, x, y, size, colors.ink, { bold: true, halo });
    if (fits && note) put(ctx, note, x + wl + 10, y, small, colors.ink2, { halo });
  }
}

function drawLinks(ctx, view) {
  const { model, colors, facts } = view,
    { path } = model.tl.links,
    share = facts.share;
  const active = [],
    few = model.hot.size <= 8;
  ctx.lineJoin = "round";
  ctx.lineCap = "round";
  // A halo points at something, from under the cables: where most cables are equally full there is nothing to point at.
  if (!view.patterns && (model.hot.size <= 0.6 * usedLinks(model).length || model.hot.size <= 2))
    for (const l of model.hot)
      if (path[l]?.length)
        stroke(ctx, path[l], few ? Math.min(22, casing(model, l) + 16) : casing(model, l) + 6, colors.fulltint);
  ctx.lineCap = "butt";
  for (let l = 0; l < model.nlinks; l++) {
    if (!path[l].length) continue;
    if (share[l] > 1e-9) {
      active.push(l);
      continue;
    }
    const d = casing(model, l),
      c = core(view, l);
    stroke(ctx, path[l], d > 8 ? d : Math.max(2, d - 1.8), colors.idle);
    if (d > 8) stroke(ctx, path[l], d - 2, colors.sunk);
    if (c > 0) stroke(ctx, path[l], Math.max(1, c), colors.edge);
  }
  active.sort((a, b) => share[a] - share[b]);
  for (const l of active) {
    const d = casing(model, l),
      cls = useClass(share[l]);
    drawCable(ctx, colors, path[l], d, Math.max(1.3, core(view, l)), cls, model.tl.links.kind[l], view.patterns);
  }
  view.arrows = active;
}

function drawArrows(ctx, view) {
  const { model, colors, facts } = view;
  for (const l of view.arrows) {
    const line = measure(model.tl.links.path[l]),
      n = bandOf(line.len, ARROWS, 0);
    const into = model.tl.devices.kind[model.tl.links.dst[l]],
      from = model.tl.devices.kind[model.tl.links.src[l]];
    if (into === "nvswitch" || from === "nvswitch") continue; // the arrow sits on the bend inside the switch
    for (let q = 1; q <= n; q++) {
      const { x, y, dx, dy } = pointAt(line, (line.len * q) / (n + 1)),
        c = core(view, l),
        isInside = c > 4.5, // inside a thick core
        size = isInside ? Math.min(8, c * 1.1) : Math.max(c + 5, Math.min(10, 6 + 0.25 * casing(model, l))),
        color = view.patterns ? colors.ink : colors[useClass(facts.share[l])];
      arrow(ctx, x, y, dx, dy, size, isInside ? colors.card : color);
    }
  }
}

/** The middle and the radius of the number beside a cable. */
export function markSpot(view, link) {
  const { model } = view,
    r = Math.max(13.5, onScreen(view, MIN_TEXT_PX)) * 0.82,
    line = measure(model.tl.links.path[link]),
    p = pointAt(line, line.len / 2, {}),
    off = Math.min(34, casing(model, link) / 2 + r + 3);
  return {
    x: Math.max(r + 1, p.x + p.dy * off),
    y: Math.min(model.tl.stage.h - r - 1, Math.max(r + 1, p.y - p.dx * off)),
    r,
  };
}

/** Numbers beside the middle of cables, on the side on which they leave: a way hop by hop. */
export function drawMarks(ctx, view) {
  const { colors } = view,
    size = Math.max(13.5, onScreen(view, MIN_TEXT_PX));
  for (const { link, text, hot } of view.marks) {
    const { x, y, r } = markSpot(view, link);
    box(ctx, x - r, y - r, 2 * r, 2 * r, r, colors.card, hot ? colors.full : colors.ink, 1.6);
    put(ctx, text, x, y + size * 0.355, size, hot ? colors.fulltext : colors.ink, { bold: true, align: "center" });
  }
}

/** The rank whose cell is wrong: an outline, and which chunk it is. */
function drawMistake(ctx, view) {
  const { model, colors } = view,
    d = view.wrong == null ? null : deviceOf(model, model.mistake.rank);
  if (d == null) return;
  const { x, y, w, h } = boxOf(model.tl.devices, d);
  box(ctx, x - 3, y - 3, w + 6, h + 6, 7, null, colors.full, 3);
  const text = `${view.words.chunk} ${slotText(view, model.mistake.chunk)}`,
    tw = widthOf(ctx, text, 13, true) + 14,
    below = y + h + 26 < model.tl.stage.h;
  const tx = Math.min(model.tl.stage.w - tw - 2, Math.max(2, x + w / 2 - tw / 2)),
    ty = below ? y + h + 5 : y - 25;
  box(ctx, tx, ty, tw, 20, 4, colors.fulltint, colors.full, 1.4);
  put(ctx, text, tx + tw / 2, ty + 14.5, 13, colors.fulltext, { bold: true, align: "center" });
}

export function drawPhysical(ctx, view) {
  drawPanels(ctx, view);
  drawZoom(ctx, view);
  drawLinks(ctx, view);
  drawPanelNames(ctx, view);
  drawDevices(ctx, view);
  drawArrows(ctx, view);
  drawKey(ctx, view);
  drawMistake(ctx, view);
}

export function routeHot(model, r) {
  model.routeHot ??= [];
  return (model.routeHot[r] ??= model.hot.size > 0 && routeLinks(model, r).some((l) => model.hot.has(l)));
}
