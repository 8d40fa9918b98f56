// A component of Streamlit (components v2): what the player, the race and the route are mounted by.

import { bindUnits } from "./model/units.js";
import { bindPageKeys } from "./pagekeys.js";

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
    s.deaf ??= bindPageKeys(parentElement);
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
