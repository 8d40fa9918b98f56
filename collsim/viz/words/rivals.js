// Written by scripts/words.mjs (`npm run build`) from the folders of collsim/locale; do not edit.

import { joinLanguages } from "./choice.js";
import en from "../../locale/en/js/rivals.js";
import zh from "../../locale/zh/js/rivals.js";

export const RIVALS = /* @__PURE__ */ joinLanguages({ en, zh });
