// One player: the card, its state, and the timeline in it.

import { chooseLanguage } from "../../words/choice.js";
import { buildCard } from "./card.js";
import {
  createContext,
  forgetDrawn,
  invalidate,
  isHeld,
  limitClock,
  sayProblem,
  stateOf,
  toast,
  wordsOf,
} from "./context.js";
import { copyText } from "../export/copy.js";
import { buildTransport, dragRun, onKey, playStep, present } from "./controls.js";
import { applyTheme, arrange, dress, scrollsSideways, setPatterns, turnChannel } from "./dress.js";
import { onClock, render } from "./frame.js";
import { download } from "../export/download.js";
import { createExportMenu } from "../export/menu.js";
import { insideOf, nodeAt, openNode } from "../model/inside.js";
import { channelShown, index, mistakeTime, paceOf, slotChannels } from "../model/model.js";
import { clean } from "../model/order.js";
import { buildCrumbs } from "./crumbs.js";
import { MachineEditor } from "../edit/machineeditor.js";
import { goInto, nextNode } from "./nodes.js";
import { drawStage, drawSvg, pictureOf } from "./picture.js";
import { hideTip, hitStage, onMatrixMove, onRowsMove, onStageMove, pointOnStage } from "./pointer.js";
import { problem, unpack } from "../model/read.js";

/**
 * Mount a player into `host`. Options (all may be left out):
 *   timeline  object, JSON text or {schema, z}; may come later through setTimeline
 *   language "en" | "zh", theme "light" | "dark" | null (the system's), view "physical" | "logical", t seconds,
 *             header true
 *   clock     a clock from createClock() shared with other players (a race)
 *   compact   height in pixels of a stage that stands alone, without narration, controls and linked views (a race,
 *             a machine)
 *   marks     [{link, text}]: numbers beside cables, a route hop by hop
 *   hides     what a question that is open asks is not shown: "phases" (where one ends) or "figures" (all of the run)
 *   answerStep  the step, from 1, that shows the answer to a question that is open: nothing plays beyond its start
 *   onSkip()    when somebody wants the answer without a choice
 *   node      number of the node that is open, where nodes are boxes
 *   editing   what of the machine can be changed (`app/editor/panel_document.py`)
 *   onEdit(value)        when somebody wants to change it
 *   exports   what a server makes of the run: {film: whether it can make films, file: one that was made}
 *   onExport(kind, t)    when a file is wanted of the moment t
 *   idle      the picture of the machine alone: nothing is on its way
 *   onPick(endpoint)     when a rank's box is clicked
 *   onState(state, why)  after pause, seek, end, view: {t, step, playing, view, speed, done}; never per frame
 *   link "hash"          a link to a moment has it behind a # (an offline page)
 */
export function createPlayer(host, opts = {}) {
  const parts = buildCard(host, () => arrange(ui)),
    ui = createContext(parts, opts, render),
    { clock } = ui;
  ui.editor = new MachineEditor(ui, () => wordsOf(ui), {
    copy: (text) => copyMachine(ui, text),
    redraw: () => invalidate(ui),
  });
  ui.bar = buildTransport(ui);
  ui.exports = buildExports(ui);
  wire(ui);
  const stopListening = listen(ui);
  applyTheme(ui);
  const player = {
    root: ui.parts.root,
    clock,
    state: () => stateOf(ui),
    setTimeline: (tl, keep, t) => setTimeline(ui, tl, keep, t),
    present: (on) => present(ui, on),
    light: (lit) => lightUp(ui, lit),
    drawInto: (ctx, wide) => drawStage(ctx, ui, wide),
    xOf: (endpoint) => middleOf(ui, endpoint),
    seek: (t) => clock.seek(t),
    get model() {
      return ui.model;
    },
    set: (options) => setOptions(ui, options),
    destroy() {
      stopListening();
      destroy(ui);
    },
  };
  player.ready = opts.timeline !== undefined ? setTimeline(ui, opts.timeline) : Promise.resolve();
  return player;
}

/** Outline what a text points at (`draw/lit.js`); null ends it. A chunk is shown with its way. */
function lightUp(ui, lit) {
  if (!ui.view || (!lit && !ui.lit)) return;
  ui.view.hover = lit?.chunk == null ? null : { slot: lit.chunk };
  ui.lit = lit;
  invalidate(ui);
}

/** The pixel from the left of the stage at which the middle of an endpoint is; undefined where it is not drawn. */
function middleOf({ shown, state }, endpoint) {
  const { endpoint: endpoints, x, w } = shown.tl.devices,
    device = endpoints.indexOf(endpoint);
  return device < 0 ? undefined : state.ox + state.k * (x[device] + w[device] / 2);
}

/** The menu of files. */
function buildExports(ui) {
  const { parts, opts } = ui,
    nameOf = () => `collsim-${ui.model.tl.meta.collective ?? "run"}-step${ui.view.s + 1}`,
    draw = (make) => {
      const picture = make();
      forgetDrawn(ui); // what the picture drew is not what is on the screen
      invalidate(ui);
      return picture;
    },
    menu = createExportMenu({
      root: parts.card,
      acts: {
        picture: () => ({ name: nameOf(), svg: draw(() => drawSvg(ui)) }),
        png: () => draw(() => pictureOf(ui)).toBlob((blob) => download(`${nameOf()}.png`, blob)),
        slide: () => present(ui, true, true),
      },
      make: (kind) => opts.onExport?.(kind, stateOf(ui).t),
      place: () => (ui.model?.nsteps ? `step=${ui.view.s + 1}` : `t=${Number(stateOf(ui).t.toPrecision(6))}`),
      say: (text) => toast(ui, text),
    });
  ui.bar.buttons.full.before(menu.box);
  return menu;
}

/** Follow what happens to the page; returns what ends that. */
function listen(ui) {
  const { state } = ui,
    end = new AbortController(),
    { signal } = end;
  const onFull = () => {
    if (!document.fullscreenElement && state.present && state.wasFull) present(ui, false);
    state.wasFull = !!document.fullscreenElement;
  };
  ui.dark.addEventListener("change", () => dress(ui), { signal });
  document.addEventListener("fullscreenchange", onFull, { signal });
  for (const kind of ["beforeprint", "afterprint"])
    globalThis.addEventListener(kind, () => dressForPaper(ui, kind === "beforeprint"), { signal });
  return () => end.abort();
}

/**
 * Paper shows the light theme and patterns; drawn at once, since nothing is awaited before printing. A printed canvas
 * repeats what was drawn on it since it was made: to clear one would clear the paper below it, so all begin anew.
 */
function dressForPaper(ui, before) {
  const { state } = ui;
  if (before) ui.screen = { theme: state.theme, patterns: state.patterns };
  Object.assign(state, before ? { theme: "light", patterns: true } : ui.screen);
  dress(ui);
  for (const canvas of ui.parts.root.querySelectorAll("canvas")) canvas.width = 0;
  render(ui);
}

/** Change language, theme or view in place; position and playing go on. */
function setOptions(ui, o) {
  const { state, opts } = ui;
  let changed = false;
  const heldStep = opts.answerStep;
  const change = (current, name, value) => {
    changed ||= current[name] !== value;
    current[name] = value;
  };
  if (o.language !== undefined) change(state, "language", chooseLanguage(o.language));
  if (o.theme !== undefined) change(state, "theme", o.theme);
  if (o.view != null) change(state, "view", o.view);
  if (o.node !== undefined && ui.model) goInto(ui, o.node, false);
  if (o.exports) {
    opts.exports = o.exports;
    ui.exports.set(wordsOf(ui).exports, o.exports);
  }
  for (const name of ["header", "compact", "marks", "hides", "idle", "answerStep"])
    if (name in o) change(opts, name, o[name]);
  if ("editing" in o) changed = setEditing(ui, o.editing) || changed;
  if (!changed) return;
  const wasHeld = isHeld(ui);
  limitClock(ui);
  if (wasHeld && opts.answerStep == null) playStep(ui, heldStep);
  ui.narrated = "";
  dress(ui);
}

async function copyMachine(ui, text) {
  const { copied, notCopied } = wordsOf(ui).edit;
  toast(ui, (await copyText(text, ui.parts.card)) ? copied : notCopied);
}

/** Other data for the editor; whether the picture is another one for it. */
function setEditing(ui, editing) {
  const before = ui.editor.drawnKey;
  ui.opts.editing = editing;
  ui.editor.update();
  return ui.editor.drawnKey !== before;
}

function destroy(ui) {
  const { parts, state, clock, opts } = ui;
  ui.dead = true;
  ui.ticket++;
  if (!opts.clock) clock.pause();
  ui.off();
  cancelAnimationFrame(ui.frame);
  clearTimeout(ui.reportTimer);
  clearTimeout(state.toastTimer);
  parts.remove();
}

function wire(ui) {
  const { parts, state, opts } = ui;
  parts.skip.onclick = () => opts.onSkip?.();
  parts.channel.onchange = () => {
    state.channel = Number(parts.channel.value);
    forgetDrawn(ui);
    buildCrumbs(ui);
    invalidate(ui);
  };
  parts.patterns.onclick = () => setPatterns(ui, !state.patterns);
  parts.textlink.onclick = () => {
    state.words = !state.words;
    dress(ui);
  };
  parts.crumbs.addEventListener("click", (ev) => {
    const { by, channel } = ev.target.closest("button")?.dataset ?? {};
    if (channel) turnChannel(ui, Number(channel));
    if (by === "0") goInto(ui, null);
    else if (by) nextNode(ui, Number(by));
  });
  parts.root.addEventListener("keydown", (ev) => onKey(ui, ev));
  parts.live.addEventListener("click", (ev) => {
    if (!ui.view || state.view === "logical") return;
    const [x, y] = pointOnStage(ui, ev),
      hit = hitStage(ui, x, y),
      node = hit?.device == null ? null : nodeAt(ui.shown, hit.device);
    if (node != null && node !== state.node) goInto(ui, node);
    else if (ui.editor.click(x, y, ev.pointerType === "touch")) hideTip(ui);
    else if (hit?.device != null && ui.shown.tl.devices.endpoint[hit.device] >= 0)
      opts.onPick?.(ui.shown.tl.devices.endpoint[hit.device]);
  });
  for (const [canvas, move] of [
    [parts.live, onStageMove],
    [parts.matrix, onMatrixMove],
    [parts.rows, onRowsMove],
  ]) {
    for (const kind of ["pointermove", "pointerdown"]) canvas.addEventListener(kind, (ev) => move(ui, ev));
    canvas.addEventListener("pointerleave", () => hideTip(ui));
  }
  dragRun(ui, parts.scrub);
  dragRun(ui, parts.rows);
}

// ---- the timeline

/**
 * Read a timeline and show it, at t seconds or, with `keep`, at the same share of the run. A later call overtakes an
 * earlier one.
 */
async function setTimeline(ui, tl, keep = false, t = null) {
  const { parts, clock } = ui,
    mine = ++ui.ticket,
    slow = setTimeout(() => parts.root.classList.add("loading"), 300);
  try {
    const data = await unpack(tl);
    if (mine !== ui.ticket || ui.dead) return;
    const bad = problem(data);
    if (bad) {
      fail(ui, bad);
      return;
    }
    const f = ui.model && keep && ui.model.total > 0 ? clock.t / ui.model.total : 0;
    ui.opts.t = t ?? ui.opts.t;
    accept(ui, index(data), f);
  } catch (e) {
    if (mine === ui.ticket && !ui.dead) fail(ui, { key: "unreadable", values: { error: e?.message ?? e } });
  } finally {
    clearTimeout(slow);
    if (mine === ui.ticket) parts.root.classList.remove("loading");
  }
}

function accept(ui, model, f) {
  const { parts, state, clock, opts } = ui;
  ui.model = model;
  state.node = insideOf(model, opts.node ?? state.node) ? (opts.node ?? state.node) : null;
  opts.node = null;
  ui.shown = state.node == null ? model : openNode(model, state.node);
  ui.off();
  ui.off = clock.on((_, cause) => onClock(ui, cause), model.total, paceOf(model));
  clock.loop = null;
  limitClock(ui);
  if (!opts.clock) clock.t = model.mistake && !clock.playing ? mistakeTime(model) : f * model.total;
  if (opts.t != null) {
    clock.t = Math.min(model.total, Math.max(0, clean(opts.t)));
    opts.t = null;
  }
  clock.t = Math.min(clock.t, clock.limit ?? model.total);
  state.view ??= model.tl.logical && scrollsSideways(ui) ? "logical" : "physical";
  if (model.groups.length || state.chart === "groups") state.chart = model.groups.length ? "groups" : "links";
  state.slotChannel = slotChannels(model);
  state.channel = channelShown(model, state.slotChannel);
  parts.root.classList.remove("bad");
  forgetDrawn(ui);
  ui.narrated = "";
  ui.view = null;
  hideTip(ui);
  dress(ui);
}

function fail(ui, bad) {
  const { parts, state, clock } = ui,
    nothing = { playing: "false", transfers: "0", active: "0", step: "0", t: "0" };
  clock.pause();
  state.problem = bad;
  ui.model = null;
  ui.view = null;
  parts.root.classList.add("bad");
  Object.assign(parts.root.dataset, nothing, { error: sayProblem("en", bad) });
  dress(ui);
}
