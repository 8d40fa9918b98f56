// Light or dark, and a link to what is on the screen: the part of the page's head that Streamlit has no widget for.
// data = {light, dark, label, link, copied, isDark, pages, theme}; `theme` is what the address asks for, the state
// `isDark` says what the reader sees.

import { copyText } from "../../viz/player/export/copy.js";
import { icon, nameButton, sayBriefly, segment } from "../../viz/player/draw/elements.js";

// Streamlit has no call that sets the theme; it keeps the reader's choice in the browser, per path, and reads it when
// the page loads. The address holds the whole state, so loading again loses nothing.
function keepTheme(name, pages) {
  const version =
    Object.keys(localStorage)
      .map((k) => /^stActiveTheme-.*-v(\d+)$/.exec(k)?.[1])
      .find(Boolean) ?? "2";
  const base = location.pathname.replace(/[^/]*$/, "");
  for (const page of ["", ...pages]) {
    localStorage.setItem(`stActiveTheme-${base}${page}-v${version}`, JSON.stringify(name));
  }
}

/** The reader's choice: the address asks for it from now on, where it asked for the other one. */
function choose(name, pages) {
  keepTheme(name, pages);
  const url = new URL(location.href);
  if (url.searchParams.has("theme")) {
    url.searchParams.set("theme", name.toLowerCase());
    history.replaceState(history.state, "", url);
  }
  location.reload();
}

/** How this page was loaded. */
const navigation = () => /** @type {PerformanceNavigationTiming} */ (performance.getEntriesByType("navigation")[0]);

/** The theme of a link: the link is loaded again as it came, for what the page has to say of it. */
function followLink(name, pages) {
  keepTheme(name, pages);
  const link = new URL(navigation()?.name ?? location.href);
  if (link.searchParams.get("theme") === name.toLowerCase()) history.replaceState(history.state, "", link);
  location.reload();
}

// ms after which the theme is reported, again where the page was not drawn in it: when a report comes together with a
// click in a fragment, Streamlit reruns the fragment alone.
const REPORTS = [50, 1500, 5000];

/** Report the theme that is seen, until the server draws the page in it. */
function reportTheme(box, isDark, data, setStateValue) {
  for (const timer of box.themeTimers ?? []) clearTimeout(timer);
  box.themeTimers =
    isDark === data.isDark ? [] : REPORTS.map((delay) => setTimeout(() => setStateValue("isDark", isDark), delay));
}

// px of a window over which Streamlit's sidebar, the menu of a phone, covers the page.
const NARROW = 768;
let path = location.pathname;

/** On a phone the menu that led to this page gives way to it, unless it holds the controls of the page. */
function closeMenu() {
  const isSame = path === location.pathname;
  path = location.pathname;
  if (isSame || innerWidth > NARROW) return;
  let idle = 0; // looks in a row at a page that is done: its controls are drawn a moment later
  const timer = setInterval(() => {
    const isDone = document.querySelector("[data-testid=stApp][data-test-script-state=notRunning]");
    idle = isDone ? idle + 1 : 0;
    const isUsed = document.querySelector("[data-testid=stSidebarUserContent] :is(input,button)");
    if (idle < 6 && !(idle && isUsed)) return;
    clearInterval(timer);
    if (isUsed) return;
    /** @type {HTMLElement | null} */ (document.querySelector("[data-testid=stSidebarCollapseButton] button"))?.click();
  }, 200);
}

export default function mountSwitches({ data, parentElement, setStateValue }) {
  const ground = getComputedStyle(parentElement.querySelector(".ground")).backgroundColor,
    [r, g, b] = (ground.match(/[\d.]+/g) ?? []).map(Number);
  const isDark = 0.3 * r + 0.6 * g + 0.1 * b < 128; // what is seen; the server learns of it only when it is told
  // A browser that keeps no choice would load it without end.
  if (data.theme && (data.theme === "dark") !== isDark && navigation()?.type !== "reload") {
    followLink(data.theme === "dark" ? "Dark" : "Light", data.pages);
    return;
  }
  closeMenu();
  reportTheme(parentElement, isDark, data, setStateValue);
  const [box, link, says] = [".seg", ".link", ".says"].map((name) => parentElement.querySelector(name)),
    themes = Object.entries({ Light: data.light, Dark: data.dark });
  segment(box, themes, isDark ? "Dark" : "Light", (name) => choose(name, data.pages), data.label);
  nameButton(link, data.link);
  link.replaceChildren(icon("link"));
  link.onclick = async () =>
    sayBriefly(says, (await copyText(location.href, parentElement)) ? data.copied : location.href);
}
