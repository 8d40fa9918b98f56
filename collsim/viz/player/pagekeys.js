// Keys of the page: a picture hears them on a fresh load too, before anything on the page was clicked.

/** Elements that have a meaning of their own for keys, which are left to them. */
const OWN_ROLES = "radio slider tab combobox listbox option menu menuitem grid dialog spinbutton".split(" "),
  OWN_KEYS = [
    "input,textarea,select,summary,[contenteditable]:not([contenteditable=false])",
    ...OWN_ROLES.map((role) => `[role=${role}]`),
  ].join();
/** Those that only a press means something to. */
const PRESSED = "button,a[href]";
/** What says whether the pointer or the keyboard is in use. */
const PRESSES = ["pointerdown", "keyup", "focusin"];

/** All pictures of the page, in every bundle of it, as bundles share no module. */
const picturesOf = (page) => (page.collsimPictures ??= new Set());

/** The part of `root` that is in the window, in square pixels. */
function visibleArea(root) {
  const { left, right, top, bottom } = root.getBoundingClientRect(),
    wide = Math.min(right, globalThis.innerWidth) - Math.max(left, 0),
    tall = Math.min(bottom, globalThis.innerHeight) - Math.max(top, 0);
  return Math.max(0, wide) * Math.max(0, tall);
}

/** The picture that keys of the page are for: the one of which most is seen, the first of several. */
const pictureForKeys = (pictures) =>
  [...pictures].reduce((most, root) => (!most || visibleArea(root) > visibleArea(most) ? root : most), null);

/** Is a key of the page free for a picture, pressed at `target`? */
function isKeyFree(ev, target) {
  if (ev.defaultPrevented || ev.ctrlKey || ev.metaKey || ev.altKey) return false;
  if (!target?.closest || target.closest(OWN_KEYS)) return false;
  return !((ev.key === " " || ev.key === "Enter") && target.closest(PRESSED));
}

/** The menu lets go of the keyboard. */
function leaveMenu(page) {
  const focused = page.activeElement;
  if (focused?.closest?.("header,[role=menu],[data-testid=stTopNavSection]")) focused.blur();
}

/**
 * Give `root` the keys that are pressed outside of every picture, as long as most of what is seen is in it. The menu
 * that led here lets go of the keyboard. Returns what ends that.
 */
function listenToPage(root) {
  const page = root.ownerDocument,
    pictures = picturesOf(page);
  const onKey = (ev) => {
    const path = ev.composedPath();
    if (path.some((e) => pictures.has(e)) || !isKeyFree(ev, path[0]) || pictureForKeys(pictures) !== root) return;
    const { key, code, shiftKey } = ev,
      copy = new KeyboardEvent("keydown", { key, code, shiftKey, cancelable: true });
    root.dispatchEvent(copy);
    if (copy.defaultPrevented) ev.preventDefault();
  };
  // Some time after Escape the menu takes the keyboard; whoever opened it with the pointer goes on with the picture.
  let pointed = false,
    escaped = false;
  const onPress = (ev) => {
    if (ev.type === "focusin") return escaped && leaveMenu(page);
    if (ev.type === "pointerdown") pointed = true;
    else if (ev.key === "Tab" || ev.key === "Enter") pointed = false;
    escaped = pointed && ev.key === "Escape";
    return escaped && leaveMenu(page);
  };
  leaveMenu(page);
  pictures.add(root);
  const end = new AbortController(),
    { signal } = end;
  page.addEventListener("keydown", onKey, { signal });
  for (const type of PRESSES) page.addEventListener(type, onPress, { signal, capture: true });
  return () => {
    pictures.delete(root);
    end.abort();
  };
}

/** The root of a picture that takes keys. */
const pictureIn = (box) =>
  [...box.children].find((e) => e.getAttribute("role") === "group" && e.getAttribute("tabindex") === "0");

/** Keys of the page go to the picture in `box`, also to one that moves in later; returns what ends that. */
export function bindPageKeys(box) {
  /** @type {(() => void) | null} */
  let end = null;
  const begin = () => {
    const root = end ? null : pictureIn(box);
    if (root) end = listenToPage(root);
  };
  begin();
  const observer = new MutationObserver(begin);
  observer.observe(box, { childList: true });
  return () => {
    observer.disconnect();
    end?.();
  };
}
