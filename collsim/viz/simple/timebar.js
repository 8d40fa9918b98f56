// The line of time: phases, steps, the cursor, and a ? at each question.

import { disc, fillRect, put, stroke } from "../player/draw/canvas.js";
import { clearCanvas, el, setAttributes } from "../player/draw/elements.js";
import { dragTime } from "../player/ui/transport.js";
import { textAt } from "../player/model/read.js";
import { timeMarks, timeUnit } from "../player/model/units.js";
import { fill } from "../words/choice.js";

const PAD = 2;

/** The line as {box, canvas}; dragging and keys move the clock. */
export function buildTimebar(simple) {
  const canvas = el("canvas"),
    box = el("div.scrub", { role: "slider", tabIndex: 0, "aria-valuemin": "0" }, canvas);
  const follow = (ev) => {
    const { left, width } = box.getBoundingClientRect();
    simple.ask(null);
    simple.clock.seek(((ev.clientX - left - PAD) / (width - 2 * PAD)) * simple.model.total);
  };
  dragTime(box, follow);
  return { box, canvas };
}

export function drawTimebar(simple, t, s) {
  const { bar, model, colors, words, language, root } = simple,
    w = Math.floor(bar.box.clientWidth),
    marked = simple.predict && simple.questions.length > 0,
    h = marked ? 96 : 74;
  if (w < 60) return;
  const ctx = clearCanvas(bar.canvas, w, h),
    x = (at) => PAD + (at / model.total) * (w - 2 * PAD);
  const isAsked = simple.predict && simple.questions.some((q) => q.topic === "copy" && !q.shown);
  // Where one phase ends is the answer to the question.
  if (isAsked) fillRect(ctx, PAD, 0, w - 2 * PAD, 22, colors.sunk);
  for (const p of isAsked ? [] : model.phases) {
    const a = x(model.step0[p.first]),
      b = x(model.step1[p.last]);
    fillRect(ctx, a, 0, b - a - 1, 22, p.reduce ? colors.rs : colors.ag);
    const name = textAt(p.label, 0, language);
    if (b - a > 70) put(ctx, name, a + 9, 16, 13, colors.ink2, { bold: true });
  }
  drawSteps(ctx, simple, { x, t, s });
  const unit = timeUnit(model.total);
  for (const { t: at, text } of marked ? [] : timeMarks(model.total, Math.max(2, w / 160))) {
    const side = x(at) > w - 30 ? "right" : "center";
    put(ctx, text, x(at), 64, 13, colors.ink2, { align: x(at) < 20 ? "left" : side });
  }
  if (marked) drawMarks0(ctx, simple, x);
  stroke(ctx, [x(t), 0, x(t), 52], 2, colors.ink);
  setAttributes(bar.box, {
    "aria-label": words.time,
    "aria-valuemax": model.total,
    "aria-valuenow": t,
    "aria-valuetext": `${unit.fmt(t)}, ${fill(words.step, { step: s + 1, steps: model.nsteps })}`,
  });
  root.dataset.t = String(Number(t.toPrecision(9)));
}

function drawSteps(ctx, { model, colors }, { x, t, s }) {
  for (let k = 0; k < model.nsteps; k++) {
    const a = x(model.step0[k]),
      wide = Math.max(1, x(model.step1[k]) - a - 1.5),
      isPast = k < s || t >= model.total,
      now = k === s ? colors.ink : colors.grid;
    fillRect(ctx, a, 26, wide, 20, isPast ? colors.ink3 : now);
    const ink = isPast || k === s ? colors.card : colors.ink2;
    if (wide >= 17) put(ctx, String(k + 1), a + wide / 2, 41, 12.5, ink, { align: "center" });
  }
}

function drawMarks0(ctx, { questions, colors, model, asked: question }, x) {
  for (const q of questions) {
    const at = Math.min(x(model.total) - 12, Math.max(12, x(model.step0[q.step]))),
      open = question === q,
      seen = open || q.given != null;
    disc(ctx, at, 72, 12, seen ? colors.ink : colors.card, colors.ink, 1.6);
    put(ctx, "?", at, 78, 16, seen ? colors.card : colors.ink, { align: "center", bold: true });
  }
}
