// What is committed in collsim/viz/bundles is what `npm run build` makes. Needs esbuild (`npm ci`), and says so without it.

import assert from "node:assert/strict";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";

const FOLDER = fileURLToPath(new URL("../../collsim/viz/bundles", import.meta.url));
const isInstalled = existsSync(fileURLToPath(new URL("../../node_modules/esbuild", import.meta.url)));

test("bundles are what their sources make", { skip: !isInstalled && "npm ci was not run" }, async () => {
  const { buildBundles } = await import("../../scripts/bundle.mjs");
  const files = await buildBundles();
  assert.deepEqual(Object.keys(files).sort(), readdirSync(FOLDER).sort());
  const stale = Object.keys(files).filter((name) => readFileSync(join(FOLDER, name), "utf8") !== files[name]);
  assert.deepEqual(stale, [], "run `npm run build` and commit what it writes");
});
