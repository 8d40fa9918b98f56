// Two charts of cables over time: classes of cables that are alike, and each cable by itself.

import { useFill } from "../draw/cable.js";
import { fillRect, polygon, put, slant } from "../draw/canvas.js";
import { busySeconds, idleShare, linkBytes, rowSlices, stepShare, useClass, usedLinks } from "../model/load.js";
import { ranksWaiting } from "../model/cells.js";
import { busyEndpoints } from "../draw/held.js";
import { lookOfUse, meters, rightOf } from "./meters.js";
import { stepAt } from "../model/model.js";
import { linkName } from "../model/names.js";
import { textAt } from "../model/read.js";
import { fmtBytes, fmtShare } from "../model/units.js";
import { fill } from "../../words/choice.js";

/**
 * What the rows need that does not change with time: slices per pixel, and where there are barriers the class of each
 * step.
 */
function rowData(model, ncol) {
  if (model.rowData?.ncol === ncol) return model.rowData;
  const rows = model.rows.links.map((links) => {
    const total = Math.max(0, ...links.map((l) => linkBytes(model, l, model.total)));
    if (!model.lockstep) return { ...rowSlices(model, links, ncol), total };
    const cls = Array.from({ length: model.nsteps }, (_, s) =>
      useClass(Math.max(0, ...links.map((l) => stepShare(model, l, s)))),
    );
    return { ...rowSlices(model, links, ncol), total, cls };
  });
  return (model.rowData = { ncol, rows, idle: idleShare(model, ncol), most: Math.max(1, ...rows.map((r) => r.total)) });
}

/** Classes of cables that are alike, and below them the ranks that wait. */
export const linkChart = {
  lines: (model, words, language) => [
    ...model.rows.links.map((links, q) => ({
      links,
      label: textAt(model.rows.label, q, language),
      note: textAt(model.rows.note, q, language),
      hot: model.rows.hot[q],
    })),
    {
      idle: true,
      label: model.lockstep ? words.waiting : words.idle,
      note: model.lockstep ? words.waitNote : words.idleNote,
    },
  ],
  bars(ctx, view, geo, lines) {
    const data = rowData(view.model, columnsOf(geo));
    lines.forEach((line, q) =>
      line.idle
        ? drawIdle(ctx, view, geo, data.idle, q)
        : drawLinkBar(ctx, view, geo, line, data.rows[q], data.most, q),
    );
  },
  figure(ctx, view, geo, line, mid, ly) {
    if (line.idle) put(ctx, waitText(view), rightOf(geo), ly, 14.5, view.colors.ink, { align: "right" });
    else linkFigure(ctx, view, geo, line, mid, ly);
  },
};

const MAX_CABLES = 16;

/** Every cable by itself, the busiest first: when it carries something, and how much of its capacity that is. */
export const eachChart = {
  lines(model, words, language) {
    const all = usedLinks(model),
      lines = all.slice(0, all.length > MAX_CABLES ? MAX_CABLES - 1 : MAX_CABLES).map((l) => ({
        links: [l],
        label: linkName(model, l, words, language),
        note: textAt(model.tl.links.label, l, language),
        hot: model.hot.has(l),
      }));
    const rest = all.slice(lines.length);
    if (rest.length)
      lines.push({
        links: rest,
        label: fill(words.moreLinks, { count: rest.length }),
        note: fill(words.noneAbove, {
          share: fmtShare(model.total > 0 ? busySeconds(model, rest[0]) / model.total : 0),
        }),
      });
    return lines;
  },
  bars(ctx, view, geo, lines) {
    const { model } = view,
      ncol = columnsOf(geo),
      most = Math.max(1, ...lines.flatMap((line) => line.links.map((l) => linkBytes(model, l, model.total))));
    lines.forEach((line, q) => drawLinkBar(ctx, view, geo, line, rowSlices(model, line.links, ncol), most, q));
  },
  figure: linkFigure,
};

const columnsOf = (geo) => Math.max(1, Math.round(geo.tw));

function drawLinkBar(ctx, view, geo, line, r, most, q) {
  const { model, colors } = view,
    { tw, bh } = geo,
    ncol = columnsOf(geo),
    w = tw / ncol,
    base = geo.y(q) + bh;
  if (geo.mode === "bytes") {
    const level = Array.from(r.sofar, (bytes, c) => [(c + 1) * w, base - (bh * bytes) / most]).flat();
    polygon(ctx, [0, base, ...level, tw, base], line.hot ? colors.full : colors.ink3);
    return;
  }
  putIdle(ctx, view, geo, r, q);
  const fills = Object.fromEntries(
    ["room", "near", "full"].map((cls) => [cls, useFill(ctx, colors, cls, view.patterns)]),
  );
  for (let c = 0; c < ncol; c++) {
    if (r.top[c] < 1e-6) continue;
    const fill = fills[r.cls ? (r.cls[stepAt(model, ((c + 0.5) / ncol) * model.total)] ?? "room") : useClass(r.top[c])],
      h = bh * Math.min(1, r.mean[c]),
      ht = bh * Math.min(1, r.top[c]);
    fillRect(ctx, c * w, base - h, w + 0.3, h, fill);
    if (ht - h <= 1) continue;
    ctx.globalAlpha = 0.35; // the busiest cable of the row, where they differ
    fillRect(ctx, c * w, base - ht, w + 0.3, ht - h, fill);
    ctx.globalAlpha = 1;
  }
}

/** "idle" in stretches of time in which no cable of a row carries anything, where they have room for the word. */
function putIdle(ctx, view, geo, r, q) {
  const { tw, bh } = geo,
    ncol = columnsOf(geo),
    y = geo.y(q) + bh / 2 + 4.5;
  for (let a = 0, b; a < ncol; a = b + 1) {
    for (b = a; b < ncol && r.top[b] < 1e-6;) b++;
    const x = ((a + b) / 2 / ncol) * tw;
    if (((b - a) / ncol) * tw > 60) put(ctx, view.words.idleBar, x, y, 13, view.colors.ink3, { align: "center" });
  }
}

function drawIdle(ctx, view, geo, idle, q) {
  const { tw, bh } = geo,
    w = tw / idle.length,
    base = geo.y(q) + bh;
  ctx.save();
  ctx.beginPath();
  for (let c = 0; c < idle.length; c++) if (idle[c] > 1e-6) ctx.rect(c * w, base - bh * idle[c], w, bh * idle[c]);
  ctx.clip();
  slant(ctx, 0, base, tw, bh, 1.8, view.colors.wait);
  ctx.restore();
}

function linkFigure(ctx, view, geo, line, mid, ly) {
  const { model } = view,
    data = rowData(model, columnsOf(geo)),
    bytes = Math.max(0, ...line.links.map((l) => linkBytes(model, l, view.t))),
    share = Math.max(0, ...line.links.map((l) => view.facts.share[l])),
    text = share > 1e-9 ? fmtShare(share) : view.words.idleBar,
    first = { text: fmtBytes(bytes), share: bytes / data.most };
  meters(ctx, view, geo, mid, ly, first, { text, ...lookOfUse(ctx, view, share) });
}

/**
 * Ranks that wait for others at this moment: with barriers those that are done with the step, and how many chunks lie
 * at ranks until it ends; without them those at which nothing arrives.
 */
export function waitText(view) {
  const { model, words } = view;
  if (view.s < 0) return "";
  if (model.lockstep) {
    const chunks = view.wait.length,
      landed = chunks ? fill(words.landed, { chunks }) : "",
      waiting = ranksWaiting(model, view.t, view.s).size;
    return fill(words.waitFig, { waiting, ranks: model.ranks, landed });
  }
  const busy = [...busyEndpoints(view)].filter((e) => e < model.ranks);
  return fill(words.idleFig, { idle: model.ranks - busy.length, ranks: model.ranks });
}
