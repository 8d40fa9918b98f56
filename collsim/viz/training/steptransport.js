// What a person can do with a step: buttons, keys, and the timeline as its scrubber.

import { el } from "../player/draw/elements.js";
import { actOnKey } from "../player/ui/keys.js";
import { createTransport, dragTime, transportKeys, turnTo } from "../transport/transport.js";
import { openNamed } from "./collectivepanel.js";
import { stepWords } from "./stepwords.js";

/** The line over the timeline. */
export function buildStepBar(ui) {
  ui.parts = createTransport({ ...ui, words: stepWords(ui), turn: (by) => turn(ui, by) });
  const { moves, time, speeds, note, tools } = ui.parts;
  ui.bar.replaceChildren(moves, time, speeds, el("span", { className: "sp" }), note, tools);
}

/** To the next or the last moment at which something becomes ready, begins or ends. */
function turn({ clock, moments }, by) {
  turnTo(clock, moments, by, 1e-9 * clock.total);
}

/** Open the bucket after the one that is open. */
function nextBucket(ui) {
  const names = ui.data.step.collectives.filter((c) => c.bucket >= 0).map((c) => c.name),
    next = names[(names.indexOf(ui.data.open) + 1) % names.length];
  if (next) openNamed(ui, next);
}

/** To where the chain goes on to its next part. */
function alongChain({ clock, data }) {
  const begins = data.step.chain.map(([, , t0]) => t0),
    next = begins.find((t) => t > clock.t + 1e-9 * clock.total);
  clock.pause();
  clock.seek(next ?? 0);
}

/** The time column is the scrubber, but for the boxes that open something. */
export function dragOver(ui) {
  const seek = (ev) => ui.clock.seek(ui.chart.timeAt(ev));
  const isTrack = (target) => Boolean(target.closest?.("svg.time")) && !target.closest("[data-name]");
  dragTime(ui.lanes, seek, { isTrack, isScrolled: true });
}

export function onStepKey(ui, ev) {
  const name = ev.target?.dataset?.name;
  if (name && (ev.key === "Enter" || ev.key === " ")) {
    ev.preventDefault();
    openNamed(ui, name);
    return;
  }
  actOnKey(ev, {
    ...transportKeys({ ...ui, turn: (by) => turn(ui, by) }),
    s: () => ui.slide(!ui.root.classList.contains("slide")),
    Escape: () => (ui.root.classList.contains("slide") ? ui.slide(false) : ui.act({ what: "open", name: "none" })),
    b: () => nextBucket(ui),
    c: () => alongChain(ui),
    w: () => ui.side.querySelector("button")?.focus(),
  });
}
