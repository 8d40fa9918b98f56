// Reading a timeline (docs/timeline.md): unpacking, what is wrong with it, texts in two languages.

import { bindUnits } from "./units.js";

export const SCHEMA = "collsim.timeline/1";

const sameMajor = (s) => typeof s === "string" && (s === SCHEMA || s.startsWith(SCHEMA + "."));

/** A timeline object from an object, a JSON string or a gzip+base64 envelope {schema, z}. */
export async function unpack(tl) {
  if (typeof tl === "string") tl = JSON.parse(tl);
  if (!tl || typeof tl.z !== "string" || !sameMajor(tl.schema)) return bindUnits(tl);
  return bindUnits(await inflate(tl.z));
}

/** What gzip and base64 have made of JSON. */
export async function inflate(text) {
  const raw = Uint8Array.from(atob(text), (c) => c.charCodeAt(0)),
    stream = new Blob([raw]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

/**
 * What is wrong with a timeline, as a text of the catalog (`player.problem`) with its values, or null. Checked before
 * anything is drawn: never a blank box.
 */
export function problem(tl) {
  const say = (key, values = {}) => ({ key, values });
  if (!tl || typeof tl !== "object") return say("missing");
  if (!sameMajor(tl.schema)) return say("schema", { schema: SCHEMA, other: JSON.stringify(tl.schema ?? null) });
  for (const key of ["meta", "stage", "devices", "links", "routes", "transfers", "steps", "state"])
    if (!tl[key] || typeof tl[key] !== "object") return say("part", { key });
  const transfers = tl.transfers,
    n = transfers.t0?.length ?? -1;
  for (const key of ["step", "src", "dst", "chunk", "into", "reduce", "bytes", "t0", "t1", "route"])
    if (!Array.isArray(transfers[key]) || transfers[key].length !== n) return say("column", { key });
  const routes = tl.routes.start.length - 1,
    links = tl.links.src.length;
  if (transfers.route.some((r) => !(r >= 0 && r < routes))) return say("route");
  return tl.routes.link.some((l) => !(l >= 0 && l < links)) ? say("link") : null;
}

/** A text of a column of texts, written as [{en, zh}, ...] or as {en: [...], zh: [...]}. */
export function textAt(column, i, language) {
  if (column == null) return "";
  if (typeof column === "string") return column;
  const text = Array.isArray(column) ? column[i] : (column[language] ?? column.en);
  if (text == null) return "";
  if (Array.isArray(text)) return String(text[i] ?? "");
  return typeof text === "object" ? String(text[language] ?? text.en ?? "") : String(text);
}

const PANEL = ["x", "y", "w", "h", "label", "note", "foot"];

/** Panels of a picture as columns. */
export const readPanels = (table) => columns(table, PANEL);

// Tables may come as columns or as a list of rows; inside they are columns.
export function columns(table, names) {
  if (!Array.isArray(table)) return { ...Object.fromEntries(names.map((k) => [k, []])), ...(table ?? {}) };
  return Object.fromEntries(names.map((k) => [k, table.map((row) => row[k])]));
}
