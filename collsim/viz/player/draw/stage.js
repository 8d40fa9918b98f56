// The machine: panels, cables, devices. Drawing functions take (canvas context, scene) and change nothing but the
// canvas.

import { drawCable } from "./cable.js";
import { arrow, box, fitFont, put, stroke, widthOf } from "./canvas.js";
import { shareDone } from "../model/cells.js";
import { measure, pointAt, through } from "../model/geometry.js";
import { linkBytes, routeLinks, shareBetween, slotText, spanAt, useClass, usedLinks } from "../model/model.js";
import { busyEndpoints, drawHeld, heldSquares } from "./held.js";
import { deviceOf } from "../model/names.js";
import { textAt } from "../model/read.js";
import { fmtRate, fmtShare } from "../model/units.js";

/** No letter is smaller on the screen: what has no room for that is not written. */
const LEAST = 12;
/** Below this scale the key of the cables stands under the stage. */
export const KEY_SCALE = 0.8;

/** Stage units that are so many pixels on the screen; a stage that is enlarged keeps its own size. */
export const onScreen = (V, pixels) => pixels / Math.min(1, V.k);

/**
 * Pixels of casing per square root of GB/s: one ruler for all cables, narrowed until the two directions of a cable fit
 * side by side.
 */
export function pipeRuler(m) {
  if (m.pipe) return m.pipe;
  const { src, dst, bandwidth, path } = m.tl.links,
    line = path.map(measure);
  const root = (l) => Math.sqrt(bandwidth[l] / 1e9),
    seen = new Map();
  const used = m.tl.routes.link.length ? [...new Set(m.tl.routes.link)] : [...src.keys()];
  const widest = Math.max(1e-9, ...used.map(root));
  let k = m.tl.stage.pipe ?? Math.max(9 / widest, Math.min(1.1, 19 / widest));
  for (let l = 0; l < src.length; l++) seen.set(src[l] * 1e6 + dst[l], l);
  for (let l = 0; l < src.length && !m.tl.stage.pipe; l++) {
    const back = seen.get(dst[l] * 1e6 + src[l]);
    if (back == null) continue;
    const a = pointAt(line[l], line[l].len / 2),
      b = pointAt(line[back], line[back].len / 2, {});
    const gap = Math.hypot(a.x - b.x, a.y - b.y);
    if (gap >= 3 && gap < 40) k = Math.min(k, gap / Math.max(root(l), root(back)));
  }
  return (m.pipe = k);
}

export const casing = (m, l) => Math.max(2, pipeRuler(m) * Math.sqrt(m.tl.links.bandwidth[l] / 1e9));

function core(V, l) {
  const cap = V.m.tl.links.bandwidth[l] * V.m.total,
    b = linkBytes(V.m, l, V.t);
  return cap > 0 && b > 0 ? casing(V.m, l) * Math.sqrt(Math.min(1, b / cap)) : 0;
}

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
      b = m.tl.links.path[ls[h]].slice(0, 2),
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
  g.lineCap = "butt";
  g.lineJoin = "round";
  for (let l = 0; l < m.nlinks; l++) {
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
  g.lineCap = "round";
  // A halo points at something: where most cables are equally full there is nothing to point at.
  if (!V.patterns && (m.hot.size <= 0.6 * usedLinks(m).length || m.hot.size <= 2))
    for (const l of m.hot)
      if (path[l]) stroke(g, path[l], few ? Math.min(22, casing(m, l) + 16) : casing(m, l) + 6, C.fulltint);
  g.lineCap = "butt";
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

function drawDevices(g, V) {
  const { m, C, facts } = V,
    D = m.tl.devices,
    names = [],
    upright = [],
    unnamed = [],
    busy = D.holds && busyEndpoints(V);
  for (let d = 0; d < D.x.length; d++) {
    const x = D.x[d],
      y = D.y[d],
      w = D.w[d],
      h = D.h[d],
      kind = D.kind[d],
      on = facts.live.has(d),
      label = textAt(D.label, d, V.lang);
    const rank = D.endpoint[d] >= 0,
      big = kind === "switch" || kind === "nvswitch",
      host = kind === "cpu" || kind === "memory";
    const helper = rank && D.endpoint[d] >= m.ranks && kind !== "switch" && kind !== "nvswitch";
    const fill = helper ? C.ink : host ? (on ? C.host : C.sunk) : C.card;
    box(
      g,
      x,
      y,
      w,
      h,
      big ? 6 : rank ? 5 : 4,
      fill,
      on ? (host ? C.hostink : C.ink) : C.edge,
      on ? (rank || big ? 1.8 : 1.6) : 1,
    );
    if (rank && m.ranks > 32 && V.fill) fillSquare(g, V, D.endpoint[d], x, y, w, h);
    const color = helper ? C.card : host && on ? C.hostink : rank || (on && !host) ? C.ink : C.ink3,
      bold = on || rank;
    const strip = onScreen(V, LEAST + 6),
      squares = D.holds?.[d].length ? heldSquares(D.holds[d], x, y + strip, w, h - strip, Math.min(1, V.k)) : [];
    drawHeld(g, V, squares, busy, onScreen(V, LEAST - 1));
    if (h > 1.7 * w && !squares.length) {
      const size = fitFont(
        g,
        label,
        Math.min(Math.max(14, onScreen(V, LEAST + 1)), w * 0.8),
        h - 5,
        bold,
        onScreen(V, LEAST - 0.5),
      );
      if (!size) continue;
      upright.push([
        x + w / 2 + size * 0.35,
        y + h / 2,
        label,
        size,
        color,
        { bold, align: "center", halo: facts.turns.has(d) ? fill : null },
      ]);
      continue;
    }
    const usual = rank ? Math.min(19, h * 0.55) : big ? 13.5 : 12,
      least = onScreen(V, LEAST - 1);
    const most = Math.max(usual, Math.min(h * 0.9, onScreen(V, LEAST + 0.5))),
      heavy = bold && fitFont(g, label, most, w - 4, true, least) > 0,
      size = least > h ? 0 : fitFont(g, label, most, w - 3, heavy, least);
    if (!size) {
      if (kind === "nic") unnamed.push(d);
      if (helper)
        names.push([
          label,
          x + w / 2,
          y + h + 1.1 * onScreen(V, LEAST),
          onScreen(V, LEAST),
          C.ink,
          { bold, align: "center" },
        ]);
      continue;
    }
    const turns = facts.turns.get(d)?.some((q) => q.bends),
      deep = turns && big && h >= 24;
    // all cables come in from below
    const top = deep && facts.turns.get(d).every((q) => !q.bends || q.pts[3] < q.pts[1]);
    const at = squares.length
      ? [x + w / 2, y + strip * 0.82]
      : deep && h > 50
        ? [x + 14, top ? y + 20 : y + h - 9]
        : [x + w / 2, deep ? (top ? y + size : y + h - 5) : y + h / 2 + size * 0.36];
    names.push([
      label,
      ...at,
      size,
      color,
      { bold: heavy, align: deep && h > 50 ? "left" : "center", halo: turns ? fill : null },
    ]);
  }
  for (const column of cardColumns(m, unnamed)) names.push(columnName(V, column));
  for (const [, list] of facts.turns) {
    if (list.length > 40) continue;
    for (const q of list) {
      if (!q.bends) continue;
      const cls = useClass(facts.share[q.link]),
        line = measure(q.pts);
      stroke(g, q.pts, Math.max(1.3, Math.min(4, core(V, q.link))), V.patterns ? C.ink : C[cls]);
      const p = pointAt(line, line.len / 2);
      if (line.len > 22) arrow(g, p.x, p.y, p.dx, p.dy, 8, V.patterns ? C.ink : C[cls]);
    }
  }
  for (const name of names) put(g, ...name); // above the ways through the box
  for (const [x, y, label, size, color, o] of upright) {
    g.save();
    g.translate(x, y);
    g.rotate(-Math.PI / 2);
    put(g, label, 0, 0, size, color, o);
    g.restore();
  }
}

/** Cards that stand one over another in one node. */
function cardColumns(m, cards) {
  const D = m.tl.devices,
    found = new Map();
  for (const d of cards) {
    const key = `${Math.round(D.x[d])},${D.panel[d]}`;
    if (!found.has(key)) found.set(key, []);
    found.get(key).push(d);
  }
  return [...found.values()].filter((column) => column.length > 1);
}

/** One name for a column of cards that are too small for a name each, under it: "NIC 0–7". */
function columnName(V, column) {
  const { m, C } = V,
    D = m.tl.devices,
    size = onScreen(V, LEAST),
    number = (d) => Number(/\d+$/.exec(textAt(D.label, d, V.lang))?.[0] ?? 0),
    sorted = [...column].sort((a, b) => number(a) - number(b)),
    lowest = column.reduce((a, d) => (D.y[d] > D.y[a] ? d : a));
  const text = `${textAt(D.label, sorted[0], V.lang)}–${number(sorted.at(-1))}`;
  return [
    text,
    D.x[lowest] + D.w[lowest] / 2,
    D.y[lowest] + D.h[lowest] + size * 1.1,
    size,
    C.ink,
    { align: "center", halo: C.card },
  ];
}

// Above 32 ranks a rank is a small square: it fills from below with its finished chunks instead of showing tokens.
function fillSquare(g, V, e, x, y, w, h) {
  const f = shareDone(V, e);
  if (f > 0) {
    g.fillStyle = V.C.sumfill;
    g.fillRect(x + 1, y + h - 1 - (h - 2) * f, w - 2, (h - 2) * f);
  }
}

/** Largest share of this step over the cables of one kind, for the key. */
export function keyShare(m, share, entry) {
  const { kind, label } = m.tl.links,
    alone = m.key.filter((k) => k.kind === entry.kind).length < 2;
  let best = 0;
  for (let l = 0; l < m.nlinks; l++)
    if (kind[l] === entry.kind && share[l] > best && (alone || textAt(label, l, "en") === textAt(entry.label, 0, "en")))
      best = share[l];
  return best;
}

export const sameWords = (a, b) => a.replace(/\s/g, "") === b.replace(/\s/g, "");

function drawKey(g, V) {
  const { m, C, W } = V,
    K = m.tl.stage.key;
  if (!K || !m.key.length || V.k < KEY_SCALE) return;
  const small = Math.max(13, onScreen(V, LEAST)),
    right = K.x + K.w,
    n = Math.min(m.key.length, Math.floor((K.h - 48) / 44)),
    rh = Math.min(52, (K.h - 48) / Math.max(1, n));
  put(g, W.keyCable, K.x, K.y + 18, small, C.ink3);
  put(g, m.lockstep ? W.keyUsed : W.keyNow, right, K.y + 18, small, C.ink3, { align: "right" });
  for (let q = 0; q <= n; q++) {
    g.fillStyle = C.line;
    g.fillRect(K.x, K.y + 28 + q * rh, K.w, 1);
  }
  for (let q = 0; q < n; q++) {
    const e = m.key[q],
      y = K.y + 28 + (q + 0.5) * rh,
      share = keyShare(m, V.facts.share, e),
      cls = useClass(share),
      hot = share > 0.95;
    const d = Math.min(22, Math.max(2, pipeRuler(m) * Math.sqrt(e.bandwidth / 1e9)));
    const bar = [K.x, y, K.x + 30, y];
    if (share > 1e-9)
      drawCable(g, C, bar, d, Math.max(2, d * Math.sqrt(Math.min(1, share)) * 0.5), cls, e.kind, V.patterns);
    else {
      stroke(g, bar, d + 1.6, C.idle);
      stroke(g, bar, d, C.sunk);
    }
    const label = textAt(e.label, 0, V.lang),
      used = widthOf(g, fmtShare(share), hot ? 19 : 15, true),
      size = fitFont(g, label, 14, K.w - 45 - used, true) || 10;
    put(g, label, K.x + 39, y - 3, size, hot ? C.fulltext : C.ink, { bold: true });
    if (!sameWords(label, fmtRate(e.bandwidth))) put(g, fmtRate(e.bandwidth), K.x + 39, y + 15, small, C.ink2);
    put(g, share > 1e-9 ? fmtShare(share) : "–", right, y + 5, hot ? 19 : 15, hot ? C.fulltext : C.ink, {
      bold: true,
      align: "right",
    });
  }
  put(g, W.nominal, K.x, K.y + 28 + n * rh + 18, small, C.ink3);
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
