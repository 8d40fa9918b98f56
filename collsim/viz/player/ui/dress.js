// What changes with the run, the language, the theme or the size, but not with time: words, legend, layout.

import { buildCrumbs } from "./crumbs.js";
import { forgetDrawn, invalidate, report, sayProblem, themeOf, wordsOf } from "./context.js";
import { el, segment } from "../draw/elements.js";
import { buildLegend } from "./legend.js";
import { hideTip } from "./pointer.js";
import { narrowStage, stageFor } from "../model/inside.js";
import { textAt } from "../model/read.js";
import { chartsOf, createGeometry, linesOf, rowSize } from "../charts/rows.js";
import { KEY_SCALE } from "../draw/ruler.js";
import { dressRoot } from "./shell.js";
import { buildWords } from "./text.js";
import { fmtBytes, fmtRate, fmtSpan, three, timeUnit } from "../model/units.js";
import { nameTransport } from "./transport.js";
import { fill } from "../../words/choice.js";

export function dress(ui) {
  const { parts, state, model } = ui;
  const words = wordsOf(ui);
  applyTheme(ui);
  parts.root.dataset.lang = state.language;
  if (!model) {
    if (state.problem) parts.error.textContent = `${words.wrong} ${sayProblem(state.language, state.problem)}`;
    return;
  }
  delete parts.root.dataset.error;
  buildChoices(ui, words);
  nameTransport(ui.bar, words);
  ui.bar.buttons.toMistake.style.display = model.mistake ? "" : "none";
  ui.exports.set(words.exports, ui.opts.exports);
  parts.patterns.textContent = state.patterns ? words.noPatterns : words.patterns;
  parts.patterns.setAttribute("aria-pressed", String(state.patterns));
  parts.speedWord.textContent = words.speed;
  parts.live.setAttribute("aria-label", words.stageLabel);
  parts.scrub.setAttribute("aria-label", words.time);
  parts.skip.textContent = words.skip;
  parts.textlink.textContent = state.words ? words.hideText : words.asText;
  const isCounted = model.goal > 1 && model.goals.every((k) => k === model.goal);
  parts.matrixTitle.textContent = isCounted ? fill(words.contributions, { count: model.goal }) : words.holds;
  parts.matrix.setAttribute("aria-label", parts.matrixTitle.textContent);
  parts.rowsCanvas.setAttribute("aria-label", `${words.tabs.time}: ${words.charts[state.chart]}`);
  buildChannels(ui);
  buildTabs(ui);
  buildLegend(ui);
  buildHead(ui);
  buildCrumbs(ui);
  parts.root.dataset.transfers = String(model.n);
  parts.root.classList.toggle("quiz", ui.opts.hides === "figures");
  arrange(ui);
  ui.editor?.update();
}

/** What can be chosen: the view, the chart, and what the bars of the chart show. */
function buildChoices(ui, w) {
  const { parts, state, model } = ui,
    named = (names, words = w) => names.map((name) => [name, words[name]]);
  segment(parts.views, named(["physical", "logical"]), state.view, (v) => setView(ui, v), w.view);
  segment(parts.chart, named(chartsOf(model), w.charts), state.chart, (v) => setChart(ui, v), w.chartsLabel);
  const setMode = (v) => {
    state.mode = v;
    dress(ui);
  };
  segment(parts.mode, named(["rate", "bytes"]), state.mode, setMode, w.chart);
}

export function applyTheme(ui) {
  const { parts } = ui;
  parts.root.dataset.theme = themeOf(ui);
  dressRoot(parts.root, { theme: themeOf(ui), language: ui.state.language });
  forgetDrawn(ui);
}

function buildChannels(ui) {
  const { parts, state, model } = ui;
  const on = model.channels > 1 && state.slotChannel,
    whose = model.groups.length === model.channels, // a channel is a collective
    words = wordsOf(ui),
    option = (v, text) => el("option", { value: String(v), selected: v === state.channel }, text);
  parts.channelLabel.replaceChildren(...(on ? [whose ? words.collectives : words.channel, parts.channel] : []));
  if (!on) return;
  const all = Array.from({ length: model.channels }, (_, c) => option(c, whose ? model.groups[c].name : String(c)));
  parts.channel.replaceChildren(option(-1, words.all), ...all);
}

/** Show the channel after the one that is shown, or before it. */
export function turnChannel(ui, by) {
  const { state, model } = ui;
  state.channel = (state.channel + by + model.channels) % model.channels;
  dress(ui);
}

function buildTabs(ui) {
  const { parts, state } = ui,
    open = (q) => {
      state.tab = q;
      dress(ui);
    },
    look = (q) => ({ role: "tab", "aria-selected": q === state.tab, onclick: () => open(q) });
  parts.tabList.replaceChildren(...Object.values(wordsOf(ui).tabs).map((text, q) => el("button", look(q), text)));
}

function buildHead(ui) {
  const { parts, state, model, opts } = ui;
  parts.root.classList.toggle("withhead", !!opts.header);
  if (!opts.header) return;
  const words = wordsOf(ui),
    F = model.tl.figures ?? {},
    unit = timeUnit(model.total),
    B = model.tl.bottleneck;
  const fig = (name, value, note, look = "fig") => el(`div.${look}`, el("small", name), el("b", value), el("i", note));
  const kids = [
    el("h2", textAt(model.tl.meta.title, 0, state.language)),
    fig(words.time, unit.fmt(model.total), fill(words.ranksSteps, { ranks: model.ranks, steps: model.nsteps })),
  ];
  if (F.algbw) kids.push(fig(words.algbw, fmtRate(F.algbw), fmtBytes(model.tl.meta.nbytes)));
  if (F.busbw) kids.push(fig(words.busbw, fmtRate(F.busbw)));
  if (F.bound) kids.push(fig(words.bound, fmtSpan(F.bound), sayBound(words, three(F.duration / F.bound))));
  if (B) kids.push(fig(words.bottleneck, ...[B.text, B.more].map((text) => textAt(text, 0, state.language)), "bn"));
  parts.head.replaceChildren(...kids);
}

const sayBound = ({ times: { reached, takes } }, times) => (times === "1" ? reached : fill(takes, { times }));

export function arrange(ui) {
  const { parts, state, model, opts } = ui;
  if (!model || !parts.root.clientWidth) return;
  const compact = opts.compact > 0 && !state.present,
    outer = parts.root.clientWidth,
    margins = state.present ? 72 : outer < 1340 ? 32 : 40,
    inner = outer - (compact ? 0 : margins + 2);
  state.narrow = outer < 1340 || state.present;
  nameWidth(ui, outer, compact);
  const leftW = state.narrow ? inner : inner - 424,
    st = chooseStage(ui, leftW).tl.stage;
  const n = linesOf(model, state.chart, wordsOf(ui), state.language).length,
    roomH = compact ? opts.compact : roomForStage(ui);
  let k = Math.min(leftW / st.w, roomH / st.h, state.present ? 4 : 1.3);
  // far too small to read: the stage scrolls sideways instead, but not beside a question, which wants all of it in view
  if (k < MIN_SCALE && st !== model.tl.narrow?.stage && (!compact || opts.editing) && opts.hides !== "figures")
    k = Math.max(k, Math.min(SCROLLING_SCALE, roomH / st.h));
  k = Math.min(k, 8000 / st.w); // browsers refuse very wide canvases
  state.k = k;
  state.stageW = Math.max(leftW, st.w * k);
  state.stageH = compact && !opts.editing ? opts.compact : Math.max(260, Math.round(st.h * k));
  if (state.view === "logical") {
    state.stageW = leftW;
    if (parts.crumbs.style.display !== "none") state.stageH -= 36; // the line with the channel takes it
    if (!compact) state.stageH = Math.max(state.stageH, Math.min(roomH, leastLogical(leftW, model)));
  }
  if (state.present) fillScreen(ui, roomH, 28 + n * rowSize(n, true, state.chart).rh);
  state.ox = Math.max(0, (state.stageW - st.w * k) / 2);
  state.oy = Math.max(0, (state.stageH - st.h * k) / 2);
  parts.stage.style.height = `${state.stageH + (state.stageW > leftW ? 12 : 0)}px`;
  // else it is on the stage
  state.kinds =
    state.view === "physical" && model.key.length > (compact ? 1 : 0) && !opts.marks && (!st.key || k < KEY_SCALE);
  state.zoom = state.present ? 1.5 : 1;
  ui.bar.moves.style.width = state.narrow ? "" : "198px";
  arrangePanels(ui);
  state.matW = state.narrow ? Math.min(inner, 640) : 400;
  state.matH = state.narrow ? 480 : Math.max(300, state.stageH + (st.key ? 4 : 28));
  const x0 = state.narrow ? 8 : 216;
  state.geo = createGeometry(model, n, {
    x0,
    tw: Math.max(50, leftW - x0 - (state.narrow ? 8 : 0)),
    width: inner,
    top: state.narrow ? 0 : 6,
    fig: state.narrow ? 0 : leftW + 24,
    ...{ narrow: state.narrow, chart: state.chart, mode: state.mode, zoom: state.zoom },
  });
  state.scrubH = (30 + 24) * state.zoom + 2;
  state.rowsH = state.geo.bottom + 28;
  forgetDrawn(ui);
  invalidate(ui);
}

/** The picture of the run that fits a width: another one on a narrow screen, unless a node is open. */
function chooseStage(ui, width) {
  const { state, model } = ui;
  if (state.node != null) return ui.shown;
  const isNarrow = stageFor(model.tl, width) !== model.tl.stage;
  model.narrowed ??= isNarrow ? narrowStage(model) : null;
  const next = isNarrow ? model.narrowed : model;
  if (next !== ui.shown) hideTip(ui);
  ui.shown = next;
  return next;
}

/** Must the machine be scrolled sideways on a screen that is this wide? */
export function scrollsSideways({ parts, model }) {
  const { stage, narrow } = model.tl,
    room = parts.root.clientWidth - 34; // inside of the card
  return room < PHONE_WIDTH && stageFor(model.tl, room) !== narrow?.stage && room / stage.w < MIN_SCALE;
}

/** Pixels of height that the logical view wants. */
const leastLogical = (leftW, { endpoints }) => (leftW < 700 ? 380 : endpoints <= 4 ? 340 : 420);

const PHONE_WIDTH = 600,
  MIN_SCALE = 0.5, // of a stage that is seen whole
  SCROLLING_SCALE = 0.75; // of one that is not
const MIN_SHARE = 0.7; // of the height that a stage would take on a page of its own

const tallOf = (...parts) => parts.reduce((sum, part) => sum + (part.getBoundingClientRect?.().height ?? 0), 0);

/** Pixels of height for the stage, so that it ends above the controls where the page opens. */
function roomForStage(ui) {
  const { parts, state } = ui;
  if (state.present) return Math.max(260, globalThis.innerHeight - presentChrome(ui));
  const free = Math.min(900, Math.max(470, globalThis.innerHeight - (state.narrow ? 300 : 610))),
    isPhone = parts.root.classList.contains("phone"), // on which the rest stands below the buttons
    between = tallOf(parts.crumbs, parts.tr, ...(isPhone ? [] : [parts.running, parts.kinds, parts.scrubBox])),
    below = globalThis.innerHeight - topOnPage(parts.stage) - between;
  return Math.min(free, Math.max(MIN_SHARE * free, below));
}

/** Where an element begins when nothing is scrolled, in pixels from the top of the window. */
function topOnPage(element) {
  let top = element.getBoundingClientRect?.().top ?? 0;
  for (let e = element; e; e = e.parentNode ?? e.host) top += e.scrollTop ?? 0;
  return top;
}

/** Presenter mode leaves nothing empty: below a picture that is wider than the room stand the rows over time. */
function fillScreen({ parts, state }, roomH, rowsH) {
  state.presentRows = !state.slide && state.view === "physical" && roomH - state.stageH >= rowsH + ROWS_APART;
  state.stageH = Math.max(state.stageH, roomH - (state.presentRows ? rowsH + ROWS_APART : 0));
  parts.root.classList.toggle("withrows", state.presentRows);
}

const ROWS_APART = 12; // pixels above the rows

/** How wide the card is, as classes that its style sheet reads. */
function nameWidth({ parts, state }, outer, compact) {
  const names = parts.root.classList;
  names.toggle("compact", compact);
  names.toggle("narrow", state.narrow && !state.present);
  names.toggle("slim", outer < 820 && !state.present);
  names.toggle("phone", outer < 520 && !state.present && !compact);
  names.toggle("tight", outer < (state.present ? 1700 : 1120));
  names.toggle("close", outer < 900 && !state.present);
  if (!state.present) names.remove("low");
}

/** Pixels in presenter mode that are not the stage: what stands above and below it, as tall as it is. */
function presentChrome({ parts, state, model }) {
  parts.root.classList.toggle("low", globalThis.innerHeight < 900);
  const scrub = state.slide ? 0 : 54 * 1.5 + 6,
    crumbs = parts.crumbs.style.display === "none" ? [] : [parts.crumbs],
    kinds = state.view === "physical" && model.key.length && !model.tl.stage.key ? 34 : 0;
  return Math.ceil(tallOf(parts.nar, ...crumbs, parts.legend, parts.running, parts.tr) + kinds + scrub + 24);
}

/** Wide: everything is in sight. Narrow: the linked views stand behind tabs. */
function arrangePanels(ui) {
  const { parts, state } = ui;
  const narrow = state.narrow && !state.present,
    inTab = (tab) => !narrow || state.tab === tab,
    isShown = {
      rows: state.present ? state.presentRows : inTab(0),
      right: !state.present && inTab(1),
      words: !state.present && (narrow ? state.tab === 2 : state.words),
      legend: inTab(3),
      modes: !state.present && inTab(0),
      mode: state.chart === "links" || state.chart === "each",
      kinds: state.kinds,
    };
  (narrow ? parts.panel : parts.mid).append(parts.right);
  (narrow ? parts.panel : parts.left).append(parts.legend);
  for (const name in isShown) parts[name].style.display = isShown[name] ? "" : "none";
  // on a phone the picture and the controls come first
  if (parts.root.classList.contains("phone")) parts.nar.before(parts.kinds);
  else parts.note.after(parts.kinds);
  const home = narrow ? parts.tabs : parts.scrubBox;
  if (parts.modes.parentNode !== home) home.append(parts.modes); // moving it would take the focus away
  (narrow ? parts.legend : parts.foot).prepend(parts.patterns);
  if (parts.words.style.display !== "none") buildWords(ui);
}

export function setView(ui, v) {
  if (v === ui.state.view) return;
  ui.state.view = v;
  hideTip(ui);
  dress(ui);
  report(ui, "view", 0);
}

/** What the rows show; the moment stays. */
export function setChart(ui, chart) {
  ui.state.chart = chart;
  hideTip(ui);
  dress(ui);
}

/** Patterns beside or instead of colours: for grey print, and for eyes that tell colours apart badly. */
export function setPatterns(ui, on) {
  ui.state.patterns = on;
  if (ui.model) dress(ui);
}
