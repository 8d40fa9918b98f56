// collsim simple: one run as a picture, a sentence and a button. The loop of a ring is drawn here, all else by a
// player.

import { clearCanvas, media, readMarkup, setText } from "../player/draw/elements.js";
import { createClock } from "../player/model/clock.js";
import { TOKENS } from "../player/model/look.js";
import { index, momentOf, nextStart, paceOf, stepAt } from "../player/model/model.js";
import { problem, unpack } from "../player/model/read.js";
import { sayProblem } from "../player/ui/context.js";
import { createExportMenu } from "../player/export/menu.js";
import { showSlide } from "../player/export/slide.js";
import { SvgContext } from "../player/export/svgcontext.js";
import { drawPage } from "../player/ui/picture.js";
import { component } from "../player/mount.js";
import { withPlayback } from "../player/playback.js";
import { createPlayer } from "../player/ui/player.js";
import { createShell, dressRoot } from "../player/ui/shell.js";
import { stepBack } from "../player/ui/controls.js";
import { askedHead, buildSide, drawCode } from "./asking.js";
import { buildGuide, dressGuide, markStep, toggleGuide } from "./guide.js";
import { buildCards, buildVolume, drawCount } from "./head.js";
import { simpleSentence } from "./sentence.js";
import { sentAt } from "../player/model/sent.js";
import menuSheet from "../player/export/menu.css" with { type: "text" };
import slideSheet from "../player/export/slide.css" with { type: "text" };
import simpleMarkup from "./simple.html" with { type: "text" };
import simpleSheet from "./simple.css" with { type: "text" };
import {
  actOnKey,
  clockKeys,
  createTransport,
  drawTransport,
  nameTransport,
  toggleFullScreen,
  togglePlay,
} from "../player/ui/transport.js";
import { buildTimebar, drawTimebar } from "./timebar.js";
import { cabledRanks } from "./cables.js";
import { pairsOf, placeTrack, trackOf } from "./track.js";
import { drawTrack } from "./trackdraw.js";
import { chooseLanguage, pickWords } from "../words/choice.js";
import { SIMPLE } from "../words/words.js";

const SVG_WIDE = 1000; // px of a stage in a file, and of what is said above it
const SVG_HEAD = 84;
const LIGHTING = 800; // ms in which the cables of all cards light up, one after another

/**
 * Mount the simple page into `host`. Data: {id, title, runs: [one, all or null], all, predict, questions, language,
 * theme, t, names, guide}; a run is what `collsim.viz.simple.simple_document.SimpleRun` holds, and is called by one of
 * the `names`; `guide` is false where none is offered. `on` = {cards(all), predict(on), askClass(number),
 * exports(what)} hears what a reader chooses. `classroom` = {number, revealed}: a class is asked that question, beside
 * the picture, and the teacher reveals it there.
 */
export function createSimple(host, on = {}) {
  const look = { className: "sp", css: [menuSheet, slideSheet, simpleSheet], isFocusable: true },
    rearrange = () => arrange0(simple),
    shell = createShell(host, { ...look, arrange: rearrange }),
    { root } = shell,
    simple = /** @type {any} */ ({
      ...{ root, on, rearrange, clock: createClock(), still: media("(prefers-reduced-motion: reduce)") },
      ...{ dead: false, ticket: 0, off: () => {} },
      ...{ cabled: new Set(), asked: null, questions: [], all: false, predict: false },
      turnCards: (all) => turnCards(simple, all),
      ask: (question) => ask(simple, question),
      answer: (q) => answer(simple, q),
      goOn: () => goOn(simple),
    });
  buildGuide(simple);
  buildParts(simple);
  simple.buttons.append(buildExports(simple).box);
  root.addEventListener("keydown", (ev) => onSimpleKey(simple, ev), true);
  return {
    root,
    clock: simple.clock,
    update: (data) => (simple.taken = setSimple(simple, data)),
    beginOf: (step) => simple.model?.step0[step - 1],
    runId: () => simple.data?.names[simple.all ? 1 : 0],
    hear: (listeners) => hear(simple, listeners),
    destroy() {
      simple.dead = true;
      simple.clock.pause();
      simple.off();
      clearTimeout(simple.lighting);
      simple.player?.destroy();
      shell.remove();
    },
  };
}

/** Tell somebody else from now on, first of what is on already and not what the data say. */
async function hear(simple, listeners) {
  simple.on = listeners;
  await simple.taken;
  const { data, all, predict } = simple;
  if (!data) return;
  dressState(simple);
  if (all !== !!(data.all && simple.models[1])) listeners.cards?.(all);
  if (predict !== !!data.predict) listeners.predict?.(predict);
}

/** The picture is not shown before there is a run: till then the head above it is empty. */
function buildParts(simple) {
  Object.assign(simple, readMarkup(simpleMarkup));
  simple.bar = buildTimebar(simple);
  const { root, clock } = simple,
    acts = { play: () => toggle0(simple) };
  simple.transport = createTransport({ root, clock, turn: (by) => step0(simple, by), acts });
  const { back, play, next } = simple.transport.buttons;
  simple.buttons.prepend(back, play, next);
  simple.asks.onclick = () => setPredict(simple);
  simple.buttons.append(simple.guide.open);
  simple.key.before(simple.bar.box);
  simple.mid.append(simple.guide.box);
  root.append(simple.head, simple.error, simple.mid);
}

/** The menu of files. */
function buildExports(simple) {
  const { root } = simple,
    step = () => stepAt(simple.model, Math.min(simple.clock.t, simple.model.total)) + 1;
  simple.slide = (on) => showSlide(root, on, simple.rearrange);
  simple.exports = createExportMenu({
    root,
    acts: {
      picture: () => ({ name: `collsim-step${step()}`, svg: drawSvg(simple, step()) }),
      slide: () => simple.slide(true),
    },
    make: (kind) => simple.on.exports?.({ kind, t: simple.clock.t }),
    place: () => `step=${step()}`,
    say: (text) => setText(simple.key, text),
  });
  return simple.exports;
}

/** The picture of this moment and its sentence, as the text of an SVG file. */
function drawSvg(simple, step) {
  const { model, clock, says, place: layout, player } = simple,
    t = Math.min(clock.t, model.total),
    said = says.textContent,
    [wide, tall] = [player ? SVG_WIDE : layout.w, player ? (SVG_WIDE * model.tl.stage.h) / model.tl.stage.w : layout.h],
    ctx = new SvgContext(wide + 40, tall + SVG_HEAD + 20);
  drawPage(ctx, said, ctx.width, ctx.height);
  ctx.translate(20, SVG_HEAD);
  if (player) player.drawInto(ctx, wide);
  else drawTrack(ctx, { ...simple, colors: TOKENS.light, asked: null, t, s: step - 1 });
  return ctx.finish(said, { step, t: Number(t.toPrecision(9)) });
}

// ---- data

async function setSimple(simple, data) {
  const before = simple.data,
    mine = ++simple.ticket;
  if (before && before.id === data.id) {
    simple.data = { ...data, runs: before.runs };
    dress0(simple);
    followClass(simple);
    return;
  }
  const timelines = await Promise.all(data.runs.map((run) => run && unpack(run.timeline)));
  if (mine !== simple.ticket || simple.dead) return;
  const bad = problem(timelines[0]);
  if (bad) {
    setText(simple.error, sayProblem(data.language, bad));
    return;
  }
  setText(simple.error, "");
  simple.data = data;
  simple.models = timelines.map((tl, q) => tl && { ...index(tl), goalSent: data.runs[q].sent ?? data.runs[q].most });
  simple.track = trackOf(simple.models[0]);
  simple.cabled = simple.track ? cabledRanks(simple.track, simple.models[1] && pairsOf(simple.models[1])) : new Set();
  simple.all = !!(data.all && simple.models[1]);
  simple.predict = !!data.predict;
  simple.questions = (data.questions ?? []).map((q) => ({ ...q, given: null, shown: false }));
  simple.asked = null;
  simple.mid.style.display = "";
  begin0(simple, data.t ?? 0);
  dress0(simple);
  if (data.classroom) followClass(simple);
  else askDue(simple);
}

/** The picture stands at the step that the class is asked about, and goes on once its votes are revealed. */
function followClass(simple) {
  const { clock, data } = simple,
    question = data.classroom && simple.questions[data.classroom.number];
  if (!question) return;
  const { revealed: isRevealed } = data.classroom;
  if (simple.all) turnCards(simple, false);
  if (simple.asked !== question || question.shown !== isRevealed) {
    clock.pause();
    clock.seek(simple.model.step0[question.step]);
    Object.assign(simple, { predict: true, asked: question });
    Object.assign(question, { shown: false, given: null });
    dressState(simple);
  }
  if (isRevealed && !question.shown) goOn(simple);
}

/** Whether a class still votes on what the next moments would show. */
const isVoting = ({ data }) => !!data.classroom && !data.classroom.revealed;

/** Show the run of one card or of all from a moment on; both at the same pace. */
function begin0(simple, t) {
  const { clock, models } = simple,
    model = models[simple.all ? 1 : 0];
  simple.off();
  simple.model = model;
  simple.pairs = pairsOf(model);
  simple.off = clock.on((_, cause) => onTick(simple, cause), model.total, paceOf(models[0]));
  clock.t = Math.min(model.total, Math.max(0, t));
  simple.player?.destroy();
  simple.player = null;
  simple.canvas.style.display = simple.track ? "" : "none";
  if (!simple.track) showPlayer(simple, model);
  simple.root.dataset.transfers = String(model.n);
  simple.root.dataset.cards = simple.all ? "all" : "one";
}

/** A run that is no ring: its stage as the player draws it, on this clock. */
function showPlayer(simple, model) {
  const { data, clock, stage } = simple;
  const look = { language: data.language, theme: data.theme, compact: 420, clock };
  simple.player = createPlayer(stage, { timeline: model.tl, ...look });
}

// ---- look

function dress0(simple) {
  const { data, root } = simple;
  if (!data) return;
  simple.language = chooseLanguage(data.language);
  simple.words = pickWords(SIMPLE, simple.language);
  simple.colors = dressRoot(root, data);
  root.setAttribute("aria-label", simple.words.label);
  simple.player?.set({ language: data.language, theme: data.theme });
  const { words } = simple;
  nameTransport(simple.transport, words);
  simple.asks.title = words.predictHelp;
  setText(simple.key, words.key);
  simple.exports.set(words.exports, data.exports);
  setText(simple.asks, words.predict);
  simple.asks.style.display = simple.questions.length ? "" : "none";
  dressState(simple);
}

/** What depends on what is on: the head, the column beside the picture, the buttons. */
function dressState(simple) {
  const { root, predict, asked: question, words } = simple;
  if (predict) simple.countSays = null;
  const head = predict ? askedHead(simple) : [buildVolume(simple), buildCards(simple) ?? ""];
  simple.head.replaceChildren(...head);
  simple.asks.setAttribute("aria-pressed", String(predict));
  root.classList.toggle("asking", !!predict);
  root.classList.toggle("classroom", !!simple.data.classroom);
  root.dataset.predict = String(predict);
  root.dataset.question = question ? String(simple.questions.indexOf(question) + 1) : "";
  if (predict) buildSide(simple);
  simple.canvas.setAttribute("aria-label", question && !question.shown ? words.hidden : simple.data.title);
  dressGuide(simple);
  showPlay(simple);
  arrange0(simple);
}

function showPlay(simple) {
  const { root, transport, clock, words } = simple;
  drawTransport(transport, clock, words);
  root.dataset.playing = String(clock.playing);
}

function arrange0(simple) {
  const { root, stage, track } = simple,
    wide = root.clientWidth;
  if (!wide || !simple.data || !simple.model) return;
  root.classList.toggle("slim", wide < 700);
  root.classList.toggle("small", wide < 1500);
  root.classList.toggle("stack", wide < 1100);
  const w = Math.floor(stage.clientWidth),
    slim = w < 640,
    isSlide = root.classList.contains("slide"),
    around = simple.predict ? 382 : 400,
    room = globalThis.innerHeight - (isSlide ? 190 : around),
    rows = Math.max(...(track?.panels.map(({ ranks }) => Math.ceil(ranks.length / 2)) ?? [4])),
    tall = slim
      ? Math.min(640, (track?.panels.length ?? 1) * rows * 50 + (simple.cabled.size ? 140 : 80))
      : Math.max(300, Math.min(isSlide ? Infinity : 596, room));
  simple.size = [w, tall];
  if (track && w > 100) simple.place = placeTrack(track, simple.pairs, w, tall, slim, simple.cabled);
  simple.player?.set({ compact: Math.max(260, Math.min(560, room)) });
  render0(simple);
}

function render0(simple) {
  const { model, clock, place: layout, size } = simple;
  if (!model || !simple.data || simple.dead) return;
  const { t, s } = momentOf(model, clock, simple.still.matches),
    hidden = simple.asked && !simple.asked.shown && !clock.playing ? simple.asked : null;
  if (simple.track && layout) {
    drawTrack(clearCanvas(simple.canvas, size[0], size[1]), { ...simple, asked: hidden, t, s });
  }
  drawTimebar(simple, t, s);
  drawCount(simple, sentAt(model, t));
  drawCode(simple, s, t >= model.total);
  sayStep(simple, t, s);
}

function sayStep(simple, t, s) {
  const key = [s, t >= simple.model.total, simple.language, simple.all, simple.asked && !simple.asked.shown].join();
  Object.assign(simple.root.dataset, { step: String(s + 1), t: String(t) });
  if (key === simple.said) return;
  simple.said = key;
  simple.says.replaceChildren(...simpleSentence(simple, t, s));
}

// ---- time

function onTick(simple, cause) {
  const { clock } = simple;
  if (cause === "tick" && askDue(simple)) return;
  if (cause === "end" && simple.asked && !simple.asked.shown) reveal(simple);
  if (cause !== "tick") showPlay(simple);
  if (clock.playing) markStep(simple, "play");
  render0(simple);
}

/** A question that was passed by long ago is not asked again before time comes to it once more. */
const isDue = ({ model, clock: { t } }, q) =>
  q.given == null && !q.shown && model.step0[q.step] <= t && t < model.step1[q.step];

/** Stop at the question that this moment is due for. Returns whether there is one. */
function askDue(simple) {
  const { clock, model } = simple,
    due = simple.predict && !simple.asked && simple.questions.find((q) => isDue(simple, q));
  if (!due) return false;
  clock.pause();
  clock.t = model.step0[due.step];
  ask(simple, due);
  return true;
}

function ask(simple, question) {
  if (simple.asked === question) return;
  simple.asked = question;
  dressState(simple);
  if (question) simple.root.focus({ preventScroll: true });
}

function answer(simple, q) {
  if (!simple.asked || simple.asked.shown || q >= simple.asked.choices.length) return;
  simple.asked.given = q;
  dressState(simple);
}

/** Let the pieces of this step arrive, then show the answer; after that, go on to the next question. */
function goOn(simple) {
  const { asked: question, clock, model } = simple;
  if (!question || isVoting(simple)) return;
  if (question.shown) {
    simple.asked = null;
    dressState(simple);
    clock.play();
    return;
  }
  question.given ??= -1;
  const lasts = model.step1[question.step] - model.step0[question.step],
    end = question.step + 1 < model.nsteps ? model.step1[question.step] - 1e-6 * lasts : model.total;
  clock.t = Math.min(clock.t, end);
  clock.play(end);
}

function reveal(simple) {
  simple.asked.shown = true;
  dressState(simple);
}

function setPredict(simple, on = !simple.predict) {
  simple.predict = on;
  simple.asked = null;
  for (const q of simple.questions) Object.assign(q, { given: null, shown: false });
  if (on && simple.all) turnCards(simple, false);
  simple.clock.pause();
  if (on) simple.clock.seek(0);
  dressState(simple);
  askDue(simple);
  simple.on.predict?.(on);
}

function toggle0(simple) {
  if (simple.asked) goOn(simple);
  else togglePlay(simple.clock);
}

function step0(simple, by) {
  const { clock, model } = simple;
  if (isVoting(simple)) return;
  if (simple.asked) ask(simple, null);
  clock.pause();
  if (by > 0) clock.seek(nextStart(model, stepAt(model, clock.t)));
  else stepBack(simple);
}

/** All cards, or one again: the cables light up one after another, then the run starts at the same pace. */
function turnCards(simple, all) {
  if (!simple.models[1] || all === simple.all) return;
  const { clock } = simple;
  clock.pause();
  clearTimeout(simple.lighting);
  simple.all = all;
  if (all) markStep(simple, "cards");
  simple.asked = null;
  if (all && simple.predict) simple.predict = false;
  begin0(simple, 0);
  dressState(simple);
  simple.on.cards?.(all);
  if (!all || simple.still.matches || !simple.track) {
    clock.play();
    return;
  }
  lightUp(simple, 1, simple.data.runs[1].channels);
}

function lightUp(simple, lit, of) {
  if (simple.dead) return;
  simple.lit = lit > of ? null : lit;
  if (lit > of) simple.clock.play();
  else simple.lighting = setTimeout(() => lightUp(simple, lit + 1, of), LIGHTING / of);
  render0(simple);
}

function onSimpleKey(simple, ev) {
  const { clock } = simple;
  if (!simple.data) return;
  if (ev.target?.tagName === "BUTTON" && (ev.key === " " || ev.key === "Enter")) return;
  const acts = {
    ...clockKeys({ clock, turn: (by) => step0(simple, by), toggle: () => toggle0(simple) }),
    q: () => simple.questions.length && setPredict(simple),
    g: () => toggleGuide(simple),
    f: () => toggleFullScreen(simple.root),
    s: () => simple.slide(!simple.root.classList.contains("slide")),
    Escape: () => simple.slide(false),
  };
  if (simple.asked) for (let k = 1; k <= simple.asked.choices.length; k++) acts[k] = () => answer(simple, k - 1);
  else acts[8] = () => turnCards(simple, !simple.all);
  actOnKey(ev, acts);
}

// The first page stands before Streamlit has loaded (`app/entry/first_frame.py`): its picture moves in here, with all
// that a reader did to it.
export default component((box, _, send) => {
  const listeners = {
    cards: (all) => send.state("cards", all),
    predict: (on) => send.state("predict", on),
    askClass: (number) => send.trigger("question", number),
    exports: (what) => send.trigger("export", what),
  };
  return globalThis.collsimFirst?.moveTo(box, listeners) ?? withPlayback("run", createSimple(box, listeners));
});
