// The line of time: phases, steps, the cursor, and a ? at each question.

import { disc, put, stroke } from "../player/draw/canvas.js";
import { el, sizeCanvas } from "../player/draw/elements.js";
import { textAt } from "../player/model/read.js";
import { niceStep, three, timeUnit } from "../player/model/units.js";

const PAD = 2;

/** The line as {box, canvas}; dragging and keys move the clock. */
export function buildTimebar(simple) {
  const canvas = el("canvas"),
    box = el("div", { className: "scrub", role: "slider", tabIndex: 0, "aria-valuemin": "0" }, canvas);
  let held = false;
  const follow = (ev) => {
    const { left, width } = box.getBoundingClientRect();
    simple.ask(null);
    simple.clock.seek(((ev.clientX - left - PAD) / (width - 2 * PAD)) * simple.m.total);
  };
  box.addEventListener("pointerdown", (ev) => {
    held = true;
    box.setPointerCapture?.(ev.pointerId);
    follow(ev);
  });
  box.addEventListener("pointermove", (ev) => held && follow(ev));
  for (const end of ["pointerup", "pointercancel"])
    box.addEventListener(end, () => {
      held = false;
    });
  return { box, canvas };
}

export function drawTimebar(simple, t, s) {
  const { bar, m, C, W, lang, root } = simple,
    w = Math.floor(bar.box.clientWidth),
    marked = simple.predict && simple.questions.length > 0,
    h = marked ? 96 : 74;
  if (w < 60) return;
  const g = sizeCanvas(bar.canvas, w, h),
    x = (at) => PAD + (at / m.total) * (w - 2 * PAD);
  g.clearRect(0, 0, w, h);
  for (const p of m.phases) {
    const a = x(m.step0[p.first]),
      b = x(m.step1[p.last]);
    g.fillStyle = p.reduce ? C.rs : C.ag;
    g.fillRect(a, 0, b - a - 1, 22);
    const name = textAt(p.label, 0, lang);
    if (b - a > 70) put(g, name, a + 9, 16, 13, C.ink2, { bold: true });
  }
  drawSteps(g, simple, { x, t, s });
  const unit = timeUnit(m.total),
    step = niceStep(m.total * unit.f, Math.max(2, w / 160));
  for (let at = 0; at <= m.total * unit.f * 1.0001; at += step) {
    const near = x(at / unit.f);
    const align = near < 20 ? "left" : near > w - 30 ? "right" : "center";
    if (!marked) put(g, three(at) + (at ? "" : `\u00a0${unit.unit}`), near, 64, 13, C.ink2, { align });
  }
  if (marked) drawMarks0(g, simple, x);
  const now = x(t);
  stroke(g, [now, 0, now, 52], 2, C.ink);
  bar.box.setAttribute("aria-label", W.time);
  bar.box.setAttribute("aria-valuemax", String(m.total));
  bar.box.setAttribute("aria-valuenow", String(t));
  bar.box.setAttribute("aria-valuetext", `${unit.fmt(t)}, ${W.step(s + 1, m.nsteps)}`);
  root.dataset.t = String(Number(t.toPrecision(9)));
}

function drawSteps(g, { m, C }, { x, t, s }) {
  for (let k = 0; k < m.nsteps; k++) {
    const a = x(m.step0[k]),
      wide = Math.max(1, x(m.step1[k]) - a - 1.5);
    g.fillStyle = k < s || t >= m.total ? C.ink3 : k === s ? C.ink : C.grid;
    g.fillRect(a, 26, wide, 20);
    if (wide < 17) continue;
    const dark = k <= s || t >= m.total;
    put(g, String(k + 1), a + wide / 2, 41, 12.5, dark ? C.card : C.ink2, { align: "center" });
  }
}

function drawMarks0(g, { questions, C, m, asked }, x) {
  for (const q of questions) {
    const at = Math.min(x(m.total) - 12, Math.max(12, x(m.step0[q.step]))),
      open = asked === q,
      seen = open || q.given != null;
    disc(g, at, 72, 12, seen ? C.ink : C.card, C.ink, 1.6);
    put(g, "?", at, 78, 16, seen ? C.card : C.ink, { align: "center", bold: true });
  }
}
