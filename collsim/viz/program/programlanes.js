// The pictures of a rank program, drawn by Python as SVG: one for a wide and one for a narrow screen. A cursor goes
// over them, and a sentence says what the ranks do at that moment. They are parsed as images: a script in one would
// not run.
const SHAPES = ["wide", "narrow"];
const SECONDS = 8; // for a whole run at normal speed

/** What stays while Streamlit calls again with the same data. */
const states = new WeakMap();

export default function ({ data, parentElement }) {
  const known = states.get(parentElement);
  if (known?.id === data.id) return known.stop;
  known?.stop();
  for (const shape of SHAPES) {
    const picture = new DOMParser().parseFromString(data[shape], "image/svg+xml").documentElement;
    parentElement.querySelector(`.${shape}`).replaceChildren(document.importNode(picture, true));
  }
  const stop = addCursor(parentElement, data);
  states.set(parentElement, { id: data.id, stop });
  return () => {};
}

/** Index of the last moment that has begun at `time`. */
export function findMoment(moments, time) {
  let index = 0;
  while (index + 1 < moments.length && moments[index + 1][0] <= time + 1e-12) index++;
  return index;
}

/** The moment after `time`, or the one before it; the ends stay. */
export function stepMoment(moments, time, direction) {
  const later = moments.find(([moment]) => moment > time + 1e-12);
  const earlier = moments.findLast(([moment]) => moment < time - 1e-12);
  return (direction > 0 ? later : earlier)?.[0] ?? time;
}

function addCursor(root, { moments, words }) {
  const bar = root.querySelector(".bar"),
    say = root.querySelector(".say");
  const still = moments[moments.length - 1][0] <= 0;
  bar.hidden = say.hidden = still;
  if (still) return () => {};
  const cursor = new Cursor(root, moments, words);
  cursor.connect();
  cursor.pause();
  cursor.seek(0);
  return () => cursor.pause();
}

/** A moment of the run, shown on every picture and in words, with its controls. */
class Cursor {
  constructor(root, moments, words) {
    this.root = root;
    this.moments = moments;
    this.words = words;
    this.time = this.frame = this.before = 0;
    this.end = moments[moments.length - 1][0];
    this.buttons = root.querySelectorAll(".bar button");
    this.play = this.buttons[2];
    this.range = root.querySelector(".bar input");
    this.lines = [...root.querySelectorAll("svg.pl")].map((picture) => addLine(picture, this.end));
  }

  seek(wanted) {
    this.time = Math.min(this.end, Math.max(0, wanted));
    const text = this.moments[findMoment(this.moments, this.time)][1];
    const say = this.root.querySelector(".say");
    if (say.textContent !== text) say.textContent = text;
    this.range.value = String(this.time / this.end);
    this.range.setAttribute("aria-valuetext", text);
    this.root.querySelector(".lanes").dataset.t = String(this.time);
    for (const move of this.lines) move(this.time);
  }

  tick(now) {
    this.seek(this.time + ((now - this.before) / 1000 / SECONDS) * this.end);
    this.before = now;
    if (this.time >= this.end) this.pause();
    else this.frame = requestAnimationFrame((next) => this.tick(next));
  }

  pause() {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    this.play.textContent = "▶";
    this.play.setAttribute("aria-label", this.words.play);
  }

  toggle() {
    if (this.frame) return this.pause();
    if (this.time >= this.end) this.seek(0);
    this.before = performance.now();
    this.play.textContent = "❚❚";
    this.play.setAttribute("aria-label", this.words.pause);
    this.frame = requestAnimationFrame((now) => this.tick(now));
  }

  connect() {
    const jump = (find) => (event) => {
      this.pause();
      this.seek(find(event));
    };
    const [start, back, play, next] = this.buttons;
    start.onclick = jump(() => 0);
    back.onclick = jump(() => stepMoment(this.moments, this.time, -1));
    next.onclick = jump(() => stepMoment(this.moments, this.time, 1));
    play.onclick = () => this.toggle();
    this.range.oninput = jump(() => Number(this.range.value) * this.end);
    for (const picture of this.root.querySelectorAll("svg.pl"))
      picture.onclick = jump((event) => findTime(picture, event.clientX, this.end));
  }
}

/** The time at a position of the pointer over a picture. */
function findTime(picture, clientX, end) {
  const box = picture.getBoundingClientRect(),
    { x0, x1 } = picture.dataset;
  const x = ((clientX - box.left) / box.width) * picture.viewBox.baseVal.width;
  return ((x - Number(x0)) / (Number(x1) - Number(x0))) * end;
}

/** Add the line of the cursor to a picture; returns what moves it to a time. */
function addLine(picture, end) {
  const { x0, x1 } = picture.dataset;
  const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
  line.setAttribute("class", "cursor");
  line.setAttribute("stroke", "var(--cs-ink)");
  line.setAttribute("stroke-width", "2.5");
  picture.append(line);
  return (time) => {
    const x = Number(x0) + (time / end) * (Number(x1) - Number(x0));
    line.setAttribute("d", `M${x.toFixed(1)} 20V${picture.viewBox.baseVal.height}`);
  };
}
