// Elements, icons and canvases. Data is only ever written with textContent or canvas text, never as
// markup.

// 18 x 18 line icons; a glyph font would show boxes where it is missing.
const ICONS = {
  first: ["M4 3.5v11", "M14.5 3.5L7 9l7.5 5.5z*"],
  back: ["M12 3.5L5.5 9l6.5 5.5z*"],
  play: ["M5.5 3l9 6-9 6z*"],
  pause: ["M5.2 3.5h2.4v11H5.2z*", "M10.6 3.5H13v11h-2.4z*"],
  next: ["M6 3.5L12.500 9 6 14.500z*"],
  loop: [
    "M3.500 10.500V9a3.500 3.500 0 013.500-3.500h7.500",
    "M12 2.800l2.700 2.700L12 8.200",
    "M14.500 8v1.200a3.500 3.500 0 01-3.500 3.500H3.500",
    "M6 10l-2.700 2.700L6 15.400",
  ],
  wrong: [
    "M9 2.500a6.500 6.500 0 100 13 6.500 6.500 0 000-13z",
    "M6.700 6.700l4.600 4.600",
    "M11.300 6.700l-4.600 4.600",
  ],
  busy: ["M2.500 15.500h13", "M4.500 12.500V10", "M7.600 12.500V8", "M10.700 12.500V3.500", "M13.800 12.500V7"],
  link: [
    "M7.200 10.800l3.600-3.600",
    "M6.200 8.200l-2 2a2.700 2.700 0 003.800 3.800l2-2",
    "M11.800 9.800l2-2a2.700 2.700 0 00-3.800-3.800l-2 2",
  ],
  png: ["M9 2.800v8", "M5.300 7.400L9 11.100l3.700-3.700", "M3 14.800h12"],
  full: ["M3 6.800V3h3.800", "M11.200 3H15v3.800", "M15 11.200V15h-3.800", "M6.800 15H3v-3.800"],
};

const SVG = "http://www.w3.org/2000/svg";

export function svg(tag, attrs, ...kids) {
  const e = document.createElementNS(SVG, tag);
  for (const k in attrs) e.setAttribute(k, attrs[k]);
  e.append(...kids.filter(Boolean));
  return e;
}

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

export const media = (q) =>
  typeof matchMedia === "function"
    ? matchMedia(q)
    : { matches: false, addEventListener() {}, removeEventListener() {} };

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
