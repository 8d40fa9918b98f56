// Use of capacity over time: one line per kind of cable, that of its busiest cable.

import { fillRect, put, stroke } from "../draw/canvas.js";
import { shareBetween } from "../model/load.js";
import { lookOfUse, meters } from "./meters.js";
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
    return all.slice(0, DASHES.length).map((line, q) => {
      const sample = (ctx, colors, x, y) => strokeUse(ctx, colors, [x, y, x + 26, y], line.hot, q);
      return { ...line, style: q, sample };
    });
  },
  bars(ctx, view, geo, lines) {
    const { colors } = view,
      { tw, top, across } = geo,
      h = lines.length * geo.rh - 10,
      base = top + 4 + h;
    for (const share of [0.5, 1]) {
      fillRect(ctx, 0, base - h * share, tw, 1, colors.line);
      put(ctx, `${100 * share}${NB}%`, tw - 2, base - h * share + 13, 12, colors.ink3, { align: "right" });
    }
    for (const { use, hot, style } of [...lines].reverse()) {
      const height = (share) => base - h * Math.min(1, share),
        pts = use.flatMap(([a, b, share]) => [across(a), height(share), across(b), height(share)]);
      strokeUse(ctx, colors, pts, hot, style);
    }
  },
  figure(ctx, view, geo, line, mid, ly) {
    const { model } = view,
      share = Math.max(0, ...line.links.map((l) => view.facts.share[l])),
      whole = model.total > 0 ? Math.max(0, ...line.links.map((l) => shareBetween(model, l, 0, model.total))) : 0;
    const say = (template, value) => (geo.narrow ? fill(template, { share: fmtShare(value) }) : fmtShare(value)),
      first = { text: say(view.words.wholeTip, whole), share: whole };
    meters(ctx, view, geo, mid, ly, first, { text: say(view.words.nowShare, share), ...lookOfUse(ctx, view, share) });
  },
};

function strokeUse(ctx, colors, pts, hot, style) {
  const color = hot ? colors.full : style < 2 ? colors.ink : colors.ink2;
  stroke(ctx, pts, hot ? 2.8 : 2, color, { dash: DASHES[style], round: 0 });
}
