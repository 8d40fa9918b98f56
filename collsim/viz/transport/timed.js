// A card on one clock: its moments, its keys, and where it stands when other data have come.

import { createClock } from "../player/model/clock.js";
import { createCard } from "../player/ui/shell.js";
import { actOnKey, transportKeys, turnTo } from "../player/ui/transport.js";

const SECONDS = 24; // on screen at speed 1, for the longest run, unless a card says otherwise

/**
 * Mount `card` into `host`, as `createCard` does; its `ui` has {clock, moments, turn(by)} as well, and it has also:
 *   seconds, near           on screen at speed 1; share of the time within which a moment is this one
 *   total(data), moments(data, total)   seconds, and the moments to which a turn goes
 *   begin(ui, before)       other data than `before` have come: the moment to go to; undefined to stay
 *   tick(ui)                one frame;  keys(ui)  further keys;  end(ui)
 *   keeps                   what of `ui` a reader has chosen, by name: it is resumed with the moment
 */
export function createTimed(host, card) {
  const clock = createClock();
  let off = () => {};
  const { root, ui, update, destroy } = createCard(host, {
    ...{ ...card, isFocusable: true },
    build(own) {
      const turn = (by) => turnTo(clock, own.moments, by, (card.near ?? 1e-9) * clock.total);
      return card.build(Object.assign(own, { clock, moments: [], turn }));
    },
    dress(own, before) {
      const { data } = own;
      if (data.id !== before?.id) {
        const total = card.total(data);
        off();
        off = clock.on(() => card.tick(own), total, total / (card.seconds ?? SECONDS));
        own.moments = card.moments?.(data, total);
      }
      own.begin = card.begin(own, before);
      card.dress(own, before);
    },
  });
  root.addEventListener("keydown", (ev) => actOnKey(ev, { ...transportKeys(ui), ...card.keys?.(ui) }));
  return {
    ...{ root, clock, ui },
    update(data) {
      const isAsked = data.t != null && data.t !== ui.data?.t;
      update(data);
      clock.seek((isAsked ? data.t : ui.begin) ?? clock.t);
    },
    save: () => Object.fromEntries((card.keeps ?? []).map((name) => [name, ui[name]])),
    restore(saved) {
      Object.assign(ui, saved);
      ui.arrange();
    },
    destroy() {
      clock.pause();
      off();
      card.end?.(ui);
      destroy();
    },
  };
}
