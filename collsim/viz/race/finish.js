// The scrubber of a race: an axis, a flag for every finish, a knob.

import { svg } from "../player/draw/elements.js";
import { threeDigits, timeMarks, timeUnit } from "../player/model/units.js";

const FLAG_ROOM = 14; // pixels right of the end of the axis, for the last flag

const across = ({ parts, clock }, t) => (clock.total > 0 ? t / clock.total : 0) * (parts.width - FLAG_ROOM);

export function drawFlags(race) {
  const { parts, clock } = race;
  if (!parts.axis) return;
  parts.width = parts.scrub.clientWidth;
  const bar = (width, fill) => svg("rect", { x: 0, y: 44, width, height: 7, rx: 3.5, fill });
  parts.past = bar(0, "var(--ink)");
  parts.knob = svg("circle", { cx: 0, cy: 47.5, r: 10, fill: "var(--ink)", stroke: "var(--card)", "stroke-width": 2 });
  parts.axis.replaceChildren(
    bar(across(race, clock.total), "var(--grid)"),
    ...axisMarks(race),
    ...finishFlags(race),
    parts.past,
    parts.knob,
  );
  moveKnob(race);
}

function axisText(x, y, text, { size = 13, bold = false, fill = "ink2", anchor = "middle" } = {}) {
  const look = { "font-size": size, "font-weight": bold ? 700 : 400, fill: `var(--${fill})`, "text-anchor": anchor };
  return svg("text", { x, y, ...look }, text);
}

/** Times along the axis, the first with its unit. */
function axisMarks(race) {
  const { clock, parts } = race;
  return timeMarks(clock.total, parts.width / 90).flatMap(({ t, text }) => {
    const x = across(race, t);
    return [svg("rect", { x: x - 0.5, y: 54, width: 1, height: 5, fill: "var(--edge)" }), axisText(x, 74, text)];
  });
}

const ROWS = [11, 26];

/** Where the names of finishes stand, in the order of `ends` ({x, long}, pixels): sides in turn and two rows, the first
 * place where a name covers no other one: {left, row} each. */
export function flagPlaces(ends, width) {
  const taken = [];
  return ends.map(({ x, long }, n) => {
    const first = x > long + 20 && (n % 2 === 0 || x > width - long - 30),
      sides = [first, !first].filter((left) => (left ? x > long + 20 : x < width - long - 20)),
      places = (sides.length ? sides : [first]).flatMap((left) => ROWS.map((row) => ({ left, row }))),
      span = ({ left }) => (left ? [x - long - 24, x] : [x, x + long + 24]),
      free = (at) => taken.every((t) => t.row !== at.row || t.to <= span(at)[0] || t.from >= span(at)[1]),
      at = places.find(free) ?? places[n % places.length],
      [from, to] = span(at);
    taken.push({ row: at.row, from, to });
    return at;
  });
}

/** Pixels that a name needs at most; Chinese characters are as wide as they are high. */
export const roomOf = (text) => [...text].reduce((room, c) => room + (c >= "\u2e80" ? 14 : 8), 0);

/** A flag where each runner ends, with its name. */
function finishFlags(race) {
  const { cards, clock, data, parts } = race,
    unit = timeUnit(clock.total),
    order = cards.filter((r) => r.player.model).sort((a, b) => a.player.model.total - b.player.model.total),
    ends = order.map(({ player: { model }, q }) => {
      const text = `${data.runners[q].name} ${threeDigits(model.total * unit.f)}`;
      return { x: across(race, model.total), text, long: roomOf(text) };
    }),
    places = flagPlaces(ends, parts.width);
  return ends.flatMap(({ x, text }, n) => {
    const { left, row } = places[n],
      look = { bold: true, fill: "ink", anchor: left ? "end" : "start", size: 13.5 };
    return [...flag(x, row, left), axisText(left ? x - 22 : x + 22, row + 2, text, look)];
  });
}

/** A pole and a cloth of four by two squares. */
function flag(x, row, left) {
  const pole = svg("rect", { x: x - 0.75, y: row - 8, width: 1.5, height: 60 - row, fill: "var(--ink)" });
  const squares = Array.from({ length: 8 }, (_, c) => [c % 4, Math.floor(c / 4)]).map(([column, line]) =>
    svg("rect", {
      x: (left ? x - 16 : x) + 4 * column,
      y: row - 8 + 5 * line,
      width: 4,
      height: 5,
      fill: (column + line) % 2 ? "var(--card)" : "var(--ink)",
    }),
  );
  return [pole, ...squares];
}

export function moveKnob(race) {
  const { parts, clock } = race;
  if (!parts.knob) return;
  const x = across(race, clock.t);
  parts.knob.setAttribute("cx", x);
  parts.past.setAttribute("width", x);
}

/** The moment under a pointer on the scrubber. */
export function timeUnder({ clock }, box, ev) {
  const r = box.getBoundingClientRect();
  return Math.min(1, Math.max(0, (ev.clientX - r.left) / Math.max(1, r.width - FLAG_ROOM))) * clock.total;
}
