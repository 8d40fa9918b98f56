// What a person can do with a race: buttons, keys, scrubber.

import { changeSpeed } from "../player/model/clock.js";
import { togglePlay } from "../player/ui/controls.js";
import { el, svg } from "../player/draw/elements.js";
import { timeUnder } from "./finish.js";
import { actOnKey } from "../player/ui/keys.js";
import { shareMoment, toggleFullScreen, transportButton, turnTo } from "../transport/transport.js";
import { raceWords } from "./words.js";

/** The line under the bars: {play, clock, scrub, axis, time}, the last of which holds the others. */
export function buildTransport(race) {
  const w = raceWords(race),
    { clock } = race,
    button = (name, act) => transportButton(w, name, act);
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
    link = button("link", () => shareRace(race)),
    full = button("full", () => toggleFullScreen(race.root));
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
  const begins = cards.flatMap(({ player: { model: model } }) => (model ? [...model.step0, model.total] : [])),
    all = [0, clock.total, ...begins].sort((a, b) => a - b);
  turnTo(clock, all, by, clock.total / 100);
}

async function shareRace(race) {
  const { clock, root, says } = race;
  says.textContent = await shareMoment(clock, root, raceWords(race));
  says.classList.add("seen");
  clearTimeout(says.timer);
  says.timer = setTimeout(() => says.classList.remove("seen"), 2500);
}

function dragRace(race, box) {
  let isHeld = false;
  const follow = (ev) => race.clock.seek(timeUnder(race, box, ev)),
    letGo = () => {
      isHeld = false;
    };
  box.addEventListener("pointerdown", (ev) => {
    isHeld = true;
    box.setPointerCapture?.(ev.pointerId);
    follow(ev);
  });
  box.addEventListener("pointermove", (ev) => {
    if (isHeld) follow(ev);
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
    f: () => toggleFullScreen(race.root),
    "[": () => changeSpeed(clock, -1),
    "]": () => changeSpeed(clock, 1),
  });
}
