// Beside a runner: its time and place, how much of it is waiting, and each formula with what was drawn.

import { el } from "../player/draw/elements.js";
import { bandOf } from "../player/model/order.js";
import { NB, fmtSpan, three, threeDigits } from "../player/model/units.js";
import { fill, ordinal } from "../words/choice.js";

const ALIKE = 1e-6; // of a formula's value: bytes are cut into whole pieces

const DECIMAL = [
  [1e12, [1e12, "TB"]],
  [1e9, [1e9, "GB"]],
  [1e6, [1e6, "MB"]],
];

/** 13476831232 -> "13.5 GB": decimal, as vendors count a GPU's memory; `digits` writes the number. */
export function decimalBytes(n, digits = three) {
  const [f, unit] = bandOf(n || 1e9, DECIMAL, [1e3, "kB"]);
  return `${digits(n / f)}${NB}${unit}`;
}

/** How the figures of a run are written, by what they count. */
const FORMS = {
  B: () => (n) => decimalBytes(n, threeDigits),
  s: () => fmtSpan,
  microbatches: () => (x) => String(three(x)),
  passes: (ui) => ui.unit.fmt,
};

/** The figures of a runner; `places` are the times of all, the shortest first. */
export function figuresOf(ui, run, places) {
  const words = ui.words,
    pipelines = ui.data.kind === "pipelines",
    idle = pipelines ? run.share : run.share / run.time,
    percent = `${(100 * idle).toFixed(1)}${NB}%`,
    meter = el("div.meter", el("i", { style: `width:${100 * (1 - idle)}%` }));
  const time = el("span", el("b", ui.unit.fmt(run.time)), ` ${placeOf(run.time, places, words)}`),
    wait = el("span.r", `${pipelines ? words.bubble : words.exposed} `, el("b", percent));
  const rows = (run.figures ?? []).map((figure) => figureRow(ui, figure, words)),
    none = el("p.none", words.none),
    below = run.figures ? el("table", el("tbody", ...rows)) : none;
  return el("div.figures", el("div", el("div.main", time, wait), meter), below);
}

/** "1st", or "joint 3rd" where several took as long. */
export function placeOf(time, places, words) {
  const alike = places.filter((other) => Math.abs(other - time) <= 1e-9 * time).length,
    rankText = ordinal(words, places.filter((other) => other < time * (1 - 1e-9)).length + 1);
  return alike > 1 ? fill(words.joint, { position: rankText }) : rankText;
}

function figureRow(ui, { name, form, calls, numbers, value, drawn, unit }, words) {
  const fmt = FORMS[unit](ui),
    alike = drawn === undefined || Math.abs(value - drawn) <= ALIKE * Math.max(1e-12, Math.abs(value)),
    cell = el(
      "td",
      calls ? fill(words.calls, { gathers: calls[0], reductions: calls[1] }) : form.replace("idle", words.figure.idle),
    ),
    last = el("td", alike && fmt(value));
  if (numbers) cell.append(" ", el("span.in", `= ${numbers}`));
  if (drawn !== undefined && alike) last.append(el("span.ok", "✓"));
  if (!alike) last.append(el("span.off", fill(words.differs, { form: fmt(value), drawn: fmt(drawn) })));
  return el("tr", el("td", words.figure[name]), cell, last);
}
