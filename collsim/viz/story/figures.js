// The chapters of the story: the moments of the picture to which its paragraphs lead, and the picture, `tall` px high,
// which draws onto a canvas: draw(ctx, {w, h, colors, words, v, r, said, data, share, slim}), or, where it is an `svg`,
// into a box. Only one that `moves` can be played.

import { drawHotLink, drawRing, drawServer } from "./network.js";
import { drawAlphaBeta, drawCards, drawVolume } from "./plots.js";
import { drawTraining } from "./training.js";

/** @type {any[]} */
export const CHAPTERS = [
  { key: "server", shares: [0.2, 0.5, 1], draw: drawServer, tall: 310, moves: true },
  { key: "hot-link", shares: [1, 1, 1], draw: drawHotLink, tall: 300, moves: true },
  { key: "ring", shares: [0.2, 0.5, 1], draw: drawRing, tall: 300, moves: true },
  { key: "volume", shares: [1, 1], draw: drawVolume, tall: 300, formula: "volume" },
  { key: "alpha-beta", shares: [1, 1, 1], draw: drawAlphaBeta, tall: 300, formula: "time" },
  { key: "cards", shares: [1, 1], draw: drawCards, tall: 290 },
  { key: "training", shares: [0.4, 0.8, 1], draw: drawTraining, svg: true, tall: 280, moves: true },
];
