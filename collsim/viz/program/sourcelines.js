// What the editor and the lanes of a rank program tell each other about lines of its source. They are components of
// their own, each in its shadow tree, so an event of the window is the only way from one to the other.

/** `{line: {ranks, isStuck}}`: the ranks that are in a call at the cursor, by its line. */
export const LINES_AT_CURSOR = "collsim-lines-at-cursor";
/** The lines of the mark under the pointer, none where there is no mark. */
export const LINES_POINTED_AT = "collsim-lines-pointed-at";
/** The line of the editor under the pointer, or null. */
export const LINE_POINTED_AT = "collsim-line-pointed-at";

/** The editor was drawn, perhaps after the lanes: they say again where the cursor is. */
export const LINES_REQUESTED = "collsim-lines-requested";

export function announce(kind, detail) {
  window.dispatchEvent(new CustomEvent(kind, { detail }));
}
