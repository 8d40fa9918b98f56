// The words of JavaScript: a folder for each language, and a further one needs no other change.

import assert from "node:assert/strict";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";

import { fill, ordinal } from "../../collsim/viz/words/choice.js";
import * as words from "../../collsim/viz/words/words.js";
import { buildWordFiles, writeWordFiles } from "../../scripts/words.mjs";

const { RACE } = words;
/** Tables whose entries the data name. */
const BY_DATA = /position|kinds|strategies|switches|whole|text$|pass$|box$|chapters|head$/;

const PACKAGE = fileURLToPath(new URL("../../collsim/", import.meta.url));
const WORDS = join(PACKAGE, "viz", "words");

test("values stand in their places, capitals and choices of words as in Python", () => {
  assert.equal(fill("{Name} has {n} {n:step|steps}", { name: "bucket 3", n: 1 }), "Bucket 3 has 1 step");
  assert.equal(fill("{n} {n:step|steps} of {all}", { n: "1.5" }), "1.5 steps of {all}");
  assert.equal(fill("{a}", { a: "{b}", b: 1 }), "{b}");
  assert.deepEqual(
    [1, 2, 4].map((n) => ordinal(RACE.en, n)),
    ["1st", "2nd", "4th"],
  );
});

test("every word is used", () => {
  const all = readdirSync(PACKAGE, { recursive: true })
      .filter((name) => name.endsWith(".js") && !/bundles|viz.words/.test(name))
      .map((name) => readFileSync(join(PACKAGE, name), "utf8"))
      .join("\n"),
    named = new Set(all.match(/[\w-]+/g));
  const unused = Object.entries(words).flatMap(([card, tables]) => listUnused(tables.en, named, card));
  assert.deepEqual(unused, []);
});

/** Paths of words whose name stands nowhere; of words that are chosen by a kind, the kind is a matter of the data. */
function listUnused(table, named, path) {
  return Object.entries(table).flatMap(([name, value]) => {
    if (typeof value === "object") return value === null ? [] : listUnused(value, named, `${path}.${name}`);
    return named.has(name) || BY_DATA.test(path) ? [] : [`${path}.${name}`];
  });
}

test("what is committed in viz/words is what the folders of languages make", () => {
  const files = buildWordFiles(join(PACKAGE, "locale"));
  assert.deepEqual(readdirSync(WORDS).sort(), ["choice.js", "nested.d.ts", ...Object.keys(files)].sort());
  for (const [name, text] of Object.entries(files)) assert.equal(readFileSync(join(WORDS, name), "utf8"), text, name);
});

test("a third language is one more folder, and what it lacks stays English", async (t) => {
  const copy = mkdtempSync(join(tmpdir(), "collsim-words-"));
  t.after(() => rmSync(copy, { recursive: true }));
  writeFileSync(join(copy, "package.json"), '{"type": "module"}');
  for (const part of ["locale/en/js", "locale/zh/js", "viz/words", "viz/player", "display/palette.json"])
    cpSync(join(PACKAGE, part), join(copy, part), { recursive: true });
  mkdirSync(join(copy, "locale", "xx", "js"), { recursive: true });
  writeFileSync(
    join(copy, "locale", "xx", "js", "player.json"),
    JSON.stringify({ "player.play": "XX", "player.step": "{steps}:{step}", "player.charts.links": "LX" }),
  );
  writeWordFiles(join(copy, "locale"), join(copy, "viz", "words"));
  const load = (name) => import(pathToFileURL(join(copy, "viz", name)).href);
  const { LAB, PLAYER } = await load("words/words.js"),
    { chooseLanguage, pickWords } = await load("words/choice.js"),
    { wordsOf } = await load("player/ui/context.js");
  const words = wordsOf({ state: { language: chooseLanguage("xx") } });
  assert.equal(words.play, "XX");
  assert.equal(fill(words.step, { step: 1, steps: 3 }), "3:1");
  assert.equal(words.charts.links, "LX");
  assert.equal(words.charts.use, PLAYER.en.charts.use);
  assert.equal(words.pause, PLAYER.en.pause);
  assert.equal(pickWords(LAB, "xx").label, LAB.en.label); // no file of it: all is English
  assert.equal(chooseLanguage("yy"), "en");
});
