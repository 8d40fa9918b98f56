// The scrubber of a race: an axis, a flag for every finish, a knob.

import { threeDigits, timeMarks, timeUnit } from "../player/model/units.js";
import { createChart, createTrack, rect, text, textWidth, timeAxis } from "../transport/lanechart.js";

const FLAG_ROOM = 14; // pixels right of the end of the axis, for the last flag
const NAME = { size: 13.5, bold: true, fill: "var(--ink)" };

export function drawFlags(race) {
  const { parts, clock } = race,
    { scrub } = parts;
  if (!scrub) return;
  const width = scrub.clientWidth,
    chart = createChart({ width, height: 80, total: clock.total, right: FLAG_ROOM, "aria-hidden": "true" }),
    marks = timeMarks(clock.total, width / 90);
  const knob = { r: 10, stroke: "var(--card)", "stroke-width": 2 },
    track = createTrack(chart, { y: 47.5, high: 7, fill: "var(--grid)", ...knob });
  Object.assign(parts, { chart, track });
  chart.picture.append(
    track.line,
    ...timeAxis(chart, marks, { y: 74, top: 54, bottom: 59, rule: "var(--edge)" }),
    ...finishFlags(race),
    track.past,
    track.knob,
  );
  scrub.replaceChildren(chart.picture);
  track.move(clock.t);
}

const ROWS = [11, 26];

/** Where the names of finishes stand, in the order of `ends` ({x, long}, pixels): sides in turn and two rows, the first
 * place where a name covers no other one: {left, row, edge} each. Where there is none, the name is left of the others
 * of its row; `edge` is the end of the name at its flag. */
export function flagPlaces(ends, width) {
  const taken = [];
  return ends.map(({ x, long }, n) => {
    const first = x > long + 20 && (n % 2 === 0 || x > width - long - 30),
      sides = [first, !first].filter((left) => (left ? x > long + 20 : x < width - long - 20)),
      places = (sides.length ? sides : [first]).flatMap((left) => ROWS.map((row) => ({ left, row }))),
      span = ({ left }) => (left ? [x - long - 24, x] : [x, x + long + 24]),
      free = (at) => taken.every((t) => t.row !== at.row || t.to <= span(at)[0] || t.from >= span(at)[1]),
      at = places.find(free),
      { left, row } = at ?? { left: true, row: ROWS[n % 2] },
      leftmost = Math.min(...taken.filter((t) => t.row === row).map((t) => t.from)),
      [from, to] = at ? span(at) : [leftmost - long - 8, leftmost],
      edge = left ? to - (at ? 22 : 8) : from + 22;
    taken.push({ row, from, to });
    return { left, row, edge };
  });
}

/** A flag where each runner ends, with its name. */
function finishFlags(race) {
  const { cards, clock, data, parts } = race,
    unit = timeUnit(clock.total),
    order = cards.filter((r) => r.player.model).sort((a, b) => a.player.model.total - b.player.model.total),
    ends = order.map(({ player: { model }, q }) => {
      const name = `${data.runners[q].name} ${threeDigits(model.total * unit.f)}`;
      return { x: parts.chart.across(model.total), name, long: textWidth(name, NAME.size, true) };
    }),
    places = flagPlaces(ends, parts.chart.width);
  return ends.flatMap(({ x, name }, n) => {
    const { left, row, edge } = places[n];
    return [...flag(x, row, left), text(edge, row + 2, name, { ...NAME, anchor: left ? "end" : "start" })];
  });
}

/** A pole and a cloth of four by two squares. */
function flag(x, row, left) {
  const pole = rect(x - 0.75, row - 8, 1.5, 60 - row, "var(--ink)");
  const squares = Array.from({ length: 8 }, (_, c) => {
    const [column, line] = [c % 4, Math.floor(c / 4)],
      fill = (column + line) % 2 ? "var(--card)" : "var(--ink)";
    return rect((left ? x - 16 : x) + 4 * column, row - 8 + 5 * line, 4, 5, fill);
  });
  return [pole, ...squares];
}
