// What endpoints, devices and cables are called, and where endpoints sit.

import { textAt } from "./read.js";

export const panelOf = (model, e) => {
  const d = deviceOf(model, e);
  return d == null ? -1 : model.tl.devices.panel[d];
};

export function deviceOf(model, e) {
  if (!model.deviceOf) {
    model.deviceOf = new Map();
    model.tl.devices.endpoint.forEach((x, d) => {
      if (x >= 0 && !model.deviceOf.has(x)) model.deviceOf.set(x, d);
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
  const d = deviceOf(model, e);
  return e < model.ranks || d == null ? String(e) : textAt(model.tl.devices.label, d, language) || String(e);
};

/** `rank 3 → NVSwitch, node 0`: its two ends as the picture names them, and the node where there are several. */
export function linkName(model, l, words, language) {
  const [a, b] = linkEnds(model, l).map((end) => endName(end, words, language)),
    nodes = new Set(linkEnds(model, l).flatMap(({ node }) => (node ? [textAt(node, 0, language)] : [])));
  return nodes.size === 1 ? `${a} → ${b}${words.comma}${lowered([...nodes][0], language)}` : `${a} → ${b}`;
}

const lowered = (text, language) => (language === "en" ? text.toLowerCase() : text);

const endName = ({ endpoint: e, label }, words, language) =>
  e ? `${words.rank} ${e.rank}` : textAt(label, 0, language);

/** The two ends of a link: a rank or a label, and the name of the node, where there are several nodes. */
function linkEnds(model, l) {
  const inside = model.tl.links.src[l] < 0 && insideLink(model, l);
  if (!inside) return [model.tl.links.src[l], model.tl.links.dst[l]].map((d) => endOf(model, d));
  const { own: ownNode, src, dst } = inside;
  return [src, dst].map((d) => ({
    label: ownNode.labels[d],
    endpoint: ownNode.endpoint[d] >= 0 && ownNode.endpoint[d] < model.ranks ? { rank: ownNode.endpoint[d] } : null,
    node: ownNode.label,
  }));
}

function endOf(model, d) {
  const devices = model.tl.devices,
    e = devices.endpoint[d],
    label = Array.isArray(devices.label)
      ? devices.label[d]
      : { en: devices.label?.en?.[d], zh: devices.label?.zh?.[d] };
  const panel = devices.panel[d] >= 0 && model.panels.x.length > 1 ? panelLabel(model, devices.panel[d]) : null;
  return { label, endpoint: e >= 0 && e < model.ranks ? { rank: e } : null, node: panel };
}

const panelLabel = (model, p) => (Array.isArray(model.panels.label) ? model.panels.label[p] : null);

/** Whose link inside a node this is, and between which of its devices. */
function insideLink(model, l) {
  for (const { links, nodes } of model.tl.inside ?? []) {
    const ownNode = nodes.find(({ first }) => l >= first && l < first + links.src.length);
    if (ownNode) return { own: ownNode, src: links.src[l - ownNode.first], dst: links.dst[l - ownNode.first] };
  }
  return null;
}

/** `rank 3`, `PCIe (Node 1)`: with its node where there are several. */
export function deviceName(model, q, words, language) {
  const devices = model.tl.devices,
    label = textAt(devices.label, q, language),
    e = devices.endpoint[q];
  const name = e >= 0 && e < model.ranks ? `${words.rank} ${e}` : label;
  return devices.panel[q] >= 0 && model.panels.x.length > 1 && !(e >= 0)
    ? `${name} (${textAt(model.panels.label, devices.panel[q], language)})`
    : name;
}
