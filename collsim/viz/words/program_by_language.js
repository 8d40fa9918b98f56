// Written by scripts/words.mjs (`npm run build`) from the folders of collsim/locale; do not edit.

import { joinLanguages } from "./choice.js";
import en from "../../locale/en/js/program_words.js";
import zh from "../../locale/zh/js/program_words.js";

export const PROGRAM = /* @__PURE__ */ joinLanguages({ en, zh });
