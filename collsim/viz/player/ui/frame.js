// One frame: the scene at a moment, drawn where it changed.

import { idsOfStep } from "../model/order.js";
import { drawCable } from "../draw/cable.js";
import { stroke } from "../draw/canvas.js";
import { cellAt, finishedAt, landedBy, waitingAt } from "../model/cells.js";
import { showNode } from "./crumbs.js";
import { colorsOf, report, themeOf, wordsOf } from "./context.js";
import { clearCanvas, el, sizeCanvas } from "../draw/elements.js";
import { keyShare, sameWords } from "../draw/key.js";
import { useClass } from "../model/load.js";
import { drawLogical, drawLogicalJourney, drawLogicalTokens, logicalLayout } from "../draw/logical.js";
import { drawLit, drawLogicalLit } from "../draw/lit.js";
import { drawMatrix } from "../charts/matrix.js";
import { activeAt, mistakeFrom, momentOf, stepAt } from "../model/model.js";
import { textAt } from "../model/read.js";
import { drawBars, drawRows } from "../charts/rows.js";
import { pipeRuler } from "../draw/ruler.js";
import { drawScrub } from "../charts/scrub.js";
import { drawMarks, drawPhysical, routeHot, stageFacts } from "../draw/stage.js";
import { drawRunning, mirror } from "./text.js";
import { fill } from "../../words/choice.js";
import { drawJourney, drawTokens } from "../draw/tokens.js";
import { fmtRate, fmtShare } from "../model/units.js";

export function onClock(ui, cause) {
  const { model, clock } = ui;
  if (ui.dead || !model) return;
  if (cause === "seek" && clock.loop) clock.loop = stepSpan(ui);
  render(ui);
  if (cause === "pause" || cause === "end") report(ui, cause, 0);
  else if (cause === "seek" && !clock.playing) report(ui, cause, 350);
}

export function stepSpan(ui) {
  const { model, clock } = ui;
  const s = stepAt(model, Math.min(clock.t, model.total));
  return s < 0 ? null : [model.step0[s], Math.max(model.step1[s], model.step0[s] + 1e-12)];
}

/** What the stage says of its links; while figures are hidden, nothing of how much of a cable is used. */
function factsAt(ui, model, t, s, act) {
  const facts = stageFacts(model, t, s, act);
  if (ui.opts.hides !== "figures") return facts;
  return { ...facts, share: new Float64Array(model.nlinks), key: `${facts.key} hidden` };
}

/** What is to be drawn at this moment; what did not change is taken over from the scene before. */
function sceneAt(ui) {
  const { state, model, clock, scratch, still, view: before } = ui;
  const { t, s } = momentOf(model, clock, still.matches),
    act = activeAt(model, t, scratch.act),
    wait = waitingAt(model, t, s, scratch.wait),
    hover = before?.hover ?? null;
  const v = {
    model,
    colors: colorsOf(ui),
    words: wordsOf(ui),
    language: state.language,
    patterns: state.patterns,
    k: state.k,
    above: state.oy / state.k,
    t,
    s,
    act,
    wait,
    hover,
    reduced: still.matches,
    facts: factsAt(ui, model, t, s, act),
    marks: ui.opts.marks ?? [],
    hidesPhases: ui.opts.hides === "phases",
    hidesFigures: ui.opts.hides === "figures",
    isHidden: clock.limit != null,
    fill: !ui.opts.marks, // on a way hop by hop nothing is finished
    grid: before?.grid,
    drawn: before?.drawn ?? [],
    landed: landedBy(model, t),
  };
  v.dim = (i) => (v.hover?.slot != null && model.chunk[i] !== v.hover.slot ? 0.22 : 1);
  const isSame = before?.model === model,
    isInChannel = (c) => state.channel < 0 || state.slotChannel[c] === state.channel;
  v.slots =
    isSame && before.channel === state.channel ? before.slots : [...Array(model.slots).keys()].filter(isInChannel);
  v.channel = state.channel;
  if (!model.lockstep || s < 0) v.now = act;
  else v.now = t >= model.total ? [] : Array.from(idsOfStep(model, s));
  v.finished = isSame && before.landed === v.landed ? before.finished : finishedAt(model, t);
  markCells(ui, v);
  v.wrong = model.mistake && t >= mistakeFrom(model) ? model.mistake.rank * model.slots + model.mistake.chunk : null;
  return v;
}

function markCells(ui, v) {
  const { model } = ui;
  for (const name of ["sends", "lands", "fresh", "hotCells", "hotRanks"]) v[name] = new Set();
  for (const i of v.now) {
    const from = model.src[i] * model.slots + model.chunk[i],
      to = model.dst[i] * model.slots + model.into[i];
    v.sends.add(from);
    (v.t < model.t1[i] ? v.lands : v.fresh).add(to);
    if (routeHot(model, model.route[i])) {
      v.hotCells.add(from);
      v.hotRanks.add(model.src[i]).add(model.dst[i]);
    }
  }
}

export function render(ui) {
  const { state, opts } = ui;
  if (!ui.model || ui.dead || !state.geo) return;
  ui.view = sceneAt(ui);
  drawStage(ui);
  if (!(opts.compact > 0) || state.present) {
    if (!state.present && (!state.narrow || state.tab === 1)) drawMatrixView(ui);
    drawTime(ui);
    drawRunning(ui);
  }
  mirror(ui);
}

/** What is drawn on the stage: the scene, with the model of the open node where one is. */
function onStage(ui) {
  const { view, model, shown: stageModel } = ui;
  if (stageModel === model) return view;
  const P = Object.create(view);
  return Object.assign(P, { model: stageModel, facts: factsAt(ui, stageModel, view.t, view.s, view.act) });
}

function drawStage(ui) {
  const { parts, state, model, clock, keys } = ui,
    view = (ui.P = onStage(ui));
  const now = performance.now(),
    logical = state.view === "logical";
  const key = [
    view.facts.key,
    state.view,
    state.stageW,
    state.stageH,
    state.language,
    themeOf(ui),
    state.channel,
    logical || model.ranks > 32 ? view.landed : 0,
    state.node,
    view.t >= model.total,
    ui.editor?.drawnKey,
    ...(logical ? [view.s, view.wrong, model.lockstep ? "" : view.act] : []),
  ].join();
  if (logical) view.lay = logicalLayout(model, view.slots.length, state.stageW, state.stageH);
  // Colours change with the step; the cores of the cables grow slowly, so ten times a second is enough for them. Who
  // sends to whom has no such cores: all that is drawn of it is in the key.
  if (key !== keys.base || (!logical && (!clock.playing || now - ui.baseAt > 100))) {
    const ctx = clearCanvas(parts.base, state.stageW, state.stageH);
    if (logical) drawLogical(ctx, view, state.stageW, state.stageH);
    else {
      ctx.translate(state.ox, state.oy);
      ctx.scale(state.k, state.k);
      drawPhysical(ctx, view);
      drawMarks(ctx, view);
      ui.editor?.draw(ctx, view);
    }
    keys.base = key;
    ui.baseAt = now;
  }
  const ctx = clearCanvas(parts.live, state.stageW, state.stageH);
  const moves = view.hover?.slot != null && !clock.playing;
  if (logical) {
    if (moves) drawLogicalJourney(ctx, view);
    drawLogicalTokens(ctx, view);
  } else {
    ctx.translate(state.ox, state.oy);
    ctx.scale(state.k, state.k);
    const polyline = view.hover?.link == null ? [] : view.model.tl.links.path[view.hover.link];
    if (polyline.length) stroke(ctx, polyline, 2, view.colors.ink);
    if (moves) drawJourney(ctx, view);
    if (!ui.opts.idle) drawTokens(ctx, view);
  }
  drawPointedAt(ui, ctx, logical);
  showNode(ui);
  const many = view.act.length > 2000;
  parts.note.style.display = many ? "block" : "none";
  if (many)
    parts.note.textContent = fill(wordsOf(ui)[logical ? "joined" : "aggregated"], { transfers: view.act.length });
  drawKinds(ui);
}

/** What a word of the text beside the picture points at. */
function drawPointedAt({ parts, view, P, lit }, ctx, logical) {
  const draw = logical ? drawLogicalLit : drawLit;
  parts.root.dataset.lit = String(lit ? draw(ctx, logical ? view : P, lit) : 0);
}

function drawKinds(ui) {
  const { parts, state, model, view, keys } = ui;
  if (!state.kinds) return;
  const key = [view.facts.key, state.language, themeOf(ui), state.patterns].join();
  if (key === keys.kinds) return;
  keys.kinds = key;
  const colors = colorsOf(ui);
  parts.kinds.replaceChildren(
    el("span", model.lockstep ? wordsOf(ui).keyUsed : wordsOf(ui).keyNow),
    ...model.key.map((e) => {
      const share = keyShare(model, view.facts.share, e),
        cls = useClass(share),
        h = Math.min(18, Math.max(3, pipeRuler(model) * Math.sqrt(e.bandwidth / 1e9)));
      const bar = sizedBar(colors, h, cls, e.kind, state.patterns),
        label = textAt(e.label, 0, state.language),
        rate = sameWords(label, fmtRate(e.bandwidth)) ? "" : fmtRate(e.bandwidth);
      return el("span", { className: cls }, bar, el("b", label), rate, el("b", share > 1e-9 ? fmtShare(share) : "–"));
    }),
    el("span", wordsOf(ui).nominal),
  );
}

/** A piece of cable for the line of kinds, drawn as on the stage. */
function sizedBar(colors, h, cls, kind, patterns) {
  const canvas = el("canvas");
  drawCable(sizeCanvas(canvas, 30, 22), colors, [0, 11, 30, 11], Math.min(h, 14), 3, cls, kind, patterns);
  return canvas;
}

const MANY_CELLS = 1024;

function drawMatrixView(ui) {
  const { parts, state, model, view, keys, clock } = ui;
  const key = [
    view.wrong,
    view.landed,
    view.s,
    state.channel,
    view.hover?.slot,
    state.matW,
    state.matH,
    state.language,
    themeOf(ui),
    view.now.length,
    model.lockstep ? 0 : view.act.join(),
  ].join();
  const docks = dockings(ui);
  if (key === keys.matrix && !docks && !state.docked) return;
  const now = performance.now();
  // ten times a second is enough for thousands of cells
  if (clock.playing && model.endpoints * model.slots > MANY_CELLS && now - ui.matrixAt < 100) return;
  ui.matrixAt = now;
  state.docked = !!docks;
  keys.matrix = key;
  view.docks = docks;
  drawMatrix(clearCanvas(parts.matrix, state.matW, state.matH), view, state.matW, state.matH);
}

/** Chunks that have just landed: for 160 ms of screen time the cell's level rises (reduce) or fades over (copy). */
function dockings(ui) {
  const { state, model, view, clock, still } = ui;
  const now = performance.now(),
    short = clock.playing && !still.matches && clock.speed <= 1 && model.endpoints * model.slots <= MANY_CELLS;
  const from = state.dockFor === model && view.landed >= (state.dockAt ?? 0) ? state.dockAt : view.landed;
  state.dockFor = model;
  state.dockAt = view.landed;
  state.docks ??= new Map();
  if (!short) {
    state.docks.clear();
    return null;
  }
  for (let q = from; q < view.landed; q++) {
    const i = model.byEnd[q],
      cell = model.dst[i] * model.slots + model.into[i];
    const was = cellAt(model, cell, model.t1[i] - 1e-9 * model.total);
    state.docks.set(cell, { since: now, copy: !model.reduce[i], was });
  }
  for (const [cell, k] of state.docks) {
    k.f = (now - k.since) / 160;
    if (k.f >= 1) state.docks.delete(cell);
  }
  return state.docks.size ? state.docks : null;
}

function barsCanvas(ui) {
  const { state, view, keys } = ui;
  const key = [state.geo.tw, state.rowsH, state.chart, state.mode, state.language, state.patterns, themeOf(ui)].join();
  if (key !== keys.bars) {
    ui.bars ??= el("canvas");
    drawBars(clearCanvas(ui.bars, state.geo.tw, state.rowsH), view, state.geo);
    keys.bars = key;
  }
  return ui.bars;
}

function drawTime(ui) {
  const { parts, state, view } = ui;
  drawScrub(clearCanvas(parts.scrubCanvas, state.geo.width, state.scrubH), view, state.geo);
  if (state.present ? !state.presentRows : state.narrow && state.tab !== 0) return;
  drawRows(clearCanvas(parts.rowsCanvas, state.geo.width, state.rowsH), view, state.geo, barsCanvas(ui));
}
