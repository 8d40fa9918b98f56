// Hosts: Streamlit components v2 and anywidget.

import { createPlayer } from "./ui/player.js";

const MOUNTS = new WeakMap();

/**
 * Streamlit components v2. data = {id, timeline, lang, theme, t, view, header}; sends state {t, step, playing, view,
 * speed, done, why}. Must stay synchronous: Streamlit runs the clean-up of an overtaken async call. The generation
 * number makes a late clean-up of an old call harmless; a call with the same id changes neither position nor playing.
 */
function streamlit({ data, parentElement, setStateValue }) {
  data ??= {};
  let s = MOUNTS.get(parentElement);
  const fresh = !s;
  if (fresh) {
    s = { gen: 0 };
    s.player = createPlayer(parentElement, {
      lang: data.lang,
      theme: data.theme,
      view: data.view,
      t: data.t,
      header: data.header,
      onState: (state, why) => {
        s.sent = state.t;
        s.view = state.view;
        s.send?.("state", { ...state, why });
      },
    });
    MOUNTS.set(parentElement, s);
  }
  s.send = setStateValue;
  if (!fresh)
    s.player.set({
      lang: data.lang,
      theme: data.theme,
      header: data.header,
      ...(data.view !== s.view && data.view !== s.given ? { view: data.view } : {}),
    });
  s.given = data.view;
  const id = data.id ?? data.timeline?.meta?.id ?? data.timeline;
  if (fresh || s.id !== id) {
    s.id = id;
    s.player.setTimeline(data.timeline, true, data.t);
  } else if (data.t != null && data.t !== s.t && data.t !== s.sent) s.player.seek(data.t);
  s.t = data.t;
  const gen = ++s.gen;
  return () => {
    if (s.gen === gen) {
      s.player.destroy();
      MOUNTS.delete(parentElement);
    }
  };
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
