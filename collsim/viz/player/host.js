// Hosts: Streamlit components v2 and anywidget.

import { component } from "./mount.js";
import { listenToWords } from "./pointingwords.js";
import { withPlayback } from "./playback.js";
import { createPlayer } from "./ui/player.js";

/**
 * Streamlit: data = {id, timeline, language, theme, t, view, node, header, compact, idle, hides, answerStep,
 * editing}.
 * A call with the same id changes neither the moment nor whether it plays.
 */
const streamlit = component(
  (box, { language, theme, view, t, node, header, compact, idle, hides, answerStep }, send) => {
    const onEdit = (value) => send.trigger("edit", value),
      onExport = (kind, moment) => send.trigger("export", { kind, t: moment }),
      onSkip = () => send.trigger("skip", true),
      heard = { onEdit, onExport, onSkip },
      player = createPlayer(box, {
        language,
        theme,
        view,
        t,
        node,
        header,
        compact,
        idle,
        hides,
        answerStep,
        ...heard,
      });
    let data = null,
      ready = Promise.resolve();
    const endPointing = listenToWords(document, player.light);
    return withPlayback("run", {
      clock: player.clock,
      update(next) {
        if (data?.id !== next.id) ready = player.setTimeline(next.timeline, true, next.t);
        else if (next.t != null && next.t !== data.t) player.seek(next.t);
        const isOtherView = data && next.view !== data.view;
        player.set({
          language: next.language,
          theme: next.theme,
          header: next.header,
          hides: next.hides,
          answerStep: next.answerStep ?? null,
          compact: next.compact,
          editing: next.editing ?? null,
          exports: next.exports,
          ...(isOtherView && { view: next.view }),
        });
        data = next;
        return ready;
      },
      save() {
        const { view: viewName, node: open } = player.state();
        return { view: viewName, node: open };
      },
      restore: (saved) => player.set(saved),
      destroy() {
        endPointing();
        player.destroy();
      },
    });
  },
);

/**
 * anywidget: a model with `timeline`, `language`, `theme`, `view` and `t` (a change of it seeks); `state` is written
 * back.
 */
function jupyter({ model, el: box }) {
  const player = createPlayer(box, {
    language: model.get("language"),
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
  for (const name of ["language", "theme", "view"])
    heard[`change:${name}`] = () => player.set({ [name]: model.get(name) });
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
