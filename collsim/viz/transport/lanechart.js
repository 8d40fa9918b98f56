// A chart of lanes over time, as SVG: a scale, an axis, boxes with labels that fit, waits, levels, a cursor, and light
// on what belongs together. Pages say where their lanes are and what is in them.

import { widthOf } from "../player/draw/canvas.js";
import { setText, svg } from "../player/draw/elements.js";

const NEAR_EDGE = 24; // px from an end of the axis, where a label would stick out

/**
 * An empty chart: {picture, across(t), timeAt(event), left, room, width, height, total}. Time 0 is `left` px from the
 * left of the picture and `total` is `right` px from its right; `look` are attributes of the picture, unless one is
 * given.
 */
export function createChart({ width, height, total, left = 0, right = 0, picture: given = null, ...look }) {
  const picture = given ?? svg("svg", { width, height, ...look }),
    room = width - left - right;
  return {
    ...{ picture, width, height, total, left, room },
    across: (t) => left + (total > 0 ? t / total : 0) * room,
    timeAt({ clientX }) {
      const seen = picture.getBoundingClientRect(), // a slide is zoomed
        x = ((clientX - seen.left) * width) / seen.width;
      return Math.min(1, Math.max(0, (x - left) / room)) * total;
    },
  };
}

/** @type {(x: number, y: number, words: string | number, look?: TextLook & { anchor?: string }) => any} */
export const text = (x, y, words, { size = 13, bold = false, fill = "var(--ink2)", anchor = "start", ...look } = {}) =>
  svg(
    "text",
    { x, y, "font-size": size, "font-weight": bold ? 700 : 400, fill, "text-anchor": anchor, ...look },
    words,
  );

export const rect = (x, y, width, height, fill, look = {}) =>
  svg("rect", { x, y, width: Math.max(0, width), height: Math.max(0, height), fill, ...look });

/** @type {CanvasRenderingContext2D | null} */
let ruler = null; // it measures text

export function textWidth(words, size, bold = false) {
  ruler ??= document.createElement("canvas").getContext("2d");
  return widthOf(ruler, words, size, bold);
}

/** Whether words fit into so many px, with air on both sides. */
export const fits = (words, size, width, bold = false) => textWidth(words, size, bold) + 8 <= width;

/** Where what lasts from t0 to t1 is: {x, wide}, `least` px at least. */
export function spanOf({ across }, t0, t1, least = 1) {
  const x = across(t0);
  return { x, wide: Math.max(least, across(t1) - x) };
}

/** Times in order, without those that are no further than `near` seconds from the one before. */
export function distinctTimes(times, near) {
  const sorted = [...times].sort((a, b) => a - b);
  return sorted.filter((t, q) => q === 0 || t - sorted[q - 1] > near);
}

/** A vertical rule for each of `marks` = [{t, text}] from `top` to `bottom`, and its text on line `y`. */
export const timeAxis = ({ across, width, height }, marks, { y, top, bottom = height, rule = "var(--grid)" }) =>
  marks.flatMap(({ t, text: words }) => {
    const x = across(t),
      sides = { start: x < NEAR_EDGE, end: width - x < NEAR_EDGE },
      anchor = Object.keys(sides).find((side) => sides[side]) ?? "middle";
    return [rect(x, top, 1, bottom - top, rule), ...(words ? [text(x, y, words, { anchor })] : [])];
  });

/** @typedef {{ size?: number, bold?: boolean, [attribute: string]: any }} TextLook */

/**
 * In the middle of a box, the first of `labels` that fits into it; without one, nothing.
 *
 * @param {{ x: number, wide: number }} box
 * @param {number} y
 * @param {string[]} labels
 * @param {TextLook} [look]
 */
export function labelIn(box, y, labels, look = {}) {
  const { x, wide } = box,
    words = labels.find((label) => label && fits(label, look.size ?? 13, wide, look.bold));
  return words ? [text(x + wide / 2, y, words, { anchor: "middle", ...look })] : [];
}

/**
 * Words in the middle of a patch `high` px high, which hides what is behind them.
 *
 * @param {number} x
 * @param {number} y
 * @param {string} words
 * @param {TextLook} [look]
 */
export function patched(x, y, words, look = {}) {
  const { high = 18, ...rest } = look,
    { size = 13 } = rest,
    wide = textWidth(words, size, rest.bold) + 12;
  return [
    rect(x - wide / 2, y - high / 2, wide, high, "var(--card)", { rx: 3 }),
    text(x, y + size * 0.36, words, { anchor: "middle", ...rest }),
  ];
}

/** Corners of a level over time: each of `points` = [t, value] holds until the next, the last until `end`. */
export const stairs = (points, end, across, y) =>
  points.flatMap(([t, value], k) => [t, points[k + 1]?.[0] ?? end].map((moment) => [across(moment), y(value)]));

/** What lies on one another over time as paths, from below: `rows` are values of one kind each, for all of `times`. */
export function stackPaths(times, rows, end, across, y) {
  const sums = times.map(() => 0),
    points = () => Array.from(times, (t, q) => [t, sums[q]]),
    edge = () => stairs(points(), end, across, y);
  return rows.map((row) => {
    const lower = edge().reverse();
    row.forEach((value, q) => {
      sums[q] += value;
    });
    return `${pathOf([...edge(), ...lower])}Z`;
  });
}

/** Rules across a chart for `marks` = [{y, text}], with their texts left of them. */
export const levelAxis = (marks, { left, right, away = 8, ...look }) =>
  marks.flatMap(({ y, text: words, rule = "var(--grid)" }) => [
    rect(left, y, right - left, 1, rule),
    text(left - away, y + 4, words, { anchor: "end", ...look }),
  ]);

export const pathOf = (points) => `M${points.map(([x, y]) => `${round(x)} ${round(y)}`).join("L")}`;

const round = (x) => Number(x.toFixed(2));

/**
 * A line over the chart from `top` down, with a flag for the time in the middle of `flag` px from above where it is
 * given: {node, move(t, words)}.
 */
export function createCursor({ across, width, height }, { top = 0, flag = 0 } = {}) {
  const half = 40,
    words = text(0, flag + 4.5, "", { bold: true, fill: "var(--card)", anchor: "middle" }),
    sign = svg("g", {}, rect(-half, flag - 10, 2 * half, 20, "var(--ink)", { rx: 4 }), words),
    line = rect(-1, top, 2, height - top, "var(--ink)"),
    node = svg("g", { class: "cursor", "pointer-events": "none" }, line, ...(flag ? [sign] : []));
  return {
    node,
    move(t, label = "") {
      const x = across(t),
        inside = Math.min(width - half, Math.max(half, x));
      node.setAttribute("transform", `translate(${x.toFixed(2)} 0)`);
      sign.setAttribute("transform", `translate(${(inside - x).toFixed(2)} 0)`);
      setText(words, label);
    },
  };
}

/**
 * A line over the time of a chart with its middle at `y`, the part of it that is past, and a knob: {line, past, knob,
 * move(t)}.
 */
export function createTrack({ across, left, room }, { y, high, fill, ...look }) {
  const bar = (wide, paper) => rect(left, y - high / 2, wide, high, paper, { rx: high / 2 }),
    past = bar(0, "var(--ink)"),
    knob = svg("circle", { cy: y, fill: "var(--ink)", ...look });
  return {
    ...{ line: bar(room, fill), past, knob },
    move(t) {
      knob.setAttribute("cx", across(t));
      past.setAttribute("width", Math.max(0, across(t) - left)); // a hidden chart has no room
    },
  };
}

/** Pale all of a picture but what has this key; null: nothing. */
export function lightUp(picture, key) {
  picture.classList.toggle("dim", key !== null);
  for (const part of picture.querySelectorAll(".lit")) part.classList.remove("lit");
  if (key === null) return;
  for (const part of picture.querySelectorAll(`[data-key="${CSS.escape(String(key))}"]`)) part.classList.add("lit");
}

/** Call `light(key, event)` with the key of what the mouse is over, null where that has none. */
export function followPointer(picture, light) {
  picture.addEventListener("pointerover", (ev) => {
    if (ev.pointerType !== "touch") light(ev.target.closest?.("[data-key]")?.dataset.key ?? null, ev);
  });
  picture.addEventListener("pointerleave", (ev) => light(null, ev));
}
