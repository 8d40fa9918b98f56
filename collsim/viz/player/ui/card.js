// The card: its elements, without any data in them.

import { el, icon } from "../draw/elements.js";
import { createShell } from "./shell.js";
import menuSheet from "../export/menu.css" with { type: "text" };
import playerSheet from "./player.css" with { type: "text" };

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

const ICON_BUTTONS = ["first", "back", "next", "wrong", "loop", "busy", "link", "full"];

/** The elements of a player by name, put together in `host`; `arrange()` is called at another width. */
export function buildCard(host, arrange) {
  const entries = [...Object.entries(PARTS), ...ICON_BUTTONS.map(button)],
    parts = Object.fromEntries(entries.map(([name, [tag, properties]]) => [name, el(tag, properties)]));
  for (const name of ICON_BUTTONS) parts[name].append(icon(name));
  const group = (className, ...kids) => el("span", { className }, ...kids);
  parts.stage.append(parts.base, parts.live);
  parts.left.append(parts.crumbs, parts.stage, parts.note, parts.kinds, parts.legend);
  parts.right.append(el("h3", parts.matrixTitle, parts.channelLabel), parts.matrix);
  parts.tr.append(
    group("g lead", parts.first, parts.back, parts.play, parts.next),
    group("g", parts.stepno, parts.clock, parts.speedWord, parts.speeds, parts.real),
    group("gap"),
    group("g tools", parts.wrong, parts.loop, parts.busy, parts.link, parts.full),
  );
  parts.modes.append(parts.chart, parts.mode);
  parts.scrub.append(parts.scrubCanvas);
  parts.scrubBox.append(parts.scrub, parts.modes);
  parts.tabs.append(parts.tabList);
  parts.rows.append(parts.rowsCanvas);
  parts.foot.append(parts.textlink);
  parts.panel.append(parts.rows);
  parts.nar.append(parts.say, parts.views);
  parts.mid.append(parts.left, parts.right);
  parts.running.append(parts.runs, parts.line, parts.counter);
  parts.body.append(
    parts.nar,
    parts.mid,
    parts.running,
    parts.tr,
    parts.scrubBox,
    parts.tabs,
    parts.panel,
    parts.foot,
    parts.words,
  );
  parts.card.append(el("div.load"), parts.error, parts.body, parts.toast, parts.tip);
  const shell = createShell(
    host,
    { className: "cs", css: [menuSheet, playerSheet], isFocusable: true, arrange },
    parts.head,
    parts.card,
  );
  shell.root.setAttribute("aria-label", "collsim player");
  return { ...parts, root: shell.root, remove: shell.remove };
}
