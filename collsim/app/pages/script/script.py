"""Read a training script: what it does, what is wrong or missing line by line, the corrected one, and its step."""

from __future__ import annotations

import streamlit as st

from collsim.locale import translate
from collsim.topology.machines import machines
from collsim.training_scripts import ScriptFinding, ScriptPart, ScriptStep
from collsim.training_scripts.samples import load_samples
from collsim.units import format_bytes, format_time

from ...scenario.address_parameters import PageAddress, list_words
from ...shell.address import finish_controls, get_menu, get_remembered
from ...shell.controls import choose, label_machine
from ...shell.notes import (
    draw_card,
    draw_error,
    draw_heading,
    draw_headline,
    draw_note,
    format_quantity,
    format_title,
    format_verdict,
)
from ...shell.page import register_page
from ...shell.results import get_exact
from ...shell.session import get_language, t
from .script_reading import LONGEST, PastedScript, ScriptAnswer, answer_script

PAGE = "script"
_EDITOR_HEIGHT = 110  # px: what was read stands below it with the numbers of its lines, in view at 768


@register_page(PAGE, 46, address=PageAddress(PastedScript(), list_words(PastedScript)))
def draw() -> None:
    """Draw the page: the script on the left, what it says on the right."""
    st.html(format_title(t("script.title"), t("script.note")))
    head = st.container()
    inputs, findings = st.columns([1, 1.25], gap="small")
    with inputs:
        pasted = _draw_inputs(get_remembered(PAGE))
    with findings:
        finish_controls(pasted)
        answer: ScriptAnswer | None = get_exact(answer_script, pasted)
        if answer is None:
            return
    with head:
        _draw_verdict(answer)
    with inputs:
        for part in answer.reading.parts:
            st.code(_number_lines(part.source), language=None, wrap_lines=True)
    with findings:
        for number, part in enumerate(answer.reading.parts):
            _draw_part(number, part, answer.steps[number], is_only=len(answer.steps) == 1)
            if (problem := answer.problems[number]) is not None:
                draw_error(problem)


def _draw_inputs(pasted: PastedScript) -> PastedScript:
    text = st.text_area(t("script.paste"), key="w_s_text", height=_EDITOR_HEIGHT, max_chars=LONGEST)
    sample = pasted.sample
    if not text.strip():
        text = ""
        titles = {name: _say(f"sample.{name}") for name in load_samples()}
        sample = str(choose("s_sample", t("script.sample"), titles, sample))
    names = {name: label_machine(name) for name in machines()}
    return PastedScript(text, sample, str(choose("s_machine", t("place"), names, pasted.machine)))


def _draw_verdict(answer: ScriptAnswer) -> None:
    """Whether something is wrong, and the step of the first part that has one."""
    findings = answer.reading.findings
    wrong = [finding for finding in findings if finding.severity != "note"]
    verdict = format_verdict(t("script.right"), token="done", status=True)
    if wrong:
        verdict = format_verdict(t("script.wrong", count=len(wrong)), token="full", status=True)
    boxes = []
    step = next((step for step in answer.steps if step is not None), None)
    if step is not None:
        name = t("script.step")
        if step.trace is None:
            name = t("script.allreduce")
        boxes.append(format_quantity(name, format_time(step.time), step.machine))
        boxes.append(format_quantity(t("script.gradients"), format_bytes(step.gradient_bytes), ""))
    draw_headline(*boxes, verdict)


def _draw_part(number: int, part: ScriptPart, step: ScriptStep | None, is_only: bool) -> None:
    """One script or command: what it does, its findings, the corrected one, its step."""
    language = get_language()
    with st.container(border=True, key=f"card_part_{number}"):
        if is_only:
            draw_heading(t("script.does"))
        else:
            draw_heading(t("script.does"), part.first_line)
        draw_note(part.describe(language))
        if part.was_restored:
            draw_note(_say("restored"))
        if step is not None:
            draw_note(step.text(language))
        if not part.trains:
            st.page_link(get_menu()["program"], label=t("page.program"), icon=":material/play_arrow:")
    lines = part.source.splitlines()
    for index, finding in enumerate(part.findings):
        _draw_finding(f"{number}_{index}", finding, lines)
    if part.corrected != part.source:
        with draw_card(f"corrected_{number}", t("script.corrected")):
            st.code(part.corrected, language=None, wrap_lines=True)


def _number_lines(source: str) -> str:
    """The source with the number of each line: those of Streamlit have too little contrast, as its colours of code."""
    return "\n".join(f"{number:3}  {line}" for number, line in enumerate(source.splitlines(), 1))


def _draw_finding(key: str, finding: ScriptFinding, lines: list[str]) -> None:
    language = get_language()
    with st.container(border=True, key=f"card_finding_{key}"):
        head = _say(f"severity.{finding.severity}", line=finding.line)
        draw_heading(_say("space").join((head, finding.text(language))))
        st.code(lines[finding.line - 1].strip(), language=None, wrap_lines=True)
        draw_note(finding.reason(language))


def _say(key: str, **values: object) -> str:
    return translate(get_language(), "scripts", key, **values)
