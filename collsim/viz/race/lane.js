// The card of one runner: its name, how loaded its busiest cable is, its stage, and why it takes as long as it does.

import { el } from "../player/draw/elements.js";
import { playerOf } from "../hosts/several.js";
import { fmtBytes } from "../player/model/units.js";

export function buildLane(race, timeline) {
  const parts = {
    card: el("section.lane"),
    title: el("span"),
    pace: el("small"),
    where: el("div.where"),
    load: el("span"),
    most: el("b"),
    meter: el("i"),
    stage: el("div.stage0"),
    traffic: el("canvas.traffic", { role: "img" }),
    reason: el("p.reason"),
  };
  parts.card.append(
    el("h2", parts.title, parts.pace),
    parts.where,
    el("div.load", parts.load, el("div.meter", parts.meter), parts.most),
    parts.stage,
    parts.traffic,
    parts.reason,
  );
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
