// What each endpoint of a runner sends and receives: its rates, and below them two bars, on one ruler for all runners.

import { box, fitFont, put, stroke } from "../player/draw/canvas.js";
import { sizeCanvas } from "../player/draw/elements.js";
import { deviceOf, nameOf } from "../player/model/names.js";
import { BYTE_UNITS, fmtBytes, fmtSpan, three } from "../player/model/units.js";
import { ratesAt, receivedAt, sentAt } from "../player/model/sent.js";
import { DEEPEST, arcsOf, drawArcs } from "./shape.js";
import { fill } from "../words/choice.js";

const BARS = 46, // pixels of the ruler's height
  LOW_BARS = 30, // below machines, in a low window
  HEAD = 18,
  ROW = 16,
  LABELS = 66, // pixels left of the bars
  MIN_PITCH = 34, // pixels between two endpoints from which on their figures have room
  MAX_ENDPOINTS = 32;

/** Bytes by endpoint when a run is over. */
const totalsOf = (model) =>
  (model.totals ??= { sent: sentAt(model, model.total), received: receivedAt(model, model.total) });

const most = (list) => list.reduce((a, b) => Math.max(a, b), 0);

/** One ruler for all runners: the largest sum of any of their endpoints. */
export function setRuler(race) {
  const sums = race.cards.flatMap(({ player: { model } }) => {
    if (!model) return [];
    const { sent, received } = totalsOf(model);
    return [most(sent), most(received)];
  });
  race.ruler = most(sums);
}

/** The endpoints from left to right, as they stand in the picture. */
function orderOf(model) {
  const left = (e) => model.tl.devices.x[deviceOf(model, e)] ?? 0;
  return [...Array(model.endpoints).keys()].sort((a, b) => left(a) - left(b) || a - b);
}

/**
 * Give the canvas of every runner its size; none where its endpoints are too many to be told apart. Arcs stand where
 * runners differ in them: elsewhere they would push the figures out of the window.
 */
export function sizeTraffics(cards, isLow) {
  const shapes = cards.map(({ player: { model } }) => {
    const order = model && model.endpoints <= MAX_ENDPOINTS ? orderOf(model) : [];
    return { order, arcs: order.length ? arcsOf(model, order) : [] };
  });
  const differ = new Set(shapes.map(({ arcs }) => JSON.stringify(arcs))).size > 1;
  cards.forEach((run, q) => sizeTraffic(run, shapes[q].order, differ ? shapes[q].arcs : [], isLow ? LOW_BARS : BARS));
}

function sizeTraffic(run, order, arcs, bars) {
  const canvas = run.parts.traffic,
    w = run.parts.card.clientWidth - 30;
  const isShown = order.length && w > 120;
  canvas.style.display = isShown ? "" : "none";
  run.traffic = null;
  if (!isShown) return;
  const pitch = (w - LABELS) / order.length,
    hasFigures = pitch >= MIN_PITCH,
    shape = arcs.length ? DEEPEST : 0,
    rates = hasFigures ? 2 * ROW + 4 : 0, // at the top: where a picture is tall, only they are above the time line
    h = shape + rates + HEAD + bars + 8 + (hasFigures ? 2 * ROW : 0);
  canvas.style.height = `${h}px`;
  const ctx = sizeCanvas(canvas, w, h);
  run.traffic = { middleOf: run.player.xOf, order, pitch, hasFigures, arcs, shape, rates, bars, w, h, ctx };
}

/** One frame. */
export function drawTraffic(race, { player, parts, traffic }, t) {
  if (!traffic || !race.ruler) return;
  const { model } = player,
    { ctx, middleOf, order, pitch, hasFigures, arcs, shape, rates, bars, w, h } = traffic,
    words = race.words,
    { language } = race.data,
    [per, unit] = BYTE_UNITS.find(([size]) => race.ruler >= 10 * size) ?? [1, "B"],
    colors = race.colors,
    ends = totalsOf(model),
    facts = { sent: sentAt(model, t), received: receivedAt(model, t), rates: ratesAt(model, t) },
    top = shape + rates,
    bottom = top + HEAD + bars,
    rows = [13, 13 + ROW].map((y) => shape + y).concat([18, 18 + ROW].map((y) => bottom + y)),
    xOf = (q) => LABELS + pitch * (q + 0.5),
    tall = (bytes) => (bars * bytes) / race.ruler;
  ctx.clearRect(0, 0, w, h);
  const title = fill(words.traffic, { unit, most: fmtBytes(race.ruler) });
  drawArcs(ctx, arcs, (q) => middleOf(order[q]) ?? xOf(q), 1, colors);
  put(ctx, title, 0, top + 12, fitFont(ctx, title, 12.5, w, false, 10) || 10, colors.ink2);
  stroke(ctx, [LABELS - 6, bottom + 0.5, w, bottom + 0.5], 1, colors.edge);
  const wide = Math.min(14, pitch * 0.3);
  order.forEach((e, q) => {
    const x = xOf(q);
    for (const [left, now, end, fill] of [
      [x - wide - 1, facts.sent[e], ends.sent[e], colors.ink3],
      [x + 1, facts.received[e], ends.received[e], colors.wait],
    ]) {
      box(ctx, left, bottom - tall(end), wide, Math.max(1, tall(end)), 0, null, colors.edge, 1, [3, 2]);
      box(ctx, left, bottom - tall(now), wide, tall(now), 0, fill);
    }
    if (!hasFigures) return;
    const figures = [facts.rates.out[e] / 1e9, facts.rates.into[e] / 1e9, facts.sent[e] / per, facts.received[e] / per],
      isBusiest = Math.max(ends.sent[e], ends.received[e]) === race.ruler;
    figures.forEach((value, row) => {
      const text = three(value),
        size = fitFont(ctx, text, 12.5, pitch - 3, isBusiest, 9),
        look = { align: "center", bold: isBusiest };
      put(ctx, text, x, rows[row], size, isBusiest ? colors.fulltext : colors.ink, look);
    });
  });
  if (hasFigures)
    [words.out, words.into, words.sent, words.received].forEach((text, row) => {
      put(ctx, text, 0, rows[row], fitFont(ctx, text, 12.5, LABELS - 8, false, 10) || 10, colors.ink2);
    });
  if (race.clock.playing) return;
  const ofEnd = (e) => ({ sent: fmtBytes(facts.sent[e]), received: fmtBytes(facts.received[e]) }),
    label = order.map((e) => fill(words.end, { name: nameOf(model, e, language), ...ofEnd(e) }));
  parts.traffic.setAttribute("aria-label", label.join("; "));
}

const NEAR = 0.01; // shares that differ by less are the same

/** The word for a share that is sent beside another. */
function compareSends(a, b) {
  if (a < b * (1 - NEAR)) return "less";
  return a > b * (1 + NEAR) ? "more" : "same";
}

/**
 * What is strange about the slowest runner beside the fastest: whether its ranks send less and it still ends later, and
 * where its bytes meet. Two texts, empty where all end together, or where they do different things.
 */
export function describeParadox(race) {
  const runs = race.cards
      .filter(({ player }) => player.model)
      .map(({ player: { model }, q }) => ({ ...race.data.runners[q], model, nbytes: model.tl.meta.nbytes })),
    tasks = new Set(runs.map(({ model, nbytes }) => `${model.tl.meta.collective} ${nbytes}`));
  if (tasks.size > 1) return ["", ""];
  const byTime = [...runs].sort((a, b) => a.model.total - b.model.total),
    [fast, slow] = [byTime[0], byTime.at(-1)];
  if (!race.data.verdict || runs.length < 2 || slow.model.total < 1.05 * fast.model.total || !slow.nbytes)
    return ["", ""];
  const words = race.words,
    { language } = race.data,
    [a, b] = [slow, fast].map(({ model, nbytes }) => most(totalsOf(model).sent.slice(0, model.ranks)) / nbytes),
    ends = totalsOf(slow.model),
    busiest = ends.received.indexOf(most(ends.received)),
    [into, out] = [ends.received[busiest], ends.sent[busiest]].map((bytes) => bytes / slow.nbytes),
    meets = into > 1.5 * a && busiest >= slow.model.ranks,
    usual = most(totalsOf(fast.model).received) / fast.nbytes;
  const name = nameOf(slow.model, busiest, language),
    times = fill(words.times, { slow: fmtSpan(slow.model.total), fast: fmtSpan(fast.model.total) });
  // A rank that receives far more than any sends holds up all others: the expert that most tokens want.
  if (!meets && into > 1.5 * a && into > 1.05 * usual)
    return [
      fill(words.hot, { slow: slow.name, rank: busiest, times: three(into / usual), fast: fast.name }),
      fill(words.gets, { rank: busiest, slowBuffers: three(into), fast: fast.name, fastBuffers: three(usual) }) + times,
    ];
  const sends = compareSends(a, b),
    sentence = fill(words[sends], { slow: slow.name, fast: fast.name });
  if (sends === "same" && slow.busiest > 1.05 * fast.busiest) {
    const load = { more: fmtBytes(slow.busiest), less: fmtBytes(fast.busiest) };
    return [sentence, fill(words.carries, { ...load, fast: fast.name }) + times];
  }
  return [
    sentence,
    fill(words.buffers, { slow: slow.name, slowBuffers: three(a), fast: fast.name, fastBuffers: three(b) }) +
      (meets ? fill(words.meet, { name, into: three(into), out: three(out) }) : "") +
      times,
  ];
}
