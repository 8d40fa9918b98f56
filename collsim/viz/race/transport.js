// What a person can do with a race: buttons, keys, scrubber.

import { changeSpeed } from "../player/model/clock.js";
import { togglePlay } from "../player/ui/controls.js";
import { copyText } from "../player/ui/copy.js";
import { el, icon, nameButton, svg } from "../player/draw/elements.js";
import { timeUnder } from "./finish.js";
import { actOnKey } from "../player/ui/keys.js";
import { raceWords } from "./words.js";

/** The line under the bars: {play, clock, scrub, axis, time}, the last of which holds the others. */
export function buildTransport(race) {
  const w = raceWords(race),
    { clock } = race,
    button = (name, act) => {
      const b = el("button", { type: "button", className: name === "play" ? "btn play" : "btn", onclick: act });
      nameButton(b, w[name]);
      b.append(icon(name));
      return b;
    };
  const parts = {
    play: button("play", () => togglePlay(race)),
    clock: el("span", { className: "clock" }),
    scrub: el("div", { className: "scrub", role: "slider", tabIndex: 0, "aria-label": w.time, "aria-valuemin": "0" }),
    axis: svg("svg", { "aria-hidden": "true" }),
  };
  parts.scrub.setAttribute("aria-valuemax", String(clock.total));
  parts.scrub.append(parts.axis);
  dragRace(race, parts.scrub);
  const first = button("first", () => clock.seek(0)),
    back = button("back", () => stepRace(race, -1)),
    next = button("next", () => stepRace(race, 1)),
    link = button("link", () => shareMoment(race)),
    full = button("full", () => toggleFullScreen(race));
  parts.time = el(
    "div",
    { className: "time" },
    el("div", { className: "tr" }, first, back, parts.play, next),
    parts.scrub,
    el("div", { className: "end" }, el("span", {}, link, full), parts.clock),
  );
  return parts;
}

/** To the next or the last moment at which a step of any runner begins, at least a hundredth of the race away. */
function stepRace({ clock, cards }, by) {
  const far = clock.total / 100,
    begins = cards.flatMap(({ player: { model: m } }) => (m ? [...m.step0, m.total] : [])),
    all = [0, clock.total, ...begins].sort((a, b) => a - b),
    later = () => all.find((t) => t >= clock.t + far) ?? clock.total,
    earlier = () => all.filter((t) => t <= clock.t - far).at(-1) ?? 0;
  clock.pause();
  clock.seek(by > 0 ? later() : earlier());
}

function toggleFullScreen({ root }) {
  if (document.fullscreenElement) document.exitFullscreen?.();
  else root.requestFullscreen?.().catch(() => {});
}

/** The address of this moment, into the clipboard; where that cannot be, it is shown. */
async function shareMoment(race) {
  const { clock, root, says } = race,
    url = new URL(location.href);
  url.searchParams.set("t", String(Number(clock.t.toPrecision(6))));
  says.textContent = (await copyText(url.href, root)) ? raceWords(race).copied : url.href;
  says.classList.add("seen");
  clearTimeout(says.timer);
  says.timer = setTimeout(() => says.classList.remove("seen"), 2500);
}

function dragRace(race, box) {
  let held = false;
  const follow = (ev) => race.clock.seek(timeUnder(race, box, ev)),
    letGo = () => {
      held = false;
    };
  box.addEventListener("pointerdown", (ev) => {
    held = true;
    box.setPointerCapture?.(ev.pointerId);
    follow(ev);
  });
  box.addEventListener("pointermove", (ev) => {
    if (held) follow(ev);
  });
  for (const end of ["pointerup", "pointercancel"]) box.addEventListener(end, letGo);
}

export function onRaceKey(race, ev) {
  const { clock } = race,
    on = () => stepRace(race, 1),
    back = () => stepRace(race, -1);
  actOnKey(ev, {
    " ": () => togglePlay(race),
    ArrowRight: on,
    PageDown: on,
    ArrowLeft: back,
    PageUp: back,
    Home: () => clock.seek(0),
    End: () => clock.seek(clock.total),
    f: () => toggleFullScreen(race),
    "[": () => changeSpeed(clock, -1),
    "]": () => changeSpeed(clock, 1),
  });
}
