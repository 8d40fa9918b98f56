"""Write your own: an editor, what is wrong with the code in it, and the run."""

from __future__ import annotations

import hashlib
import html
import re
from dataclasses import replace

import streamlit as st

from collsim.display.markup import escape_text
from collsim.sandbox import detect_isolation
from collsim.sandbox.allowlist import STEPS
from collsim.schedule import Schedule
from collsim.teach.exercises.failure import format_history
from collsim.units import format_bytes, format_time

from ...classroom.class_works import draw_class_works
from ...scenario.choice import list_played_collectives
from ...shell.address import get_remembered, remember, write_page_address
from ...shell.controls import SIZES, choose, choose_quantity, label_machine, number, pick
from ...shell.notes import (
    complain,
    describe_bound,
    draw_headline,
    draw_mistake,
    draw_note,
    draw_part,
    explain,
    format_quantity,
    format_verdict,
)
from ...shell.page import register_page
from ...shell.player import mount_player
from ...shell.results import get_latest
from ...shell.session import get_language, get_session, t
from ...styles import read_style
from . import drafts
from .consent import ask_consent
from .drafts import Draft
from .editor import choose_starter, draw_editor, get_typed_code
from .trial import LIMITS, Trial
from .verdict import Verdict, judge_draft

PAGE = "write"
_COLUMNS = 12


@register_page(PAGE, 60, address=drafts.ADDRESS)
def draw() -> None:
    """Draw the page: controls at the side; editor and verdict; the run."""
    draft: Draft = get_remembered(PAGE)
    draft = replace(draft, code=get_typed_code(draft.code, draft.turn))
    complaints = list(get_session().complaints)
    draft = _draw_controls(draft)
    st.html(f'<style>{_STYLE}</style><h1 class="cs-title">{escape_text(t("write.title"))}</h1>')
    draw_note(f"{t('write.task')}{t('colon')}{t(f'write.task.{draft.collective}')}")
    complain(complaints)
    write_page_address(draft)
    with st.container(key="write_stage"):
        text, play = st.columns([5, 7], gap="medium")
    with text, st.container(key="write_text"):
        left, right = st.columns([12, 10], gap="medium")
    with right:
        wanted = ask_consent(PAGE, draft)
        latest_result = None
        if wanted is not None:
            latest_result = get_latest(judge_draft, wanted)
    with left:
        draw_editor(
            draft.code,
            draft.turn,
            t("write.editor"),
            latest_result[0].tried.line if latest_result and latest_result[1] == (wanted,) else None,
        )
        st.html(f'<div class="cs-note" style="font-size:14px;line-height:20px">{_mark_code(t("write.how"))}</div>')
    if wanted is None:
        with play, st.container(key="write_play"):
            _draw_player(draft, None)
    if latest_result is not None:
        (of,) = latest_result[1]
        with play, st.container(key="write_play"):
            _play_verdict(of, latest_result[0])
        with right:
            _draw_verdict(of, latest_result[0].tried, latest_result[0].figures)
    draw_class_works(PAGE, drafts.ADDRESS.write(draft))
    _draw_notes(draft)


def _play_verdict(draft: Draft, verdict: Verdict) -> None:
    """The run in the player; while there is none, the last one that there was."""
    if verdict.cannot is not None:
        draw_mistake(t("write.cannot", reason=explain(verdict.cannot)))
    if verdict.timeline is None and (last_timeline := st.session_state.get("write_kept")) is not None:
        draw_note(t("write.kept"))
        _draw_player(*last_timeline)
        return
    if verdict.timeline is None:
        st.session_state["write_kept"] = None
    else:
        st.session_state["write_kept"] = (draft, verdict.timeline)
    _draw_player(draft, verdict.timeline)


# ---- controls


def _draw_controls(draft: Draft) -> Draft:
    with st.sidebar:
        draw_part(t("what"))
        names = drafts.list_starters(draft.collective)
        if not draft.starter:
            names.append("own")
        elif draft.starter not in names:
            names.append(draft.starter)
        labels = {name: t(f"write.start.{name.partition('_')[0]}") for name in names}
        choose_starter(PAGE, labels, draft, "collective")
        collective = pick("collective", list_played_collectives(), draft.collective)
        if draft.starter and collective != draft.collective:  # nobody's own code: the page begins with that collective
            remember(PAGE, draft.with_starter(drafts.list_starters(collective)[0]))
            st.rerun()
        draft = replace(draft, collective=collective)
        draft = replace(draft, ranks=number("ranks", draft.ranks, 2, drafts.MAX_RANKS))
        draw_part(t("where"), "next")
        labels = {name: label_machine(name) for name in drafts.list_machines_and_networks()}
        machine_label = choose("where", t("write.place"), labels, draft.machine)
        if machine_label not in drafts.MACHINES:
            draw_note(t("write.cables"), "font-size:14px;line-height:19px;margin-top:-4px")
        return replace(draft, machine=machine_label, nbytes=choose_quantity("nbytes", SIZES, draft.nbytes))


# ---- verdict


def _draw_verdict(draft: Draft, tried: Trial, figures: dict[str, float] | None) -> None:
    """Right or not, where it goes wrong, the figures, and the steps as text."""
    head, lines = _build_sentences(draft, tried)
    token = "full"
    if tried.passed:
        token = "done"
    elif draft.is_skeleton:
        token = "ink"
    st.html(format_verdict(head, *lines, token=token, status=True))
    if tried.passed and figures and tried.schedule is not None:
        draw_headline(*_build_figures(tried.schedule, figures, draft))
    if tried.schedule is not None and tried.schedule.steps:
        if tried.passed or draft.is_skeleton:
            st.html(_draw_diagram(tried.schedule, None, None))
        else:
            st.html(_draw_diagram(tried.schedule, tried.step, tried.rank))
        if not (tried.passed or draft.is_skeleton) and tried.rank is not None and tried.chunk is not None:
            history = format_history(tried.schedule, tried.rank, tried.chunk, get_language())
            st.html(f'<pre class="cs-steps">{html.escape(history)}</pre>' if history else "<span></span>")
    if tried.printed.strip():
        st.html(
            f'<div class="cs-note">{escape_text(t("write.printed"))}</div><pre '
            f'class="cs-steps">{html.escape(tried.printed[:600])}</pre>'
        )


def _build_sentences(draft: Draft, tried: Trial) -> tuple[str, list[str]]:
    if tried.refused is not None:
        line = ""
        if tried.line:
            line = t("write.line", line=tried.line)
        return t("write.notrun"), [line + t(tried.refused.key, **tried.refused.values)]
    if tried.passed:
        head = t("write.right", ranks=tried.ranks, collective=draft.collective)
        others = [n for n in tried.right_for if n != tried.ranks]
        lines = []
        if others and tried.failed is None:
            lines = [t("write.others", others=", ".join(map(str, others)))]
        if tried.failed:
            key = "write.otherstopped" if tried.stopped else "write.otherwrong"
            lines = [*lines, t(key, failed=tried.failed), tried.describe(get_language())]
        return head, lines
    if draft.is_skeleton:
        return t("write.begin"), [t("write.begin.more", collective=draft.collective)]
    if tried.rank is not None and tried.chunk is not None:
        values: dict[str, object] = {"who": t("endpoint.rank", index=tried.rank), "chunk": tried.chunk}
        if tried.step is None:
            head = t("write.where", **values)
        else:
            head = t("write.wrong", **values, step=tried.step + 1)
    elif tried.stopped:
        head = t("write.stopped")
    else:
        head = t("write.noplace")
    return head, [tried.describe(get_language())]


def _build_figures(schedule: Schedule, figures: dict[str, float], draft: Draft) -> list[str]:
    bound, sent = figures["bound"], figures["sent"]
    return [
        format_quantity(t("time"), format_time(figures["time"]), label_machine(draft.machine)),
        format_quantity(t("bound"), format_time(bound), describe_bound(bound, figures["gap"])),
        format_quantity(t("write.steps"), f"{schedule.steps:,}", t("write.steps.note", transfers=f"{len(schedule):,}")),
        format_quantity(t("write.sent"), format_bytes(sent), t("write.sent.note", share=f"{figures['share']:.4g}")),
    ]


def _draw_diagram(schedule: Schedule, step: int | None, rank: int | None) -> str:
    """A row per rank, a column per step; the place of the mistake has a frame."""
    names, cells = schedule.diagram_cells(17, schedule.steps)
    first = 0
    if step is not None:
        first = max(0, min(step - _COLUMNS // 2, schedule.steps - _COLUMNS))
    last = min(schedule.steps, first + _COLUMNS)
    rows = ["<tr><td></td>" + "".join(f"<th>{k + 1}</th>" for k in range(first, last)) + "</tr>"]
    for index, name in enumerate(names):
        marks = [' class="bad"' if (index, k) == (rank, step) else "" for k in range(first, last)]
        row = "".join(
            f"<td{mark}>{html.escape(cells[index][k])}</td>" for mark, k in zip(marks, range(first, last), strict=True)
        )
        rows.append(f"<tr><th>{html.escape(name)}</th>{row}</tr>")
    more = ""
    if last - first < schedule.steps:
        more = t("write.more", steps=schedule.steps, first=first + 1, last=last)
    title, legend = escape_text(t("write.diagram")), escape_text(f"{t('write.legend')} {more}".strip())
    return (
        f'<div class="cs-steps"><table aria-label="{title}">{"".join(rows)}</table></div><div class="cs-note '
        f'small">{legend}</div>'
    )


# ---- the run


def _draw_player(draft: Draft, sent: dict[str, object] | None) -> None:
    """The run."""
    if sent is None:
        draw_note(t("write.nosteps"), "padding:24px 4px")
        return
    name = hashlib.sha256(
        f"{draft.code}{draft.collective}{draft.ranks}{draft.machine}{draft.nbytes}".encode()
    ).hexdigest()[:12]
    view = "logical"
    if draft.machine in drafts.MACHINES:
        view = "physical"
    mount_player(sent, name, {"view": view}, "player_write")


def _draw_notes(draft: Draft) -> None:
    """Why it is safe, and how to take the code along."""
    with st.expander(t("write.safe")):
        memory = format_bytes(LIMITS.memory)
        counts = {"stepcount": f"{LIMITS.steps:,}", "transfers": f"{LIMITS.transfers:,}"}
        text = t(
            "write.safe.text", steps=", ".join(sorted(STEPS)), seconds=f"{LIMITS.seconds:g}", memory=memory, **counts
        )
        isolation = t(f"write.isolation.{detect_isolation().name.lower()}")
        st.markdown(f"{text}\n\n{t('write.isolation')} {isolation}")
    with st.expander(t("write.take")):
        names = re.findall(r"^def (\w+)\(", draft.code, re.MULTILINE)
        name = "my_algorithm"
        if names:
            name = names[-1]
        body = draft.code.replace(f"def {name}(", f'@cs.algorithm("{draft.collective}")\ndef {name}(')
        st.download_button(t("write.keep"), body, "my_algorithm.py", on_click="ignore")
        draw_note(t("write.keep.note"))
        st.code(f"collsim verify my_algorithm.py:{name} --ranks 2:33", language="bash")


def _mark_code(text: str) -> str:
    return re.sub(r"`(.+?)`", r"<code>\1</code>", escape_text(text))


#: A wide screen has editor and verdict in one column and the player beside them; a narrow one editor beside verdict and
#: the player above.
_STYLE = read_style("write")
