// A card on one clock: its root, transport and keys, and when it is dressed and arranged anew.

import { createClock } from "../player/model/clock.js";
import { actOnKey } from "../player/ui/keys.js";
import { createShell, dressRoot } from "../player/ui/shell.js";
import { pickWords } from "../words/choice.js";
import { createTransport, transportKeys, turnTo } from "./transport.js";

const SECONDS = 24; // on screen at speed 1, for the longest run, unless a card says otherwise

/**
 * Mount `card` into `host`; its functions get `ui` = {root, clock, data, words, parts, moments, turn(by), arrange()}:
 *   className, css, hues    of the root; more colours by theme
 *   words                   by language
 *   seconds, near           on screen at speed 1; share of the time within which a moment is this one
 *   build(ui)               once: the elements of the root
 *   total(data), moments(data, total)   seconds, and the moments to which a turn goes
 *   begin(ui, before)       other data than `before` have come: the moment to go to; undefined to stay
 *   dress(ui)               words and controls (`ui.parts`), at every update;  arrange(ui, width)  at another width too
 *   tick(ui)                one frame;  keys(ui)  further keys;  end(ui)
 */
export function createTimed(host, card) {
  /** @type {any} */
  const ui = { clock: createClock(), data: null, moments: [], off() {} },
    shell = createShell(host, { ...card, isFocusable: true, arrange: () => arrange(false) }),
    { root } = shell,
    { clock } = ui;
  function arrange(isAnew = true) {
    const width = root.clientWidth;
    if (!ui.data || !width || (!isAnew && ui.rootWidth === width)) return;
    ui.rootWidth = width;
    card.arrange(ui, width);
  }
  const turn = (by) => turnTo(clock, ui.moments, by, (card.near ?? 1e-9) * clock.total);
  Object.assign(ui, { root, arrange, turn });
  root.append(...card.build(ui));
  root.addEventListener("keydown", (ev) => actOnKey(ev, { ...transportKeys(ui), ...card.keys?.(ui) }));
  return {
    ...{ root, clock, ui },
    update: (data) => takeData(ui, card, data),
    destroy() {
      clock.pause();
      ui.off();
      card.end?.(ui);
      shell.remove();
    },
  };
}

function takeData(ui, card, data) {
  const { root, clock, data: before } = ui,
    isAsked = data.t != null && data.t !== before?.t;
  ui.data = data;
  ui.words = pickWords(card.words, data.language);
  if (data.id !== before?.id) {
    const total = card.total(data);
    ui.off();
    ui.off = clock.on(() => card.tick(ui), total, total / (card.seconds ?? SECONDS));
    ui.moments = card.moments(data, total);
  }
  const begin = card.begin(ui, before);
  dressRoot(root, data, card.hues);
  root.setAttribute("aria-label", ui.words.label);
  ui.parts = createTransport(ui);
  card.dress(ui);
  ui.arrange();
  clock.seek((isAsked ? data.t : begin) ?? clock.t);
}
