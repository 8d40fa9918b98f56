// What a person can do with a race: buttons, keys, scrubber.

import { el } from "../player/draw/elements.js";
import { createTransport, dragTime, turnTo } from "../player/ui/transport.js";

/** The line under the bars: the controls, and {scrub, line}, the last of which holds all of them. */
export function buildRaceLine(race) {
  const words = race.words,
    { clock, root } = race,
    parts = createTransport({ root, clock, words, turn: (by) => stepRace(race, by) }),
    look = { className: "scrub", role: "slider", tabIndex: 0, "aria-label": words.time, "aria-valuemin": "0" },
    scrub = el("div", look),
    end = el("div.end", parts.tools, parts.note, parts.time);
  scrub.setAttribute("aria-valuemax", String(clock.total));
  dragTime(scrub, (ev) => clock.seek(race.parts.chart.timeAt(ev)));
  return { ...parts, scrub, line: el("div.time", parts.moves, scrub, end) };
}

/** To the next or the last moment at which a step of any runner begins, at least a hundredth of the race away. */
export function stepRace({ clock, cards }, by) {
  const begins = cards.flatMap(({ player: { model } }) => (model ? [...model.step0, model.total] : [])),
    moments = [0, clock.total, ...begins].sort((a, b) => a - b);
  turnTo(clock, moments, by, clock.total / 100);
}
