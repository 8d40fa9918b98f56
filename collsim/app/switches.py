"""Language and theme, at the top right of every page."""

from __future__ import annotations

import streamlit as st

from .state import is_dark, language, t
from .texts import LANGUAGES

# Streamlit has no call that sets the theme; it keeps the reader's choice in the browser, per path, and reads it when the page
# loads. The address holds the whole state, so loading again loses nothing.
_THEME = """
export default function ({ data, parentElement, setStateValue }) {
  const [r, g, b] = getComputedStyle(parentElement.querySelector(".ground")).backgroundColor.match(/[\\d.]+/g).map(Number);
  const isDark = 0.3 * r + 0.6 * g + 0.1 * b < 128;   // what is seen; the server learns of it only when it is told
  if (isDark !== data.isDark) setTimeout(() => setStateValue("isDark", isDark), 50);
  const box = parentElement.querySelector(".seg"), words = [["Light", data.light], ["Dark", data.dark]];
  box.setAttribute("aria-label", data.label);
  box.replaceChildren(...words.map(([name, word]) => {
    const b = document.createElement("button");
    b.type = "button"; b.textContent = word; b.setAttribute("aria-pressed", String((name === "Dark") === isDark));
    b.onclick = () => {
      const version = Object.keys(localStorage).map(k => /^stActiveTheme-.*-v(\\d+)$/.exec(k)?.[1]).find(Boolean) ?? "2";
      const base = location.pathname.replace(/[^/]*$/, "");
      for (const page of ["", ...data.pages]) localStorage.setItem(`stActiveTheme-${base}${page}-v${version}`, JSON.stringify(name));
      location.reload();
    };
    return b;
  }));
}
"""
_CSS = """
.seg{display:inline-flex;border:1px solid var(--st-border-color);border-radius:7px;overflow:hidden}
.ground{display:none;background:var(--st-background-color)}
.seg{background:var(--st-secondary-background-color)}
button{border:0;background:none;color:var(--st-text-color);font:14px/20px var(--st-font);padding:6px 12px;min-height:34px;cursor:pointer}
button+button{border-left:1px solid var(--st-border-color)}
button[aria-pressed=true]{background:var(--st-primary-color);color:var(--st-background-color);font-weight:700}
button:focus-visible{outline:2px solid var(--st-text-color);outline-offset:-4px}
"""


def switches(pages: list[str]) -> None:
    """Draw both. `pages` are the paths of all pages: the theme is kept for each."""
    with st.container(key="switches", horizontal=True, width="content"):
        if "w_lang" not in st.session_state:
            st.session_state["w_lang"] = language()
        st.segmented_control(
            t("language"), list(LANGUAGES), format_func=LANGUAGES.__getitem__, key="w_lang", required=True, label_visibility="collapsed"
        )
        theme = st.components.v2.component(
            "collsim_theme", html='<div class="seg" role="group"></div><i class="ground"></i>', css=_CSS, js=_THEME
        )
        words = {"light": t("theme.light"), "dark": t("theme.dark"), "label": t("theme")}
        theme(key="theme", data={**words, "isDark": is_dark(), "pages": pages}, width="content", height="content", on_isDark_change=_seen)


def _seen() -> None:
    """The theme changed under the page: drawing again is all there is to do."""
