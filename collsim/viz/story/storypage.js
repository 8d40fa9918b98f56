// The story as an offline file.

import { readPage } from "../hosts/offline.js";
import { createStory } from "./story.js";

const { host, content, look } = readPage();
globalThis.story = createStory(host, { story: content, ...look });
