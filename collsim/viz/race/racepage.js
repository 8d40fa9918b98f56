// A race as an offline file.

import { followHash } from "../hosts/followhash.js";
import { createRace } from "./race.js";

const read = (id) => JSON.parse(document.getElementById(id).textContent);
const { language, theme, t } = read("options");
const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
const race = createRace(document.getElementById("player"));
globalThis.race = race;
race
  .update({ id: "race", verdict: true, language, theme: theme ?? (isDark ? "dark" : "light"), t, ...read("timeline") })
  .then(() => followHash(race.clock));
