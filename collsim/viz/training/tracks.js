// The steps of several runners on one clock: computing over the network, a finish line, and how long each took.

import { el } from "../player/draw/elements.js";
import { fmtSpan, threeDigits, timeMarks } from "../player/model/units.js";
import { hueOf } from "../transport/hues.js";
import { createChart, createCursor, labelIn, rect, spanOf, text, timeAxis } from "../transport/lanechart.js";
import { fill } from "../words/choice.js";

const LANE = 24;
const HIGH_TRACK = 2 * LANE + 6;
const FINISH_ROOM = 74; // pixels right of the slowest finish, for its words

/** A row for each runner; returns what the cursor needs. */
export function drawTracks(race, width) {
  const { runners } = race.data,
    w = race.words,
    most = Math.max(...runners.map((r) => r.time)),
    least = Math.min(...runners.map((r) => r.time)),
    right = Math.min(FINISH_ROOM, width - 120),
    chartOf = (height, look) => createChart({ width, height, total: most, right, class: "at", ...look }),
    cells = [el("span"), el("span.h"), el("span.h", w.step), el("span.h.waits", w.waitsFor)];
  race.cursors = [];
  for (const run of runners) {
    const words =
        Math.abs(run.time - least) <= 1e-9 * least ? w.leads : fill(w.times, { times: threeDigits(run.time / least) }),
      chart = chartOf(HIGH_TRACK, { role: "img", "aria-label": `${run.name}: ${fmtSpan(run.time)}` });
    drawTrack(race, run, chart, words);
    cells.push(el("span.rule"), ...trackRow(run, chart, run.time === most && most > 1.5 * least));
  }
  race.chart = chartOf(26, {});
  race.chart.picture.append(...timeAxis(race.chart, timeMarks(most, width / 100), { y: 17, top: 0, bottom: 0 }));
  cells.push(el("span"), el("span", race.chart.picture));
  race.tracks.replaceChildren(...cells);
}

function drawTrack(race, run, chart, words) {
  const step = run.document,
    x = chart.across(run.time),
    cursor = createCursor(chart),
    boxes = joinedBoxes(step.boxes, run.time).filter((box) => box.lane === 0),
    waits = step.waits.filter(([lane]) => lane === 0);
  chart.picture.append(
    ...boxes.flatMap((box) => trackBox(race, box, chart)),
    ...waits.map(([, t0, t1]) => block(spanOf(chart, t0, t1, 0.8), 0, "url(#ts-hatch)")),
    rect(x, 0, 2, HIGH_TRACK, "var(--ink)"),
    text(x + 8, 20, words, { size: 14, bold: true, fill: "var(--ink)" }),
    cursor.node,
  );
  race.cursors.push(cursor);
}

function trackRow(run, { picture }, isLate) {
  return [
    el("span.name", el("b", run.name)),
    el("span", picture),
    el("span", { className: isLate ? "num late" : "num" }, el("b", fmtSpan(run.time))),
    el("span.num.waits", fmtSpan(run.exposed + run.bubble)),
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

const block = ({ x, wide }, y, fill) => rect(x, y, wide, LANE, fill, { stroke: "var(--card)", "stroke-width": 0.5 });

const PASS_FILL = {
  forward: "var(--casing)",
  backward: "var(--ag)",
  optimizer: "var(--idle)",
};

function trackBox(race, box, chart) {
  const span = spanOf(chart, box.t0, box.t1, 0.8),
    w = race.words,
    isSent = box.stream !== "compute",
    isOfBucket = box.bucket >= 0,
    fill = isOfBucket || isSent ? hueOf(box.bucket).box : (PASS_FILL[box.kind] ?? "var(--casing)"),
    words = isSent ? w.kinds[box.kind] : w.pass[box.kind],
    y = isSent ? LANE + 3 : 0,
    label = labelIn(span, y + 17, isOfBucket ? [] : [words], { fill: isSent ? "var(--card)" : "var(--ink)" });
  return [block(span, y, fill), ...label];
}
