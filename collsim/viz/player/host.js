// Hosts: Streamlit components v2 and anywidget.

import { component } from "./mount.js";
import { listenToWords } from "./pointingwords.js";
import { withPlayback } from "./playback.js";
import { createPlayer } from "./ui/player.js";

/**
 * Streamlit: data = {id, timeline, t, view, node} and options of `createPlayer`. A call with the same id changes
 * neither the moment nor whether it plays.
 */
const streamlit = component((box, begin, send) => {
  const player = createPlayer(box, {
    ...begin,
    timeline: undefined, // it comes with the first update
    onEdit: (value) => send.trigger("edit", value),
    onExport: (kind, moment) => send.trigger("export", { kind, t: moment }),
    onSkip: () => send.trigger("skip", true),
  });
  /** @type {any} */
  let data = null;
  let ready = Promise.resolve();
  const endPointing = listenToWords(document, player.light);
  return withPlayback("run", {
    clock: player.clock,
    update(next) {
      if (data?.id !== next.id) ready = player.setTimeline(next.timeline, true, next.t);
      else if (next.t != null && next.t !== data.t) player.seek(next.t);
      // what a reader has opened since stays open
      player.set({ ...next, node: undefined, view: data && next.view !== data.view ? next.view : null });
      data = next;
      return ready;
    },
    save() {
      const { view, node } = player.state();
      return { view, node };
    },
    restore: (saved) => player.set(saved),
    destroy() {
      endPointing();
      player.destroy();
    },
  });
});

const LOOK = ["language", "theme", "view"];

/**
 * anywidget: a model with `timeline`, `language`, `theme`, `view` and `t` (a change of it seeks); `state` is written
 * back.
 */
function jupyter({ model, el: box }) {
  const player = createPlayer(box, {
    ...Object.fromEntries([...LOOK, "t"].map((name) => [name, model.get(name)])),
    header: true,
    onState: (state) => {
      model.set("state", state);
      model.save_changes();
    },
  });
  const heard = {
    "change:timeline": () => player.setTimeline(model.get("timeline"), true),
    "change:t": () => model.get("t") != null && player.seek(model.get("t")),
  };
  for (const name of LOOK) heard[`change:${name}`] = () => player.set({ [name]: model.get(name) });
  heard["change:timeline"]();
  for (const name in heard) model.on(name, heard[name]);
  return () => {
    for (const name in heard) model.off(name, heard[name]);
    player.destroy();
  };
}

export default function mount(arg) {
  return arg?.parentElement ? streamlit(arg) : { render: jupyter };
}
