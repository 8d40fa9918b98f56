// collsim ways: one or two machines side by side, each with one way through it, hop by hop, on one clock.
//
// Each machine is a player (player/player.js) without controls; this file adds the card round it: heading, sentence,
// table of hops. data = {id, cards: [{title, word, says, foot, rows: [[number, hop, cable, rate, latency, ring, hot,
// host]], timeline, marks}], head: [...], play, pause, lang, theme}; a click on a rank's box sends the trigger `pick`
// with its number.

import { createClock } from "../player/model/clock.js";
import { el, icon } from "../player/draw/elements.js";
import { FONT, TOKENS } from "../player/model/look.js";
import { createPlayer } from "../player/ui/player.js";
import { unpack } from "../player/model/read.js";

const WAY_SECONDS = 5;

const WAY_CSS = `
.wy{all:initial;display:block;box-sizing:border-box;font:15px/1.4 ${FONT}
;color:var(--ink);font-variant-numeric:tabular-nums;text-align:left}
.wy *{box-sizing:border-box}.wy :focus-visible{outline:2px solid var(--ink);outline-offset:2px}
.wy .pair{display:grid;gap:16px}
.wy .card0{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:14px 20px 14px;min-width:0}
.wy h2{margin:0;font-size:22px;line-height:30px;font-weight:700}
.wy .word{font-size:15px;line-height:20px;color:var(--ink2);min-height:20px}.wy .pair.two .word{min-height:40px}
.wy .says{font-size:17px;line-height:24px;margin:4px 0 8px;text-wrap:pretty}
.wy .foot{font-size:15px;line-height:21px;color:var(--ink2);margin:8px 0 0}
.wy table{width:100%;border-collapse:collapse;margin-top:10px;font-size:15px}
.wy th{font-weight:400;font-size:13px;color:var(--ink2);text-align:left;padding:2px 6px}
.wy td{padding:4px 6px;border-top:1px solid var(--grid)}.wy .r{text-align:right;white-space:nowrap}
.wy tr.hot td{color:var(--fulltext);font-weight:700}.wy tr.host td{color:var(--hostink)}
.wy tr.hot.host td{color:var(--fulltext)}
.wy td i{display:inline-block;min-width:24px;height:24px;border:1.6px solid currentColor;border-radius:12px;
  font-style:normal;font-weight:700;font-size:13px;line-height:21px;text-align:center;padding:0 4px}
.wy .stage0{cursor:pointer}
.wy button{font:inherit;font-size:15px;color:var(--ink);cursor:pointer;display:inline-flex;align-items:center;gap:8px;
  height:36px;padding:0 14px;border-radius:8px;border:1px solid var(--edge);background:var(--card);float:right}
.wy button svg{width:18px;height:18px;fill:none;stroke:currentColor;stroke-width:1.7;stroke-linejoin:round;
  stroke-linecap:round}
.wy.small .card0{padding:12px 14px}.wy.small .says{font-size:15.5px;line-height:22px}.wy.small table{font-size:14px}
.wy.small td{padding:3px 4px}
`;

/** Mount the cards into `host`; `onPick(endpoint)` when a rank is clicked. */
export function createWays(host, { onPick } = {}) {
  const root = el("div", { className: "wy", role: "group" }),
    pair = el("div", { className: "pair" });
  root.append(el("style", { textContent: WAY_CSS }), pair);
  host.append(root);
  let data = null,
    cards = [],
    clock = createClock(),
    ticket = 0,
    dead = false,
    off = () => {},
    button = null;

  async function setData(next) {
    const mine = ++ticket;
    if (data && next.id === data.id) {
      data = next;
      dress();
      return;
    }
    const found = await Promise.all(next.cards.map((c) => unpack(c.timeline)));
    if (mine !== ticket || dead) return;
    const playing = clock.playing;
    clock.pause();
    off();
    for (const c of cards) c.player.destroy();
    data = next;
    pair.replaceChildren();
    clock = createClock();
    cards = data.cards.map((_, q) => card(found[q], q));
    await Promise.all(cards.map((c) => c.player.ready));
    if (mine !== ticket || dead) return;
    off = clock.on(onClock);
    clock.base = clock.total / WAY_SECONDS;
    clock.loop = [0, clock.total];
    dress();
    clock.seek(0.3 * clock.total);
    if (playing) clock.play();
  }

  function card(timeline, q) {
    const d = {
      box: el("section", { className: "card0" }),
      title: el("span"),
      word: el("div", { className: "word" }),
      says: el("p", { className: "says" }),
      stage: el("div", { className: "stage0" }),
      table: el("table"),
      foot: el("p", { className: "foot" }),
      head: el("h2"),
    };
    d.head.append(d.title);
    d.box.append(d.head, d.word, d.says, d.stage, d.table, d.foot);
    pair.append(d.box);
    const player = createPlayer(d.stage, {
      timeline,
      clock,
      lang: data.lang,
      theme: data.theme,
      view: "physical",
      compact: 300,
      marks: data.cards[q].marks,
      onPick: (e) => onPick?.(e),
    });
    return { d, q, timeline, player };
  }

  function dress() {
    const C = TOKENS[data.theme === "dark" ? "dark" : "light"];
    for (const k in C) root.style.setProperty(`--${k}`, C[k]);
    root.lang = data.lang === "zh" ? "zh-CN" : "en";
    root.setAttribute("aria-label", data.label);
    for (const { d, q, player } of cards) {
      const c = data.cards[q];
      player.set({ lang: data.lang, theme: data.theme, marks: c.marks });
      d.title.textContent = c.title;
      d.word.textContent = c.word;
      d.says.textContent = c.says;
      d.foot.textContent = c.foot;
      const cell = (text, k, tag = "td") =>
        el(tag, { className: k > 2 ? "r" : "" }, k === 0 && tag === "td" ? el("i", { textContent: text }) : text);
      d.table.replaceChildren(
        el("tr", {}, ...data.head.map((h, k) => cell(h, k, "th"))),
        ...c.rows.map((r) =>
          el(
            "tr",
            { className: `${r.at(-2) ? "hot" : ""} ${r.at(-1) ? "host" : ""}` },
            ...r.slice(0, -2).map((text, k) => cell(text, k)),
          ),
        ),
      );
    }
    button ??= el("button", { type: "button", onclick: () => (clock.playing ? clock.pause() : play()) });
    cards[0]?.d.head.append(button);
    root.dataset.cards = String(cards.length);
    layout();
    onClock();
  }
  const play = () => {
    clock.loop = [0, clock.total];
    clock.play();
  };

  function onClock() {
    const on = String(clock.playing);
    if (button && button.dataset.on !== on + data.lang) {
      button.dataset.on = on + data.lang;
      button.replaceChildren(icon(clock.playing ? "pause" : "play"), clock.playing ? data.pause : data.play);
    }
    Object.assign(root.dataset, { playing: on, t: String(Number(clock.t.toPrecision(9))) });
  }

  function layout() {
    const wide = root.clientWidth;
    if (!wide || !cards.length) return;
    const widest = Math.max(...cards.map(({ timeline: { stage } }) => stage.w)),
      // too small side by side: one under the other
      across = wide < 820 || (wide - 100) / cards.length < 0.7 * widest ? 1 : cards.length,
      room = (wide - 16 * (across - 1)) / across - (wide < 1340 ? 30 : 42);
    root.classList.toggle("small", wide < 1340);
    pair.style.gridTemplateColumns = `repeat(${across},minmax(0,1fr))`;
    pair.classList.toggle("two", across > 1);
    const h = Math.round(
      Math.min(460, Math.max(160, ...cards.map(({ timeline: { stage } }) => stage.h * Math.min(1.3, room / stage.w)))),
    );
    for (const { player } of cards) player.set({ compact: h });
  }

  const seen = typeof ResizeObserver === "function" ? new ResizeObserver(() => layout()) : null;
  seen?.observe(root);
  return {
    root,
    get clock() {
      return clock;
    },
    setData,
    destroy() {
      dead = true;
      ticket++;
      clock.pause();
      off();
      seen?.disconnect();
      for (const c of cards) c.player.destroy();
      root.remove();
    },
  };
}

const WAYS = new WeakMap();

/** Streamlit components v2; synchronous, with a generation number, as the player's own host. */
export default function mountWays({ data, parentElement, setTriggerValue }) {
  let s = WAYS.get(parentElement);
  if (!s) {
    s = { gen: 0 };
    s.ways = createWays(parentElement, { onPick: (e) => s.send?.("pick", e) });
    WAYS.set(parentElement, s);
  }
  s.send = setTriggerValue;
  s.ways.setData(data);
  const gen = ++s.gen;
  return () => {
    if (s.gen === gen) {
      s.ways.destroy();
      WAYS.delete(parentElement);
    }
  };
}
