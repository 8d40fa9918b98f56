// Lets Node read style sheets and markup as the bundler does: a module whose default is their text. `node --import` loads it.

import { register } from "node:module";

const HOOK = `
import { readFile } from "node:fs/promises";
export async function load(url, context, next) {
  if (!/\\.(css|html)$/.test(url)) return next(url, context);
  const source = "export default " + JSON.stringify(await readFile(new URL(url), "utf8"));
  return { format: "module", shortCircuit: true, source };
}`;

register(`data:text/javascript,${encodeURIComponent(HOOK)}`);
