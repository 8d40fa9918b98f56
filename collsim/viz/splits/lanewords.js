// What runners on one clock say.

import { pickWords } from "../words/choice.js";
import { LANES } from "../words/lanes_by_language.js";

export const laneWords = (ui) => pickWords(LANES, ui.data?.language);
