// The line of code that runs in the step that is shown.

import { wordsOf } from "./context.js";
import { setText } from "../draw/elements.js";

export function drawRunning(ui) {
  const { d, model, view } = ui,
    code = model.tl.code;
  d.running.style.display = code ? "" : "none";
  if (!code) return;
  const at = view.s < 0 || view.t >= model.total ? -1 : code.at[view.s];
  setText(d.runs, wordsOf(ui).runs);
  setText(d.line, at < 0 ? "" : code.lines[at].trim());
  setText(d.counter, at < 0 ? "" : code.note[view.s]);
  if (d.running.dataset.line === String(at)) return;
  d.running.dataset.line = String(at);
  d.line.title = code.lines.map((line, k) => `${k === at ? "▸ " : "  "}${line}`).join("\n");
}
