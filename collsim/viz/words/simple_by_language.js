// Written by scripts/words.mjs (`npm run build`) from the folders of collsim/locale; do not edit.

import { joinLanguages } from "./choice.js";
import en from "../../locale/en/js/simple_words.js";
import zh from "../../locale/zh/js/simple_words.js";

export const SIMPLE = /* @__PURE__ */ joinLanguages({ en, zh });
