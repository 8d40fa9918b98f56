// The cables of all network cards: from the card of each GPU in a lane of its own to the switch between the nodes, so
// that no cable crosses another. Out of a card on the outer line, into it on the inner one.

import { arrowOnLine, box, fitFont, put, stroke } from "../player/draw/canvas.js";
import { fmtRate, percent } from "../player/model/units.js";
import { fill } from "../words/choice.js";

const LANE = 13, // px from one lane to the next
  APART = 2.4, // px from the middle of a cable to each of its two lines
  EDGE = 8, // px outside of the lanes
  CARD = 18, // px that a card is deep
  SWITCH = 100, // px that the switch is wide
  REACH = 31; // px of a cable beside the switch, for a piece and an arrowhead
const SLIM = { lane: 7, apart: 1.7, edge: 5, card: 13, reach: 22 };
const WIDE = { lane: LANE, apart: APART, edge: EDGE, card: CARD, reach: REACH };

const sizesOf = (slim) => (slim ? SLIM : WIDE);
/**
 * Turned on a narrow screen, where the loop goes down.
 *
 * @param {boolean} slim
 * @param {number[]} point
 */
const turned = (slim, [first, second]) => (slim ? [second, first] : [first, second]);

/** Whether a pair of ranks of a track sends between nodes. */
export function acrossNodes({ panels }) {
  const node = new Map(panels.flatMap(({ ranks }, p) => ranks.map((rank) => [rank, p])));
  return ({ src, dst }) => node.get(src) !== node.get(dst);
}

/** Ranks that send between nodes, where those are more than one of each node: a card and a cable each. */
export function cabledRanks(track, pairs) {
  const across = [...(pairs?.values() ?? [])].filter(acrossNodes(track));
  return across.length > track.panels.length ? new Set(across.flatMap(({ src, dst }) => [src, dst])) : new Set();
}

/** Pixels across the loop that cards and lanes of a node take outside of its ranks. */
export function roomOfCables(half, slim) {
  const { lane, edge, card } = sizesOf(slim);
  return edge + half * lane + 4 + card;
}

/** Pixels along the loop between two nodes: the lanes turn beside each node, the switch is between them. */
export function gapOfCables(half, slim) {
  const { lane, reach } = sizesOf(slim);
  return (slim ? 56 : SWITCH) + 2 * (6 + half * lane + reach);
}

/**
 * The cables of `ranks` in a layout whose boxes have places: by rank {card, out, into, row, at}. `at` is where the
 * cable meets the switch; everything is along and across the loop, and turned on a narrow screen.
 */
export function placeCables(layout, ranks, { size, gap, across }) {
  const { slim } = layout,
    { lane, apart, edge, card, reach } = sizesOf(slim),
    half = Math.max(...[...layout.boxes.values()].map((place) => place.d)) + 1,
    pitch = slim ? across / 2 / (half + 0.5) : Math.min(64, (across / 2 - 54) / half),
    cables = new Map();
  for (const rank of ranks) {
    const b = layout.boxes.get(rank),
      [u0, v0, w, h] = slim ? [b.y, b.x, b.h, b.w] : [b.x, b.y, b.w, b.h],
      outward = b.side ? 1 : -1, // away from the middle of the loop
      toGap = b.p === 0 ? 1 : -1,
      from = b.p === 0 ? size : size + gap,
      turn = from + toGap * (6 + (b.d + 0.5) * lane),
      end = from + toGap * (6 + half * lane + reach),
      nth = half - 1 - b.d,
      place = (distance) => (b.side ? across - distance : distance),
      laneAt = place(edge + (nth + 0.5) * lane),
      rowAt = place((slim ? 0.5 * pitch : 17) + nth * pitch),
      cardAt = b.side ? v0 + h : v0 - card,
      cardEnd = b.side ? cardAt + card : cardAt,
      middle = u0 + w / 2;
    const line = (off) =>
      [
        [middle - off * toGap, cardEnd],
        [middle - off * toGap, laneAt + off * outward],
        [turn + off * toGap, laneAt + off * outward],
        [turn + off * toGap, rowAt + off * outward],
        [end, rowAt + off * outward],
      ].flatMap((point) => turned(slim, point));
    const [x, y] = turned(slim, [u0 + w * 0.06, cardAt]),
      [wide, tall] = turned(slim, [w * 0.88, card]);
    cables.set(rank, {
      card: { x, y, w: wide, h: tall },
      out: line(apart),
      into: reversed(line(-apart)),
      at: turned(slim, [end, rowAt]),
      toGap,
    });
  }
  const first = size + 6 + half * lane + reach,
    [x, y] = turned(slim, [first, 2]),
    [wide, tall] = turned(slim, [gap - 2 * (6 + half * lane + reach), across - 4]);
  return { cables, hub: { x, y, w: wide, h: tall } };
}

/** The same points from the other end. */
function reversed(pts) {
  const back = [];
  for (let q = pts.length - 2; q >= 0; q -= 2) back.push(pts[q], pts[q + 1]);
  return back;
}

/** From card to card: out to the switch, and on into the other card. */
export const legsOf = ({ cables }, { src, dst }) => [cables.get(src).out, cables.get(dst).into];

// ---- drawn

/** The cards, lit where the run uses them; without its cables where only some cards are used. */
export function drawCards(ctx, { colors, words, place: layout }, isLit) {
  for (const [rank, { card }] of layout.cables) {
    const ink = isLit(rank) ? colors.ink : colors.edge;
    box(ctx, card.x, card.y, card.w, card.h, 3, colors.card, ink, isLit(rank) ? 1.6 : 1);
    const px = fitFont(ctx, words.card, 12.5, Math.min(card.w, 60) - 4, false, 9);
    const [x, y] = [card.x + card.w / 2, card.y + card.h / 2 + 4];
    if (px && card.h >= 12 && card.w >= 22)
      put(ctx, words.card, x, y, px, isLit(rank) ? colors.ink : colors.ink3, { align: "center" });
  }
}

/** Both lines of the cables of lit cards, each in the colour of its use, with an arrowhead where it ends. */
export function drawCables(ctx, { colors, place: layout, asked }, isLit, classOf) {
  const { lane } = sizesOf(layout.slim),
    head = layout.slim ? 6 : 8;
  for (const [rank, { out, into }] of layout.cables) {
    const lit = isLit(rank),
      back = reversed(into),
      middle = out.map((value, q) => (value + back[q]) / 2),
      casing = asked ? colors.casing : colors[`${classOf(rank, "src")}tint`];
    if (lit) stroke(ctx, middle, lane * 0.78, casing);
    for (const [pts, end] of [
      [out, "src"],
      [into, "dst"],
    ]) {
      const color = lit && !asked ? colors[classOf(rank, end)] : colors.edge;
      stroke(ctx, pts, lit ? 2.2 : 1, color);
      if (lit) arrowOnLine(ctx, pts, head * 0.6, head, color);
    }
  }
}

/** The switch, with the receiver of what each cable brings, and in its middle what `lines` say. */
export function drawHub(ctx, { colors, place: layout }, across, lines) {
  const { hub, slim } = layout;
  box(ctx, hub.x, hub.y, hub.w, hub.h, 8, colors.card, colors.ink, 1.8);
  for (const { src, dst } of across) {
    const { at, toGap } = layout.cables.get(src),
      [x, y] = at;
    if (slim) put(ctx, String(dst), x, y + (toGap > 0 ? 13 : -5), 11, colors.ink2, { align: "center" });
    else if (toGap > 0) put(ctx, `→ ${dst}`, x + 5, y + 4.5, 12.5, colors.ink2);
    else put(ctx, `${dst} ←`, x - 5, y + 4.5, 12.5, colors.ink2, { align: "right" });
  }
  const middle = hub.y + hub.h / 2,
    pitch = slim ? 15 : 18;
  lines.forEach(([text, color, isBold], q) => {
    const px = fitFont(ctx, text, slim ? 12.5 : 14, hub.w - 8, isBold, 10),
      y = middle + (q - (lines.length - 1) / 2) * pitch + 5;
    if (px) put(ctx, text, hub.x + hub.w / 2, y, px, color, { align: "center", bold: isBold });
  });
}

/** What is said in the switch: how many cables there are, how fast, and how full. */
export function linesOfHub({ colors, words, place: layout }, pair, count, { cls, share }) {
  const used = fill(words.used[cls], { rate: fmtRate(pair.capacity), share: percent(share) }),
    ink = cls === "full" ? colors.fulltext : colors.ink,
    kind = words.kinds[pair.kind] ?? pair.label;
  if (layout.slim) return [[`${fill(words.cables, { count, kind })}${words.colon}${used}`, ink, true]];
  return [
    [kind, colors.ink, true],
    [words.hub, colors.ink, true],
    [fill(words.hubCables, { count }), ink, true],
    [used, ink, false],
    [words.eachWay, ink, false],
  ];
}
