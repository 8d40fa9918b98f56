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

/** Where the names of finishes stand, in the order of `ends` ({x, long, short}, pixels): {left, row, edge, isShort}
 * each. Of all places, sides in turn and two rows, those where least is hidden: a name covers no other one, is whole
 * rather than its `short` form, and no pole goes through it. `edge` is the end of the name at its flag. */
export function flagPlaces(ends, width) {
  let least = Infinity,
    best = [];
  const place = (taken, hidden) => {
    if (hidden >= least) return;
    const end = ends[taken.length];
    if (!end) [least, best] = [hidden, taken];
    else {
      const tryOut = (at, more) =>
        place(
          [...taken, at],
          taken.reduce((sum, other) => sum + clash(at, other), hidden + more),
        );
      listPlaces(end, width, taken.length).forEach((at, k) => tryOut(at, (at.isShort ? 100 : 0) + k / 100));
      for (const at of leaveLeft(taken, end)) tryOut(at, 500); // far from its flag
    }
  };
  place([], 0);
  return best;
}

/** Places of the n-th name, the usual one first. */
function listPlaces({ x, long, short = long }, width, n) {
  return [long, short].flatMap((length, isShort) => {
    const first = x > length + 20 && (n % 2 === 0 || x > width - length - 30),
      sides = [first, !first].filter((left) => (left ? x > length + 20 : x < width - length - 20));
    return (sides.length ? sides : [first]).flatMap((left) =>
      ROWS.map((row) => {
        const from = left ? x - length - 24 : x;
        return { x, left, row, from, to: from + length + 24, edge: left ? x - 22 : x + 22, isShort: !!isShort };
      }),
    );
  });
}

/** Left of all other names of a row. */
function leaveLeft(taken, { x, long, short = long }) {
  return ROWS.filter((row) => taken.some((t) => t.row === row)).map((row) => {
    const to = Math.min(...taken.filter((t) => t.row === row).map((t) => t.from));
    return { x, left: true, row, from: to - short - 8, to, edge: to - 8, isShort: true };
  });
}

/** How much two names hide of each other. */
function clash(a, b) {
  if (a.row === b.row) return a.from < b.to && b.from < a.to ? 1000 : 0;
  const [lower, higher] = a.row > b.row ? [a, b] : [b, a];
  return lower.from < higher.x && higher.x < lower.to ? 10 : 0; // its pole goes through the name
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
