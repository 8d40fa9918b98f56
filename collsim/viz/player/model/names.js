// What endpoints, devices and cables are called, and where endpoints sit.

import { textAt } from "./read.js";

export const panelOf = (model, e) => {
  const device = deviceOf(model, e);
  return device == null ? -1 : model.tl.devices.panel[device];
};

export function deviceOf(model, e) {
  if (!model.deviceOf) {
    model.deviceOf = new Map();
    model.tl.devices.endpoint.forEach((x, device) => {
      if (x >= 0 && !model.deviceOf.has(x)) model.deviceOf.set(x, device);
    });
  }
  return model.deviceOf.get(e);
}

/** Where a device stands: {x, y, w, h}. */
export const boxOf = ({ x, y, w, h }, at) => ({ x: x[at], y: y[at], w: w[at], h: h[at] });

/** Whether what reaches `wide` and `high` from (x, y) to each side overlaps a box. */
export const overlaps = (box, x, y, wide, high = wide) =>
  x + wide > box.x && x - wide < box.x + box.w && y + high > box.y && y - high < box.y + box.h;

/** The number of a rank, the name of a helper. */
export const nameOf = (model, e, language) => {
  const device = deviceOf(model, e);
  return e < model.ranks || device == null ? String(e) : textAt(model.tl.devices.label, device, language) || String(e);
};

/** `rank 3`, the name of a helper. */
export const endpointName = (model, e, words, language) =>
  e < model.ranks ? `${words.rank} ${e}` : nameOf(model, e, language);

/** `rank 3 → NVSwitch, node 0`: its two ends as the picture names them, and the node where there are several. */
export function linkName(model, l, words, language) {
  const [a, b] = linkEnds(model, l, words, language),
    nodes = [...new Set([a.node, b.node].filter(Boolean))],
    where = nodes.length === 1 ? words.comma + lowered(nodes[0], language) : "";
  return `${a.name} → ${b.name}${where}`;
}

const lowered = (text, language) => (language === "en" ? text.toLowerCase() : text);

const rankOr = (model, e, label, words) => (e >= 0 && e < model.ranks ? `${words.rank} ${e}` : label);

/** The two ends of a link: their names, and the node of each, where there are several nodes. */
function linkEnds(model, l, words, language) {
  const { devices, links } = model.tl,
    inside = links.src[l] < 0 && insideLink(model, l);
  if (!inside)
    return [links.src[l], links.dst[l]].map((device) => ({
      name: rankOr(model, devices.endpoint[device], textAt(devices.label, device, language), words),
      node: nodeName(model, device, language),
    }));
  const { endpoint, labels, label } = inside.own;
  return [inside.src, inside.dst].map((device) => ({
    name: rankOr(model, endpoint[device], textAt(labels, device, language), words),
    node: textAt(label, 0, language),
  }));
}

/** The name of a device's node where there are several; empty where it is in none. */
function nodeName({ tl, panels }, device, language) {
  const panel = tl.devices.panel[device];
  return panel >= 0 && panels.x.length > 1 ? textAt(panels.label, panel, language) : "";
}

/** Whose link inside a node this is, and between which of its devices. */
function insideLink(model, l) {
  for (const { links, nodes } of model.tl.inside ?? []) {
    const ownNode = nodes.find(({ first }) => l >= first && l < first + links.src.length);
    if (ownNode) return { own: ownNode, src: links.src[l - ownNode.first], dst: links.dst[l - ownNode.first] };
  }
  return null;
}

/** `rank 3`, `PCIe (Node 1)`: with its node where there are several. */
export function deviceName(model, device, words, language) {
  const { endpoint, label } = model.tl.devices,
    name = rankOr(model, endpoint[device], textAt(label, device, language), words),
    node = endpoint[device] >= 0 ? "" : nodeName(model, device, language);
  return node ? `${name} (${node})` : name;
}
