// Pointing at things: what is under the pointer, and what is said about it.

import { cellAt } from "../model/cells.js";
import { invalidate, wordsOf } from "./context.js";
import { el, pointIn } from "../draw/elements.js";
import { activity } from "../charts/endpoints.js";
import { distanceTo } from "../model/geometry.js";
import { meanShare } from "../charts/heat.js";
import { hopAt, journey, routeLinks } from "../model/hops.js";
import { linkBytes, shareBetween, spanAt } from "../model/load.js";
import { slotText, stepAt } from "../model/model.js";
import { deviceName, linkName, nameOf } from "../model/names.js";
import { textAt } from "../model/read.js";
import { linesOf } from "../charts/rows.js";
import { casing } from "../draw/ruler.js";
import { fmtBytes, fmtRate, fmtShare, timeUnit } from "../model/units.js";
import { fill } from "../../words/choice.js";

export function hitStage(ui, x, y) {
  const { state, model, shown: stageModel } = ui,
    view = ui.P ?? ui.view;
  for (let q = view.drawn.length - 1; q >= 0; q--) {
    const k = view.drawn[q],
      r = k.size / 2 + 4;
    if (Math.abs(k.x - x) <= r && Math.abs(k.y - y) <= r)
      return { transfer: k.i, slot: model.chunk[k.i], waits: k.waits, queued: k.queued, of: k.of };
  }
  if (state.view === "logical") return null;
  const devices = stageModel.tl.devices;
  for (let q = devices.x.length - 1; q >= 0; q--)
    if (x >= devices.x[q] && x <= devices.x[q] + devices.w[q] && y >= devices.y[q] && y <= devices.y[q] + devices.h[q])
      return { device: q };
  let link = -1,
    near = 1e9;
  for (let l = 0; l < model.nlinks; l++) {
    const dist = distanceTo(stageModel.tl.links.path[l], x, y) - casing(stageModel, l) / 2;
    if (dist < 4 && dist < near) {
      near = dist;
      link = l;
    }
  }
  return link < 0 ? null : { link };
}

/** What is said about what is under the pointer, a line each. */
function tipLines(ui, hit) {
  if (hit.of) return bundleLines(ui, hit);
  if (hit.transfer != null) return transferLines(ui, hit);
  if (hit.link != null) return linkLines(ui, hit.link);
  if (hit.row != null) return rowLines(ui, hit);
  if (hit.heat) return heatLines(ui, hit);
  if (hit.device != null) return deviceLines(ui, hit.device);
  return cellLines(ui, hit);
}

/** The names of who sends and of who receives. */
const nameEnds = ({ model, state }, i) => [model.src[i], model.dst[i]].map((e) => nameOf(model, e, state.language));

/** "chunk 3, 0 → 1, reduce" */
function sayMove(ui, i) {
  const words = wordsOf(ui),
    [src, dst] = nameEnds(ui, i);
  return fill(words.moveTip, {
    chunk: slotText(ui.view, ui.model.chunk[i]),
    src,
    dst,
    op: words.op[opOf(ui.model, i)],
  });
}

const opOf = ({ reduce }, i) => (reduce[i] ? "reduce" : "copy");

/** How much of its sum a chunk has. */
const sayKnown = (words, known, goal) =>
  known >= goal ? words.whole : fill(words.contains, { known, contributions: goal });

function transferLines(ui, { transfer: i, waits, queued }) {
  const { model, view } = ui,
    words = wordsOf(ui),
    slot = model.chunk[i],
    { path, ids } = journey(model, slot),
    gone = ids.filter((q) => model.t1[q] <= view.t).length;
  return [
    sayMove(ui, i),
    sayKnown(words, model.k[i], model.goals[slot]),
    waits
      ? words.waitsTip
      : queued
        ? words.queued
        : fill(words.doneTip, { share: fmtShare(hopAt(model, i, view.t, {}).share), bytes: fmtBytes(model.bytes[i]) }),
    path && path.length <= 40
      ? fill(words.journey, { ranks: path.map((r, q) => (q === gone ? `[${r}]` : r)).join(" → ") })
      : fill(words.moves, { done: gone, moves: ids.length }),
  ];
}

/** What a token with a number stands for: its chunks, between whom, on which channels, bytes in all. */
function bundleLines(ui, { of, waits }) {
  const { model } = ui,
    words = wordsOf(ui),
    pairs = new Set(of.map((i) => nameEnds(ui, i).join(" → "))),
    channels = new Set(of.map((i) => model.channel[i])),
    template = of.length === channels.size ? words.oneOnEach : words.bundleChannels;
  return [
    fill(words.bundleTip, {
      chunks: of.length,
      between: pairs.size > 3 ? fill(words.pairs, { pairs: pairs.size }) : [...pairs].join(", "),
    }),
    ...(model.channels > 1 ? [fill(template, { used: channels.size, channels: model.channels })] : []),
    ...(waits ? [words.waitsTip] : []),
    fill(words.inAll, { bytes: fmtBytes(of.reduce((sum, i) => sum + model.bytes[i], 0)) }),
  ];
}

function linkLines(ui, l) {
  const { state, model, view } = ui,
    words = wordsOf(ui),
    layout = model.tl.links,
    carried = linkBytes(model, l, view.t),
    share = view.facts.share[l],
    most = layout.bandwidth[l] * view.t,
    span = model.lockstep ? "step" : "now";
  const lines = [
    linkName(ui.shown, l, words, state.language),
    `${textAt(layout.label, l, state.language)}, ${fmtRate(layout.bandwidth[l])} ${words.perDir}`,
    fill(words.sofarTip, { bytes: fmtBytes(carried), share: fmtShare(most > 0 ? carried / most : 0) }),
    share > 1e-9 ? fill(words.usedTip[span], { share: fmtShare(share) }) : words.idleTip[span],
  ];
  const now = view.act.filter((i) => routeLinks(model, model.route[i]).includes(l)),
    names = now.slice(0, 6).map((i) => {
      const ends = nameEnds(ui, i).join(" → ");
      return `${words.chunk} ${slotText(view, model.chunk[i])} (${ends})`;
    });
  if (now.length)
    lines.push(fill(words.nowTip, { chunks: names.join(", ") + (now.length > 6 ? ` … ${now.length}` : "") }));
  return lines;
}

function heatLines(ui, { heat, slots }) {
  const words = wordsOf(ui);
  return [
    fill(words.ranksTo, { first: heat[0], last: heat.at(-1) }),
    `${words.chunk} ${slots[0]}–${slots.at(-1)}`,
    fill(words.meanTip, { share: fmtShare(meanShare(ui.model, heat, slots, ui.view.t)) }),
  ];
}

function deviceLines(ui, device) {
  const { state, model, view, shown: stageModel } = ui,
    words = wordsOf(ui),
    e = stageModel.tl.devices.endpoint[device],
    name = deviceName(stageModel, device, words, state.language);
  return e >= 0 ? [name, fill(words.completeTip, { done: view.finished[e], chunks: model.asked[e] })] : [name];
}

function cellLines(ui, { cell, endpoint, slot }) {
  const { state, model, view } = ui,
    words = wordsOf(ui),
    k = cellAt(model, cell, view.t);
  return [
    `${words.rank} ${nameOf(model, endpoint, state.language)}, ${words.chunk} ${slotText(view, slot)}`,
    k ? sayKnown(words, k, model.goals[slot]) : words.emptyCell,
  ];
}

function showTip(ui, hit, ev) {
  const { parts, view } = ui;
  if (!view) return;
  const isSame = (part) => view.hover[part] === hit?.[part],
    same = view.hover && ["transfer", "link", "device", "cell", "slot"].every(isSame);
  view.hover = hit;
  if (!hit) {
    hideTip(ui);
    return;
  }
  const { tip, card } = parts,
    lines = tipLines(ui, hit).map((text, q) => el(q ? "span" : "b", { style: q ? "display:block" : "" }, text));
  tip.replaceChildren(...lines);
  tip.style.display = "block";
  const [x, y] = pointIn(card, ev).map((at) => at + 14),
    { width, height } = card.getBoundingClientRect(),
    { offsetWidth: wide, offsetHeight: tall } = tip;
  tip.style.left = `${Math.max(4, x + wide > width - 8 ? x - wide - 28 : x)}px`;
  tip.style.top = `${y + tall > height - 4 ? Math.max(4, y - tall - 28) : y}px`;
  if (!same) invalidate(ui);
}

export function hideTip(ui) {
  const { parts } = ui;
  parts.tip.style.display = "none";
  if (ui.view?.hover) {
    ui.view.hover = null;
    invalidate(ui);
  }
}

export function onStageMove(ui, ev) {
  if (ui.view && !ui.view.hidesFigures) showTip(ui, hitStage(ui, ...pointOnStage(ui, ev)), ev);
}

/** Where a pointer is on the stage, in its own units where it is a machine. */
export function pointOnStage({ parts, state }, ev) {
  const [x, y] = pointIn(parts.live, ev);
  return state.view === "logical" ? [x, y] : [(x - state.ox) / state.k, (y - state.oy) / state.k];
}

export function onMatrixMove(ui, ev) {
  const { parts, model, view } = ui;
  if (!view?.grid) return;
  const [x, y] = pointIn(parts.matrix, ev),
    G = view.grid;
  if (G.heat) {
    onHeatMove(ui, G, Math.floor((x - G.x0) / G.cw), Math.floor((y - G.y0) / G.ch), ev);
    return;
  }
  const q = Math.floor((x - G.x0) / G.cs),
    e = Array.from({ length: model.endpoints }, (_, k) => k).find((k) => y >= G.y(k) && y < G.y(k) + G.cs);
  if (q < 0 || q >= view.slots.length || e == null) {
    showTip(ui, null);
    return;
  }
  showTip(ui, { slot: view.slots[q], endpoint: e, cell: e * model.slots + view.slots[q] }, ev);
}

function onHeatMove(ui, G, column, row, ev) {
  const { view } = ui;
  if (column < 0 || column >= G.columns || !G.rows[row]) {
    showTip(ui, null);
    return;
  }
  const slots = view.slots.slice(column * G.per, (column + 1) * G.per);
  showTip(ui, { heat: G.rows[row].members, slots, slot: slots[0], cell: `${row},${column}` }, ev);
}

/** On the rows: what the row does at the moment under the pointer; a stretch of one transfer lights its chunk. */
export function onRowsMove(ui, ev) {
  const { parts, state, model, view } = ui,
    { geo } = state;
  if (!view || !model.total) return;
  const [x, y] = pointIn(parts.rowsCanvas, ev),
    q = Math.floor((y - geo.top) / geo.rh),
    t = ((x - geo.x0) / geo.tw) * model.total;
  const line = linesOf(model, state.chart, view.words, state.language)[q];
  if (!line || line.idle || t < 0 || t > model.total) {
    showTip(ui, null);
    return;
  }
  const low = (y - geo.y(q)) / geo.bh > 0.28;
  const at =
    line.endpoint == null
      ? null
      : activity(model, line.endpoint, low ? "dst" : "src").find(({ a, b }) => a <= t && t < b);
  const onlyChunk = at?.n === 1 ? { slot: model.chunk[at.i] } : {};
  showTip(ui, { row: q, line, at, when: t, low, ...onlyChunk }, ev);
}

/** What a row says about the moment under the pointer. */
function rowLines(ui, { line, at, when, low }) {
  const { state, model, view } = ui,
    words = view.words,
    unit = timeUnit(model.total);
  if (line.links) {
    const { a, b } = spanAt(model, when, stepAt(model, when)),
      share = Math.max(0, ...line.links.map((l) => shareBetween(model, l, a, b))),
      bytes = Math.max(0, ...line.links.map((l) => linkBytes(model, l, when)));
    return [
      line.label,
      unit.fmt(when),
      fill(words.sofarRow, { bytes: fmtBytes(bytes) }),
      fill(words.usedRow, { share: fmtShare(share) }),
    ];
  }
  if (line.group)
    return [
      line.label,
      `${unit.fmt(line.group.t0)} – ${unit.fmt(line.group.t1)}`,
      textAt(line.group.note, 0, state.language),
    ];
  if (line.members.length > 1) return [line.label, unit.fmt(when)];
  const does = low ? "receives" : "sends";
  if (!at) return [line.label, unit.fmt(when), words.nothing[does]];
  if (at.n > 1)
    return [line.label, `${unit.fmt(at.a)} – ${unit.fmt(at.b)}`, fill(words.several[does], { count: at.n })];
  const i = at.i;
  return [
    line.label,
    sayMove(ui, i),
    `${unit.fmt(model.t0[i])} – ${unit.fmt(model.t1[i])}, ${fmtBytes(model.bytes[i])}`,
  ];
}
