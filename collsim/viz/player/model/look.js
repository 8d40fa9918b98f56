// Colours: the tokens of the light and the dark theme.

export const FONT =
  '"Source Sans 3","Segoe UI","Helvetica Neue",Arial,"Noto Sans CJK SC","PingFang SC","Microsoft YaHei",sans-serif';

export const TOKENS = {
  light: {
    bg: "#F4F6F5",
    card: "#FFFFFF",
    sunk: "#F0F3F2",
    ink: "#162026",
    ink2: "#45535B",
    ink3: "#5C6A72",
    line: "#D3DADD",
    grid: "#E6EAEC",
    edge: "#7F8D95",
    idle: "#CBD4D8",
    casing: "#EBEFF1",
    room: "#3F8FC8",
    roomtint: "#E6F2FA",
    near: "#A87000",
    neartint: "#FDF4E0",
    full: "#A63A00",
    fulltint: "#FCE0CF",
    fulltext: "#9C3700",
    sum1: "#EAF4F0",
    sum2: "#3FAE8C",
    sumfill: "#8FD3BB",
    done: "#00664A",
    ontext: "#FFFFFF",
    rs: "#E3E8F1",
    ag: "#E2F1EB",
    wait: "#87949B",
    host: "#F1E9F2",
    hostink: "#7A3E68",
  },
  dark: {
    bg: "#0E1316",
    card: "#161D21",
    sunk: "#1C2529",
    ink: "#EEF3F5",
    ink2: "#BCC8CE",
    ink3: "#98A7AE",
    line: "#334046",
    grid: "#242E33",
    edge: "#71818A",
    idle: "#38444B",
    casing: "#222C31",
    room: "#56B4E9",
    roomtint: "#173245",
    near: "#F2BC45",
    neartint: "#3E2F0C",
    full: "#F26A2E",
    fulltint: "#4A2410",
    fulltext: "#FF9A66",
    sum1: "#1D2E2A",
    sum2: "#1E7561",
    sumfill: "#1D705B",
    done: "#5FE0B5",
    ontext: "#06241B",
    rs: "#232C3A",
    ag: "#16302A",
    wait: "#7C8B93",
    host: "#33242F",
    hostink: "#E3A5CF",
  },
};

export const hex = (c) => [1, 3, 5].map((i) => parseInt(c.slice(i, i + 2), 16));

/** The colour of k of n contributions. */
export function ramp(colors, k, n) {
  const f = n > 2 ? Math.min(1, Math.max(0, (k - 1) / (n - 2))) : 0,
    a = hex(colors.sum1),
    b = hex(colors.sum2);
  return `rgb(${a.map((v, i) => Math.round(v + (b[i] - v) * f)).join(",")})`;
}

/**
 * Colours of the second collective and those after it; the first keeps the usual ones. Beyond the last they begin
 * again.
 */
export const HUES = {
  light: [
    { done: "#5B3A8C", sum1: "#EFEAF6", sum2: "#A78BD0", sumfill: "#C9B6E4" },
    { done: "#A3225F", sum1: "#FBE9F1", sum2: "#E07AA8", sumfill: "#F0B3CE" },
    { done: "#3A4A55", sum1: "#ECEFF1", sum2: "#8FA1AC", sumfill: "#BCC8CF" },
  ],
  dark: [
    { done: "#C3A6F2", sum1: "#2A2338", sum2: "#5E4690", sumfill: "#5A4488" },
    { done: "#F59BC4", sum1: "#38202B", sum2: "#8A3A60", sumfill: "#84395D" },
    { done: "#B9C6CE", sum1: "#262D31", sum2: "#55666F", sumfill: "#52626B" },
  ],
};

const hueSets = Object.fromEntries(
  ["light", "dark"].map((k) => [k, [TOKENS[k], ...HUES[k].map((hues) => ({ ...TOKENS[k], ...hues }))]]),
);

/** The colours C as the collective of a slot has them. */
export const hues = (colors, model, slot) => huesOfGroup(colors, model.groupOf[slot] ?? 0);

export const huesOfGroup = (colors, q) => hueSets[colors === TOKENS.dark ? "dark" : "light"][q % 4];
