// What a race of steps says.

import { pickWords } from "../words/choice.js";
import { RIVALS } from "../words/rivals_by_language.js";

export const rivalWords = (race) => pickWords(RIVALS, race.data?.language);
