// Runs go on where they were left in a browser tab.  node --test tests/js
import assert from "node:assert/strict";
import test, { beforeEach } from "node:test";
import { createClock } from "../../collsim/viz/player/model/clock.js";
import { withPlayback } from "../../collsim/viz/player/playback.js";

const SECONDS = 10;
let listeners = [];
let stored = null;

/** The page is loaded again, or first: nothing of the page before is left but what the browser stores. */
function loadPage(type) {
  listeners = [];
  delete globalThis.collsimPlaybacks;
  Object.defineProperty(globalThis, "performance", {
    configurable: true,
    value: { getEntriesByType: () => [{ type }], now: () => 0 },
  });
}

const leavePage = () => listeners.forEach((listener) => listener());

beforeEach(() => {
  stored = null;
  globalThis.sessionStorage = { getItem: () => stored, setItem: (_, text) => (stored = text) };
  globalThis.addEventListener = (name, listener) => name === "pagehide" && listeners.push(listener);
  globalThis.requestAnimationFrame = () => 0;
  globalThis.cancelAnimationFrame = () => {};
  loadPage("navigate");
});

/** A component of a page that shows a run of ten seconds. */
function mount(kind = "run", more = {}) {
  const clock = createClock();
  clock.on(() => {}, SECONDS, 1);
  const view = { clock, update: (data) => data.t != null && clock.seek(data.t), destroy() {}, ...more };
  return { clock, ...withPlayback(kind, view) };
}

async function leaveAt(t, data, playing = true) {
  const first = mount();
  await first.update(data);
  first.clock.setSpeed(4);
  first.clock.seek(t);
  if (playing) first.clock.play();
  return first;
}

const stateOf = ({ t, playing, speed }) => ({ t, playing, speed });

test("another component that shows the same run goes on from its moment, at its speed, playing", async () => {
  const first = await leaveAt(3, { id: "ring" });
  const beforeItWent = mount();
  await beforeItWent.update({ id: "ring" });
  assert.deepEqual(stateOf(beforeItWent.clock), { t: 3, playing: true, speed: 4 });
  beforeItWent.destroy();
  first.destroy();
  const afterwards = mount();
  await afterwards.update({ id: "ring" });
  assert.deepEqual(stateOf(afterwards.clock), { t: 3, playing: true, speed: 4 });
});

test("nothing plays or seeks beyond the limit of a clock, and it plays on once there is none", () => {
  const clock = createClock(),
    frames = [];
  globalThis.requestAnimationFrame = (act) => frames.push(act);
  clock.on(() => {}, SECONDS, 1);
  clock.limit = 3;
  clock.seek(7);
  assert.equal(clock.t, 3);
  clock.seek(2.99);
  clock.play();
  for (let now = 1000; frames.length && now < 3000; now += 50) frames.shift()(now);
  assert.deepEqual(stateOf(clock), { t: 3, playing: false, speed: 1 });
  clock.limit = null;
  clock.seek(7);
  assert.equal(clock.t, 7);
});

test("a reload keeps the moment, a link that is followed does not", async () => {
  for (const [type, t] of [
    ["reload", 3],
    ["navigate", 0],
  ]) {
    loadPage("navigate");
    await leaveAt(3, { id: "ring" });
    leavePage();
    loadPage(type);
    const next = mount();
    await next.update({ id: "ring" });
    assert.deepEqual(stateOf(next.clock), { t, playing: t > 0, speed: t > 0 ? 4 : 1 }, type);
  }
});

test("another run, another kind and another moment in the address begin as they say", async () => {
  (await leaveAt(3, { id: "ring", t: 1 })).destroy();
  for (const [kind, data, t] of [
    ["run", { id: "tree" }, 0],
    ["race", { id: "ring", t: 1 }, 1],
    ["run", { id: "ring", t: 2 }, 2],
    ["run", { id: "ring" }, 0],
    ["run", { id: "ring", t: 1 }, 3],
  ]) {
    const next = mount(kind);
    await next.update(data);
    assert.equal(next.clock.t, t, JSON.stringify([kind, data]));
    if (t !== 3) next.destroy();
    (await leaveAt(3, { id: "ring", t: 1 })).destroy();
  }
});

test("after a while off the page a run stands where it was, and does not play by itself", async (context) => {
  context.mock.timers.enable({ apis: ["Date"], now: 0 });
  (await leaveAt(3, { id: "ring" })).destroy();
  context.mock.timers.tick(60_000);
  const next = mount();
  await next.update({ id: "ring" });
  assert.deepEqual(stateOf(next.clock), { t: 3, playing: false, speed: 4 });
});

test("a component that gets another run keeps what it does, and its first run's moment for later", async () => {
  const first = await leaveAt(3, { id: "ring" });
  await first.update({ id: "tree" });
  assert.deepEqual(stateOf(first.clock), { t: 3, playing: true, speed: 4 }, "whoever shows runs decides");
  first.clock.seek(5);
  first.destroy();
  const next = mount();
  await next.update({ id: "ring" });
  assert.equal(next.clock.t, 3);
});

test("data that arrive late are resumed when they are there, and only the last ones", async () => {
  (await leaveAt(3, { id: "ring" })).destroy();
  const arrivals = [];
  const next = mount("run", { update: () => new Promise((arrive) => arrivals.push(arrive)) });
  const first = next.update({ id: "ring", language: "en" }),
    second = next.update({ id: "ring", language: "zh" });
  arrivals[0]();
  await first;
  assert.equal(next.clock.t, 0);
  arrivals[1]();
  await second;
  assert.equal(next.clock.t, 3);
});

test("a component that went before its data came leaves what was stored", async () => {
  (await leaveAt(3, { id: "ring" })).destroy();
  const gone = mount("run", { update: () => new Promise(() => {}) });
  gone.update({ id: "ring" });
  gone.destroy();
  const next = mount();
  await next.update({ id: "ring" });
  assert.equal(next.clock.t, 3);
});

test("what a component saves it gets back, and whether it may play", async () => {
  const restored = [];
  const more = { clock: undefined, save: () => ({ row: 2 }), restore: (...saved) => restored.push(saved), update() {} };
  const first = mount("lab", more);
  await first.update({ id: "a" });
  first.destroy();
  await mount("lab", more).update({ id: "a" });
  assert.deepEqual(restored, [[{ row: 2 }, true]]);
});

test("a browser without storage starts again", async () => {
  const refuse = () => {
    throw new Error("denied");
  };
  globalThis.sessionStorage = { getItem: refuse, setItem: refuse };
  await leaveAt(3, { id: "ring" });
  leavePage();
  loadPage("reload");
  const next = mount();
  await next.update({ id: "ring" });
  assert.equal(next.clock.t, 0);
});
