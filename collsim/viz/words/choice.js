// The words of a language, and English for what it lacks.

import { LANGUAGES } from "./languages.js";

const isTable = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

function complete(english, words) {
  if (!isTable(english) || !isTable(words)) return words ?? english;
  const entries = Object.keys(english).map((key) => [key, complete(english[key], words[key])]);
  return { ...words, ...Object.fromEntries(entries) };
}

/**
 * Words by language, those that a language lacks in English.
 * @template T
 * @param {{ en: T } & Record<string, any>} tables
 * @returns {Record<string, T> & { en: T }}
 */
export const joinLanguages = (tables) =>
  /** @type {any} */ (
    Object.fromEntries(Object.entries(tables).map(([language, words]) => [language, complete(tables.en, words)]))
  );

/** The language, or English where there are no words of it. */
export const chooseLanguage = (language) => (LANGUAGES.includes(language) ? language : "en");

/**
 * The words of a language; English for one that has none.
 * @template T
 * @param {Record<string, T> & { en: T }} tables
 * @param {string | undefined} language
 * @returns {T}
 */
export const pickWords = (tables, language) => tables[chooseLanguage(language)] ?? tables.en;
