// Types of the documents that Python sends. Written by docs/make_types.py (make docs); edit the TypedDicts.

/** What was run. */
export interface TimelineMeta {
  title: Record<string, string>;
  collective: string;
  ranks: number;
  endpoints: number;
  chunks: number;
  slots: number;
  channels: number;
  nbytes: number;
  engine: string;
  sharing: string;
  time: number;
  version: string;
}

/** Size of the picture, width of a cable per square root of GB/s, and where the legend of cables may stand. */
export interface TimelineStage {
  w: number;
  h: number;
  pipe: number;
  key?: Record<string, number>;
}

/** The box around a node, or the band behind a level of switches. */
export interface TimelinePanel {
  x: number;
  y: number;
  w: number;
  h: number;
  label: Record<string, string>;
  note: Record<string, string>;
  foot: boolean;
}

/** Columns of devices; `endpoint` is -1 for a device without one. */
export interface TimelineDevices {
  name: string[];
  label: (string | Record<string, string>)[];
  kind: string[];
  panel: number[];
  endpoint: number[];
  x: number[];
  y: number[];
  w: number[];
  h: number[];
  holds?: number[][];
  bars?: Record<string, any>[][];
}

/** Columns of directed links; `path` is a flat polyline, `row` the line of the table of links. */
export interface TimelineLinks {
  src: number[];
  dst: number[];
  kind: string[];
  label: string[];
  alpha: number[];
  bandwidth: number[];
  path: number[][];
  row: number[];
}

/** Links that are alike, as a line of a table. */
export interface LinkRow {
  label: Record<string, string>;
  note: Record<string, string>;
  links: number[];
  hot: boolean;
}

/** Routes one after another: route k has `link[start[k]:start[k + 1]]`. */
export interface TimelineRoutes {
  start: number[];
  link: number[];
}

/** Columns of transfers in the order in which they begin. */
export interface TimelineTransfers {
  step: number[];
  src: number[];
  dst: number[];
  chunk: number[];
  into: number[];
  reduce: number[];
  channel: number[];
  bytes: number[];
  t0: number[];
  t1: number[];
  route: number[];
}

/** Columns of steps; `text` holds a sentence for each, in both languages. */
export interface TimelineSteps {
  t0: number[];
  t1: number[];
  text: Record<string, string[]>;
  phase: number[];
}

/** Steps `first` to `last` under one name. */
export interface TimelinePhase {
  label: Record<string, string>;
  first: number;
  last: number;
  reduce: number;
}

/** Endpoints in a unit square, and the pairs that ever talk. */
export interface LogicalView {
  x: number[];
  y: number[];
  kind: string;
  edges: number[][];
}

/** Times in seconds, bandwidths in bytes per second, and the bytes of each link. */
export interface TimelineFigures {
  time: number;
  duration: number;
  algbw: number;
  busbw: number;
  bound: number;
  link_bytes: number[];
}

/** What limits the run, what would help, and the links that it is. */
export interface TimelineCause {
  text: Record<string, string>;
  more: Record<string, string>;
  short: Record<string, string>;
  links?: number[];
}

/** The first wrong cell of a schedule, and the transfer that makes it wrong. */
export interface TimelineMistake {
  kind: string;
  rank: number;
  chunk: number;
  step: number | null;
  transfer: number | null;
  text: Record<string, string>;
}

/** When each hop of each transfer begins and ends. */
export interface TimelineHops {
  t0: number[];
  t1: number[];
}

/** The picture for a narrow screen: the same devices and links in other places. */
export interface NarrowStage {
  stage: TimelineStage;
  panels: TimelinePanel[];
  devices: Record<string, number[] | (string | Record<string, string>)[]>;
  path: number[][];
}

/** Everything that a player needs of a run. */
export interface Timeline {
  schema: string;
  meta: TimelineMeta;
  stage: TimelineStage;
  panels: TimelinePanel[];
  devices: TimelineDevices;
  links: TimelineLinks;
  rows: LinkRow[];
  key: Record<string, any>[];
  routes: TimelineRoutes;
  transfers: TimelineTransfers;
  steps: TimelineSteps;
  phases: TimelinePhase[];
  logical: LogicalView;
  state: Record<string, any>;
  figures: TimelineFigures;
  bottleneck: TimelineCause | null;
  mistake: TimelineMistake | null;
  text: Record<string, any> | null;
  hops?: TimelineHops;
  flows?: Record<string, number[]>;
  groups?: Record<string, any>[];
  inside?: Record<string, any>[];
  narrow?: NarrowStage;
  code?: Record<string, any>;
}

/** Tasks of one lane that follow one another at once: seconds, and the names of the first and the last. */
export interface DrawnBox {
  lane: number;
  stream: string;
  kind: string;
  bucket: number;
  micro: number;
  t0: number;
  t1: number;
  name: string;
  last: string;
}

export interface CollectiveRow {
  task: number;
  name: string;
  kind: string;
  pattern: string;
  bucket: number;
  nbytes: number;
  ready: number;
  begin: number;
  end: number;
  exposed: number;
  tensors: number;
  from: string;
  to: string;
}

/** Who sends to whom: places in the group; servers come behind the ranks. */
export interface SendPattern {
  pairs: number[][];
  adds: boolean;
  servers: number;
  ranks: number;
  label: string;
}

/** Bytes of each of `kinds` over time (seconds), of the fullest lane. */
export interface MemoryCurve {
  lane: number;
  kinds: string[];
  t: number[];
  bytes: number[][];
  peak: number;
}

/** What `step.js` draws. */
export interface StepDocument {
  schema: string;
  time: number;
  ranks: number;
  micro_batch: number;
  lanes: Record<string, number>[];
  boxes: DrawnBox[];
  waits: number[][];
  chain: ((number | string | number)[])[];
  collectives: CollectiveRow[];
  memory: MemoryCurve;
  peak_memory: Record<string, number>[];
}
