// Measured busbw of a job over size, with what is predicted without its fault and with it; both axes are logarithmic.
import { svg } from "../player/draw/elements.js";
import { fmtBytes, fmtRate } from "../player/model/units.js";
import { createChart, levelAxis, pathOf, text, timeAxis } from "../transport/lanechart.js";

const HIGH = 172; // px of the picture
const TOP = 8;
const FLOOR = HIGH - 24; // px from above, below which the sizes stand
const WIDE_LABELS = 480; // px of a picture in which labels with an interval fit
const SIZE_ROOM = 100; // px for the label of a size
const LOOK = { class: "jc", role: "img", left: 78, right: 10 };

/** How far a value is between two others, where each factor is as long as the next. */
const logShare = (value, low, high) => Math.log(value / low) / Math.max(Math.log(high / low), 1e-9);

/** The chart in pixels of so many; `chart` is what `describe_job_chart` has made. */
export function drawJobChart({ sizes, measured, predicted, low, high, fault, labels }, width) {
  const rates = [...measured, ...predicted, ...low, ...high, ...fault].filter((rate) => rate > 0),
    powers = listPowers(Math.min(...rates), Math.max(...rates) * 1.02),
    [least, most] = [powers[0], powers.at(-1)],
    spoken = labels.map(({ words }) => words).join("; "),
    chart = createChart({
      width,
      height: HIGH,
      total: 1,
      ...LOOK,
      "aria-label": spoken,
      viewBox: `0 0 ${width} ${HIGH}`,
    }),
    share = (nbytes) => logShare(nbytes, Math.min(...sizes), Math.max(...sizes)),
    y = (rate) => FLOOR - (FLOOR - TOP) * Math.min(1, Math.max(0, logShare(rate, least, most))),
    line = (row) => row.map((rate, k) => [chart.across(share(sizes[k])), y(rate)]),
    right = chart.left + chart.room;
  chart.picture.setAttribute("width", "100%");
  chart.picture.append(
    ...levelAxis(
      powers.map((rate) => ({ y: y(rate), text: fmtRate(rate) })),
      { left: chart.left, right },
    ),
    ...timeAxis(
      chart,
      listSizes(sizes, chart.room).map((nbytes) => ({ t: share(nbytes), text: fmtBytes(nbytes) })),
      { y: HIGH - 6, top: TOP, bottom: FLOOR },
    ),
    svg("path", { class: "band", d: `${pathOf([...line(low), ...line(high).reverse()])}Z` }),
    svg("path", { class: "line", d: pathOf(line(predicted)) }),
    fault.length && svg("path", { class: "fault", d: pathOf(line(fault)) }),
    ...line(measured).map(([cx, cy]) => svg("circle", { class: "dot", cx, cy, r: 4.2 })),
    ...drawLabels(labels, { y, right, isShort: width < WIDE_LABELS }),
  );
  return chart.picture;
}

/** Powers of ten around rates. */
function listPowers(least, most) {
  const [first, last] = [Math.floor(Math.log10(least)), Math.ceil(Math.log10(most))];
  return Array.from({ length: last - first + 1 }, (_, k) => 10 ** (first + k));
}

/** As many of the sizes as have room for their labels. */
function listSizes(sizes, room) {
  const sorted = [...new Set(sizes)].sort((a, b) => a - b),
    every = Math.max(1, Math.ceil((sorted.length - 1) / Math.max(2, Math.floor(room / SIZE_ROOM))));
  return sorted.filter((_, k) => k % every === 0);
}

/** One label above what is higher at the largest size, the other below what is lower, within the plot. */
function drawLabels(labels, { y, right, isShort }) {
  const [upper, lower] = [...labels].sort((a, b) => b.rate - a.rate),
    above = y(upper.rate) - 12,
    below = y(lower.rate) + 22,
    places = [Math.max(above, TOP + 13), below > FLOOR - 4 ? Math.max(above + 40, y(lower.rate) - 12) : below],
    look = { class: "said", anchor: "end" };
  return [upper, lower].map(({ words, short }, k) => text(right, places[k], isShort ? short : words, look));
}
