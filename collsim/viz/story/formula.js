// The two formulas, typeset, with what each term is worth now below it.

import { el } from "../player/draw/elements.js";
import { live } from "./chips.js";

const part = (className, ...kids) => el("span", { className }, ...kids);
const variable = (name, hue) => el("var", { className: hue }, name);
const fraction = (above, below) => part("frac", part("over", ...above), part("under", ...below));
const words = (text) => part("op", text);
/** A term, with its worth below. */
const term = (story, name, ...kids) => part("term", part("line", ...kids), live(story, name, "worth"));

const N = () => variable("N", "n");
const K = () => variable("K", "s");
const lessOverN = () => fraction([N(), " − 1"], [N()]);

/** sent = 2 K (N - 1)/N, with names and with numbers. */
function volumeFormula(story) {
  return [
    words(story.words.sentIs),
    K(),
    words("·"),
    lessOverN(),
    words("= 2 ·"),
    live(story, "size", "number s"),
    words("·"),
    fraction([live(story, "less", "number n")], [live(story, "n", "number n")]),
    words("="),
    live(story, "sent", "result"),
  ];
}

/** T = 2 (N - 1) alpha + 2 (N - 1)/N K beta + (N - 1)/N K gamma. */
function timeFormula(story) {
  return [
    words("T ="),
    term(story, "starting", "2 (", N(), " − 1) ", variable("α", "a")),
    words("+"),
    term(story, "sending", "2 ", lessOverN(), K(), " ", variable("β", "b")),
    words("+"),
    term(story, "adding", lessOverN(), K(), " ", variable("γ", "g")),
    words("="),
    live(story, "time", "result"),
  ];
}

const FORMULAS = { volume: volumeFormula, time: timeFormula };
const READ = {
  volume: "sent = 2 K (N − 1) / N",
  time: "T = 2 (N − 1) α + 2 (N − 1) / N · K β + (N − 1) / N · K γ",
};

/** A formula as an element; a screen reader gets it in one line. */
export function formula(story, name) {
  return el("div.formula", { role: "math", "aria-label": READ[name] }, ...FORMULAS[name](story));
}
