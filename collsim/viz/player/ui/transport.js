// The bar of every picture that plays: buttons, speeds, keys, and the line of time.

import { SPEEDS, changeSpeed } from "../model/clock.js";
import { el, icon, nameButton, sayBriefly, segment, setText } from "../draw/elements.js";
import { copyText } from "../export/copy.js";

const TOOLS = ["toMistake", "loop", "busy", "link", "full"];
const LEAST_DRAG = 2; // px that a pointer moves before a press is no click

/**
 * The controls of `clock`: {buttons, moves, play, time, speeds, tools, note}; a picture lays out those it needs.
 * `turn(by)` goes on (1) or back (-1) to a moment of the picture, `root` is what fills the screen, and `acts` are what
 * its buttons do instead, or what more of the tools do. Without `words` it is named later.
 */
export function createTransport({ root, clock, turn, words = undefined, acts = {} }) {
  const note = el("span.note", { role: "status" }),
    all = {
      first: () => clock.seek(0),
      back: () => turn(-1),
      play: () => togglePlay(clock),
      next: () => turn(1),
      link: () => shareMoment({ t: clock.t }, { root, words, tell: (text) => sayBriefly(note, text) }),
      full: () => toggleFullScreen(root),
      ...acts,
    },
    build = ([name, onclick]) => [name, el("button.btn", { onclick }, name !== "play" && icon(name))],
    buttons = Object.fromEntries(Object.entries(all).map(build)),
    { first, back, play, next } = buttons,
    parts = {
      ...{ buttons, play, note },
      speeds: el("span.seg.speeds", { role: "group" }),
      time: el("span.clock"),
      moves: el("span.g", first, back, play, next),
      tools: el("span.g.tools", ...TOOLS.map((name) => buttons[name])),
    };
  play.classList.add("play");
  if (words) nameTransport(parts, words);
  return parts;
}

/** Name the buttons; that of play is named by what it does now. */
export function nameTransport({ buttons }, words) {
  for (const name in buttons) if (name !== "play") nameButton(buttons[name], words[name]);
}

/** What the controls show of the clock: `time` as text, the speed, and what a click on play does now. */
export function drawTransport({ play, time, speeds }, { playing, speed, setSpeed }, words, text = "") {
  setText(time, text);
  const shownSpeed = `${words.speed} ${speed}`;
  if (speeds.shown !== shownSpeed) segment(speeds, SPEEDS, speed, setSpeed, words.speed);
  speeds.shown = shownSpeed;
  const name = playing ? words.pause : words.play;
  if (play.title === name) return;
  const label = playing ? words.pauseLabel : words.playLabel; // where the button has room for one
  nameButton(play, name);
  if (label) play.setAttribute("aria-label", label);
  play.replaceChildren(icon(playing ? "pause" : "play"), ...(label ? [el("span", label)] : []));
}

/** The moment as attributes of the root, for tests and for pages that follow it. */
export const mirrorClock = ({ root, clock }, more = {}) =>
  Object.assign(root.dataset, { t: String(Number(clock.t.toPrecision(9))), playing: String(clock.playing), ...more });

/** What keys do with a clock, for `actOnKey`. */
export const transportKeys = ({ root, clock, turn }) => ({
  ...clockKeys({ clock, turn }),
  ...speedKeys(clock),
  f: () => toggleFullScreen(root),
});

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

/**
 * What keys do with a clock, for `actOnKey`: `turn(by)` goes on (1) or back (-1); null leaves a key to the browser.
 * @param {{ clock: any, turn: (by: number) => void, toggle?: (() => void) | null }} acts
 */
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

/**
 * Call `seek(ev)` when a pointer is pressed on `box`, where `isTrack(ev)`, and while it is dragged from there. A finger
 * moves the page and not the time where `isScrolled`.
 *
 * @param {any} box an element of HTML or SVG
 * @param {(ev: PointerEvent) => void} seek
 * @param {{ isTrack?: (ev: any) => boolean, isScrolled?: boolean }} [where]
 */
export function dragTime(box, seek, { isTrack = () => true, isScrolled = false } = {}) {
  /** @type {number | null} */
  let from = null; // x of the press, NaN once it is a drag
  const follows = (ev) => !isScrolled || ev.pointerType === "mouse",
    end = () => {
      from = null;
    };
  box.addEventListener("pointerdown", (ev) => {
    if (!isTrack(ev)) return;
    from = ev.clientX;
    if (follows(ev)) box.setPointerCapture?.(ev.pointerId);
    seek(ev);
  });
  box.addEventListener("pointermove", (ev) => {
    if (from === null || !follows(ev) || Math.abs(ev.clientX - from) <= LEAST_DRAG) return;
    from = NaN;
    seek(ev);
  });
  for (const kind of ["pointerup", "pointercancel"]) box.addEventListener(kind, end);
}

/** Stop, at the next (`by` > 0) or the last of these rising moments that is `near` seconds away or more; else at an
 * end. */
export function turnTo(clock, moments, by, near) {
  clock.pause();
  const later = () => moments.find((t) => t >= clock.t + near) ?? clock.total,
    earlier = () => moments.filter((t) => t <= clock.t - near).at(-1) ?? 0;
  clock.seek(by > 0 ? later() : earlier());
}

/** Show `root` alone on the screen, or the page again. */
export function toggleFullScreen(root) {
  if (document.fullscreenElement) document.exitFullscreen?.();
  else root.requestFullscreen?.().catch(() => {});
}

/**
 * The address of a moment, into the clipboard: `tell` says so, or the address itself. `values` that are null are not in
 * it. A file, and a page that reads them there, has them behind its #.
 */
export async function shareMoment({ t, ...values }, { root, words, tell, isHash = false }) {
  const url = new URL(location.href);
  if (!/^(https?|file):/.test(url.protocol)) {
    tell(words.noLink);
    return;
  }
  const behindHash = isHash || url.protocol === "file:",
    query = behindHash ? new URLSearchParams() : url.searchParams;
  for (const [name, value] of Object.entries({ t: Number(t.toPrecision(6)), ...values })) {
    if (value == null) query.delete(name);
    else query.set(name, String(value));
  }
  if (behindHash) url.hash = String(query);
  tell((await copyText(url.href, root)) ? words.copied : url.href);
}
