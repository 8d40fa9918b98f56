"""Write your own: an editor, what is wrong with the code in it, and the run."""

from __future__ import annotations

import hashlib
import html
import re
from dataclasses import replace
from typing import Any

import streamlit as st

from collsim.markup import escape_text
from collsim.sandbox import walls
from collsim.sandbox.allowlist import STEPS
from collsim.schedule import Schedule
from collsim.teach.exercises.failure import history
from collsim.units import format_bytes, format_time
from collsim.viz.hosts.page import build_player_source

from ...scenario.choice import played_collectives
from ...scenario.mistakes import sentence
from ...shell.address import leave, remember, remembered
from ...shell.controls import SIZES, number, pick, place_label, quantity
from ...shell.notes import bound_note, complain, mistake
from ...shell.page import page
from ...shell.results import latest
from ...shell.session import is_dark, language, session, t
from . import drafts
from .consent import consented
from .drafts import Draft
from .editor import editor, typed
from .trial import LIMITS, Trial
from .verdict import Verdict, expected_verdict, verdict

PAGE = "write"
_COLUMNS = 12


@page(PAGE, 60, address=drafts.ADDRESS)
def draw() -> None:
    """Draw the page: controls at the side; editor and verdict; the run."""
    draft: Draft = remembered(PAGE)
    draft = replace(draft, code=typed(draft.code, draft.turn))
    complaints = list(session().complaints)
    draft = _controls(draft)
    st.html(f'<style>{_STYLE}</style><h1 class="cs-title">{escape_text(t("write.title"))}</h1>')
    complain(complaints)
    leave(draft)
    with st.container(key="write_stage"):
        text, play = st.columns([5, 8], gap="medium")
    with text, st.container(key="write_text"):
        left, right = st.columns([12, 10], gap="medium")
    with right:
        wanted = consented(draft)
        found = None if wanted is None else latest(verdict, wanted, expected=expected_verdict, in_worker=True)
    with left:
        editor(
            draft.code, draft.turn, t("write.editor"), found[0].tried.line if found and found[1] == (wanted,) else None
        )
        st.html(f'<div class="cs-note" style="font-size:14px;line-height:20px">{_code_words(t("write.how"))}</div>')
    if wanted is None:
        with play, st.container(key="write_play"):
            _player(draft, None)
    if found is not None:
        (of,) = found[1]
        with play, st.container(key="write_play"):
            _play(of, found[0])
        with right:
            _verdict(of, found[0].tried, found[0].figures)
    _below(draft)


def _play(draft: Draft, shown: Verdict) -> None:
    """The run in the player; while there is none, the last one that there was."""
    if shown.cannot is not None:
        mistake(t("write.cannot", why=sentence(shown.cannot, language())))
    if shown.timeline is None and (kept := st.session_state.get("write_kept")) is not None:
        st.html(f'<div class="cs-note">{escape_text(t("write.kept"))}</div>')
        _player(*kept)
        return
    st.session_state["write_kept"] = None if shown.timeline is None else (draft, shown.timeline)
    _player(draft, shown.timeline)


# ---- controls


def _controls(draft: Draft) -> Draft:
    with st.sidebar:
        st.html(f'<h2 class="cs-part">{escape_text(t("what"))}</h2>')
        st.session_state["w_start"] = draft.starter or "own"
        names = [*drafts.STARTERS, *([] if draft.starter else ["own"])]
        labels = {name: t(f"write.start.{name}") for name in names}
        st.selectbox(t("write.start"), names, format_func=labels.__getitem__, key="w_start", on_change=_picked)
        draft = replace(draft, collective=pick("collective", played_collectives(), draft.collective))
        draft = replace(draft, ranks=number("ranks", draft.ranks, 2, drafts.MOST_RANKS))
        st.html(f'<h2 class="cs-part next">{escape_text(t("where"))}</h2>')
        place = _place(draft.place)
        if place not in drafts.MACHINES:
            st.html(
                '<div class="cs-note" '
                f'style="font-size:14px;line-height:19px;margin-top:-4px">{escape_text(t("write.cables"))}</div>'
            )
        return replace(draft, place=place, nbytes=quantity("nbytes", SIZES, draft.nbytes))


def _picked() -> None:
    """A starting point was picked: its code, and the collective it is for."""
    name = st.session_state["w_start"]
    if name in drafts.STARTERS:
        remember(PAGE, drafts.started(remembered(PAGE), name))
        st.session_state.pop("w_collective", None)


def _place(current: str) -> str:
    known = drafts.places()
    if st.session_state.get("w_where") not in known:
        st.session_state["w_where"] = current
    labels = {name: place_label(name) for name in known}
    return str(st.selectbox(t("write.place"), known, format_func=labels.__getitem__, key="w_where"))


# ---- verdict


def _verdict(draft: Draft, tried: Trial, figures: dict[str, float] | None) -> None:
    """Right or not, where it goes wrong, the figures, and the steps as text."""
    head, lines = _sentences(draft, tried)
    body = "".join(f"<span>{escape_text(line)}</span>" for line in lines)
    token = "done" if tried.passed else "full"
    st.html(
        f'<div class="cs-why" style="border-color:var(--cs-{token})" '
        f'role="status"><b>{escape_text(head)}</b>{body}</div>'
    )
    if tried.passed and figures and tried.schedule is not None:
        st.html(f'<div class="cs-head">{_boxes(tried.schedule, figures, draft)}</div>')
    if tried.schedule is not None and tried.schedule.steps:
        st.html(_diagram(tried.schedule, None if tried.passed else tried.step, None if tried.passed else tried.rank))
        if not tried.passed and tried.rank is not None and tried.chunk is not None:
            over = history(tried.schedule, tried.rank, tried.chunk, language())
            st.html(f'<pre class="cs-steps">{html.escape(over)}</pre>' if over else "<span></span>")
    if tried.printed.strip():
        st.html(
            f'<div class="cs-note">{escape_text(t("write.printed"))}</div><pre '
            f'class="cs-steps">{html.escape(tried.printed[:600])}</pre>'
        )


def _sentences(draft: Draft, tried: Trial) -> tuple[str, list[str]]:
    if tried.refused is not None:
        line = t("write.line", line=tried.line) if tried.line else ""
        return t("write.notrun"), [line + t(tried.refused.key, **tried.refused.values)]
    if tried.passed:
        head = t("write.right", ranks=tried.ranks, collective=draft.collective)
        others = [n for n in tried.right_for if n != tried.ranks]
        lines = [t("write.others", others=", ".join(map(str, others)))] if others and tried.failed is None else []
        return head, [
            *lines,
            *([t("write.otherwrong", failed=tried.failed), tried.told(language())] if tried.failed else []),
        ]
    if tried.schedule is not None and tried.rank is not None and tried.chunk is not None:
        place: dict[str, object] = {"who": tried.schedule.who(tried.rank), "chunk": tried.chunk}
        head = t("write.where", **place) if tried.step is None else t("write.wrong", **place, step=tried.step + 1)
    else:
        head = t("write.noplace")
    return head, [tried.told(language())]


def _boxes(schedule: Schedule, figures: dict[str, float], draft: Draft) -> str:
    boxes = [
        (t("time"), format_time(figures["time"]), place_label(draft.place)),
        (t("bound"), format_time(figures["bound"]), bound_note(figures["bound"], figures["gap"])),
        (t("write.steps"), f"{schedule.steps:,}", t("write.steps.note", transfers=f"{len(schedule):,}")),
        (t("write.sent"), format_bytes(figures["sent"]), t("write.sent.note", share=f"{figures['share']:.4g}")),
    ]
    cells = []
    for name, value, note in boxes:
        amount, _, unit = value.partition(" ")
        words = f"<small>{escape_text(name)}</small><b>{amount} <i>{unit}</i></b><span>{escape_text(note)}</span>"
        cells.append(f'<div class="cs-fig">{words}</div>')
    return "".join(cells)


def _diagram(schedule: Schedule, step: int | None, rank: int | None) -> str:
    """A row per rank, a column per step; the place of the mistake has a frame."""
    names, cells = schedule.diagram_cells(17, schedule.steps)
    first = 0 if step is None else max(0, min(step - _COLUMNS // 2, schedule.steps - _COLUMNS))
    last = min(schedule.steps, first + _COLUMNS)
    rows = ["<tr><td></td>" + "".join(f"<th>{k + 1}</th>" for k in range(first, last)) + "</tr>"]
    for index, name in enumerate(names):
        marks = [' class="bad"' if (index, k) == (rank, step) else "" for k in range(first, last)]
        row = "".join(
            f"<td{mark}>{html.escape(cells[index][k])}</td>" for mark, k in zip(marks, range(first, last), strict=True)
        )
        rows.append(f"<tr><th>{html.escape(name)}</th>{row}</tr>")
    more = t("write.more", steps=schedule.steps, first=first + 1, last=last) if last - first < schedule.steps else ""
    title, legend = escape_text(t("write.diagram")), escape_text(f"{t('write.legend')} {more}".strip())
    return (
        f'<div class="cs-steps"><table aria-label="{title}">{"".join(rows)}</table></div><div class="cs-note '
        f'small">{legend}</div>'
    )


# ---- the run


def _player(draft: Draft, sent: dict[str, Any] | None) -> None:
    """The run."""
    if sent is None:
        st.html(f'<div class="cs-note" style="padding:24px 4px">{escape_text(t("write.nosteps"))}</div>')
        return
    name = hashlib.sha256(
        f"{draft.code}{draft.collective}{draft.ranks}{draft.place}{draft.nbytes}".encode()
    ).hexdigest()[:12]
    data: dict[str, Any] = {"id": name, "timeline": sent, "lang": language(), "theme": "dark" if is_dark() else "light"}
    data["view"] = "physical" if draft.place in drafts.MACHINES else "logical"
    mount = st.components.v2.component("collsim_player", js=build_player_source())
    mount(key="player_write", data=data)


def _below(draft: Draft) -> None:
    """Why it is safe, and how to take the code along."""
    with st.expander(t("write.safe")):
        memory = format_bytes(LIMITS.memory)
        counts = {"stepcount": f"{LIMITS.steps:,}", "transfers": f"{LIMITS.transfers:,}"}
        text = t(
            "write.safe.text", steps=", ".join(sorted(STEPS)), seconds=f"{LIMITS.seconds:g}", memory=memory, **counts
        )
        fence = t(f"write.fence.{walls().name.lower()}")
        st.markdown(f"{text}\n\n{t('write.fence')} {fence}")
    with st.expander(t("write.take")):
        names = re.findall(r"^def (\w+)\(", draft.code, re.MULTILINE)
        name = names[-1] if names else "my_algorithm"
        body = draft.code.replace(f"def {name}(", f'@cs.algorithm("{draft.collective}")\ndef {name}(')
        st.download_button(t("write.keep"), body, "my_algorithm.py", "text/x-python", on_click="ignore")
        st.html(f'<div class="cs-note">{escape_text(t("write.keep.note"))}</div>')
        st.code(f"collsim verify my_algorithm.py:{name} --ranks 2:33", language="bash")


def _code_words(text: str) -> str:
    return re.sub(r"`(.+?)`", r"<code>\1</code>", escape_text(text))


#: A wide screen has editor and verdict in one column and the player beside them; a narrow one editor beside verdict and
#: the player below.
_STYLE = """
@media(min-width:1600px){.st-key-write_text [data-testid=stHorizontalBlock]{flex-direction:column}
 .st-key-write_text [data-testid=stColumn]{width:100%;flex:none}}
@media(max-width:1599px){.st-key-write_stage
 [data-testid=stHorizontalBlock]:has(.st-key-write_play){flex-direction:column}
 [data-testid=stColumn]:has(.st-key-write_play),[data-testid=stColumn]:has(.st-key-write_text){width:100%;flex:none}}
.cs-steps{overflow:auto;background:var(--cs-card);border:1px solid var(--cs-line);border-radius:8px;padding:8px 12px;
 margin:0;
 font:14px/22px ui-monospace,'Cascadia Code',Menlo,'Liberation Mono',monospace;color:var(--cs-ink);max-height:330px;
 white-space:pre}
.cs-steps table{border-collapse:collapse}.cs-steps th{font-weight:400;color:var(--cs-ink2);text-align:left;
 padding:1px 12px 1px 0}
.cs-steps td{padding:1px 8px}.cs-steps tr:first-child th{text-align:center;padding:1px 8px}
.cs-steps td.bad{outline:2px solid var(--cs-full);outline-offset:-1px;border-radius:4px;font-weight:700}
@media(max-width:1400px){.st-key-write_text .cs-head{gap:6px 14px}
 .st-key-write_text [data-testid=stVerticalBlock]{gap:8px}}
.cs-note.small{font-size:14px;line-height:19px;margin-top:4px}
.cs-note code{font:13px ui-monospace,Menlo,monospace;background:var(--cs-card);padding:1px 4px;border-radius:4px}
"""
