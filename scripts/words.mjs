// Writes collsim/viz/words: for each `<card>_words.js` in collsim/locale/<language>/js a `<card>_by_language.js` with the
// words of every language that there is, so that a further language is a folder there and `npm run build`.

import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, resolve } from "node:path";

const NOTE = "// Written by scripts/words.mjs (`npm run build`) from the folders of collsim/locale; do not edit.\n";

/** The folders of languages that have words for JavaScript, English first. */
export function listLanguages(locale) {
  const folders = readdirSync(locale, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const names = folders.map((entry) => entry.name).filter((name) => readWordFiles(locale, name).length);
  return ["en", ...names.filter((name) => name !== "en").sort()];
}

/** How the files of words end; PARTS are parts of several of them, and have no files of their own. */
const SUFFIX = "_words.js";
const PARTS = ["export_words.js", "transport_words.js"];

const readWordFiles = (locale, language) => {
  const folder = resolve(locale, language, "js");
  try {
    return readdirSync(folder).filter((name) => name.endsWith(SUFFIX));
  } catch {
    return [];
  }
};

/** The files of `collsim/viz/words` that are written, by name. */
export function buildWordFiles(locale) {
  const languages = listLanguages(locale),
    files = {
      "languages.js": `${NOTE}\nexport const LANGUAGES = ${JSON.stringify(languages).replaceAll(",", ", ")};\n`,
    };
  for (const file of readWordFiles(locale, "en").filter((name) => !PARTS.includes(name))) {
    const card = basename(file, SUFFIX),
      own = languages.filter((language) => readWordFiles(locale, language).includes(file)),
      imports = own.map((language) => `import ${language} from "../../locale/${language}/js/${file}";\n`).join("");
    files[`${card}_by_language.js`] =
      `${NOTE}\nimport { joinLanguages } from "./choice.js";\n${imports}\n` +
      `export const ${card.toUpperCase()} = /* @__PURE__ */ joinLanguages({ ${own.join(", ")} });\n`;
  }
  return files;
}

/** Write them all; `choice.js` is the one file there that is edited. */
export function writeWordFiles(locale, folder) {
  mkdirSync(folder, { recursive: true });
  const files = buildWordFiles(locale);
  for (const name of readdirSync(folder)) if (name !== "choice.js" && !(name in files)) rmSync(resolve(folder, name));
  for (const [name, text] of Object.entries(files)) writeFileSync(resolve(folder, name), text);
}
