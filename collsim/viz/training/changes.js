// What would change the step: a switch for each, with the time before, the time after and the reason.

import { el } from "../player/draw/elements.js";
import { fmtSpan, NB } from "../player/model/units.js";
import { buildCurve } from "./curve.js";

/** Fill the column beside the timeline. */
export function drawChanges(ui, wide) {
  const words = ui.words,
    head = el("h2", words.change, el("span", words.each)),
    most = Math.max(...ui.data.rows.flatMap((row) => [row.before, row.after]), 1e-12),
    curve = buildCurve(ui, wide),
    rows = el("div.rows", ...ui.data.rows.map((row) => changeRow(ui, row, most)));
  ui.side.replaceChildren(head, ...(curve ? [curve] : []), rows);
}

function changeRow(ui, row, most) {
  const words = ui.words,
    name = words.switches[row.name],
    flip = el("button.flip", {
      role: "switch",
      "aria-checked": String(row.on),
      onclick: () => ui.act({ what: "switch", name: row.name }),
    });
  flip.append(el("i"), el("b", name));
  const box = el("div.change", { "data-change": row.name }, flip);
  if (row.refusal) {
    box.append(el("p", row.refusal));
    return box;
  }
  const bar = (seconds, token) => el("i", { style: `width:${(100 * seconds) / most}%;background:var(--${token})` });
  const by = row.after / row.before - 1,
    percent =
      Math.abs(by) < 5e-4 ? `0${NB}%` : `${by > 0 ? "+" : "−"}${Number((100 * Math.abs(by)).toPrecision(2))}${NB}%`;
  box.append(
    el(
      "div.values",
      el("span.bars", { "aria-hidden": "true" }, bar(row.before, "idle"), bar(row.after, "ink3")),
      el("span", `${fmtSpan(row.before)} → `, el("b", fmtSpan(row.after))),
      el("em", percent),
    ),
    el("p", row.reason),
  );
  return box;
}
