// What the parts of one player share.

import { doneAt } from "../model/cells.js";
import { createClock } from "../model/clock.js";
import { media } from "../draw/elements.js";
import { TOKENS } from "../model/look.js";
import { chooseLanguage, fill, pickWords } from "../../words/choice.js";
import { PLAYER } from "../../words/words.js";

/**
 * What the parts of one player share: elements parts, options, clock, state S (what is chosen and how it is laid out),
 * model m, scene V (what is on the canvas), keys of what was drawn last, and `render(ui)`, which draws a frame.
 */
export function createContext(parts, opts, render) {
  return {
    parts,
    opts,
    render,
    clock: opts.clock ?? createClock(),
    dark: media("(prefers-color-scheme: dark)"),
    still: media("(prefers-reduced-motion: reduce)"),
    state: {
      language: chooseLanguage(opts.language),
      theme: opts.theme ?? null,
      view: opts.view ?? null,
      chart: "links",
      mode: "rate",
      tab: 0,
      channel: -1,
      present: false,
      slide: false,
      words: false,
      patterns: false,
      narrow: false,
      node: null,
    },
    /** @type {any} */
    model: null,
    shown: null,
    P: null,
    view: null,
    scratch: { act: [], wait: [] },
    keys: { base: "", matrix: "", bars: "", kinds: "" },
    off: () => {},
    frame: 0,
    ticket: 0,
    dead: false,
    reportTimer: 0,
    baseAt: 0,
    matrixAt: 0,
    bars: null,
    narrated: "",
    lit: null,
  };
}

export const wordsOf = (ui) => pickWords(PLAYER, ui.state.language);

/** What is wrong with a timeline (`problem`), in a language. */
export const sayProblem = (language, { key, values }) => fill(pickWords(PLAYER, language).problem[key], values);

export const themeOf = (ui) =>
  ui.state.theme === "dark" || (ui.state.theme !== "light" && ui.dark.matches) ? "dark" : "light";

export const colorsOf = (ui) => TOKENS[themeOf(ui)];

export function forgetDrawn(ui) {
  const { keys } = ui;
  for (const k in keys) keys[k] = "";
}

export function invalidate(ui) {
  if (!ui.frame && !ui.dead)
    ui.frame = requestAnimationFrame(() => {
      ui.frame = 0;
      ui.render(ui);
    });
}

export function report(ui, cause, delay) {
  const { opts } = ui;
  clearTimeout(ui.reportTimer);
  if (!opts.onState) return;
  ui.reportTimer = setTimeout(() => {
    if (!ui.dead && ui.model) opts.onState(stateOf(ui), cause);
  }, delay);
}

export const stateOf = (ui) => ({
  t: ui.model ? Math.min(ui.clock.t, ui.model.total) : 0,
  step: ui.view && ui.model?.nsteps ? ui.view.s + 1 : 0,
  playing: ui.clock.playing,
  view: ui.state.view ?? "physical",
  node: ui.state.node ?? null,
  speed: ui.clock.speed,
  done: !!ui.model && doneAt(ui.model, Math.min(ui.clock.t, ui.model.total)),
});

/** While a question is open that a step of the run answers, nothing plays beyond the end of the step before it. A clock
 * of several players is limited by who has it. */
export function limitClock({ model, clock, opts }) {
  if (opts.clock) return;
  const start = opts.answerStep == null ? null : model?.step0[opts.answerStep - 1];
  clock.limit = start == null ? null : start * (1 - 1e-9);
}

/** Whether the run has come to the step that answers the open question. */
export const isHeld = ({ clock }) => clock.limit != null && clock.t >= clock.limit;

export function toast(ui, text) {
  const { parts, state } = ui;
  parts.toast.textContent = text;
  parts.toast.classList.add("on");
  clearTimeout(state.toastTimer);
  state.toastTimer = setTimeout(() => parts.toast.classList.remove("on"), 2000);
}
