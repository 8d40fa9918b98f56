// The words of a language, English for what it lacks, and values in their places, as in `collsim/locale/__init__.py`.

import { LANGUAGES } from "./languages.js";

/** @import { Words } from "./nested.js" */

/** A value in a text: `{step}`, `{Name}` with a capital letter; `{steps:step|steps}`: the first where it is 1. */
const PLACE = /\{(\w+)(?::([^{}|]*)\|([^{}|]*))?\}/g;

const lower = (name) => name[0].toLowerCase() + name.slice(1);

/** A text with its values. */
export const fill = (template, values) =>
  template.replace(PLACE, (place, name, singular, plural) => {
    const value = values[name] ?? values[lower(name)];
    if (value == null) return place;
    if (plural !== undefined) return String(value) === "1" ? singular : plural;
    return name in values ? String(value) : String(value).charAt(0).toUpperCase() + String(value).slice(1);
  });

/**
 * The words of `card` by language, from flat catalogs ("card.figure.time"). Parts of other cards are in it as well,
 * those of the menu of files as `exports`.
 *
 * @template {any[]} T
 * @template {string} C
 * @param {C} card
 * @param {{ en: [...T] } & Record<string, any[]>} catalogs
 * @returns {Record<string, Words<T, C>> & { en: Words<T, C> }}
 */
export function joinWords(card, catalogs) {
  const entries = Object.entries(catalogs).map(([language, own]) => {
    const { export: exports, transport, [card]: words } = nest(Object.assign({}, ...catalogs.en, ...own));
    return [language, { ...transport, ...words, exports }];
  });
  return /** @type {any} */ (Object.fromEntries(entries));
}

/**
 * Flat keys ("figure.time") as objects; a bundle has them as objects already.
 *
 * @returns {Record<string, any>}
 */
export function nest(texts) {
  const root = {};
  for (const [key, text] of Object.entries(texts)) {
    const path = key.split("."),
      last = path.pop();
    let at = root;
    for (const part of path) at = at[part] ??= {};
    at[last] = text;
  }
  return root;
}

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

/** "1st", "2nd", ...: the words have `position` from 1 on, and one for all others. */
export const ordinal = ({ position }, number) => position[number] ?? fill(position.more, { position: number });
