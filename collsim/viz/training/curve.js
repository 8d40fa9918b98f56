// Bucket size and step time: a curve that is a slider.

import { el, setAttributes, svg } from "../player/draw/elements.js";
import { fmtBytes, fmtSpan, threeDigits, timeUnit } from "../player/model/units.js";
import { levelAxis, text, textWidth } from "../transport/lanechart.js";
import { bestOf, curveScales } from "./stepgeometry.js";
import { fill } from "../words/choice.js";

const HIGH = 188;
const TICKS = [2 ** 14, 2 ** 17, 2 ** 20, 2 ** 23, 2 ** 26, 2 ** 29];

/** The part of the card with the curve; empty where there are no buckets. */
export function buildCurve(ui, wide) {
  const { curve, bucket_bytes: bucketBytes, step, asked: isChosen } = ui.data,
    words = ui.words;
  if (!curve.length) return null;
  const box = { left: 40, top: 24, width: wide - 64, height: HIGH - 56 },
    scales = curveScales([...curve, [bucketBytes, step.time]], box),
    best = bestOf(curve),
    slider = el("div.curve", { role: "slider", tabIndex: 0, "aria-label": words.size });
  setAttributes(slider, {
    "aria-valuemin": curve[0][0],
    "aria-valuemax": curve.at(-1)[0],
    "aria-valuenow": bucketBytes,
    "aria-valuetext": `${fmtBytes(bucketBytes)}, ${fmtSpan(step.time)}`,
  });
  slider.append(picture(ui, curve, scales, box, wide));
  follow(ui, slider, scales, curve);
  const foot = el("p", fill(words.best, { bytes: fmtBytes(best[0]), time: fmtSpan(best[1]) }));
  if (isChosen)
    foot.append(" ", el("button.plain", { onclick: () => ui.act({ what: "default bucket" }) }, words.useUsual));
  const head = el("h3", words.size, el("span", words.curve));
  return el("section.size", head, slider, foot);
}

function picture(ui, curve, scales, box, wide) {
  const { bucket_bytes: bucketBytes, step } = ui.data,
    unit = timeUnit(scales.high),
    base = box.top + box.height,
    label = (x, y, words, anchor = "middle", look = {}) => text(x, y, words, { size: 12.5, anchor, ...look }),
    out = [];
  const levels = [0, 1, 2, 3].map((k) => {
    const v = scales.low + ((scales.high - scales.low) * k) / 3;
    return { y: scales.y(v), text: threeDigits(v * unit.f), ...(!k && { rule: "var(--edge)" }) };
  });
  out.push(...levelAxis(levels, { left: box.left, right: box.left + box.width, away: 6, size: 12.5 }));
  out.push(label(2, 12, unit.unit, "start"));
  for (const nbytes of TICKS) out.push(label(scales.x(nbytes), base + 18, fmtBytes(nbytes)));
  const d = curve.map(([b, s]) => `${scales.x(b).toFixed(1)} ${scales.y(s).toFixed(1)}`).join("L"),
    x = scales.x(bucketBytes),
    y = scales.y(step.time),
    words = `${fmtBytes(bucketBytes)}: ${fmtSpan(step.time)}`,
    room = textWidth(words, 13.5, true) / 2 + 4,
    at = Math.min(wide - room, Math.max(box.left + room, x));
  out.push(
    svg("path", { d: `M${d}`, fill: "none", stroke: "var(--ink)", "stroke-width": 2, "stroke-linejoin": "round" }),
    svg("rect", { x: x - 0.5, y: box.top, width: 1, height: box.height, fill: "var(--edge)" }),
    svg("circle", { cx: x, cy: y, r: 5.5, fill: "var(--ink)", stroke: "var(--card)", "stroke-width": 2 }),
    label(at, 12, words, "middle", { bold: true, fill: "var(--ink)", size: 13.5 }),
  );
  return svg("svg", { width: wide, height: HIGH, "aria-hidden": "true" }, ...out);
}

/** A click or a drag chooses the nearest size, arrows go to the next one. */
function follow(ui, slider, scales, curve) {
  let chosen = 0;
  const choose = (nbytes) => ui.act({ what: "bucket", nbytes }),
    under = (ev) => scales.nearest(ev.clientX - slider.getBoundingClientRect().left);
  slider.addEventListener("pointerdown", (ev) => {
    slider.setPointerCapture?.(ev.pointerId);
    chosen = under(ev);
  });
  slider.addEventListener("pointermove", (ev) => {
    if (chosen) chosen = under(ev);
  });
  slider.addEventListener("pointerup", () => {
    if (chosen) choose(chosen);
    chosen = 0;
  });
  slider.addEventListener("keydown", (ev) => {
    const by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[ev.key];
    if (!by) return;
    ev.preventDefault();
    ev.stopPropagation();
    const sizes = curve.map(([nbytes]) => nbytes),
      now = ui.data.bucket_bytes,
      next = by > 0 ? sizes.find((b) => b > now) : sizes.filter((b) => b < now).at(-1);
    if (next) choose(next);
  });
}
