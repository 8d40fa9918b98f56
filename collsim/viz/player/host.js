// Hosts: Streamlit components v2 and anywidget.

import { component } from "./mount.js";
import { createPlayer } from "./ui/player.js";

/**
 * Streamlit: data = {id, timeline, lang, theme, t, view, header}; sends the state {t, step, playing, view, speed, done,
 * why}. A call with the same id changes neither position nor playing.
 */
const streamlit = component((box, data, send) => {
  const last = {},
    kept = keptFor(nameOfRun(data));
  const player = createPlayer(box, {
    lang: data.lang,
    theme: data.theme,
    view: kept.view ?? data.view,
    t: data.t,
    node: kept.node ?? data.node,
    header: data.header,
    onState: (state, why) => {
      Object.assign(last, { sent: state.t, view: state.view });
      keep(last.id, state);
      send.state("state", { ...state, why });
    },
  });
  const leave = () => keep(last.id, player.state());
  globalThis.addEventListener("pagehide", leave);
  const destroy = () => {
    globalThis.removeEventListener("pagehide", leave);
    player.destroy();
  };
  return { update: (next) => updatePlayer(player, last, next, kept), destroy };
});

const nameOfRun = (data) => data.id ?? data.timeline?.meta?.id ?? data.timeline;

const KEPT_IN = "collsim player";

/** Where a run stands, for the same tab when it is loaded again. */
function keep(id, { t, view, node }) {
  if (typeof id !== "string") return;
  try {
    sessionStorage.setItem(KEPT_IN, JSON.stringify({ id, t, view, node, href: location.href }));
  } catch {
    // a browser without storage starts again
  }
}

/** Where the run stood before this page was loaded again; nothing after a link was followed. */
function keptFor(id) {
  if (performance.getEntriesByType?.("navigation")[0]?.type !== "reload" || keptFor.asked) return {};
  keptFor.asked = true; // once: later pages of the same tab begin as they say
  try {
    const kept = JSON.parse(sessionStorage.getItem(KEPT_IN) ?? "{}");
    return kept.id === id && kept.href === location.href ? kept : {};
  } catch {
    return {};
  }
}

function updatePlayer(player, last, data, kept) {
  const { lang, theme, header, view, t } = data,
    id = nameOfRun(data),
    fresh = !("id" in last),
    chosen = view !== last.view && view !== last.given ? { view } : {};
  if (!fresh) player.set({ lang, theme, header, ...chosen });
  if (fresh || last.id !== id) player.setTimeline(data.timeline, true, (fresh ? kept.t : null) ?? t);
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
