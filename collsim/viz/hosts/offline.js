// Offline pages: what Python wrote into them, and the address, by which an article that shows one in a frame moves it
// without loading it again: #step=7, or #t=0.004 (seconds).

import { findElement } from "../player/draw/elements.js";
import { bindPageKeys } from "../player/pagekeys.js";

/**
 * An offline page: where the picture goes, its document, its options, its language and theme. Keys go to the picture,
 * wherever on the page they are pressed.
 */
export function openPage() {
  const read = (id) => JSON.parse(findElement(id).textContent),
    { language, theme, ...options } = read("options"),
    isDark = matchMedia("(prefers-color-scheme: dark)").matches,
    host = findElement("player");
  bindPageKeys(host);
  return {
    host,
    content: read("timeline"),
    options: { ...options, theme },
    look: { language, theme: theme ?? (isDark ? "dark" : "light") },
  };
}

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
