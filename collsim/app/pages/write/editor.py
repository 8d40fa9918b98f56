"""The code editor: one component without dependencies."""

from __future__ import annotations

from functools import lru_cache

import streamlit as st

from collsim.sandbox.allowlist import LONGEST
from collsim.viz.hosts.bundle import read_bundle

_HTML = (
    '<div class="editor"><div class="inner"><div class="lines" aria-hidden="true"></div><div class="bar"></div>'
    '<pre class="paint" aria-hidden="true"></pre>'
    '<textarea spellcheck="false" autocapitalize="off" autocomplete="off" wrap="off" '
    f'maxlength="{LONGEST}"></textarea></div></div>'
)
_COLORS = {  # light, dark
    "NOTE": ("#5C6A72", "#98A7AE"),
    "TEXT": ("#7A3E68", "#E3A5CF"),
    "WORD": ("#1F5F95", "#7CC6F2"),
    "NUMBER": ("#8A5C00", "#F2BC45"),
    "STEP": ("#00664A", "#5FE0B5"),
    "BAD": ("#FCE0CF", "#4A2410"),
}
_STYLE = """
.editor{border:1px solid var(--st-border-color);border-radius:8px;background:var(--st-secondary-background-color);
 height:320px;overflow:auto}
.editor:focus-within{outline:2px solid var(--st-text-color);outline-offset:1px}
.inner{position:relative;display:grid;grid-template-columns:48px minmax(max-content,1fr);min-height:100%}
.lines,.paint,textarea{font:15px/22px var(--st-code-font);margin:0;padding:10px 0;tab-size:4;box-sizing:border-box}
.lines{grid-area:1/1;position:sticky;left:0;z-index:2;text-align:right;color:NOTE;
 background:var(--st-secondary-background-color);
 user-select:none;padding-right:12px}
.lines>span{display:block;height:22px;white-space:nowrap}.lines .bad{font-weight:700;color:var(--st-text-color)}
.lines .pointed{font-weight:700;color:var(--st-text-color);background:light-dark(#E6EAEC,#2A343A)}
.lines .chip{float:left;background:var(--cs-ink);color:var(--cs-card);border-radius:4px;padding:0 4px;
 margin:2px 2px 0 0;
 font:700 12px/18px var(--st-font)}.lines .here{color:var(--st-text-color);font-weight:700}
.lines .stuck .chip{background:var(--cs-full)}.editor.ranks .lines{padding:10px 8px 10px 4px}
.paint,textarea{grid-area:1/2;white-space:pre;font-family:var(--st-code-font)}
.paint{color:var(--st-text-color);pointer-events:none;z-index:1;padding-right:16px}
textarea{width:100%;height:100%;border:0;outline:0;background:none;color:transparent;caret-color:var(--st-text-color);
 resize:none;overflow:hidden;z-index:1}
.bar{position:absolute;left:40px;right:0;height:22px;background:BAD;display:none}
.note{color:NOTE}.text{color:TEXT}.word{color:WORD}.number{color:NUMBER}.step{color:STEP;font-weight:700}
@media(max-width:1400px){.lines,.paint,textarea{font-size:13px}.editor{height:264px}
 .inner{grid-template-columns:40px minmax(max-content,1fr)}}
.editor.tall{height:484px}.editor.ranks .inner{grid-template-columns:86px minmax(max-content,1fr)}
@media(max-width:700px){.editor.tall{height:320px}}
"""


@lru_cache(maxsize=1)
def _read_css() -> str:
    style = _STYLE
    for name, (light, dark) in _COLORS.items():
        style = style.replace(name, f"light-dark({light},{dark})")
    return style


def get_typed_code(code: str, turn: int, key: str = "editor") -> str:
    """The code as it was last typed, or `code` where nothing was typed since the editor showed it.

    Args:
        code: The code.
        turn: Number of the measurement, which tells it from the one before.
        key: Of the editor, one for each page.
    """
    try:
        typed_text = st.session_state[key]["code"]
    except (KeyError, TypeError):
        return code
    if isinstance(typed_text, dict) and typed_text.get("turn") == turn and isinstance(typed_text.get("text"), str):
        return str(typed_text["text"])[: LONGEST + 1]
    return code


def draw_editor(
    code: str,
    turn: int,
    label: str,
    line: int | None,
    key: str = "editor",
    *,
    is_tall: bool = False,
    has_ranks: bool = False,
    is_run: bool = False,
) -> None:
    """Draw the editor.

    Args:
        code: The code that it shows at first.
        turn: Number of the code's source; when it changes, the editor shows `code` and forgets what was typed.
        label: What screen readers call the editor.
        line: The line that is marked as wrong; None for none.
        key: Of the editor, one for each page.
        is_tall: Whether it shows some twenty lines at once.
        has_ranks: Whether its margin has room for the ranks that are in a line.
        is_run: Whether the lanes next to it are of this code, so that lines and ranks belong together.
    """
    mount = st.components.v2.component("collsim_editor", html=_HTML, css=_read_css(), js=read_bundle("editor"))
    data = {
        "code": code,
        "turn": turn,
        "label": label,
        "line": line,
        "tall": is_tall,
        "ranks": has_ranks,
        "run": is_run,
    }
    mount(key=key, data=data, on_code_change=lambda: None)
