"""The code editor: one component without dependencies."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import streamlit as st

from collsim.programs.program_entry import LONGEST_PROGRAM
from collsim.sandbox.allowlist import LONGEST
from collsim.viz.hosts.bundle import read_bundle

from ...shell.address import get_remembered, remember
from ...shell.controls import choose_start, forget
from ...shell.session import t
from ...styles import read_style
from .drafts import CodeDraft

_HTML = (
    '<div class="editor"><div class="inner"><div class="lines" aria-hidden="true"></div><div class="bar"></div>'
    '<pre class="paint" aria-hidden="true"></pre>'
    '<textarea spellcheck="false" autocapitalize="off" autocomplete="off" wrap="off" '
    f'maxlength="{LONGEST_PROGRAM}"></textarea></div></div>'  # a page that takes less says so
)


def get_typed_code(code: str, turn: int, key: str = "editor", longest: int = LONGEST) -> str:
    """The code as it was last typed, or `code` where nothing was typed since the editor showed it.

    Args:
        code: The code.
        turn: Number of the measurement, which tells it from the one before.
        key: Of the editor, one for each page.
        longest: Characters that the page takes; of more, one is kept beyond them, so that the page refuses the code.
    """
    try:
        typed_text = st.session_state[key]["code"]
    except (KeyError, TypeError):
        return code
    if isinstance(typed_text, dict) and typed_text.get("turn") == turn and isinstance(typed_text.get("text"), str):
        return str(typed_text["text"])[: longest + 1]
    return code


def choose_starter(page: str, labels: Mapping[str, str], draft: CodeDraft, collective_key: str) -> None:
    """Choose what the editor begins with. What is picked is put into it, with the collective that it is for.

    Args:
        page: Name of the page.
        labels: The text of each starting point; `own` for code that is none.
        draft: The code.
        collective_key: Name of the control of the collective, which starts again.
    """
    begin = partial(_begin_with, page, collective_key)
    choose_start(f"{page}_start", t(f"{page}.start"), labels, draft.starter or "own", begin)


def _begin_with(page: str, collective_key: str, name: str, before: str) -> None:
    """A starting point was picked in place of the one before: its code, and the collective it is for."""
    draft: CodeDraft = get_remembered(page)
    if name in draft.starters and before == (draft.starter or "own"):
        remember(page, draft.with_starter(name))
        forget(collective_key)


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
    mount = st.components.v2.component("collsim_editor", html=_HTML, css=read_style("editor"), js=read_bundle("editor"))
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
