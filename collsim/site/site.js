// What the pages do: fetch a run by a script element (so that file:// works), play it, ask about it. No request leaves
// this folder.

import { el, findElement } from "../viz/player/draw/elements.js";
import { createClock } from "../viz/player/model/clock.js";
import { inflate } from "../viz/player/model/read.js";
import { createPlayer } from "../viz/player/ui/player.js";
import { listenToWords } from "../viz/player/pointingwords.js";
import { createStory } from "../viz/story/story.js";
import { fill } from "../viz/words/choice.js";
import { startChoice } from "./choose.js";

const language = document.documentElement.lang.startsWith("zh") ? "zh" : "en";
const page = JSON.parse(findElement("page").textContent);
const waiting = new Map();

globalThis.collsimRun = function (key, packed) {
  inflate(packed).then((run) => waiting.get(key)?.(run));
};

const loaded = new Map();
function loadRun(key) {
  const load = (resolve, reject) => {
    waiting.set(key, resolve);
    document.head.append(el("script", { src: `${page.root}runs/${key}.js`, onerror: () => reject(new Error(key)) }));
  };
  if (!loaded.has(key)) loaded.set(key, new Promise(load));
  return loaded.get(key);
}

// ---- questions

const tally = { right: 0, answered: 0 };
function countAnswer(right) {
  tally.answered += 1;
  tally.right += right ? 1 : 0;
  for (const out of document.querySelectorAll(".tally"))
    out.textContent = fill(page.words.tally, { right: tally.right, asked: tally.answered });
}

function showQuestions(box, questions) {
  box.replaceChildren(
    ...questions.map((q, k) => (q.kind === "number" ? createNumberQuestion(q, k) : createChoiceQuestion(q, k))),
  );
}

function createCard(q, k) {
  const reply = el("p.reply", { "aria-live": "polite" });
  return { reply, box: el("div.question", { "data-topic": q.topic }, el("p", `${k + 1}. ${q.text[language]}`)) };
}

function createChoiceQuestion(q, k) {
  const { box, reply } = createCard(q, k);
  let open = true;
  const answer = (button, alternative, isRight) => {
    button.className = isRight ? "right" : "wrong";
    const head = isRight ? page.words.right : page.words.wrong;
    reply.textContent = [head, alternative.reason[language], ...(isRight ? [q.explanation[language]] : [])].join(" ");
    if (open) countAnswer(isRight);
    open = false;
  };
  const buttons = q.choices.map((alternative, position) => {
    const button = el("button", `${String.fromCharCode(65 + position)}. ${alternative.text[language]}`);
    button.onclick = () => answer(button, alternative, position === q.answer);
    return button;
  });
  const reveal = createRevealButton(q, reply, () => buttons[q.answer].classList.add("right"));
  box.append(el("div.choices", ...buttons), reply, reveal);
  return box;
}

const BYTES = { b: 1, kb: 1e3, mb: 1e6, gb: 1e9, kib: 2 ** 10, mib: 2 ** 20, gib: 2 ** 30 };
const RATES = { "b/s": 1, "kb/s": 1e3, "mb/s": 1e6, "gb/s": 1e9 };
const FACTORS = { ...BYTES, ...RATES, s: 1, ms: 1e-3, us: 1e-6, µs: 1e-6, μs: 1e-6, ns: 1e-9, x: 1, "×": 1, "": 1 };
function parseQuantity(text) {
  const m = /^\s*([0-9][0-9.,]*(?:e[+-]?\d+)?)\s*([a-zA-Zµμ×/]*)\s*$/.exec(text);
  const factor = m && FACTORS[m[2].toLowerCase()];
  return m && factor !== undefined ? Number(m[1].replace(/,/g, "")) * factor : NaN;
}

function createNumberQuestion(q, k) {
  const { box, reply } = createCard(q, k),
    { answer: label } = page.words,
    input = el("input", { type: "text", size: 24, placeholder: label, "aria-label": label }),
    button = el("button", page.words.check);
  let open = true;
  button.onclick = () => {
    const answer = parseQuantity(input.value);
    if (Number.isNaN(answer)) {
      reply.textContent = page.words.unclear;
      return;
    }
    const right = Math.abs(answer - q.answer) <= q.tolerance * Math.abs(q.answer);
    reply.textContent = `${right ? page.words.right : page.words.wrong} ${right ? q.explanation[language] : ""}`;
    if (open) countAnswer(right);
    open = false;
  };
  input.onkeydown = (event) => {
    if (event.key === "Enter") button.click();
  };
  const reveal = createRevealButton(q, reply, () => (input.value = q.answer_text));
  box.append(el("p", input, " ", button), reply, reveal);
  return box;
}

function createRevealButton(q, reply, mark) {
  const onclick = () => {
    mark();
    reply.textContent = q.explanation[language];
  };
  return el("button.reveal", { onclick }, page.words.reveal);
}

// ---- pages

/** The player of the page. @type {any} */
let player = null;

async function playRun(key, options = {}) {
  const run = await loadRun(key),
    host = document.getElementById("player"),
    before = player;
  player = createPlayer(host, { timeline: run.timeline, language, header: true, ...options });
  before?.destroy();
  await player.ready;
  const box = document.getElementById("questions");
  if (box) showQuestions(box, run.questions);
  document.body.dataset.run = key;
}

/** The run of a lesson, which stops before the step that answers the lesson's own question: the first one. */
async function openLesson() {
  const release = () => player.set({ hides: "", answerStep: null });
  await playRun(page.run, { view: page.view, hides: "phases", answerStep: page.answer_step, onSkip: release });
  listenToWords(document, (lit) => player.light(lit));
  document.querySelector("#questions .question")?.addEventListener("click", (event) => {
    if (event.target instanceof HTMLButtonElement) release();
  });
}

/** @param {string} id */
const findSelect = (id) => /** @type {HTMLSelectElement} */ (document.getElementById(id));

function openGallery() {
  const selects = ["algorithm", "network", "ranks"].map(findSelect);
  const [algorithm, network, ranks] = selects;
  const fill = (select, values, names) => {
    const previous = select.value;
    select.replaceChildren(...values.map((v) => el("option", { value: v }, names?.[v] ?? String(v))));
    select.value = values.map(String).includes(previous) ? previous : values[0];
  };
  const unique = (values) => [...new Set(values)];
  function update(changed) {
    fill(algorithm, unique(page.runs.map((r) => r.algorithm)));
    const here = page.runs.filter((r) => r.algorithm === algorithm.value);
    fill(network, unique(here.map((r) => r.network)), page.networks);
    fill(ranks, unique(here.filter((r) => r.network === network.value).map((r) => r.ranks)));
    const run = here.find((r) => r.network === network.value && String(r.ranks) === ranks.value);
    if (changed) history.replaceState(null, "", "#run=" + run.key);
    playRun(run.key);
  }
  function fromAddress() {
    const requested = new URLSearchParams(location.hash.slice(1)).get("run");
    const run = (key) => page.runs.find((r) => r.key === key);
    const wanted = run(requested) ?? run(page.first) ?? page.runs[0];
    for (const select of selects) select.replaceChildren(el("option", {}, String(wanted[select.id])));
    update(false);
  }
  for (const select of selects) select.onchange = () => update(true);
  window.onhashchange = fromAddress;
  fromAddress();
}

async function openRace() {
  const networks = findSelect("network");
  let players = [];
  async function start() {
    const keys = page.races[networks.value],
      clock = createClock(),
      box = findElement("racers");
    players.forEach((p) => p.destroy());
    const runs = await Promise.all(keys.map(loadRun));
    const hosts = runs.map(() => el("div.player"));
    box.replaceChildren(...hosts);
    const look = { language, header: true, view: "logical", clock };
    players = runs.map((run, k) => createPlayer(hosts[k], { timeline: run.timeline, ...look }));
    await Promise.all(players.map((p) => p.ready));
    globalThis.raceClock = clock;
    document.body.dataset.run = keys.join(" ");
  }
  networks.onchange = start;
  await start();
}

async function openQuestions() {
  const box = findElement("questions"),
    all = [];
  for (const { key, href } of page.keys) {
    const run = await loadRun(key),
      inner = el("div");
    showQuestions(inner, run.questions);
    all.push(el("section", el("h2", run.timeline.meta.title[language]), el("a", { href }, page.words.show), inner));
  }
  box.replaceChildren(...all);
  document.body.dataset.run = page.keys.map((k) => k.key).join(" ");
}

function openStory() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const links = { explore: "gallery.html", lessons: "index.html" };
  const data = () => ({ story: page.story, language, theme: dark.matches ? "dark" : "light", links });
  const story = createStory(findElement("story"), data());
  dark.addEventListener("change", () => story.update(data()));
  document.body.dataset.run = "story";
}

async function openChoice() {
  startChoice(await loadRun("choice"), { words: page.words, read: parseQuantity });
  document.body.dataset.run = "choice";
}

if (page.kind === "story") openStory();
if (page.kind === "choose") openChoice();
if (page.kind === "gallery") openGallery();
if (page.kind === "lesson") openLesson();
if (page.kind === "race") openRace();
if (page.kind === "questions") openQuestions();
