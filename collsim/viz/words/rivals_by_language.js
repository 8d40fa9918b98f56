// Written by scripts/words.mjs (`npm run build`) from the folders of collsim/locale; do not edit.

import { joinLanguages } from "./choice.js";
import en from "../../locale/en/js/rivals_words.js";
import zh from "../../locale/zh/js/rivals_words.js";

export const RIVALS = /* @__PURE__ */ joinLanguages({ en, zh });
