// One clock can drive several players.

import { clean } from "./order.js";

export const SPEEDS = [
  [1 / 16, "1/16"],
  [1 / 4, "1/4"],
  [1, "1"],
  [4, "4"],
  [16, "16"],
];

/**
 * A clock in simulated seconds. Players subscribe; a race gives one clock to several players (opts.clock), each of
 * which shows min(t, its own end). `base` is simulated seconds per second on screen at speed 1. Nothing plays or seeks
 * beyond `limit`, while there is one.
 */
export function createClock() {
  const timer = { subs: new Map(), frame: 0, last: 0 };
  const clock = {
    t: 0,
    playing: false,
    speed: 1,
    base: 0,
    total: 0,
    loop: null,
    until: null,
    limit: null,
    on: (fn, total = 0, base = 0) => subscribe(clock, timer, fn, { total, base }),
    seek(t) {
      clock.until = null;
      clock.t = Math.min(clock.limit ?? clock.total, clock.total, Math.max(0, clean(t)));
      tell(clock, timer, "seek");
    },
    play: (until = null) => start(clock, timer, until),
    pause() {
      if (!clock.playing) return;
      stop(clock);
      cancelAnimationFrame(timer.frame);
      tell(clock, timer, "pause");
    },
    setSpeed(x) {
      clock.speed = x;
      tell(clock, timer, "speed");
    },
  };
  return clock;
}

function subscribe(clock, timer, fn, lasts) {
  timer.subs.set(fn, lasts);
  measureRuns(clock, timer);
  return () => {
    timer.subs.delete(fn);
    measureRuns(clock, timer);
  };
}

function measureRuns(clock, { subs }) {
  clock.total = Math.max(0, ...[...subs.values()].map((v) => v.total));
  clock.base = Math.max(0, ...[...subs.values()].map((v) => v.base));
  clock.t = Math.min(clock.t, clock.total);
}

function tell(clock, { subs }, cause) {
  for (const fn of [...subs.keys()]) fn(clock, cause);
}

function start(clock, timer, until) {
  if (!(clock.total > 0)) return;
  if (clock.t >= clock.total) clock.t = 0;
  clock.until = until;
  if (!clock.playing) {
    clock.playing = true;
    timer.last = 0;
    timer.frame = requestAnimationFrame((now) => tick(clock, timer, now));
  }
  tell(clock, timer, "play");
}

function stop(clock) {
  clock.playing = false;
  clock.until = null;
}

function tick(clock, timer, now) {
  if (!clock.playing) return;
  const dt = timer.last ? Math.min(0.1, (now - timer.last) / 1000) : 0; // a hidden tab must not leap
  timer.last = now;
  let t = clock.t + dt * clock.base * clock.speed,
    end = Math.min(clock.limit ?? clock.total, clock.total);
  if (clock.loop) {
    const [a, b] = clock.loop;
    if (t >= Math.min(b, end) || t < a) t = a;
  } else if (clock.until != null) end = Math.min(end, clock.until);
  clock.t = Math.min(t, end);
  if (clock.t >= end && !clock.loop) {
    stop(clock);
    tell(clock, timer, "end");
    return;
  }
  tell(clock, timer, "tick");
  if (clock.playing) timer.frame = requestAnimationFrame((at) => tick(clock, timer, at));
}

/** The next faster (1) or slower (-1) of the speeds; from one that is none of them as from 1. */
export function changeSpeed(clock, by) {
  const q = SPEEDS.findIndex(([v]) => v === clock.speed);
  clock.setSpeed(SPEEDS[Math.min(SPEEDS.length - 1, Math.max(0, (q < 0 ? 2 : q) + by))][0]);
}
