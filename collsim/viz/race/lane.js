// The card of one runner: its name, how loaded its busiest cable is, its stage, and why it takes as long as it does.

import { el } from "../player/draw/elements.js";
import { playerOf } from "../hosts/several.js";
import { fmtBytes } from "../player/model/units.js";
import { raceWords } from "./words.js";

export function buildLane(race, timeline) {
  const d = {
    card: el("section", { className: "lane" }),
    title: el("span"),
    pace: el("small"),
    where: el("div", { className: "where" }),
    load: el("span"),
    most: el("b"),
    meter: el("i"),
    stage: el("div", { className: "stage0" }),
    why: el("p", { className: "why" }),
  };
  d.card.append(
    el("h2", {}, d.title, d.pace),
    d.where,
    el("div", { className: "load" }, d.load, d.most),
    el("div", { className: "meter" }, d.meter),
    d.stage,
    d.why,
  );
  race.lanes.append(d.card);
  return { d, player: playerOf(race, d.stage, timeline, { view: race.data.view ?? "physical" }) };
}

export function dressLane(race, { d, q }) {
  const r = race.data.runners[q];
  d.title.textContent = r.name;
  d.where.textContent = r.note;
  d.why.textContent = r.why;
  d.load.textContent = raceWords(race).busiest;
  d.most.textContent = fmtBytes(r.busiest);
  d.meter.style.width = `${100 * r.load}%`;
  d.card.classList.toggle("hot", r.hot);
}
