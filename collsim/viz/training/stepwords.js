// What the card of a step says.

import { fmtBytes } from "../player/model/units.js";
import { happening } from "./stepgeometry.js";

/** [bold, rest]: sentences in the language of `words`; `fmt` writes a moment. */
export function narrateStep(words, step, t, fmt) {
  const { box, waits, carries, queued } = happening(step, t),
    rest = [];
  if (carries) rest.push(words.onNetwork(carries.name, fmtBytes(carries.nbytes), fmt(carries.end)));
  else if (t < step.time) rest.push(words.networkIdle);
  if (queued.length) rest.push(words.queued(queued.map((task) => task.name)));
  return [narrateLane(words, { step, t, box, waits, fmt }), rest.join(words.betweenSentences)];
}

function narrateLane(words, { step, t, box, waits, fmt }) {
  if (t >= step.time) return words.ended(fmt(step.time));
  if (waits) return words.laneWaits(fmt(waits[1]), fmt(waits[2]));
  if (!box) return words.gpuIdle;
  if (box.kind === "forward") return words.forwardUntil(fmt(box.t1));
  if (box.kind === "copy") return words.copying;
  if (box.kind === "optimizer") return words.updating;
  if (box.bucket < 0) return words.backwardUnsent(fmt(box.t1));
  return words.backwardReady(box.bucket, fmt(box.t1));
}
