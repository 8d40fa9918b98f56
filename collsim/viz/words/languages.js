// Written by scripts/words.mjs (`npm run build`) from the folders of collsim/locale; do not edit.

export const LANGUAGES = ["en", "zh"];
