// What a race of steps says.

import { pickWords } from "../words/choice.js";
import { RIVALS } from "../words/rivals.js";

export const rivalWords = (race) => pickWords(RIVALS, race.data?.language);
