// A drawing context that writes SVG: what draws on a canvas draws on it as well, so that a picture in an article is
// that of the screen. It knows what stages and the loop of a ring use of CanvasRenderingContext2D. (svgcanvas 2.6.0 of
// npm rounds corners to the left wrongly, and moves no gradient with what it fills.)

import { el } from "../draw/elements.js";

const MARKUP = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/** Text as it may stand in markup, also in quotes. */
export const escapeMarkup = (text) => String(text).replace(/[&<>"]/g, (sign) => MARKUP[sign]);

/** A number with two places at most, as pictures need no more. */
const short = (value) => String(Math.round(100 * value) / 100);
const shorts = (...values) => values.map(short).join(" ");

const attributes = (pairs) =>
  Object.entries(pairs)
    .filter(([, value]) => value != null && value !== "")
    .map(([name, value]) => ` ${name}="${escapeMarkup(value)}"`)
    .join("");

const ANCHORS = { center: "middle", right: "end" };

/** Where an arc of radius `r` leaves the corner `b` between `a` and `c`: its ends and its sense; null on a line. */
export function cornerArc(a, b, c, r) {
  const [ux, uy, vx, vy] = [a[0] - b[0], a[1] - b[1], c[0] - b[0], c[1] - b[1]],
    [before, after] = [Math.hypot(ux, uy), Math.hypot(vx, vy)],
    turn = ux * vy - uy * vx;
  if (!before || !after || !r || Math.abs(turn) < 1e-9 * before * after) return null;
  const angle = Math.acos(Math.min(1, Math.max(-1, (ux * vx + uy * vy) / (before * after)))),
    reach = r / Math.tan(angle / 2),
    on = (dx, dy, long) => [b[0] + (dx / long) * reach, b[1] + (dy / long) * reach];
  return { from: on(ux, uy, before), to: on(vx, vy, after), sweep: turn < 0 ? 1 : 0 };
}

export class SvgContext {
  fillStyle = "#000";
  strokeStyle = "#000";
  globalAlpha = 1;
  lineWidth = 1;
  lineCap = "butt";
  lineJoin = "miter";
  font = "10px sans-serif";
  textAlign = "left";
  matrix = [1, 0, 0, 1, 0, 0];
  dash = [];
  path = [];
  /** @type {number[] | null} */
  at = null;
  parts = [];
  definitions = [];
  stack = [];
  ruler = el("canvas").getContext("2d");

  constructor(width, height) {
    this.width = width;
    this.height = height;
  }

  // ---- state

  save() {
    this.stack.push({ ...this }); // lists that grow stay the same ones
  }

  restore() {
    Object.assign(this, this.stack.pop());
  }

  transform(...by) {
    const [xx, xy, yx, yy, left, top] = this.matrix,
      moved = (x, y) => [xx * x + yx * y, xy * x + yy * y],
      [dx, dy] = moved(by[4], by[5]);
    this.matrix = [...moved(by[0], by[1]), ...moved(by[2], by[3]), left + dx, top + dy];
  }

  translate(x, y) {
    this.transform(1, 0, 0, 1, x, y);
  }

  scale(x, y) {
    this.transform(x, 0, 0, y, 0, 0);
  }

  rotate(angle) {
    const [c, s] = [Math.cos(angle), Math.sin(angle)];
    this.transform(c, s, -s, c, 0, 0);
  }

  setLineDash(dash) {
    this.dash = dash;
  }

  // ---- paths

  beginPath() {
    this.path = [];
    this.at = null;
  }

  moveTo(x, y) {
    this.path.push(`M${shorts(x, y)}`);
    this.at = [x, y];
  }

  lineTo(x, y) {
    if (!this.at) this.moveTo(x, y);
    else this.path.push(`L${shorts(x, y)}`);
    this.at = [x, y];
  }

  roundRect(x, y, w, h, radius) {
    const r = Math.max(0, Math.min(radius, w / 2, h / 2)),
      corner = (dx, dy) => `a${shorts(r, r)} 0 0 1 ${shorts(dx, dy)}`,
      down = `v${short(h - 2 * r)}${corner(-r, r)}h${short(2 * r - w)}${corner(-r, -r)}`;
    this.path.push(
      `M${shorts(x + r, y)}h${short(w - 2 * r)}${corner(r, r)}${down}v${short(2 * r - h)}${corner(r, -r)}Z`,
    );
    this.at = [x, y];
  }

  arc(x, y, r, from, to) {
    const end = Math.min(to, from + 2 * Math.PI),
      middle = (from + end) / 2,
      on = (angle) => [x + r * Math.cos(angle), y + r * Math.sin(angle)];
    this.lineTo(...on(from));
    for (const angle of [middle, end]) this.path.push(`A${shorts(r, r)} 0 0 1 ${shorts(...on(angle))}`);
    this.at = on(end);
  }

  arcTo(x1, y1, x2, y2, r) {
    const corner = cornerArc(this.at ?? [x1, y1], [x1, y1], [x2, y2], r);
    if (!corner) {
      this.lineTo(x1, y1);
      return;
    }
    this.lineTo(...corner.from);
    this.path.push(`A${shorts(r, r)} 0 0 ${corner.sweep} ${shorts(...corner.to)}`);
    this.at = corner.to;
  }

  // ---- what is drawn

  /** Put an element in, with the transformation that holds now. */
  put(tag, pairs, content = "") {
    const isMoved = this.matrix.join() !== "1,0,0,1,0,0",
      opacity = this.globalAlpha < 1 ? short(this.globalAlpha) : null,
      transform = `matrix(${this.matrix.map((value) => Number(value.toFixed(5))).join(" ")})`,
      text = attributes({ ...pairs, opacity, transform: isMoved ? transform : null });
    this.parts.push(content ? `<${tag}${text}>${content}</${tag}>` : `<${tag}${text}/>`);
  }

  get stroked() {
    return {
      fill: "none",
      stroke: this.strokeStyle,
      "stroke-width": short(this.lineWidth),
      "stroke-dasharray": this.dash.map(short).join(" "),
      "stroke-linecap": this.lineCap === "butt" ? null : this.lineCap,
      "stroke-linejoin": this.lineJoin === "miter" ? null : this.lineJoin,
    };
  }

  fill() {
    if (this.path.length) this.put("path", { d: this.path.join(""), fill: this.fillStyle });
  }

  stroke() {
    if (this.path.length) this.put("path", { d: this.path.join(""), ...this.stroked });
  }

  fillRect(x, y, w, h) {
    const [left, top] = [Math.min(x, x + w), Math.min(y, y + h)],
      place = { x: short(left), y: short(top), width: short(Math.abs(w)), height: short(Math.abs(h)) };
    this.put("rect", { ...place, fill: this.fillStyle });
  }

  clearRect() {}

  measureText(text) {
    this.ruler.font = this.font;
    return this.ruler.measureText(text);
  }

  letters(x, y) {
    const [, weight, size, family] = /** @type {string[]} */ (this.font.match(/^(\d+) ([\d.]+)px (.*)$/));
    return {
      x: short(x),
      y: short(y),
      "font-family": family.replaceAll('"', "'"),
      "font-size": short(Number(size)),
      "font-weight": weight === "400" ? null : weight,
      "text-anchor": ANCHORS[this.textAlign],
    };
  }

  fillText(text, x, y) {
    this.put("text", { ...this.letters(x, y), fill: this.fillStyle }, escapeMarkup(text));
  }

  strokeText(text, x, y) {
    this.put("text", { ...this.letters(x, y), ...this.stroked }, escapeMarkup(text));
  }

  // ---- paints

  createLinearGradient(x1, y1, x2, y2) {
    const stops = [],
      place = attributes({ x1: short(x1), y1: short(y1), x2: short(x2), y2: short(y2) }),
      id = `d${this.definitions.length}`,
      head = `<linearGradient id="${id}" gradientUnits="userSpaceOnUse"${place}>`;
    // stops come after the gradient is made: the text is built when the picture is finished
    this.definitions.push({ toString: () => `${head}${stops.join("")}</linearGradient>` });
    return {
      addColorStop: (offset, color) => stops.push(`<stop offset="${short(offset)}" stop-color="${color}"/>`),
      toString: () => `url(#${id})`,
    };
  }

  /** The picture as a file: `title` is read out, `data` are its `data-` attributes. */
  finish(title, data = {}) {
    const size = `width="${short(this.width)}" height="${short(this.height)}"`,
      box = `viewBox="0 0 ${shorts(this.width, this.height)}"`,
      said = attributes(Object.fromEntries(Object.entries(data).map(([name, value]) => [`data-${name}`, value]))),
      head = `<svg xmlns="http://www.w3.org/2000/svg" ${size} ${box} role="img"${said}>`,
      definitions = this.definitions.length ? `<defs>${this.definitions.join("")}</defs>` : "";
    return `${head}<title>${escapeMarkup(title)}</title>${definitions}${this.parts.join("\n")}</svg>\n`;
  }
}
