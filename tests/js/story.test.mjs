// The words of the story and of the simple page are whole in both languages, and the story's numbers are arithmetic.

import assert from "node:assert/strict";
import test from "node:test";

import { index } from "../../collsim/viz/player/model/model.js";
import { sentAt } from "../../collsim/viz/player/model/sent.js";
import { pairsOf, placeTrack, trackOf } from "../../collsim/viz/simple/track.js";
import { SIMPLE as SIMPLE_WORDS } from "../../collsim/viz/words/words.js";
import { CHAPTERS } from "../../collsim/viz/story/figures.js";
import { chipText, reckon, spoken, timeOf, total } from "../../collsim/viz/story/values.js";
import { STORY as STORY_WORDS } from "../../collsim/viz/words/words.js";
import { ring4 } from "./runs.mjs";

/** Names of all words, with those inside. */
const names = (words, at = "") =>
  Object.entries(words).flatMap(([name, value]) =>
    value && typeof value === "object" ? names(value, `${at}${name}.`) : [`${at}${name}: ${typeof value}`],
  );

const marks = (text) => (text.match(/\[\w+\]|\{\w+\}/g) ?? []).sort();

test("both languages have the same words, chips and numbers", () => {
  assert.deepEqual(names(STORY_WORDS.zh), names(STORY_WORDS.en));
  assert.deepEqual(names(SIMPLE_WORDS.zh), names(SIMPLE_WORDS.en));
  for (const { key, shares } of CHAPTERS) {
    const [texts, others] = ["en", "zh"].map((language) => Object.values(STORY_WORDS[language].chapters[key].text));
    assert.equal(texts.length, shares.length, "a moment for each paragraph");
    assert.deepEqual(others.map(marks), texts.map(marks));
  }
});

/** A table as Python makes it, for two numbers of ranks, by hand. */
const row = (steps, share, added = 0) => ({ steps, share, added });
const DATA = {
  start: {
    ...{ n: 8, more: 16, far: 128, many: 64, size: 2 ** 28, small: 2 ** 20, rate: 25e9, alpha: 2e-6, gamma: 0 },
    ...{ channels: 8, bucket: 0 },
  },
  ranks: [8, 16, 64, 128],
  costs: {
    server: [row(2, 14), row(2, 30), row(2, 126), row(2, 254)],
    ring: [row(14, 1.75, 0.875), row(30, 1.875, 0.9375), row(126, 1.96875, 0.984375), row(254, 1.984375, 0.9921875)],
    halving: [row(6, 1.75), row(8, 1.875), row(12, 1.96875), row(14, 1.984375)],
  },
  bytes: [8, 16, 64, 128].map((n) => ({ server: n - 1, other: 1, saves: 0.5, rest: 0 })),
  cards: { nbytes: 2 ** 28, channels: [1, 2, 4, 8].map((c) => ({ channels: c, cards: c, time: 0.02 / c })) },
  training: { steps: [{ buckets: 5, time: 0.03, apart: 0.05, exposed: 0.003, boxes: [], waits: [] }] },
};

test("every number that a text names is computed, in both languages", () => {
  for (const language of ["en", "zh"]) {
    const words = STORY_WORDS[language],
      values = DATA.start,
      texts = spoken(values, reckon(DATA, values), words),
      all = Object.values(words.chapters).flatMap(({ text }) => Object.values(text).flatMap(marks));
    assert.ok(all.length > 30);
    for (const mark of all) {
      const name = mark.slice(1, -1);
      if (mark[0] === "[") assert.ok(chipText(name, values[name], words, DATA) && words.names[name], mark);
      else assert.match(texts[name], /\d/, mark);
    }
  }
});

/** Texts that a chapter's picture draws at a share of its time, on a canvas of 700 x 310 pixels that measures nothing. */
function textsDrawn(key, share, words = STORY_WORDS.en) {
  const drawn = [],
    colors = new Proxy({}, { get: () => "#000" }),
    values = DATA.start,
    facts = reckon(DATA, values);
  const ctx = new Proxy(
    {},
    {
      get: (_, name) => {
        if (name === "fillText") return (text) => drawn.push(text);
        if (name === "measureText") return (text) => ({ width: 6 * text.length });
        return () => {};
      },
      set: () => true,
    },
  );
  const of = { w: 700, h: 310, colors, v: values, r: facts, said: spoken(values, facts, words), slim: false };
  CHAPTERS.find((chapter) => chapter.key === key).draw(ctx, {
    ...of,
    data: { ...DATA, rings: {} },
    share,
    words: words.figure,
  });
  return drawn;
}

test("a server that all send to at once has a part of every gradient, and no whole one before the end", () => {
  const drawn = textsDrawn("server", 0.2); // of the time in which it collects and gives back: 40 % of the first half
  assert.ok(
    drawn.some((text) => text.includes("40\u00a0%")),
    drawn.join("|"),
  );
  assert.ok(!drawn.some((text) => /has \d of 7/.test(text)), drawn.join("|"));
});

test("times are steps, bytes and additions", () => {
  const at = { n: 8, size: 2 ** 28, rate: 25e9, alpha: 2e-6, gamma: 1e-11 },
    parts = timeOf(DATA, "ring", at);
  assert.ok(Math.abs(parts.starting - 28e-6) < 1e-15);
  assert.ok(Math.abs(parts.sending - (1.75 * 2 ** 28) / 25e9) < 1e-12);
  assert.ok(Math.abs(parts.adding - 0.875 * 2 ** 28 * 1e-11) < 1e-12);
  assert.equal(total(parts), parts.starting + parts.sending + parts.adding);
  const texts = spoken(DATA.start, reckon(DATA, DATA.start), STORY_WORDS.en);
  assert.equal(texts.serverTime, "150\u00a0ms");
  assert.equal(texts.sent, "448\u00a0MiB");
  assert.equal(texts.ringTime, "18.8\u00a0ms");
});

test("a ring is one loop, and its ranks count what they send", () => {
  const m = index(ring4()),
    track = trackOf(m);
  assert.deepEqual(track.order, [0, 1, 2, 3]);
  assert.deepEqual([...sentAt(m, 0)], [0, 0, 0, 0]);
  assert.deepEqual([...sentAt(m, 2.5)], [250, 250, 250, 250]); // two steps of 100 bytes and half a third
  assert.deepEqual([...sentAt(m, m.total)], [600, 600, 600, 600]);
});

test("ranks of a loop stand apart, inside the picture, wide and narrow", () => {
  const m = index(ring4()),
    pairs = pairsOf(m);
  for (const [w, h, slim] of [
    [1200, 400, false],
    [366, 300, true],
  ]) {
    const boxes = [...placeTrack(trackOf(m), pairs, w, h, slim).boxes.values()];
    for (const a of boxes) {
      assert.ok(a.x >= 0 && a.y >= 0 && a.x + a.w <= w && a.y + a.h <= h);
      for (const b of boxes)
        assert.ok(a === b || a.x + a.w <= b.x || b.x + b.w <= a.x || a.y + a.h <= b.y || b.y + b.h <= a.y);
    }
  }
});

test("what is no ring has no loop", () => {
  const tl = ring4();
  tl.transfers.dst[0] = 2;
  assert.equal(trackOf(index(tl)), null);
});
