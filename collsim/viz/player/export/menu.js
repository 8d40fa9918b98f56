// The menu of a picture: for an article or a slide, as a file, as a frame of a page, or alone on the screen.

import { el, icon, nameButton } from "../draw/elements.js";
import { copyText } from "./copy.js";
import { download, downloadEncoded, downloadPng } from "./download.js";
import { fill } from "../../words/choice.js";

/** Files in the order of the menu. The server makes those that the picture does not make itself. */
const FILES = ["svg", "png", "gif", "mp4", "html"];
/** Ids of files that were handed over, for all bundles of the page: another mount of the same run gets them too. */
const handed = () => (globalThis.collsimFiles ??= new Set());

/**
 * The menu of `root`: {box, set(words, exports)}. `acts` are what a picture can do by itself ({picture, png,
 * slide}; `picture()` is its moment as {name, svg}), `make(kind)` asks the server for a file, `place()` is the moment
 * as the hash of an address, and `say(text)` tells the reader what was done; `page` is the name of the file of the page
 * that is made.
 */
export function createExportMenu({ root, acts, make, place, say, page = "collsim.html" }) {
  const button = el("button.btn", { "aria-haspopup": "menu" }, icon("png")),
    list = el("div.exports", { role: "menu", hidden: true }),
    box = el("span.export", button, list),
    menu = { root, button, list, acts, make, place, say, page, words: null, exports: null };
  button.onclick = () => openMenu(menu, list.hidden);
  list.addEventListener("keydown", (ev) => onMenuKey(menu, ev));
  box.addEventListener("focusout", (ev) => {
    if (!box.contains(/** @type {Node | null} */ (ev.relatedTarget))) openMenu(menu, false);
  });
  return { box, set: (words, exports) => setMenu(menu, words, exports) };
}

function setMenu(menu, words, exports) {
  const { file } = exports ?? {};
  if (file && !handed().has(file.id)) {
    handed().add(file.id);
    downloadEncoded(file);
    menu.say(fill(words.saved, { name: file.name }));
  }
  if (menu.words === words && menu.exports?.film === exports?.film) return;
  Object.assign(menu, { words, exports });
  nameButton(menu.button, words.title);
  menu.button.setAttribute("aria-expanded", String(!menu.list.hidden));
  menu.list.replaceChildren(...entriesOf(menu));
}

/** What can be had here: files only where a server makes them. */
function entriesOf(menu) {
  const { words, exports, acts, make } = menu,
    own = actsOf(acts),
    kinds = FILES.filter((kind) => own[kind] || exports),
    files = kinds.map((kind) => {
      if (own[kind]) return entry(menu, kind, own[kind]);
      const isMissing = kind === "mp4" && !exports.film;
      return entry(menu, isMissing ? "nofilm" : kind, isMissing ? null : () => order(menu, () => make(kind)));
    }),
    hasPage = exports || location.protocol === "file:"; // a page that a frame could show
  return [
    el("b", words.copyAs),
    ...files,
    ...(hasPage ? [entry(menu, "frame", () => copyFrame(menu))] : []),
    entry(menu, "slide", acts.slide),
  ];
}

/** What the picture saves by itself, by kind: its drawing as SVG, and as PNG where it has no picture of its own. */
function actsOf({ picture, png }) {
  if (!picture) return {};
  const save = (suffix, saveAs) => () => {
    const { name, svg } = picture();
    saveAs(`${name}.${suffix}`, svg);
  };
  return { svg: save("svg", download), png: png ?? save("png", downloadPng) };
}

function entry(menu, kind, act) {
  const { name, about } = menu.words.kinds[kind],
    onclick = () => {
      openMenu(menu, false);
      menu.button.focus();
      act();
    },
    label = el("span", name),
    more = el("small", about);
  return el("button", { role: "menuitem", disabled: !act, onclick }, label, more);
}

function order({ say, words }, make) {
  say(words.making);
  make();
}

/** A frame of an article at this moment: its file is the offline page, saved next to the article. */
async function copyFrame({ root, place, say, page, words }) {
  const own = location.protocol === "file:" ? decodeURIComponent(location.pathname.replace(/.*\//, "")) : page,
    src = `${encodeURIComponent(own)}#${place()}`,
    text = `<iframe src="${src}" title="collsim" style="border:0;width:100%;height:900px" allow="fullscreen"></iframe>`;
  say((await copyText(text, root)) ? fill(words.frameCopied, { name: own }) : text);
}

function openMenu({ button, list }, on) {
  if (list.hidden === !on) return;
  list.hidden = !on;
  button.setAttribute("aria-expanded", String(on));
  if (!on) return;
  list.classList.remove("above", "start");
  const { top, bottom, left } = list.getBoundingClientRect(),
    above = button.getBoundingClientRect().top;
  list.classList.toggle("above", bottom > globalThis.innerHeight && above > bottom - top);
  list.classList.toggle("start", left < 0);
  list.querySelector("button:not(:disabled)")?.focus({ preventScroll: true });
}

function onMenuKey(menu, ev) {
  const items = [...menu.list.querySelectorAll("button:not(:disabled)")],
    now = items.indexOf(ev.target),
    to = { ArrowDown: now + 1, ArrowUp: now - 1 + items.length, Home: 0, End: items.length - 1 }[ev.key];
  ev.stopPropagation(); // the keys of the picture are not meant
  if (ev.key === "Escape") {
    openMenu(menu, false);
    menu.button.focus();
  } else if (to == null) return;
  else items[to % items.length].focus();
  ev.preventDefault();
}
