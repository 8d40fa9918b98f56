// English words of race.

import { counted } from "./counted.js";
import { NB } from "../../../viz/player/model/units.js";
import exports from "./export_words.js";
import transport from "./transport_words.js";

export default {
  exports,
  ...transport,
  busiest: "Busiest cable carries",
  delivered: "bytes delivered, of all that must move",
  finish: "finish",
  busbw: "busbw",
  label: "collsim race",
  step: (s, n) => `step ${s} of ${n}`,
  position: (p) => `${p}${["th", "st", "nd", "rd"][p % 10 < 4 && (p % 100 < 11 || p % 100 > 13) ? p % 10 : 0]}`,
  of: (time, all) => `${time} of ${all}`,
  wins: (n, t) => `${n} is finished after ${t}.`,
  done: "finished",
  comma: ", ",
  value: (t, n, model) => `${t}, ${n} of ${model} finished`,
  reduce: "reduce: added on arrival; fill = share of the sum",
  copy: "copy",
  arc: "who sends to whom; solid and dashed: halves of the buffer",
  cable: "cable: width = capacity, core = bytes so far",
  used: "used:",
  wait: "landed; waits for the end of the step",
  range: [`<75${NB}%`, `75 to 95${NB}%`, `>95${NB}%`],
  sent: "sent",
  received: "received",
  out: "GB/s out",
  into: "GB/s in",
  traffic: (unit, most) => `Left sent, right received, ${unit}; dashed: in all; ruler ${most}`,
  end: (name, sent, received) => `${name}: ${sent} sent, ${received} received`,
  less: (slow, fast) => `A rank of ${slow} sends less than a rank of ${fast}, and still waits longer.`,
  same: (slow, fast) => `A rank of ${slow} sends as much as a rank of ${fast}, and waits longer.`,
  more: (slow, fast) => `A rank of ${slow} sends more than a rank of ${fast}, and waits longer.`,
  hot: (slow, rank, times, fast) =>
    `${slow}: rank ${rank} receives ${times} times as much as any rank of ${fast}, and all wait for it.`,
  gets: (rank, a, fast, b) =>
    `${counted(a, "buffer goes", "buffers go")} to rank ${rank}, ${b} to a rank of ${fast} at most.`,
  buffers: (slow, a, fast, b) =>
    `Each rank of ${slow} sends at most ${counted(a, "buffer", "buffers")}, each rank of ${fast} ${b}.`,
  meet: (name, into, out) =>
    ` But ${counted(into, "buffer goes", "buffers go")} into the ${name} and ` +
    `${counted(out, "comes", "come")} out of it:`,
  times: (slow, fast) => ` ${slow} against ${fast}.`,
};
