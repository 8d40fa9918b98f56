// The machine: panels, cables, devices. Drawing functions take (canvas context, scene) and change nothing but the
// canvas.

import { drawCable } from "./cable.js";
import { arrow, box, put, stroke, widthOf } from "./canvas.js";
import { drawZoom } from "./bars.js";
import { drawDevices } from "./devices.js";
import { measure, pointAt, through } from "../model/geometry.js";
import { routeLinks } from "../model/hops.js";
import { drawKey } from "./key.js";
import { shareBetween, spanAt, useClass, usedLinks } from "../model/load.js";
import { slotText } from "../model/model.js";
import { deviceOf } from "../model/names.js";
import { textAt } from "../model/read.js";
import { KEY_SCALE, LEAST, casing, core, onScreen } from "./ruler.js";

/** Which links and devices take part in the step; without barriers, at this moment. */
export function stageFacts(m, t, s, act) {
  const { key, a, b } = spanAt(m, t, s);
  if (m.facts?.key === key) return m.facts;
  const share = new Float64Array(m.nlinks),
    live = new Set(),
    turns = new Map();
  if (key >= 0) {
    for (let l = 0; l < m.nlinks; l++) share[l] = shareBetween(m, l, a, b);
    for (let l = 0; l < m.nlinks; l++)
      if (share[l] > 1e-9) {
        live.add(m.tl.links.src[l]);
        live.add(m.tl.links.dst[l]);
      }
    const moving = m.lockstep ? m.byStep.id.subarray(m.byStep.start[s], m.byStep.start[s + 1]) : act;
    for (const r of new Set(Array.from(moving, (i) => m.route[i]))) addTurns(m, r, turns);
  }
  return (m.facts = { key, share, live, turns });
}

/** The ways of a route through the switches on it that are large enough to draw lines in. */
function addTurns(m, r, turns) {
  const D = m.tl.devices,
    ls = routeLinks(m, r);
  for (let h = 1; h < ls.length; h++) {
    const d = m.tl.links.src[ls[h]];
    if (D.kind[d] !== "nvswitch" && (D.kind[d] !== "switch" || Math.max(D.w[d], 2 * D.h[d]) < 140)) continue;
    const a = m.tl.links.path[ls[h - 1]].slice(-2),
      b = m.tl.links.path[ls[h]].slice(0, 2);
    if (!a.length || !b.length) continue;
    const
      way = through(D, d, a[0], a[1], b[0], b[1]);
    if (!turns.has(d)) turns.set(d, []);
    turns.get(d).push({ pts: [...way, b[0], b[1]], link: ls[h], bends: way.length > 2 });
  }
}

function drawPanels(g, V) {
  const { m, C } = V,
    P = m.panels;
  for (let p = 0; p < P.x.length; p++) box(g, P.x[p], P.y[p], P.w[p], P.h[p], 10, C.sunk, C.line);
}

function drawPanelNames(g, V) {
  const { m, C } = V,
    P = m.panels,
    mid = m.tl.stage.w / 2,
    halo = C.sunk;
  for (let p = 0; p < P.x.length; p++) {
    const label = textAt(P.label, p, V.lang),
      note = textAt(P.note, p, V.lang),
      small = Math.max(13, onScreen(V, LEAST)),
      size = Math.max(P.w[p] < 320 ? 14 : 16, onScreen(V, LEAST + 1));
    const wl = widthOf(g, label, size, true),
      wn = note ? widthOf(g, note, small, false) + 10 : 0;
    const fits = wl + wn < P.w[p] - 32,
      right = P.x.length === 2 && P.x[p] > mid;
    let x = right ? P.x[p] + P.w[p] - 16 - wl - (fits ? wn : 0) : P.x[p] + 16;
    const over = V.k < KEY_SCALE && V.above >= size + 4, // a small stage has no room inside, the space over it has
      y = over ? P.y[p] - 5 : P.foot[p] ? P.y[p] + P.h[p] - 10 : P.y[p] + Math.max(21, size + 5);
    put(g, label, x, y, size, C.ink, { bold: true, halo: over ? C.card : halo });
    if (fits && note) put(g, note, x + wl + 10, y, small, C.ink2, { halo: over ? C.card : halo });
  }
}

function drawLinks(g, V) {
  const { m, C, facts } = V,
    { path } = m.tl.links,
    share = facts.share;
  const active = [],
    few = m.hot.size <= 8;
  g.lineJoin = "round";
  g.lineCap = "round";
  // A halo points at something, from under the cables: where most cables are equally full there is nothing to point at.
  if (!V.patterns && (m.hot.size <= 0.6 * usedLinks(m).length || m.hot.size <= 2))
    for (const l of m.hot)
      if (path[l]?.length) stroke(g, path[l], few ? Math.min(22, casing(m, l) + 16) : casing(m, l) + 6, C.fulltint);
  g.lineCap = "butt";
  for (let l = 0; l < m.nlinks; l++) {
    if (!path[l].length) continue;
    if (share[l] > 1e-9) {
      active.push(l);
      continue;
    }
    const d = casing(m, l),
      c = core(V, l);
    stroke(g, path[l], d > 8 ? d : Math.max(2, d - 1.8), C.idle);
    if (d > 8) stroke(g, path[l], d - 2, C.sunk);
    if (c > 0) stroke(g, path[l], Math.max(1, c), C.edge);
  }
  active.sort((a, b) => share[a] - share[b]);
  for (const l of active) {
    const d = casing(m, l),
      cls = useClass(share[l]);
    drawCable(g, C, path[l], d, Math.max(1.3, core(V, l)), cls, m.tl.links.kind[l], V.patterns);
  }
  V.arrows = active;
}

function drawArrows(g, V) {
  const { m, C, facts } = V;
  for (const l of V.arrows) {
    const line = measure(m.tl.links.path[l]),
      n = line.len > 220 ? 2 : line.len >= 44 ? 1 : 0;
    const into = m.tl.devices.kind[m.tl.links.dst[l]],
      from = m.tl.devices.kind[m.tl.links.src[l]];
    if (into === "nvswitch" || from === "nvswitch") continue; // the arrow sits on the bend inside the switch
    for (let q = 1; q <= n; q++) {
      const p = pointAt(line, (line.len * q) / (n + 1));
      const c = core(V, l);
      if (c > 4.5)
        arrow(g, p.x, p.y, p.dx, p.dy, Math.min(8, c * 1.1), C.card); // inside a thick core
      else
        arrow(
          g,
          p.x,
          p.y,
          p.dx,
          p.dy,
          Math.max(c + 5, Math.min(10, 6 + 0.25 * casing(m, l))),
          V.patterns ? C.ink : C[useClass(facts.share[l])],
        );
    }
  }
}

/** The middle and the radius of the number beside a cable. */
export function markSpot(V, link) {
  const { m } = V,
    r = Math.max(13.5, onScreen(V, LEAST)) * 0.82,
    line = measure(m.tl.links.path[link]),
    p = pointAt(line, line.len / 2, {}),
    off = Math.min(34, casing(m, link) / 2 + r + 3);
  return {
    x: Math.max(r + 1, p.x + p.dy * off),
    y: Math.min(m.tl.stage.h - r - 1, Math.max(r + 1, p.y - p.dx * off)),
    r,
  };
}

/** Numbers beside the middle of cables, on the side on which they leave: a way hop by hop. */
export function drawMarks(g, V) {
  const { C } = V,
    size = Math.max(13.5, onScreen(V, LEAST));
  for (const { link, text, hot } of V.marks) {
    const { x, y, r } = markSpot(V, link);
    box(g, x - r, y - r, 2 * r, 2 * r, r, C.card, hot ? C.full : C.ink, 1.6);
    put(g, text, x, y + size * 0.355, size, hot ? C.fulltext : C.ink, { bold: true, align: "center" });
  }
}

/** The rank whose cell is wrong: an outline, and which chunk it is. */
function drawMistake(g, V) {
  const { m, C } = V,
    d = V.wrong == null ? null : deviceOf(m, m.mistake.rank);
  if (d == null) return;
  const D = m.tl.devices,
    x = D.x[d],
    y = D.y[d],
    w = D.w[d],
    h = D.h[d];
  box(g, x - 3, y - 3, w + 6, h + 6, 7, null, C.full, 3);
  const text = `${V.W.chunk} ${slotText(V, m.mistake.chunk)}`,
    tw = widthOf(g, text, 13, true) + 14,
    below = y + h + 26 < m.tl.stage.h;
  const tx = Math.min(m.tl.stage.w - tw - 2, Math.max(2, x + w / 2 - tw / 2)),
    ty = below ? y + h + 5 : y - 25;
  box(g, tx, ty, tw, 20, 4, C.fulltint, C.full, 1.4);
  put(g, text, tx + tw / 2, ty + 14.5, 13, C.fulltext, { bold: true, align: "center" });
}

export function drawPhysical(g, V) {
  drawPanels(g, V);
  drawZoom(g, V);
  drawLinks(g, V);
  drawPanelNames(g, V);
  drawDevices(g, V);
  drawArrows(g, V);
  drawKey(g, V);
  drawMistake(g, V);
}

export function routeHot(m, r) {
  m.routeHot ??= [];
  return (m.routeHot[r] ??= m.hot.size > 0 && routeLinks(m, r).some((l) => m.hot.has(l)));
}
