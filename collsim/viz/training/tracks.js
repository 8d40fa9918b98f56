// The steps of several runners on one clock: computing over the network, a finish line, and how long each took.

import { el, svg } from "../player/draw/elements.js";
import { fmtSpan, threeDigits, timeMarks } from "../player/model/units.js";
import { fits } from "./stepgeometry.js";
import { hueOf } from "../transport/hues.js";
import { rivalWords } from "./rivalwords.js";

const LANE = 24;
const HIGH_TRACK = 2 * LANE + 6;
const FINISH_ROOM = 74; // pixels right of the slowest finish, for its words

/** A row for each runner; returns what the cursor needs. */
export function drawTracks(race, width) {
  const { runners } = race.data,
    w = rivalWords(race),
    most = Math.max(...runners.map((r) => r.time)),
    least = Math.min(...runners.map((r) => r.time)),
    wide = Math.max(120, width - FINISH_ROOM),
    across = (t) => (most > 0 ? t / most : 0) * wide,
    cells = [
      el("span"),
      el("span", { className: "h" }),
      el("span", { className: "h", textContent: w.step }),
      el("span", { className: "h waits", textContent: w.waitsFor }),
    ];
  race.cursors = [];
  for (const run of runners) {
    const words = Math.abs(run.time - least) <= 1e-9 * least ? w.leads : w.times(threeDigits(run.time / least));
    cells.push(
      el("span", { className: "rule" }),
      ...trackRow(race, run, width, across, words, run.time === most && most > 1.5 * least),
    );
  }
  cells.push(el("span"), axis(width, across, most));
  race.tracks.replaceChildren(...cells);
  race.across = across;
}

function trackRow(race, run, width, across, words, late) {
  const picture = svg("svg", {
    width,
    height: HIGH_TRACK,
    class: "at",
    role: "img",
    "aria-label": `${run.name}: ${fmtSpan(run.time)}`,
  });
  const step = run.document;
  for (const box of joinedBoxes(step.boxes, run.time))
    if (box.lane === 0) picture.append(...trackBox(race, box, across));
  for (const [lane, t0, t1] of step.waits)
    if (lane === 0) picture.append(block(across(t0), 0, across(t1) - across(t0), "url(#ts-hatch)"));
  const end = across(run.time),
    line = svg("rect", { x: -1, y: 0, width: 2, height: HIGH_TRACK, fill: "var(--ink)", class: "cursor" });
  picture.append(
    svg("rect", { x: end, y: 0, width: 2, height: HIGH_TRACK, fill: "var(--ink)" }),
    svg("text", { x: end + 8, y: 20, "font-size": 14, "font-weight": 700, fill: "var(--ink)" }, words),
    line,
  );
  race.cursors.push(line);
  return [
    el("span", { className: "name" }, el("b", { textContent: run.name })),
    el("span", {}, picture),
    el("span", { className: late ? "num late" : "num" }, el("b", { textContent: fmtSpan(run.time) })),
    el("span", { className: "num waits", textContent: fmtSpan(run.exposed + run.bubble) }),
  ];
}

/** Boxes of a lane; collectives of one kind that follow one another at once are one box. */
export function joinedBoxes(boxes, time) {
  const out = [];
  for (const box of boxes) {
    const last = out.at(-1),
      same = last && ["lane", "stream", "kind", "bucket"].every((key) => last[key] === box[key]);
    if (same && box.stream !== "compute" && box.bucket < 0 && box.t0 - last.t1 <= 1e-6 * time) last.t1 = box.t1;
    else out.push({ ...box });
  }
  return out;
}

const block = (x, y, width, fill) =>
  svg("rect", { x, y, width: Math.max(0.8, width), height: LANE, fill, stroke: "var(--card)", "stroke-width": 0.5 });

function trackBox(race, box, across) {
  const x = across(box.t0),
    width = across(box.t1) - x,
    w = rivalWords(race),
    network = box.stream !== "compute",
    plain = { forward: "var(--casing)", backward: "var(--ag)", optimizer: "var(--idle)", copy: "var(--casing)" },
    fill = box.bucket >= 0 || network ? hueOf(box.bucket).box : (plain[box.kind] ?? "var(--casing)"),
    words = network ? (box.bucket >= 0 ? "" : w.kinds[box.kind]) : box.bucket >= 0 ? "" : w.pass[box.kind],
    out = [block(x, network ? LANE + 3 : 0, width, fill)];
  if (words && fits(words, 13, width)) {
    const ink = network ? "var(--card)" : "var(--ink)";
    out.push(
      svg(
        "text",
        { x: x + width / 2, y: (network ? LANE + 3 : 0) + 17, "font-size": 13, "text-anchor": "middle", fill: ink },
        words,
      ),
    );
  }
  return out;
}

function axis(width, across, most) {
  const picture = svg("svg", { width, height: 26, class: "at" });
  timeMarks(most, width / 100).forEach(({ t, text }, k) => {
    const look = { "font-size": 13, "text-anchor": k ? "middle" : "start", fill: "var(--ink2)" };
    picture.append(svg("text", { x: across(t), y: 17, ...look }, text));
  });
  return el("span", {}, picture);
}
