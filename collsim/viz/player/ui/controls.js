// What a person can do: buttons, keys, scrubber.

import { invalidate, stateOf, toast, wordsOf } from "./context.js";
import { pointIn } from "../draw/elements.js";
import { arrange, setChart, setPatterns, setView } from "./dress.js";
import { stepSpan } from "./frame.js";
import { goInto, nextNode } from "./nodes.js";
import { busiest } from "../model/load.js";
import { mistakeTime, nextStart, stepAt } from "../model/model.js";
import { chartsOf } from "../charts/rows.js";
import { actOnKey, clockKeys, createTransport, dragTime, shareMoment, speedKeys } from "./transport.js";

function nextChart(ui) {
  const names = chartsOf(ui.model);
  setChart(ui, names[(names.indexOf(ui.state.chart) + 1) % names.length]);
}

function stepForward(ui) {
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

function toggleLoop(ui) {
  const { model, clock } = ui;
  if (!model?.nsteps) return;
  clock.loop = clock.loop ? null : stepSpan(ui);
  if (clock.loop && !clock.playing) clock.play();
  else invalidate(ui);
}

function seekBusiest({ model, clock }) {
  clock.loop = null;
  clock.seek(busiest(model));
}

/** To the moment at which a wrong schedule goes wrong. */
function seekMistake({ model, clock }) {
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

/** One step of the run on (`by` > 0) or back. */
const stepBy = (ui, by) => (by > 0 ? stepForward(ui) : stepBack(ui));

/** The bar of buttons, laid out in the card. */
export function buildTransport(ui) {
  const { parts, clock } = ui,
    { root, tr, stepno, speedWord } = parts,
    ofRun = (act) => () => ui.model && act(ui),
    acts = {
      toMistake: ofRun(seekMistake),
      loop: () => toggleLoop(ui),
      busy: ofRun(seekBusiest),
      link: () => shareRun(ui),
      full: () => present(ui),
    },
    bar = createTransport({ root, clock, turn: (by) => stepBy(ui, by), acts });
  bar.moves.classList.add("lead");
  tr.prepend(bar.moves);
  stepno.after(bar.time);
  speedWord.after(bar.speeds);
  tr.append(bar.tools);
  return bar;
}

function shareRun(ui) {
  const { t, view, node } = stateOf(ui),
    isHash = ui.opts.link === "hash",
    values = { t, view, ...(isHash && { lang: ui.state.language }), node };
  return shareMoment(values, { root: ui.parts.card, words: wordsOf(ui), tell: (text) => toast(ui, text), isHash });
}

/** Pressing and dragging on the time of `box` moves the clock; a press on the number of a step goes to its start. */
export function dragRun(ui, box) {
  const { parts, state, clock } = ui;
  const seek = (ev) => {
    const { model } = ui,
      [x] = pointIn(parts.scrubCanvas, ev),
      t = Math.min(1, Math.max(0, (x - state.geo.x0) / state.geo.tw)) * model.total,
      s = stepAt(model, t),
      isNumber = ev.type === "pointerdown" && box === parts.scrub && pointIn(box, ev)[1] > 30 * state.zoom;
    clock.loop = null;
    clock.seek(isNumber && s >= 0 ? model.step0[s] : t);
  };
  const isTrack = (ev) => {
    if (!ui.model || ev.button) return false;
    const [x] = pointIn(box, ev),
      { x0, tw } = state.geo;
    return (state.narrow || x >= x0 - 8) && x <= x0 + tw + 8;
  };
  dragTime(box, seek, { isTrack });
}

export function onKey(ui, ev) {
  actOnKey(ev, ui.model ? keysOf(ui) : {});
}

const keysOf = (ui) => ({
  ...clockKeys({ clock: ui.clock, turn: (by) => stepBy(ui, by) }),
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
