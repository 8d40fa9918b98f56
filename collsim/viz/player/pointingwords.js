// Words beside a picture that point at it: what a word names is outlined while the pointer is on it or the keyboard; a
// tap keeps it until the next one.

/**
 * Call `light(what)` with what the words of the page point at, null where none does. A word is an element with
 * `data-lights`. Returns what ends that.
 */
export function listenToWords(page, light) {
  const wordAt = (ev) => ev.target?.closest?.("[data-lights]") ?? null;
  let lit = null;
  const lightWord = (word) => {
    if (word === lit) return;
    lit = word;
    light(word ? JSON.parse(word.dataset.lights) : null);
  };
  const heard = {
    pointerover: (ev) => ev.pointerType !== "touch" && lightWord(wordAt(ev) ?? focusedWord(page)),
    focusin: (ev) => lightWord(wordAt(ev)),
    focusout: () => lightWord(null),
    pointerdown: (ev) => ev.pointerType === "touch" && lightWord(wordAt(ev)),
  };
  const end = new AbortController();
  for (const [kind, act] of Object.entries(heard)) page.addEventListener(kind, act, { signal: end.signal });
  return () => end.abort();
}

const focusedWord = (page) => page.activeElement?.closest?.("[data-lights]") ?? null;
