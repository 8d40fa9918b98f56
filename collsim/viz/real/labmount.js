// What the pictures of the lab share: the element they stand in, its colours, language and words, and text in an SVG.

import { el, svg } from "../player/draw/elements.js";
import { TOKENS } from "../player/model/look.js";
import { LAB_CSS } from "./labstyle.js";

/** Put `cards` into `host`, inside `lab.root`. `set(lab, data)` takes new data, `draw(lab, false)` another width. */
export function mountLab(host, lab, cards, set, draw) {
  lab.root.append(el("style", { textContent: LAB_CSS }), ...cards);
  host.append(lab.root);
  const seen = typeof ResizeObserver === "function" ? new ResizeObserver(() => draw(lab, false)) : null;
  seen?.observe(lab.root);
  return {
    root: lab.root,
    update: (data) => set(lab, data),
    destroy() {
      seen?.disconnect();
      lab.root.remove();
    },
  };
}

/** Take over data: theme, language and words; `hues` are colours beside those of the player, by theme. */
export function dressLab(lab, data, words, hues = {}) {
  const theme = data.theme === "dark" ? "dark" : "light",
    colours = { ...TOKENS[theme], ...hues[theme] },
    zh = data.lang === "zh";
  lab.data = data;
  for (const name in colours) lab.root.style.setProperty(`--${name}`, colours[name]);
  lab.words = words[zh ? "zh" : "en"];
  lab.root.lang = zh ? "zh-CN" : "en";
  lab.root.setAttribute("aria-label", lab.words.label);
}

export function labText(x, y, words, className = "") {
  const text = svg("text", { x, y, class: className });
  text.textContent = words;
  return text;
}
