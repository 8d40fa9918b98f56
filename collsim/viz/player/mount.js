// A component of Streamlit (components v2): what the player, the race and the route are mounted by.

import { bindUnits } from "./model/units.js";
import { listenToPage } from "./pagekeys.js";

/** The root of a picture that takes keys. */
const pictureIn = (box) =>
  [...box.children].find((e) => e.getAttribute("role") === "group" && e.getAttribute("tabindex") === "0");

/** Keys of the page go to the picture in `box`, also to one that moves in later; returns what ends that. */
function listenTo(box) {
  let end = null;
  const begin = () => {
    const root = end ? null : pictureIn(box);
    if (root) end = listenToPage(root);
  };
  begin();
  const observer = new MutationObserver(begin);
  observer.observe(box, { childList: true });
  return () => {
    observer.disconnect();
    end?.();
  };
}

/**
 * The function that Streamlit calls at every run with {data, parentElement, setStateValue, setTriggerValue}.
 * `create(box, data, send)` is called once for each box and returns {update(data), destroy()}; `update` at every run.
 * `send.state(name, value)` and `send.trigger(name, value)` go to the run that came last.
 *
 * It must stay synchronous: Streamlit runs the clean-up of an overtaken async call. The generation number makes a late
 * clean-up of an old call harmless.
 */
export function component(create) {
  const mounts = new WeakMap();
  return ({ data, parentElement, setStateValue, setTriggerValue }) => {
    const s = mounts.get(parentElement) ?? { generation: 0 },
      bound = bindUnits(data ?? {});
    s.state = setStateValue;
    s.trigger = setTriggerValue;
    s.shown ??= create(parentElement, bound, {
      state: (name, value) => s.state?.(name, value),
      trigger: (name, value) => s.trigger?.(name, value),
    });
    s.deaf ??= listenTo(parentElement);
    mounts.set(parentElement, s);
    s.shown.update(bound);
    const generation = ++s.generation;
    return () => {
      if (s.generation !== generation) return;
      s.deaf();
      s.shown.destroy();
      mounts.delete(parentElement);
    };
  };
}
