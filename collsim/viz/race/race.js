// collsim race: two to four players on one clock, and the finish line.
//
// Each runner's stage is a player (player/player.js) without controls; nothing here draws a machine. Around the stages
// stand cards, bars of bytes delivered, flags at the finish, and one transport for all.

import { buildBoard, buildFoot, drawRace } from "./board.js";
import { el, readMarkup, setText } from "../player/draw/elements.js";
import raceMarkup from "./race.html" with { type: "text" };
import { drawFlags } from "./finish.js";
import { buildLane, dressLane } from "./lane.js";
import { createExportMenu } from "../player/export/menu.js";
import { showSlide } from "../player/export/slide.js";
import { stageFor } from "../player/model/inside.js";
import { component } from "../player/mount.js";
import { withPlayback } from "../player/playback.js";
import { createSeveral, inColumns, setHeights } from "../hosts/several.js";
import { drawRaceSvg } from "./racefile.js";
import buttonsSheet from "../transport/buttons.css" with { type: "text" };
import menuSheet from "../player/export/menu.css" with { type: "text" };
import slideSheet from "../player/export/slide.css" with { type: "text" };
import raceSheet from "./race.css" with { type: "text" };
import { stepRace } from "./racetransport.js";
import { RACE } from "../words/words.js";
import { describeParadox, setRuler, sizeTraffics } from "./traffic.js";

const RACE_SECONDS = 24, // on screen at speed 1, for the slowest runner
  LOW = 900; // pixels of a window below which the bars under a machine are short

/**
 * Mount a race into `host`. Its data are {id, runners: [{name, note, reason, position, time, busbw, busiest, load, hot,
 * timeline}], language, theme, view, t, exports}; `onExport({kind, t})` is called when a file of it is wanted.
 *
 * @param {(what: { kind: string, t: number }) => void} [onExport]
 */
export function createRace(host, onExport = undefined) {
  return createSeveral(host, {
    className: "rc",
    css: [buttonsSheet, menuSheet, slideSheet, raceSheet],
    words: RACE,
    timelines: (data) => data.runners.map((r) => r.timeline),
    build: (race) => buildRace(race, onExport),
    card: buildLane,
    begin: beginRace,
    dress: dressRace,
    arrange: arrangeRace,
    turn: stepRace,
    keys: (race) => ({
      s: () => turnSlide(race, !race.root.classList.contains("slide")),
      Escape: () => turnSlide(race, false),
    }),
    tick: drawRace,
  });
}

function buildRace(race, onExport) {
  Object.assign(race, { parts: {}, finished: -1 }, readMarkup(raceMarkup));
  race.exports = createExportMenu({
    root: race.root,
    acts: { picture: () => ({ name: "collsim-race", svg: drawRaceSvg(race) }), slide: () => turnSlide(race, true) },
    make: (kind) => onExport?.({ kind, t: race.clock.t }),
    place: () => `t=${Number(race.clock.t.toPrecision(6))}`,
    say: (text) => setText(race.parts.note, text),
  });
  race.root.append(race.verdict, race.lanes, race.board, race.line, race.foot, race.says);
}

const turnSlide = (race, on) => showSlide(race.root, on, () => arrangeRace(race));

/** To the moment that the data name, else to the same share of the race as before. */
function beginRace(race, before) {
  const { clock, data } = race;
  race.finished = -1;
  clock.base = clock.total / RACE_SECONDS;
  dressRace(race);
  clock.seek(data.t ?? before.share * clock.total);
}

function dressRace(race) {
  const { root, data, cards } = race;
  root.setAttribute("aria-label", race.words.label);
  for (const run of cards) dressLane(race, run);
  const [sentence, reason] = describeParadox(race);
  race.verdict.replaceChildren(el("b", sentence), el("span", reason));
  race.verdict.style.display = sentence ? "" : "none";
  buildBoard(race);
  buildFoot(race);
  race.parts.tools.prepend(race.exports.box);
  race.exports.set(race.words.exports, data.exports);
  arrangeRace(race);
  drawRace(race);
  // A class is asked who ends first: what tells it, and the clock, come with the answer.
  root.classList.toggle("hides", !!data.hides);
  race.clock.limit = data.hides ? 0 : null;
  root.dataset.runners = String(cards.length);
  root.dataset.order = data.runners
    .map((r, q) => [r.position, q])
    .sort((a, b) => a[0] - b[0] || a[1] - b[1])
    .map(([, q]) => q)
    .join();
}

function arrangeRace(race) {
  const { root, lanes, cards } = race,
    wide = root.clientWidth;
  if (!wide || !cards.length) return;
  root.classList.toggle("small", wide < 1340);
  root.classList.toggle("slim", wide < 760);
  const across = wide < 760 ? 1 : cards.length === 4 && wide < 1500 ? 2 : cards.length,
    room = inColumns(lanes, wide, across);
  // nodes are named over a small stage
  const names = cards.some(({ player }) => player.model?.panels.x.length) ? 36 : 0;
  const stages = cards.flatMap(({ player: { model } }) => (model ? [stageFor(model.tl, room)] : [])),
    tall = stages.map((stage) => stage.h * Math.min(1.3, room / stage.w)),
    isStacked = cards.some(({ player: { model } }) => model && stages.includes(model.tl.narrow?.stage));
  // a plain network stays readable when it is small, and leaves room for the bars below it
  const around = isStacked ? 380 : 590, // the names of both nodes stand above the time line
    most = Math.max(names ? 230 : 186, globalThis.innerHeight - (root.classList.contains("slide") ? 330 : around));
  setHeights(cards, names + Math.round(Math.min(Math.max(140, ...tall), most)));
  setRuler(race);
  const hasCables = cards.some(({ player }) => player.model?.key.length); // a line of kinds under the stage
  sizeTraffics(cards, hasCables && globalThis.innerHeight < LOW);
  drawFlags(race);
  if (race.data && race.parts.scrub) drawRace(race);
}

export default component((box, _, send) =>
  withPlayback(
    "race",
    createRace(box, (what) => send.trigger("export", what)),
  ),
);
