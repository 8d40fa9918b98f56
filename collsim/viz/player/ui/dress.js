// What changes with the run, the language, the theme or the size, but not with time: words, legend, layout.

import { SPEEDS } from "../model/clock.js";
import { buildCrumbs } from "./crumbs.js";
import { colorsOf, forgetDrawn, invalidate, report, themeOf, wordsOf } from "./context.js";
import { el, nameButton, segment } from "../draw/elements.js";
import { buildLegend } from "./legend.js";
import { hideTip } from "./pointer.js";
import { textAt } from "../model/read.js";
import { chartsOf, linesOf, rowSize } from "../charts/rows.js";
import { KEY_SCALE } from "../draw/ruler.js";
import { buildWords } from "./text.js";
import { fmtBytes, fmtRate, fmtSpan, three, timeUnit } from "../model/units.js";

export function dress(ui) {
  const { d, S, m } = ui;
  const w = wordsOf(ui);
  applyTheme(ui);
  d.root.dataset.lang = S.lang;
  d.root.lang = S.lang === "zh" ? "zh-CN" : "en";
  if (!m) {
    if (S.problem) d.error.textContent = `${w.wrong} ${S.problem[S.lang]}`;
    return;
  }
  delete d.root.dataset.error;
  buildChoices(ui, w);
  for (const name of ["first", "back", "next", "loop", "busy", "link", "png", "full"]) nameButton(d[name], w[name]);
  nameButton(d.wrong, w.toMistake);
  d.wrong.style.display = m.mistake ? "" : "none";
  d.patterns.textContent = S.patterns ? w.noPatterns : w.patterns;
  d.patterns.setAttribute("aria-pressed", String(S.patterns));
  d.speedWord.textContent = w.speed;
  d.live.setAttribute("aria-label", w.stageLabel);
  d.scrub.setAttribute("aria-label", w.time);
  d.textlink.textContent = S.words ? w.hideText : w.asText;
  d.matrixTitle.textContent = m.goal > 1 && m.goals.every((k) => k === m.goal) ? w.contributions(m.goal) : w.holds;
  d.matrix.setAttribute("aria-label", d.matrixTitle.textContent);
  d.rowsCanvas.setAttribute("aria-label", `${w.tabs[0]}: ${w.charts[S.chart]}`);
  buildChannels(ui);
  buildTabs(ui);
  buildLegend(ui);
  buildHead(ui);
  buildCrumbs(ui);
  d.root.dataset.transfers = String(m.n);
  arrange(ui);
}

/** What can be chosen: the view, the speed, the chart, and what the bars of the chart show. */
function buildChoices(ui, w) {
  const { d, S, m, clock } = ui,
    named = (names, words = w) => names.map((name) => [name, words[name]]);
  segment(d.views, named(["physical", "logical"]), S.view, (v) => setView(ui, v), w.view);
  segment(d.speeds, SPEEDS, clock.speed, clock.setSpeed, w.speed);
  segment(d.chart, named(chartsOf(m), w.charts), S.chart, (v) => setChart(ui, v), w.chartsLabel);
  const setMode = (v) => {
    S.mode = v;
    dress(ui);
  };
  segment(d.mode, named(["rate", "bytes"]), S.mode, setMode, w.chart);
}

export function applyTheme(ui) {
  const { d } = ui;
  const C = colorsOf(ui);
  for (const k in C) d.root.style.setProperty(`--${k}`, C[k]);
  d.root.dataset.theme = themeOf(ui);
  forgetDrawn(ui);
}

function buildChannels(ui) {
  const { d, S, m } = ui;
  const on = m.channels > 1 && S.slotChannel,
    whose = m.groups.length === m.channels; // a channel is a collective
  d.channelLabel.replaceChildren(...(on ? [whose ? wordsOf(ui).collectives : wordsOf(ui).channel, d.channel] : []));
  if (!on) return;
  const items = [
    [-1, wordsOf(ui).all],
    ...Array.from({ length: m.channels }, (_, c) => [c, whose ? m.groups[c].name : String(c)]),
  ];
  d.channel.replaceChildren(
    ...items.map(([v, t]) => el("option", { value: String(v), textContent: t, selected: v === S.channel })),
  );
}

/** Show the channel after the one that is shown, or before it. */
export function turnChannel(ui, by) {
  const { S, m } = ui;
  S.channel = (S.channel + by + m.channels) % m.channels;
  dress(ui);
}

function buildTabs(ui) {
  const { d, S } = ui;
  d.tabList.replaceChildren(
    ...wordsOf(ui).tabs.map((t, q) =>
      el("button", {
        type: "button",
        role: "tab",
        textContent: t,
        "aria-selected": String(q === S.tab),
        onclick: () => {
          S.tab = q;
          dress(ui);
        },
      }),
    ),
  );
}

function buildHead(ui) {
  const { d, S, m, opts } = ui;
  d.root.classList.toggle("withhead", !!opts.header);
  if (!opts.header) return;
  const w = wordsOf(ui),
    F = m.tl.figures ?? {},
    u = timeUnit(m.total),
    B = m.tl.bottleneck;
  const fig = (a, b, c) =>
    el(
      "div",
      { className: "fig" },
      el("small", { textContent: a }),
      el("b", { textContent: b }),
      el("i", { textContent: c ?? "" }),
    );
  const kids = [
    el("h2", { textContent: textAt(m.tl.meta.title, 0, S.lang) }),
    fig(w.time, u.fmt(m.total), w.ranksSteps(m.ranks, m.nsteps)),
  ];
  if (F.algbw) kids.push(fig(w.algbw, fmtRate(F.algbw), fmtBytes(m.tl.meta.nbytes)));
  if (F.busbw) kids.push(fig(w.busbw, fmtRate(F.busbw)));
  if (F.bound) kids.push(fig(w.bound, fmtSpan(F.bound), w.times(three(F.spent / F.bound))));
  if (B)
    kids.push(
      el(
        "div",
        { className: "bn" },
        el("small", { textContent: w.bottleneck }),
        el("b", { textContent: textAt(B.text, 0, S.lang) }),
        el("i", { textContent: textAt(B.more, 0, S.lang) }),
      ),
    );
  d.head.replaceChildren(...kids);
}

export function arrange(ui) {
  const { d, S, m, opts } = ui;
  if (!m || !d.root.clientWidth) return;
  const compact = opts.compact > 0 && !S.present,
    outer = d.root.clientWidth,
    pad = compact ? -2 : S.present ? 72 : outer < 1340 ? 32 : 40,
    inner = outer - pad - 2;
  S.narrow = outer < 1340 || S.present;
  nameWidth(ui, outer, compact);
  const leftW = S.narrow ? inner : inner - 424,
    st = ui.shown.tl.stage;
  const n = linesOf(m, S.chart, wordsOf(ui), S.lang).length;
  const roomH = compact
    ? opts.compact
    : S.present
      ? Math.max(260, globalThis.innerHeight - presentChrome(ui))
      : Math.min(900, Math.max(470, globalThis.innerHeight - (S.narrow ? 330 : 610)));
  let k = Math.min(leftW / st.w, roomH / st.h, S.present ? 4 : 1.3);
  if (!compact) k = Math.max(k, Math.min(0.75, roomH / st.h)); // too small to read: the stage scrolls sideways instead
  k = Math.min(k, 8000 / st.w); // browsers refuse very wide canvases
  S.k = k;
  S.stageW = Math.max(leftW, st.w * k);
  S.stageH = compact ? opts.compact : Math.max(260, Math.round(st.h * k));
  if (S.view === "logical") {
    S.stageW = leftW;
    if (d.crumbs.style.display !== "none") S.stageH -= 36; // the line with the channel takes it
    if (!compact) S.stageH = Math.max(S.stageH, leftW < 700 ? 380 : m.endpoints <= 4 ? 340 : 420);
  }
  if (S.present) fillScreen(ui, roomH, 28 + n * rowSize(n, true, S.chart).rh);
  S.ox = Math.max(0, (S.stageW - st.w * k) / 2);
  S.oy = Math.max(0, (S.stageH - st.h * k) / 2);
  d.stage.style.height = `${S.stageH + (S.stageW > leftW ? 12 : 0)}px`;
  // else it is on the stage
  S.kinds = S.view === "physical" && m.key.length > (compact ? 1 : 0) && !opts.marks && (!st.key || k < KEY_SCALE);
  S.zoom = S.present ? 1.5 : 1;
  d.tr.querySelector(".lead").style.width = S.narrow ? "" : "198px";
  arrangePanels(ui);
  S.matW = S.narrow ? Math.min(inner, 640) : 400;
  S.matH = S.narrow ? 480 : Math.max(300, S.stageH + (st.key ? 4 : 28));
  const x0 = S.narrow ? 8 : 216;
  S.geo = {
    x0,
    tw: Math.max(50, leftW - x0 - (S.narrow ? 8 : 0)),
    W: inner,
    ...rowSize(n, S.narrow, S.chart),
    chart: S.chart,
    top: S.narrow ? 0 : 6,
    narrow: S.narrow,
    fig: S.narrow ? 0 : leftW + 24,
    mode: S.mode,
    zoom: S.zoom,
  };
  S.scrubH = (30 + 24) * S.zoom + 2;
  S.rowsH = S.geo.top + n * S.geo.rh + 28;
  forgetDrawn(ui);
  invalidate(ui);
}

/** Presenter mode leaves nothing empty: below a picture that is wider than the room stand the rows over time. */
function fillScreen({ d, S }, roomH, rowsH) {
  S.presentRows = S.view === "physical" && roomH - S.stageH >= rowsH + ROWS_APART;
  S.stageH = Math.max(S.stageH, roomH - (S.presentRows ? rowsH + ROWS_APART : 0));
  d.root.classList.toggle("withrows", S.presentRows);
}

const ROWS_APART = 12; // pixels above the rows

/** How wide the card is, as classes that its style sheet reads. */
function nameWidth({ d, S }, outer, compact) {
  const names = d.root.classList;
  names.toggle("compact", compact);
  names.toggle("narrow", S.narrow && !S.present);
  names.toggle("slim", outer < 820 && !S.present);
  names.toggle("phone", outer < 520 && !S.present && !compact);
  names.toggle("tight", outer < (S.present ? 1700 : 1120));
  if (!S.present) names.remove("low");
}

/** Pixels in presenter mode that are not the stage: what stands above and below it, as tall as it is. */
function presentChrome({ d, S, m }) {
  const tall = (e) => e.getBoundingClientRect?.().height ?? 0,
    scrub = 54 * 1.5 + 6;
  S.low = globalThis.innerHeight < 900;
  d.root.classList.toggle("low", S.low);
  const crumbs = d.crumbs.style.display === "none" ? 0 : tall(d.crumbs),
    kinds = S.view === "physical" && m.key.length && !m.tl.stage.key ? 34 : 0;
  return Math.ceil(tall(d.nar) + crumbs + tall(d.legend) + kinds + tall(d.running) + tall(d.tr) + scrub + 24);
}

/** Wide: everything is in sight. Narrow: the linked views stand behind tabs. */
function arrangePanels(ui) {
  const { d, S } = ui;
  const narrow = S.narrow && !S.present,
    show = (e, on) => {
      e.style.display = on ? "" : "none";
    };
  if (narrow) {
    d.panel.append(d.right, d.legend);
  } else {
    d.mid.append(d.right);
    d.left.append(d.legend);
  }
  show(d.rows, S.present ? S.presentRows : !narrow || S.tab === 0);
  show(d.right, !S.present && (!narrow || S.tab === 1));
  show(d.words, S.present ? false : narrow ? S.tab === 2 : S.words);
  show(d.legend, !narrow || S.tab === 3);
  show(d.modes, !S.present && (!narrow || S.tab === 0));
  show(d.mode, S.chart === "links" || S.chart === "each");
  show(d.kinds, S.kinds);
  const home = narrow ? d.tabs : d.scrubBox;
  if (d.modes.parentNode !== home) home.append(d.modes); // moving it would take the focus away
  (narrow ? d.legend : d.foot).prepend(d.patterns);
  if (d.words.style.display !== "none") buildWords(ui);
}

export function setView(ui, v) {
  const { S } = ui;
  if (v !== S.view) {
    S.view = v;
    hideTip(ui);
    dress(ui);
    report(ui, "view", 0);
  }
}

/** What the rows show; the moment stays. */
export function setChart(ui, chart) {
  ui.S.chart = chart;
  hideTip(ui);
  dress(ui);
}

/** Patterns beside or instead of colours: for grey print, and for eyes that tell colours apart badly. */
export function setPatterns(ui, on) {
  ui.S.patterns = on;
  if (ui.m) dress(ui);
}
