// Gantt chart of endpoints: when each sends (thin, above) and receives (below; a sum and a copy look different).

import { fillRect, put, widthOf } from "../draw/canvas.js";
import { huesOfGroup } from "../model/look.js";
import { meters } from "./meters.js";
import { slotText } from "../model/model.js";
import { endpointName, panelOf } from "../model/names.js";
import { groups, idsOf } from "../model/order.js";
import { addToSlices } from "../model/load.js";
import { receivedAt, sentAt } from "../model/sent.js";
import { textAt } from "../model/read.js";
import { fmtBytes } from "../model/units.js";
import { fill } from "../../words/choice.js";

const MAX_ROWS = 33; // beyond, endpoints are folded into groups

/**
 * What an endpoint sends (side "src") or receives ("dst") over time: stretches {a, b, n, i, adds, group} with n
 * transfers at once, i the one where it is alone, adds true where any of them is a reduce, group the collective whose
 * they are (-1: of several).
 */
export function activity(model, endpoint, side) {
  model.activity ??= {
    src: groups(model.src, model.endpoints, model.n),
    dst: groups(model.dst, model.endpoints, model.n),
    made: new Map(),
  };
  const key = `${side}${endpoint}`,
    { made, [side]: byEnd } = model.activity;
  if (!made.has(key)) made.set(key, stretches(model, Array.from(idsOf(byEnd, endpoint))));
  return made.get(key);
}

function stretches(model, ids) {
  const events = ids
    .flatMap((i) => [
      [model.t0[i], 1, i],
      [model.t1[i], -1, i],
    ])
    .sort((x, y) => x[0] - y[0] || x[1] - y[1]);
  const out = [],
    open = new Set();
  let since = 0;
  for (const [t, change, i] of events) {
    if (open.size && t > since) push(out, model, open, since, t);
    if (change > 0) open.add(i);
    else open.delete(i);
    since = t;
  }
  return out;
}

function push(out, model, open, a, b) {
  const n = open.size,
    i = n === 1 ? open.values().next().value : -1,
    last = out.at(-1);
  let adds = false;
  const whose = new Set();
  for (const k of open) {
    adds ||= model.reduce[k] === 1;
    whose.add(model.groupOf[model.chunk[k]]);
  }
  const group = whose.size > 1 ? -1 : whose.values().next().value;
  if (last && last.b === a && last.n === n && n > 1 && last.group === group) {
    last.b = b;
    return;
  }
  out.push({ a, b, n, i, adds, group });
}

/** Groups of endpoints that share a row: nodes where there are several, else blocks of equal size. */
export function endpointGroups(model) {
  const ids = Array.from({ length: model.endpoints }, (_, e) => e);
  if (model.endpoints <= MAX_ROWS) return ids.map((e) => ({ members: [e], panel: -1 }));
  const panels = new Set(ids.map((e) => panelOf(model, e)));
  if (panels.size > 1 && panels.size <= MAX_ROWS)
    return [...panels].map((panel) => ({ members: ids.filter((e) => panelOf(model, e) === panel), panel }));
  const per = Math.ceil(model.endpoints / 32);
  return Array.from({ length: Math.ceil(model.endpoints / per) }, (_, q) => ({
    members: ids.slice(q * per, (q + 1) * per),
    panel: -1,
  }));
}

export const endpointChart = {
  lines: (model, words, language) =>
    endpointGroups(model).map(({ members, panel }) => {
      const [first, last] = [members[0], members.at(-1)];
      if (members.length === 1) return { members, endpoint: first, label: endpointName(model, first, words, language) };
      return {
        members,
        label: panel >= 0 ? textAt(model.panels.label, panel, language) : fill(words.ranksTo, { first, last }),
        note: fill(words.folded, { count: members.length }),
      };
    }),
  bars(ctx, view, geo, lines) {
    lines.forEach((line, q) =>
      line.members.length === 1
        ? drawOwn(ctx, view, geo, line.endpoint, q)
        : drawGroup(ctx, view, geo, line.members, q),
    );
  },
  figure(ctx, view, geo, line, mid, ly) {
    const { model, colors, t, words } = view,
      most = mostBytes(model) * line.members.length,
      sides = (view.endpointBytes ??= [sentAt(model, t), receivedAt(model, t)]),
      [out, got] = sides.map((bytes) => line.members.reduce((sum, e) => sum + bytes[e], 0)),
      say = (template, bytes) => (geo.narrow ? fill(template, { bytes: fmtBytes(bytes) }) : fmtBytes(bytes)),
      first = { text: say(words.sentTip, out), share: out / most };
    meters(ctx, view, geo, mid, ly, first, { text: say(words.gotTip, got), share: got / most, fill: colors.sum2 });
  },
};

function mostBytes(model) {
  const sums = () => [1, ...sentAt(model, model.total), ...receivedAt(model, model.total)];
  return (model.mostBytes ??= sums().reduce((a, b) => Math.max(a, b)));
}

function drawOwn(ctx, view, geo, endpoint, q) {
  const { model } = view,
    y = geo.y(q),
    thin = Math.max(3, Math.round(geo.bh * 0.28)),
    wide = (a, b) => Math.max(0.7, geo.across(b) - geo.across(a) - 0.6),
    several = { ...view.colors, done: view.colors.ink2, sum2: view.colors.wait };
  for (const { a, b } of activity(model, endpoint, "src"))
    fillRect(ctx, geo.across(a), y, wide(a, b), thin, view.colors.ink3);
  for (const { a, b, n, i, adds, group } of activity(model, endpoint, "dst")) {
    const colors = group < 0 ? several : huesOfGroup(view.colors, group),
      [x, w, h] = [geo.across(a), wide(a, b), geo.bh - thin - 1];
    fillRect(ctx, x, y + thin + 1, w, h, adds ? colors.sum2 : colors.done);
    const text = n > 1 ? `×${n}` : slotText(view, model.chunk[i]);
    if (h >= 13 && w > widthOf(ctx, text, 12, true) + 5)
      put(ctx, text, x + w / 2, y + thin + 1 + h / 2 + 4.3, 12, adds ? colors.ink : colors.ontext, {
        bold: true,
        align: "center",
      });
  }
}

/** Many endpoints in one row: the share of them that send (above) and receive (below). */
function drawGroup(ctx, view, geo, members, q) {
  const { model, colors } = view,
    { tw, bh } = geo,
    ncol = Math.max(1, Math.round(tw / 2)),
    y = geo.y(q),
    thin = Math.round(bh * 0.35),
    w = tw / ncol;
  const out = shareOf(model, members, "src", ncol),
    got = shareOf(model, members, "dst", ncol);
  for (let c = 0; c < ncol; c++) {
    fillRect(ctx, c * w, y + thin * (1 - out[c]), w + 0.3, thin * out[c], colors.ink3);
    fillRect(ctx, c * w, y + thin + 1, w + 0.3, (bh - thin - 1) * got[c], colors.sum2);
  }
}

function shareOf(model, members, side, ncol) {
  const sum = new Float64Array(ncol),
    w = model.total / ncol;
  for (const e of members) for (const { a, b } of activity(model, e, side)) addToSlices(sum, w, a, b);
  return sum.map((v) => Math.min(1, v / (w * members.length)));
}
