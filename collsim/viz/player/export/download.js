// Handing a file to the browser, which saves it.

import { el } from "../draw/elements.js";

/** Save a Blob, or a text of this type, under a name. */
export function download(name, content, type = "image/svg+xml") {
  const blob = content instanceof Blob ? content : new Blob([content], { type }),
    link = el("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** Save what the server has made, in base64. */
export function downloadEncoded({ name, type, content }) {
  download(name, new Blob([Uint8Array.from(atob(content), (sign) => sign.charCodeAt(0))], { type }));
}
