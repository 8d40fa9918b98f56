// An offline file with one run in it. The address lets a teacher link to one moment of a saved file (#t=...&view=...),
// and an article that shows the file in a frame move it to a step (#step=7): the frame follows without loading again.

import { createPlayer } from "../player/ui/player.js";

const read = (id) => JSON.parse(document.getElementById(id).textContent);
const options = read("options");
const readHash = () => new URLSearchParams(location.hash.slice(1));
const at = readHash();
const player = createPlayer(document.getElementById("player"), {
  timeline: read("timeline"),
  header: true,
  link: "hash",
  language: at.get("lang") ?? options.language,
  theme: options.theme,
  view: at.get("view") ?? options.view,
  t: at.has("t") ? Number(at.get("t")) : options.t,
});
globalThis.player = player;

/** To the step or the moment of the address; an address without them leaves the run where it is. */
function followHash() {
  const words = readHash(),
    step = Number(words.get("step")),
    begin = player.model?.step0[step - 1] ?? (words.has("t") ? Number(words.get("t")) : null);
  if (begin == null || !Number.isFinite(begin)) return;
  player.clock.pause();
  player.clock.seek(begin);
}

globalThis.addEventListener("hashchange", followHash);
player.ready.then(() => {
  if (at.has("step")) followHash();
});
