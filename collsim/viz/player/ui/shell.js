// What every component stands in: a root with its style sheet, which follows its width and takes colours and language.

import { el } from "../draw/elements.js";
import { FONT, TOKENS } from "../model/look.js";
import { chooseLanguage, pickWords } from "../../words/choice.js";
import shellSheet from "./shell.css" with { type: "text" };

/**
 * Put a root into `host`, around `parts`: {root, remove()}. `css` are style sheets, in which `&` is the root.
 * `arrange()` is called whenever its size has changed, and `isFocusable` roots take the keyboard.
 */
export function createShell(host, { className, css, arrange, isFocusable = false }, ...parts) {
  const rules = [shellSheet, ...css].join("\n").replaceAll("&", `.${className}`),
    style = el("style", rules),
    root = el("div", { className, role: "group" }, style, ...parts);
  root.style.setProperty("--font", FONT);
  if (isFocusable) root.tabIndex = 0;
  host.append(root);
  const observer = typeof ResizeObserver === "function" ? new ResizeObserver(() => arrange()) : null;
  observer?.observe(root);
  return {
    root,
    remove() {
      observer?.disconnect();
      root.remove();
    },
  };
}

/**
 * Mount a picture that is drawn anew from its data: {root, ui, update(data), destroy()}. The functions of `card` get
 * `ui` = {root, data, words, colors, arrange()}:
 *   className, css, isFocusable, hues    of the root; more colours by theme
 *   words                  by language, with a `label` of the root
 *   build(ui)              once: the elements of the root
 *   dress(ui, before)      at every update: what depends on the data, before which there were others
 *   arrange(ui, width)     after that, and at another width
 */
export function createCard(host, card) {
  /** @type {any} */
  const ui = { data: null },
    { root, remove } = createShell(host, { ...card, arrange: () => arrange(false) });
  function arrange(isAnew = true) {
    const width = root.clientWidth;
    if (!ui.data || !width || (!isAnew && ui.rootWidth === width)) return;
    ui.rootWidth = width;
    card.arrange(ui, width);
  }
  Object.assign(ui, { root, arrange });
  root.append(...card.build(ui));
  const update = (data) => {
    const before = ui.data,
      words = pickWords(card.words, data.language);
    Object.assign(ui, { data, words, colors: dressRoot(root, data, card.hues) });
    root.setAttribute("aria-label", words.label);
    card.dress(ui, before);
    arrange();
  };
  return { root, ui, update, destroy: remove };
}

/** Give a root its theme and language; returns the theme's colours. `hues` are more colours, by theme. */
export function dressRoot(root, { theme, language }, hues = {}) {
  const name = theme === "dark" ? "dark" : "light",
    colors = { ...TOKENS[name], ...hues[name] };
  for (const key in colors) root.style.setProperty(`--${key}`, colors[key]);
  root.style.colorScheme = name; // of native controls, and of light-dark() in pictures that Python drew
  root.lang = chooseLanguage(language).replace("zh", "zh-CN");
  return TOKENS[name];
}
