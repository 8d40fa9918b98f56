// The JavaScript of the player, the race, the route, the training step, the simple page and the story
// has layers: packages import only from packages below, and no file imports itself in a circle.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { dirname, relative, resolve } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";

const VIZ = fileURLToPath(new URL("../../collsim/viz/", import.meta.url));

/** Lowest first: a package imports from itself and from packages before it. */
const PACKAGES = [
  "player/model",
  "words",
  "player/draw",
  "player/charts",
  "player/edit",
  "player/export",
  "player/ui",
  "player",
  "transport",
  "hosts",
  "race",
  "route",
  "training",
  "simple",
  "program",
  "diagnosis",
  "story",
  "splits",
  "real",
];
/** Where the words of a language are. */
const LOCALE = /^\.\.\/locale\/[a-z]+\/js\/[a-z_]+\.js$/;
/** Neighbours that do not know of one another. */
const NEIGHBOURS = PACKAGES.slice(PACKAGES.indexOf("race"));

const files = readdirSync(VIZ, { recursive: true })
  .filter((name) => name.endsWith(".js") && !name.startsWith("bundles"))
  .map((name) => name.replaceAll("\\", "/"))
  .sort();
const textOf = (file) => readFileSync(resolve(VIZ, file), "utf8");

/** Files that a file imports, below `VIZ`. */
function importsOf(file, text = textOf(file)) {
  const found = text.matchAll(/^import [^"]*"(\.[^"]+)";$/gm);
  return [...found].map(([, target]) => relative(VIZ, resolve(VIZ, dirname(file), target)).replaceAll("\\", "/"));
}

/** Imports of `[file, target]` pairs that point to a higher package, or to a neighbour. */
function upwards(pairs) {
  const level = (file) => PACKAGES.indexOf(dirname(file)); // of a language's words -1: everybody may import them
  const strange = (pair) => pair.every((file) => NEIGHBOURS.includes(dirname(file)));
  return pairs
    .filter((pair) => level(pair[1]) > level(pair[0]) || (dirname(pair[0]) !== dirname(pair[1]) && strange(pair)))
    .map(([a, b]) => `${a} imports ${b}`);
}

test("every file lies in a package, and a package imports only from packages below", () => {
  const outside = files.filter((file) => !PACKAGES.includes(dirname(file)));
  assert.deepEqual(outside, []);
  const pairs = files.flatMap((file) => importsOf(file).map((target) => [file, target]));
  assert.ok(pairs.length > 100, "imports are found");
  assert.deepEqual(
    pairs.filter(([file, target]) => !files.includes(target) && !(dirname(file) === "words" && LOCALE.test(target))),
    [],
  );
  assert.deepEqual(upwards(pairs), []);
  assert.deepEqual(upwards([["player/model/a.js", "player/draw/b.js"]]), [
    "player/model/a.js imports player/draw/b.js",
  ]);
  assert.equal(upwards([["race/a.js", "route/b.js"]]).length, 1);
});

test("no file imports itself in a circle", () => {
  let left = new Map(files.map((file) => [file, importsOf(file)]));
  for (let before = Infinity; left.size < before;) {
    before = left.size;
    left = new Map([...left].filter(([, targets]) => targets.some((target) => left.has(target))));
  }
  assert.deepEqual([...left.keys()], []);
});

test("no folder holds more than 16 files", () => {
  const full = PACKAGES.filter((folder) => files.filter((file) => dirname(file) === folder).length > 16);
  assert.deepEqual(full, []);
});
