// The numbers of the story: what a reader can change, and what follows from it.

import { NB, fmtBytes, fmtRate, fmtShare, fmtSpan, three } from "../player/model/units.js";
import { fill } from "../words/choice.js";

/** The hue of each number that can be changed; what it can be comes with the data. */
export const HUES = { size: "s", small: "s", rate: "b", alpha: "a", gamma: "g", channels: "b", bucket: "s" };

/** Seconds of an algorithm on a switch: steps, bytes sent and bytes added, as the registry claims them. */
export function timeOf(data, algorithm, { n, size, alpha, rate, gamma = 0 }) {
  const { steps, share, added } = data.costs[algorithm][data.ranks.indexOf(n)];
  return { starting: steps * alpha, sending: (share * size) / rate, adding: added * size * gamma, steps };
}

export const total = ({ starting, sending, adding }) => starting + sending + adding;

/** Everything that text, formulas and figures say, from the data and the values chosen. */
export function reckon(data, v) {
  const at = (n) => data.ranks.indexOf(n),
    big = { ...v, gamma: 0 },
    server = total(timeOf(data, "server", big)),
    ring = total(timeOf(data, "ring", big)),
    sent = (n) => data.costs.ring[at(n)].share * v.size,
    parts = timeOf(data, "ring", { ...v, n: v.many, size: v.small }),
    halving = timeOf(data, "halving", { ...v, n: v.many, size: v.small, gamma: 0 }),
    cards = data.cards.channels.find(({ channels }) => channels === v.channels),
    single = data.cards.channels[0],
    step = data.training.steps[v.bucket];
  return {
    server,
    ring,
    faster: server / ring,
    more: total(timeOf(data, "server", { ...big, n: v.more })),
    bytes: data.bytes[at(v.n)],
    sent: sent(v.n),
    sentFar: sent(v.far),
    sentOf: sent,
    parts,
    halving,
    barOf: (n) => timeOf(data, "ring", { ...v, n, size: v.small }),
    cards,
    one: single,
    step,
  };
}

const percent = (share) => (Math.abs(share) < 5e-4 ? `0${NB}%` : fmtShare(share));

/** What stands between braces in a text, as it is read. */
export function spoken(v, r, words) {
  const all = total(r.parts);
  return {
    n: String(v.n),
    less: String(v.n - 1),
    size: fmtBytes(v.size),
    piece: fmtBytes(v.size / v.n),
    rate: fmtRate(v.rate),
    serverTime: fmtSpan(r.server),
    serverBytes: fmtBytes(r.bytes.server * v.size),
    otherBytes: fmtBytes(r.bytes.other * v.size),
    saves: percent(r.bytes.saves),
    rest: percent(r.bytes.rest),
    moreTime: fmtSpan(r.more),
    ringTime: fmtSpan(r.ring),
    faster: three(r.faster),
    sent: fmtBytes(r.sent),
    far: String(v.far),
    sentFar: fmtBytes(r.sentFar),
    most: fmtBytes(2 * v.size),
    grows: percent(r.sentFar / r.sent - 1),
    many: String(v.many),
    beta: fmtSpan(1 / v.rate),
    steps: String(r.parts.steps),
    starting: fmtSpan(r.parts.starting),
    sending: fmtSpan(r.parts.sending),
    adding: r.parts.adding ? fmtSpan(r.parts.adding) : "0",
    time: fmtSpan(all),
    idle: percent(r.parts.starting / all),
    hsteps: String(r.halving.steps),
    halving: fmtSpan(total(r.halving)),
    oneTime: fmtSpan(r.one.time),
    cards: String(r.cards.cards),
    cardsIdle: String(8 - r.cards.cards),
    cardsTime: fmtSpan(r.cards.time),
    cardsFaster: three(r.one.time / r.cards.time),
    stepTime: fmtSpan(r.step.time),
    apart: fmtSpan(r.step.apart),
    exposed: fmtSpan(r.step.exposed),
    buckets: fill(words.buckets, { count: r.step.buckets }),
  };
}

/** What a chip says of its value. */
export function chipText(name, value, words, data) {
  const [count, size] = [(x) => `N = ${x}`, (x) => `K = ${fmtBytes(x)}`];
  const of = {
    ...{ n: count, more: count, far: count, many: count, size, small: size },
    rate: (x) => `B = ${fmtRate(x)}`,
    alpha: (x) => `α = ${fmtSpan(x)}`,
    gamma: (x) => (x ? `γ = 1/(${fmtRate(1 / x)})` : words.free),
    channels: (x) => fill(words.channels, { count: x }),
    bucket: (x) => fill(words.buckets, { count: data.training.steps[x].buckets }),
  };
  return of[name](value);
}
