// Text, boxes, lines and arrows on a canvas.

import { FONT } from "../model/look.js";

export function put(ctx, str, x, y, size, fill, o = {}) {
  ctx.font = `${o.bold ? 700 : 400} ${size}px ${FONT}`;
  ctx.textAlign = o.align ?? "left";
  ctx.textBaseline = "alphabetic";
  if (o.halo) {
    ctx.strokeStyle = o.halo;
    ctx.lineWidth = 5;
    ctx.lineJoin = "round";
    ctx.strokeText(str, x, y);
  }
  ctx.fillStyle = fill;
  ctx.fillText(str, x, y);
}

/** Text in lines of at most `width`, `most` of them; they break at blanks, and Chinese anywhere. */
export function wrap(ctx, str, x, y, width, size, leading, fill, { most = Infinity, bold = false } = {}) {
  const lines = [""],
    parts = str.match(/[\u2e80-\uffff]|[^ \n\u2e80-\uffff]+ *|[ \n]+/g) ?? [];
  for (const part of parts) {
    if (widthOf(ctx, lines.at(-1) + part.trimEnd(), size, bold) > width && lines.at(-1)) lines.push("");
    lines[lines.length - 1] += part;
  }
  lines.slice(0, most).forEach((line, k) => put(ctx, line, x, y + k * leading, size, fill, { bold }));
}

export function widthOf(ctx, str, size, bold) {
  ctx.font = `${bold ? 700 : 400} ${size}px ${FONT}`;
  return ctx.measureText(str).width;
}

export function box(ctx, x, y, w, h, r, fill, stroke, lw = 1, dash) {
  ctx.beginPath();
  ctx.roundRect(x, y, w, h, Math.max(0, Math.min(r, w / 2, h / 2)));
  if (fill) {
    ctx.fillStyle = fill;
    ctx.fill();
  }
  if (stroke) {
    ctx.strokeStyle = stroke;
    ctx.lineWidth = lw;
    if (dash) ctx.setLineDash(dash);
    ctx.stroke();
    if (dash) ctx.setLineDash([]);
  }
}

export function disc(ctx, x, y, r, fill, stroke, lw = 1) {
  ctx.beginPath();
  ctx.arc(x, y, r, 0, 2 * Math.PI);
  ctx.fillStyle = fill;
  ctx.fill();
  if (!stroke) return;
  ctx.strokeStyle = stroke;
  ctx.lineWidth = lw;
  ctx.stroke();
}

function trace(ctx, pts, r = 5) {
  ctx.beginPath();
  ctx.moveTo(pts[0], pts[1]);
  for (let q = 2; q < pts.length - 2; q += 2) ctx.arcTo(pts[q], pts[q + 1], pts[q + 2], pts[q + 3], r);
  ctx.lineTo(pts[pts.length - 2], pts[pts.length - 1]);
}

export function stroke(ctx, pts, width, color) {
  trace(ctx, pts);
  ctx.lineWidth = width;
  ctx.strokeStyle = color;
  ctx.stroke();
}

export function arrow(ctx, x, y, dx, dy, size, color) {
  ctx.beginPath();
  ctx.moveTo(x + dx * size * 0.6, y + dy * size * 0.6);
  ctx.lineTo(x - dx * size * 0.5 - dy * size * 0.5, y - dy * size * 0.5 + dx * size * 0.5);
  ctx.lineTo(x - dx * size * 0.5 + dy * size * 0.5, y - dy * size * 0.5 - dx * size * 0.5);
  ctx.fillStyle = color;
  ctx.fill();
}

export function fitFont(ctx, str, size, width, bold, least = 8) {
  while (size > least && widthOf(ctx, str, size, bold) > width) size = Math.max(least, size - 0.5);
  return widthOf(ctx, str, size, bold) <= width + 2 ? size : 0;
}

export function cross(ctx, x, y, r, color) {
  ctx.beginPath();
  ctx.moveTo(x - r, y - r);
  ctx.lineTo(x + r, y + r);
  ctx.moveTo(x + r, y - r);
  ctx.lineTo(x - r, y + r);
  ctx.strokeStyle = color;
  ctx.lineWidth = 2;
  ctx.stroke();
}
