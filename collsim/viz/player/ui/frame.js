// One frame: the scene at a moment, drawn where it changed.

import { drawCable } from "../draw/cable.js";
import { stroke } from "../draw/canvas.js";
import { cellAt, finishedAt, landedBy, waitingAt } from "../model/cells.js";
import { SPEEDS } from "../model/clock.js";
import { showNode } from "./crumbs.js";
import { colorsOf, report, themeOf, wordsOf } from "./context.js";
import { el, segment, sizeCanvas } from "../draw/elements.js";
import { keyShare, sameWords } from "../draw/key.js";
import { useClass } from "../model/load.js";
import { drawLogical, drawLogicalJourney, drawLogicalTokens, logicalLayout } from "../draw/logical.js";
import { drawMatrix } from "../charts/matrix.js";
import { activeAt, mistakeFrom, nextStart, stepAt } from "../model/model.js";
import { textAt } from "../model/read.js";
import { drawBars, drawRows } from "../charts/rows.js";
import { pipeRuler } from "../draw/ruler.js";
import { drawScrub } from "../charts/scrub.js";
import { drawMarks, drawPhysical, routeHot, stageFacts } from "../draw/stage.js";
import { drawRunning } from "./running.js";
import { mirror } from "./text.js";
import { drawJourney, drawTokens } from "../draw/tokens.js";
import { fmtRate, fmtShare } from "../model/units.js";

export function onClock(ui, why) {
  const { d, m, clock } = ui;
  if (ui.dead || !m) return;
  if (why === "tick") {
    render(ui);
    return;
  }
  if (why === "seek" && clock.loop) clock.loop = stepSpan(ui);
  if (why === "speed") {
    segment(d.speeds, SPEEDS, clock.speed, clock.setSpeed, wordsOf(ui).speed);
  }
  render(ui);
  if (why === "pause" || why === "end") report(ui, why, 0);
  else if (why === "seek" && !clock.playing) report(ui, why, 350);
}

export function stepSpan(ui) {
  const { m, clock } = ui;
  const s = stepAt(m, Math.min(clock.t, m.total));
  return s < 0 ? null : [m.step0[s], Math.max(m.step1[s], m.step0[s] + 1e-12)];
}

/** In reduced motion time stands at the start, the middle and the end of each step. */
function shownTime(ui, t) {
  const { m, clock, still } = ui;
  if (!still.matches || !clock.playing || !m.nsteps) return t;
  const s = stepAt(m, t),
    a = m.step0[s],
    b = nextStart(m, s),
    f = b > a ? (t - a) / (b - a) : 0;
  return a + (b - a) * (f < 0.2 ? 0 : f < 0.7 ? 0.5 : 0.999);
}

/** What is to be drawn at this moment; what did not change is taken over from the scene before. */
function sceneAt(ui) {
  const { S, m, clock, scratch, still, V: before } = ui;
  const t = shownTime(ui, Math.min(clock.t, m.total)),
    s = stepAt(m, t),
    act = activeAt(m, t, scratch.act),
    wait = waitingAt(m, t, s, scratch.wait),
    hover = before?.hover ?? null;
  const v = {
    m: m,
    C: colorsOf(ui),
    W: wordsOf(ui),
    lang: S.lang,
    patterns: S.patterns,
    k: S.k,
    above: S.oy / S.k,
    t,
    s,
    act,
    wait,
    hover,
    reduced: still.matches,
    facts: stageFacts(m, t, s, act),
    marks: ui.opts.marks ?? [],
    fill: !ui.opts.marks, // on a way hop by hop nothing is finished
    grid: before?.grid,
    drawn: before?.drawn ?? [],
    landed: landedBy(m, t),
  };
  v.dim = (i) => (v.hover?.slot != null && m.chunk[i] !== v.hover.slot ? 0.22 : 1);
  v.slots =
    before && before.channel === S.channel && before.m === m
      ? before.slots
      : Array.from({ length: m.slots }, (_, c) => c).filter((c) => S.channel < 0 || S.slotChannel[c] === S.channel);
  v.channel = S.channel;
  v.now =
    m.lockstep && s >= 0
      ? t >= m.total
        ? []
        : Array.from(m.byStep.id.subarray(m.byStep.start[s], m.byStep.start[s + 1]))
      : act;
  v.finished = before && before.m === m && before.landed === v.landed ? before.finished : finishedAt(m, t);
  markCells(ui, v);
  v.wrong = m.mistake && t >= mistakeFrom(m) ? m.mistake.rank * m.slots + m.mistake.chunk : null;
  return v;
}

function markCells(ui, v) {
  const { m } = ui;
  v.sends = new Set();
  v.lands = new Set();
  v.fresh = new Set();
  v.hotCells = new Set();
  v.hotRanks = new Set();
  for (const i of v.now) {
    const from = m.src[i] * m.slots + m.chunk[i],
      to = m.dst[i] * m.slots + m.into[i];
    v.sends.add(from);
    (v.t < m.t1[i] ? v.lands : v.fresh).add(to);
    if (routeHot(m, m.route[i])) {
      v.hotCells.add(from);
      v.hotRanks.add(m.src[i]);
      v.hotRanks.add(m.dst[i]);
    }
  }
}

export function render(ui) {
  const { S, opts } = ui;
  if (!ui.m || ui.dead || !S.geo) return;
  ui.V = sceneAt(ui);
  drawStage(ui);
  if (opts.compact > 0 && !S.present) {
    mirror(ui);
    return;
  }
  if (!S.present && (!S.narrow || S.tab === 1)) drawMatrixView(ui);
  drawTime(ui);
  drawRunning(ui);
  mirror(ui);
}

/** What is drawn on the stage: the scene, with the model of the open node where one is. */
function onStage(ui) {
  const { V, m, shown } = ui;
  if (shown === m) return V;
  const P = Object.create(V);
  return Object.assign(P, { m: shown, facts: stageFacts(shown, V.t, V.s, V.act) });
}

function drawStage(ui) {
  const { d, S, m, clock, keys } = ui,
    V = (ui.P = onStage(ui));
  const now = performance.now(),
    logical = S.view === "logical";
  const key = [
    V.facts.key,
    S.view,
    S.stageW,
    S.stageH,
    S.lang,
    themeOf(ui),
    S.channel,
    logical || m.ranks > 32 ? V.landed : 0,
    S.node,
    V.t >= m.total,
    ...(logical ? [V.s, V.wrong, m.lockstep ? "" : V.act] : []),
  ].join();
  if (logical) V.lay = logicalLayout(m, V.slots.length, S.stageW, S.stageH);
  // Colours change with the step; the cores of the cables grow slowly, so ten times a second is enough for them. Who
  // sends to whom has no such cores: all that is drawn of it is in the key.
  if (key !== keys.base || (!logical && (!clock.playing || now - ui.baseAt > 100))) {
    const g = sizeCanvas(d.base, S.stageW, S.stageH);
    g.clearRect(0, 0, S.stageW, S.stageH);
    if (logical) drawLogical(g, V, S.stageW, S.stageH);
    else {
      g.translate(S.ox, S.oy);
      g.scale(S.k, S.k);
      drawPhysical(g, V);
      drawMarks(g, V);
    }
    keys.base = key;
    ui.baseAt = now;
  }
  const g = sizeCanvas(d.live, S.stageW, S.stageH);
  g.clearRect(0, 0, S.stageW, S.stageH);
  const moves = V.hover?.slot != null && !clock.playing;
  if (logical) {
    if (moves) drawLogicalJourney(g, V);
    drawLogicalTokens(g, V);
  } else {
    g.translate(S.ox, S.oy);
    g.scale(S.k, S.k);
    const way = V.hover?.link == null ? [] : V.m.tl.links.path[V.hover.link];
    if (way.length) stroke(g, way, 2, V.C.ink);
    if (moves) drawJourney(g, V);
    drawTokens(g, V);
  }
  showNode(ui);
  const many = V.act.length > 2000;
  d.note.style.display = many ? "block" : "none";
  if (many) d.note.textContent = wordsOf(ui)[logical ? "joined" : "aggregated"](V.act.length);
  drawKinds(ui);
}

function drawKinds(ui) {
  const { d, S, m, V, keys } = ui;
  if (!S.kinds) return;
  const key = [V.facts.key, S.lang, themeOf(ui), S.patterns].join();
  if (key === keys.kinds) return;
  keys.kinds = key;
  const C = colorsOf(ui);
  d.kinds.replaceChildren(
    el("span", { textContent: m.lockstep ? wordsOf(ui).keyUsed : wordsOf(ui).keyNow }),
    ...m.key.map((e) => {
      const share = keyShare(m, V.facts.share, e),
        cls = useClass(share),
        h = Math.min(18, Math.max(3, pipeRuler(m) * Math.sqrt(e.bandwidth / 1e9)));
      const bar = sizedBar(C, h, cls, e.kind, S.patterns);
      return el(
        "span",
        { className: cls },
        bar,
        el("b", { textContent: textAt(e.label, 0, S.lang) }),
        sameWords(textAt(e.label, 0, S.lang), fmtRate(e.bandwidth)) ? "" : fmtRate(e.bandwidth),
        el("b", { textContent: share > 1e-9 ? fmtShare(share) : "–" }),
      );
    }),
    el("span", { textContent: wordsOf(ui).nominal }),
  );
}

/** A piece of cable for the line of kinds, drawn as on the stage. */
function sizedBar(C, h, cls, kind, patterns) {
  const canvas = el("canvas");
  drawCable(sizeCanvas(canvas, 30, 22), C, [0, 11, 30, 11], Math.min(h, 14), 3, cls, kind, patterns);
  return canvas;
}

const MANY_CELLS = 1024;

function drawMatrixView(ui) {
  const { d, S, m, V, keys, clock } = ui;
  const key = [
    V.wrong,
    V.landed,
    V.s,
    S.channel,
    V.hover?.slot,
    S.matW,
    S.matH,
    S.lang,
    themeOf(ui),
    V.now.length,
    m.lockstep ? 0 : V.act.join(),
  ].join();
  const docks = dockings(ui);
  if (key === keys.matrix && !docks && !S.docked) return;
  const now = performance.now();
  // ten times a second is enough for thousands of cells
  if (clock.playing && m.endpoints * m.slots > MANY_CELLS && now - ui.matrixAt < 100) return;
  ui.matrixAt = now;
  S.docked = !!docks;
  keys.matrix = key;
  V.docks = docks;
  const g = sizeCanvas(d.matrix, S.matW, S.matH);
  g.clearRect(0, 0, S.matW, S.matH);
  drawMatrix(g, V, S.matW, S.matH);
}

/** Chunks that have just landed: for 160 ms of screen time the cell's level rises (reduce) or fades over (copy). */
function dockings(ui) {
  const { S, m, V, clock, still } = ui;
  const now = performance.now(),
    short = clock.playing && !still.matches && clock.speed <= 1 && m.endpoints * m.slots <= MANY_CELLS;
  const from = S.dockFor === m && V.landed >= (S.dockAt ?? 0) ? S.dockAt : V.landed;
  S.dockFor = m;
  S.dockAt = V.landed;
  S.docks ??= new Map();
  if (!short) {
    S.docks.clear();
    return null;
  }
  for (let q = from; q < V.landed; q++) {
    const i = m.byEnd[q],
      cell = m.dst[i] * m.slots + m.into[i];
    S.docks.set(cell, { since: now, copy: !m.reduce[i], was: cellAt(m, cell, m.t1[i] - 1e-9 * m.total) });
  }
  for (const [cell, k] of S.docks) {
    k.f = (now - k.since) / 160;
    if (k.f >= 1) S.docks.delete(cell);
  }
  return S.docks.size ? S.docks : null;
}

function barsCanvas(ui) {
  const { S, V, keys } = ui;
  const key = [S.geo.tw, S.rowsH, S.chart, S.mode, S.lang, S.patterns, themeOf(ui)].join();
  if (key !== keys.bars) {
    ui.bars ??= el("canvas");
    const g = sizeCanvas(ui.bars, S.geo.tw, S.rowsH);
    g.clearRect(0, 0, S.geo.tw, S.rowsH);
    drawBars(g, V, S.geo);
    keys.bars = key;
  }
  return ui.bars;
}

function drawTime(ui) {
  const { d, S, V } = ui;
  let g = sizeCanvas(d.scrubCanvas, S.geo.W, S.scrubH);
  g.clearRect(0, 0, S.geo.W, S.scrubH);
  drawScrub(g, V, S.geo);
  if (S.present ? !S.presentRows : S.narrow && S.tab !== 0) return;
  const b = barsCanvas(ui);
  g = sizeCanvas(d.rowsCanvas, S.geo.W, S.rowsH);
  g.clearRect(0, 0, S.geo.W, S.rowsH);
  drawRows(g, V, S.geo, b);
}
