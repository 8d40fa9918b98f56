// Writes collsim/viz/words (words.js and languages.js) from the folders of languages (`locale/<language>/js`), so that a
// further language is a folder there and `npm run build`.

import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { basename, resolve } from "node:path";

const NOTE = "// Written by scripts/words.mjs (`npm run build`) from the folders of collsim/locale; do not edit.\n";
/** Files of words that are parts of others, and in which. */
const PARTS = {
  export: ["player", "race", "simple", "step"],
  transport: ["lanes", "player", "program", "race", "rivals", "simple", "step"],
};

/** The languages that have words for JavaScript, English first. */
function listLanguages(locale) {
  const folders = readdirSync(locale, { withFileTypes: true }).filter((entry) => entry.isDirectory()),
    names = folders.map(({ name }) => name).filter((name) => existsSync(resolve(locale, name, "js")));
  return ["en", ...names.filter((name) => name !== "en").sort()];
}

/** The files of `collsim/viz/words`, by name: the words of each card in every language, English where one lacks a file. */
export function buildWordFiles(locale) {
  const languages = listLanguages(locale),
    imports = [],
    listWords = (card) =>
      languages.map((language) => {
        const isThere = existsSync(resolve(locale, language, "js", `${card}.json`));
        return `${isThere ? language : "en"}_${card}`;
      }),
    cards = readdirSync(resolve(locale, "en", "js")).map((name) => basename(name, ".json"));
  for (const language of languages)
    for (const card of cards)
      if (existsSync(resolve(locale, language, "js", `${card}.json`)))
        imports.push(
          `import ${language}_${card} from "../../locale/${language}/js/${card}.json" with { type: "json" };\n`,
        );
  const tables = cards
    .filter((card) => !(card in PARTS))
    .map((card) => {
      const parts = [card, ...Object.keys(PARTS).filter((part) => PARTS[part].includes(card))].map(listWords),
        byLanguage = languages.map((language, k) => `  ${language}: [${parts.map((part) => part[k]).join(", ")}],\n`);
      return `export const ${card.toUpperCase()} = /* @__PURE__ */ joinWords("${card}", {\n${byLanguage.join("")}});\n`;
    });
  const names = JSON.stringify(languages).replaceAll(",", ", ");
  return {
    "languages.js": `${NOTE}\nexport const LANGUAGES = ${names};\n`,
    "words.js": `${NOTE}\nimport { joinWords } from "./choice.js";\n${imports.join("")}\n${tables.join("")}`,
  };
}

export function writeWordFiles(locale, folder) {
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of Object.entries(buildWordFiles(locale))) writeFileSync(resolve(folder, name), text);
}
