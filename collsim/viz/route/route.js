// collsim route: one or two machines side by side, each with one route through it, hop by hop, on one clock.
//
// Each machine is a player (player/player.js) without controls; around it stand a heading, a sentence and a table of
// hops.

import { el, icon, readMarkup } from "../player/draw/elements.js";
import routeMarkup from "./route.html" with { type: "text" };
import { stageFor } from "../player/model/inside.js";
import { component } from "../player/mount.js";
import { withPlayback } from "../player/playback.js";
import { mirrorClock, turnTo } from "../player/ui/transport.js";
import { createSeveral, inColumns, playerOf, setHeights } from "../hosts/several.js";
import routeSheet from "./route.css" with { type: "text" };

const ROUTE_SECONDS = 5;
const TENTHS = Array.from({ length: 11 }, (_, k) => k / 10); // moments that the arrow keys go to

/**
 * Mount the cards into `host`. Their data are {id, cards: [{title, word, says, foot, rows: [[number, hop, cable, rate,
 * latency, ring, hot, host]], timeline, marks}], head: [...], play, pause, label, language, theme};
 * `onPick(endpoint)` when a rank is clicked.
 */
function createRoutes(host, { onPick }) {
  return createSeveral(host, {
    className: "wy",
    css: [routeSheet],
    timelines: (data) => data.cards.map((c) => c.timeline),
    build(routes) {
      routes.pair = el("div.pair");
      routes.root.append(routes.pair);
    },
    card: (routes, timeline, q) => buildRouteCard(routes, timeline, q, onPick),
    begin: beginRoutes,
    dress: dressRoutes,
    arrange: arrangeRoutes,
    tick: drawRoutesButton,
    turn: ({ clock }, by) =>
      turnTo(
        clock,
        TENTHS.map((share) => share * clock.total),
        by,
        clock.total / 100,
      ),
  });
}

function buildRouteCard(routes, timeline, q, onPick) {
  const parts = readMarkup(routeMarkup);
  routes.pair.append(parts.card);
  const { marks } = routes.data.cards[q];
  return { parts, player: playerOf(routes, parts.stage, timeline, { view: "physical", marks, onPick }) };
}

/** The transfer over and over again; it stands at a moment at which the chunk is on its route. */
function beginRoutes(routes, { playing }) {
  const { clock } = routes;
  clock.base = clock.total / ROUTE_SECONDS;
  clock.loop = [0, clock.total];
  dressRoutes(routes);
  clock.seek(0.3 * clock.total);
  if (playing) clock.play();
}

function dressRoutes(routes) {
  const { root, data, cards, clock } = routes;
  root.setAttribute("aria-label", data.label);
  for (const { parts, q, player } of cards) {
    const { marks, title, word, says, foot, rows } = data.cards[q];
    player.set({ marks });
    parts.title.textContent = title;
    parts.word.textContent = word;
    parts.says.textContent = says;
    parts.foot.textContent = foot;
    parts.table.replaceChildren(el("tr", ...data.head.map(headCell)), ...rows.map(hopRow));
  }
  routes.button ??= el("button", { onclick: () => (clock.playing ? clock.pause() : playRoutes(clock)) });
  cards[0]?.parts.head.append(routes.button);
  root.dataset.cards = String(cards.length);
  arrangeRoutes(routes);
  drawRoutesButton(routes);
}

const numeric = (k) => ({ className: k > 2 ? "r" : "" });

const headCell = (text, k) => el("th", numeric(k), text);

/** The last two entries of a row are not shown: whether the hop limits the ring, and whether it is in host memory. */
function hopRow(row) {
  const cells = row.slice(0, -2).map((text, k) => el("td", numeric(k), k ? text : el("i", text)));
  return el("tr", { className: `${row.at(-2) ? "hot" : ""} ${row.at(-1) ? "host" : ""}` }, ...cells);
}

function playRoutes(clock) {
  clock.loop = [0, clock.total];
  clock.play();
}

function drawRoutesButton({ root, clock, data, button }) {
  const on = String(clock.playing);
  if (button && button.dataset.on !== on + data.language) {
    button.dataset.on = on + data.language;
    button.replaceChildren(icon(clock.playing ? "pause" : "play"), clock.playing ? data.pause : data.play);
  }
  mirrorClock({ root, clock });
}

function arrangeRoutes({ root, pair, cards }) {
  const wide = root.clientWidth;
  if (!wide || !cards.length) return;
  const stages = cards.map(({ timeline }) => stageFor(timeline, wide)),
    widest = Math.max(...stages.map((stage) => stage.w)),
    // too small side by side: one under the other
    columns = wide < 820 || (wide - 100) / cards.length < 0.7 * widest ? 1 : cards.length,
    room = inColumns(pair, wide, columns);
  root.classList.toggle("small", wide < 1340);
  pair.classList.toggle("two", columns > 1);
  const tall = stages.map((stage) => stage.h * Math.min(1.3, room / stage.w));
  setHeights(cards, Math.round(Math.min(520, Math.max(160, ...tall))));
}

export default component((box, _, send) =>
  withPlayback("routes", createRoutes(box, { onPick: (endpoint) => send.trigger("pick", endpoint) })),
);
