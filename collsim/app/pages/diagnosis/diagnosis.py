"""Why is this job slow: files and pasted texts in; the machine with what it used and could use, and causes with their
lines, costs, checks and fixes out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

import collsim as cs
from collsim.diagnosis import Contradiction, Diagnosis, FleetDiagnosis, list_studied_cases
from collsim.display.markup import format_table
from collsim.locale import translate
from collsim.units import format_bandwidth, format_bytes

from ...scenario.address_parameters import PageAddress, list_words
from ...scenario.choice import read_file_fields
from ...shell.address import finish_controls, get_remembered, remember
from ...shell.controls import choose
from ...shell.notes import (
    draw_card,
    draw_headline,
    draw_mistake,
    draw_note,
    format_quantity,
    format_title,
    format_verdict,
)
from ...shell.open_in import open_in
from ...shell.page import register_page
from ...shell.results import get_exact
from ...shell.session import get_language, t
from ..measured.comparison import decode_text
from . import job_findings
from .job_machine import draw_fleet, draw_job_machine, draw_link_table
from .slow_job import LONGEST, MAX_CHARACTERS, MAX_TEXTS, JobTexts, diagnose_texts

PAGE = "diagnosis"
#: Studied cases that an empty page offers: a whole job, one part, and nothing wrong.
_EXAMPLES = ("p2p_disabled", "nvlink_lost", "tree_above_cards")
_TYPES = ["txt", "log", "out", "xml", "csv", "json", "gz"]


@register_page(PAGE, 68, address=PageAddress(JobTexts(), list_words(JobTexts)))
def draw() -> None:
    """Draw the page: evidence on the left, the machine in the middle, what was found on the right."""
    st.html(f"<style>{job_findings.STYLE}</style>")
    head = st.container()
    inputs, machine, findings = st.columns([278, 576, 460], gap="small")
    with inputs:
        pieces = st.container()
        evidence = _draw_evidence(get_remembered(PAGE))
    finish_controls(evidence)
    if not evidence.texts:
        with head:
            draw_headline(_format_heading(), format_verdict(t("diagnosis.empty"), token="ink"))
        with machine:
            _draw_empty()
        return
    with machine:
        diagnosis: Diagnosis | FleetDiagnosis | None = get_exact(diagnose_texts, evidence)
    if diagnosis is None:
        with head:
            draw_headline(_format_heading())
        return
    if isinstance(diagnosis, FleetDiagnosis):
        _draw_fleet(diagnosis, head, machine, findings)
        return
    with head:
        _draw_verdict(diagnosis)
        for contradiction in diagnosis.contradictions:
            _draw_contradiction(contradiction, evidence)
    with pieces:
        _draw_pieces(diagnosis, evidence)
    with machine:
        _draw_machine(diagnosis)
    with findings:
        _draw_findings(diagnosis, evidence)


def _draw_fleet(fleet: FleetDiagnosis, head: DeltaGenerator, machine: DeltaGenerator, findings: DeltaGenerator) -> None:
    """Nodes that differ as a picture and a table, and what the evidence of a node like most says."""
    language = get_language()
    token = {"odd": "full", "alike": "done"}.get(fleet.verdict, "near")
    with head:
        draw_headline(_format_heading(), format_verdict(fleet.explanation(language), token=token, status=True))
    with machine, st.container(border=True, key="card_machine"):
        draw_fleet(fleet)
        rows = fleet.list_rows(language)
        if rows:
            st.html(job_findings.format_fleet(rows, language))
    with findings, st.container(border=True, key="card_findings"):
        st.html(job_findings.format_heading(_say("fleet.typical", node=fleet.typical_node or "-")))
        if fleet.typical is not None:
            st.html(job_findings.format_findings(fleet.typical, language))
        _offer_reports(fleet)


def _format_heading() -> str:
    return f'<div class="dx-title">{format_title(t("diagnosis.title"), t("diagnosis.note"))}</div>'


def _draw_empty() -> None:
    """What each file tells, before anything is given."""
    with draw_card("machine", t("diagnosis.tells")):
        names = ("log", "tests", "topo", "links", "cards", "host", "hang")
        rows = [(t(f"diagnosis.tells.{name}"), t(f"diagnosis.tells.{name}.what")) for name in names]
        st.html(format_table(rows, attributes='class="dx-tells"'))
        draw_note(t("diagnosis.examples"))
        for key in _EXAMPLES:
            title = list_studied_cases()[key].title(get_language())
            st.button(title, key=f"w_d_example_{key}", on_click=remember, args=(PAGE, JobTexts(case=key)))


def _draw_evidence(evidence: JobTexts) -> JobTexts:
    """Files, a text box, studied cases and a model to train; files and text come before a case."""
    texts = _draw_files()
    pasted = st.text_area(t("diagnosis.paste"), key="w_d_text", height=90, max_chars=LONGEST)
    if pasted.strip():
        texts[t("diagnosis.pasted")] = pasted
    case = ""
    if not texts:
        case = _choose_case(evidence.case)
    names = {"": t("diagnosis.unknown_day"), **{name: name for name in cs.models()}}
    model = str(choose("d_model", t("diagnosis.model"), names, evidence.model))
    chosen = JobTexts(tuple(texts.items()), case, model)
    left_out = tuple(name for name in evidence.left_out if name in chosen.all_texts)
    if len(left_out) == len(chosen.all_texts):
        left_out = ()
    return replace(chosen, left_out=left_out)


def _draw_files() -> dict[str, str]:
    """The texts of the uploaded files by their names."""
    count = len(st.session_state.get("w_d_files") or ())
    label = t("diagnosis.files")
    if count:
        label = t("diagnosis.files.count", count=count)
    with (
        st.container(key="w_d_open"),
        st.popover(label, width="stretch"),  # Streamlit's box of files has a role that screen readers stumble over
    ):
        files = st.file_uploader(
            t("diagnosis.files"), type=_TYPES, accept_multiple_files=True, key="w_d_files", label_visibility="collapsed"
        )
    if len(files) > MAX_TEXTS:
        draw_mistake(t("diagnosis.many", most=MAX_TEXTS))
    texts: dict[str, str] = {}
    for file in files[:MAX_TEXTS]:
        left = MAX_CHARACTERS - sum(map(len, texts.values()))
        texts[file.name] = decode_text(file.getvalue())[: min(LONGEST, left)]
    return texts


def _choose_case(case: str) -> str:
    """One of the studied cases, or none."""
    titles = {key: case.title(get_language()) for key, case in list_studied_cases().items()}
    return str(choose("d_case", t("diagnosis.cases"), {"": t("diagnosis.cases.none"), **titles}, case))


def _draw_verdict(diagnosis: Diagnosis) -> None:
    """The title, what the job gets and could get, and the answer in a sentence."""
    token = {"healthy": "done", "cause": "full"}.get(diagnosis.verdict, "near")
    boxes = [_format_heading()]
    cost = diagnosis.cost
    if cost is not None:
        bounds = f"{format_bandwidth(cost.low)} – {format_bandwidth(cost.high)}"
        boxes.append(format_quantity(t("diagnosis.measured"), format_bandwidth(cost.measured), _name_size(diagnosis)))
        boxes.append(format_quantity(t("diagnosis.possible"), format_bandwidth(cost.possible), bounds))
        if cost.training is not None:
            note = t("diagnosis.day.note", model=cost.training.model)
            boxes.append(format_quantity(t("diagnosis.day"), f"{cost.training.hours_of_day:.3g} h", note))
    lead, *rest = diagnosis.list_sentences(get_language())
    if diagnosis.verdict == "cause":
        rest = [diagnosis.causes[0].fix(get_language())]
    draw_headline(*boxes, format_verdict(lead, *rest, token=token, status=True))


def _draw_contradiction(contradiction: Contradiction, evidence: JobTexts) -> None:
    """Which of two pieces is of this job: a button for each, which leaves out the other."""
    draw_mistake(contradiction.text(get_language()))
    first, second = (fact.piece for fact in contradiction.facts)
    with st.container(horizontal=True, gap="small"):
        for piece, other in ((first, second), (second, first)):
            st.button(
                Path(piece).name,
                key=f"w_d_keep_{contradiction.key}_{piece == first}",
                on_click=_leave_out,
                args=(evidence, other),
            )


def _name_size(diagnosis: Diagnosis) -> str:
    """`busbw, 1 GiB allreduce`."""
    run, cost = diagnosis.job.run, diagnosis.cost
    if run is None or cost is None:
        return "busbw"
    return f"busbw, {format_bytes(cost.nbytes)} {run.collective}"


def _draw_machine(diagnosis: Diagnosis) -> None:
    """The machine of the evidence with what was used of it, the rates, and what was taken for granted."""
    language = get_language()
    with st.container(border=True, key="card_machine"):
        draw_job_machine(diagnosis, _describe_machine(diagnosis))
        for note in diagnosis.list_notes(language):
            draw_note(note)
        if diagnosis.machine is not None:
            with st.expander(t("diagnosis.table")):
                draw_link_table(diagnosis)


def _describe_machine(diagnosis: Diagnosis) -> str:
    if diagnosis.machine is None:
        return ""
    ranks = diagnosis.job.ranks or diagnosis.machine.ranks
    return f"{diagnosis.machine.name}, {t('diagnosis.ranks', count=ranks)}"


def _draw_findings(diagnosis: Diagnosis, evidence: JobTexts) -> None:
    """Causes, what is open, what is ruled out, and the report to take along."""
    language = get_language()
    with st.container(border=True, key="card_findings"):
        st.html(job_findings.format_heading(t("diagnosis.findings")))
        st.html(job_findings.format_findings(diagnosis, language))
        _offer_reports(diagnosis)
        if diagnosis.machine is not None:
            text = diagnosis.machine.to_yaml()
            open_in(t("diagnosis.open_in"), "open_in", lambda choice: replace(choice, **read_file_fields(text)))
    if evidence.case:
        case = list_studied_cases()[evidence.case]
        with draw_card("case", case.title(language)):
            draw_note(case.story(language))
            draw_note(t("diagnosis.cases.source", source=case.source.removeprefix("https://")))


def _offer_reports(diagnosis: Diagnosis | FleetDiagnosis) -> None:
    language = get_language()
    with st.container(horizontal=True, gap="small"):
        _offer(diagnosis.report(language), "report.md", "text/markdown", t("diagnosis.report"))
        _offer(diagnosis.report(language, "html"), "report.html", "text/html", t("diagnosis.html"))
        _offer(diagnosis.to_json(), "diagnosis.json", "application/json", t("diagnosis.document"))


def _offer(text: str, name: str, kind: str, label: str) -> None:
    st.download_button(label, text, name, kind, key=f"w_d_save_{Path(name).suffix[1:]}", on_click="ignore")


def _draw_pieces(diagnosis: Diagnosis, evidence: JobTexts) -> None:
    """What each text was recognized as and told; any of them may be left out."""
    language = get_language()
    with st.container(border=True, key="card_pieces"):
        count = t("diagnosis.evidence.count", count=len(diagnosis.pieces))
        st.html(job_findings.format_heading(t("diagnosis.evidence"), count))
        for number, piece in enumerate(diagnosis.pieces):
            row, button = st.columns([1, 0.14], gap="small")
            with row:
                st.html(job_findings.format_piece(diagnosis, piece, language))
            if len(diagnosis.pieces) > 1:
                button.button(
                    "×",
                    key=f"w_d_drop_{number}",
                    help=t("diagnosis.leave_out", name=Path(piece.name).name),
                    on_click=_leave_out,
                    args=(evidence, piece.name),
                    type="tertiary",
                )
        if evidence.left_out:
            draw_note(t("diagnosis.left_out", names=", ".join(Path(name).name for name in evidence.left_out)))
            st.button(
                t("diagnosis.take_back"),
                key="w_d_take_back",
                on_click=remember,
                args=(PAGE, replace(evidence, left_out=())),
            )


def _leave_out(evidence: JobTexts, name: str) -> None:
    remember(PAGE, replace(evidence, left_out=(*evidence.left_out, name)))


def _say(key: str, **values: object) -> str:
    return translate(get_language(), "diagnosis", key, **values)
