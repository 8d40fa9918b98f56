// collsim split of a step over a thousand GPUs: ranks on nodes, what a GPU sends over which links, what it holds, and
// every legal split as a dot and a row; one click opens it.

import { el, sizeCanvas } from "../player/draw/elements.js";
import { TOKENS } from "../player/model/look.js";
import { NB, fmtRate, fmtSpan, three } from "../player/model/units.js";
import { component } from "../player/mount.js";
import { decimalBytes } from "./lanefigures.js";
import { GROUP_FILL, drawNodeMap, mapLayout, rankAt } from "./nodemap.js";
import { drawScatter, nearestDot, scatterScales } from "./scatter.js";
import { SPLITS_CSS } from "./splitstyle.js";
import { splitWords } from "./splitwords.js";

const ROWS = 10;
const SCATTER_HIGH = 400;
const WAY_FILL = { tensor: "tp", context: "cp", expert: "ep", data: "dp", pipeline: "pp" };
const HELD_SHADES = ["room", "done", "sum2", "near", "ink3", "hostink", "wait", "edge"];

/**
 * Mount a split into `host`; `act({what: "open", row})` is called where one is clicked. Its data are {id, step, table,
 * open, lang, theme}; table is null while the search is under way.
 */
export function createSplit(host, { act }) {
  const root = el("div", { className: "sm", role: "group" }),
    ui = { root, act, data: null, rank: -1 };
  for (const name of ["map", "sends", "memory", "all"]) ui[name] = el("section", {});
  ui.canvas = el("canvas", { role: "img", tabIndex: 0 });
  ui.dots = el("canvas", { role: "img" });
  const left = el("div", { className: "card" }, ui.map, ui.sends, ui.memory),
    right = el("div", { className: "card" }, ui.all);
  root.append(el("style", { textContent: SPLITS_CSS }), el("div", { className: "both" }, left, right));
  host.append(root);
  const seen = typeof ResizeObserver === "function" ? new ResizeObserver(() => arrangeSplit(ui, false)) : null;
  seen?.observe(root);
  ui.canvas.addEventListener("click", (ev) => clickMap(ui, ev));
  ui.canvas.addEventListener("keydown", (ev) => stepRank(ui, ev));
  ui.dots.addEventListener("click", (ev) => clickDot(ui, ev));
  return {
    root,
    setData: (data) => setSplit(ui, data),
    destroy() {
      seen?.disconnect();
      root.remove();
    },
  };
}

function setSplit(ui, data) {
  if (ui.data?.id !== data.id) ui.rank = middleRank(data.step);
  ui.data = data;
  const theme = data.theme === "dark" ? "dark" : "light",
    { root } = ui;
  ui.colours = TOKENS[theme];
  for (const name in ui.colours) root.style.setProperty(`--${name}`, ui.colours[name]);
  root.lang = data.lang === "zh" ? "zh-CN" : "en";
  root.setAttribute("aria-label", splitWords(ui).label);
  root.dataset.ranks = String(data.step?.ranks ?? 0);
  root.dataset.splits = String(data.table?.time.length ?? 0);
  root.dataset.open = String(data.open);
  arrangeSplit(ui, true);
}

/** A rank in the middle, all of whose groups are in sight. */
const middleRank = (step) => (step ? Math.floor(step.ranks / 3) : 0);

function arrangeSplit(ui, anew) {
  const { root, data } = ui,
    whole = root.clientWidth;
  if (!data || !whole || (!anew && ui.whole === whole)) return;
  ui.whole = whole;
  root.classList.toggle("slim", whole < 1180);
  if (data.step) {
    buildMap(ui);
    buildSends(ui);
    buildHeld(ui);
  }
  buildAll(ui);
}

// ---- where the ranks live -----------------------------------------------------------------------

function titled(text, note) {
  return el("h2", {}, text, el("span", { textContent: note }));
}

function buildMap(ui) {
  const { step } = ui.data,
    w = splitWords(ui),
    order = step.ways.map(([way]) => way.toUpperCase()).join(" – "),
    nodes = Math.ceil(step.ranks / step.per);
  ui.legend = el("p", { className: "groups", "aria-live": "polite" });
  const layout = mapLayout(step, Math.max(240, ui.map.clientWidth || ui.whole * 0.55));
  ui.map.replaceChildren(titled(w.map, w.mapNote(nodes, step.per, order, layout.stages)), ui.canvas, ui.legend);
  ui.layout = mapLayout(step, Math.max(240, ui.map.clientWidth));
  ui.pen = sizeCanvas(ui.canvas, Math.max(240, ui.map.clientWidth), ui.layout.high);
  drawMap(ui);
}

function drawMap(ui) {
  const { step } = ui.data,
    w = splitWords(ui),
    groups = drawNodeMap(ui.pen, step, ui.layout, ui.rank, ui.colours),
    parts = [swatchOf("var(--ink)", w.rank(ui.rank))];
  for (const way of Object.keys(groups)) {
    const nodes = new Set(groups[way].map((rank) => Math.floor(rank / step.per))).size;
    parts.push(swatchOf(`var(--${GROUP_FILL[way]})`, w.group(way.toUpperCase(), groups[way].length, nodes)));
  }
  ui.legend.replaceChildren(...parts);
  ui.canvas.setAttribute("aria-label", ui.legend.textContent);
  ui.root.dataset.rank = String(ui.rank);
}

function swatchOf(colour, words) {
  const i = el("i");
  i.style.background = colour;
  return el("span", {}, i, words);
}

function clickMap(ui, ev) {
  const box = ui.canvas.getBoundingClientRect(),
    rank = rankAt(ui.data.step, ui.layout, ev.clientX - box.left, ev.clientY - box.top);
  if (rank < 0) return;
  ui.rank = rank;
  drawMap(ui);
}

function stepRank(ui, ev) {
  const by = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: ui.data.step.per, ArrowUp: -ui.data.step.per }[ev.key];
  if (!by) return;
  ev.preventDefault();
  ui.rank = (ui.rank + by + ui.data.step.ranks) % ui.data.step.ranks;
  drawMap(ui);
}

// ---- what it sends and holds --------------------------------------------------------------------

function buildSends(ui) {
  const { step } = ui.data,
    w = splitWords(ui),
    most = Math.max(1, ...step.sends.map((row) => row.nbytes)),
    cells = step.sends.map((row) => sentRow(row, most, w));
  if (!cells.length) cells.push(el("p", { className: "quiet", textContent: w.nothing }));
  ui.sends.replaceChildren(titled(w.sends(step.stage, step.stages), w.sendsNote), ...cells);
}

function sentRow(row, most, w) {
  const bar = el("i");
  bar.style.width = `${Math.max(0.4, (100 * row.nbytes) / most)}%`;
  bar.style.background = `var(--${GROUP_FILL[WAY_FILL[row.way]]})`;
  return el(
    "div",
    { className: "sent" },
    el("b", { textContent: w.ways[row.way] }),
    el("span", { textContent: w.rate(row.link, fmtRate(row.bandwidth)) }),
    el("span", { className: "track" }, bar),
    el("b", { textContent: decimalBytes(row.nbytes) }),
    el("span", { className: "num", textContent: fmtSpan(row.time) }),
  );
}

function buildHeld(ui) {
  const { kinds, total, room } = ui.data.step.memory,
    w = splitWords(ui),
    whole = room ?? total,
    share = `${Math.round((100 * total) / whole)}${NB}%`,
    bar = el("div", { className: "held" }),
    legend = el("p", { className: "groups" });
  kinds.forEach(([kind, size], k) => {
    const part = el("i"),
      colour = `var(--${HELD_SHADES[k % HELD_SHADES.length]})`;
    part.style.cssText = `width:${(100 * size) / whole}%;background:${colour}`;
    bar.append(part);
    legend.append(swatchOf(colour, `${w.kinds[kind] ?? kind} ${decimalBytes(size)}`));
  });
  const said = room ? w.of(decimalBytes(total), decimalBytes(room), share) : decimalBytes(total);
  ui.memory.replaceChildren(titled(w.memory, said), bar, legend);
}

// ---- every split --------------------------------------------------------------------------------

function buildAll(ui) {
  const { table, step } = ui.data,
    w = splitWords(ui);
  if (!table) {
    ui.all.replaceChildren(el("p", { className: "quiet", textContent: w.waiting }));
    return;
  }
  const fits = table.fits.filter(Boolean).length,
    counts = el("p", { className: "counts" }, el("span", { textContent: w.time }));
  counts.append(el("b", { textContent: w.fits(fits) }), el("b", { textContent: w.not(table.fits.length - fits) }));
  const body = tableOf(ui),
    note = el("p", { className: "quiet", textContent: w.allNote });
  ui.all.replaceChildren(titled(w.all(table.time.length), ""), note, counts, ui.dots, body);
  const width = Math.max(240, ui.all.clientWidth),
    g = sizeCanvas(ui.dots, width, SCATTER_HIGH),
    room = ui.data.room ?? step?.memory.room ?? null;
  ui.scales = scatterScales(table, width, SCATTER_HIGH, room);
  drawScatter(g, table, ui.scales, { C: ui.colours, room, open: ui.data.open, words: w, bytes: decimalBytes });
  ui.dots.setAttribute("aria-label", `${w.all(table.time.length)}; ${w.fits(fits)}`);
}

/** The best, and the one that is open where it is none of them. */
function tableOf(ui) {
  const { table, open } = ui.data,
    w = splitWords(ui),
    listed = [...Array(Math.min(ROWS, table.time.length)).keys()];
  if (open >= ROWS) listed.push(open);
  const head = el("tr", {}, ...w.head.map((textContent) => el("th", { scope: "col", textContent })));
  return el(
    "div",
    { className: "wide" },
    el("table", {}, el("thead", {}, head), el("tbody", {}, ...listed.map((k) => splitRow(ui, k)))),
  );
}

function splitRow(ui, k) {
  const { table, open } = ui.data,
    w = splitWords(ui),
    button = el("button", { type: "button", textContent: String(k + 1), title: w.open(k + 1) });
  button.setAttribute("aria-label", w.open(k + 1));
  const values = ["tp", "pp", "dp", "interleave", "micro_batch"].map((name) => table[name][k]),
    way = shortWay(table.data[k]),
    about = table.timed[k] ? "" : "≈ ",
    figures = [about + fmtSpan(table.time[k]), three(table.memory[k] / 1e9)],
    texts = [...values, way, table.recompute[k], ...figures, reasonOf(table, k, w)],
    row = el("tr", { className: k === open ? "open" : "" }, el("td", {}, button));
  row.append(...texts.map((text) => el("td", { textContent: String(text) })));
  row.addEventListener("click", () => ui.act({ what: "open", row: k }));
  return row;
}

/** "ZeRO-1" of `zero(1, reduce_dtype='float32')`: the rest is the same in all rows. */
export function shortWay(call) {
  const [, name, stage] = /^(\w+)\((\d?)/.exec(call) ?? [];
  return name === "zero" ? `ZeRO-${stage}` : (name ?? "").toUpperCase();
}

/** Against the fastest: the two parts of the time that grew most. */
export function reasonOf(table, k, w) {
  if (k === 0) return w.fastest;
  const grew = table.parts[k].map((value, i) => [value - table.parts[0][i], w.parts[i]]).sort((a, b) => b[0] - a[0]),
    sign = (x) => `${x < 0 ? "−" : "+"}${fmtSpan(Math.abs(x))}`,
    two = grew.slice(0, 2).filter(([more]) => more > 0.005 * table.time[0]);
  const rest = two.map(([more, name]) => `${name} ${sign(more)}`).join(", ");
  return `${sign(table.time[k] - table.time[0])}${rest ? `: ${rest}` : ""}`;
}

function clickDot(ui, ev) {
  const box = ui.dots.getBoundingClientRect(),
    row = nearestDot(ui.data.table, ui.scales, ev.clientX - box.left, ev.clientY - box.top);
  if (row >= 0) ui.act({ what: "open", row });
}

export default component((box, data, send) => {
  const shown = createSplit(box, { act: (what) => send.trigger("act", what) });
  return { update: shown.setData, destroy: shown.destroy };
});
