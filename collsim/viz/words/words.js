// Written by scripts/words.mjs (`npm run build`) from the folders of collsim/locale; do not edit.

import { joinWords } from "./choice.js";
import en_export from "../../locale/en/js/export.json" with { type: "json" };
import en_lab from "../../locale/en/js/lab.json" with { type: "json" };
import en_lab_step from "../../locale/en/js/lab_step.json" with { type: "json" };
import en_lanes from "../../locale/en/js/lanes.json" with { type: "json" };
import en_player from "../../locale/en/js/player.json" with { type: "json" };
import en_program from "../../locale/en/js/program.json" with { type: "json" };
import en_race from "../../locale/en/js/race.json" with { type: "json" };
import en_rivals from "../../locale/en/js/rivals.json" with { type: "json" };
import en_simple from "../../locale/en/js/simple.json" with { type: "json" };
import en_splits from "../../locale/en/js/splits.json" with { type: "json" };
import en_step from "../../locale/en/js/step.json" with { type: "json" };
import en_story from "../../locale/en/js/story.json" with { type: "json" };
import en_transport from "../../locale/en/js/transport.json" with { type: "json" };
import zh_export from "../../locale/zh/js/export.json" with { type: "json" };
import zh_lab from "../../locale/zh/js/lab.json" with { type: "json" };
import zh_lab_step from "../../locale/zh/js/lab_step.json" with { type: "json" };
import zh_lanes from "../../locale/zh/js/lanes.json" with { type: "json" };
import zh_player from "../../locale/zh/js/player.json" with { type: "json" };
import zh_program from "../../locale/zh/js/program.json" with { type: "json" };
import zh_race from "../../locale/zh/js/race.json" with { type: "json" };
import zh_rivals from "../../locale/zh/js/rivals.json" with { type: "json" };
import zh_simple from "../../locale/zh/js/simple.json" with { type: "json" };
import zh_splits from "../../locale/zh/js/splits.json" with { type: "json" };
import zh_step from "../../locale/zh/js/step.json" with { type: "json" };
import zh_story from "../../locale/zh/js/story.json" with { type: "json" };
import zh_transport from "../../locale/zh/js/transport.json" with { type: "json" };

export const LAB = /* @__PURE__ */ joinWords("lab", {
  en: [en_lab],
  zh: [zh_lab],
});
export const LAB_STEP = /* @__PURE__ */ joinWords("lab_step", {
  en: [en_lab_step],
  zh: [zh_lab_step],
});
export const LANES = /* @__PURE__ */ joinWords("lanes", {
  en: [en_lanes, en_transport],
  zh: [zh_lanes, zh_transport],
});
export const PLAYER = /* @__PURE__ */ joinWords("player", {
  en: [en_player, en_export, en_transport],
  zh: [zh_player, zh_export, zh_transport],
});
export const PROGRAM = /* @__PURE__ */ joinWords("program", {
  en: [en_program, en_transport],
  zh: [zh_program, zh_transport],
});
export const RACE = /* @__PURE__ */ joinWords("race", {
  en: [en_race, en_export, en_transport],
  zh: [zh_race, zh_export, zh_transport],
});
export const RIVALS = /* @__PURE__ */ joinWords("rivals", {
  en: [en_rivals, en_transport],
  zh: [zh_rivals, zh_transport],
});
export const SIMPLE = /* @__PURE__ */ joinWords("simple", {
  en: [en_simple, en_export, en_transport],
  zh: [zh_simple, zh_export, zh_transport],
});
export const SPLITS = /* @__PURE__ */ joinWords("splits", {
  en: [en_splits],
  zh: [zh_splits],
});
export const STEP = /* @__PURE__ */ joinWords("step", {
  en: [en_step, en_export, en_transport],
  zh: [zh_step, zh_export, zh_transport],
});
export const STORY = /* @__PURE__ */ joinWords("story", {
  en: [en_story],
  zh: [zh_story],
});
