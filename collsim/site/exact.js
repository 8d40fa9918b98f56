// The time of a run on one switch, from the coefficients that site/coefficients.py has counted: the same numbers as
// those of the lockstep engine.

/** Bytes of an element: float32. */
const ITEM = 4;

/**
 * Bytes of each chunk of a buffer: whole elements, the larger chunks first; the last element may be a part of one.
 * @param {number} nbytes
 * @param {number} chunks
 */
export function chunkBytes(nbytes, chunks) {
  const elements = Math.ceil(nbytes / ITEM);
  const each = Math.floor(elements / chunks),
    more = elements % chunks;
  const sizes = Array.from({ length: chunks }, (_, k) => (each + (k < more ? 1 : 0)) * ITEM);
  const last = sizes.findLastIndex((size) => size > 0);
  if (last >= 0) sizes[last] -= elements * ITEM - nbytes;
  return sizes;
}

/** @param {number[][]} loads @param {number[]} sizes */
const largest = (loads, sizes) =>
  loads.reduce(
    (most, load) =>
      Math.max(
        most,
        load.reduce((sum, chunk) => sum + sizes[chunk], 0),
      ),
    0,
  );

/**
 * @param {{ chunks: number, factor: number, steps: { times: number, first: number[][], others: number[][] }[] }} run
 * @param {{ nbytes: number, alpha: number, bandwidth: number, first?: number }} choice bytes, s of a cable, B/s of a
 *     cable, and of the cable of rank 0 where that is another
 * @returns {{ time: number, algbw: number, busbw: number, steps: number }} s, B/s, B/s
 */
export function timeRun(run, { nbytes, alpha, bandwidth, first = bandwidth }) {
  const sizes = chunkBytes(nbytes, run.chunks);
  let time = 0,
    steps = 0;
  for (const step of run.steps) {
    const busiest = Math.max(largest(step.first, sizes) / first, largest(step.others, sizes) / bandwidth);
    time += step.times * (2 * alpha + busiest);
    steps += step.times;
  }
  const algbw = nbytes / time;
  return { time, algbw, busbw: algbw * run.factor, steps };
}
