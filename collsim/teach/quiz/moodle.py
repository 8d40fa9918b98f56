"""Questions for Moodle: its XML format, which its question bank imports (Question bank > Import > Moodle XML format).

As docs.moodle.org/en/Moodle_XML_format describes it and moodle/question/format/xml/format.php reads it: a choice is a
`multichoice` with a reason for each choice, a number is a `numerical` with its tolerance and the units that may be
written. A unit's multiplier says how many of it make the first unit (moodle/question/type/numerical).
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from html import escape
from xml.etree import ElementTree

from ...display.markup import escape_text
from ...locale import translate
from .question import Question, Unit

#: Units that a student may write, and how many of each make the first.
UNITS: dict[Unit, dict[str, float]] = {
    "bytes": {"B": 1, "kB": 1e-3, "MB": 1e-6, "GB": 1e-9, "KiB": 2**-10, "MiB": 2**-20, "GiB": 2**-30},
    "time": {"s": 1, "ms": 1e3, "us": 1e6, "µs": 1e6, "ns": 1e9},
    "rate": {"B/s": 1, "kB/s": 1e-3, "MB/s": 1e-6, "GB/s": 1e-9, "Gbit/s": 8e-9},
}
_EXAMPLE = {"bytes": "112 MiB", "time": "4.7 ms", "rate": "21.5 GB/s"}
_PENALTY = "0.3333333"  # Moodle's own default
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # XML 1.0, section 2.2


def write_moodle_xml(
    question_list: Sequence[Question],
    category: str,
    facts: Sequence[str] = (),
    plan: str = "",
    pictures: Mapping[str, bytes] | None = None,
) -> str:
    """A question bank as text.

    Args:
        question_list: what is asked, in this order.
        category: where the questions go below the course; `/` makes a category in a category.
        facts: above every question, since Moodle draws each by itself.
        plan: a text diagram above every question.
        pictures: files above every question, by name.
    """
    quiz = ElementTree.Element("quiz")
    category_element = ElementTree.SubElement(quiz, "question", type="category")
    _add_text(ElementTree.SubElement(category_element, "category"), f"$course$/top/{category}")
    for number, question in enumerate(question_list, 1):
        _add_question(quiz, number, question, _render_preamble(facts, plan, pictures or {}), pictures or {})
    ElementTree.indent(quiz)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(quiz, encoding="unicode") + "\n"


def _render_preamble(fact_list: Sequence[str], plan: str, pictures: Mapping[str, bytes]) -> str:
    facts = "".join(f"<li>{escape_text(fact)}</li>" for fact in fact_list)
    drawn = "".join(f'<p><img src="@@PLUGINFILE@@/{escape(name)}" alt="{escape(name)}"></p>' for name in pictures)
    return (f"<ul>{facts}</ul>" if facts else "") + drawn + (f"<pre>{escape(plan)}</pre>" if plan else "")


def _add_question(
    quiz: ElementTree.Element, number: int, question: Question, above: str, pictures: Mapping[str, bytes]
) -> None:
    element = ElementTree.SubElement(quiz, "question", type="numerical" if question.kind == "number" else "multichoice")
    _add_text(ElementTree.SubElement(element, "name"), f"{number:02d} {question.text}"[:80])
    hint = _write_hint(question)
    asks = _add_html(
        element,
        "questiontext",
        f"{above}<p>{escape_text(question.text)}</p>" + (f"<p>{escape_text(hint)}</p>" if hint else ""),
    )
    for name, data in pictures.items():
        file = ElementTree.SubElement(asks, "file", name=name, path="/", encoding="base64")
        file.text = base64.b64encode(data).decode("ascii")
    _add_html(element, "generalfeedback", f"<p>{escape_text(question.explanation_text)}</p>")
    for name, value in (("defaultgrade", "1"), ("penalty", _PENALTY), ("hidden", "0")):
        ElementTree.SubElement(element, name).text = value
    _add_number(element, question) if question.kind == "number" else _add_choices(element, question)


def _write_hint(question: Question) -> str:
    if question.unit not in UNITS or question.kind != "number":
        return ""
    example, unit = _EXAMPLE[question.unit], next(iter(UNITS[question.unit]))
    return translate(question.language, "quiz", "moodle.write_unit", example=example, unit=unit)


def _add_choices(element: ElementTree.Element, question: Question) -> None:
    for name, value in (("single", "true"), ("shuffleanswers", "false"), ("answernumbering", "ABCD")):
        ElementTree.SubElement(element, name).text = value
    for position, choice in enumerate(question.choices):
        answer = _add_html(
            element,
            "answer",
            escape_text(question.say(choice.text)),
            fraction="100" if position == question.answer else "0",
        )
        _add_html(answer, "feedback", escape_text(question.say(choice.reason)))


def _add_number(element: ElementTree.Element, question: Question) -> None:
    answer = ElementTree.SubElement(element, "answer", fraction="100", format="plain_text")
    _add_text(answer, repr(float(question.answer)))
    _add_html(answer, "feedback", escape_text(question.explanation_text))
    off = 0.0 if question.unit == "count" else question.tolerance * abs(question.answer)
    ElementTree.SubElement(answer, "tolerance").text = repr(float(off))
    units = UNITS.get(question.unit)
    if units:
        units_element = ElementTree.SubElement(element, "units")
        for name, multiplier in units.items():
            unit = ElementTree.SubElement(units_element, "unit")
            ElementTree.SubElement(unit, "multiplier").text = repr(float(multiplier))
            ElementTree.SubElement(unit, "unit_name").text = name
    units_shown = "0" if units else "3"  # units may be written, or there are none
    for name, value in (
        ("unitgradingtype", "0"),
        ("unitpenalty", "0.1"),
        ("showunits", units_shown),
        ("unitsleft", "0"),
    ):
        ElementTree.SubElement(element, name).text = value


def _add_html(parent: ElementTree.Element, name: str, html: str, **attributes: str) -> ElementTree.Element:
    element = ElementTree.SubElement(parent, name, {"format": "html", **attributes})
    _add_text(element, html)
    return element


def _add_text(parent: ElementTree.Element, text: str) -> None:
    ElementTree.SubElement(parent, "text").text = _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)
