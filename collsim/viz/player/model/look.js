// Colours and the font, from the file that Python reads as well (`collsim/display/palette.py`).

import palette from "../../../display/palette.json" with { type: "json" };

/** Colours of one theme, by name: 0 is light, 1 dark. */
const colorsOf = (pairs, theme) => Object.fromEntries(Object.entries(pairs).map(([name, pair]) => [name, pair[theme]]));

/** Pairs of colours by theme. */
const byTheme = (pairs) => ({ light: colorsOf(pairs, 0), dark: colorsOf(pairs, 1) });

export const FONT = palette.fonts.map((name) => (name.includes(" ") ? `"${name}"` : name)).join();

export const TOKENS = byTheme(palette.tokens);

/** b: the box of a bucket, t: text on it, n: the tint that leads to the open panel. Neighbours alternate dark and
 * light, so that grey print keeps them apart. */
export const BUCKET_HUES = byTheme(palette.buckets);

export const hex = (c) => [1, 3, 5].map((i) => parseInt(c.slice(i, i + 2), 16));

/** The colour of k of n contributions: red, green and blue. */
export function mixRamp(colors, k, n) {
  const f = n > 2 ? Math.min(1, Math.max(0, (k - 1) / (n - 2))) : 0,
    a = hex(colors.sum1),
    b = hex(colors.sum2);
  return a.map((v, i) => Math.round(v + (b[i] - v) * f));
}

/** The same as CSS has it. */
export const ramp = (colors, k, n) => `rgb(${mixRamp(colors, k, n).join(",")})`;

/**
 * Colours of the second collective and those after it; the first keeps the usual ones. Beyond the last they begin
 * again.
 */
export const HUES = {
  light: palette.collectives.map((pairs) => colorsOf(pairs, 0)),
  dark: palette.collectives.map((pairs) => colorsOf(pairs, 1)),
};

const hueSets = Object.fromEntries(
  ["light", "dark"].map((k) => [k, [TOKENS[k], ...HUES[k].map((hues) => ({ ...TOKENS[k], ...hues }))]]),
);

/** The colours C as the collective of a slot has them. */
export const hues = (colors, model, slot) => huesOfGroup(colors, model.groupOf[slot] ?? 0);

export const huesOfGroup = (colors, q) => hueSets[colors === TOKENS.dark ? "dark" : "light"][q % 4];
