// What the map of a split says.

import { pickWords } from "../words/choice.js";
import { SPLITS } from "../words/splits_by_language.js";

export const splitWords = (ui) => pickWords(SPLITS, ui.data?.language);
