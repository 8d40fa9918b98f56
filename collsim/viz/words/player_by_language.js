// Written by scripts/words.mjs (`npm run build`) from the folders of collsim/locale; do not edit.

import { joinLanguages } from "./choice.js";
import en from "../../locale/en/js/player_words.js";
import zh from "../../locale/zh/js/player_words.js";

export const PLAYER = /* @__PURE__ */ joinLanguages({ en, zh });
