// Where the stage is: the cluster, or one of its nodes opened.

import { wordsOf } from "./context.js";
import { el, icon, nameButton, setText } from "../draw/elements.js";
import { insideOf, nodesAlike, nodesOf } from "../model/inside.js";
import { textAt } from "../model/read.js";

/** The line above the stage: Cluster, the open node, the ones beside it. */
export function buildCrumbs(ui) {
  const { d, S, m } = ui,
    w = wordsOf(ui),
    all = nodesOf(m),
    logical = S.view === "logical",
    shown = logical ? m.channels > 1 && S.channel >= 0 && !m.groups.length : all.length;
  d.crumbs.style.display = shown ? "" : "none";
  if (!shown) return;
  if (logical) {
    const before = beside("back", -1, w.channelBefore, "channel"),
      after = beside("next", 1, w.channelAfter, "channel"),
      name = el("b", { textContent: w.channelOf(S.channel, m.channels) });
    d.crumbs.replaceChildren(before, name, after, el("span", { textContent: w.channelNote }));
    return;
  }
  if (S.node == null) {
    const note = el("span", { textContent: joinedNotes(S.lang, [w.clusterNote(all.length), ofChannels(ui)]) });
    d.crumbs.replaceChildren(el("b", { textContent: w.cluster }), note);
    return;
  }
  const { own } = insideOf(m, S.node),
    note = el("span"),
    out = el("button", { type: "button", className: "textlink", textContent: w.cluster });
  out.dataset.by = "0";
  d.crumbNote = note;
  d.crumbs.replaceChildren(
    ...[out, "›", beside("back", -1, w.nodeBefore, "by"), el("b", { textContent: textAt(own.label, 0, S.lang) })],
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
  const { d, S, m, V } = ui;
  if (S.node == null || S.view === "logical" || !d.crumbNote) return;
  const note = textAt(insideOf(m, S.node).own.note, 0, S.lang),
    alike = V.s >= 0 && nodesAlike(m, V.facts.share) ? wordsOf(ui).allAlike(nodesOf(m).length) : "";
  setText(d.crumbNote, joinedNotes(S.lang, [note, alike, ofChannels(ui)]));
}

const joinedNotes = (lang, notes) => notes.filter(Boolean).join(lang === "zh" ? "；" : "; ");

/** What a number of chunks counts, where a rank sends on several channels at once. */
const ofChannels = (ui) => (ui.m.channels > 1 && !ui.m.groups.length ? wordsOf(ui).allChannels(ui.m.channels) : "");
