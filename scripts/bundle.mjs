// Builds what browsers load: one file for each entry below, in collsim/viz/bundles, committed. `npm run build`.

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";
import { nest } from "../collsim/viz/words/choice.js";
import { writeWordFiles } from "./words.mjs";

const PACKAGE = fileURLToPath(new URL("../collsim/", import.meta.url));
const FOLDER = resolve(PACKAGE, "viz/bundles");

/** What a host mounts: modules, below the package, of whose exports the default is left, as hosts may give others a
 * meaning (anywidget takes `render`). Pictures with a player in them are one bundle, whose default has them by name: the
 * app sends the player once for all of its pages. */
const COMPONENTS = {
  editor: "app/pages/write/codeeditor.js",
  job: "viz/diagnosis/jobpicture.js",
  lab: "viz/real/lab.js",
  lab_step: "viz/real/labstep.js",
  lanes: "viz/splits/lanes.js",
  pictures: {
    player: "viz/player/host.js",
    race: "viz/race/race.js",
    route: "viz/route/route.js",
    simple: "viz/simple/simple.js",
    step: "viz/training/step.js",
  },
  player: "viz/player/host.js",
  program: "viz/program/programlanes.js",
  rivals: "viz/training/rivals.js",
  splits: "viz/splits/splitmap.js",
  story: "viz/story/story.js",
  switches: "app/shell/switches.js",
};
/** What a page runs as a script of its own. Plain scripts, as browsers refuse modules from file://. */
const PAGES = {
  first_frame: "viz/simple/firstframe.js",
  player_page: "viz/hosts/playerpage.js",
  race_page: "viz/race/racepage.js",
  simple_page: "viz/simple/simplepage.js",
  site: "site/site.js",
  step_page: "viz/training/steppage.js",
};

const readTexts = (path) => JSON.parse(readFileSync(path, "utf8"));

/**
 * Catalogs of words as the objects that pictures read, with English for what a language lacks: shorter than flat keys.
 * Markup without the space between its lines.
 */
const SHORTENED = {
  name: "shortened",
  setup({ onLoad }) {
    onLoad({ filter: /\.html$/ }, ({ path }) => {
      return { contents: readFileSync(path, "utf8").replace(/\s*\n\s*/g, ""), loader: "text" };
    });
    onLoad({ filter: /locale.[a-z]+.js.[a-z_]+\.json$/ }, ({ path }) => {
      const english = resolve(PACKAGE, "locale/en/js", basename(path));
      return { contents: JSON.stringify(nest({ ...readTexts(english), ...readTexts(path) })), loader: "json" };
    });
  },
};

/** The module of which a bundle is built: what it exports, or runs. */
function entryOf(name) {
  const component = COMPONENTS[name];
  if (!component) return `import "./${PAGES[name]}";`;
  if (typeof component === "string") return `export { default } from "./${component}";`;
  const imports = Object.entries(component).map(([part, path]) => `import ${part} from "./${path}";`);
  return `${imports.join("\n")}\nexport default { ${Object.keys(component).join(", ")} };`;
}

/** A bundle: its text, and the modules in it, below the package. */
async function bundleOf(name) {
  const component = COMPONENTS[name] ?? PAGES[name],
    paths = typeof component === "string" ? component : Object.values(component).join(",");
  const { outputFiles, metafile } = await build({
    absWorkingDir: PACKAGE,
    stdin: { contents: entryOf(name), resolveDir: PACKAGE },
    bundle: true,
    charset: "utf8",
    format: name in COMPONENTS ? "esm" : "iife",
    legalComments: "none",
    lineLimit: 400,
    metafile: true,
    minify: true,
    plugins: [SHORTENED],
    banner: { js: `/* collsim: built from ${paths} by "npm run build"; edit the sources. */` },
    target: "es2022",
    write: false,
  });
  const inputs = Object.keys(metafile.inputs).filter((input) => input !== "<stdin>");
  return { text: outputFiles[0].text, inputs };
}

const digestOf = (path) =>
  createHash("sha256")
    .update(readFileSync(resolve(PACKAGE, path)))
    .digest("hex");

/** Everything that lies in the folder, by file name; `sources.json` holds the digest of each module in a bundle. */
export async function buildBundles() {
  const files = {},
    modules = new Set();
  for (const name of [...Object.keys(COMPONENTS), ...Object.keys(PAGES)]) {
    const { text, inputs } = await bundleOf(name);
    files[`${name}.js`] = text;
    for (const path of inputs) modules.add(path);
  }
  const digests = Object.fromEntries([...modules].sort().map((path) => [path, digestOf(path)]));
  return { ...files, "sources.json": `${JSON.stringify(digests, null, 1)}\n` };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  writeWordFiles(resolve(PACKAGE, "locale"), resolve(PACKAGE, "viz/words"));
  const files = await buildBundles();
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER);
  for (const [name, text] of Object.entries(files)) writeFileSync(resolve(FOLDER, name), text);
  const size = Object.values(files).reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  console.log(`${Object.keys(files).length} files, ${size} bytes in ${FOLDER}`);
}
