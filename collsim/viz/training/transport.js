// What a person can do with a step: buttons, keys, and the timeline as its scrubber.

import { changeSpeed } from "../player/model/clock.js";
import { togglePlay } from "../player/ui/controls.js";
import { el } from "../player/draw/elements.js";
import { actOnKey } from "../player/ui/keys.js";
import {
  chooseSpeed,
  shareMoment,
  showPlaying,
  toggleFullScreen,
  transportButton,
  turnTo,
} from "../transport/transport.js";
import { openNamed } from "./panel.js";
import { stepWords } from "./words.js";

/** The line over the timeline. */
export function buildTransport(ui) {
  const w = stepWords(ui),
    button = (name, act) => transportButton(w, name, act);
  ui.parts = {
    play: button("play", () => togglePlay(ui)),
    clock: el("span", { className: "clock" }),
    speeds: el("span", { className: "seg speeds", role: "group" }),
    note: el("span", { className: "note", "aria-live": "polite" }),
  };
  chooseSpeed(ui.parts.speeds, ui.clock, w);
  ui.bar.replaceChildren(
    el(
      "span",
      { className: "g" },
      button("first", () => ui.clock.seek(0)),
      button("back", () => turn(ui, -1)),
      ui.parts.play,
      button("next", () => turn(ui, 1)),
    ),
    ui.parts.clock,
    ui.parts.speeds,
    el("span", { className: "sp" }),
    ui.parts.note,
    el(
      "span",
      { className: "g" },
      button("link", () => shareStep(ui)),
      button("full", () => toggleFullScreen(ui.root)),
    ),
  );
}

export function drawTransport({ parts, clock, data }) {
  const { play } = parts;
  if (play.dataset.on === String(clock.playing)) return;
  play.dataset.on = String(clock.playing);
  showPlaying(play, clock.playing, stepWords({ data }));
}

/** To the next or the last moment at which something becomes ready, begins or ends. */
function turn({ clock, moments }, by) {
  turnTo(clock, moments, by, 1e-9 * clock.total);
}

/** Open the bucket after the one that is open. */
function nextBucket(ui) {
  const names = ui.data.step.collectives.filter((c) => c.bucket >= 0).map((c) => c.name),
    next = names[(names.indexOf(ui.data.open) + 1) % names.length];
  if (next) openNamed(ui, next);
}

/** To where the chain goes on to its next part. */
function alongChain({ clock, data }) {
  const begins = data.step.chain.map(([, , t0]) => t0),
    next = begins.find((t) => t > clock.t + 1e-9 * clock.total);
  clock.pause();
  clock.seek(next ?? 0);
}

async function shareStep(ui) {
  const { note } = ui.parts;
  note.textContent = await shareMoment(ui.clock, ui.root, stepWords(ui));
  setTimeout(() => {
    note.textContent = "";
  }, 2500);
}

/** The time column is the scrubber, but for the boxes that open something. */
export function dragOver(ui) {
  let isHeld = false;
  const at = (ev) => {
    const r = ui.time.getBoundingClientRect();
    ui.clock.seek(Math.min(1, Math.max(0, (ev.clientX - r.left) / r.width)) * ui.clock.total);
  };
  ui.lanes.addEventListener("pointerdown", (ev) => {
    if (!ev.target.closest?.("svg.time") || ev.target.closest("[data-name]")) return;
    isHeld = true;
    if (ev.pointerType === "mouse") ui.lanes.setPointerCapture?.(ev.pointerId);
    at(ev);
  });
  ui.lanes.addEventListener("pointermove", (ev) => {
    if (isHeld && ev.pointerType === "mouse") at(ev);
  });
  for (const end of ["pointerup", "pointercancel"])
    ui.lanes.addEventListener(end, () => {
      isHeld = false;
    });
}

export function onStepKey(ui, ev) {
  const { clock } = ui,
    name = ev.target?.dataset?.name;
  if (name && (ev.key === "Enter" || ev.key === " ")) {
    ev.preventDefault();
    openNamed(ui, name);
    return;
  }
  actOnKey(ev, {
    " ": () => togglePlay(ui),
    ArrowRight: () => turn(ui, 1),
    ArrowLeft: () => turn(ui, -1),
    Home: () => clock.seek(0),
    End: () => clock.seek(clock.total),
    Escape: () => ui.act({ what: "open", name: "none" }),
    b: () => nextBucket(ui),
    c: () => alongChain(ui),
    f: () => toggleFullScreen(ui.root),
    w: () => ui.side.querySelector("button")?.focus(),
    "[": () => changeSpeed(clock, -1),
    "]": () => changeSpeed(clock, 1),
  });
}
