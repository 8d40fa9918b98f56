// The sentence over the picture: what every rank does in this step, and what it waits for.

import { el } from "../player/draw/elements.js";
import { textAt } from "../player/model/read.js";
import { fmtBytes, fmtSpan } from "../player/model/units.js";

/** The sentence at a moment, as nodes. */
export function simpleSentence(simple, t, s) {
  const { m, W, lang, track, asked } = simple;
  if (s < 0) return [];
  if (t >= m.total && m.total > 0) return [W.done(m.ranks, fmtSpan(m.total))];
  const number = el("b", { textContent: W.step(s + 1, m.nsteps) }),
    gap = lang === "zh" ? "" : " ";
  if (asked && !asked.shown) return [number, gap, W.hidden];
  const said = track ? ringStep(simple, s) : textAt(m.tl.steps.text, s, lang);
  return [number, gap, said];
}

/** A step of a ring: the same for every rank, over cables that differ. */
function ringStep({ m, W, lang, pairs }, s) {
  const ids = m.byStep.id.subarray(m.byStep.start[s], m.byStep.start[s + 1]),
    perRank = Math.round(ids.length / m.ranks),
    first = ids[0];
  const kinds = new Map();
  for (const i of ids) {
    const { kind, label } = pairs.get(m.src[i] * m.endpoints + m.dst[i]),
      name = W.kinds[kind] ?? label,
      known = kinds.get(name) ?? { time: 0, ways: new Set() };
    known.time = Math.max(known.time, m.t1[i] - m.t0[i]);
    known.ways.add(m.src[i] * m.endpoints + m.dst[i]);
    kinds.set(name, known);
  }
  const what = `${W.passes(perRank, fmtBytes(m.bytes[first]))}${lang === "zh" ? "" : " "}`,
    does = m.reduce[first] ? W.adds : W.copies,
    [fast, ...slow] = [...kinds].sort((a, b) => a[1].time - b[1].time),
    last = slow.at(-1),
    gap = lang === "zh" ? "" : " ";
  if (!last) return `${what}${does}${gap}${W.takes(fast[0], fmtSpan(fast[1].time))}${lang === "zh" ? "。" : "."}`;
  const slower = W.slower(last[1].ways.size, last[0], fmtSpan(last[1].time)),
    join = lang === "zh" ? ["；", "，"] : ["; ", ", "];
  return `${what}${does}${gap}${W.takes(fast[0], fmtSpan(fast[1].time))}${join[0]}${slower}${join[1]}${W.wait}`;
}
