// Lets Node read style sheets as the bundler does: a module whose default is their text. `node --import` loads it.

import { register } from "node:module";

const HOOK = `
import { readFile } from "node:fs/promises";
export async function load(url, context, next) {
  if (!url.endsWith(".css")) return next(url, context);
  const source = "export default " + JSON.stringify(await readFile(new URL(url), "utf8"));
  return { format: "module", shortCircuit: true, source };
}`;

register(`data:text/javascript,${encodeURIComponent(HOOK)}`);
