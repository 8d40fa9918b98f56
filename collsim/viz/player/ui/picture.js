// The card as a picture: light colours, narration as caption, address and version at the foot.

import { put, wrap } from "../draw/canvas.js";
import { forgetDrawn, invalidate, toast, wordsOf } from "./context.js";
import { el, sizeCanvas } from "../draw/elements.js";
import { drawLogical, drawLogicalTokens, logicalLayout } from "../draw/logical.js";
import { TOKENS } from "../model/look.js";
import { drawMatrix } from "../draw/matrix.js";
import { textAt } from "../model/read.js";
import { drawBars, drawRows, linesOf, rowSize } from "../draw/rows.js";
import { drawScrub } from "../draw/scrub.js";
import { drawPhysical } from "../draw/stage.js";
import { drawTokens } from "../draw/tokens.js";

/** The card as a picture: light colours, narration as caption, address and version at the foot, no controls. */
export function pictureOf(ui) {
  const { d, S, m, V } = ui;
  const w = 1598,
    left = 1134,
    stH =
      S.view === "logical" ? Math.max(470, S.stageH) : Math.round(m.tl.stage.h * Math.min(left / m.tl.stage.w, 1.3)),
    lines = linesOf(m, S.chart, V.W, S.lang),
    size = rowSize(lines.length, false, S.chart);
  const top = 92,
    timeY = top + Math.max(stH, 470) + 16,
    rowsY = timeY + 56,
    h = rowsY + lines.length * size.rh + 78,
    canvas = el("canvas", { width: w * 2, height: h * 2 }),
    g = canvas.getContext("2d");
  const P = { ...V, C: TOKENS.light, hover: null, dim: () => 1 },
    geo = {
      x0: 216,
      tw: left - 216,
      W: w - 40,
      ...size,
      chart: S.chart,
      top: 6,
      narrow: false,
      fig: left + 24,
      mode: S.mode,
      zoom: 1,
    };
  g.scale(2, 2);
  g.fillStyle = P.C.card;
  g.fillRect(0, 0, w, h);
  wrap(g, d.say.textContent, 20, 40, w - 40, 19.5, 27, P.C.ink, 2);
  const at = (x, y, fn) => {
    g.save();
    g.translate(x, y);
    fn();
    g.restore();
  };
  at(20, top, () => {
    if (S.view === "logical") {
      P.lay = logicalLayout(m, P.slots.length, left, stH);
      drawLogical(g, P, left, stH);
      drawLogicalTokens(g, P);
      return;
    }
    const k = Math.min(left / m.tl.stage.w, stH / m.tl.stage.h);
    Object.assign(P, { k, above: 0 });
    g.translate((left - m.tl.stage.w * k) / 2, 0);
    g.scale(k, k);
    drawPhysical(g, P);
    drawTokens(g, P);
  });
  at(20 + left + 24, top, () => {
    put(g, d.matrixTitle.textContent, 0, 16, 15, P.C.ink, { bold: true });
    g.translate(0, 24);
    drawMatrix(g, P, 400, Math.max(stH, 470) - 24);
  });
  const b = el("canvas");
  drawBars(sizeCanvas(b, geo.tw, lines.length * size.rh + 40), P, geo);
  at(20, timeY, () => drawScrub(g, P, geo));
  at(20, rowsY, () => drawRows(g, P, geo, b));
  put(
    g,
    `collsim ${m.tl.meta.version ?? ""}   ${/^https?:/.test(location.protocol) ? location.href : textAt(m.tl.meta.title, 0, S.lang)}`,
    20,
    h - 14,
    12,
    P.C.ink3,
  );
  return canvas;
}

export function savePng(ui) {
  const { m, V } = ui;
  if (!m || !V) return;
  pictureOf(ui).toBlob((blob) => {
    const a = el("a", {
      href: URL.createObjectURL(blob),
      download: `collsim-${m.tl.meta.collective ?? "run"}-step${V.s + 1}.png`,
    });
    a.click();
    setTimeout(() => URL.revokeObjectURL(a.href), 1000);
    toast(ui, wordsOf(ui).saved);
  });
  if (V) forgetDrawn(ui);
  invalidate(ui);
}
