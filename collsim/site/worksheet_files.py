"""A worksheet and its key as files, and questions for Moodle."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ..errors import CollsimError, require_path
from ..files import create_file, require_writable_file, write_text
from ..simulate import Trace
from ..teach.quiz.moodle import write_moodle_xml
from ..teach.quiz.question import Question
from ..teach.quiz.questions import questions
from ..teach.quiz.worksheet import draw_plan, format_answer, format_title, list_facts, write_markdown
from ..viz.pictures.worksheet_pdf import Item, create_machine_drawing, draw_pdf, render_machine

#: What a worksheet is written as; `.xml` is one file, with the answers in it.
SUFFIXES = (".md", ".pdf", ".xml")
#: Writes a sheet or its key: path, heading, is it the key?
Write = Callable[[Path, str, bool], None]


def write_worksheet(
    trace: Trace, out: Path | str, *, seed: int = 0, count: int = 8, language: str = "en"
) -> tuple[Path, Path]:
    """Write a worksheet and its key: `sheet.md` and `sheet-key.md`, the same with `.pdf`, or `sheet.xml` for Moodle.

    Sheet and key begin with the machine's picture (Markdown has it in `sheet.svg`), the rings and the schedule. The
    file for Moodle holds questions and answers.

    Args:
        trace: the run that is asked about.
        out: the worksheet's file; its suffix says what is written.
        seed: another seed, other questions.
        count: how many questions, at most 60; fewer where the run has no more.
        language: `en` or `zh`.

    Returns:
        The paths of the sheet and of its key, which are the same for Moodle.

    Raises:
        CollsimError: For another suffix, a folder that is not there, or Chinese as PDF on a machine without a Chinese
            font.
    """
    sheet = require_path(out)
    suffix = sheet.suffix.lower()
    if suffix not in SUFFIXES:
        template = "cannot write a worksheet to {sheet!r}: the suffix must be .md, .pdf or .xml (Moodle)"
        raise CollsimError(template, sheet=str(sheet))
    require_writable_file(sheet)
    question_list = questions(trace, seed, count, language)
    if suffix == ".xml":
        return _write_moodle(trace, sheet, question_list, seed, language)
    key = sheet.with_name(f"{sheet.stem}-key{sheet.suffix}")
    write = (_prepare_markdown if suffix == ".md" else _prepare_pdf)(trace, sheet, question_list, language)
    for path, is_key in ((sheet, False), (key, True)):
        write(path, format_title(trace, seed, language, is_key), is_key)
    return sheet, key


def _write_moodle(
    trace: Trace, sheet: Path, question_list: list[Question], seed: int, language: str
) -> tuple[Path, Path]:
    drawn = render_machine(trace.topology, "png", language)
    pictures = {"machine.png": drawn} if drawn else {}
    category = "collsim/" + format_title(trace, seed, language).replace("/", "//")  # a slash in a name is doubled
    text = write_moodle_xml(question_list, category, list_facts(trace, language), draw_plan(trace.schedule), pictures)
    write_text(sheet, text)
    return sheet, sheet


def _prepare_markdown(trace: Trace, sheet: Path, question_list: list[Question], language: str) -> Write:
    """Draw the picture that sheet and key show; what writes either of them."""
    picture, drawn = sheet.with_suffix(".svg"), render_machine(trace.topology, "svg", language)
    if drawn:
        with create_file(picture) as file:
            file.write(drawn)
    fact_list, plan = list_facts(trace, language), draw_plan(trace.schedule)

    def write(path: Path, heading: str, is_key: bool) -> None:
        text = write_markdown(question_list, heading, fact_list, is_key, plan, picture.name if drawn else "")
        write_text(path, text)

    return write


def _prepare_pdf(trace: Trace, _: Path, question_list: list[Question], language: str) -> Write:
    """Draw what sheet and key share; what writes either of them."""
    fact_list, plan = list_facts(trace, language), draw_plan(trace.schedule)
    drawing = create_machine_drawing(trace.topology, language)

    def write(path: Path, heading: str, is_key: bool) -> None:
        data = draw_pdf(heading, fact_list, [_build_item(q, is_key) for q in question_list], plan, drawing)
        with create_file(path) as file:
            file.write(data)

    return write


def _build_item(q: Question, is_key: bool) -> Item:
    if not is_key:
        return Item(q.text, q.options)
    reasons = [f"{chr(65 + k)}: {q.say(c.reason)}" for k, c in enumerate(q.choices) if k != int(q.answer)]
    return Item(q.text, q.options, format_answer(q), [q.explanation_text, *reasons])
