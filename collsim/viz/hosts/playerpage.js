// An offline file with one run in it. The address lets a teacher link to one moment of a saved file (#t=...&view=...),
// and an article that shows the file in a frame move it to a step (#step=7): the frame follows without loading again.

import { createPlayer } from "../player/ui/player.js";
import { followHash, readHash, openPage } from "./offline.js";

const { host, content, options, look } = openPage(),
  at = readHash(),
  player = createPlayer(host, {
    timeline: content,
    header: true,
    link: "hash",
    language: at.get("lang") ?? look.language,
    theme: options.theme,
    view: at.get("view") ?? options.view,
    t: at.has("t") ? Number(at.get("t")) : options.t,
  });
globalThis.player = player;

player.ready.then(() => followHash(player.clock, (step) => player.model?.step0[step - 1]));
