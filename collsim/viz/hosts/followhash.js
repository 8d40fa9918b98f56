// An article that shows an offline page in a frame moves it by the address of the frame, without loading it again:
// #step=7, or #t=0.004 (seconds).

export const readHash = () => new URLSearchParams(location.hash.slice(1));

/**
 * Let the clock stand where the address says, now and when it changes; `beginOf(step)` is where a step begins.
 *
 * @param {(step: number) => number | undefined} [beginOf]
 */
export function followHash(clock, beginOf = undefined) {
  const follow = () => {
    const words = readHash(),
      begin = beginOf?.(Number(words.get("step"))) ?? (words.has("t") ? Number(words.get("t")) : NaN);
    if (!Number.isFinite(begin)) return; // an address without them leaves the run where it is
    clock.pause();
    clock.seek(begin);
  };
  globalThis.addEventListener("hashchange", follow);
  follow();
}
