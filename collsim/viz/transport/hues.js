// Colours of buckets: indigo to plum, no hue of a link class or of a sum.

import { hatch } from "../player/draw/elements.js";

const BUCKETS = 5; // colours, which then begin again

/** The names of the colours of a bucket: {box, text, tint}; what is no bucket is grey. */
export function hueOf(bucket) {
  if (bucket < 0) return { box: "var(--ink3)", text: "var(--card)", tint: "var(--sunk)" };
  const q = bucket % BUCKETS;
  return { box: `var(--b${q})`, text: `var(--t${q})`, tint: `var(--n${q})` };
}

/** The pattern `ts-hatch` of a GPU that waits for the network. */
export const exposedHatch = () =>
  hatch("ts-hatch", { size: 8, width: 3.2, paper: "var(--fulltint)", ink: "var(--full)" });
