// Where the runs of this browser tab are: their moment, and whether they play.
//
// The browser keeps this, and no widget does. Streamlit collects what widgets send within one task of the browser,
// sends it as one rerun, and reruns only the fragment of the first of them: a player that reported its moment could
// take the click on another widget, which came in the same task, out of the rerun.

const STORED_AS = "collsim playback";
const STORED_RUNS = 40;
const LONGEST_BREAK = 20_000; // ms for which a run that was playing may be off the page and still plays on

/**
 * Resume the run of `view` where it was left in this tab: after the page was loaded again (another theme does that),
 * after another page, and in another component that shows the same run (the simple and the full page).
 *
 * `view` has update(data), which may return a promise, and destroy(). What is resumed is its `clock`, where it has one,
 * and what save() returned, by restore(saved, mayPlay). A run is named by `kind` and `view.runId()`, or else `data.id`.
 * Where data.t is another moment than when the run was left, somebody asked for that moment, and it counts.
 * Returns {update, destroy} for a host.
 */
export function withPlayback(kind, view) {
  const tab = playbacksOfTab();
  /** @type {{ kind: string, view: any, data: any, isShown: boolean, isResumed: boolean }} */
  const playback = { kind, view, data: null, isShown: false, isResumed: false };
  tab.mounted.add(playback);
  return {
    async update(data) {
      if (playback.isShown && playback.data.id !== data.id) {
        store(tab, playback);
        playback.isShown = false;
      }
      playback.data = data;
      await view.update(data);
      if (playback.data !== data || !tab.mounted.has(playback)) return; // overtaken by other data, or gone
      if (!playback.isResumed) resume(tab, playback);
      Object.assign(playback, { isResumed: true, isShown: true });
    },
    destroy() {
      store(tab, playback);
      tab.mounted.delete(playback);
      view.destroy();
    },
  };
}

/** What is on the page, and where the runs stopped that have left it. It is global, as each component is a module. */
function playbacksOfTab() {
  globalThis.collsimPlaybacks ??= openPlaybacks();
  return globalThis.collsimPlaybacks;
}

function openPlaybacks() {
  const tab = { mounted: new Set(), stopped: new Map(readStored()) };
  globalThis.addEventListener?.("pagehide", () => {
    for (const playback of tab.mounted) store(tab, playback);
    writeStored([...tab.stopped].slice(-STORED_RUNS));
  });
  return tab;
}

/** What was stored before this page was loaded again; whoever follows a link begins where the link says. */
function readStored() {
  const [navigation] = globalThis.performance?.getEntriesByType?.("navigation") ?? [];
  if (/** @type {PerformanceNavigationTiming} */ (navigation)?.type !== "reload") return [];
  try {
    return JSON.parse(sessionStorage.getItem(STORED_AS) ?? "[]");
  } catch {
    return []; // no storage: the run starts again
  }
}

function writeStored(entries) {
  try {
    sessionStorage.setItem(STORED_AS, JSON.stringify(entries));
  } catch {
    // storage is full or switched off
  }
}

const nameOfRun = ({ kind, view, data }) => `${kind} ${view.runId?.() ?? data.id}`;

function save({ view, data }) {
  const { clock } = view,
    ofClock = clock && { t: clock.t, isPlaying: clock.playing, speed: clock.speed, loop: clock.loop };
  return { ...ofClock, view: view.save?.(), begin: data.t ?? null, at: Date.now() };
}

function store({ stopped }, playback) {
  if (!playback.isShown) return;
  const run = nameOfRun(playback);
  stopped.delete(run); // a Map lists in the order of insertion: the latest last
  stopped.set(run, save(playback));
}

function resume({ mounted, stopped }, { kind, view, data }) {
  const run = nameOfRun({ kind, view, data }),
    // the component that is about to go may still be there when the next one comes
    leaving = [...mounted].find((other) => other.isShown && other.view !== view && nameOfRun(other) === run),
    last = leaving ? save(leaving) : stopped.get(run);
  if (!last || last.begin !== (data.t ?? null)) return;
  const mayPlay = Date.now() - last.at < LONGEST_BREAK;
  if (last.view) view.restore?.(last.view, mayPlay);
  if (view.clock) resumeClock(view.clock, last, mayPlay);
}

function resumeClock(clock, { t, isPlaying, speed, loop }, mayPlay) {
  clock.setSpeed(speed);
  clock.seek(t);
  clock.loop = loop;
  if (isPlaying && mayPlay) clock.play();
}
