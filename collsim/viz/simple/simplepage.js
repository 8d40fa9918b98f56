// The first page's picture as an offline file.

import { followHash, openPage } from "../hosts/offline.js";
import { createSimple } from "./simple.js";

const { host, content, options, look } = openPage(),
  simple = createSimple(host);
globalThis.simple = simple;
simple
  .update({ ...look, t: options.t, ...content, guide: false }) // its links lead to pages of the app
  .then(() => followHash(simple.clock, simple.beginOf));
