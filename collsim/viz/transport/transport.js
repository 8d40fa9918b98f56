// The transports beside the player's own (of a race, of a step, of a race of steps): buttons, speeds.

import { SPEEDS } from "../player/model/clock.js";
import { el, icon, nameButton, sayBriefly, segment, setText } from "../player/draw/elements.js";
import { clockKeys, speedKeys, togglePlay } from "../player/ui/keys.js";
import { copyText } from "../player/export/copy.js";

/**
 * The controls of `clock`: {moves, play, time, speeds, tools, note}; a picture lays out those it needs. `turn(by)`
 * goes on (1) or back (-1) to a moment of the picture, `root` is what fills the screen.
 */
export function createTransport({ root, clock, words, turn }) {
  const button = (name, onclick) => {
    const box = el("button", { className: name === "play" ? "btn play" : "btn", onclick });
    nameButton(box, words[name]);
    box.append(icon(name));
    return box;
  };
  const play = button("play", () => togglePlay(clock)),
    note = el("span.note", { role: "status" });
  return {
    play,
    note,
    speeds: el("span.seg.speeds", { role: "group" }),
    time: el("span.clock"),
    moves: el(
      "span.g",
      button("first", () => clock.seek(0)),
      button("back", () => turn(-1)),
      play,
      button("next", () => turn(1)),
    ),
    tools: el(
      "span.g.tools",
      button("link", () => shareMoment({ clock, root, words, note })),
      button("full", () => toggleFullScreen(root)),
    ),
  };
}

/** What the controls show of the clock: `time` as text, the speed, and what a click on play does now. */
export function drawTransport({ play, time, speeds }, { playing, speed, setSpeed }, words, text) {
  setText(time, text);
  if (speeds.shown !== speed) segment(speeds, SPEEDS, speed, setSpeed, words.speed);
  speeds.shown = speed;
  if (play.dataset.on === String(playing)) return;
  play.dataset.on = String(playing);
  play.replaceChildren(icon(playing ? "pause" : "play"));
  nameButton(play, playing ? words.pause : words.play);
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

/**
 * Call `seek(ev)` while a pointer is held down on `box`, from where `isTrack(target)`. A finger moves the page and not
 * the time where `isScrolled`.
 *
 * @param {any} box an element of HTML or SVG
 * @param {(ev: PointerEvent) => void} seek
 * @param {{ isTrack?: (target: any) => boolean, isScrolled?: boolean }} [where]
 */
export function dragTime(box, seek, { isTrack = () => true, isScrolled = false } = {}) {
  let isHeld = false;
  const follows = (ev) => !isScrolled || ev.pointerType === "mouse";
  box.addEventListener("pointerdown", (ev) => {
    isHeld = isTrack(ev.target);
    if (!isHeld) return;
    if (follows(ev)) box.setPointerCapture?.(ev.pointerId);
    seek(ev);
  });
  box.addEventListener("pointermove", (ev) => {
    if (isHeld && follows(ev)) seek(ev);
  });
  for (const end of ["pointerup", "pointercancel"]) {
    box.addEventListener(end, () => {
      isHeld = false;
    });
  }
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

/** The address of this moment, into the clipboard; `note` says so for a while, or the address itself. */
async function shareMoment({ clock, root, words, note }) {
  const url = new URL(location.href);
  url.searchParams.set("t", String(Number(clock.t.toPrecision(6))));
  sayBriefly(note, (await copyText(url.href, root)) ? words.copied : url.href);
}
