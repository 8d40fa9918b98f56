// Keys: what they do, and which of them are left to the browser.

import { changeSpeed } from "../model/clock.js";

/** Do what a key stands for in `acts`. What a browser, a field or a button does with a key of its own is left to it. */
export function actOnKey(ev, acts) {
  if (ev.target?.closest?.("[role=menu]")) return; // an open menu has keys of its own
  ev.stopPropagation(); // hosts bind single letters (rerun, clear cache, new cell)
  const tag = ev.target?.tagName,
    typing = ["SELECT", "INPUT", "TEXTAREA"].includes(tag),
    pressing = tag === "BUTTON" && (ev.key === " " || ev.key === "Enter");
  if (ev.ctrlKey || ev.metaKey || ev.altKey || typing || pressing) return;
  const act = acts[ev.key.length === 1 ? ev.key.toLowerCase() : ev.key];
  if (!act) return;
  ev.preventDefault();
  act();
}

/** What keys do with a clock, for `actOnKey`: `turn(by)` goes on (1) or back (-1). */
export const clockKeys = ({ clock, turn, toggle = () => togglePlay(clock) }) => ({
  " ": toggle,
  ArrowRight: () => turn(1),
  PageDown: () => turn(1),
  ArrowLeft: () => turn(-1),
  PageUp: () => turn(-1),
  Home: () => clock.seek(0),
  End: () => clock.seek(clock.total),
});

export const speedKeys = (clock) => ({ "[": () => changeSpeed(clock, -1), "]": () => changeSpeed(clock, 1) });

export const togglePlay = (clock) => (clock.playing ? clock.pause() : clock.play());
