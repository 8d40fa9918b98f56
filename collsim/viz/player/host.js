// Hosts: Streamlit components v2 and anywidget.

import { component } from "./mount.js";
import { createPlayer } from "./ui/player.js";

/**
 * Streamlit: data = {id, timeline, lang, theme, t, view, header}; sends the state {t, step, playing, view, speed, done,
 * why}. A call with the same id changes neither position nor playing.
 */
const streamlit = component((box, data, send) => {
  const last = {};
  const player = createPlayer(box, {
    lang: data.lang,
    theme: data.theme,
    view: data.view,
    t: data.t,
    node: data.node,
    header: data.header,
    onState: (state, why) => {
      Object.assign(last, { sent: state.t, view: state.view });
      send.state("state", { ...state, why });
    },
  });
  return { update: (next) => updatePlayer(player, last, next), destroy: player.destroy };
});

function updatePlayer(player, last, data) {
  const { lang, theme, header, view, t } = data,
    id = data.id ?? data.timeline?.meta?.id ?? data.timeline,
    fresh = !("id" in last),
    chosen = view !== last.view && view !== last.given ? { view } : {};
  if (!fresh) player.set({ lang, theme, header, ...chosen });
  if (fresh || last.id !== id) player.setTimeline(data.timeline, true, t);
  else if (t != null && t !== last.t && t !== last.sent) player.seek(t);
  Object.assign(last, { id, t, given: view });
}

/**
 * anywidget: a model with `timeline`, `lang`, `theme`, `view` and `t` (a change of it seeks); `state` is written back.
 */
function jupyter({ model, el: box }) {
  const player = createPlayer(box, {
    lang: model.get("lang"),
    theme: model.get("theme"),
    view: model.get("view"),
    t: model.get("t"),
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
  for (const name of ["lang", "theme", "view"]) heard[`change:${name}`] = () => player.set({ [name]: model.get(name) });
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
