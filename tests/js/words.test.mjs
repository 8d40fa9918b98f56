// The words of JavaScript: a folder for each language, and a further one needs no other change.

import assert from "node:assert/strict";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";

import { buildWordFiles, writeWordFiles } from "../../scripts/words.mjs";

const PACKAGE = fileURLToPath(new URL("../../collsim/", import.meta.url));
const WORDS = join(PACKAGE, "viz", "words");

test("what is committed in viz/words is what the folders of languages make", () => {
  const files = buildWordFiles(join(PACKAGE, "locale"));
  assert.deepEqual(readdirSync(WORDS).sort(), ["choice.js", ...Object.keys(files)].sort());
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
    join(copy, "locale", "xx", "js", "player_words.js"),
    "export default { play: 'XX', step: (s, n) => `${n}:${s}`, charts: { links: 'LX' } };\n",
  );
  writeWordFiles(join(copy, "locale"), join(copy, "viz", "words"));
  const load = (name) => import(pathToFileURL(join(copy, "viz", name)).href);
  const { PLAYER } = await load("words/player_by_language.js"),
    { chooseLanguage, pickWords } = await load("words/choice.js"),
    { LAB } = await load("words/lab_by_language.js"),
    { wordsOf } = await load("player/ui/context.js");
  const words = wordsOf({ state: { language: chooseLanguage("xx") } });
  assert.equal(words.play, "XX");
  assert.equal(words.step(1, 3), "3:1");
  assert.equal(words.charts.links, "LX");
  assert.equal(words.charts.use, PLAYER.en.charts.use);
  assert.equal(words.pause, PLAYER.en.pause);
  assert.equal(pickWords(LAB, "xx").label, LAB.en.label); // no file of it: all is English
  assert.equal(chooseLanguage("yy"), "en");
});
