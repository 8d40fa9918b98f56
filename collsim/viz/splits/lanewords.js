// What runners on one clock say.

import { pickWords } from "../words/choice.js";
import { LANES } from "../words/lanes.js";

export const laneWords = (ui) => pickWords(LANES, ui.data?.language);
