// English words of lanes.

import transport from "./transport_words.js";

const listNames = (names) =>
  names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;

export default {
  ...transport,
  label: "collsim schedules on one clock",
  gpu: "GPU",
  compute: "compute",
  network: "network",
  activations: (most) => `held, of ${most}`,
  form: "formula, with the numbers of this run",
  none: "No formula holds for these numbers; what is drawn is the order, run.",
  bubble: "bubble",
  exposed: "exposed",
  position: (k) => ["1st", "2nd", "3rd"][k - 1] ?? `${k}th`,
  joint: (rank) => `joint ${rank}`,
  less: (x) => `${x} less`,
  saved: (x) => `${x} saved`,
  idle: (x, of, share) => `${x} idle of ${of} = ${share}`,
  all: (x) => `all parameters: ${x}`,
  of: (a, b) => `${a} of ${b}`,
  done: (names, t, left) => {
    const who = names.length ? `${listNames(names)} ${names.length > 1 ? "are" : "is"}` : "all are";
    return `At ${t} ${who} done${left ? `; ${left}` : ""}.`;
  },
  left: (names, x) => `${listNames(names)} ${names.length > 1 ? "need" : "needs"} ${x} more`,
  calls: (gathers, reductions) => `${gathers} gathers, ${reductions} reductions`,
  idleIn: (form) => form,
  pass: {
    F: "forward",
    B: "backward",
    I: "backward, inputs",
    W: "backward, weights",
    gather: "allgather",
    reduce: "reduce-scatter",
    copy: "copy into the buffer",
    opt: "optimizer",
  },
  box: (what, micro, where, a, b) => `${what}${micro ? ` ${micro}` : ""}, ${where}: ${a} to ${b}`,
  gap: (where, a, b, what, micro) => `${where} waits from ${a} to ${b}, until ${what} ${micro} can begin`,
  end: (where, a, b) => `${where} is done at ${a}; the others end at ${b}`,
  figure: {
    time: "time",
    idle: "idle",
    activations: "held",
    exposed: "exposed",
    busy: "network busy",
    sends: "each GPU sends",
    gathered: "gathered, most",
    both: "with gradients",
  },
  differs: (form, drawn) => `formula ${form}, drawn ${drawn}`,
  legend: {
    F: "F: forward",
    B: "B (split: I): backward, the stage before waits for it",
    W: "W: weight gradient, no stage waits for it",
    deep: "darker: the GPU's second thin stage",
    bubble: "bubble: idle",
    activations: "microbatches held, in whole stages",
    micro: "number: microbatch",
    letters: "p GPUs, m microbatches, v thin stages of a GPU; held: of GPU r = 0",
    forward: "forward",
    backward: "backward",
    waits: "computing waits",
    gather: "allgather; below: gathered weights now",
    reduce: "reduce-scatter; below: gradients not yet reduced",
    block: "number: block of the model, r: what is no block",
    bytes: "P: all parameters, r: those of no block, b: those of a block",
    opt: "optimizer",
  },
  one: "One alone",
  every: "all",
};
