// What endpoints, devices and cables are called, and where endpoints sit.

import { textAt } from "./read.js";

export const panelOf = (m, e) => {
  const d = deviceOf(m, e);
  return d == null ? -1 : m.tl.devices.panel[d];
};

export function deviceOf(m, e) {
  if (!m.deviceOf) {
    m.deviceOf = new Map();
    m.tl.devices.endpoint.forEach((x, d) => {
      if (x >= 0 && !m.deviceOf.has(x)) m.deviceOf.set(x, d);
    });
  }
  return m.deviceOf.get(e);
}

/** The number of a rank, the name of a helper. */
export const nameOf = (m, e, lang) => {
  const d = deviceOf(m, e);
  return e < m.ranks || d == null ? String(e) : textAt(m.tl.devices.label, d, lang) || String(e);
};

/** `rank 3 → NVSwitch, node 0`: its two ends as the picture names them, and the node where there are several. */
export function linkName(m, l, W, lang) {
  const [a, b] = linkEnds(m, l).map((end) => endName(end, W, lang)),
    nodes = new Set(linkEnds(m, l).flatMap(({ node }) => (node ? [textAt(node, 0, lang)] : [])));
  return nodes.size === 1 ? `${a} → ${b}${NODE[lang]}${lowered([...nodes][0], lang)}` : `${a} → ${b}`;
}

const NODE = { en: ", ", zh: "，" };

const lowered = (text, lang) => (lang === "en" ? text.toLowerCase() : text);

const endName = ({ endpoint: e, label }, W, lang) => (e ? `${W.rank} ${e.rank}` : textAt(label, 0, lang));

/** The two ends of a link: a rank or a label, and the name of the node, where there are several nodes. */
function linkEnds(m, l) {
  const inside = m.tl.links.src[l] < 0 && insideLink(m, l);
  if (!inside) return [m.tl.links.src[l], m.tl.links.dst[l]].map((d) => endOf(m, d));
  const { own, src, dst } = inside;
  return [src, dst].map((d) => ({
    label: own.labels[d],
    endpoint: own.endpoint[d] >= 0 && own.endpoint[d] < m.ranks ? { rank: own.endpoint[d] } : null,
    node: own.label,
  }));
}

function endOf(m, d) {
  const D = m.tl.devices,
    e = D.endpoint[d],
    label = Array.isArray(D.label) ? D.label[d] : { en: D.label?.en?.[d], zh: D.label?.zh?.[d] };
  const panel = D.panel[d] >= 0 && m.panels.x.length > 1 ? panelLabel(m, D.panel[d]) : null;
  return { label, endpoint: e >= 0 && e < m.ranks ? { rank: e } : null, node: panel };
}

const panelLabel = (m, p) => (Array.isArray(m.panels.label) ? m.panels.label[p] : null);

/** Whose link inside a node this is, and between which of its devices. */
function insideLink(m, l) {
  for (const { links, nodes } of m.tl.inside ?? []) {
    const own = nodes.find(({ first }) => l >= first && l < first + links.src.length);
    if (own) return { own, src: links.src[l - own.first], dst: links.dst[l - own.first] };
  }
  return null;
}

/** `rank 3`, `PCIe (Node 1)`: with its node where there are several. */
export function deviceName(m, q, W, lang) {
  const D = m.tl.devices,
    label = textAt(D.label, q, lang),
    e = D.endpoint[q];
  const own = e >= 0 && e < m.ranks ? `${W.rank} ${e}` : label;
  return D.panel[q] >= 0 && m.panels.x.length > 1 && !(e >= 0)
    ? `${own} (${textAt(m.panels.label, D.panel[q], lang)})`
    : own;
}
