// Sentences of JavaScript with one of everything: no plural stands behind a 1.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import test from "node:test";
import { fileURLToPath } from "node:url";

const FOLDER = new URL("../../collsim/locale/en/js/", import.meta.url);
/** Nouns that sentences count, as in tests/locale/test_catalogs.py. */
const TEXT = readFileSync(new URL("../locale/test_catalogs.py", import.meta.url), "utf8"),
  NOUNS = TEXT.match(/NOUNS = """\n([^"]+)"""/)[1]
    .trim()
    .split(/\s+/),
  PLURALS = new RegExp(`(?<![\\d.,–-])\\b1[ \u00a0](${NOUNS.join("|")})\\b(?!/s)`);

/** Every sentence of a table of words, its functions called with 1 for everything that they take. */
function* sentencesOf(words, path = "") {
  if (typeof words === "string") yield [path, words];
  else if (typeof words === "function") {
    let sentence;
    try {
      sentence = words(...Array(words.length).fill(1));
    } catch {
      return; // it wants more than a number: a run, a list
    }
    yield* sentencesOf(sentence, path);
  } else if (words && typeof words === "object")
    for (const [name, value] of Object.entries(words)) yield* sentencesOf(value, `${path}.${name}`);
}

for (const name of readdirSync(fileURLToPath(FOLDER)).filter((file) => file.endsWith("_words.js")))
  test(`${name}: one of a thing is in the singular`, async () => {
    const { default: words } = await import(new URL(name, FOLDER).href),
      sentences = [...sentencesOf(words)],
      wrong = sentences.filter(([, sentence]) => PLURALS.test(sentence));
    assert.ok(sentences.length);
    assert.deepEqual(wrong, []);
  });

test("a plural is found", () => {
  const wrong = [...sentencesOf({ a: { b: (n) => `all ${n} ranks` } })];
  assert.ok(PLURALS.test(wrong[0][1]));
  assert.ok(!PLURALS.test("1 rank, 1 times as fast, 1 is"));
});
