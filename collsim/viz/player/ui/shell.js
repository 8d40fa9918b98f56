// What every component stands in: a root with its style sheet, which follows its width and takes colours and language.

import { el } from "../draw/elements.js";
import { FONT, TOKENS } from "../model/look.js";
import { chooseLanguage } from "../../words/choice.js";

/** The rules of every root, a selector: nothing of the page reaches in, what has the focus is seen, and alone on the
 * screen it scrolls. */
const baseCss = (root) => `
${root}{all:initial;display:block;position:relative;box-sizing:border-box;font:15px/1.4 ${FONT};color:var(--ink);
  font-variant-numeric:tabular-nums;outline:none;text-align:left}
${root}:fullscreen{background:var(--bg);padding:20px;overflow:auto}
${root} *{box-sizing:border-box}
${root} :focus-visible{outline:2px solid var(--ink);outline-offset:2px}
`;

/**
 * Put a root into `host`, around `parts`: {root, remove()}. `arrange()` is called whenever its size has changed, and
 * `isFocusable` roots take the keyboard.
 */
export function createShell(host, { className, css, arrange, isFocusable = false }, ...parts) {
  const style = el("style", { textContent: baseCss(`.${className}`) + css }),
    root = el("div", { className, role: "group" }, style, ...parts);
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

/** Give a root its theme and language; returns the theme's colours. `hues` are more colours, by theme. */
export function dressRoot(root, { theme, language }, hues = {}) {
  const name = theme === "dark" ? "dark" : "light",
    colors = { ...TOKENS[name], ...hues[name] };
  for (const key in colors) root.style.setProperty(`--${key}`, colors[key]);
  root.lang = chooseLanguage(language).replace("zh", "zh-CN");
  return TOKENS[name];
}
