// English words of story.

import { counted } from "./counted.js";

export default {
  sentIs: "sent = 2",
  title: "How GPUs agree on a sum",
  lead: "Seven pictures, three minutes. Every number is computed as you read.",
  hint:
    "Drag a number [n] to the left or right, or press ← and → on it: text, formula and picture follow. " +
    "The paragraph you read sets the picture's time; ↑ and ↓ go from chapter to chapter.",
  play: "Play this picture",
  pause: "Pause this picture",
  chapter: "Chapter",
  free: "γ = 0",
  buckets: (count) => counted(count, "bucket"),
  channels: (count) => counted(count, "channel"),
  names: {
    n: "Number of GPUs",
    more: "Another number of GPUs",
    far: "A larger number of GPUs",
    many: "Number of GPUs",
    size: "Bytes of the gradient",
    small: "Bytes of the gradient",
    rate: "Bandwidth of a cable, one direction",
    alpha: "Time to start a message",
    gamma: "Time to add a byte",
    channels: "Number of channels",
    bucket: "Number of buckets",
  },
  chapters: [
    {
      key: "server",
      title: "One server adds",
      text: [
        [
          0.2,
          "[n] GPUs have each computed a gradient of [size]. All of them need the sum. The obvious way: " +
            "GPU 0 collects, adds, and sends the result back.",
        ],
        [0.5, "Every cable carries [rate] each way. Through the cable of GPU 0 must pass {less} × {size}."],
        [1, "The sum goes back over the same cable. It is there after **{serverTime}**."],
      ],
    },
    {
      key: "hot-link",
      title: "The hot link",
      text: [
        [
          1,
          "GPU 0's cable carries (N − 1) × K = **{serverBytes}** in each direction, every other one " +
            "**{otherBytes}**.",
        ],
        [1, "Doubling that one cable saves **{saves}**. Doubling all the others saves {rest}."],
        [1, "With [more] it would be {moreTime}: **the time grows with N − 1**."],
      ],
    },
    {
      key: "ring",
      title: "The ring",
      text: [
        [
          0.2,
          "Cut the gradient into [n] pieces of {piece}. Each GPU sends one piece to its neighbour, which " +
            "adds its own numbers and passes the sum on.",
        ],
        [0.5, "After {less} steps every piece is complete somewhere."],
        [
          1,
          "{less} more steps copy it around. All cables work all the time: **{ringTime}** instead of " +
            "{serverTime}.",
        ],
      ],
    },
    {
      key: "volume",
      title: "How much must each GPU send?",
      formula: "volume",
      text: [
        [
          1,
          "Twice, because sums travel once to be **added** and once to be **copied**. (N − 1) of N, " +
            "because one piece stays at home each time.",
        ],
        [
          1,
          "From [n] to [far] it changes by {grows}, from {sent} to {sentFar}. It is **never more than 2 " +
            "K**, {most}, with any number of GPUs.",
        ],
      ],
    },
    {
      key: "alpha-beta",
      title: "And how long does it take?",
      formula: "time",
      text: [
        [
          1,
          "**α** is the time to start a message, in which nothing moves: [alpha]. **β** is the time of " +
            "one byte on a cable, 1/B = {beta} at [rate]. **γ** is the time to add one byte: [gamma]. " +
            "**K** is the size of the gradient: [small].",
        ],
        [1, "With [many] there are {steps} steps. Starting them takes {starting}, **{idle} of the time**."],
        [
          1,
          "Halving and doubling sends as much in {hsteps} steps: {halving}, where adding costs nothing. " +
            "Small gradients want few steps, large ones want full cables.",
        ],
      ],
    },
    {
      key: "cards",
      title: "Two machines, eight network cards",
      text: [
        [
          1,
          "Two DGX A100 hold 8 GPUs and 8 network cards each. One ring over all 16 GPUs leaves a machine " +
            "through one card: 256 MiB take {oneTime}, and seven cables are idle.",
        ],
        [
          1,
          "Each further ring is rotated by one GPU and leaves through another card. [channels]: {cards} " +
            "of 8 cards, **{cardsTime}**, {cardsFaster} times as fast as one. Same GPUs, same cables.",
        ],
      ],
    },
    {
      key: "training",
      title: "One step of training",
      text: [
        [
          0.4,
          "Gradients appear from the last layer to the first, so the sum of one bucket can travel while " +
            "the next is computed.",
        ],
        [0.8, "With [bucket] a step takes **{stepTime}**; if the sums began after the last gradient, {apart}."],
        [
          1,
          "The network costs {exposed} of the step. Many small buckets pay α again and again; " +
            "one large bucket has nothing to hide behind.",
        ],
      ],
      note: "ResNet-50, 16 images on each of 8 A100 in one PCIe machine, DDP, bfloat16; predicted, not measured.",
    },
  ],
  figure: {
    switch: "switch",
    each: (rate, share) => `${rate} each: ${share} used`,
    full: (rate, count) => (count === 1 ? `${rate}: full` : `${rate}: full, ${count} gradients share it`),
    collects: (share, size) => `has ${share} of each of ${size}`,
    gives: (share, size) => `${share} of the sum is with each of ${size}`,
    gpu: "GPU",
    like: (count) => `${count} more like these`,
    caption: "bytes on the cable of each GPU: above to GPU 0, below back",
    step: (k, all) => `step ${k} of ${all}`,
    adding: (size) => `each neighbour adds a piece of ${size}`,
    copying: (size) => `each neighbour keeps a copy of ${size}`,
    faster: (x) => `${x} times as fast`,
    sends: "MiB that one GPU sends",
    never: (size) => `2 K = ${size}: never more`,
    add: "add",
    copy: "copy",
    ring: (size) => `ring allreduce of ${size}`,
    alpha: "α: a message starts, nothing moves",
    beta: "β: bytes move",
    gamma: "γ: bytes are added",
    machine: (k) => `machine ${k}`,
    card: (count) => counted(count, "card"),
    compute: "compute",
    network: "network",
    forward: "forward",
    backward: "backward",
    update: "update",
    waits: (time) => `waits ${time}`,
    overlap: "with overlap",
    apart: "without",
  },
  after: { explore: "See it in the machine", lessons: "Go on with the lessons" },
};
