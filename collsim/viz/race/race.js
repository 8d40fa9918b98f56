// collsim race: two to four players on one clock, and the finish line.
//
// Each runner's stage is a player (player/player.js) without controls; nothing here draws a machine. This file adds the
// cards, the bars of bytes delivered, the flags and the one transport.

import { landedBy } from "../player/model/cells.js";
import { SPEEDS, createClock } from "../player/model/clock.js";
import { copyText } from "../player/ui/copy.js";
import { el, icon, svg } from "../player/draw/elements.js";
import { hopAt } from "../player/model/hops.js";
import { FONT, TOKENS } from "../player/model/look.js";
import { activeAt, phaseOf, stepAt } from "../player/model/model.js";
import { createPlayer } from "../player/ui/player.js";
import { textAt, unpack } from "../player/model/read.js";
import { NB, fmtBytes, fmtRate, fmtShare, niceStep, timeUnit } from "../player/model/units.js";

const RACE_SECONDS = 24; // on screen at speed 1, for the slowest runner

const RACE_WORDS = {
  en: {
    busiest: "Busiest cable carries",
    delivered: "bytes delivered, of all that must move",
    finish: "finish",
    busbw: "busbw",
    speed: "Speed",
    label: "collsim race",
    time: "Time",
    play: "Play (Space)",
    pause: "Pause (Space)",
    first: "Start (Home)",
    back: "Back (←)",
    next: "Forward (→)",
    link: "Copy a link to this moment",
    copied: "Link copied",
    full: "Full screen (F)",
    step: (s, n) => `step ${s} of ${n}`,
    place: (p) => `${p}${["th", "st", "nd", "rd"][p % 10 < 4 && (p % 100 < 11 || p % 100 > 13) ? p % 10 : 0]}`,
    of: (t, u) => `${t} of ${u}`,
    wins: (n, t) => `${n} is finished after ${t}.`,
    done: "finished",
    comma: ", ",
    value: (t, n, m) => `${t}, ${n} of ${m} finished`,
    reduce: "reduce: added on arrival; fill = share of the sum",
    copy: "copy",
    cable: "cable: width = capacity, core = bytes so far",
    used: "used:",
    wait: "landed; waits for the end of the step",
    range: [`<75${NB}%`, `75 to 95${NB}%`, `>95${NB}%`],
  },
  zh: {
    busiest: "最忙的线缆传输",
    delivered: "已送达的字节，占需传输总量的比例",
    finish: "用时",
    busbw: "busbw",
    speed: "速度",
    label: "collsim 竞速",
    time: "时间",
    play: "播放（空格）",
    pause: "暂停（空格）",
    first: "回到开头（Home）",
    back: "后退（←）",
    next: "前进（→）",
    link: "复制此刻的链接",
    copied: "链接已复制",
    full: "全屏（F）",
    step: (s, n) => `第 ${s} 步，共 ${n} 步`,
    place: (p) => `第 ${p}`,
    of: (t, u) => `${t} / ${u}`,
    wins: (n, t) => `${n} 用 ${t} 完成。`,
    done: "已完成",
    comma: "，",
    value: (t, n, m) => `${t}，${m} 个中已有 ${n} 个完成`,
    reduce: "reduce：到达后累加；填充 = 已累加的份额",
    copy: "copy",
    cable: "线缆：粗细 = 容量，芯 = 已传字节",
    used: "占用：",
    wait: "已到达，等本步结束",
    range: [`<75${NB}%`, `75–95${NB}%`, `>95${NB}%`],
  },
};

/** Bytes that have arrived by t, with the shares of those under way: what a runner has covered of its course. */
export function delivered(m, t) {
  if (!m.landedBytes) {
    m.landedBytes = new Float64Array(m.n + 1);
    for (let q = 0; q < m.n; q++) m.landedBytes[q + 1] = m.landedBytes[q] + m.bytes[m.byEnd[q]];
  }
  const at = {};
  let sum = m.landedBytes[landedBy(m, t)];
  for (const i of activeAt(m, t)) sum += m.bytes[i] * hopAt(m, i, t, at).share;
  return sum;
}

/** The share of its course, 0 to 1; a run in which nothing moves is at its end at once. */
export function progress(m, t) {
  const all = m.n ? (delivered(m, -1), m.landedBytes[m.n]) : 0;
  return all > 0 ? Math.min(1, delivered(m, t) / all) : 1;
}

/** What the current step of a runner does: its number, its phase, and whether it adds up or copies. */
export function pace(m, t, lang) {
  const s = stepAt(m, Math.min(t, m.total));
  if (s < 0) return { s: 0, phase: "", reduce: false };
  const first = m.byStep.id[m.byStep.start[s]];
  return {
    s: s + 1,
    phase: textAt(phaseOf(m, s)?.label, 0, lang),
    reduce: first !== undefined && m.reduce[first] === 1,
  };
}

const RACE_CSS = `
.rc{all:initial;display:block;position:relative;box-sizing:border-box;font:15px/1.4 ${FONT}
;color:var(--ink);font-variant-numeric:tabular-nums;outline:none;text-align:left}
.rc *{box-sizing:border-box}.rc :focus-visible,.rc:focus-visible{outline:2px solid var(--ink);outline-offset:2px}
.rc .lanes{display:grid;gap:16px;margin-bottom:16px}
.rc .lane,.rc .board{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:14px 20px 12px;
  min-width:0}
.rc .lane{display:flex;flex-direction:column}
.rc h2{margin:0;font-size:22px;line-height:28px;font-weight:700;white-space:nowrap;overflow:hidden;
  text-overflow:ellipsis}
.rc h2 small{font-size:14px;font-weight:400;color:var(--ink2);margin-left:10px}
.rc .where{font-size:14px;line-height:19px;color:var(--ink2);min-height:19px}
.rc .load{display:flex;justify-content:space-between;align-items:baseline;font-size:14px;line-height:20px;
  color:var(--ink2);margin-top:6px}
.rc .load b{font-size:16px;color:var(--ink)}.rc .hot .load b{color:var(--fulltext)}
.rc .meter{height:7px;border-radius:3px;background:var(--grid);margin:2px 0 8px}
.rc .meter i{display:block;height:7px;border-radius:3px;background:var(--ink3)}.rc .hot .meter i{background:var(--full)}
.rc .stage0{flex:1}
.rc .why{font-size:16px;line-height:23px;margin:8px 0 2px;text-wrap:pretty}
.rc .rows{display:grid;grid-template-columns:minmax(120px,280px) minmax(0,1fr) auto auto auto;align-items:center;
  column-gap:14px}
.rc .rows .h{font-size:13px;color:var(--ink2);padding-bottom:4px;align-self:end}
.rc .rows>span:first-child{padding-bottom:6px}.rc .num{text-align:right;white-space:nowrap}
.rc .name{padding:7px 0}
.rc .name b{display:block;font-size:18px;line-height:25px;overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
.rc .name small{font-size:13px;line-height:17px;color:var(--ink2);display:block}
.rc .track{position:relative;height:100%;min-height:48px;border-left:1px solid var(--edge);
  background:linear-gradient(90deg,transparent calc(25% - 1px),var(--grid) 25%,transparent calc(25% + .5px),
  transparent calc(50% - 1px),var(--grid) 50%,transparent calc(50% + .5px),transparent calc(75% - 1px),var(--grid) 75%,
  transparent calc(75% + .5px))}
.rc .track:after{content:"";position:absolute;right:0;top:0;bottom:0;width:14px;border:1.5px solid var(--ink);
  border-width:0 1.5px;
  background:conic-gradient(var(--ink) 25%,var(--card) 0 50%,var(--ink) 0 75%,var(--card) 0) 0 0/11px 11px}
.rc .bar{position:absolute;left:0;right:14px;top:50%;height:18px;margin-top:-9px;background:var(--grid)}
.rc .bar i{position:absolute;left:0;top:0;height:18px;width:0;background:var(--ink3)}
.rc .dot{position:absolute;top:-5px;width:28px;height:28px;margin-left:-14px;background:var(--card);
  border:2.4px solid var(--ink);border-radius:4px;overflow:hidden}
.rc .dot u{position:absolute;left:0;right:0;bottom:0;height:40%;background:var(--sumfill)}
.rc .dot.round{border-radius:50%;border-color:var(--card);background:var(--done)}.rc .dot.round u{display:none}
.rc .pct{position:absolute;top:-3px;font-weight:700;font-size:16px;line-height:24px;white-space:nowrap}
.rc .place{font-size:15px;color:var(--ink2)}.rc .fin{font-size:19px;font-weight:700}
.rc .bw{font-size:15px;color:var(--ink2)}
.rc .home .place{color:var(--ink);font-weight:700}.rc .late .fin{color:var(--fulltext)}
.rc .rule{grid-column:1/-1;height:1px;background:var(--grid)}
.rc .time{display:grid;grid-template-columns:minmax(120px,280px) minmax(0,1fr) 230px;column-gap:14px;align-items:end;
  border-top:1px solid var(--line);margin-top:6px;padding-top:2px}
.rc .tr{display:flex;gap:6px;align-items:center;padding-bottom:18px;flex-wrap:wrap}
.rc .scrub{position:relative;height:76px;touch-action:none;cursor:pointer}
.rc .scrub svg{position:absolute;inset:0;width:100%;height:100%;overflow:visible}
.rc .clock{font-weight:700;font-size:16px;text-align:right;padding-bottom:18px;white-space:nowrap}
.rc .end{display:flex;flex-direction:column;align-items:flex-end;gap:8px}.rc .end span:first-child{display:flex;gap:6px}
.rc button{font:inherit;color:var(--ink);cursor:pointer;margin:0}
.rc .btn{display:inline-flex;align-items:center;justify-content:center;width:36px;height:36px;border-radius:8px;
  border:1px solid var(--edge);background:var(--card);padding:0}
.rc .btn.play{width:48px;background:var(--ink);border-color:var(--ink);color:var(--card)}
.rc .btn svg{width:18px;height:18px;fill:none;stroke:currentColor;stroke-width:1.7;stroke-linejoin:round;
  stroke-linecap:round}
.rc .foot{display:flex;flex-wrap:wrap;gap:6px 22px;align-items:center;font-size:13px;line-height:20px;color:var(--ink2);
  padding:8px 6px 0}
.rc .foot span{display:inline-flex;gap:7px;align-items:center;white-space:nowrap}
.rc .foot i{width:12px;height:12px;border-radius:2px;display:inline-block}
.rc .foot .sq{width:16px;height:16px;border:2px solid var(--ink);border-radius:3px;
  background:linear-gradient(0deg,var(--sumfill) 45%,var(--card) 45%)}
.rc .foot .ci{width:15px;height:15px;border-radius:50%;background:var(--done)}
.rc .foot .wt{width:16px;height:16px;border:1.5px dashed var(--wait);border-radius:3px}
.rc .foot .pipe{width:30px;height:13px;border-radius:0;
  background:linear-gradient(0deg,var(--edge) 8%,var(--roomtint) 8% 34%,var(--room) 34% 66%,var(--roomtint) 66% 92%,
  var(--edge) 92%)}
.rc .seg{display:inline-flex;border:1px solid var(--edge);border-radius:6px;overflow:hidden;background:var(--card)}
.rc .seg button{border:0;background:none;padding:3px 9px;font-size:14px;line-height:20px;min-height:34px;
  color:var(--ink2)}
.rc .seg button+button{border-left:1px solid var(--line)}
.rc .seg button[aria-pressed=true]{background:var(--ink);color:var(--card);font-weight:700}
.rc .seg button:focus-visible{outline-offset:-4px}
.rc .bad{padding:12px 0;font-size:16px}
.rc .quiet{position:absolute;right:20px;bottom:150px;max-width:420px;overflow-wrap:anywhere;background:var(--ink);
  color:var(--card);border-radius:6px;padding:6px 12px;font-size:14px}
.rc .quiet:not(.seen){width:1px;height:1px;padding:0;overflow:hidden;clip-path:inset(50%)}
.rc.small .lane,.rc.small .board{padding:12px 14px 10px}.rc.small h2{font-size:18px;line-height:24px}
.rc.small .why{font-size:14.5px;line-height:20px}
.rc.small .rows,.rc.small .time{grid-template-columns:minmax(100px,210px) minmax(0,1fr) auto auto auto}
.rc.small .time{grid-template-columns:minmax(100px,210px) minmax(0,1fr) 150px}
.rc.small .name b,.rc.small .fin{font-size:16px}
.rc.slim .lanes{grid-template-columns:minmax(0,1fr)!important}.rc.slim .bw{display:none}
.rc:fullscreen{background:var(--bg);padding:20px;overflow:auto}
`;

/**
 * Mount a race into `host`: {runners: [{name, note, why, place, time, busbw, busiest, load, hot, timeline}], lang,
 * theme, t}.
 */
export function createRace(host, { onState } = {}) {
  const root = el("div", { className: "rc", tabIndex: 0, role: "group" }),
    lanes = el("div", { className: "lanes" }),
    board = el("div", { className: "board" }),
    foot = el("div", { className: "foot" });
  const says = el("div", { className: "quiet", "aria-live": "polite" }),
    clock = createClock();
  root.append(el("style", { textContent: RACE_CSS }), lanes, board, foot, says);
  host.append(root);
  let data = null,
    runners = [],
    ticket = 0,
    dead = false,
    parts = {},
    finished = -1,
    off = () => {};
  const W = () => RACE_WORDS[data?.lang === "zh" ? "zh" : "en"];

  async function setData(next) {
    const mine = ++ticket;
    if (data && next.id === data.id) {
      data = next;
      dress();
      return;
    }
    const found = await Promise.all(next.runners.map((r) => unpack(r.timeline)));
    if (mine !== ticket || dead) return;
    const share = data && clock.total > 0 && next.t == null ? clock.t / clock.total : 0;
    data = next;
    clock.pause();
    off();
    finished = -1;
    for (const r of runners) r.player.destroy();
    lanes.replaceChildren();
    runners = data.runners.map((r, q) => lane(found[q], q));
    await Promise.all(runners.map((r) => r.player.ready));
    if (mine !== ticket || dead) return;
    off = clock.on(onClock);
    clock.base = clock.total / RACE_SECONDS;
    dress();
    clock.seek(next.t ?? share * clock.total);
  }

  /** One card. The player reads the same timeline that the bars do. */
  function lane(timeline, q) {
    const d = {
      card: el("section", { className: "lane" }),
      title: el("span"),
      pace: el("small"),
      where: el("div", { className: "where" }),
      load: el("span"),
      most: el("b"),
      meter: el("i"),
      stage: el("div", { className: "stage0" }),
      why: el("p", { className: "why" }),
    };
    d.card.append(
      el("h2", {}, d.title, d.pace),
      d.where,
      el("div", { className: "load" }, d.load, d.most),
      el("div", { className: "meter" }, d.meter),
      d.stage,
      d.why,
    );
    lanes.append(d.card);
    const player = createPlayer(d.stage, {
      timeline,
      clock,
      lang: data.lang,
      theme: data.theme,
      view: data.view ?? "physical",
      compact: 300,
    });
    return {
      d,
      q,
      timeline,
      player,
      get m() {
        return player.model;
      },
    };
  }

  // ---- words, colours, sizes

  function dress() {
    const w = W(),
      C = TOKENS[data.theme === "dark" ? "dark" : "light"];
    for (const k in C) root.style.setProperty(`--${k}`, C[k]);
    root.setAttribute("aria-label", w.label);
    root.lang = data.lang === "zh" ? "zh-CN" : "en";
    for (const { d, q, player } of runners) {
      const r = data.runners[q];
      player.set({ lang: data.lang, theme: data.theme });
      d.title.textContent = r.name;
      d.where.textContent = r.note;
      d.why.textContent = r.why;
      d.load.textContent = w.busiest;
      d.most.textContent = fmtBytes(r.busiest);
      d.meter.style.width = `${100 * r.load}%`;
      d.card.classList.toggle("hot", r.hot);
    }
    buildBoard();
    buildFoot();
    layout();
    draw();
    root.dataset.runners = String(runners.length);
    root.dataset.order = data.runners
      .map((r, q) => [r.place, q])
      .sort((a, b) => a[0] - b[0] || a[1] - b[1])
      .map(([, q]) => q)
      .join();
  }

  function layout() {
    const wide = root.clientWidth;
    if (!wide || !runners.length) return;
    root.classList.toggle("small", wide < 1340);
    root.classList.toggle("slim", wide < 760);
    const across = wide < 760 ? 1 : runners.length === 4 && wide < 1500 ? 2 : runners.length,
      room = (wide - 16 * (across - 1)) / across - (wide < 1340 ? 30 : 42);
    lanes.style.gridTemplateColumns = `repeat(${across},minmax(0,1fr))`;
    const tall = runners.map(({ m }) => (m ? m.tl.stage.h * Math.min(1.3, room / m.tl.stage.w) : 0));
    const names = runners.some(({ m }) => m?.panels.x.length) ? 36 : 0; // nodes are named over a small stage
    const h = names + Math.round(Math.min(Math.max(150, ...tall), Math.max(230, globalThis.innerHeight - 590)));
    for (const { player } of runners) player.set({ compact: h });
    drawFlags();
  }

  function buildBoard() {
    const w = W(),
      rows = el("div", { className: "rows" }),
      u = timeUnit(clock.total);
    parts = { speeds: el("span", { className: "seg", role: "group", "aria-label": w.speed, title: w.speed }) };
    rows.append(
      el("span", {}, parts.speeds),
      el("span", { className: "h", textContent: w.delivered }),
      el("span"),
      el("span", { className: "h num", textContent: w.finish }),
      el("span", { className: "h num", textContent: w.busbw }),
    );
    const slowest = Math.max(...data.runners.map((r) => r.time)),
      fastest = Math.min(...data.runners.map((r) => r.time));
    for (const run of runners) {
      const r = data.runners[run.q],
        b = (run.b = {
          name: el("small"),
          fill: el("i"),
          dot: el("span", { className: "dot" }, el("u")),
          pct: el("span", { className: "pct" }),
          row: [],
        });
      const cells = [
        el("div", { className: "name" }, el("b", { textContent: r.name }), b.name),
        el("div", { className: "track" }, el("div", { className: "bar" }, b.fill, b.dot, b.pct)),
        el("span", { className: "place num", textContent: w.place(r.place) }),
        el("span", { className: "fin num", textContent: `${three3(r.time * u.f)}${NB}${u.unit}` }),
        el("span", { className: "bw num", textContent: r.busbw ? fmtRate(r.busbw) : "–" }),
      ];
      b.row = cells.map((c) => {
        const box = el("div", { className: r.time === slowest && slowest > 2 * fastest ? "late" : "" }, c);
        box.style.display = "contents";
        return box;
      });
      rows.append(el("span", { className: "rule" }), ...b.row);
    }
    const button = (name, act) => {
      const b = el("button", {
        type: "button",
        className: name === "play" ? "btn play" : "btn",
        title: w[name],
        "aria-label": w[name],
        onclick: act,
      });
      b.append(icon(name));
      return b;
    };
    parts = {
      ...parts,
      play: button("play", toggle),
      clock: el("span", { className: "clock" }),
      scrub: el("div", {
        className: "scrub",
        role: "slider",
        tabIndex: 0,
        "aria-label": w.time,
        "aria-valuemin": "0",
        "aria-valuemax": String(clock.total),
      }),
    };
    parts.svg = svg("svg", { "aria-hidden": "true" });
    parts.scrub.append(parts.svg);
    dragTime(parts.scrub);
    buildSpeeds();
    board.replaceChildren(
      rows,
      el(
        "div",
        { className: "time" },
        el(
          "div",
          { className: "tr" },
          button("first", () => clock.seek(0)),
          button("back", () => step(-1)),
          parts.play,
          button("next", () => step(1)),
        ),
        parts.scrub,
        el("div", { className: "end" }, el("span", {}, button("link", share), button("full", present)), parts.clock),
      ),
    );
  }

  const buildSpeeds = () =>
    parts.speeds.replaceChildren(
      ...SPEEDS.map(([v, text]) =>
        el("button", {
          type: "button",
          textContent: text,
          "aria-pressed": String(v === clock.speed),
          onclick: () => {
            clock.setSpeed(v);
            buildSpeeds();
          },
        }),
      ),
    );
  const three3 = (x) => (Math.abs(x) >= 1000 ? String(Math.round(x)) : x.toPrecision(3));

  function buildFoot() {
    const w = W(),
      mark = (cls) => el("i", { className: cls }),
      hue = (c) => el("i", { style: `background:var(--${c})` });
    foot.replaceChildren(
      el("span", {}, mark("sq"), w.reduce),
      el("span", {}, mark("ci"), w.copy),
      el("span", {}, mark("wt"), w.wait),
      el("span", {}, mark("pipe"), w.cable),
      el("span", {}, w.used, ...["room", "near", "full"].flatMap((c, q) => [hue(c), w.range[q]])),
    );
  }

  // ---- one frame

  function draw() {
    if (!data || !parts.svg) return;
    const w = W(),
      u = timeUnit(clock.total),
      t = clock.t,
      home = runners.filter(({ m }) => m && t >= m.total);
    for (const { m, d, b } of runners) {
      if (!m) continue;
      const at = pace(m, t, data.lang),
        f = progress(m, t),
        over = t >= m.total,
        words = over ? w.done : `${at.phase ? at.phase + w.comma : ""}${m.nsteps ? w.step(at.s, m.nsteps) : ""}`;
      put(d.pace, words);
      put(b.name, words);
      b.fill.style.width = b.dot.style.left = `${100 * f}%`;
      b.dot.classList.toggle("round", over || !at.reduce);
      b.dot.firstChild.style.height = `${Math.max(12, 90 * f)}%`;
      put(b.pct, fmtShare(f));
      b.pct.style.cssText =
        f > 0.5 ? `right:calc(${100 - 100 * f}% + 20px);color:var(--card)` : `left:calc(${100 * f}% + 20px)`;
      for (const c of b.row) c.classList.toggle("home", over);
    }
    put(parts.clock, w.of(u.num(t), u.fmt(clock.total)));
    const playing = String(clock.playing);
    if (parts.play.dataset.on !== playing) {
      parts.play.dataset.on = playing;
      parts.play.replaceChildren(icon(clock.playing ? "pause" : "play"));
      parts.play.title = clock.playing ? w.pause : w.play;
      parts.play.setAttribute("aria-label", parts.play.title);
    }
    moveKnob(u);
    Object.assign(root.dataset, { t: String(Number(t.toPrecision(9))), playing, finished: String(home.length) });
    parts.scrub.setAttribute("aria-valuenow", String(Number(t.toPrecision(6))));
    parts.scrub.setAttribute("aria-valuetext", w.value(u.fmt(t), home.length, runners.length));
    if (home.length > finished && finished >= 0 && clock.playing) {
      const last = home.sort((a, b) => a.m.total - b.m.total).at(-1);
      says.textContent = w.wins(data.runners[last.q].name, u.fmt(last.m.total));
    }
    finished = home.length;
  }
  const put = (e, text) => {
    if (e.textContent !== text) e.textContent = text;
  };

  /** The scrubber: an axis, a flag for every finish, a knob. */
  function drawFlags() {
    if (!parts.svg) return;
    const width = parts.scrub.clientWidth,
      u = timeUnit(clock.total),
      X = (t) => (clock.total > 0 ? t / clock.total : 0) * (width - 14),
      kids = [];
    const text = (x, y, str, o = {}) => {
      const e = svg("text", {
        x,
        y,
        "font-size": o.size ?? 13,
        "font-weight": o.bold ? 700 : 400,
        fill: `var(--${o.fill ?? "ink2"})`,
        "text-anchor": o.anchor ?? "middle",
      });
      e.textContent = str;
      kids.push(e);
    };
    kids.push(svg("rect", { x: 0, y: 44, width: X(clock.total), height: 7, rx: 3.5, fill: "var(--grid)" }));
    const apart = niceStep(clock.total * u.f, width / 90);
    for (let k = 0; apart > 0 && k * apart <= clock.total * u.f * 1.0001; k++) {
      const x = X((k * apart) / u.f);
      kids.push(svg("rect", { x: x - 0.5, y: 54, width: 1, height: 5, fill: "var(--edge)" }));
      text(x, 74, `${Number((k * apart).toPrecision(6))}${k ? "" : NB + u.unit}`);
    }
    const order = runners.filter((r) => r.m).sort((a, b) => a.m.total - b.m.total),
      ends = [];
    for (const { m, q } of order) {
      const x = X(m.total),
        str = `${data.runners[q].name} ${three3(m.total * u.f)}`,
        long = str.length * 8,
        left = x > long + 20 && (ends.length % 2 === 0 || x > width - long - 30);
      const row = ends.some((e) => Math.abs(e.x - x) < long + 30 && e.left === left) ? 26 : 11;
      ends.push({ x, left });
      kids.push(svg("rect", { x: x - 0.75, y: row - 8, width: 1.5, height: 60 - row, fill: "var(--ink)" }));
      for (let c = 0; c < 8; c++)
        kids.push(
          svg("rect", {
            x: (left ? x - 16 : x) + 4 * (c % 4),
            y: row - 8 + 5 * Math.floor(c / 4),
            width: 4,
            height: 5,
            fill: (c + Math.floor(c / 4)) % 2 ? "var(--card)" : "var(--ink)",
          }),
        );
      text(left ? x - 22 : x + 22, row + 2, str, {
        bold: true,
        fill: "ink",
        anchor: left ? "end" : "start",
        size: 13.5,
      });
    }
    parts.past = svg("rect", { x: 0, y: 44, width: 0, height: 7, rx: 3.5, fill: "var(--ink)" });
    parts.knob = svg("circle", {
      cx: 0,
      cy: 47.5,
      r: 10,
      fill: "var(--ink)",
      stroke: "var(--card)",
      "stroke-width": 2,
    });
    parts.svg.replaceChildren(...kids, parts.past, parts.knob);
    parts.width = width;
    moveKnob();
  }
  function moveKnob() {
    if (!parts.knob) return;
    const x = (clock.total > 0 ? clock.t / clock.total : 0) * (parts.width - 14);
    parts.knob.setAttribute("cx", x);
    parts.past.setAttribute("width", x);
  }

  // ---- what a person can do

  function onClock(_, why) {
    draw();
    if (why === "speed") buildSpeeds();
    if (why === "pause" || why === "end") onState?.({ t: clock.t, why });
  }
  const toggle = () => (clock.playing ? clock.pause() : clock.play());
  /** To the next or the last moment at which a step of any runner begins, at least a hundredth of the race away. */
  function step(by) {
    const far = clock.total / 100,
      all = [0, clock.total, ...runners.flatMap(({ m }) => (m ? [...m.step0, m.total] : []))].sort((a, b) => a - b);
    clock.pause();
    clock.seek(
      by > 0
        ? (all.find((t) => t >= clock.t + far) ?? clock.total)
        : (all.filter((t) => t <= clock.t - far).at(-1) ?? 0),
    );
  }
  function present() {
    if (document.fullscreenElement) document.exitFullscreen?.();
    else root.requestFullscreen?.().catch(() => {});
  }
  async function share() {
    const url = new URL(location.href);
    url.searchParams.set("t", String(Number(clock.t.toPrecision(6))));
    says.textContent = (await copyText(url.href, root)) ? W().copied : url.href;
    says.classList.add("seen");
    clearTimeout(says.timer);
    says.timer = setTimeout(() => says.classList.remove("seen"), 2500);
  }
  function dragTime(box) {
    let held = false;
    const at = (ev) => {
      const r = box.getBoundingClientRect();
      clock.seek(Math.min(1, Math.max(0, (ev.clientX - r.left) / Math.max(1, r.width - 14))) * clock.total);
    };
    box.addEventListener("pointerdown", (ev) => {
      held = true;
      box.setPointerCapture?.(ev.pointerId);
      at(ev);
    });
    box.addEventListener("pointermove", (ev) => {
      if (held) at(ev);
    });
    for (const end of ["pointerup", "pointercancel"])
      box.addEventListener(end, () => {
        held = false;
      });
  }
  function onKey(ev) {
    ev.stopPropagation();
    if (
      ev.ctrlKey ||
      ev.metaKey ||
      ev.altKey ||
      (ev.target.tagName === "BUTTON" && (ev.key === " " || ev.key === "Enter"))
    )
      return;
    const faster = (by) => {
      const q = SPEEDS.findIndex(([v]) => v === clock.speed);
      clock.setSpeed(SPEEDS[Math.min(SPEEDS.length - 1, Math.max(0, q + by))][0]);
    };
    const act = {
      " ": toggle,
      ArrowRight: () => step(1),
      PageDown: () => step(1),
      ArrowLeft: () => step(-1),
      PageUp: () => step(-1),
      Home: () => clock.seek(0),
      End: () => clock.seek(clock.total),
      f: present,
      "[": () => faster(-1),
      "]": () => faster(1),
    }[ev.key.length === 1 ? ev.key.toLowerCase() : ev.key];
    if (act) {
      ev.preventDefault();
      act();
    }
  }
  root.addEventListener("keydown", onKey, true);
  const seen = typeof ResizeObserver === "function" ? new ResizeObserver(() => layout()) : null;
  seen?.observe(root);
  return {
    root,
    clock,
    setData,
    destroy() {
      dead = true;
      ticket++;
      clock.pause();
      off();
      seen?.disconnect();
      for (const r of runners) r.player.destroy();
      root.remove();
    },
  };
}

const RACES = new WeakMap();

/** Streamlit components v2; synchronous, with a generation number, as the player's own host. */
export default function mountRace({ data, parentElement, setStateValue }) {
  let s = RACES.get(parentElement);
  if (!s) {
    s = { gen: 0 };
    s.race = createRace(parentElement, { onState: (state) => s.send?.("state", state) });
    RACES.set(parentElement, s);
  }
  s.send = setStateValue;
  s.race.setData(data);
  const gen = ++s.gen;
  return () => {
    if (s.gen === gen) {
      s.race.destroy();
      RACES.delete(parentElement);
    }
  };
}
