// collsim story: one page to scroll. Text moves the pictures, numbers in sentences change them.

import { clearCanvas, el, icon, media, nameButton } from "../player/draw/elements.js";
import { createShell, dressRoot } from "../player/ui/shell.js";
import { component } from "../player/mount.js";
import { withPlayback } from "../player/playback.js";
import { chip, written } from "./chips.js";
import { CHAPTERS } from "./figures.js";
import { formula } from "./formula.js";
import { enterChapter, followReading, goToChapter, turnChapter, wake } from "./scroll.js";
import storySheet from "./story.css" with { type: "text" };
import { reckon, spoken } from "./values.js";
import { actOnKey, toggleFullScreen } from "../player/ui/transport.js";
import { chooseLanguage, pickWords } from "../words/choice.js";
import { STORY } from "../words/words.js";

const SETTLED = 400; // ms after the last change of a number, before it is told

/**
 * Mount the story into `host`. Data: {story, language, theme, numbers, links: {explore, lessons}}, `story` as
 * `collsim.viz.story.story_document.build_story_document` has it, `numbers` those that are not as in its start.
 * `onNumbers(values)` hears what a reader changes. Its state stands in the root: data-chapter, data-values.
 * @param {Element} host @param {any} data @param {(values: any) => void} [onNumbers]
 */
export function createStory(host, data, onNumbers) {
  const arrange = () => arrangeStory(story),
    shell = createShell(host, { className: "st", css: [storySheet], isFocusable: true, arrange }),
    { root } = shell,
    story = {
      root,
      dead: false,
      frame: 0,
      chapters: null,
      now: null,
      values: { ...data.story.start, ...data.numbers },
      onNumbers,
      told: data.numbers, // numbers as they were last told, by the host or to it
      still: media("(prefers-reduced-motion: reduce)"),
    };
  root.addEventListener("keydown", (ev) => onStoryKey(story, ev));
  writeStory(story, data);
  openAnchor(story);
  return {
    root,
    update(next) {
      takeNumbers(story, next.numbers);
      if (next.language !== story.language || JSON.stringify(next.links) !== JSON.stringify(story.links))
        writeStory(story, next);
      else dressStory(story, next);
    },
    save: () => saveStory(story),
    restore: (saved, mayPlay) => restoreStory(story, saved, mayPlay),
    destroy() {
      story.dead = true;
      story.unfollow();
      cancelAnimationFrame(story.frame);
      clearTimeout(story.settling);
      shell.remove();
    },
  };
}

function tellNumbers(story) {
  story.told = story.values;
  story.onNumbers?.(story.values);
}

/** Numbers of the host that it did not have from here: another address. */
function takeNumbers(story, numbers) {
  if (!numbers || Object.keys(numbers).every((name) => numbers[name] === story.told?.[name])) return;
  story.told = numbers;
  story.values = { ...story.values, ...numbers };
  recompute(story);
}

/** Write the whole page in one language; the values that were chosen stay, and pictures play on. */
function writeStory(story, data) {
  const before = story.chapters && saveStory(story);
  story.unfollow?.();
  const followers = [];
  Object.assign(story, {
    data: data.story,
    language: chooseLanguage(data.language),
    links: data.links,
    words: pickWords(STORY, data.language),
    follow: (fn) => followers.push(fn),
    followers,
    choose(name, value) {
      story.values = { ...story.values, [name]: value };
      recompute(story);
      clearTimeout(story.settling);
      story.settling = setTimeout(() => tellNumbers(story), SETTLED);
    },
  });
  const { words, root } = story;
  story.chapters = CHAPTERS.map((of, q) => buildChapter(story, of, q + 1));
  story.beats = story.chapters.flatMap(({ beats }) => beats);
  const head = el("header", el("h1", words.title), el("p", words.lead));
  root.replaceChildren(
    root.querySelector("style"),
    el("div.head", head, el("p.hint", ...written(story, words.hint))),
    ...story.chapters.map(({ box }) => box),
    links(story),
  );
  story.now = null;
  dressStory(story, data);
  recompute(story);
  enterChapter(story, story.chapters[0]);
  if (before) restoreChapters(story, before, true);
  story.unfollow = followReading(story);
}

/** The values that were chosen, the chapter that is read, and how far each picture is. */
function saveStory({ values, now, chapters }) {
  const moments = Object.fromEntries(chapters.map(({ key, share, goal, playing }) => [key, { share, goal, playing }]));
  return { values, key: now.key, moments };
}

function restoreStory(story, saved, mayPlay) {
  story.values = { ...story.values, ...saved.values };
  recompute(story);
  restoreChapters(story, saved, mayPlay);
  story.isRestored = true;
  if (story.now !== story.chapters[0]) story.now.box.scrollIntoView({ block: "start" });
}

function restoreChapters(story, { key, moments }, mayPlay) {
  for (const chapter of story.chapters) {
    const { share, goal, playing } = moments[chapter.key];
    Object.assign(chapter, { share, goal: playing && !mayPlay ? share : goal });
    if (playing && mayPlay) chapter.showPlaying(true);
    chapter.draw();
  }
  enterChapter(story, story.chapters.find((chapter) => chapter.key === key) ?? story.chapters[0]);
  wake(story);
}

function links({ links: addresses = {}, words }) {
  const anchors = Object.entries(addresses).map(([name, href]) =>
    el("a", { href, target: "_self" }, words.after[name]),
  );
  return el("nav.after", ...anchors);
}

function dressStory(story, { theme }) {
  story.theme = theme === "dark" ? "dark" : "light";
  story.colors = dressRoot(story.root, { theme, language: story.language });
  story.root.dataset.theme = story.theme;
  arrangeStory(story);
}

function recompute(story) {
  story.known = reckon(story.data, story.values);
  story.said = spoken(story.values, story.known, story.words);
  for (const follow of story.followers) follow();
  story.root.dataset.values = JSON.stringify(story.values);
  for (const chapter of story.chapters) chapter.draw();
}

// ---- a chapter

function buildChapter(story, { key, shares, formula: name, svg: isSvg, tall, moves, draw }, number) {
  const { title, text, note } = story.words.chapters[key],
    heading = el("h2", { tabIndex: -1 }, title),
    canvas = el(isSvg ? "div.lanes" : "canvas", { role: "img", "aria-label": title }),
    figure = el("figure", canvas),
    chapter = { key, number, heading, canvas, isSvg, figure, share: 0, goal: shares[0], playing: false };
  chapter.beats = shares.map((at, q) => ({ chapter, at, box: el("p", ...written(story, text[q + 1])) }));
  const prose = el("div.prose", heading);
  if (name) prose.append(formula(story, name));
  prose.append(...chapter.beats.map(({ box }) => box));
  if (note) prose.append(el("p.note", note));
  chapter.stop = () => {};
  if (moves) addPlay(story, chapter);
  else chapter.share = chapter.goal;
  if (key === "alpha-beta") figure.append(el("div.slider", "N", chip(story, "many")));
  chapter.draw = () => drawFigure(story, chapter, draw, tall);
  const badge = el("a.badge", { href: `#${key}` }, String(number));
  badge.setAttribute("aria-label", `${story.words.chapter} ${number}: ${title}`);
  badge.onclick = (ev) => {
    ev.preventDefault();
    history.replaceState(history.state, "", `#${key}`);
    goToChapter(story, chapter);
  };
  chapter.box = el("section", { id: key }, badge, prose, el("div.side", figure));
  chapter.box.dataset.chapter = key;
  return chapter;
}

function addPlay(story, chapter) {
  const button = el("button.play");
  chapter.showPlaying = (playing) => {
    chapter.playing = playing;
    button.replaceChildren(icon(playing ? "pause" : "play"));
    nameButton(button, playing ? story.words.pause : story.words.play);
  };
  chapter.stop = () => chapter.showPlaying(false);
  chapter.toggle = () => {
    chapter.showPlaying(!chapter.playing);
    if (chapter.playing && chapter.share >= 1) chapter.share = 0;
    chapter.goal = chapter.playing ? 1 : chapter.share;
    wake(story);
  };
  button.onclick = chapter.toggle;
  chapter.showPlaying(false);
  chapter.figure.append(button);
}

function drawFigure(story, { key, canvas, isSvg, share, figure: box }, draw, tallest) {
  const wide = Math.floor(box.clientWidth) - 2;
  if (wide < 100 || !story.colors || !story.said) return;
  const slim = wide < 520,
    tall = tallest + (slim && key === "cards" ? 40 : 0),
    { colors, words, values: v, known: r, said: spoken, data } = story,
    figure = { w: wide, h: tall, colors, words: words.figure, v, r, said: spoken, data, share, slim };
  draw(isSvg ? canvas : clearCanvas(canvas, wide, tall), figure);
  box.dataset.share = share.toFixed(3);
}

function arrangeStory(story) {
  if (!story.root.clientWidth || !story.chapters) return;
  story.root.classList.toggle("slim", story.root.clientWidth < 1000);
  story.root.classList.toggle("mid", story.root.clientWidth < 1750);
  story.root.classList.toggle("phone", story.root.clientWidth < 560);
  for (const chapter of story.chapters) chapter.draw();
}

function openAnchor(story) {
  const wanted = story.chapters.find(({ key }) => `#${key}` === location.hash);
  if (wanted)
    requestAnimationFrame(() => {
      if (!story.isRestored) goToChapter(story, wanted); // else it stands where the reader was
    });
}

/** A chapter whose picture stands still leaves Space to the page, which scrolls. */
function onStoryKey(story, ev) {
  const [on, back] = [1, -1].map((by) => () => turnChapter(story, by));
  actOnKey(ev, {
    " ": story.now.toggle,
    ArrowDown: on,
    ArrowRight: on,
    PageDown: on,
    ArrowUp: back,
    ArrowLeft: back,
    PageUp: back,
    f: () => toggleFullScreen(story.root),
  });
}

export default component((box, data, send) =>
  withPlayback(
    "story",
    createStory(box, data, (values) => send.state("numbers", values)),
  ),
);
