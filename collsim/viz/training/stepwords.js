// What the card of a step says.

import { fmtBytes, fmtSpan } from "../player/model/units.js";
import { happening } from "./stepgeometry.js";
import { fill } from "../words/choice.js";

/** [bold, rest]: sentences in the language of `words`; `fmt` writes a moment. */
export function narrateStep(words, step, t, fmt) {
  const { box, waits, carries, queued } = happening(step, t),
    rest = [];
  if (carries)
    rest.push(
      fill(words.onNetwork, { name: nameTask(words, carries), bytes: fmtBytes(carries.nbytes), end: fmt(carries.end) }),
    );
  else if (t < step.time) rest.push(words.networkIdle);
  const names = queued.map((task) => nameTask(words, task)).join(words.listed);
  if (names) rest.push(fill(words.queued, { names, buckets: queued.length }));
  return [narrateLane(words, { step, t, box, waits, fmt }), rest.join(words.betweenSentences)];
}

/** What a task is called: buckets have a name in every language. */
export const nameTask = (words, { name, bucket }) =>
  name === `bucket ${bucket}` ? fill(words.bucketName, { bucket }) : name;

/** What the button of a collective is called. */
export const sayOpen = ({ open }, { name, kind, nbytes, begin, end }) =>
  fill(open, { name, kind, bytes: fmtBytes(nbytes), time: fmtSpan(end - begin) });

/** How many gradients a collective carries, and of which layers; empty where it carries none. */
export const sayGradients = (words, { tensors, from, to }) =>
  tensors ? fill(words.gradients, { gradients: tensors, layers: spanLayers(from, to) }) : "";

/** "conv1 … layer1.2", or one layer. */
export const spanLayers = (first, last) => (first === last ? first : `${first} … ${last}`);

function narrateLane(words, { step, t, box, waits, fmt }) {
  if (t >= step.time) return fill(words.ended, { time: fmt(step.time) });
  if (waits) return fill(words.laneWaits, { begin: fmt(waits[1]), end: fmt(waits[2]) });
  if (!box) return words.gpuIdle;
  if (box.kind === "forward") return fill(words.forwardUntil, { end: fmt(box.t1) });
  if (box.kind === "copy") return words.copying;
  if (box.kind === "optimizer") return words.updating;
  if (box.bucket < 0) return fill(words.backwardUnsent, { end: fmt(box.t1) });
  return fill(words.backwardReady, { bucket: box.bucket, end: fmt(box.t1) });
}
