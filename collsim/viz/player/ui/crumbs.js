// Where the stage is: the cluster, or one of its nodes opened.

import { wordsOf } from "./context.js";
import { el, icon, nameButton, setText } from "../draw/elements.js";
import { insideOf, nodesAlike, nodesOf } from "../model/inside.js";
import { textAt } from "../model/read.js";

/** The line above the stage: Cluster, the open node, the ones beside it. */
export function buildCrumbs(ui) {
  const { d, state, model } = ui,
    w = wordsOf(ui),
    all = nodesOf(model),
    logical = state.view === "logical",
    isShown = logical ? model.channels > 1 && state.channel >= 0 && !model.groups.length : all.length;
  d.crumbs.style.display = isShown ? "" : "none";
  if (!isShown) return;
  if (logical) {
    const before = beside("back", -1, w.channelBefore, "channel"),
      after = beside("next", 1, w.channelAfter, "channel"),
      name = el("b", { textContent: w.channelOf(state.channel, model.channels) });
    d.crumbs.replaceChildren(before, name, after, el("span", { textContent: w.channelNote }));
    return;
  }
  if (state.node == null) {
    const note = el("span", { textContent: joinedNotes(state.lang, [w.clusterNote(all.length), ofChannels(ui)]) });
    d.crumbs.replaceChildren(el("b", { textContent: w.cluster }), note);
    return;
  }
  const { own: ownNode } = insideOf(model, state.node),
    note = el("span"),
    out = el("button", { type: "button", className: "textlink", textContent: w.cluster });
  out.dataset.by = "0";
  d.crumbNote = note;
  d.crumbs.replaceChildren(
    ...[
      out,
      "›",
      beside("back", -1, w.nodeBefore, "by"),
      el("b", { textContent: textAt(ownNode.label, 0, state.lang) }),
    ],
    ...[beside("next", 1, w.nodeAfter, "by"), note, el("span", { className: "end", textContent: w.closes })],
  );
}

/** A button to the one before or after. */
function beside(name, by, label, of) {
  const b = el("button", { type: "button", className: "btn" }, icon(name));
  nameButton(b, label);
  b.dataset[of] = String(by);
  return b;
}

/** What is said beside the name of the open node: its ranks, and whether all nodes do the same. */
export function showNode(ui) {
  const { d, state, model, view } = ui;
  if (state.node == null || state.view === "logical" || !d.crumbNote) return;
  const note = textAt(insideOf(model, state.node).own.note, 0, state.lang),
    alike = view.s >= 0 && nodesAlike(model, view.facts.share) ? wordsOf(ui).allAlike(nodesOf(model).length) : "";
  setText(d.crumbNote, joinedNotes(state.lang, [note, alike, ofChannels(ui)]));
}

const joinedNotes = (lang, notes) => notes.filter(Boolean).join(lang === "zh" ? "；" : "; ");

/** What a number of chunks counts, where a rank sends on several channels at once. */
const ofChannels = (ui) =>
  ui.model.channels > 1 && !ui.model.groups.length ? wordsOf(ui).allChannels(ui.model.channels) : "";
