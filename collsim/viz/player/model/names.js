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

export const linkName = (m, l, W, lang) =>
  [m.tl.links.src[l], m.tl.links.dst[l]].map((q) => deviceName(m, q, W, lang)).join(" → ");

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
