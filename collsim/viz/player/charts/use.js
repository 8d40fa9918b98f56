// Use of capacity over time: one line per kind of cable, that of its busiest cable.

import { useFill } from "../draw/cable.js";
import { put } from "../draw/canvas.js";
import { shareBetween, useClass } from "../model/load.js";
import { meters } from "./meters.js";
import { textAt } from "../model/read.js";
import { NB, fmtShare } from "../model/units.js";

const DASHES = [[], [7, 3], [2, 3], [10, 3, 2, 3], [4, 4], [1, 2]];
const SPANS = 120;

/**
 * Share of capacity of the busiest of some links: per step, or without barriers per 120th of the run, as [a, b, share].
 */
export function useOver(m, links) {
  const ends = m.lockstep
    ? Array.from(m.step0, (a, s) => [a, m.step1[s]])
    : Array.from({ length: SPANS }, (_, k) => [(k / SPANS) * m.total, ((k + 1) / SPANS) * m.total]);
  return ends.map(([a, b]) => [a, b, Math.max(0, ...links.map((l) => shareBetween(m, l, a, b)))]);
}

export const useChart = {
  lines(m, W, lang) {
    const kinds = new Map();
    for (const l of new Set(m.tl.routes.link)) {
      const name = `${m.tl.links.kind[l]} ${textAt(m.tl.links.label, l, lang)}`;
      if (!kinds.has(name)) kinds.set(name, []);
      kinds.get(name).push(l);
    }
    const all = [...kinds.values()].map((links) => ({
      links,
      use: useOver(m, links),
      label: textAt(m.tl.links.label, links[0], lang),
      note: W.cables(links.length),
      hot: links.some((l) => m.hot.has(l)),
    }));
    all.sort((a, b) => b.hot - a.hot || b.links.length - a.links.length);
    return all
      .slice(0, DASHES.length)
      .map((line, q) => ({ ...line, style: q, sample: (g, C, x, y) => sample(g, C, x, y, line.hot, q) }));
  },
  bars(g, V, geo, lines) {
    const { m, C } = V,
      { tw, rh, top } = geo,
      h = lines.length * rh - 10,
      base = top + 4 + h,
      X = (t) => (t / (m.total || 1)) * tw;
    for (const [share, text] of [
      [0.5, `50${NB}%`],
      [1, `100${NB}%`],
    ]) {
      g.fillStyle = C.line;
      g.fillRect(0, base - h * share, tw, 1);
      put(g, text, tw - 2, base - h * share + 13, 12, C.ink3, { align: "right" });
    }
    [...lines].reverse().forEach((line) => {
      g.beginPath();
      line.use.forEach(([a, b, share], k) => {
        g[k ? "lineTo" : "moveTo"](X(a), base - h * Math.min(1, share));
        g.lineTo(X(b), base - h * Math.min(1, share));
      });
      pen(g, C, line.hot, line.style);
      g.stroke();
      g.setLineDash([]);
    });
  },
  figure(g, V, geo, line, mid, ly) {
    const { m, C } = V,
      share = Math.max(0, ...line.links.map((l) => V.facts.share[l])),
      whole = m.total > 0 ? Math.max(0, ...line.links.map((l) => shareBetween(m, l, 0, m.total))) : 0;
    meters(
      g,
      V,
      geo,
      mid,
      ly,
      { text: geo.narrow ? V.W.wholeTip(fmtShare(whole)) : fmtShare(whole), share: whole },
      {
        text: geo.narrow ? V.W.nowShare(fmtShare(share)) : fmtShare(share),
        share,
        fill: useFill(g, C, useClass(share), V.patterns),
        color: share > 0.95 ? C.fulltext : C.ink,
      },
    );
  },
};

function pen(g, C, hot, style) {
  g.strokeStyle = hot ? C.full : style < 2 ? C.ink : C.ink2;
  g.lineWidth = hot ? 2.8 : 2;
  g.setLineDash(DASHES[style]);
}

function sample(g, C, x, y, hot, style) {
  g.beginPath();
  g.moveTo(x, y);
  g.lineTo(x + 26, y);
  pen(g, C, hot, style);
  g.stroke();
  g.setLineDash([]);
}
