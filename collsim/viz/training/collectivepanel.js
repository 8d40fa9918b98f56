// The collective that is open: its figures, and the player inside it, on the clock of the step.

import { createClock } from "../player/model/clock.js";
import { el, nameButton, setText, svg } from "../player/draw/elements.js";
import { phaseOf, stepAt } from "../player/model/model.js";
import { textAt } from "../player/model/read.js";
import { fmtBytes, fmtSpan, timeUnit } from "../player/model/units.js";
import { nameTask, sayGradients } from "./stepwords.js";
import { createPlayer } from "../player/ui/player.js";
import { hueOf } from "../transport/hues.js";
import { fill } from "../words/choice.js";

const STAGE = 380; // pixels that the stage is high at most
const LOGICAL = 600; // pixels below which the stage shows ranks alone, without the machine

/** The collective that is open, as the document has it; undefined where none is. */
export const openOf = ({ data }) => data.step.collectives.find((c) => c.name === data.open);

export const outside = ({ clock }, collective) => clock.t < collective.begin || clock.t >= collective.end;

/** Ask for the panel of a collective, and go to its moment. */
export function openNamed(ui, name) {
  const collective = ui.data.step.collectives.find((c) => c.name === name);
  if (!collective) return;
  if (outside(ui, collective)) ui.clock.seek(collective.begin + 0.5 * (collective.end - collective.begin));
  if (name !== ui.data.open) ui.act({ what: "open", name });
}

/** Draw the panel; the player stays where the collective is the same. */
export function drawPanel(ui) {
  const collective = openOf(ui),
    words = ui.words;
  ui.panel.hidden = false;
  if (!collective) {
    forgetPlayer(ui);
    ui.panel.className = "opened shut";
    ui.panel.replaceChildren(el("p.hint", words.hint));
    ui.funnel.replaceChildren();
    return;
  }
  ui.panel.className = "opened";
  ui.panel.style.setProperty("--hue", hueOf(collective.bucket).box);
  const body = el("div.inside", facts(ui, collective), stageOf(ui));
  ui.panel.replaceChildren(head(ui, collective), body);
  drawFunnel(ui, collective);
}

function head(ui, collective) {
  const words = ui.words,
    { opened } = ui.data,
    hue = hueOf(collective.bucket),
    chip = el("i.chip", collective.bucket >= 0 ? String(collective.bucket) : "•"),
    close = el("button.btn", { onclick: () => ui.act({ what: "open", name: "none" }) }, "×");
  chip.style.cssText = `background:${hue.box};color:${hue.text}`;
  nameButton(close, words.close);
  ui.pace = el("span.pace");
  const name = el("b", fill(words.opened, { name: nameTask(words, collective) })),
    link = opened?.link && el("a.b2", { href: opened.link, target: "_self" }, words.explore);
  return el("div.phead", chip, name, ui.pace, el("span.sp"), link, close);
}

function facts(ui, collective) {
  const words = ui.words,
    { opened, step } = ui.data,
    unit = timeUnit(step.time),
    late = collective.begin - collective.ready,
    took = collective.end - collective.begin,
    fact = (name, value, note, alarm = false) =>
      el("div", { className: alarm ? "fact alarm" : "fact" }, el("span", name), el("b", value), el("small", note));
  const { exposed } = collective,
    turn = late > 1e-9 * step.time ? fill(words.turn, { time: fmtSpan(late) }) : words.atonce,
    links = opened ? fill(words.links, { time: fmtSpan(opened.seconds), steps: opened.steps }) : "",
    hidden = exposed < took ? fill(words.hidden, { time: fmtSpan(took - exposed) }) : "";
  return el(
    "div.facts",
    fact(words.carries, fmtBytes(collective.nbytes), sayGradients(words, collective)),
    fact(words.ready, unit.fmt(collective.ready), turn),
    fact(words.runs, fmtSpan(took), links),
    fact(words.exposed, fmtSpan(exposed), hidden, exposed > 0),
  );
}

/** The box of the player: a new one where another collective is open. */
function stageOf(ui) {
  const { opened } = ui.data,
    key = opened?.timeline ? `${ui.data.id}|${opened.name}` : "";
  if (!key) {
    forgetPlayer(ui);
    return el("div.stage0", el("p.hint", opened?.refusal || ui.words.pending));
  }
  if (ui.inner?.key !== key) {
    forgetPlayer(ui);
    const stage = el("div.stage0"),
      clock = createClock(),
      options = { timeline: opened.timeline, clock, language: ui.data.language, theme: ui.data.theme, compact: STAGE };
    const inner = { key, clock, stage, player: createPlayer(stage, { ...options, view: viewOf(ui) }) };
    ui.inner = inner;
    inner.player.ready.then(() => {
      if (ui.inner !== inner) return;
      sizeStage(ui);
      followInside(ui);
    });
  }
  sizeStage(ui);
  return ui.inner.stage;
}

const viewOf = ({ wide }) => (wide < LOGICAL ? "logical" : "physical");

/** As high as the picture is at the width that it has. */
function sizeStage(ui) {
  const { inner, data, wide } = ui,
    model = inner.player.model,
    room = wide - (ui.slim ? 28 : 232),
    names = model?.panels.x.length ? 36 : 0,
    tall =
      model && viewOf(ui) === "physical" ? names + model.tl.stage.h * Math.min(1.3, room / model.tl.stage.w) : STAGE;
  const compact = Math.round(Math.min(STAGE, Math.max(160, tall)));
  inner.player.set({ language: data.language, theme: data.theme, view: viewOf(ui), compact });
}

export function forgetPlayer(ui) {
  ui.inner?.player.destroy();
  ui.inner = null;
}

/** From the box on the network lane to the corners of the panel. */
export function drawFunnel(ui, collective = openOf(ui)) {
  if (!collective || ui.slim) {
    ui.funnel.replaceChildren();
    return;
  }
  const scrolled = ui.lanes.querySelector(".scroll")?.scrollLeft ?? 0,
    clip = (x) => Math.min(ui.wide, Math.max(ui.labels, ui.labels + x - scrolled)),
    [a, b] = [clip(ui.across(collective.begin)), clip(ui.across(collective.end))],
    hue = hueOf(collective.bucket),
    d = `M${a} 0L0 34H${ui.wide}L${b} 0Z`;
  const shape = svg("path", { d, fill: hue.tint, stroke: hue.box, "stroke-width": 1 });
  ui.funnel.replaceChildren(svg("svg", { width: ui.wide, height: 34, "aria-hidden": "true" }, shape));
}

/** The player stands where the step's clock is: the collective's time is stretched over its box. */
export function followInside(ui) {
  const collective = openOf(ui),
    { inner } = ui;
  if (!collective || !inner) return;
  const share = (ui.clock.t - collective.begin) / Math.max(1e-15, collective.end - collective.begin);
  inner.clock.seek(Math.min(1, Math.max(0, share)) * inner.clock.total);
  const model = inner.player.model;
  if (model) setText(ui.pace, paceOf(ui, model, collective, inner.clock.t));
}

function paceOf(ui, model, collective, t) {
  const words = ui.words,
    name = ui.data.opened?.algorithm ?? collective.kind;
  if (ui.clock.t < collective.begin) return `${name}${words.comma}${words.before}`;
  if (ui.clock.t >= collective.end) return `${name}${words.comma}${words.over}`;
  const s = stepAt(model, t),
    phase = textAt(phaseOf(model, s)?.label, 0, ui.data.language),
    step = model.nsteps && fill(words.step, { step: s + 1, steps: model.nsteps });
  return [name, phase, step].filter(Boolean).join(words.comma);
}
