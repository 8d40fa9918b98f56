// The simple page before Streamlit has loaded: drawn at once from what lies in the page (`app/entry/first_frame.py`).
// When Streamlit's component stands below it, this very picture moves in there.

import { findElement } from "../player/draw/elements.js";
import { withPlayback } from "../player/playback.js";
import simplePage, { createSimple } from "./simple.js";

const LONGEST_WAIT = 20_000; // ms until the frame makes room, whatever Streamlit does

const parts = ["collsim-first", "collsim-first-run", "collsim-first-look"].map(findElement),
  [frame, run] = parts,
  themeKey = Object.keys(localStorage).find((key) => key.startsWith(`stActiveTheme-${location.pathname}-v`)),
  chosenTheme = (themeKey && localStorage.getItem(themeKey)) || "",
  isDark =
    /Dark/.test(chosenTheme) || (!/Light/.test(chosenTheme) && matchMedia("(prefers-color-scheme: dark)").matches),
  start = performance.now(),
  picture = createSimple(frame.querySelector("main")),
  component = withPlayback("run", picture);

/** @type {{ box: any, listeners: any, moved: boolean } | null} The component that waits for the picture. */
let place = null;
/** @type {HTMLElement | null} What had the keys when the frame left. */
let focused = null;
let timer = 0;

/** Whether the address asks for another run than the first page's. */
const hasChoice = () => [...new URLSearchParams(location.search).keys()].some((name) => name !== "lang");
const isVisible = (box) => box.isConnected && (box.host ?? box).clientWidth > 300;

function removeFrame() {
  if (!frame.isConnected) return;
  if (picture.root.contains(document.activeElement)) focused = /** @type {HTMLElement} */ (document.activeElement);
  for (const part of parts) part.remove();
}

function movePicture(target) {
  delete globalThis.collsimFirst;
  removeFrame();
  target.moved = true;
  target.box.append(picture.root);
  if (focused && document.activeElement === document.body) focused.focus({ preventScroll: true });
  picture.hear(target.listeners);
}

function look() {
  const other = document.querySelector(".cs-mistake,[data-testid=stException],[role=dialog]");
  if (place && isVisible(place.box) && picture.root.dataset.transfers) {
    movePicture(place);
    return;
  }
  if (other || hasChoice() || performance.now() - start > LONGEST_WAIT) removeFrame();
  if (place || frame.isConnected) timer = setTimeout(look, 50);
}

frame.classList.toggle("dark", isDark);
frame.style.colorScheme = isDark ? "dark" : "light";
performance.mark("collsim-first");
globalThis.collsimOnPage = { simple: simplePage }; // the app need not load it for its component
component.update({ ...JSON.parse(run.textContent), theme: isDark ? "dark" : "light" });
globalThis.collsimFirst = {
  moveTo(box, listeners) {
    const target = { box, listeners, moved: false };
    place = target;
    clearTimeout(timer);
    timer = setTimeout(look, 0);
    return {
      update: component.update,
      destroy() {
        if (target.moved) component.destroy();
        else if (place === target) place = null;
      },
    };
  },
};
look();
