// Copying a text to the clipboard, also where the page is not served securely (a teacher's machine in the classroom's
// network).

import { el } from "../draw/elements.js";

/** Whether the text is in the clipboard now; `near` is where a field may stand for a moment. */
export async function copyText(text, near) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = el("textarea", { value: text });
    near.append(area);
    area.select();
    const done = document.execCommand?.("copy") ?? false;
    area.remove();
    return done;
  }
}
