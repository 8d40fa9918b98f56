// Chunks on their way through the machine: tokens, trains, queues, trails.

import { arrow, box, disc, fillRect, put, stroke, widthOf } from "./canvas.js";
import { namesAbove } from "./devices.js";
import { measure, pointAt, shape } from "../model/geometry.js";
import { hopAt, journey, routeLinks } from "../model/hops.js";
import { findMeeting } from "../model/load.js";
import { hues } from "../model/look.js";
import { slotText } from "../model/model.js";
import { boxOf, overlaps } from "../model/names.js";
import { casing, onScreen } from "./ruler.js";
import { markSpot, routeHot } from "./stage.js";
import { percent } from "../model/units.js";
import { fill } from "../../words/choice.js";

const MIN_NUMBER = 11; // pixels on the screen: where the numbers on the tokens would be smaller, there are none

const numberSize = (text, size) => size * (text.length > 3 ? 0.38 : text.length > 2 ? 0.46 : 0.54);

/** A chunk: square = reduce with the glass filled to k of n, circle = copy. */
export function token(ctx, colors, x, y, size, o) {
  const h = size / 2,
    lw = size > 18 ? 2 : 1.5,
    f = o.f ?? 0;
  if (o.round) {
    disc(ctx, x, y, h + 1, colors.card);
    disc(ctx, x, y, h - 0.5, f >= 1 ? colors.done : colors.sumfill, f < 1 && colors.ink, lw);
  } else {
    box(ctx, x - h - 1.5, y - h - 1.5, size + 3, size + 3, 5, colors.card);
    const inner = size - 2 * lw;
    const level = inner * Math.min(1, f);
    if (f > 0) fillRect(ctx, x - inner / 2, y + inner / 2 - level, inner, level, f >= 1 ? colors.done : colors.sumfill);
    box(ctx, x - h + lw / 2, y - h + lw / 2, size - lw, size - lw, Math.min(3.5, size / 6), null, colors.ink, lw);
  }
  if (o.text) {
    const fs = numberSize(o.text, size);
    put(ctx, o.text, x, y + fs * 0.36, fs, f >= 1 ? colors.ontext : colors.ink, { bold: true, align: "center" });
  }
  if (o.ring)
    box(ctx, x - h - 3, y - h - 3, size + 6, size + 6, o.round ? h + 3 : 5, null, colors.wait, 1.6, [2.5, 2.5]);
  if (o.lit) box(ctx, x - h - 4, y - h - 4, size + 8, size + 8, o.round ? h + 4 : 6, null, colors.ink, 2);
}

/**
 * 26 px where ranks are drawn full size, less where the layout has made them small; on a small stage more, where that
 * makes numbers legible.
 */
function tokenSize(view) {
  const devices = view.model.tl.devices,
    box = (view.model.rankBox ??= Math.min(
      42,
      ...devices.endpoint.map((e, d) =>
        e >= 0 && e < view.model.ranks ? Math.min(devices.w[d], devices.h[d] * 1.05) : 42,
      ),
    )),
    usual = Math.max(12, Math.min(26, Math.round(box * 0.62))),
    legible = onScreen(view, (MIN_NUMBER + 0.2) / 0.54) + 1;
  return legible > usual && legible < box * 0.8 ? Math.round(legible) : usual;
}

export const hopOut = {};
const pt = {};
const pt2 = {};

/**
 * The tokens of one cable, nose to tail: up to 4 as they are, more as small ones without numbers; more than 12, or
 * several in one place that find no room, as one token with their number.
 */
export function train(list, out) {
  const n = list.length;
  list.sort((a, b) => along(b) - along(a) || a.i - b.i);
  const spread = along(list[0]) - along(list[n - 1]),
    small = n > 4 ? 12 : list[0].size,
    fits = along(list[0]) >= (n - 1) * (small + 2);
  if (n > 12 || (n > 1 && (list[0].waits || !fits) && spread < n * small * 0.6)) {
    bundle(list, out);
    return;
  }
  let limit = Infinity;
  for (const q of list) {
    if (n > 4) {
      q.size = Math.min(12, q.size);
      q.plain = true;
    }
    const d = Math.max(0, Math.min(along(q), limit));
    q.d = d + (q.lead ?? 0);
    limit = d - q.size - 2;
    out.push(q);
  }
}

const along = (q) => q.d - (q.lead ?? 0);

function bundle(list, out) {
  const n = list.length,
    d = (list[0].lead ?? 0) + list.reduce((a, q) => a + along(q), 0) / n;
  out.push(Object.assign(list[0], { count: n, of: list.map((q) => q.i), d }));
}

/**
 * Transfers that share a cable at one time move side by side, as many in a row as its width has room for; the label
 * counts them. As long as the rows behind the first would still stand in the device that sends, they are one token with
 * their number.
 */
function abreast(view, link, list, n, out) {
  const s = 12,
    rows = Math.max(1, Math.min(4, Math.floor((casing(view.model, link) * 1.8) / (s + 2))));
  if (along(list[0]) < (Math.ceil(list.length / rows) - 1) * (s + 2)) return bundle(list, out);
  list.sort((a, b) => a.i - b.i);
  list.forEach((q, k) => {
    const across = Math.min(rows, list.length - Math.floor(k / rows) * rows),
      at = along(list[0]) - Math.floor(k / rows) * (s + 2);
    Object.assign(q, {
      size: s,
      plain: true,
      d: q.lead + Math.max(0, at),
      side: ((k % rows) - (across - 1) / 2) * (s + 2),
    });
    out.push(q);
  });
  list[0].shared = { n, wide: (rows * (s + 2)) / 2 + 6 };
}

/** Several on one cable at one place and time: they share it, where sharing is how the run was computed. */
function together(model, list) {
  if (model.hopOf || list[0].waits || list.length < 2 || list.length > 12) return false;
  const d = list.map(along);
  return Math.max(...d) - Math.min(...d) < list.length * 7;
}

/**
 * Where to draw the tokens: grouped by cable, so that many on one cable become a train, a queue or one token with a
 * count.
 */
function placeTokens(view) {
  const { model } = view,
    per = new Map(),
    flying = new Map(), // on each cable, those still in the device before it as well
    size = tokenSize(view);
  for (const i of view.act) addToken(view, per, i, size, false);
  for (const [{ queued, link }, list] of [...per.values()].map((l) => [l[0], l]))
    if (!queued) flying.set(link, (flying.get(link) ?? 0) + list.length);
  for (const i of view.wait) addToken(view, per, i, size, true);
  const out = [];
  for (const list of per.values()) {
    const n = list[0].inside ? list.length : flying.get(list[0].link);
    if (list[0].queued) queue(view, list[0].link, list, out);
    else if (together(model, list)) abreast(view, list[0].link, list, n, out);
    else {
      train(list, out);
      if (!model.hopOf && n > 1 && !list[0].waits && !list[0].count) list[0].shared = { n, wide: list[0].size / 2 + 8 };
    }
  }
  for (const q of out) {
    if (q.x != null) continue;
    pointAt(q.line, q.d, pt);
    Object.assign(q, { x: pt.x - pt.dy * (q.side ?? 0), y: pt.y + pt.dx * (q.side ?? 0), dx: pt.dx, dy: pt.dy });
  }
  return out;
}

function addToken(view, per, i, size, waits) {
  const { model } = view;
  const hops = shape(model, model.route[i]);
  if (!hops.length) return;
  const arrived = { hop: hops.length - 1, f: 1, waits: false, share: 1 },
    { hop: h, f, waits: queued, share } = waits ? arrived : hopAt(model, i, view.t, hopOut),
    line = hops[h];
  if (!line) return;
  const short = Math.max(14, (line.len - line.lead) / 2 - 9), // on a short cable one waits at each end
    s = waits ? Math.min(22, size, short) : size,
    pad = Math.min(s / 2 + 2, line.len / 3);
  const lo = h === 0 ? pad : 0,
    hi = h === hops.length - 1 ? pad : 0,
    d = lo + f * (line.len - lo - hi);
  const link = model.tl.routes.link[model.tl.routes.start[model.route[i]] + h],
    inside = !queued && d < line.lead; // still in the device before the cable
  const key = `${waits ? "w" : queued ? "q" : "m"}${link}${inside ? `,${model.route[i]}` : ""}`;
  if (!per.has(key)) per.set(key, []);
  per
    .get(key)
    .push({ i, link, line, lead: inside ? 0 : line.lead, d, size: s, waits, queued, share, inside, first: h === 0 });
}

/**
 * Chunks that wait for a busy port stand before it in rows of four, in the order in which they are served; the label
 * counts them. In the rank that sends they are small and at its edge, so that its number can be read.
 */
function queue(view, link, list, out) {
  const { model } = view,
    { first } = list[0],
    s = first ? 12 : list.length > 1 ? 15 : list[0].size,
    gap = s + 3;
  pointAt(measure(model.tl.links.path[link]), 0, pt);
  const { x, y, dx, dy } = pt,
    wide = (Math.min(4, list.length) - 1) / 2;
  list
    .sort((a, b) => model.t1[a.i] - model.t1[b.i])
    .slice(0, 16)
    .forEach((q, k) => {
      const back = s / 2 + (first ? 1 : 6) + Math.floor(k / 4) * gap,
        side = ((k % 4) - wide) * gap;
      Object.assign(q, { size: s, plain: s < 18, x: x - dx * back - dy * side, y: y - dy * back + dx * side, dx, dy });
      const reach = wide * gap + s;
      if (k === 0 && list.length > 1)
        q.queue = { n: list.length, x: x - dx * 10 - Math.abs(dy) * reach, y: y - dy * (s + 4) - Math.abs(dx) * reach };
      out.push(q);
    });
}

/** Behind a token: a wedge along its line, one shape of one gradient, as strokes take longest of all in a frame. */
export function drawTrail(ctx, view, q) {
  const len = Math.min(46, q.d),
    steps = 7,
    width = Math.min(15, q.size * 0.6);
  if (len < 6) return;
  const hue = hues(view.colors, view.model, view.model.chunk[q.i]),
    color = view.model.reduce[q.i] ? hue.sum2 : hue.done;
  pointAt(q.line, q.d - len, pt2);
  pointAt(q.line, q.d, pt);
  const fade = ctx.createLinearGradient(pt2.x, pt2.y, pt.x, pt.y);
  fade.addColorStop(0, `${color}1f`);
  fade.addColorStop(1, `${color}a8`);
  ctx.fillStyle = fade;
  ctx.globalAlpha = view.dim(q.i);
  ctx.beginPath();
  for (let k = 0; k <= 2 * steps + 1; k++) {
    const side = k <= steps ? 1 : -1,
      along = (side > 0 ? k : 2 * steps + 1 - k) / steps,
      half = (side * (3 + (width - 3) * along)) / 2;
    pointAt(q.line, q.d - len * (1 - along), pt);
    ctx.lineTo(pt.x - pt.dy * half, pt.y + pt.dx * half);
  }
  ctx.fill();
  ctx.globalAlpha = 1;
}

export function drawTokens(ctx, view) {
  const { model, colors } = view;
  if (view.act.length > 2000) return drawChevrons(ctx, view);
  const list = placeTokens(view),
    labelled = list.filter((q) => !q.waits && !q.queued && !q.count && !q.plain && routeHot(model, model.route[q.i])),
    spots = labelled.map((q) => labelSpot(view, q)),
    size = labelSize(view),
    [wide, tall] = [1.3 * size, 0.7 * size];
  const clash = spots.some(
    ({ mx, my }, k) =>
      onToken(
        list.filter((q) => q !== labelled[k]),
        mx,
        my,
        wide,
        tall,
      ) ||
      onDevice(model, mx, my, wide, tall, isNoSwitch) ||
      onMark(view, mx, my, wide, tall) ||
      spots.slice(0, k).some((b) => Math.abs(mx - b.mx) < 2.8 * size && Math.abs(my - b.my) < 1.3 * size),
  );
  const labels = labelled.length <= 4 && !clash;
  if (!view.reduced && list.length <= 240) for (const q of list) if (!q.waits && !q.queued) drawTrail(ctx, view, q);
  for (const q of list)
    q.text = q.count ? `×${q.count}` : q.plain || q.size < 16 ? "" : slotText(view, model.chunk[q.i]);
  const legible = list.every((q) => !q.text || numberSize(q.text, q.size) >= onScreen(view, MIN_NUMBER));
  for (const q of list) {
    const i = q.i;
    ctx.globalAlpha = view.dim(i);
    token(ctx, hues(colors, model, model.chunk[i]), q.x, q.y, q.size, {
      round: !model.reduce[i],
      f: model.k[i] / model.goals[model.chunk[i]],
      ring: q.waits,
      lit: view.hover?.transfer === i,
      text: legible ? q.text : "",
    });
    const look = { bold: true, align: "right", halo: colors.card },
      { n, x, y } = q.queue ?? {};
    if (n) put(ctx, fill(view.words.queue, { count: n }), x, y + 5, size, colors.fulltext, look);
    ctx.globalAlpha = 1;
  }
  namesAbove(ctx, view, list);
  if (!drawMeeting(ctx, view)) drawShared(ctx, view, list);
  const halo = model.panels.x.length ? colors.sunk : colors.card;
  for (const [k, { x, y, align }] of labels ? spots.entries() : [])
    put(ctx, percent(labelled[k].share), x, y, size, colors.fulltext, { bold: true, align, halo });
  view.drawn = list;
}

/**
 * Would a label here, w and h to each side of its middle, cover a device that `counts`? Switches are large, and have
 * room for one.
 */
const onDevice = ({ tl: { devices } }, mx, my, w, h, counts = /** @type {(kind: string) => boolean} */ (() => true)) =>
  devices.kind.some((kind, at) => counts(kind) && overlaps(boxOf(devices, at), mx, my, w, h));

const isNoSwitch = (kind) => !/switch/.test(kind);

const onMark = (view, mx, my, w, h) =>
  view.marks
    .map(({ link }) => markSpot(view, link))
    .some(({ x, y, r }) => Math.abs(x - mx) < w + r && Math.abs(y - my) < h + r);

const onToken = (list, mx, my, w, h) =>
  list.some((q) => Math.abs(q.x - mx) < w + q.size / 2 && Math.abs(q.y - my) < h + q.size / 2);

/** How many share the one cable where all meet, in its switch. Whether there is such a switch, with room for that. */
function drawMeeting(ctx, view) {
  const { devices, links } = view.model.tl,
    meeting = findMeeting(view.model, view.act);
  if (!meeting) return false;
  const device = [links.src[meeting.link], links.dst[meeting.link]].find((q) => /switch/.test(devices.kind[q])),
    text = fill(view.words.meet, { chunks: meeting.n }),
    size = labelSize(view),
    look = { bold: true, align: "right", halo: view.colors.card };
  if (device == null || devices.w[device] < 2 * widthOf(ctx, text, size, true)) return false;
  const { x, y, w } = boxOf(devices, device);
  put(ctx, text, x + w - 8, y + size + 2, size, view.colors.fulltext, look);
  return true;
}

const labelSize = (view) => Math.max(14, onScreen(view, 12.5));

const MAX_SHARED = 6; // more counts than this hide what they count

function drawShared(ctx, view, list) {
  const groups = list.filter((q) => q.shared),
    word = view.model.sharing === "none" ? view.words.atOnce : view.words.share,
    size = labelSize(view);
  if (groups.length > MAX_SHARED) return;
  for (const q of groups) {
    const level = Math.abs(q.dx) > Math.abs(q.dy),
      text = fill(word, { count: q.shared.n }),
      middle = q.x - (q.side ?? 0),
      // else it would be cut at the edge
      wide = widthOf(ctx, text, size, true),
      right = middle + q.shared.wide + wide < view.model.tl.stage.w,
      mx = level ? q.x : middle + (right ? 1 : -1) * (q.shared.wide + wide / 2),
      my = level ? q.y - q.shared.wide - 5 : q.y;
    if (onDevice(view.model, mx, my, wide / 2, size / 2) || onToken(list, mx, my, wide / 2, size / 2)) continue;
    const [side, away] = right ? ["left", q.shared.wide] : ["right", -q.shared.wide],
      [x, y, align] = level ? [q.x, q.y - q.shared.wide, "center"] : [middle + away, q.y + 5, side];
    put(ctx, text, x, y, size, view.colors.ink, { bold: true, align, halo: view.colors.card });
  }
}

/**
 * Where the share delivered is written beside a token: towards the middle of the stage, or above and below a level
 * cable.
 */
function labelSpot(view, q) {
  const r = q.size / 2 + 7,
    { w, h } = view.model.tl.stage,
    [side, align] = q.x < w / 2 ? [1, "left"] : [-1, "right"];
  if (Math.abs(q.dy) > Math.abs(q.dx))
    return { x: q.x + side * r, y: q.y + 5, mx: q.x + side * (r + 16), my: q.y, align };
  const y = q.y < h * 0.3 && q.y > 30 ? q.y - r - 1 : q.y + r + 11;
  return { x: q.x, y, mx: q.x, my: y - 5, align: "center" };
}

// More than 2,000 in flight: no tokens, arrows on the cables that carry something now.
function drawChevrons(ctx, view) {
  const { model, colors } = view,
    busy = new Set();
  for (const i of view.act) {
    if (!model.hopOf) {
      for (const l of routeLinks(model, model.route[i])) busy.add(l);
      continue;
    } // cut-through: all links of the route at once
    hopAt(model, i, view.t, hopOut);
    if (hopOut.link >= 0 && !hopOut.waits) busy.add(hopOut.link);
  }
  for (const l of busy) {
    const line = measure(model.tl.links.path[l]),
      gap = 18,
      phase = view.reduced ? 9 : ((view.t / (model.total || 1)) * 900) % gap;
    for (let d = phase; d < line.len; d += gap) {
      pointAt(line, d, pt);
      arrow(ctx, pt.x, pt.y, pt.dx, pt.dy, 8, colors.ink);
    }
  }
  view.drawn = [];
}

const MAX_MOVES = 400;

/** A move of a chunk: solid where it is done, dashed where it is to come. */
export function strokeMove(ctx, colors, pts, done) {
  if (done) stroke(ctx, pts, 3, colors.done);
  else stroke(ctx, pts, 1.8, colors.ink, { dash: [3, 4] });
}

/** The whole way of one chunk: moves that are done solid, those to come dashed. */
export function drawJourney(ctx, view) {
  const { model, colors } = view,
    moves = journey(model, view.hover.slot).ids;
  if (moves.length > MAX_MOVES) return;
  for (const done of [false, true])
    for (const i of moves.filter((move) => model.t1[move] <= view.t === done))
      for (const line of shape(model, model.route[i])) if (line) strokeMove(ctx, colors, line.pts, done);
}
