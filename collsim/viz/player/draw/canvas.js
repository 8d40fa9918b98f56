// Text, boxes, lines and arrows on a canvas.

import { FONT } from "../model/look.js";

export function put(g, str, x, y, size, fill, o = {}) {
  g.font = `${o.bold ? 700 : 400} ${size}px ${FONT}`;
  g.textAlign = o.align ?? "left";
  g.textBaseline = "alphabetic";
  if (o.halo) {
    g.strokeStyle = o.halo;
    g.lineWidth = 5;
    g.lineJoin = "round";
    g.strokeText(str, x, y);
  }
  g.fillStyle = fill;
  g.fillText(str, x, y);
}

/**
 * Text in lines of at most `width`; breaks at blanks, or anywhere in a word that is too long (Chinese). Returns the
 * lines drawn.
 */
export function wrap(g, str, x, y, width, size, leading, fill, most) {
  const lines = [""],
    parts = str.match(/[\u2e80-\uffff]|[^\s\u2e80-\uffff]+[^\S\n]*|\s+/g) ?? [];
  for (const part of parts) {
    if (widthOf(g, lines.at(-1) + part.trimEnd(), size, false) > width && lines.at(-1)) lines.push("");
    lines[lines.length - 1] += part;
  }
  lines.slice(0, most).forEach((line, k) => put(g, line, x, y + k * leading, size, fill));
  return Math.min(most, lines.length);
}

export function widthOf(g, str, size, bold) {
  g.font = `${bold ? 700 : 400} ${size}px ${FONT}`;
  return g.measureText(str).width;
}

export function box(g, x, y, w, h, r, fill, stroke, lw = 1, dash) {
  g.beginPath();
  g.roundRect(x, y, w, h, Math.max(0, Math.min(r, w / 2, h / 2)));
  if (fill) {
    g.fillStyle = fill;
    g.fill();
  }
  if (stroke) {
    g.strokeStyle = stroke;
    g.lineWidth = lw;
    if (dash) g.setLineDash(dash);
    g.stroke();
    if (dash) g.setLineDash([]);
  }
}

export function disc(g, x, y, r, fill, stroke, lw = 1) {
  g.beginPath();
  g.arc(x, y, r, 0, 2 * Math.PI);
  g.fillStyle = fill;
  g.fill();
  if (!stroke) return;
  g.strokeStyle = stroke;
  g.lineWidth = lw;
  g.stroke();
}

function trace(g, pts, r = 5) {
  g.beginPath();
  g.moveTo(pts[0], pts[1]);
  for (let q = 2; q < pts.length - 2; q += 2) g.arcTo(pts[q], pts[q + 1], pts[q + 2], pts[q + 3], r);
  g.lineTo(pts[pts.length - 2], pts[pts.length - 1]);
}

export function stroke(g, pts, width, color) {
  trace(g, pts);
  g.lineWidth = width;
  g.strokeStyle = color;
  g.stroke();
}

export function arrow(g, x, y, dx, dy, size, color) {
  g.beginPath();
  g.moveTo(x + dx * size * 0.6, y + dy * size * 0.6);
  g.lineTo(x - dx * size * 0.5 - dy * size * 0.5, y - dy * size * 0.5 + dx * size * 0.5);
  g.lineTo(x - dx * size * 0.5 + dy * size * 0.5, y - dy * size * 0.5 - dx * size * 0.5);
  g.fillStyle = color;
  g.fill();
}

export function fitFont(g, str, size, width, bold, least = 8) {
  while (size > least && widthOf(g, str, size, bold) > width) size = Math.max(least, size - 0.5);
  return widthOf(g, str, size, bold) <= width + 2 ? size : 0;
}

export function cross(g, x, y, r, color) {
  g.beginPath();
  g.moveTo(x - r, y - r);
  g.lineTo(x + r, y + r);
  g.moveTo(x + r, y - r);
  g.lineTo(x - r, y + r);
  g.strokeStyle = color;
  g.lineWidth = 2;
  g.stroke();
}
