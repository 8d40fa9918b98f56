// Use of capacity over time: one line per kind of cable, that of its busiest cable.

import { useFill } from "../draw/cable.js";
import { put } from "../draw/canvas.js";
import { shareBetween, useClass } from "../model/load.js";
import { meters } from "./meters.js";
import { textAt } from "../model/read.js";
import { NB, fmtShare } from "../model/units.js";
import { fill } from "../../words/choice.js";

const DASHES = [[], [7, 3], [2, 3], [10, 3, 2, 3], [4, 4], [1, 2]];
const SPANS = 120;

/**
 * Share of capacity of the busiest of some links: per step, or without barriers per 120th of the run, as [a, b, share].
 */
export function useOver(model, links) {
  const ends = model.lockstep
    ? Array.from(model.step0, (a, s) => [a, model.step1[s]])
    : Array.from({ length: SPANS }, (_, k) => [(k / SPANS) * model.total, ((k + 1) / SPANS) * model.total]);
  return ends.map(([a, b]) => [a, b, Math.max(0, ...links.map((l) => shareBetween(model, l, a, b)))]);
}

export const useChart = {
  lines(model, words, language) {
    const kinds = new Map();
    for (const l of new Set(model.tl.routes.link)) {
      const name = `${model.tl.links.kind[l]} ${textAt(model.tl.links.label, l, language)}`;
      if (!kinds.has(name)) kinds.set(name, []);
      kinds.get(name).push(l);
    }
    const all = [...kinds.values()].map((links) => ({
      links,
      use: useOver(model, links),
      label: textAt(model.tl.links.label, links[0], language),
      note: fill(words.cables, { count: links.length }),
      hot: links.some((l) => model.hot.has(l)),
    }));
    all.sort((a, b) => b.hot - a.hot || b.links.length - a.links.length);
    return all
      .slice(0, DASHES.length)
      .map((line, q) => ({ ...line, style: q, sample: (ctx, colors, x, y) => sample(ctx, colors, x, y, line.hot, q) }));
  },
  bars(ctx, view, geo, lines) {
    const { model, colors } = view,
      { tw, rh, top } = geo,
      h = lines.length * rh - 10,
      base = top + 4 + h,
      X = (t) => (t / (model.total || 1)) * tw;
    for (const share of [0.5, 1]) {
      const text = `${100 * share}${NB}%`;
      ctx.fillStyle = colors.line;
      ctx.fillRect(0, base - h * share, tw, 1);
      put(ctx, text, tw - 2, base - h * share + 13, 12, colors.ink3, { align: "right" });
    }
    [...lines].reverse().forEach((line) => {
      ctx.beginPath();
      line.use.forEach(([a, b, share], k) => {
        ctx[k ? "lineTo" : "moveTo"](X(a), base - h * Math.min(1, share));
        ctx.lineTo(X(b), base - h * Math.min(1, share));
      });
      pen(ctx, colors, line.hot, line.style);
      ctx.stroke();
      ctx.setLineDash([]);
    });
  },
  figure(ctx, view, geo, line, mid, ly) {
    const { model, colors } = view,
      share = Math.max(0, ...line.links.map((l) => view.facts.share[l])),
      whole = model.total > 0 ? Math.max(0, ...line.links.map((l) => shareBetween(model, l, 0, model.total))) : 0;
    const say = (template, value) => (geo.narrow ? fill(template, { share: fmtShare(value) }) : fmtShare(value)),
      look = {
        fill: useFill(ctx, colors, useClass(share), view.patterns),
        color: share > 0.95 ? colors.fulltext : colors.ink,
      },
      first = { text: say(view.words.wholeTip, whole), share: whole };
    meters(ctx, view, geo, mid, ly, first, { text: say(view.words.nowShare, share), share, ...look });
  },
};

function pen(ctx, colors, hot, style) {
  ctx.strokeStyle = hot ? colors.full : style < 2 ? colors.ink : colors.ink2;
  ctx.lineWidth = hot ? 2.8 : 2;
  ctx.setLineDash(DASHES[style]);
}

function sample(ctx, colors, x, y, hot, style) {
  ctx.beginPath();
  ctx.moveTo(x, y);
  ctx.lineTo(x + 26, y);
  pen(ctx, colors, hot, style);
  ctx.stroke();
  ctx.setLineDash([]);
}
