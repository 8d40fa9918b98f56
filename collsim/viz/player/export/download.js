// Handing a file to the browser, which saves it.

import { el } from "../draw/elements.js";

/** Save a Blob, or a text of this type, under a name. */
export function download(name, content, type = "image/svg+xml") {
  const blob = content instanceof Blob ? content : new Blob([content], { type }),
    link = el("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

const DENSITY = 2; // pixels of a PNG for each of its drawing

/** Save the text of an SVG file as a PNG. */
export async function downloadPng(name, svg) {
  const image = el("img", { src: `data:image/svg+xml,${encodeURIComponent(svg)}` });
  await image.decode();
  const [width, height] = [DENSITY * image.naturalWidth, DENSITY * image.naturalHeight],
    canvas = el("canvas", { width, height });
  canvas.getContext("2d").drawImage(image, 0, 0, width, height);
  canvas.toBlob((blob) => download(name, blob));
}

/** Save what the server has made, in base64. */
export function downloadEncoded({ name, type, content }) {
  download(name, new Blob([Uint8Array.from(atob(content), (sign) => sign.charCodeAt(0))], { type }));
}
