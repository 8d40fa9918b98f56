// What all pictures share: the marks of an axis, the root of a component, the controls of a clock.

import assert from "node:assert/strict";
import test from "node:test";

import { TOKENS } from "../../collsim/viz/player/model/look.js";
import { timeMarks } from "../../collsim/viz/player/model/units.js";
import { dressRoot } from "../../collsim/viz/player/ui/shell.js";
import { dragTime, shareMoment, transportKeys, turnTo } from "../../collsim/viz/player/ui/transport.js";

/** A clock that notes what is done to it. */
function clockOf(t, total) {
  const clock = { t, total, speed: 1, playing: false, done: [] };
  return Object.assign(clock, {
    seek: (to) => clock.done.push(["seek", to]),
    pause: () => clock.done.push(["pause"]),
    play: () => clock.done.push(["play"]),
    setSpeed: (speed) => clock.done.push(["speed", speed]),
  });
}

/** An element that keeps its listeners; `send(kind, event)` calls them. */
function boxOf() {
  const heard = {};
  return {
    captured: [],
    addEventListener: (kind, act) => (heard[kind] = act),
    setPointerCapture(id) {
      this.captured.push(id);
    },
    send: (kind, event = {}) => heard[kind]({ pointerType: "mouse", pointerId: 7, target: "track", ...event }),
  };
}

test("an axis begins with 0 and the unit, and its marks are round and inside the run", () => {
  const marks = timeMarks(0.0123, 5);
  assert.equal(marks[0].text, "0\u00a0ms");
  assert.deepEqual(marks.map(({ text }) => text).slice(1), ["5", "10"]);
  assert.ok(marks.every(({ t }) => t <= 0.0123));
  assert.deepEqual(
    timeMarks(2, 2).map(({ t }) => t),
    [0, 1, 2],
  );
  assert.equal(timeMarks(0, 5).length, 1);
});

test("a root takes the colours of its theme, those of a picture beside them, and the language", () => {
  const colors = {},
    root = { style: { setProperty: (name, value) => (colors[name] = value) } };
  const taken = dressRoot(root, { theme: "dark", language: "zh" }, { dark: { extra: "#123456" } });
  assert.equal(root.lang, "zh-CN");
  assert.equal(colors["--card"], TOKENS.dark.card);
  assert.equal(colors["--extra"], "#123456");
  assert.equal(root.style.colorScheme, "dark");
  assert.equal(taken, TOKENS.dark);
  dressRoot(root, { theme: undefined, language: "en" });
  assert.equal(root.lang, "en");
  assert.equal(colors["--card"], TOKENS.light.card);
  assert.equal(root.style.colorScheme, "light");
});

test("keys play, turn, change the speed and go to both ends", () => {
  const clock = clockOf(1, 4),
    turns = [],
    keys = transportKeys({ root: {}, clock, turn: (by) => turns.push(by) });
  for (const key of [" ", "Home", "End", "[", "]", "ArrowRight", "PageUp"]) keys[key]();
  assert.deepEqual(clock.done, [["play"], ["seek", 0], ["seek", 4], ["speed", 1 / 4], ["speed", 4]]);
  assert.deepEqual(turns, [1, -1]);
});

test("a turn stops at the next moment that is far enough, and at an end where there is none", () => {
  const moments = [0, 1, 1.001, 3],
    turned = (t, by) => {
      const clock = clockOf(t, 4);
      turnTo(clock, moments, by, 0.01);
      return clock.done;
    };
  assert.deepEqual(turned(1, 1), [["pause"], ["seek", 3]]);
  assert.deepEqual(turned(3, 1), [["pause"], ["seek", 4]]);
  assert.deepEqual(turned(1.001, -1), [["pause"], ["seek", 0]]);
});

test("a pointer that is held down on the track moves time, and a finger scrolls the page where it should", () => {
  const seen = [],
    box = boxOf();
  dragTime(box, (event) => seen.push(event.x), { isTrack: ({ target }) => target === "track", isScrolled: true });
  box.send("pointermove", { x: 0 });
  box.send("pointerdown", { x: 1 });
  box.send("pointermove", { x: 2 });
  box.send("pointerup");
  box.send("pointermove", { x: 3 });
  box.send("pointerdown", { x: 4, target: "button" });
  box.send("pointermove", { x: 5 });
  box.send("pointerdown", { x: 6, pointerType: "touch" });
  box.send("pointermove", { x: 7, pointerType: "touch" });
  assert.deepEqual(seen, [1, 2, 6]);
  assert.deepEqual(box.captured, [7], "a finger is not captured");
  box.send("pointerup");
  for (const [kind, x] of [
    ["pointerdown", 10],
    ["pointermove", 11],
    ["pointermove", 14],
    ["pointermove", 11],
  ])
    box.send(kind, { x, clientX: x });
  assert.deepEqual(seen.slice(3), [10, 14, 11], "a press that trembles is a click, until it is dragged");
});

test("a link to a moment keeps the address; a file, and a page that reads it there, has it behind the #", async () => {
  const told = [],
    page = /** @type {any} */ (globalThis),
    words = { noLink: "no link", copied: "copied" },
    share = (href, values, isHash = false) => {
      page.location = new URL(href);
      return shareMoment(values, { root: null, words, tell: (text) => told.push(text), isHash });
    },
    copies = [];
  Object.defineProperty(globalThis, "navigator", {
    configurable: true,
    value: { clipboard: { writeText: async (text) => copies.push(text) } },
  });
  await share("http://host/race?node=1&nbytes=4", { t: 1.23456789e-3, view: "logical", node: null });
  await share("file:///race.html#step=3", { t: 2 });
  await share("https://host/run.html", { t: 2, lang: "zh" }, true);
  await share("about:srcdoc", { t: 2 });
  assert.deepEqual(copies, [
    "http://host/race?nbytes=4&t=0.00123457&view=logical",
    "file:///race.html#t=2",
    "https://host/run.html#t=2&lang=zh",
  ]);
  assert.deepEqual(told, ["copied", "copied", "copied", "no link"]);
});
