// A step of training as an offline file: its timeline, and the players inside its collectives.

import { followHash, openPage } from "../hosts/offline.js";
import { createStep } from "./step.js";

const { host, content: stored, options, look } = openPage();
const empty = { ghost: [], rows: [], curve: [], bucket_bytes: 0, asked: false, every: false };
let data = { id: "step", ...empty, ...look, ...stored };
const step = createStep(host, {
  act({ what, name, on }) {
    if (what === "open") data = { ...data, open: name, opened: (name && stored.inside[name]) || null };
    if (what === "every") data = { ...data, every: on };
    step.update({ ...data, t: null });
  },
});
data.opened = stored.inside[data.open] ?? null;
step.update({ ...data, t: options.t });
globalThis.step = step;
followHash(step.clock);
