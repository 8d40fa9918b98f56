// Where the stage is: the cluster, or one of its nodes opened.

import { wordsOf } from "./context.js";
import { el, icon, nameButton, setText } from "../draw/elements.js";
import { insideOf, nodesAlike, nodesOf } from "../model/inside.js";
import { textAt } from "../model/read.js";
import { fill } from "../../words/choice.js";

/** The line above the stage: Cluster, the open node, the ones beside it. */
export function buildCrumbs(ui) {
  const { parts, state, model } = ui,
    words = wordsOf(ui),
    all = nodesOf(model),
    logical = state.view === "logical",
    isShown = logical ? model.channels > 1 && state.channel >= 0 && !model.groups.length : all.length;
  parts.crumbs.style.display = isShown ? "" : "none";
  if (!isShown) return;
  if (logical) {
    const before = beside("back", -1, words.channelBefore, "channel"),
      after = beside("next", 1, words.channelAfter, "channel"),
      name = el("b", fill(words.channelOf, { channel: state.channel, last: model.channels - 1 }));
    parts.crumbs.replaceChildren(before, name, after, el("span", words.channelNote));
    return;
  }
  if (state.node == null) {
    const note = el("span", joinNotes(words, [fill(words.clusterNote, { nodes: all.length }), ofChannels(ui)]));
    parts.crumbs.replaceChildren(el("b", words.cluster), note);
    return;
  }
  const ownNode = insideOf(model, state.node)?.own,
    note = el("span"),
    out = el("button.textlink", words.cluster);
  out.dataset.by = "0";
  parts.crumbNote = note;
  parts.crumbs.replaceChildren(
    ...[out, "›", beside("back", -1, words.nodeBefore, "by"), el("b", textAt(ownNode.label, 0, state.language))],
    ...[beside("next", 1, words.nodeAfter, "by"), note, el("span.end", words.closes)],
  );
}

/** A button to the one before or after. */
function beside(name, by, label, of) {
  const button = el("button.btn", icon(name));
  nameButton(button, label);
  button.dataset[of] = String(by);
  return button;
}

/** What is said beside the name of the open node: its ranks, and whether all nodes do the same. */
export function showNode(ui) {
  const { parts, state, model, view } = ui;
  if (state.node == null || state.view === "logical" || !parts.crumbNote) return;
  const note = textAt(insideOf(model, state.node)?.own.note, 0, state.language),
    alike =
      view.s >= 0 && nodesAlike(model, view.facts.share)
        ? fill(wordsOf(ui).allAlike, { nodes: nodesOf(model).length })
        : "";
  setText(parts.crumbNote, joinNotes(wordsOf(ui), [note, alike, ofChannels(ui)]));
}

const joinNotes = (words, notes) => notes.filter(Boolean).join(words.betweenNotes);

/** What a number of chunks counts, where a rank sends on several channels at once. */
const ofChannels = (ui) =>
  ui.model.channels > 1 && !ui.model.groups.length
    ? fill(wordsOf(ui).allChannels, { channels: ui.model.channels })
    : "";
