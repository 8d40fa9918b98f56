// What a person can do: buttons, keys, scrubber.

import { invalidate, stateOf, toast, wordsOf } from "./context.js";
import { pointIn } from "../draw/elements.js";
import { copyText } from "../export/copy.js";
import { arrange, setChart, setPatterns, setView } from "./dress.js";
import { stepSpan } from "./frame.js";
import { actOnKey, clockKeys, speedKeys } from "./keys.js";
import { goInto, nextNode } from "./nodes.js";
import { busiest } from "../model/load.js";
import { mistakeTime, nextStart, stepAt } from "../model/model.js";
import { chartsOf } from "../charts/rows.js";

function nextChart(ui) {
  const names = chartsOf(ui.model);
  setChart(ui, names[(names.indexOf(ui.state.chart) + 1) % names.length]);
}

export function stepForward(ui) {
  const { model, clock, still } = ui;
  if (!model?.nsteps) return;
  const free = clock.playing && clock.until == null,
    from = clock.playing && !free ? clock.until : clock.t;
  if (from !== clock.t) clock.seek(from); // pressed again while a step is shown: skip to its end
  const target = nextStart(model, stepAt(model, from));
  if (from >= model.total) return;
  if (still.matches || free) clock.seek(target);
  else clock.play(target);
}

/** Play to the end of a step, counted from 1. */
export function playStep({ model, clock, still }, step) {
  const end = nextStart(model, step - 1);
  if (still.matches) clock.seek(end);
  else clock.play(end);
}

export function stepBack(ui) {
  const { model, clock } = ui;
  if (!model?.nsteps) return;
  const s = stepAt(model, clock.t),
    into = clock.t - model.step0[s],
    long = 0.12 * Math.max(1e-15, model.step1[s] - model.step0[s]);
  clock.seek(into > long || s === 0 ? model.step0[s] : model.step0[s - 1]);
}

export function toggleLoop(ui) {
  const { model, clock } = ui;
  if (!model?.nsteps) return;
  clock.loop = clock.loop ? null : stepSpan(ui);
  if (clock.loop && !clock.playing) clock.play();
  else invalidate(ui);
}

export function seekBusiest({ model, clock }) {
  clock.loop = null;
  clock.seek(busiest(model));
}

/** To the moment at which a wrong schedule goes wrong. */
export function seekMistake({ model, clock }) {
  if (!model.mistake) return;
  clock.loop = null;
  clock.seek(mistakeTime(model));
}

/** Alone on the screen, to present it; as a slide without any controls. */
export function present(ui, on = !ui.state.present, slide = false) {
  const { parts, state } = ui;
  Object.assign(state, { present: on, slide: on && slide });
  parts.root.classList.toggle("present", on);
  parts.root.classList.toggle("slide", state.slide);
  if (on && parts.root.requestFullscreen) parts.root.requestFullscreen().catch(() => {});
  if (!on && document.fullscreenElement) document.exitFullscreen?.().catch(() => {});
  ui.narrated = "";
  arrange(ui);
  parts.root.focus({ preventScroll: true });
}

/** Copy the address of this moment. */
export async function shareLink(ui) {
  const { t, view, node } = stateOf(ui),
    moment = String(Number(t.toPrecision(6))),
    url = new URL(location.href);
  if (!/^(https?|file):/.test(url.protocol)) {
    toast(ui, wordsOf(ui).noLink);
    return;
  }
  if (ui.opts.link === "hash" || url.protocol === "file:") {
    const language = ui.state.language;
    url.hash = String(new URLSearchParams({ t: moment, view, lang: language, ...(node != null && { node }) }));
  } else {
    url.searchParams.set("t", moment);
    url.searchParams.set("view", view);
    if (node == null) url.searchParams.delete("node");
    else url.searchParams.set("node", String(node));
  }
  toast(ui, (await copyText(url.href, ui.parts.card)) ? wordsOf(ui).copied : url.href);
}

function timeAt(ui, ev) {
  const { parts, state, model } = ui,
    [x] = pointIn(parts.scrubCanvas, ev);
  return Math.min(1, Math.max(0, (x - state.geo.x0) / state.geo.tw)) * model.total;
}

export function dragTime(ui, box) {
  const { parts, state, clock } = ui;
  let from = null;
  const move = (ev) => {
    if (from && Math.abs(ev.clientX - from.x) > 2) from.moved = true;
    if (from?.moved) clock.seek(timeAt(ui, ev));
  };
  box.addEventListener("pointerdown", (ev) => {
    const [x, y] = pointIn(box, ev),
      { x0, tw } = state.geo;
    if (!ui.model || ev.button || (!state.narrow && x < x0 - 8) || x > x0 + tw + 8) return;
    from = { x: ev.clientX, y, moved: false };
    clock.loop = null;
    box.setPointerCapture?.(ev.pointerId);
  });
  box.addEventListener("pointermove", move);
  box.addEventListener("pointerup", (ev) => {
    if (!from) return;
    const onCell = box === parts.scrub && from.y > 30 * state.zoom,
      t = timeAt(ui, ev),
      s = stepAt(ui.model, t);
    if (!from.moved) clock.seek(onCell && s >= 0 ? ui.model.step0[s] : t); // a click on a step number goes to its start
    from = null;
  });
  box.addEventListener("pointercancel", () => {
    from = null;
  });
}

export function onKey(ui, ev) {
  actOnKey(ev, ui.model ? keysOf(ui) : {});
}

const keysOf = (ui) => ({
  ...clockKeys({ clock: ui.clock, turn: (by) => (by > 0 ? stepForward(ui) : stepBack(ui)) }),
  ...speedKeys(ui.clock),
  End: () => ui.clock.seek(ui.model.total),
  b: () => seekBusiest(ui),
  m: () => seekMistake(ui),
  g: () => nextChart(ui),
  p: () => setPatterns(ui, !ui.state.patterns),
  l: () => toggleLoop(ui),
  f: () => present(ui),
  s: () => present(ui, !ui.state.slide, true),
  v: () => setView(ui, ui.state.view === "logical" ? "physical" : "logical"),
  n: () => nextNode(ui),
  Escape: () => (ui.state.present ? present(ui, false) : goInto(ui, null)),
});
