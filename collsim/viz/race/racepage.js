// A race as an offline file.

import { followHash, readPage } from "../hosts/offline.js";
import { createRace } from "./race.js";

const { host, content, options, look } = readPage(),
  race = createRace(host);
globalThis.race = race;
race.update({ id: "race", verdict: true, ...look, t: options.t, ...content }).then(() => followHash(race.clock));
