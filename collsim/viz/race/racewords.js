// What a race says.

import { pickWords } from "../words/choice.js";
import { RACE } from "../words/race_by_language.js";

export const raceWords = (race) => pickWords(RACE, race.data?.language);
