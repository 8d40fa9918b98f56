// The transports beside the player's own (of a race, of a step, of a race of steps): words, buttons, speeds.

import { SPEEDS } from "../player/model/clock.js";
import { el, icon, nameButton, segment } from "../player/draw/elements.js";
import { copyText } from "../player/ui/copy.js";

export const TRANSPORT_WORDS = {
  en: {
    speed: "Speed",
    play: "Play (Space)",
    pause: "Pause (Space)",
    first: "Start (Home)",
    back: "Back (←)",
    next: "Forward (→)",
    link: "Copy a link to this moment",
    copied: "Link copied",
    full: "Full screen (F)",
    time: "Time",
  },
  zh: {
    speed: "速度",
    play: "播放（空格）",
    pause: "暂停（空格）",
    first: "回到开头（Home）",
    back: "后退（←）",
    next: "前进（→）",
    link: "复制此刻的链接",
    copied: "链接已复制",
    full: "全屏（F）",
    time: "时间",
  },
};

/** A button with the icon of this name, named by the words of the same name. */
export function transportButton(words, name, act) {
  const b = el("button", { type: "button", className: name === "play" ? "btn play" : "btn", onclick: act });
  nameButton(b, words[name]);
  b.append(icon(name));
  return b;
}

/** The button `play` says and shows what a click does now. */
export function showPlaying(play, playing, words) {
  play.replaceChildren(icon(playing ? "pause" : "play"));
  nameButton(play, playing ? words.pause : words.play);
}

/** The speeds to choose from, in `box`, which draws itself again when one is chosen. */
export function chooseSpeed(box, clock, words) {
  const pick = (speed) => {
    clock.setSpeed(speed);
    chooseSpeed(box, clock, words);
  };
  segment(box, SPEEDS, clock.speed, pick, words.speed);
}

/** Stop, at the next (`by` > 0) or the last of these rising moments that is `near` seconds away or more; else at an
 * end. */
export function turnTo(clock, moments, by, near) {
  clock.pause();
  const later = () => moments.find((t) => t >= clock.t + near) ?? clock.total,
    earlier = () => moments.filter((t) => t <= clock.t - near).at(-1) ?? 0;
  clock.seek(by > 0 ? later() : earlier());
}

export function toggleFullScreen(root) {
  if (document.fullscreenElement) document.exitFullscreen?.();
  else root.requestFullscreen?.().catch(() => {});
}

/** The address of this moment, into the clipboard; what to say then: where it could not be copied, the address. */
export async function shareMoment(clock, root, words) {
  const url = new URL(location.href);
  url.searchParams.set("t", String(Number(clock.t.toPrecision(6))));
  return (await copyText(url.href, root)) ? words.copied : url.href;
}
