"""Parts of the pages about rank programs: the lanes of a run, its source with the ranks that wait, and a change."""

from __future__ import annotations

import difflib
import hashlib
import html
from collections.abc import Mapping, Sequence
from dataclasses import asdict

import streamlit as st

from collsim.display.markup import escape_text
from collsim.locale import LANGUAGES

from ...shell.player import mount_bundle
from ...shell.session import get_language, t
from ...styles import read_style
from .program_verdict import ProgramVerdict

_LONGEST_BLOCK = 2_000  # characters
_MAX_CHIPS = 3  # ranks named on a line; more are an interval or a count


def draw_lanes(verdict: ProgramVerdict, key: str) -> None:
    """The picture of a run, and what its marks mean.

    Args:
        verdict: Of a run with messages or waits.
        key: Key of the component.
    """
    wide, narrow = verdict.pictures
    k = LANGUAGES.index(get_language())
    moments = [(time, text[k]) for time, text in verdict.moments]
    run = hashlib.sha256(f"{wide}{moments}".encode()).hexdigest()[:16]
    data = {"id": run, "wide": wide, "narrow": narrow, "moments": moments, "playback": verdict.playback}
    mount_bundle("program", key, data | {"counters": list(map(asdict, verdict.counters))})
    marks = [("plw", "program.legend.wait"), ("band", "program.legend.message")]
    if verdict.verdict == "hangs":
        marks.append(("plf", "program.legend.ever"))
    legend = "".join(f'<span><i class="{mark}"></i>{escape_text(t(text))}</span>' for mark, text in marks)
    st.html(f'<div class="pl-legend">{legend}</div>')


def build_block(lines: Sequence[str]) -> str:
    """Lines of output, in plain type."""
    return f'<pre class="pl-block" tabindex="0">{html.escape(chr(10).join(lines)[:_LONGEST_BLOCK])}</pre>'


def build_source(source: str, ranks_by_line: Mapping[int, Sequence[int]]) -> str:
    """A source with numbered lines; those in which ranks wait stand out and name them.

    Args:
        source: Of the program.
        ranks_by_line: The ranks that wait, by line; none on a line that only stands out.
    """
    rows = []
    for number, line in enumerate(source.rstrip().splitlines(), 1):
        chip, kind = "", ""
        if number in ranks_by_line:
            kind = ' class="waits"'
        if ranks := ranks_by_line.get(number):
            chip = f"<b>{_format_ranks(ranks)}</b>"
        rows.append(f"<span{kind}><i>{chip}{number}</i>{html.escape(line)}</span>")
    return f'<pre class="pl-source" tabindex="0">{"".join(rows)}</pre>'


def _format_ranks(ranks: Sequence[int]) -> str:
    """`0`, `0, 2`, `0–3`, or how many there are."""
    numbers = sorted(ranks)
    if len(numbers) <= 2:
        return ", ".join(map(str, numbers))
    if numbers[-1] - numbers[0] == len(numbers) - 1:
        return f"{numbers[0]}–{numbers[-1]}"
    if len(numbers) <= _MAX_CHIPS:
        return ", ".join(map(str, numbers))
    return t("program.ranks", count=len(numbers))


def build_diff(before: str, after: str) -> str:
    """What a change removes and adds, with one line around it.

    Args:
        before: The source.
        after: The changed source.
    """
    rows: list[str] = []
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), n=1, lineterm="")
    for line in list(lines)[2:]:
        if line.startswith("@@"):
            if rows:
                rows.append("<span>⋯</span>")
            continue
        kind = {"-": ' class="gone"', "+": ' class="new"'}.get(line[0], "")
        rows.append(f"<span{kind}>{html.escape(line)}</span>")
    return f'<pre class="pl-source pl-diff" tabindex="0">{"".join(rows)}</pre>'


STYLE = read_style("program")
