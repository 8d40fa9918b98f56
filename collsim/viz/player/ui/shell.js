// What every component stands in: a root with its style sheet, which follows its width and takes colours and language.

import { el } from "../draw/elements.js";
import { FONT, TOKENS } from "../model/look.js";
import { chooseLanguage } from "../../words/choice.js";
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

/** Give a root its theme and language; returns the theme's colours. `hues` are more colours, by theme. */
export function dressRoot(root, { theme, language }, hues = {}) {
  const name = theme === "dark" ? "dark" : "light",
    colors = { ...TOKENS[name], ...hues[name] };
  for (const key in colors) root.style.setProperty(`--${key}`, colors[key]);
  root.style.colorScheme = name; // of native controls, and of light-dark() in pictures that Python drew
  root.lang = chooseLanguage(language).replace("zh", "zh-CN");
  return TOKENS[name];
}
