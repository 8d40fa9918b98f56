// What is being read: the chapter and the paragraph at the reading line, and the moment of the picture that follows.

const SECONDS = 7; // of a picture from its begin to its end
const LINE = "-30% 0px -55% 0px"; // of the window: a strip in which the reader's eye is taken to be

/** Follow the paragraphs that pass the reading line; returns what ends that. */
export function followReading(story) {
  if (typeof IntersectionObserver !== "function") return () => {};
  const inside = new Set();
  const seen = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) inside[isIntersecting ? "add" : "delete"](target);
      const last = story.beats.filter(({ box }) => inside.has(box)).at(-1);
      if (last) readAt(story, last);
    },
    { rootMargin: LINE },
  );
  for (const { box } of story.beats) seen.observe(box);
  return () => seen.disconnect();
}

function readAt(story, { chapter, at }) {
  enterChapter(story, chapter);
  if (!chapter.playing) chapter.goal = at;
  wake(story);
}

/** The chapter that is read has an outline, those before it are marked as read; the address names it. */
export function enterChapter(story, chapter) {
  if (story.now === chapter) return;
  story.now = chapter;
  for (const other of story.chapters) {
    other.box.classList.toggle("now", other === chapter);
    other.box.classList.toggle("read", other.number < chapter.number);
  }
  story.root.dataset.chapter = chapter.key;
}

/** Let the pictures go on until each stands where its text has it. */
export function wake(story) {
  if (story.frame || story.dead) return;
  story.last = 0;
  story.frame = requestAnimationFrame((now) => goOn(story, now));
}

function goOn(story, now) {
  story.frame = 0;
  const dt = story.last ? Math.min(0.1, (now - story.last) / 1000) : 0;
  story.last = now;
  let moving = false;
  for (const chapter of story.chapters) moving = moved(story, chapter, dt) || moving;
  if (moving) story.frame = requestAnimationFrame((at) => goOn(story, at));
}

function moved(story, chapter, dt) {
  const { share, goal } = chapter;
  if (share === goal) return false;
  const by = story.still.matches ? 1 : dt / SECONDS;
  chapter.share = share < goal ? Math.min(goal, share + by) : Math.max(goal, share - 3 * by);
  if (chapter.share === chapter.goal) chapter.stop();
  chapter.draw();
  return chapter.share !== chapter.goal;
}

/** To the chapter so many further, from the one that is being read. */
export function turnChapter(story, by) {
  const at = story.chapters.indexOf(story.now),
    to = story.chapters[Math.min(story.chapters.length - 1, Math.max(0, at + by))];
  goToChapter(story, to);
}

export function goToChapter(story, to) {
  to.box.scrollIntoView({ behavior: story.still.matches ? "auto" : "smooth", block: "start" });
  to.heading.focus({ preventScroll: true });
  enterChapter(story, to);
  to.goal = to.beats[0].at;
  wake(story);
}
