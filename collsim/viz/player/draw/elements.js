// Elements, icons and canvases. Data is only ever written with textContent or canvas text, never as
// markup.

import ICONS from "./icons.json" with { type: "json" };

const SVG = "http://www.w3.org/2000/svg";

export function svg(tag, attrs, ...kids) {
  const e = document.createElementNS(SVG, tag);
  for (const k in attrs) e.setAttribute(k, attrs[k]);
  e.append(...kids.filter(Boolean));
  return e;
}

/** A line icon of 18 x 18; a glyph font would show boxes where it is missing. A path that ends in * is filled. */
export function icon(name) {
  const paths = ICONS[name].map((d) =>
    svg("path", d.endsWith("*") ? { d: d.slice(0, -1), fill: "currentColor" } : { d }),
  );
  return svg("svg", { viewBox: "0 0 18 18", "aria-hidden": "true" }, ...paths);
}

/**
 * An element: its tag with classes ("p.says"), properties or attributes if it has any, and what is in it; what is null,
 * false or empty is left out. A button is a plain one.
 *
 * @param {string} selector
 * @param {...any} rest
 * @returns {any}
 */
export function el(selector, ...rest) {
  const [tag, ...classes] = selector.split("."),
    e = /** @type {any} */ (document.createElement(tag)),
    props = rest[0]?.constructor === Object ? rest.shift() : {};
  if (tag === "button") e.type = "button";
  if (classes.length) e.className = classes.join(" ");
  for (const k in props) k in e && k !== "list" ? (e[k] = props[k]) : e.setAttribute(k, props[k]);
  e.append(...rest.filter(Boolean));
  return e;
}

/** The element of the page that has an id; a page without it is broken. @param {string} id @returns {any} */
export function findElement(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no #${id}`);
  return found;
}

/** A picture that Python drew as SVG, parsed as an image: a script in it would not run. */
export const parsePicture = (text) =>
  document.importNode(new DOMParser().parseFromString(text, "image/svg+xml").documentElement, true);

/** Elements of markup that lies beside a module, by their `part`; `data-icon` is the icon of a button. */
export function readMarkup(markup) {
  const template = el("template"),
    find = (selector) => [...template.content.querySelectorAll(selector)];
  template.innerHTML = markup.replace(/\s*\n\s*/g, "");
  for (const e of find("button")) e.type = "button";
  for (const e of find("[data-icon]")) e.append(icon(e.dataset.icon));
  return Object.fromEntries(find("[part]").map((e) => [e.getAttribute("part"), e]));
}

export function symbol(w, h, ...kids) {
  return svg("svg", { width: w, height: h, viewBox: `0 0 ${w} ${h}`, "aria-hidden": "true" }, ...kids);
}

/** A sign of a legend, and its words: a piece of this style, or of a class (".hatch"). */
export const swatch = (look, words) =>
  el("span", look.startsWith(".") ? el(`i${look}`) : el("i", { style: look }), words);

/** Slanted lines of `ink` on `paper`, for fills `url(#id)`. */
export function hatch(id, { size, width, paper, ink }) {
  const look = { id, width: size, height: size, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
    strip = (wide, fill) => svg("rect", { width: wide, height: size, fill });
  return svg("defs", {}, svg("pattern", look, strip(size, paper), strip(width, ink)));
}

/** Write attributes that are other ones than those an element has. */
export function setAttributes(e, pairs) {
  for (const name in pairs) {
    const value = String(pairs[name]);
    if (e.getAttribute(name) !== value) e.setAttribute(name, value);
  }
}

export function setText(e, text) {
  if (e.textContent !== text) e.textContent = text;
}

/** Say something for a few seconds. */
export function sayBriefly(e, text) {
  setText(e, text);
  clearTimeout(e.timer);
  e.timer = setTimeout(() => setText(e, ""), 2500);
}

/** What a button without a text is called: to the eye when pointed at, and to a screen reader. */
export function nameButton(e, text) {
  e.title = text;
  e.setAttribute("aria-label", text);
}

export function segment(box, items, value, pick, label) {
  nameButton(box, label);
  const hasFocus = box.contains(box.getRootNode().activeElement); // the keys go on working after a click
  box.replaceChildren(
    ...items.map(([v, text]) =>
      el("button", { type: "button", textContent: text, "aria-pressed": v === value, onclick: () => pick(v) }),
    ),
  );
  if (hasFocus) box.querySelector("[aria-pressed=true]")?.focus();
}

/** Where a pointer is in an element: [x, y] in pixels from its corner. */
export function pointIn(e, { clientX, clientY }) {
  const { left, top } = e.getBoundingClientRect();
  return [clientX - left, clientY - top];
}

export const media = (q) =>
  typeof matchMedia === "function"
    ? matchMedia(q)
    : { matches: false, addEventListener() {}, removeEventListener() {} };

/** A canvas of so many pixels, empty: its context. One whose size changes is empty by that. */
export function clearCanvas(canvas, w, h) {
  const { width, height } = canvas,
    ctx = sizeCanvas(canvas, w, h);
  if (canvas.width === width && canvas.height === height) ctx.clearRect(0, 0, w, h);
  return ctx;
}

export function sizeCanvas(canvas, w, h) {
  const dpr = Math.min(2, globalThis.devicePixelRatio || 1),
    pw = Math.max(1, Math.round(w * dpr)),
    ph = Math.max(1, Math.round(h * dpr));
  if (canvas.width !== pw || canvas.height !== ph) {
    canvas.width = pw;
    canvas.height = ph;
  }
  canvas.style.width = `${w}px`;
  canvas.style.height = `${h}px`;
  const ctx = canvas.getContext("2d");
  ctx.setTransform(dpr, 0, 0, dpr, 0, 0);
  return ctx;
}
