// The pictures of the story by chapter. Each draws onto a canvas: (g, {w, h, C, words, v, r, said, data, share, slim}).

import { drawHotLink, drawRing, drawServer } from "./network.js";
import { drawAlphaBeta, drawCards, drawTraining, drawVolume } from "./plots.js";

export const FIGURES = {
  server: drawServer,
  "hot-link": drawHotLink,
  ring: drawRing,
  volume: drawVolume,
  "alpha-beta": drawAlphaBeta,
  cards: drawCards,
  training: drawTraining,
};
