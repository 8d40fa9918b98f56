// The sentence over the picture: what every rank does in this step, and what it waits for.

import { idsOfStep } from "../player/model/order.js";
import { el } from "../player/draw/elements.js";
import { textAt } from "../player/model/read.js";
import { fmtBytes, fmtSpan } from "../player/model/units.js";
import { fill } from "../words/choice.js";

/** The sentence at a moment, as nodes. */
export function simpleSentence(simple, t, s) {
  const { model, words, language, track, asked: question } = simple;
  if (s < 0) return [];
  if (t >= model.total && model.total > 0)
    return [fill(words.done, { ranks: model.ranks, time: fmtSpan(model.total) })];
  const number = el("b", fill(words.step, { step: s + 1, steps: model.nsteps })),
    { gap } = words;
  if (question && !question.shown) return [number, gap, words.hidden];
  const sentence = track ? ringStep(simple, s) : textAt(model.tl.steps.text, s, language);
  return [number, gap, sentence];
}

/** A step of a ring: the same for every rank, over cables that differ. */
function ringStep({ model, words, pairs }, s) {
  const ids = idsOfStep(model, s),
    perRank = Math.round(ids.length / model.ranks),
    first = ids[0];
  const kinds = new Map();
  for (const i of ids) {
    const { kind, label } = pairs.get(model.src[i] * model.endpoints + model.dst[i]),
      name = words.kinds[kind] ?? label,
      known = kinds.get(name) ?? { time: 0, pairs: new Set() };
    known.time = Math.max(known.time, model.t1[i] - model.t0[i]);
    known.pairs.add(model.src[i] * model.endpoints + model.dst[i]);
    kinds.set(name, known);
  }
  const passes = words.passes[perRank === 1 ? "one" : "many"],
    what = fill(passes, { pieces: perRank, size: fmtBytes(model.bytes[first]) }) + words.gap,
    does = model.reduce[first] ? words.adds : words.copies,
    [fast, ...slow] = [...kinds].sort((a, b) => a[1].time - b[1].time),
    last = slow.at(-1),
    sentence = `${what}${does}${words.gap}${fill(words.takes, { kind: fast[0], time: fmtSpan(fast[1].time) })}`;
  if (!last) return `${sentence}${words.stop}`;
  const slower = fill(words.slower[last[1].pairs.size === 1 ? "one" : "many"], {
    count: last[1].pairs.size,
    kind: last[0],
    time: fmtSpan(last[1].time),
  });
  return `${sentence}${words.betweenClauses}${slower}${words.comma}${words.wait}`;
}
