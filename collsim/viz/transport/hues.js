// Colours of buckets: indigo to plum, no hue of a link class or of a sum. Neighbours alternate dark and light, so that
// grey print keeps them apart.

import { hatch } from "../player/draw/elements.js";

const FIVE = ["b0", "b1", "b2", "b3", "b4"];
/** b: the box, t: text on it, n: the tint that leads to the open panel, e: its edge. */
export const BUCKET_HUES = {
  light: {
    b0: "#2E3F8F",
    t0: "#FFFFFF",
    n0: "#E7EAF6",
    b1: "#7288DA",
    t1: "#162026",
    n1: "#EEF1FC",
    b2: "#6B3FA0",
    t2: "#FFFFFF",
    n2: "#EFE9F6",
    b3: "#AE80D4",
    t3: "#162026",
    n3: "#F6F0FB",
    b4: "#A23B72",
    t4: "#FFFFFF",
    n4: "#F7EAF1",
  },
  dark: {
    b0: "#6E86F2",
    t0: "#0E1316",
    n0: "#1D2340",
    b1: "#BAC6FB",
    t1: "#0E1316",
    n1: "#262C42",
    b2: "#A47AE2",
    t2: "#0E1316",
    n2: "#2A213C",
    b3: "#DDC3F5",
    t3: "#0E1316",
    n3: "#312A3B",
    b4: "#E583B6",
    t4: "#0E1316",
    n4: "#382431",
  },
};

/** The names of the colours of a bucket: {box, text, tint}; what is no bucket is grey. */
export function hueOf(bucket) {
  if (bucket < 0) return { box: "var(--ink3)", text: "var(--card)", tint: "var(--sunk)" };
  const q = bucket % FIVE.length;
  return { box: `var(--b${q})`, text: `var(--t${q})`, tint: `var(--n${q})` };
}

/** The pattern `ts-hatch` of a GPU that waits for the network. */
export const exposedHatch = () =>
  hatch("ts-hatch", { size: 8, width: 3.2, paper: "var(--fulltint)", ink: "var(--full)" });
