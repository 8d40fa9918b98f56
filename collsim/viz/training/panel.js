// The collective that is open: its figures, and the player inside it, on the clock of the step.

import { createClock } from "../player/model/clock.js";
import { el, nameButton, setText, svg } from "../player/draw/elements.js";
import { phaseOf, stepAt } from "../player/model/model.js";
import { textAt } from "../player/model/read.js";
import { fmtBytes, fmtSpan, timeUnit } from "../player/model/units.js";
import { createPlayer } from "../player/ui/player.js";
import { hueOf } from "../transport/hues.js";
import { stepWords } from "./words.js";

const STAGE = 380; // pixels that the stage is high at most
const LOGICAL = 600; // pixels below which the stage shows ranks alone, without the machine

/** The collective that is open, as the document has it; undefined where none is. */
export const openOf = ({ data }) => data.step.collectives.find((c) => c.name === data.open);

export const outside = ({ clock }, one) => clock.t < one.begin || clock.t >= one.end;

/** Ask for the panel of a collective, and go to its moment. */
export function openNamed(ui, name) {
  const one = ui.data.step.collectives.find((c) => c.name === name);
  if (!one) return;
  if (outside(ui, one)) ui.clock.seek(one.begin + 0.5 * (one.end - one.begin));
  if (name !== ui.data.open) ui.act({ what: "open", name });
}

/** Draw the panel; the player stays where the collective is the same. */
export function drawPanel(ui) {
  const one = openOf(ui),
    w = stepWords(ui);
  ui.panel.hidden = false;
  if (!one) {
    forgetPlayer(ui);
    ui.panel.className = "opened shut";
    ui.panel.replaceChildren(el("p", { className: "hint", textContent: w.hint }));
    ui.funnel.replaceChildren();
    return;
  }
  ui.panel.className = "opened";
  ui.panel.style.setProperty("--hue", hueOf(one.bucket).box);
  const body = el("div", { className: "inside" }, facts(ui, one), stageOf(ui));
  ui.panel.replaceChildren(head(ui, one), body);
  drawFunnel(ui, one);
}

function head(ui, one) {
  const w = stepWords(ui),
    { opened } = ui.data,
    hue = hueOf(one.bucket),
    chip = el("i", { className: "chip", textContent: one.bucket >= 0 ? String(one.bucket) : "•" }),
    close = el("button", {
      type: "button",
      className: "btn",
      textContent: "×",
      onclick: () => ui.act({ what: "open", name: "none" }),
    });
  chip.style.cssText = `background:${hue.box};color:${hue.text}`;
  nameButton(close, w.close);
  ui.pace = el("span", { className: "pace" });
  const box = el(
    "div",
    { className: "phead" },
    chip,
    el("b", { textContent: w.opened(one.name) }),
    ui.pace,
    el("span", { className: "sp" }),
  );
  if (opened?.link)
    box.append(el("a", { className: "b2", href: opened.link, target: "_self", textContent: w.explore }));
  box.append(close);
  return box;
}

function facts(ui, one) {
  const w = stepWords(ui),
    { opened, step } = ui.data,
    u = timeUnit(step.time),
    late = one.begin - one.ready,
    took = one.end - one.begin,
    fact = (name, value, note, alarm = false) =>
      el(
        "div",
        { className: alarm ? "fact alarm" : "fact" },
        el("span", { textContent: name }),
        el("b", { textContent: value }),
        el("small", { textContent: note }),
      );
  return el(
    "div",
    { className: "facts" },
    fact(w.carries, fmtBytes(one.nbytes), w.gradients(one.tensors, w.layers(one.from, one.to))),
    fact(w.ready, u.fmt(one.ready), late > 1e-9 * step.time ? w.turn(fmtSpan(late)) : w.atonce),
    fact(w.runs, fmtSpan(took), opened ? w.links(fmtSpan(opened.seconds), opened.steps) : ""),
    fact(
      w.exposed,
      fmtSpan(one.exposed),
      one.exposed < took ? w.hidden(fmtSpan(took - one.exposed)) : "",
      one.exposed > 0,
    ),
  );
}

/** The box of the player: a new one where another collective is open. */
function stageOf(ui) {
  const { opened } = ui.data,
    key = opened?.timeline ? `${ui.data.id}|${opened.name}` : "";
  if (!key) {
    forgetPlayer(ui);
    return el(
      "div",
      { className: "stage0" },
      el("p", { className: "hint", textContent: opened?.trouble || stepWords(ui).pending }),
    );
  }
  if (ui.inner?.key !== key) {
    forgetPlayer(ui);
    const stage = el("div", { className: "stage0" }),
      clock = createClock(),
      options = { timeline: opened.timeline, clock, lang: ui.data.lang, theme: ui.data.theme, compact: STAGE };
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
  inner.player.set({ lang: data.lang, theme: data.theme, view: viewOf(ui), compact });
}

export function forgetPlayer(ui) {
  ui.inner?.player.destroy();
  ui.inner = null;
}

/** From the box on the network lane to the corners of the panel. */
export function drawFunnel(ui, one = openOf(ui)) {
  if (!one || ui.slim) {
    ui.funnel.replaceChildren();
    return;
  }
  const scrolled = ui.lanes.querySelector(".scroll")?.scrollLeft ?? 0,
    clip = (x) => Math.min(ui.wide, Math.max(ui.labels, ui.labels + x - scrolled)),
    [a, b] = [clip(ui.across(one.begin)), clip(ui.across(one.end))],
    hue = hueOf(one.bucket),
    d = `M${a} 0L0 34H${ui.wide}L${b} 0Z`;
  const shape = svg("path", { d, fill: hue.tint, stroke: hue.box, "stroke-width": 1 });
  ui.funnel.replaceChildren(svg("svg", { width: ui.wide, height: 34, "aria-hidden": "true" }, shape));
}

/** The player stands where the step's clock is: the collective's time is stretched over its box. */
export function followInside(ui) {
  const one = openOf(ui),
    { inner } = ui;
  if (!one || !inner) return;
  const share = Math.min(1, Math.max(0, (ui.clock.t - one.begin) / Math.max(1e-15, one.end - one.begin)));
  inner.clock.seek(share * inner.clock.total);
  const model = inner.player.model;
  if (model) setText(ui.pace, paceOf(ui, model, one, inner.clock.t));
}

function paceOf(ui, model, one, t) {
  const w = stepWords(ui),
    name = ui.data.opened?.label.replace(/\(.*$/, "") ?? one.kind;
  if (ui.clock.t < one.begin) return `${name}${w.comma}${w.before}`;
  if (ui.clock.t >= one.end) return `${name}${w.comma}${w.over}`;
  const s = stepAt(model, t),
    phase = textAt(phaseOf(model, s)?.label, 0, ui.data.lang);
  return [name, ...(phase ? [phase] : []), ...(model.nsteps ? [w.step(s + 1, model.nsteps)] : [])].join(w.comma);
}
