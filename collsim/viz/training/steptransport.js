// What a person can do with a step: keys, and the timeline as its scrubber.

import { dragTime } from "../transport/transport.js";
import { openNamed } from "./collectivepanel.js";

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

/** Enter and space open the box that has the focus. */
export function openByKey(ui, ev) {
  const name = ev.target?.dataset?.name;
  if (!name || (ev.key !== "Enter" && ev.key !== " ")) return;
  ev.preventDefault();
  ev.stopImmediatePropagation();
  openNamed(ui, name);
}

export const stepKeys = (ui) => ({
  s: () => ui.slide(!ui.root.classList.contains("slide")),
  Escape: () => (ui.root.classList.contains("slide") ? ui.slide(false) : ui.act({ what: "open", name: "none" })),
  b: () => nextBucket(ui),
  c: () => alongChain(ui),
  w: () => ui.side.querySelector("button")?.focus(),
});
