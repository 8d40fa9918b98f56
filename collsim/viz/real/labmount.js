// What the pictures of the lab share: the element they stand in, its colours, language and words, and text in an SVG.

import { svg } from "../player/draw/elements.js";
import { createShell, dressRoot } from "../player/ui/shell.js";
import { pickWords } from "../words/choice.js";
import { LAB_CSS } from "./labstyle.js";

/** Put `cards` into `host`. `set(lab, data)` takes new data, `draw(lab, false)` another width. */
export function mountLab(host, lab, cards, set, draw) {
  const look = { className: "lb", css: LAB_CSS, isFocusable: lab.isFocusable },
    shell = createShell(host, { ...look, arrange: () => draw(lab, false) }, ...cards);
  lab.root = shell.root;
  return { root: shell.root, update: (data) => set(lab, data), destroy: shell.remove };
}

/** Take over data: theme, language and words; `hues` are colours beside those of the player, by theme. */
export function dressLab(lab, data, words, hues) {
  lab.data = data;
  dressRoot(lab.root, data, hues);
  lab.words = pickWords(words, data.language);
  lab.root.setAttribute("aria-label", lab.words.label);
}

export function labText(x, y, words, className = "") {
  const text = svg("text", { x, y, class: className });
  text.textContent = words;
  return text;
}
