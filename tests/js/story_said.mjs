// What the story says and draws: reads {story, settings: [{name: value}]} and writes, for each setting, {said, drawn}:
// the texts that stand between braces, and what each chapter's picture writes at each of these shares of its time.
import { readFileSync } from "node:fs";
import { CHAPTERS } from "../../collsim/viz/story/figures.js";
import { reckon, spoken } from "../../collsim/viz/story/values.js";
import { STORY as WORDS } from "../../collsim/viz/words/words.js";

const SHARES = [0.2, 0.45, 0.8, 1];
const { story, settings } = JSON.parse(readFileSync(0, "utf8"));

/** A canvas that measures nothing and keeps what is written on it. */
function recorder(texts) {
  const answers = { fillText: (text) => texts.push(text), measureText: (text) => ({ width: 6 * text.length }) };
  return new Proxy({}, { get: (_, name) => answers[name] ?? (() => {}), set: () => true });
}

/** Elements that keep what is written into them, for the chapter that is drawn as SVG. */
const texts = { drawn: [] };
globalThis.document = /** @type {any} */ ({
  createElement: () => ({ getContext: () => recorder([]) }),
  createElementNS: () => ({
    setAttribute() {},
    append: (...kids) => texts.drawn.push(...kids.filter((kid) => typeof kid === "string")),
  }),
});

function drawnOf({ draw, svg: isSvg }, of) {
  return SHARES.map((share) => {
    texts.drawn = [];
    draw(isSvg ? { replaceChildren() {} } : recorder(texts.drawn), { ...of, share });
    return { share, texts: texts.drawn };
  });
}

const answers = settings.map((setting) => {
  const values = { ...story.start, ...setting },
    facts = reckon(story, values),
    said = spoken(values, facts, WORDS.en),
    colors = new Proxy({}, { get: () => "#000" }),
    of = { w: 700, h: 310, colors, v: values, r: facts, said, slim: false, data: story, words: WORDS.en.figure };
  return { said, drawn: Object.fromEntries(CHAPTERS.map((chapter) => [chapter.key, drawnOf(chapter, of)])) };
});
const chapters = CHAPTERS.map(({ key }) => [key, Object.values(WORDS.en.chapters[key].text)]);
process.stdout.write(JSON.stringify({ answers, chapters }));
