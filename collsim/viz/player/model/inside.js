// Other pictures of the same run: inside one node, under a strip of all nodes, where nodes are drawn as boxes; and that
// for narrow screens.

import { readPanels } from "./read.js";

/** How node k is drawn from inside: its group of nodes that are alike, and what is its own; null where it cannot be. */
export function insideOf(model, node) {
  for (const group of model.tl.inside ?? []) {
    const ownNode = group.nodes.find((entry) => entry.node === node);
    if (ownNode) return { group, own: ownNode };
  }
  return null;
}

/** Numbers of the nodes that can be opened, in order. */
export const nodesOf = (model) =>
  (model.tl.inside ?? []).flatMap((group) => group.nodes.map((entry) => entry.node)).sort((a, b) => a - b);

/** The node that a device of the picture stands for, null where it is none that opens. */
export function nodeAt(model, device) {
  for (const { nodes, strip } of model.tl.inside ?? []) {
    const box = model.strip ? strip.device[device - model.strip] : device,
      ownNode = nodes.find((entry) => entry.device === box);
    if (ownNode) return ownNode.node;
  }
  return null;
}

/** What the drawings of the stage keep in a model, forgotten where another picture is drawn of it. */
const KEPT = { facts: null, shapes: undefined, rankBox: undefined, pipe: undefined, deviceOf: undefined };

/** The model with a node open: all of the run is as it was, its devices, cables and panel are those of the node. */
export function openNode(model, node) {
  const opened = insideOf(model, node);
  if (!opened) return model;
  const { group, own: ownNode } = opened,
    main = model.tl.devices,
    strip = group.strip,
    n = group.devices.name.length,
    none = () => group.devices.name.map(() => []),
    add = (name) => [...group.devices[name], ...strip[name]],
    of = (column) => strip.device.map((d) => (Array.isArray(column) ? column[d] : null));
  const devices = {
    ...{ x: add("x"), y: add("y"), w: add("w"), h: add("h") },
    name: [...group.devices.name, ...of(main.name)],
    kind: [...group.devices.kind, ...of(main.kind)],
    label: [...ownNode.labels, ...of(main.label)],
    panel: [...group.devices.name.map(() => 0), ...strip.device.map(() => -1)],
    endpoint: [...ownNode.endpoint, ...strip.device.map(() => -1)],
    holds: [...none(), ...of(main.holds)],
    bars: [...none(), ...of(main.bars)],
  };
  const panel = group.panel,
    panels = {
      x: [panel.x],
      y: [panel.y],
      w: [panel.w],
      h: [panel.h],
      label: [ownNode.label],
      note: [ownNode.note],
      foot: [ownNode.foot],
    },
    links = ownLinks(model, group, ownNode),
    tl = { ...model.tl, stage: group.stage, devices, links };
  const at = { node, strip: n, opened: n + strip.device.indexOf(ownNode.device) };
  return Object.assign(Object.create(model), KEPT, { tl, panels, ...at });
}

/** Pixels of room below which a picture is the one for narrow screens, where a run has one. */
const NARROW_ROOM = 500;

/** The stage of a timeline for so many pixels of room. */
export const stageFor = (tl, room) => (tl.narrow && room < NARROW_ROOM ? tl.narrow.stage : tl.stage);

/** The model in the places of a narrow screen: all of the run is as it was. */
export function narrowStage(model) {
  const { stage, panels, devices, path } = model.tl.narrow,
    { links } = model.tl;
  const tl = {
    ...model.tl,
    stage,
    devices: { ...model.tl.devices, ...devices },
    links: { ...links, path: [...path, ...links.path.slice(path.length)] },
  };
  return Object.assign(Object.create(model), KEPT, { tl, panels: readPanels(panels) });
}

/** The table of links where only those of the open node have ends and ways. */
function ownLinks(model, { links }, { first }) {
  const src = new Array(model.nlinks).fill(-1),
    dst = new Array(model.nlinks).fill(-1),
    path = new Array(model.nlinks).fill([]);
  links.path.forEach((polyline, q) => {
    src[first + q] = links.src[q];
    dst[first + q] = links.dst[q];
    path[first + q] = polyline;
  });
  return { ...model.tl.links, src, dst, path };
}

/** Do the boxes of all nodes show the same use of their cables? */
export function nodesAlike(model, share) {
  const uses = (model.tl.devices.bars ?? [])
    .filter((bars) => bars?.length)
    .map((bars) => bars.map(({ links }) => Math.max(0, ...links.map((l) => share[l]))));
  return uses.every((entry) => entry.every((use, q) => Math.abs(use - uses[0][q]) < 0.005));
}
