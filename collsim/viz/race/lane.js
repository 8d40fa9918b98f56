// The card of one runner: its name, how loaded its busiest cable is, its stage, and why it takes as long as it does.

import { readMarkup } from "../player/draw/elements.js";
import { playerOf } from "../hosts/several.js";
import laneMarkup from "./lane.html" with { type: "text" };
import { fmtBytes } from "../player/model/units.js";

export function buildLane(race, timeline) {
  const parts = readMarkup(laneMarkup);
  race.lanes.append(parts.card);
  return { parts, player: playerOf(race, parts.stage, timeline, { view: race.data.view ?? "physical" }) };
}

export function dressLane(race, { parts, q }) {
  const r = race.data.runners[q];
  parts.title.textContent = r.name;
  parts.where.textContent = r.note;
  parts.reason.textContent = r.reason;
  parts.load.textContent = race.words.busiest;
  parts.most.textContent = fmtBytes(r.busiest);
  parts.meter.style.width = `${100 * r.load}%`;
  parts.card.classList.toggle("hot", r.hot);
}
