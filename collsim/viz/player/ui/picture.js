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
  const { parts, state, model, view } = ui,
    P = { ...view, colors: TOKENS.light, hover: null, dim: () => 1 },
    at = measurePicture(ui),
    canvas = el("canvas", { width: WIDE * 2, height: at.h * 2 }),
    ctx = canvas.getContext("2d");
  ctx.scale(2, 2);
  ctx.fillStyle = P.colors.card;
  ctx.fillRect(0, 0, WIDE, at.h);
  wrap(ctx, parts.say.textContent, 20, 40, WIDE - 40, 19.5, 27, P.colors.ink, 2);
  const drawn =
    ui.shown === model ? P : { ...P, model: ui.shown, facts: stageFacts(ui.shown, view.t, view.s, view.act) };
  shifted(ctx, 20, TOP, () => drawView(ctx, drawn, state.view, at.stage));
  shifted(ctx, 20 + LEFT + 24, TOP, () => {
    put(ctx, parts.matrixTitle.textContent, 0, 16, 15, P.colors.ink, { bold: true });
    ctx.translate(0, 24);
    drawMatrix(ctx, P, 400, Math.max(at.stage, 470) - 24);
  });
  const bars = el("canvas");
  drawBars(sizeCanvas(bars, at.geo.tw, at.rows + 40), P, at.geo);
  shifted(ctx, 20, at.timeY, () => drawScrub(ctx, P, at.geo));
  shifted(ctx, 20, at.timeY + 56, () => drawRows(ctx, P, at.geo, bars));
  const from = /^https?:/.test(location.protocol) ? location.href : textAt(model.tl.meta.title, 0, state.language);
  put(ctx, `collsim ${model.tl.meta.version ?? ""}   ${from}`, 20, at.h - 14, 12, P.colors.ink3);
  return canvas;
}

const WIDE = 1598; // pixels of the picture, and of the stage in it
const LEFT = 1134;
const TOP = 92;

/** Heights in the picture: of the stage, of the rows, and where the scrubber begins. */
function measurePicture({ state, model, view, shown: stageModel }) {
  const { h, w } = stageModel.tl.stage,
    fits = Math.round(h * Math.min(LEFT / w, 1.3)),
    stage = state.view === "logical" ? Math.max(470, state.stageH) : fits,
    lines = linesOf(model, state.chart, view.words, state.language),
    size = rowSize(lines.length, false, state.chart),
    rows = lines.length * size.rh,
    timeY = TOP + Math.max(stage, 470) + 16,
    geometry = { x0: 216, tw: LEFT - 216, width: WIDE - 40, chart: state.chart, top: 6, narrow: false, fig: LEFT + 24 };
  return { stage, rows, timeY, h: timeY + 56 + rows + 78, geo: { ...size, ...geometry, mode: state.mode, zoom: 1 } };
}

function drawView(ctx, P, view, height) {
  const { stage } = P.model.tl;
  if (view === "logical") {
    P.lay = logicalLayout(P.model, P.slots.length, LEFT, height);
    drawLogical(ctx, P, LEFT, height);
    drawLogicalTokens(ctx, P);
    return;
  }
  const k = Math.min(LEFT / stage.w, height / stage.h);
  Object.assign(P, { k, above: 0 });
  ctx.translate((LEFT - stage.w * k) / 2, 0);
  ctx.scale(k, k);
  drawPhysical(ctx, P);
  drawTokens(ctx, P);
}

function shifted(ctx, x, y, draw) {
  ctx.save();
  ctx.translate(x, y);
  draw();
  ctx.restore();
}

export function savePng(ui) {
  const { model, view } = ui;
  if (!model || !view) return;
  pictureOf(ui).toBlob((blob) => {
    const a = el("a", {
      href: URL.createObjectURL(blob),
      download: `collsim-${model.tl.meta.collective ?? "run"}-step${view.s + 1}.png`,
    });
    a.click();
    setTimeout(() => URL.revokeObjectURL(a.href), 1000);
    toast(ui, wordsOf(ui).saved);
  });
  if (view) forgetDrawn(ui);
  invalidate(ui);
}
