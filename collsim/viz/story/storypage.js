// The story as an offline file.

import { openPage } from "../hosts/offline.js";
import { createStory } from "./story.js";

const { host, content, look } = openPage();
globalThis.story = createStory(host, { story: content, ...look });
