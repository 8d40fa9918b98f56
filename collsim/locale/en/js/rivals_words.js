// English words of rivals.

import transport from "./transport_words.js";

export default {
  ...transport,
  label: "collsim race of training steps",
  sends: "Its busiest GPU sends in a step",
  peak: "Held by each GPU at its peak",
  peakShort: "Held by each GPU at its peak, GiB",
  leads: "1st",
  times: (x) => `${x} ×`,
  step: "step",
  waitsFor: "GPUs wait",
  pass: { forward: "forward", backward: "backward", optimizer: "update", copy: "copies" },
  kinds: { scatter: "scatter", broadcast: "broadcast", gather: "gather", reduce: "reduce", allreduce: "allreduce" },
  nothing: "nothing on the network",
  done: "finished",
  nccl: "NCCL",
  copies: "copies",
  how: "How DataParallel copies",
  legend: {
    wait: "GPUs wait",
    bucket: "a bucket",
    copy: "copy",
    reduce: "reduce",
    weights: "weights",
    other: "optimizer, buckets, whole batch",
    gradients: "gradients",
    activations: "activations",
    server: "parameter server, in host memory",
  },
};
