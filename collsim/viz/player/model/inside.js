// Nodes that are drawn as boxes can be opened: the same run, drawn inside one node under a strip of all nodes.

/** How node k is drawn from inside: its group of nodes that are alike, and what is its own; null where it cannot be. */
export function insideOf(m, node) {
  for (const group of m.tl.inside ?? []) {
    const own = group.nodes.find((one) => one.node === node);
    if (own) return { group, own };
  }
  return null;
}

/** Numbers of the nodes that can be opened, in order. */
export const nodesOf = (m) =>
  (m.tl.inside ?? []).flatMap((group) => group.nodes.map((one) => one.node)).sort((a, b) => a - b);

/** The node that a device of the picture stands for, null where it is none that opens. */
export function nodeAt(m, device) {
  for (const { nodes, strip } of m.tl.inside ?? []) {
    const box = m.strip ? strip.device[device - m.strip] : device,
      own = nodes.find((one) => one.device === box);
    if (own) return own.node;
  }
  return null;
}

/** What the drawings of the stage keep in a model, forgotten where another picture is drawn of it. */
const KEPT = { facts: null, shapes: undefined, rankBox: undefined, pipe: undefined, deviceOf: undefined };

/** The model with a node open: all of the run is as it was, its devices, cables and panel are those of the node. */
export function openNode(m, node) {
  const found = insideOf(m, node);
  if (!found) return m;
  const { group, own } = found,
    main = m.tl.devices,
    S = group.strip,
    n = group.devices.name.length,
    none = () => group.devices.name.map(() => []),
    add = (name) => [...group.devices[name], ...S[name]],
    of = (column) => S.device.map((d) => (Array.isArray(column) ? column[d] : null));
  const devices = {
    ...{ x: add("x"), y: add("y"), w: add("w"), h: add("h") },
    name: [...group.devices.name, ...of(main.name)],
    kind: [...group.devices.kind, ...of(main.kind)],
    label: [...own.labels, ...of(main.label)],
    panel: [...group.devices.name.map(() => 0), ...S.device.map(() => -1)],
    endpoint: [...own.endpoint, ...S.device.map(() => -1)],
    holds: [...none(), ...of(main.holds)],
    bars: [...none(), ...of(main.bars)],
  };
  const P = group.panel,
    panels = { x: [P.x], y: [P.y], w: [P.w], h: [P.h], label: [own.label], note: [own.note], foot: [own.foot] },
    links = ownLinks(m, group, own),
    tl = { ...m.tl, stage: group.stage, devices, links };
  const at = { node, strip: n, opened: n + S.device.indexOf(own.device) };
  return Object.assign(Object.create(m), KEPT, { tl, panels, ...at });
}

/** The table of links where only those of the open node have ends and ways. */
function ownLinks(m, { links }, { first }) {
  const src = new Array(m.nlinks).fill(-1),
    dst = new Array(m.nlinks).fill(-1),
    path = new Array(m.nlinks).fill([]);
  links.path.forEach((way, q) => {
    src[first + q] = links.src[q];
    dst[first + q] = links.dst[q];
    path[first + q] = way;
  });
  return { ...m.tl.links, src, dst, path };
}

/** Do the boxes of all nodes show the same use of their cables? */
export function nodesAlike(m, share) {
  const uses = (m.tl.devices.bars ?? [])
    .filter((bars) => bars?.length)
    .map((bars) => bars.map(({ links }) => Math.max(0, ...links.map((l) => share[l]))));
  return uses.every((one) => one.every((use, q) => Math.abs(use - uses[0][q]) < 0.005));
}
