// The page Choose freely: an algorithm, ranks, a size and the rates of cables give times, of all algorithms of the
// collective beside one another. The address holds the choice.

import { el, findElement } from "../viz/player/draw/elements.js";
import { fill } from "../viz/words/choice.js";
import { fmtBytes, fmtRate, fmtSpan } from "../viz/player/model/units.js";
import { chunkBytes, timeRun } from "./exact.js";

const FIELDS = ["algorithm", "ranks", "nbytes", "bandwidth", "alpha", "first"];
const TEXTS = ["nbytes", "bandwidth", "alpha", "first"];

/** What a choice may be: bounds of each number, and the units that may follow it. */
const BOUNDS = {
  nbytes: { least: 1, most: 2 ** 50, unit: /b$/i },
  bandwidth: { least: 1, most: 1e15, unit: /b\/s$/i },
  alpha: { least: 0, most: 1e3, unit: /s$/i },
  first: { least: 1, most: 1e15, unit: /b\/s$/i },
};

/**
 * The number of a field, or null where it cannot be read. A size is whole bytes.
 * @param {string} name @param {string} text @param {(text: string) => number} read
 */
function readField(name, text, read) {
  const { least, most, unit } = BOUNDS[name],
    number = read(text);
  if (!(number >= least && number <= most) || !unit.test(text.trim())) return null;
  return name === "nbytes" ? Math.round(number) : number;
}

/**
 * A row of each algorithm of the collective that runs on so many ranks, the fastest first.
 * @param {Record<string, Record<string, any>>} byName @param {number} ranks @param {any} choice
 */
function compareRuns(byName, ranks, choice) {
  return Object.entries(byName)
    .filter(([, byRanks]) => byRanks[ranks])
    .map(([algorithm, byRanks]) => ({ algorithm, ...timeRun(byRanks[ranks], choice) }))
    .sort((a, b) => a.time - b.time || (a.algorithm < b.algorithm ? -1 : 1));
}

/** The form, its results, and the address. */
class ChoicePage {
  /**
   * @param {Record<string, Record<string, Record<string, any>>>} coefficients
   * @param {{ words: Record<string, string>, read: (text: string) => number }} page
   */
  constructor(coefficients, { words, read }) {
    this.coefficients = coefficients;
    this.words = words;
    this.read = read;
    /** @type {Record<string, any>} */
    this.fields = Object.fromEntries(FIELDS.map((name) => [name, findElement(name)]));
    this.out = findElement("result");
    for (const [collective, byName] of Object.entries(coefficients)) {
      const options = Object.keys(byName).map((name) => el("option", { value: name }, name));
      this.fields.algorithm.append(el("optgroup", { label: collective }, ...options));
    }
    for (const field of Object.values(this.fields)) field.oninput = () => this.update();
  }

  /** Algorithms of the collective of one, each with its runs by ranks. */
  findRivals(algorithm) {
    return Object.values(this.coefficients).find((byName) => byName[algorithm]) ?? {};
  }

  readAddress() {
    const address = new URLSearchParams(location.hash.slice(1)),
      { fields } = this;
    for (const name of TEXTS) if (address.has(name)) fields[name].value = address.get(name);
    fields.algorithm.value = address.get("algorithm");
    fields.algorithm.value ||= "allreduce_ring"; // a list has no value where it was given one that it lacks
    this.fillRanks(address.get("ranks") ?? "8");
    this.draw();
  }

  fillRanks(wanted) {
    const { algorithm, ranks } = this.fields,
      known = Object.keys(this.findRivals(algorithm.value)[algorithm.value]);
    ranks.replaceChildren(...known.map((number) => el("option", { value: number }, number)));
    ranks.value = [wanted, "8"].find((number) => known.includes(number)) ?? known[0];
  }

  /** The numbers of the form, or null where one cannot be read: its field is marked. */
  readChoice() {
    /** @type {any} */
    const choice = {};
    let isReadable = true;
    for (const name of TEXTS) {
      const field = this.fields[name];
      const isLeftOut = name === "first" && !field.value.trim();
      const number = isLeftOut ? undefined : readField(name, field.value, this.read);
      field.setAttribute("aria-invalid", String(number === null));
      isReadable &&= number !== null;
      choice[name] = number;
    }
    return isReadable ? choice : null;
  }

  draw() {
    const choice = this.readChoice();
    if (!choice) {
      this.out.replaceChildren(el("p.reply", this.words.unreadable));
      delete this.out.dataset.time;
      return;
    }
    const algorithm = this.fields.algorithm.value,
      ranks = Number(this.fields.ranks.value),
      rivals = this.findRivals(algorithm);
    const rows = compareRuns(rivals, ranks, choice),
      run = rivals[algorithm][ranks];
    const [chunk] = chunkBytes(choice.nbytes, run.chunks),
      { time, steps, busbw } = timeRun(run, choice),
      values = { time: fmtSpan(time), steps, chunk: fmtBytes(chunk), busbw: fmtRate(busbw) },
      text = fill(this.words.sentence, values);
    this.out.replaceChildren(el("p.lead", text), this.drawTable(rows, algorithm));
    this.out.dataset.time = String(time);
  }

  drawTable(rows, algorithm) {
    const lines = rows.map((row) => {
      const onclick = () => {
          this.fields.algorithm.value = row.algorithm;
          this.update();
        },
        bar = el("div.bar", { style: `width:${(100 * row.time) / rows.at(-1).time}%` }),
        cells = [el("button", { onclick }, row.algorithm), bar, fmtSpan(row.time), fmtRate(row.busbw)];
      return el(
        "tr",
        { className: row.algorithm === algorithm ? "chosen" : "" },
        ...cells.map((cell) => el("td", cell)),
      );
    });
    return el("table.times", ...lines);
  }

  update() {
    this.fillRanks(this.fields.ranks.value);
    const address = new URLSearchParams();
    for (const name of FIELDS) {
      const text = this.fields[name].value.trim();
      if (text) address.set(name, text);
    }
    history.replaceState(null, "", `#${address}`);
    this.draw();
  }
}

/** Start the page; see `ChoicePage`. */
export function startChoice(coefficients, page) {
  const choice = new ChoicePage(coefficients, page);
  window.onhashchange = () => choice.readAddress();
  choice.readAddress();
}
