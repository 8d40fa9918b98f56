// Opening a node that is drawn as a box, and closing it.

import { forgetDrawn, invalidate, report } from "./context.js";
import { buildCrumbs } from "./crumbs.js";
import { arrange } from "./dress.js";
import { insideOf, nodesOf, openNode } from "../model/inside.js";
import { hideTip } from "./pointer.js";

/** Open a node, or close the one that is open; what it was called by is told, unless it was the host. */
export function goInto(ui, node, tell = true) {
  const { state, model } = ui,
    next = node != null && insideOf(model, node) ? node : null;
  if (!model || next === (state.node ?? null)) return;
  state.node = next;
  ui.shown = next == null ? model : openNode(model, next);
  ui.P = null;
  hideTip(ui);
  forgetDrawn(ui);
  buildCrumbs(ui);
  arrange(ui);
  ui.editor?.update();
  invalidate(ui);
  if (tell) report(ui, "node", 0);
}

/** The node after the one that is open, the first where none is. */
export function nextNode(ui, by = 1) {
  const all = ui.model ? nodesOf(ui.model) : [];
  if (all.length) goInto(ui, all[(all.indexOf(ui.state.node ?? all.at(-1)) + by + all.length) % all.length]);
}
