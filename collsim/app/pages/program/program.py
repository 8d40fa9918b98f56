"""Bring your program: an editor, the verdict, when each rank waited for whom, and changes that help."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import partial

import streamlit as st

from collsim.display.markup import escape_text, format_table
from collsim.errors import Sentence
from collsim.programs.program_entry import LONGEST_PROGRAM
from collsim.units import format_bytes, format_time, parse_bytes, parse_time

from ...classroom.class_works import draw_class_works
from ...scenario.choice import read_file_fields
from ...scenario.run_files import Upload
from ...shell.address import get_menu, get_remembered, remember, write_page_address
from ...shell.controls import choose, choose_quantity, label_machine
from ...shell.filebox import play_schedule
from ...shell.form import draw_fields
from ...shell.notes import complain, draw_note, draw_part, explain, format_title, format_verdict
from ...shell.page import register_page
from ...shell.player import mount_player
from ...shell.results import get_latest
from ...shell.session import get_language, get_session, t
from ...styles import read_style
from ...synthesis.box import draw_box
from ..write.consent import ask_consent
from ..write.editor import choose_starter, draw_editor, get_typed_code
from . import program_drafts as drafts
from . import program_parts as parts
from .job_files import draw_job_files
from .program_drafts import ProgramDraft
from .program_verdict import ProgramVerdict, judge_program, race_program

PAGE = "program"
_EDITOR = "program_editor"
_RACE = "program_raced"  # the source whose schedule is raced
_SIZES = ("96B", "4KiB", "64KiB", "1MiB", "4MiB")
_TOKENS = {"right": "done", "ends": "done", "race": "near"}


@register_page(PAGE, 62, address=drafts.ADDRESS)
def draw() -> None:
    """Draw the page: controls at the side, editor and verdict, lanes of the ranks, what follows."""
    draft: ProgramDraft = get_remembered(PAGE)
    draft = replace(draft, code=get_typed_code(draft.code, draft.turn, _EDITOR, LONGEST_PROGRAM))
    complaints = list(get_session().complaints)
    draft = _draw_controls(draft)
    st.html(f"<style>{_STYLE}{parts.STYLE}</style>{format_title(t('program.title'), t('program.below'))}")
    complain(complaints)
    write_page_address(draft)
    with st.container(key="program_stage"):
        left, right = st.columns([7, 9], gap="medium")
    with right:
        wanted = ask_consent(PAGE, draft)
        result = None
        if wanted is not None:
            result = get_latest(judge_program, wanted)
    verdict: ProgramVerdict | None = result[0] if result is not None else None
    is_of_editor = result is not None and result[1] == (wanted,) and result[0].restored is None
    line = verdict.line if verdict is not None and is_of_editor else None
    with left, st.container(key="program_text"):
        is_run = verdict is not None and is_of_editor and verdict.error is None
        draw_editor(
            draft.code, draft.turn, t("program.editor"), line, _EDITOR, is_tall=True, has_ranks=True, is_run=is_run
        )
        draw_note(t("program.how"))
        if not draft.fits_address:
            draw_note(t("program.address"))
            st.download_button(
                t("program.address.save"), draft.code, "program.py", key="program_save", on_click="ignore"
            )
        if verdict is not None:
            source = draft.code
            if verdict.restored is not None:
                description, source = verdict.restored
                _draw_restored(description, source, verdict.line)
            _draw_fixes(source, verdict)
        draw_job_files()
        if draft.fits_address:
            draw_class_works(PAGE, drafts.ADDRESS.write(draft))
    if verdict is not None and result is not None:
        with right, st.container(key="program_run"):
            _draw_run(result[1][0], verdict)


# ---- controls


def _draw_controls(draft: ProgramDraft) -> ProgramDraft:
    with st.sidebar:
        draw_part(t("what"))
        names = list(drafts.EXAMPLES)
        if not draft.starter:
            names.append("own")
        labels = {name: t(f"program.start.{name}") for name in names}
        choose_starter(PAGE, labels, draft, "program_collective")
        draft = draw_fields(PAGE, draft, "collective", "ranks")
        nbytes = choose_quantity("nbytes", _SIZES, draft.nbytes, t("program.nbytes"), prefix="program_")
        draw_part(t("where"), "next")
        machines = {name: _label_place(name) for name in drafts.PLACES}
        machine = choose("program_machine", t("program.place"), machines, draft.machine)
        late = {drafts.NOBODY: t("program.nobody")}
        late |= {str(rank): t("program.late.rank", rank=rank) for rank in range(draft.ranks)}
        late_rank = choose("program_late", t("program.late"), late, draft.late)
        draft = replace(draft, nbytes=nbytes, machine=machine, late=late_rank)
        return draw_fields(PAGE, draft, "buffered", "timeout")


def _label_place(name: str) -> str:
    if name == drafts.PLAIN:
        return t("program.plain")
    return label_machine(name)


# ---- what came of it


def _draw_run(draft: ProgramDraft, verdict: ProgramVerdict) -> None:
    """The verdict, the picture, figures by rank, and the schedule."""
    if verdict.error is not None:
        st.html(format_verdict(t("program.notrun"), explain(verdict.error), status=True))
        return
    assert verdict.reason is not None
    reason = verdict.reason.text(get_language())
    kind = verdict.verdict
    if verdict.needs_buffering:
        kind = "race"  # it ends by luck, too
    token = _TOKENS.get(kind, "full")
    head = t(f"program.verdict.{kind}")
    st.html(format_verdict(head, reason, *_list_facts(draft, verdict), token=token, status=True))
    if verdict.messages or verdict.verdict == "hangs":
        with st.container(key="card_program", border=True):
            parts.draw_lanes(verdict, "program_lanes")
            if verdict.rows:
                with st.expander(t("program.table")):
                    st.html(_build_table(verdict))
    elif not verdict.collectives:
        draw_note(t("program.single"))
    if verdict.collectives:
        with st.container(key="card_collectives", border=True):
            draw_part(t("program.collectives"))
            st.html(_build_collectives(verdict))
    if verdict.verdict == "hangs" or verdict.needs_buffering:
        with st.container(key="card_timeout", border=True):
            # of the page, and not of a run before it that is still shown: else the switch would go back by itself
            _draw_buffering(get_remembered(PAGE), verdict)
            _draw_timeout(draft, verdict)
    _draw_outputs(verdict)
    if verdict.timeline is not None:
        _draw_schedule(draft, verdict, verdict.timeline)
    elif verdict.no_schedule is not None and verdict.messages:
        draw_note(t("program.noschedule", reason=verdict.no_schedule.text(get_language())))


def _draw_buffering(draft: ProgramDraft, verdict: ProgramVerdict) -> None:
    """A switch that lets small messages be sent at once, and what that changes."""
    limit = draft.eager_limit
    st.session_state["w_program_eager"] = limit is not None and parse_bytes(limit) > 0
    st.toggle(t("program.eager"), key="w_program_eager", on_change=_on_eager)
    if limit is not None and parse_bytes(limit) > 0 and verdict.verdict == "hangs":
        key = "program.eager.within"
        if verdict.largest > parse_bytes(limit):
            key = "program.eager.above"
        draw_note(t(key, size=format_bytes(verdict.largest), limit=format_bytes(parse_bytes(limit))))
    draw_note(t("program.limits"))


def _on_eager() -> None:
    """Small messages are sent at once, or every send waits."""
    draft: ProgramDraft = get_remembered(PAGE)
    buffered = drafts.UNBUFFERED
    if st.session_state["w_program_eager"]:
        buffered = drafts.EAGER
    remember(PAGE, replace(draft, buffered=buffered))
    st.session_state.pop("w_program_buffered", None)


def _draw_timeout(draft: ProgramDraft, verdict: ProgramVerdict) -> None:
    """What a library prints when it gives up, and the Flight Recorder's files."""
    if verdict.logs:
        draw_note(t("program.logs", timeout=format_time(parse_time(draft.timeout))))
        st.html(parts.build_block([verdict.logs]))
    if verdict.dump:
        st.download_button(
            t("program.dump"), verdict.dump, "flight-recorder.zip", key="program_dump", on_click="ignore"
        )


def _list_facts(draft: ProgramDraft, verdict: ProgramVerdict) -> list[str]:
    """Sentences with the time and the bytes of the run."""
    if not verdict.messages:
        return []
    key = "program.facts"
    if verdict.verdict == "hangs":
        key = "program.facts.hangs"
        if not verdict.time:
            key = "program.facts.never"
    facts = [
        t(
            key,
            time=format_time(verdict.time),
            messages=f"{verdict.messages:,}",
            sent=format_bytes(max(verdict.sent, default=0)),
        )
    ]
    if verdict.comparison is not None:
        facts.append(verdict.comparison.text(get_language()))
    if verdict.other_ranks:
        facts.append(_describe_other_ranks(draft.ranks, verdict.other_ranks))
    return facts


def _describe_other_ranks(ranks: int, verdicts: tuple[tuple[int, str], ...]) -> str:
    """With which other numbers of ranks it is right, and with which not."""
    wrong = [(count, verdict) for count, verdict in verdicts if verdict != "right"]
    if not wrong:
        counts = [count for count, _ in verdicts]
        return t("program.ranks.right", least=min(counts), most=max(counts))
    names = ", ".join(f"{count} ({t(f'program.verdict.{verdict}')})" for count, verdict in wrong)
    return t("program.ranks.wrong", ranks=ranks, counts=names)


def _build_table(verdict: ProgramVerdict) -> str:
    """The messages as text, for who cannot see or read the lanes."""
    heads = [t(f"program.column.{name}") for name in ("ends", "bytes", "lines", "posted", "arrived")]
    return format_table(verdict.rows, heads, 'class="pl-table"')


def _build_collectives(verdict: ProgramVerdict) -> str:
    """The collectives of the library as a table."""
    heads = [t(f"program.column.{name}") for name in ("line", "call", "ranks", "bytes", "type", "calls")]
    return format_table(verdict.collectives, heads, 'class="pl-table"')


def _draw_outputs(verdict: ProgramVerdict) -> None:
    """What ranks printed and returned."""
    lines = [f"rank {rank}: {text.rstrip()}" for rank, text in enumerate(verdict.printed) if text.strip()]
    if lines:
        st.html(f'<div class="cs-note">{escape_text(t("program.printed"))}</div>{parts.build_block(lines)}')
    lines = [f"rank {rank}: {text}" for rank, text in enumerate(verdict.results) if text != "None"]
    if lines:
        st.html(f'<div class="cs-note">{escape_text(t("program.results"))}</div>{parts.build_block(lines)}')


def _draw_restored(description: Sentence, source: str, line: int | None) -> None:
    """The source that was run in place of a damaged one; the line of the verdict stands out."""
    with st.container(key="card_restored", border=True):
        draw_note(description.text(get_language()))
        marks: dict[int, list[int]] = {}
        if line is not None:
            marks[line] = []
        st.html(parts.build_source(source, marks))
        st.button(t("program.restore"), key="program_restore", on_click=_on_change, args=(source,))


def _draw_fixes(source: str, verdict: ProgramVerdict) -> None:
    """Changed programs that were run: a button for each."""
    fixes = verdict.fixes
    if not fixes:
        return
    with st.container(key="card_fixes", border=True):
        draw_part(t("program.fix"))
        for position, fix in enumerate(fixes):
            label = fix.label.text(get_language())
            st.button(label, key=f"program_fix_{position}", on_click=_on_change, args=(fix.source,))
            st.html(parts.build_diff(source, fix.source))
        ranks = ", ".join(map(str, fixes[0].ranks))
        if not verdict.messages:  # one process, in which nothing is sent
            draw_note(t("program.fix.nodes", nodes=ranks))
            return
        draw_note(t("program.fix.note", ranks=ranks, times=", ".join(format_time(fix.time) for fix in fixes)))


def _on_change(source: str) -> None:
    remember(PAGE, get_remembered(PAGE).with_code(source))


def _draw_schedule(draft: ProgramDraft, verdict: ProgramVerdict, timeline: dict[str, object]) -> None:
    """The schedule that the messages make, in the player."""
    draw_part(t("program.schedule"), "next")
    draw_note(t("program.schedule.note", steps=verdict.steps, transfers=f"{verdict.transfers:,}"))
    mark = f"{draft.code}{draft.collective}{draft.ranks}{draft.machine}{draft.nbytes}"
    view = "physical"
    if draft.machine == drafts.PLAIN:
        view = "logical"
    run = hashlib.sha256(mark.encode("utf-8", "replace")).hexdigest()[:12]
    mount_player(timeline, run, {"view": view}, "player_program")
    with st.container(key="program_take", horizontal=True):
        st.button(
            t("program.explore"),
            key="program_explore",
            type="primary",
            on_click=_on_explore,
            args=(verdict.schedule, verdict.network, draft.nbytes),
        )
        if verdict.msccl:
            st.download_button(t("program.msccl"), verdict.msccl, "program.xml", key="program_xml", on_click="ignore")
        if st.session_state.get(_RACE) != draft.code:
            st.button(
                t("program.race"), key="program_race", on_click=st.session_state.__setitem__, args=(_RACE, draft.code)
            )
    if st.session_state.get(_RACE) == draft.code:
        draw_box(race_program, draft, close=partial(st.session_state.pop, _RACE, None))


def _on_explore(schedule: str, network: str, nbytes: str) -> None:
    """Play the schedule on the page Explore, on the same machine and with the same size."""
    choice = replace(get_session().choice, nbytes=nbytes, engine="event", **read_file_fields(network))
    play_schedule(Upload("program.json", schedule.encode()), choice)
    st.switch_page(get_menu()["explore"])


_STYLE = read_style("program_page")
