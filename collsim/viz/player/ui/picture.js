// The card as a picture: light colours, narration as caption, address and version at the foot.

import { put, wrap } from "../draw/canvas.js";
import { el, sizeCanvas } from "../draw/elements.js";
import { drawLogical, drawLogicalTokens, logicalLayout } from "../draw/logical.js";
import { TOKENS } from "../model/look.js";
import { drawMatrix } from "../charts/matrix.js";
import { SvgContext } from "../export/svgcontext.js";
import { textAt } from "../model/read.js";
import { createGeometry, drawBars, drawRows, linesOf } from "../charts/rows.js";
import { drawScrub } from "../charts/scrub.js";
import { drawPhysical, stageFacts } from "../draw/stage.js";
import { drawTokens } from "../draw/tokens.js";

/** The card as a picture: light colours, narration as caption, address and version at the foot, no controls. */
export function pictureOf(ui) {
  const { parts, state } = ui,
    P = sceneOf(ui),
    at = measurePicture(ui),
    canvas = el("canvas", { width: WIDE * 2, height: at.h * 2 }),
    ctx = canvas.getContext("2d");
  ctx.scale(2, 2);
  drawPage(ctx, parts.say.textContent, WIDE, at.h);
  shifted(ctx, 20, TOP, () => drawView(ctx, shownOf(ui, P), state.view, at.stage));
  shifted(ctx, 20 + LEFT + 24, TOP, () => {
    put(ctx, parts.matrixTitle.textContent, 0, 16, 15, P.colors.ink, { bold: true });
    ctx.translate(0, 24);
    drawMatrix(ctx, P, 400, Math.max(at.stage, 470) - 24);
  });
  const bars = el("canvas");
  drawBars(sizeCanvas(bars, at.geo.tw, at.geo.bottom + 34), P, at.geo);
  shifted(ctx, 20, at.timeY, () => drawScrub(ctx, P, at.geo));
  shifted(ctx, 20, at.timeY + 56, () => drawRows(ctx, P, at.geo, bars));
  put(ctx, sourceOf(ui), 20, at.h - 14, 12, P.colors.ink3);
  return canvas;
}

/** The scene of this moment in light colours, with nothing that a pointer lights up. */
const sceneOf = ({ view }) => ({ ...view, colors: TOKENS.light, hover: null, dim: () => 1 });

/** The same of the node that is open. */
const shownOf = ({ shown, model, view }, scene) =>
  shown === model ? scene : { ...scene, model: shown, facts: stageFacts(shown, view.t, view.s, view.act) };

/** The stage of this moment with what is said of it, as the text of an SVG file. */
export function drawSvg(ui) {
  const { parts, state, view } = ui,
    { stage } = measurePicture(ui),
    ctx = new SvgContext(LEFT + 40, TOP + stage + 34),
    said = parts.say.textContent;
  drawPage(ctx, said, ctx.width, ctx.height);
  shifted(ctx, 20, TOP, () => drawView(ctx, shownOf(ui, sceneOf(ui)), state.view, stage));
  put(ctx, sourceOf(ui), 20, TOP + stage + 20, 12, TOKENS.light.ink3);
  return ctx.finish(said, { step: view.s + 1, t: Number(view.t.toPrecision(9)) });
}

/** The stage alone into `ctx`, so many pixels wide; returns its height. */
export function drawStage(ctx, ui, wide) {
  const { h, w } = ui.shown.tl.stage,
    tall = Math.round((h * wide) / w);
  drawView(ctx, shownOf(ui, sceneOf(ui)), "physical", tall, wide);
  return tall;
}

/** White paper, and on it what is said. */
export function drawPage(ctx, said, wide, tall) {
  ctx.fillStyle = TOKENS.light.card;
  ctx.fillRect(0, 0, wide, tall);
  wrap(ctx, said, 20, 40, wide - 40, 19.5, 27, TOKENS.light.ink, { most: 2 });
}

/** Where the picture is from: the address, if others can open it, or what is run. */
function sourceOf({ model, state }) {
  const isPublic = /^https?:/.test(location.protocol) && !/^(localhost|127\.|\[::1\])/.test(location.hostname),
    from = isPublic ? location.href : textAt(model.tl.meta.title, 0, state.language);
  return `collsim ${model.tl.meta.version ?? ""}   ${from}`;
}

const WIDE = 1598; // pixels of the picture, and of the stage in it
const LEFT = 1134;
const TOP = 92;

/** Heights in the picture: of the stage, of the rows, and where the scrubber begins. */
function measurePicture({ state, model, view, shown: stageModel }) {
  const { h, w } = stageModel.tl.stage,
    fits = Math.round(h * Math.min(LEFT / w, 1.3)),
    stage = state.view === "logical" ? Math.max(470, state.stageH) : fits,
    { length } = linesOf(model, state.chart, view.words, state.language),
    place = { x0: 216, tw: LEFT - 216, width: WIDE - 40, top: 6, narrow: false, fig: LEFT + 24, zoom: 1 },
    geo = createGeometry(model, length, { ...place, chart: state.chart, mode: state.mode }),
    timeY = TOP + Math.max(stage, 470) + 16;
  return { stage, timeY, h: timeY + 56 + geo.bottom + 72, geo };
}

function drawView(ctx, P, view, height, wide = LEFT) {
  const { stage } = P.model.tl;
  if (view === "logical") {
    P.lay = logicalLayout(P.model, P.slots.length, wide, height);
    drawLogical(ctx, P, wide, height);
    drawLogicalTokens(ctx, P);
    return;
  }
  const k = Math.min(wide / stage.w, height / stage.h);
  Object.assign(P, { k, above: 0 });
  ctx.translate((wide - stage.w * k) / 2, 0);
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
