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

/** Fill and stroke the path, each where it has a colour. */
function paint(ctx, fill, stroke, lw, dash) {
  if (fill) {
    ctx.fillStyle = fill;
    ctx.fill();
  }
  if (!stroke) return;
  ctx.strokeStyle = stroke;
  ctx.lineWidth = lw;
  if (dash) ctx.setLineDash(dash);
  ctx.stroke();
  if (dash) ctx.setLineDash([]);
}

export function box(ctx, x, y, w, h, r, fill, stroke, lw = 1, dash) {
  ctx.beginPath();
  ctx.roundRect(x, y, w, h, Math.max(0, Math.min(r, w / 2, h / 2)));
  paint(ctx, fill, stroke, lw, dash);
}

/** A box that is filled from the left to a share of it. */
export function meter(ctx, x, y, w, h, r, { share, fill, ground }) {
  box(ctx, x, y, w, h, r, ground);
  if (share > 0) box(ctx, x, y, w * Math.min(1, share), h, r, fill);
}

/** A plain rectangle, which takes less time than a box without rounded corners. */
export function fillRect(ctx, x, y, w, h, fill) {
  ctx.fillStyle = fill;
  ctx.fillRect(x, y, w, h);
}

export function disc(ctx, x, y, r, fill, stroke, lw = 1) {
  ctx.beginPath();
  ctx.arc(x, y, r, 0, 2 * Math.PI);
  paint(ctx, fill, stroke, lw);
}

/**
 * A line through points, its corners rounded by `round` px.
 * @type {(ctx: any, pts: ArrayLike<number>, width: number, color: string,
 *   look?: { dash?: number[], round?: number }) => void}
 */
export const stroke = (ctx, pts, width, color, { dash, round = 5 } = {}) => {
  ctx.beginPath();
  ctx.moveTo(pts[0], pts[1]);
  for (let q = 2; q < pts.length - 2; q += 2) ctx.arcTo(pts[q], pts[q + 1], pts[q + 2], pts[q + 3], round);
  ctx.lineTo(pts[pts.length - 2], pts[pts.length - 1]);
  paint(ctx, null, color, width, dash);
};

export function polygon(ctx, pts, fill) {
  ctx.beginPath();
  for (let q = 0; q < pts.length; q += 2) ctx.lineTo(pts[q], pts[q + 1]);
  paint(ctx, fill);
}

export function arrow(ctx, x, y, dx, dy, size, color) {
  const [long, wide] = [dx * size, dy * size],
    [backX, backY] = [x - long * 0.5, y - wide * 0.5],
    [sideX, sideY] = [wide * 0.5, long * 0.5];
  polygon(ctx, [x + long * 0.6, y + wide * 0.6, backX - sideX, backY + sideY, backX + sideX, backY - sideY], color);
}

/** An arrowhead `back` px before the end of a line through points. */
export function arrowOnLine(ctx, pts, back, size, color) {
  const [x0, y0, x1, y1] = pts.slice(-4),
    long = Math.hypot(x1 - x0, y1 - y0) || 1,
    [dx, dy] = [(x1 - x0) / long, (y1 - y0) / long];
  arrow(ctx, x1 - dx * back, y1 - dy * back, dx, dy, size, color);
}

export function cross(ctx, x, y, r, color) {
  for (const slope of [1, -1]) stroke(ctx, [x - r, y - slope * r, x + r, y + slope * r], 2, color);
}

/** Slanted lines over the part of the picture that is clipped. */
export function slant(ctx, x, base, w, h, width, color) {
  ctx.beginPath();
  for (let q = x - h; q < x + w; q += 7) {
    ctx.moveTo(q, base);
    ctx.lineTo(q + h, base - h);
  }
  paint(ctx, null, color, width);
}

export function fitFont(ctx, str, size, width, bold, least = 8) {
  while (size > least && widthOf(ctx, str, size, bold) > width) size = Math.max(least, size - 0.5);
  return widthOf(ctx, str, size, bold) <= width + 2 ? size : 0;
}
