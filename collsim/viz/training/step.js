// collsim training step: the timeline of one step, what would change it, and the player inside its collectives.

import { el, readMarkup, segment, setText, swatch } from "../player/draw/elements.js";
import { timeUnit } from "../player/model/units.js";
import { createExportMenu } from "../player/export/menu.js";
import { showSlide } from "../player/export/slide.js";
import { component } from "../player/mount.js";
import { withPlayback } from "../player/playback.js";
import { drawChanges } from "./changes.js";
import { happening, momentsOf } from "./stepgeometry.js";
import { BUCKET_HUES } from "../player/model/look.js";
import { createTimed } from "../transport/timed.js";
import { createTransport, dragTime, drawTransport, mirrorClock } from "../player/ui/transport.js";
import { STEP } from "../words/words.js";
import { drawLanes } from "./steplanes.js";
import { drawFunnel, drawPanel, followInside, forgetPlayer, openNamed, openOf, outside } from "./collectivepanel.js";
import buttonsSheet from "../transport/buttons.css" with { type: "text" };
import menuSheet from "../player/export/menu.css" with { type: "text" };
import slideSheet from "../player/export/slide.css" with { type: "text" };
import lightSheet from "../transport/lanechart.css" with { type: "text" };
import partsSheet from "./parts.css" with { type: "text" };
import stepMarkup from "./step.html" with { type: "text" };
import stepSheet from "./step.css" with { type: "text" };
import { narrateStep } from "./stepwords.js";
import { fill } from "../words/choice.js";

const SLIDE_ZOOM = 1.5; // how much larger the timeline is on a slide

const CARD = {
  className: "ts",
  css: [buttonsSheet, menuSheet, slideSheet, lightSheet, partsSheet, stepSheet],
  hues: BUCKET_HUES,
  words: STEP,
  total: ({ step }) => step.time,
  moments: ({ step }) => momentsOf(step),
  begin: beginStep,
  dress: dressStep,
  arrange: arrangeStep,
  tick: drawStep,
  keys: stepKeys,
  end: forgetPlayer,
};

/**
 * Mount a step into `host`. Its data are {id, step, ghost, rows, curve, bucket_bytes, asked, open, opened, every,
 * language, theme, t}; `act(what)` is called with what somebody wants: {what: "open", name}, {what: "switch", name},
 * {what: "bucket", nbytes}, {what: "default bucket"}, {what: "every", on}; `onExport({kind, t})` when a file
 * of the step is wanted.
 *
 * @param {Element} host
 * @param {{ act?: (what: { what: string, name?: string, on?: boolean, nbytes?: number }) => void,
 *   onExport?: (what: { kind: string, t: number }) => void }} [listener]
 */
export function createStep(host, { act = () => {}, onExport = () => {} } = {}) {
  const build = (ui) => {
    Object.assign(ui, { inner: null, act });
    ui.slide = (on) => showSlide(ui.root, on, () => ui.arrange());
    ui.exports = createExportMenu({
      root: ui.root,
      acts: { slide: () => ui.slide(true) },
      make: (kind) => onExport({ kind, t: ui.clock.t }),
      place: () => `t=${Number(ui.clock.t.toPrecision(6))}`,
      say: (text) => setText(ui.parts.note, text),
      page: "collsim-step.html",
    });
    return buildStepCard(ui);
  };
  return createTimed(host, { ...CARD, build });
}

function buildStepCard(ui) {
  Object.assign(ui, readMarkup(stepMarkup));
  ui.root.addEventListener("keydown", (ev) => openByKey(ui, ev));
  ui.root.addEventListener("click", (ev) => openClicked(ui, ev));
  dragOver(ui);
  return [ui.top, ui.body];
}

/** The middle of the collective that is open, where it is opened anew. */
function beginStep(ui, before) {
  const collective = openOf(ui),
    opens = !before || (ui.data.open !== before.open && collective && outside(ui, collective));
  return collective && opens ? collective.begin + 0.5 * (collective.end - collective.begin) : undefined;
}

/** Words and everything that follows from the data. */
function dressStep(ui) {
  const { data, words } = ui,
    parts = (ui.parts = createTransport(ui)),
    pick = (on) => ui.act({ what: "every", on }),
    choices = [
      [false, words.one],
      [true, fill(words.all, { count: data.step.ranks })],
    ];
  ui.bar.replaceChildren(parts.moves, parts.time, parts.speeds, el("span.sp"), parts.note, parts.tools);
  parts.tools.prepend(ui.exports.box);
  ui.exports.set(words.exports, data.exports);
  drawLegend(ui);
  ui.gpus.hidden = data.step.ranks < 2;
  segment(ui.gpus, choices, data.every, pick, words.gpus);
}

/** Lay everything out in so much width. */
function arrangeStep(ui, whole) {
  const { root, data } = ui;
  const isSlide = root.classList.contains("slide"),
    beside = whole >= 1240 && !isSlide,
    margins = whole < 760 ? 24 : 40,
    padding = isSlide ? 72 : margins,
    zoom = isSlide ? SLIDE_ZOOM : 1;
  ui.slim = whole < 760;
  ui.small = whole < 1100;
  root.classList.toggle("beside", beside);
  root.classList.toggle("slim", ui.slim);
  ui.wide = (whole - padding - 2 - (beside ? 424 : 0)) / zoom;
  ui.lanes.style.zoom = String(zoom);
  const focused = heldBy(root);
  drawLanes(ui);
  drawPanel(ui);
  drawChanges(ui, beside ? 400 : ui.wide);
  if (focused) root.querySelector(focused)?.focus({ preventScroll: true });
  const scroll = ui.lanes.querySelector(".scroll");
  scroll.addEventListener("scroll", () => drawFunnel(ui));
  const collective = openOf(ui);
  if (collective) scroll.scrollLeft = ui.across((collective.begin + collective.end) / 2) - scroll.clientWidth / 2;
  Object.assign(root.dataset, {
    time: String(data.step.time),
    open: data.open,
    opened: data.opened?.timeline ? data.opened.name : "",
    collectives: String(data.step.collectives.length),
    changes: data.rows.flatMap((row) => (row.on ? [row.name] : [])).join(),
  });
  drawStep(ui);
}

/** Where the focus is, so that the keys go on working after everything was drawn anew; empty where it is elsewhere. */
function heldBy(root) {
  const active = root.getRootNode().activeElement;
  if (!active || !root.contains(active)) return "";
  if (active.dataset.name) return `[data-name="${globalThis.CSS.escape(active.dataset.name)}"]`;
  if (active.getAttribute("role") === "switch") return `[data-change="${active.parentNode.dataset.change}"] button`;
  return active.getAttribute("role") === "slider" ? ".curve" : "";
}

// ---- what a person can do

/** Open the bucket after the one that is open. */
function nextBucket(ui) {
  const names = ui.data.step.collectives.filter((c) => c.bucket >= 0).map((c) => c.name),
    next = names[(names.indexOf(ui.data.open) + 1) % names.length];
  if (next) openNamed(ui, next);
}

/** To where the chain goes on to its next part. */
function alongChain({ clock, data }) {
  const begins = data.step.chain.map(([, , t0]) => t0),
    next = begins.find((t) => t > clock.t + 1e-9 * clock.total);
  clock.pause();
  clock.seek(next ?? 0);
}

/** The time column is the scrubber, but for the boxes that open something. */
function dragOver(ui) {
  const seek = (ev) => ui.clock.seek(ui.chart.timeAt(ev));
  const isTrack = ({ target }) => Boolean(target.closest?.("svg.time")) && !target.closest("[data-name]");
  dragTime(ui.lanes, seek, { isTrack, isScrolled: true });
}

/** Enter and space open the box that has the focus. */
function openByKey(ui, ev) {
  const name = ev.target?.dataset?.name;
  if (!name || (ev.key !== "Enter" && ev.key !== " ")) return;
  ev.preventDefault();
  ev.stopImmediatePropagation();
  openNamed(ui, name);
}

function stepKeys(ui) {
  return {
    s: () => ui.slide(!ui.root.classList.contains("slide")),
    Escape: () => (ui.root.classList.contains("slide") ? ui.slide(false) : ui.act({ what: "open", name: "none" })),
    b: () => nextBucket(ui),
    c: () => alongChain(ui),
    w: () => ui.side.querySelector("button")?.focus(),
  };
}

/** One frame. */
function drawStep(ui) {
  const { data, clock } = ui;
  if (!data || !ui.across) return;
  const unit = timeUnit(data.step.time),
    [bold, rest] = narrateStep(ui.words, data.step, clock.t, unit.fmt),
    now = happening(data.step, clock.t);
  if (ui.said !== bold + rest + data.language) {
    ui.said = bold + rest + data.language;
    ui.says.replaceChildren(el("b", bold), ` ${rest}`);
  }
  drawTransport(ui.parts, clock, ui.words, `${unit.num(clock.t)} / ${unit.fmt(data.step.time)}`);
  ui.cursor.move(clock.t, unit.fmt(clock.t));
  followInside(ui);
  mirrorClock(ui, { waits: String(now.waits !== null), carries: now.carries?.name ?? "" });
}

/** A box of the network lane was clicked. */
function openClicked(ui, ev) {
  const name = ev.target.closest?.("[data-name]")?.dataset.name;
  if (name) openNamed(ui, name);
}

function drawLegend(ui) {
  const { legend } = ui.words,
    buckets = [0, 1, 2, 3, 4].map((q) => el("u", { style: `background:var(--b${q})` })),
    entries = ["exposed hatch", "chain outline", "queue dash"].map((pair) => pair.split(" "));
  if (ui.data.ghost.length && !ui.data.every) entries.push(["ghost", "thin"]);
  ui.foot.replaceChildren(
    el("span", el("i.five", ...buckets), legend.bucket),
    ...entries.map(([name, look]) => swatch(`.${look}`, legend[name])),
  );
}

export default component((box, _, send) =>
  withPlayback(
    "step",
    createStep(box, {
      act: (what) => send.trigger("act", what),
      onExport: (what) => send.trigger("export", what),
    }),
  ),
);
