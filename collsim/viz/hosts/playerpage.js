// An offline file with one run in it. The address (#t=...&view=...) lets a teacher link to one moment of a saved file.

import { createPlayer } from "../player/ui/player.js";

const read = (id) => JSON.parse(document.getElementById(id).textContent);
const options = read("options");
const at = new URLSearchParams(location.hash.slice(1));
globalThis.player = createPlayer(document.getElementById("player"), {
  timeline: read("timeline"),
  header: true,
  link: "hash",
  language: at.get("lang") ?? options.language,
  theme: options.theme,
  view: at.get("view") ?? options.view,
  t: at.has("t") ? Number(at.get("t")) : options.t,
});
