// The machine of a diagnosed job, drawn by Python as SVG, its rates, and the keys of the page. Pictures of Python are
// parsed as images: a script in one would not run. Findings stand on the page around this component: everything that
// belongs to one names its number in `data-findings`, so that choosing a finding leaves its evidence and its parts lit.
import { parsePicture } from "../player/draw/elements.js";
import { copyText } from "../player/export/copy.js";
import { drawJobChart } from "./jobchart.js";

const LAYERS = { b: "both", u: "used", c: "could" };
/** Keys that press or focus what stands on the page, by its selector. */
const TARGETS = {
  r: ".copy",
  o: ".st-key-w_d_open button",
  v: ".st-key-w_d_text textarea",
};

/** What stays while Streamlit calls again with the same data. */
const states = new WeakMap();

export default function ({ data, parentElement }) {
  const known = states.get(parentElement);
  if (known?.id === data.id) return known.stop;
  known?.stop();
  for (const [shape, width] of Object.entries(data.widths)) {
    const show = (name, picture) =>
      parentElement.querySelector(`.${name}`).replaceChildren(...(picture ? [picture] : []));
    show(shape, data[shape] && parsePicture(data[shape]));
    show(`${shape}chart`, data.chart && drawJobChart(data.chart, width));
  }
  const board = new Board(parentElement, data);
  board.connect();
  const stop = () => board.disconnect();
  states.set(parentElement, { id: data.id, stop });
  return stop;
}

/** The finding after `number` among `count`, or the one before it; from none the first or the last. */
export function stepFinding(number, count, direction) {
  if (!count) return 0;
  if (!number) return direction > 0 ? 1 : count;
  return Math.min(count, Math.max(1, number + direction));
}

/** Numbers of the findings that an element belongs to. */
export function readFindings(element) {
  return (element.dataset.findings ?? "").split(" ").filter(Boolean).map(Number);
}

/** Whether a key is for somebody who writes. */
function isWriting(target) {
  return Boolean(target?.closest?.("input, textarea, select, [contenteditable=true]"));
}

/** Layers of the picture, the chosen finding, and the keys of both. */
class Board {
  constructor(root, data) {
    this.root = root;
    this.data = data;
    this.number = 0;
    this.end = new AbortController();
  }

  connect() {
    this.root.querySelector(".top b").textContent = this.data.words.title;
    this.root.querySelector(".top small").textContent = this.data.words.note;
    this.root.querySelector(".machine").hidden = !this.data.wide;
    for (const part of [".layers", ".legend"]) this.root.querySelector(part).hidden = !this.data.layers;
    this.root.querySelector(".rates").hidden = !this.data.chart;
    this.root.querySelector(".mark-h").hidden = !this.data.staged;
    this.root.querySelector(".mark-u").hidden = this.data.staged;
    const { signal } = this.end;
    document.addEventListener("keydown", (event) => this.press(event), { capture: true, signal });
    document.addEventListener("click", (event) => this.click(event), { signal });
    document.addEventListener("mouseover", (event) => this.hover(event), { signal });
    for (const button of this.root.querySelectorAll(".layers button"))
      button.onclick = () => this.show(button.dataset.layer);
    const copy = this.root.querySelector(".copy");
    copy.textContent = this.data.words.copy;
    copy.onclick = () => this.copy(copy);
    this.show("both");
    this.light(0);
  }

  disconnect() {
    this.end.abort();
  }

  async copy(button) {
    if (await copyText(this.data.report, this.root)) button.textContent = this.data.words.copied;
  }

  show(layer) {
    for (const picture of this.root.querySelectorAll("svg.jp")) picture.dataset.layer = layer;
    for (const button of this.root.querySelectorAll(".layers button"))
      button.setAttribute("aria-pressed", String(button.dataset.layer === layer));
  }

  /** Everything that names a finding, on the page and in the pictures. */
  list() {
    return [...document.querySelectorAll("[data-findings]"), ...this.root.querySelectorAll("[data-findings]")];
  }

  light(number) {
    for (const element of this.list())
      element.classList.toggle("dim", number > 0 && !readFindings(element).includes(number));
    this.root.querySelector(".board").dataset.finding = String(number);
  }

  choose(number) {
    this.number = this.number === number ? 0 : number;
    this.light(this.number);
    /** @type {HTMLElement | null} */
    const card = document.querySelector(`.dx-finding[data-findings="${this.number}"]`);
    card?.focus();
  }

  press(event) {
    if (isWriting(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const count = this.data.findings;
    if (key in LAYERS) this.show(LAYERS[key]);
    else if (key in TARGETS) this.reach(key);
    else if (/^[1-9]$/.test(key) && Number(key) <= count) this.choose(Number(key));
    else if (key === "Escape" && this.number) this.choose(this.number);
    else if ((key === "ArrowDown" || key === "ArrowUp") && event.target.closest?.(".dx-finding")) {
      const next = stepFinding(this.number, count, key === "ArrowDown" ? 1 : -1);
      if (next !== this.number) this.choose(next);
    } else if (key === "Enter" && event.target.matches?.(".dx-finding")) {
      this.choose(readFindings(event.target)[0]);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  reach(key) {
    const target = this.root.querySelector(TARGETS[key]) ?? document.querySelector(TARGETS[key]);
    target?.focus();
    if (target?.tagName === "BUTTON") target.click();
  }

  click(event) {
    if (event.target.closest?.("a, button, code, summary")) return;
    const card = event.target.closest?.(".dx-finding");
    if (card) this.choose(readFindings(card)[0]);
  }

  /** A chip under the pointer lights its parts while no finding is chosen. */
  hover(event) {
    if (this.number) return;
    const chip = event.target.closest?.(".dx-chip[data-findings]");
    const numbers = chip ? readFindings(chip) : [];
    this.light(numbers[0] ?? 0);
  }
}
