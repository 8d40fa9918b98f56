"""Hangs: ways to hang a job, each a program that was run: who waits for whom, what a cluster shows, and the fix."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from collsim.display.markup import escape_text
from collsim.programs import Hang, list_hangs
from collsim.programs.hangs.stacks import format_logs, format_stacks

from ...scenario.address_parameters import PageAddress, declare_word, list_words
from ...scenario.choice import create_name_reader
from ...shell.address import get_menu, get_remembered, remember, write_page_address
from ...shell.notes import complain, draw_note, draw_part, format_title, format_verdict
from ...shell.page import register_page
from ...shell.session import choose_text, get_language, t
from ...styles import read_style
from . import program_drafts as drafts
from . import program_parts as parts
from .program_verdict import ProgramVerdict, describe_run

PAGE = "hangs"
NAMES = list(list_hangs())
# The texts of the catalogue tell what four ranks do.
_RANKS = 4


@dataclass(frozen=True)
class HangChoice:
    """The hang that is open.

    Attributes:
        hang: Its name in the catalogue.
    """

    hang: str = declare_word(NAMES[0], create_name_reader("hang", lambda: NAMES))


@dataclass(frozen=True)
class HangContent:
    """A hang that was run.

    Attributes:
        verdict: The verdict on it, with its picture.
        stacks: Stacks of its ranks, in the form of faulthandler.
        logs: What the library logs after the timeout.
        ranks_by_line: The ranks that wait in each line of the source.
        fixed: The verdict on the fixed program.
    """

    verdict: ProgramVerdict
    stacks: str
    logs: str
    ranks_by_line: dict[int, list[int]]
    fixed: ProgramVerdict


@st.cache_data(max_entries=len(NAMES), show_spinner=False)
def load_hang(name: str) -> HangContent:
    """Run a hang and its fixed program, once for all sessions.

    Args:
        name: Of the hang.
    """
    hang = list_hangs()[name]
    run = hang.run(_RANKS)
    ranks_by_line: dict[int, list[int]] = {}
    for wait in run.waits:
        ranks_by_line.setdefault(wait.line, []).append(wait.rank)
    verdict, fixed = (describe_run(ran, with_fixes=False) for ran in (run, hang.run_fixed(_RANKS)))
    return HangContent(verdict, format_stacks(run, f"{name}.py"), format_logs(run), ranks_by_line, fixed)


@register_page(PAGE, 64, address=PageAddress(HangChoice(), list_words(HangChoice)))
def draw() -> None:
    """Draw the page: the hangs at the side; program and picture; the signs; the fix."""
    choice: HangChoice = get_remembered(PAGE)
    write_page_address(choice)
    hang, content = list_hangs()[choice.hang], load_hang(choice.hang)
    _draw_list(choice)
    st.html(f"<style>{parts.STYLE}{_STYLE}{_build_list_style(choice)}</style>")
    where = t("hangs.count", number=NAMES.index(hang.name) + 1, all=len(NAMES), library=hang.library)
    title = format_title(choose_text(hang.title), choose_text(hang.cause))
    st.html(f'<div class="cs-hang"><small>{escape_text(where)}</small>{title}</div>')
    complain()
    with st.container(key="hang_stage"):
        left, right = st.columns([5, 8], gap="medium")
    with left, st.container(key="hang_text"):
        st.html(parts.build_source(hang.source, content.ranks_by_line))
        st.button(t("hangs.open"), key="hang_open", on_click=_on_open, args=(hang, hang.source))
    with right:
        assert content.verdict.reason is not None
        reason = content.verdict.reason.text(get_language())
        st.html(format_verdict(t("program.verdict.hangs"), reason, token="full", status=True))
        with st.container(key="card_hang", border=True):
            parts.draw_lanes(content.verdict, "hang_lanes")
    with st.container(key="hang_rest"):
        left, right = st.columns([5, 8], gap="medium")
    with left, st.container(key="card_hang_fix", border=True):
        _draw_fix(hang, content)
    with right, st.container(key="card_hang_signs", border=True):
        draw_part(t("hangs.signs"))
        draw_note(choose_text(hang.signs))
        draw_note(t("hangs.stacks"))
        st.html(parts.build_block([content.stacks]))
        if content.logs:
            draw_note(t("hangs.logs"))
            st.html(parts.build_block([content.logs]))
        draw_part(t("hangs.difference"))
        draw_note(choose_text(hang.difference))


def _draw_fix(hang: Hang, content: HangContent) -> None:
    draw_part(t("hangs.fix"))
    draw_note(choose_text(hang.fix))
    st.html(parts.build_diff(hang.source, hang.fixed_source))
    assert content.fixed.reason is not None
    draw_note(t("hangs.fixed", ranks=_RANKS, text=content.fixed.reason.text(get_language())))
    st.button(t("hangs.open.fixed"), key="hang_open_fixed", on_click=_on_open, args=(hang, hang.fixed_source))


def _draw_list(choice: HangChoice) -> None:
    """All of them at the side; the open one stands out."""
    with st.sidebar:
        draw_part(t("hangs.list"))
        with st.container(key="hanglist"):
            for name, hang in list_hangs().items():
                st.button(
                    choose_text(hang.title),
                    key=f"hang_{name}",
                    type="tertiary",
                    on_click=remember,
                    args=(PAGE, HangChoice(name)),
                )


def _on_open(hang: Hang, source: str) -> None:
    """Open a program of the catalogue on the page Bring your program."""
    draft = drafts.ProgramDraft(
        collective=hang.collective or "none", ranks=_RANKS, nbytes=hang.nbytes, allow_unsandboxed=False
    )
    remember("program", draft.with_code(source))
    st.switch_page(get_menu()["program"])


def _build_list_style(choice: HangChoice) -> str:
    selector = f".st-key-hang_{choice.hang} button"
    return (
        f"{selector}::before{{background:var(--cs-ink);color:var(--cs-card);border-color:var(--cs-ink)}}"
        f"{selector} p{{font-weight:700}}"
    )


_STYLE = read_style("hangs")
