// What the pages do: fetch a run by a script element (so that file:// works), play it, ask about it. No request leaves
// this folder.

import { createClock } from "../viz/player/model/clock.js";
import { createPlayer } from "../viz/player/ui/player.js";
import { createStory } from "../viz/story/story.js";
import { startChoice } from "./choose.js";

const language = document.documentElement.lang.startsWith("zh") ? "zh" : "en";
const page = JSON.parse(document.getElementById("page").textContent);
const waiting = new Map();

globalThis.collsimRun = function (key, packed) {
  unpackRun(packed).then((run) => waiting.get(key)?.(run));
};

async function unpackRun(text) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

const loaded = new Map();
function loadRun(key) {
  if (!loaded.has(key)) {
    loaded.set(
      key,
      new Promise((resolve, reject) => {
        waiting.set(key, resolve);
        const script = document.createElement("script");
        script.src = `${page.root}runs/${key}.js`;
        script.onerror = () => reject(new Error(key));
        document.head.append(script);
      }),
    );
  }
  return loaded.get(key);
}

function createElement(name, text, attributes) {
  const node = document.createElement(name);
  if (text != null) node.textContent = text;
  Object.assign(node, attributes ?? {});
  return node;
}

// ---- questions

const tally = { right: 0, answered: 0 };
function countAnswer(right) {
  tally.answered += 1;
  tally.right += right ? 1 : 0;
  for (const out of document.querySelectorAll(".tally")) {
    out.textContent = page.words.tally.replace("{right}", tally.right).replace("{asked}", tally.answered);
  }
}

function showQuestions(box, questions) {
  box.replaceChildren(
    ...questions.map((q, k) => (q.kind === "number" ? createNumberQuestion(q, k) : createChoiceQuestion(q, k))),
  );
}

function createCard(q, k) {
  const box = createElement("div", null, { className: "question" });
  box.dataset.topic = q.topic;
  box.append(createElement("p", `${k + 1}. ${q.text[language]}`));
  const reply = createElement("p", "", { className: "reply" });
  reply.setAttribute("aria-live", "polite");
  return { box, reply };
}

function createChoiceQuestion(q, k) {
  const { box, reply } = createCard(q, k),
    list = createElement("div", null, { className: "choices" });
  let open = true;
  q.choices.forEach((alternative, position) => {
    const button = createElement("button", `${String.fromCharCode(65 + position)}. ${alternative.text[language]}`);
    button.onclick = () => {
      const right = position === q.answer;
      button.className = right ? "right" : "wrong";
      const head = right ? page.words.right : page.words.wrong;
      reply.textContent = [head, alternative.reason[language], ...(right ? [q.explanation[language]] : [])].join(" ");
      if (open) countAnswer(right);
      open = false;
    };
    list.append(button);
  });
  box.append(
    list,
    reply,
    createRevealButton(q, reply, () => list.children[q.answer].classList.add("right")),
  );
  return box;
}

const FACTORS = {
  b: 1,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  kib: 1024,
  mib: 1048576,
  gib: 1073741824,
  s: 1,
  ms: 1e-3,
  us: 1e-6,
  µs: 1e-6,
  μs: 1e-6,
  ns: 1e-9,
  "kb/s": 1e3,
  "mb/s": 1e6,
  "gb/s": 1e9,
  "b/s": 1,
  x: 1,
  "×": 1,
  "": 1,
};
function parseQuantity(text) {
  const m = /^\s*([0-9][0-9.,]*(?:e[+-]?\d+)?)\s*([a-zA-Zµμ×/]*)\s*$/.exec(text);
  const factor = m && FACTORS[m[2].toLowerCase()];
  return m && factor !== undefined ? Number(m[1].replace(/,/g, "")) * factor : NaN;
}

function createNumberQuestion(q, k) {
  const { box, reply } = createCard(q, k),
    row = createElement("p");
  const input = createElement("input", null, { type: "text", size: 24, placeholder: page.words.answer });
  input.setAttribute("aria-label", page.words.answer);
  const button = createElement("button", page.words.check);
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
  row.append(input, " ", button);
  box.append(
    row,
    reply,
    createRevealButton(q, reply, () => {
      input.value = q.answer_text;
    }),
  );
  return box;
}

function createRevealButton(q, reply, mark) {
  const button = createElement("button", page.words.reveal, { className: "reveal" });
  button.onclick = () => {
    mark();
    reply.textContent = q.explanation[language];
  };
  return button;
}

// ---- pages

/** The player of the page. */
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

/** @param {string} id */
const findSelect = (id) => /** @type {HTMLSelectElement} */ (document.getElementById(id));

function openGallery() {
  const selects = ["algorithm", "network", "ranks"].map(findSelect);
  const [algorithm, network, ranks] = selects;
  const fill = (select, values, names) => {
    const previous = select.value;
    select.replaceChildren(...values.map((v) => createElement("option", names?.[v] ?? v, { value: v })));
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
    for (const [select, v] of [
      [algorithm, wanted.algorithm],
      [network, wanted.network],
      [ranks, wanted.ranks],
    ]) {
      select.replaceChildren(createElement("option", String(v), { value: v }));
      select.value = String(v);
    }
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
      box = document.getElementById("racers");
    players.forEach((p) => p.destroy());
    const runs = await Promise.all(keys.map(loadRun));
    const hosts = runs.map(() => createElement("div", null, { className: "player" }));
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
  const box = document.getElementById("questions"),
    all = [];
  for (const { key, href } of page.keys) {
    const run = await loadRun(key),
      part = createElement("section"),
      inner = createElement("div");
    const head = createElement("h2", run.timeline.meta.title[language]),
      link = createElement("a", page.words.show, { href });
    part.append(head, link, inner);
    showQuestions(inner, run.questions);
    all.push(part);
  }
  box.replaceChildren(...all);
  document.body.dataset.run = page.keys.map((k) => k.key).join(" ");
}

function openStory() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const links = { explore: "gallery.html", lessons: "index.html" };
  const data = () => ({ story: page.story, language, theme: dark.matches ? "dark" : "light", links });
  const story = createStory(document.getElementById("story"), data());
  dark.addEventListener("change", () => story.update(data()));
  document.body.dataset.run = "story";
}

async function openChoice() {
  startChoice(await loadRun("choice"), { words: page.words, read: parseQuantity, element: createElement });
  document.body.dataset.run = "choice";
}

if (page.kind === "story") openStory();
if (page.kind === "choose") openChoice();
if (page.kind === "gallery") openGallery();
if (page.kind === "lesson") playRun(page.run, { view: page.view });
if (page.kind === "race") openRace();
if (page.kind === "questions") openQuestions();
