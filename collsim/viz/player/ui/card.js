// The card: its elements, without any data in them.

import { el, icon } from "../draw/elements.js";
import { CSS } from "./style.js";

export function buildCard(host) {
  const d = {};
  const button = (name, cls = "btn") => (d[name] = el("button", { type: "button", className: cls }, icon(name)));
  d.root = el("div", { className: "cs", tabIndex: 0, role: "group", "aria-label": "collsim player" });
  d.say = el("p", { className: "say", "aria-live": "polite" });
  d.views = el("span", { className: "seg", role: "group" });
  d.base = el("canvas", {});
  d.live = el("canvas", { role: "img" });
  d.note = el("div", { className: "note" });
  d.stage = el("div", { className: "stage" }, d.base, d.live);
  d.kinds = el("div", { className: "kinds" });
  d.legend = el("div", { className: "legend" });
  d.left = el("div", { className: "left" }, d.stage, d.note, d.kinds, d.legend);
  d.matrixTitle = el("span");
  d.channel = el("select", {});
  d.channelLabel = el("label", {});
  d.matrix = el("canvas", { role: "img" });
  d.right = el("div", { className: "right" }, el("h3", {}, d.matrixTitle, d.channelLabel), d.matrix);
  d.play = el("button", { type: "button", className: "btn play" });
  d.stepno = el("span", { className: "stepno" });
  d.clock = el("span", { className: "clock" });
  d.speedWord = el("span", { className: "dim speedword" });
  d.speeds = el("span", { className: "seg", role: "group" });
  d.real = el("span", { className: "dim real" });
  d.tr = el(
    "div",
    { className: "tr" },
    el("span", { className: "g lead" }, button("first"), button("back"), d.play, button("next")),
    el("span", { className: "g" }, d.stepno, d.clock, d.speedWord, d.speeds, d.real),
    el("span", { className: "gap" }),
    el(
      "span",
      { className: "g" },
      button("wrong"),
      button("loop"),
      button("busy"),
      button("link"),
      button("png"),
      button("full"),
    ),
  );
  d.scrubCanvas = el("canvas");
  d.chart = el("span", { className: "seg small", role: "group" });
  d.mode = el("span", { className: "seg small", role: "group" });
  d.modes = el("div", { className: "modes" }, d.chart, d.mode);
  d.scrub = el("div", { className: "scrub", role: "slider", tabIndex: 0 }, d.scrubCanvas);
  d.scrubBox = el("div", { className: "panel keep" }, d.scrub, d.modes);
  d.tabList = el("div", { className: "tablist", role: "tablist" });
  d.tabs = el("div", { className: "tabs" }, d.tabList);
  d.rowsCanvas = el("canvas", { role: "img" });
  d.rows = el("div", { className: "rows" }, d.rowsCanvas);
  d.words = el("div", { className: "words", tabIndex: 0 });
  d.textlink = el("button", { type: "button", className: "textlink" });
  d.patterns = el("button", { type: "button", className: "textlink" });
  d.foot = el("div", { className: "foot" }, d.textlink);
  d.panel = el("div", { className: "panel" }, d.rows);
  d.tip = el("div", { className: "tip", role: "tooltip" });
  d.toast = el("div", { className: "toast", role: "status" });
  d.nar = el("div", { className: "nar" }, d.say, d.views);
  d.mid = el("div", { className: "mid" }, d.left, d.right);
  d.body = el("div", { className: "body" }, d.nar, d.mid, d.tr, d.scrubBox, d.tabs, d.panel, d.foot, d.words);
  d.error = el("div", { className: "error", role: "alert" });
  d.head = el("div", { className: "head" });
  d.card = el("section", { className: "card" }, el("div", { className: "load" }), d.error, d.body, d.toast, d.tip);
  d.root.append(el("style", { textContent: CSS }), d.head, d.card);
  host.append(d.root);
  return d;
}
