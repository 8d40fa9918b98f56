// Several players side by side on one clock: what a race and a route have in common.

import { createClock } from "../player/model/clock.js";
import { createPlayer } from "../player/ui/player.js";
import { createShell, dressRoot } from "../player/ui/shell.js";
import { unpack } from "../player/model/read.js";
import { actOnKey, transportKeys } from "../player/ui/transport.js";
import { pickWords } from "../words/choice.js";

/**
 * Mount them into `host`. What stands around the players is said by `show`, whose functions get `many` = {root, clock,
 * data, cards, ...}:
 *   className, css        of the root;  words by language, where there are any
 *   timelines(data)       what is played
 *   build(many)           once: elements that stay
 *   card(many, timeline, q)   one card, put where it belongs -> {player, parts}, parts.card its element
 *   begin(many, before)   when other runs have come; before = {share, playing} of those that were shown
 *   dress(many)           words, when only they have changed;  arrange(many)  at another width;  tick(many)
 *   turn(many, by)        to the next (1) or the last (-1) moment, by a key
 *   keys(many)            further keys, where there are any
 * `update(data)` shows other runs where `data.id` is another one.
 */
export function createSeveral(host, show) {
  const shell = createShell(host, { ...show, isFocusable: true, arrange: () => show.arrange(many) }),
    { root } = shell,
    many = { show, shell, root, clock: createClock(), data: null, cards: [], ticket: 0, dead: false, off: () => {} };
  show.build(many);
  const moves = transportKeys({ root, clock: many.clock, turn: (by) => show.turn(many, by) }),
    keys = { ...moves, ...show.keys?.(many) };
  root.addEventListener("keydown", (ev) => actOnKey(ev, keys), true);
  return {
    root,
    clock: many.clock,
    update: (data) => setSeveral(many, data),
    destroy: () => destroySeveral(many),
  };
}

async function setSeveral(many, next) {
  const { show, clock, data } = many,
    mine = ++many.ticket,
    overtaken = () => mine !== many.ticket || many.dead;
  if (data && next.id === data.id) {
    many.data = next;
    dressSeveral(many);
    show.dress(many);
    return;
  }
  const timelines = await Promise.all(show.timelines(next).map(unpack));
  if (overtaken()) return;
  const before = { share: clock.total > 0 ? clock.t / clock.total : 0, playing: clock.playing };
  clock.pause();
  many.off();
  for (const { parts, player } of many.cards) {
    player.destroy();
    parts.card.remove();
  }
  many.data = next;
  many.cards = timelines.map((timeline, q) => ({ ...show.card(many, timeline, q), q, timeline }));
  await Promise.all(many.cards.map(({ player }) => player.ready));
  if (overtaken()) return;
  many.off = clock.on(() => show.tick(many));
  dressSeveral(many);
  show.begin(many, before);
}

/** Language and colours of the root and of the players. */
function dressSeveral(many) {
  const { root, data, cards } = many;
  many.colors = dressRoot(root, data);
  if (many.show.words) many.words = pickWords(many.show.words, data.language);
  for (const { player } of cards) player.set({ language: data.language, theme: data.theme });
}

function destroySeveral(many) {
  many.dead = true;
  many.ticket++;
  many.clock.pause();
  many.off();
  for (const { player } of many.cards) player.destroy();
  many.shell.remove();
}

/** A player without controls on the clock of all. */
export function playerOf({ clock, data }, stage, timeline, options) {
  return createPlayer(stage, { timeline, clock, language: data.language, theme: data.theme, compact: 300, ...options });
}

/** Cards in so many columns; the width in pixels that a stage has in one of them. */
export function inColumns(box, wide, columns) {
  box.style.gridTemplateColumns = `repeat(${columns},minmax(0,1fr))`;
  return (wide - 16 * (columns - 1)) / columns - (wide < 1340 ? 30 : 42);
}

export function setHeights(cards, height) {
  for (const { player } of cards) player.set({ compact: height });
}
