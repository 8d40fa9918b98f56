// A race as an offline file.

import { followHash, openPage } from "../hosts/offline.js";
import { createRace } from "./race.js";

const { host, content, options, look } = openPage(),
  race = createRace(host);
globalThis.race = race;
race.update({ id: "race", verdict: true, ...look, t: options.t, ...content }).then(() => followHash(race.clock));
