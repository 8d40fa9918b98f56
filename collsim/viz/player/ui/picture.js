// The card as a picture: light colours, narration as caption, address and version at the foot.

import { put, wrap } from "../draw/canvas.js";
import { forgetDrawn, invalidate, toast, wordsOf } from "./context.js";
import { el, sizeCanvas } from "../draw/elements.js";
import { drawLogical, drawLogicalTokens, logicalLayout } from "../draw/logical.js";
import { TOKENS } from "../model/look.js";
import { drawMatrix } from "../charts/matrix.js";
import { textAt } from "../model/read.js";
import { drawBars, drawRows, linesOf, rowSize } from "../charts/rows.js";
import { drawScrub } from "../charts/scrub.js";
import { drawPhysical, stageFacts } from "../draw/stage.js";
import { drawTokens } from "../draw/tokens.js";

/** The card as a picture: light colours, narration as caption, address and version at the foot, no controls. */
export function pictureOf(ui) {
  const { d, S, m, V } = ui,
    P = { ...V, C: TOKENS.light, hover: null, dim: () => 1 },
    at = measurePicture(ui),
    canvas = el("canvas", { width: WIDE * 2, height: at.h * 2 }),
    g = canvas.getContext("2d");
  g.scale(2, 2);
  g.fillStyle = P.C.card;
  g.fillRect(0, 0, WIDE, at.h);
  wrap(g, d.say.textContent, 20, 40, WIDE - 40, 19.5, 27, P.C.ink, 2);
  const drawn = ui.shown === m ? P : { ...P, m: ui.shown, facts: stageFacts(ui.shown, V.t, V.s, V.act) };
  shifted(g, 20, TOP, () => drawView(g, drawn, S.view, at.stage));
  shifted(g, 20 + LEFT + 24, TOP, () => {
    put(g, d.matrixTitle.textContent, 0, 16, 15, P.C.ink, { bold: true });
    g.translate(0, 24);
    drawMatrix(g, P, 400, Math.max(at.stage, 470) - 24);
  });
  const bars = el("canvas");
  drawBars(sizeCanvas(bars, at.geo.tw, at.rows + 40), P, at.geo);
  shifted(g, 20, at.timeY, () => drawScrub(g, P, at.geo));
  shifted(g, 20, at.timeY + 56, () => drawRows(g, P, at.geo, bars));
  const from = /^https?:/.test(location.protocol) ? location.href : textAt(m.tl.meta.title, 0, S.lang);
  put(g, `collsim ${m.tl.meta.version ?? ""}   ${from}`, 20, at.h - 14, 12, P.C.ink3);
  return canvas;
}

const WIDE = 1598; // pixels of the picture, and of the stage in it
const LEFT = 1134;
const TOP = 92;

/** Heights in the picture: of the stage, of the rows, and where the scrubber begins. */
function measurePicture({ S, m, V, shown }) {
  const { h, w } = shown.tl.stage,
    fits = Math.round(h * Math.min(LEFT / w, 1.3)),
    stage = S.view === "logical" ? Math.max(470, S.stageH) : fits,
    lines = linesOf(m, S.chart, V.W, S.lang),
    size = rowSize(lines.length, false, S.chart),
    rows = lines.length * size.rh,
    timeY = TOP + Math.max(stage, 470) + 16,
    own = { x0: 216, tw: LEFT - 216, W: WIDE - 40, chart: S.chart, top: 6, narrow: false, fig: LEFT + 24 };
  return { stage, rows, timeY, h: timeY + 56 + rows + 78, geo: { ...size, ...own, mode: S.mode, zoom: 1 } };
}

function drawView(g, P, view, height) {
  const { stage } = P.m.tl;
  if (view === "logical") {
    P.lay = logicalLayout(P.m, P.slots.length, LEFT, height);
    drawLogical(g, P, LEFT, height);
    drawLogicalTokens(g, P);
    return;
  }
  const k = Math.min(LEFT / stage.w, height / stage.h);
  Object.assign(P, { k, above: 0 });
  g.translate((LEFT - stage.w * k) / 2, 0);
  g.scale(k, k);
  drawPhysical(g, P);
  drawTokens(g, P);
}

function shifted(g, x, y, draw) {
  g.save();
  g.translate(x, y);
  draw();
  g.restore();
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
