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

/** Where the names of finishes stand, in the order of `ends` ({x, long, short}, pixels): sides in turn and two rows,
 * the first place where a name covers no other one, or else its `short` form: {left, row, edge, isShort} each. Where
 * there is none, the name is left of the others of its row; `edge` is the end of the name at its flag. */
export function flagPlaces(ends, width) {
  const taken = [];
  return ends.map(({ x, long, short = long }, n) => {
    const whole = findFree(taken, x, long, { width, n }),
      at = whole ?? findFree(taken, x, short, { width, n }) ?? leaveLeft(taken, short, n);
    taken.push(at);
    return { left: at.left, row: at.row, edge: at.edge, isShort: !whole };
  });
}

/** The first free place of a name `long` px long, the n-th, at a flag; undefined where there is none. */
function findFree(taken, x, long, { width, n }) {
  const first = x > long + 20 && (n % 2 === 0 || x > width - long - 30),
    sides = [first, !first].filter((left) => (left ? x > long + 20 : x < width - long - 20)),
    from = (left) => (left ? x - long - 24 : x),
    places = (sides.length ? sides : [first]).flatMap((left) =>
      ROWS.map((row) => ({ left, row, from: from(left), to: from(left) + long + 24, edge: left ? x - 22 : x + 22 })),
    );
  return places.find((at) => taken.every((t) => t.row !== at.row || t.to <= at.from || t.from >= at.to));
}

/** Left of all other names of a row. */
function leaveLeft(taken, long, n) {
  const row = ROWS[n % 2],
    to = Math.min(...taken.filter((t) => t.row === row).map((t) => t.from));
  return { left: true, row, from: to - long - 8, to, edge: to - 8 };
}

/** A flag where each runner ends, with its name and time, or its time where there is no room for both. */
function finishFlags(race) {
  const { cards, clock, data, parts } = race,
    unit = timeUnit(clock.total),
    order = cards.filter((r) => r.player.model).sort((a, b) => a.player.model.total - b.player.model.total),
    long = (words) => textWidth(words, NAME.size, true),
    ends = order.map(({ player: { model }, q }) => {
      const time = threeDigits(model.total * unit.f),
        name = `${data.runners[q].name} ${time}`;
      return { x: parts.chart.across(model.total), name, time, long: long(name), short: long(time) };
    }),
    places = flagPlaces(ends, parts.chart.width);
  return ends.flatMap(({ x, name, time }, n) => {
    const { left, row, edge, isShort } = places[n];
    const look = { ...NAME, anchor: left ? "end" : "start" };
    return [...flag(x, row, left), text(edge, row + 2, isShort ? time : name, look)];
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
