// One clock can drive several players.

import { clean } from "./model.js";

export const SPEEDS = [
  [1 / 16, "1/16"],
  [1 / 4, "1/4"],
  [1, "1"],
  [4, "4"],
  [16, "16"],
];

/**
 * A clock in simulated seconds. Players subscribe; a race gives one clock to several players (opts.clock), each of
 * which shows min(t, its own end). `base` is simulated seconds per second on screen at speed 1.
 */
export function createClock() {
  const subs = new Map();
  let frame = 0,
    last = 0;
  const clock = {
    t: 0,
    playing: false,
    speed: 1,
    base: 0,
    total: 0,
    loop: null,
    until: null,
    on(fn, total = 0, base = 0) {
      subs.set(fn, { total, base });
      retotal();
      return () => {
        subs.delete(fn);
        retotal();
      };
    },
    seek(t) {
      clock.until = null;
      clock.t = Math.min(clock.total, Math.max(0, clean(t)));
      tell("seek");
    },
    play(until = null) {
      if (!(clock.total > 0)) return;
      if (clock.t >= clock.total) clock.t = 0;
      clock.until = until;
      if (!clock.playing) {
        clock.playing = true;
        last = 0;
        frame = requestAnimationFrame(tick);
      }
      tell("play");
    },
    pause() {
      if (!clock.playing) return;
      clock.playing = false;
      clock.until = null;
      cancelAnimationFrame(frame);
      tell("pause");
    },
    setSpeed(x) {
      clock.speed = x;
      tell("speed");
    },
  };
  function retotal() {
    clock.total = Math.max(0, ...[...subs.values()].map((v) => v.total));
    clock.base = Math.max(0, ...[...subs.values()].map((v) => v.base));
    clock.t = Math.min(clock.t, clock.total);
  }
  function tell(why) {
    for (const fn of [...subs.keys()]) fn(clock, why);
  }
  function tick(now) {
    if (!clock.playing) return;
    const dt = last ? Math.min(0.1, (now - last) / 1000) : 0; // a hidden tab must not leap
    last = now;
    let t = clock.t + dt * clock.base * clock.speed,
      stop = clock.total;
    if (clock.loop) {
      const [a, b] = clock.loop;
      if (t >= b || t < a) t = a;
    } else if (clock.until != null) stop = Math.min(stop, clock.until);
    clock.t = Math.min(t, stop);
    if (clock.t >= stop && !clock.loop) {
      clock.playing = false;
      clock.until = null;
      tell("end");
      return;
    }
    tell("tick");
    if (clock.playing) frame = requestAnimationFrame(tick);
  }
  return clock;
}
