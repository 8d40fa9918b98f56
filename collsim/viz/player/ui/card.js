// The card: its elements, without any data in them.

import { el, icon } from "../draw/elements.js";
import { createShell } from "./shell.js";
import { CSS } from "./style.js";

const seg = (size = "") => ["span", { className: `seg${size}`, role: "group" }];
const part = (className, more = {}) => ["div", { className, ...more }];
const inline = (className) => ["span", { className }];
const textButton = (className) => ["button", { type: "button", className }];
const button = (name) => [name, ["button", { type: "button", className: "btn" }]];

/** The elements by name: tag and properties. */
const PARTS = {
  say: ["p", { className: "say", "aria-live": "polite" }],
  views: seg(),
  base: ["canvas"],
  live: ["canvas", { role: "img" }],
  note: part("note"),
  crumbs: ["nav", { className: "crumbs" }],
  stage: part("stage"),
  kinds: part("kinds"),
  legend: part("legend"),
  left: part("left"),
  matrixTitle: ["span"],
  channel: ["select"],
  channelLabel: ["label"],
  matrix: ["canvas", { role: "img" }],
  right: part("right"),
  play: textButton("btn play"),
  stepno: inline("stepno"),
  clock: inline("clock"),
  speedWord: inline("dim speedword"),
  speeds: seg(),
  real: inline("dim real"),
  tr: part("tr"),
  scrubCanvas: ["canvas"],
  chart: seg(" small"),
  mode: seg(" small"),
  modes: part("modes"),
  scrub: part("scrub", { role: "slider", tabIndex: 0 }),
  scrubBox: part("panel keep"),
  tabList: part("tablist", { role: "tablist" }),
  tabs: part("tabs"),
  rowsCanvas: ["canvas", { role: "img" }],
  rows: part("rows"),
  words: part("words", { tabIndex: 0 }),
  textlink: textButton("textlink"),
  patterns: textButton("textlink"),
  foot: part("foot"),
  running: part("running"),
  runs: inline("dim"),
  line: ["code"],
  counter: inline("counter"),
  panel: part("panel"),
  tip: part("tip", { role: "tooltip" }),
  toast: part("toast", { role: "status" }),
  nar: part("nar"),
  mid: part("mid"),
  body: part("body"),
  error: part("error", { role: "alert" }),
  head: part("head"),
  card: ["section", { className: "card" }],
};

const ICON_BUTTONS = ["first", "back", "next", "wrong", "loop", "busy", "link", "png", "full"];

/** The elements of a player by name, put together in `host`; `arrange()` is called at another width. */
export function buildCard(host, arrange) {
  const entries = [...Object.entries(PARTS), ...ICON_BUTTONS.map(button)],
    d = Object.fromEntries(entries.map(([name, [tag, properties]]) => [name, el(tag, properties)]));
  for (const name of ICON_BUTTONS) d[name].append(icon(name));
  const group = (className, ...kids) => el("span", { className }, ...kids);
  d.stage.append(d.base, d.live);
  d.left.append(d.crumbs, d.stage, d.note, d.kinds, d.legend);
  d.right.append(el("h3", {}, d.matrixTitle, d.channelLabel), d.matrix);
  d.tr.append(
    group("g lead", d.first, d.back, d.play, d.next),
    group("g", d.stepno, d.clock, d.speedWord, d.speeds, d.real),
    group("gap"),
    group("g tools", d.wrong, d.loop, d.busy, d.link, d.png, d.full),
  );
  d.modes.append(d.chart, d.mode);
  d.scrub.append(d.scrubCanvas);
  d.scrubBox.append(d.scrub, d.modes);
  d.tabs.append(d.tabList);
  d.rows.append(d.rowsCanvas);
  d.foot.append(d.textlink);
  d.panel.append(d.rows);
  d.nar.append(d.say, d.views);
  d.mid.append(d.left, d.right);
  d.running.append(d.runs, d.line, d.counter);
  d.body.append(d.nar, d.mid, d.running, d.tr, d.scrubBox, d.tabs, d.panel, d.foot, d.words);
  d.card.append(el("div", { className: "load" }), d.error, d.body, d.toast, d.tip);
  const shell = createShell(host, { className: "cs", css: CSS, isFocusable: true, arrange }, d.head, d.card);
  shell.root.setAttribute("aria-label", "collsim player");
  return { ...d, root: shell.root, remove: shell.remove };
}
