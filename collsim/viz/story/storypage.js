// The story as an offline file.

import { createStory } from "./story.js";

const read = (id) => JSON.parse(document.getElementById(id).textContent);
const options = read("options");
const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
globalThis.story = createStory(document.getElementById("player"), {
  story: read("timeline"),
  language: options.language,
  theme: options.theme ?? (isDark ? "dark" : "light"),
});
