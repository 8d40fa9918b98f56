"""Why is this job slow: files and pasted texts in, causes with their lines, costs, checks and fixes out."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from collsim.diagnosis import Cause, Diagnosis, Fact, OpenQuestion, list_studied_cases
from collsim.locale import translate
from collsim.nccl import compare_run
from collsim.units import format_bandwidth, format_bytes

from ...scenario.address_parameters import PageAddress, Word
from ...scenario.choice import create_name_reader
from ...shell.address import get_remembered, write_page_address
from ...shell.controls import choose
from ...shell.notes import (
    complain,
    draw_heading,
    draw_headline,
    draw_mistake,
    draw_note,
    format_quantity,
    format_small,
    format_title,
    format_verdict,
)
from ...shell.page import register_page
from ...shell.results import get_latest
from ...shell.session import get_language, get_session, t
from ..measured.comparison import decode_text
from ..measured.measured_charts import draw_curves
from .slow_job import LONGEST, MOST_TEXTS, JobTexts, diagnose_texts, estimate_diagnosis

PAGE = "diagnosis"
_TYPES = ["txt", "log", "out", "xml", "csv", "json"]


@register_page(
    PAGE, 68, address=PageAddress(JobTexts(), (Word("case", create_name_reader("studied case", list_studied_cases)),))
)
def draw() -> None:
    """Draw the page: what is given on the left, what it says on the right."""
    st.html(format_title(t("diagnosis.title"), t("diagnosis.note")))
    head = st.container()
    inputs, machine, findings = st.columns([1, 1.7, 1.7], gap="small")
    with inputs:
        evidence = _draw_evidence(get_remembered(PAGE))
    write_page_address(evidence)
    with machine:
        complain(get_session().complaints)
        if not evidence.texts:
            draw_note(t("diagnosis.empty"))
            return
        latest = get_latest(diagnose_texts, evidence, expected=estimate_diagnosis, only=True, in_worker=True)
        if latest is None:
            return
        diagnosis = latest[0]
        _draw_machine(diagnosis)
    with head:
        _draw_verdict(diagnosis)
    with inputs:
        _draw_pieces(diagnosis)
    with findings:
        _draw_findings(diagnosis, evidence)


def _draw_evidence(evidence: JobTexts) -> JobTexts:
    """Files, a text box and the sample; what is given last counts."""
    count = len(st.session_state.get("w_d_files") or ())
    label = t("diagnosis.files")
    if count:
        label = t("diagnosis.files.count", count=count)
    with st.popover(label, width="stretch"):  # Streamlit's box of files has a role that screen readers stumble over
        files = st.file_uploader(
            t("diagnosis.files"),
            type=_TYPES,
            accept_multiple_files=True,
            key="w_d_files",
            label_visibility="collapsed",
        )
    pasted = st.text_area(t("diagnosis.paste"), key="w_d_text", height=120, max_chars=LONGEST)
    texts = [(file.name, decode_text(file.getvalue())[:LONGEST]) for file in files[:MOST_TEXTS]]
    if len(files) > MOST_TEXTS:
        draw_mistake(t("diagnosis.many", most=MOST_TEXTS))
    if pasted.strip():
        texts.append((t("diagnosis.pasted"), pasted))
    if texts:
        return JobTexts(tuple(dict(texts).items()))
    return JobTexts(case=_choose_case(evidence.case))


def _choose_case(case: str) -> str:
    """One of the studied cases, or none."""
    titles = {key: case.title(get_language()) for key, case in list_studied_cases().items()}
    return str(choose("d_case", t("diagnosis.cases"), {"": t("diagnosis.cases.none"), **titles}, case))


def _draw_verdict(diagnosis: Diagnosis) -> None:
    """The answer in a sentence, and what the job gets and could get."""
    token = {"healthy": "done", "cause": "full"}.get(diagnosis.verdict, "near")
    boxes = []
    if diagnosis.cost is not None:
        size = format_bytes(diagnosis.cost.nbytes)
        bounds = f"{format_bandwidth(diagnosis.cost.low)} – {format_bandwidth(diagnosis.cost.high)}"
        boxes.append(format_quantity(_name("diagnosis.measured"), format_bandwidth(diagnosis.cost.measured), size))
        boxes.append(format_quantity(_name("diagnosis.possible"), format_bandwidth(diagnosis.cost.possible), bounds))
    lead = _say(f"verdict.{diagnosis.verdict}")
    if diagnosis.causes:
        lead = diagnosis.causes[0].explanation(get_language())
    draw_headline(*boxes, format_verdict(lead, token=token, status=True))


def _draw_machine(diagnosis: Diagnosis) -> None:
    """The machine of the evidence, how the data moved and could move, and the times beside the prediction."""
    language = get_language()
    with st.container(border=True, key="card_machine"):
        draw_heading(t("diagnosis.machine"))
        if diagnosis.machine is not None:
            ranks = diagnosis.job.ranks or diagnosis.machine.ranks
            draw_note(f"{diagnosis.machine.name}, {t('diagnosis.ranks', count=ranks)}")
        for note in diagnosis.list_notes(language):
            draw_note(note)
        for key, path in (("path.used", diagnosis.used), ("path.possible", diagnosis.possible)):
            if path is not None:
                draw_note(_say(key, path=path.text(language)))
    run = diagnosis.job.run
    if run is not None and diagnosis.gap is not None:
        draw_curves(compare_run(run), diagnosis.gap, run, ["busbw"])


def _draw_findings(diagnosis: Diagnosis, evidence: JobTexts) -> None:
    """Causes, what is open, what is ruled out, and the report to take along."""
    language = get_language()
    if evidence.case:
        case = list_studied_cases()[evidence.case]
        with st.container(border=True, key="card_case"):
            draw_heading(case.title(language))
            draw_note(case.story(language))
            draw_note(t("diagnosis.cases.source", source=case.source.removeprefix("https://")))
    for number, cause in enumerate(diagnosis.causes, 1):
        _draw_cause(number, cause)
    for question in diagnosis.questions:
        _draw_question(question)
    if diagnosis.missing:
        with st.container(border=True):
            draw_heading(_say("report.missing"))
            for key in diagnosis.missing:
                draw_note(_say(f"missing.{key}"))
    if diagnosis.ruled_out:
        with st.expander(_say("report.ruled_out")):
            for key, fact in diagnosis.ruled_out:
                draw_note(_say(f"{key}.title"))
                _draw_lines((fact,))
    st.download_button(
        t("diagnosis.report"),
        diagnosis.report(language),
        "report.md",
        "text/markdown",
        key="w_d_report",
        on_click="ignore",
    )


def _draw_cause(number: int, cause: Cause) -> None:
    """One cause: its lines, what it costs, how to check it, how to mend it."""
    language = get_language()
    with st.container(border=True, key=f"card_cause_{number}"):
        draw_heading(f"{number}. {cause.explanation(language)}")
        if not cause.is_stated:
            draw_note(_say("only_fits"))
        _draw_lines(cause.evidence)
        if cause.predicted is not None:
            draw_note(_say("report.predicted", busbw=format_bandwidth(cause.predicted)))
        draw_note(t("diagnosis.check"))
        st.code(cause.check(language), language="bash", wrap_lines=True)
        draw_note(_say("report.fix", fix=cause.fix(language)))


def _draw_question(question: OpenQuestion) -> None:
    """What several causes explain as well, and how to tell them apart."""
    with st.container(border=True, key=f"card_question_{question.key}"):
        draw_heading(_say(f"{question.key}.title"))
        _draw_lines(question.facts)
        for key in question.causes:
            draw_note(_say(f"{key}.title"))
            st.code(_say(f"{key}.check"), language="bash", wrap_lines=True)


def _draw_lines(facts: tuple[Fact, ...]) -> None:
    if facts:
        lines = "\n".join(fact.quote() for fact in facts)
        st.code(lines, language=None, wrap_lines=True)


def _draw_pieces(diagnosis: Diagnosis) -> None:
    """What each text was recognized as, and the machine that they describe."""
    with st.container(border=True, key="card_pieces"):
        draw_heading(_say("report.pieces"))
        for piece in diagnosis.pieces:
            known = ", ".join(piece.tools) or _say("report.unrecognized", line=piece.first_line)
            draw_note(f"{Path(piece.name).name}: {known}")


def _name(key: str) -> str:
    return format_small(t(key))


def _say(key: str, **values: object) -> str:
    return translate(get_language(), "diagnosis", key, **values)
