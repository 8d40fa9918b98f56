// The card: its elements, without any data in them.

import { el, readMarkup } from "../draw/elements.js";
import { createShell } from "./shell.js";
import menuSheet from "../export/menu.css" with { type: "text" };
import cardMarkup from "./card.html" with { type: "text" };
import playerSheet from "./player.css" with { type: "text" };

/** The elements of a player by name, put together in `host`; `arrange()` is called at another width. */
export function buildCard(host, arrange) {
  const parts = readMarkup(cardMarkup),
    look = { className: "cs", css: [menuSheet, playerSheet], isFocusable: true, arrange },
    { root, remove } = createShell(host, look, parts.head, parts.card);
  root.setAttribute("aria-label", "collsim player");
  // those that are put in only where there is something to choose
  return { ...parts, root, remove, channel: el("select"), patterns: el("button.textlink") };
}
