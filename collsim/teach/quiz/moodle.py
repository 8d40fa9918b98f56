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

from ...markup import escape_text
from .question import Question, Unit

#: Units that a student may write, and how many of each make the first.
UNITS: dict[Unit, dict[str, float]] = {
    "bytes": {"B": 1, "kB": 1e-3, "MB": 1e-6, "GB": 1e-9, "KiB": 2**-10, "MiB": 2**-20, "GiB": 2**-30},
    "time": {"s": 1, "ms": 1e3, "us": 1e6, "µs": 1e6, "ns": 1e9},
    "rate": {"B/s": 1, "kB/s": 1e-3, "MB/s": 1e-6, "GB/s": 1e-9, "Gbit/s": 8e-9},
}
_HINT = {
    "en": "Write the unit, for example {example}; a bare number is in {unit}.",
    "zh": "请写单位，例如 {example}；没有单位的数字按 {unit} 计。",
}
_EXAMPLE = {"bytes": "112 MiB", "time": "4.7 ms", "rate": "21.5 GB/s"}
_PENALTY = "0.3333333"  # Moodle's own default
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # XML 1.0, section 2.2


def moodle_xml(
    asked: Sequence[Question],
    category: str,
    given: Sequence[str] = (),
    plan: str = "",
    pictures: Mapping[str, bytes] | None = None,
) -> str:
    """A question bank as text.

    Args:
        category: where the questions go below the course; `/` makes a category in a category.
        given: facts above every question, since Moodle draws each by itself.
        plan: a text diagram above every question.
        pictures: files above every question, by name.
    """
    quiz = ElementTree.Element("quiz")
    place = ElementTree.SubElement(quiz, "question", type="category")
    _text(ElementTree.SubElement(place, "category"), f"$course$/top/{category}")
    for number, one in enumerate(asked, 1):
        _question(quiz, number, one, _above(given, plan, pictures or {}), pictures or {})
    ElementTree.indent(quiz)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(quiz, encoding="unicode") + "\n"


def _above(given: Sequence[str], plan: str, pictures: Mapping[str, bytes]) -> str:
    facts = "".join(f"<li>{escape_text(fact)}</li>" for fact in given)
    drawn = "".join(f'<p><img src="@@PLUGINFILE@@/{escape(name)}" alt="{escape(name)}"></p>' for name in pictures)
    return (f"<ul>{facts}</ul>" if facts else "") + drawn + (f"<pre>{escape(plan)}</pre>" if plan else "")


def _question(quiz: ElementTree.Element, number: int, one: Question, above: str, pictures: Mapping[str, bytes]) -> None:
    made = ElementTree.SubElement(quiz, "question", type="numerical" if one.kind == "number" else "multichoice")
    _text(ElementTree.SubElement(made, "name"), f"{number:02d} {one.text}"[:80])
    hint = _hint(one)
    asks = _html(
        made, "questiontext", f"{above}<p>{escape_text(one.text)}</p>" + (f"<p>{escape_text(hint)}</p>" if hint else "")
    )
    for name, data in pictures.items():
        file = ElementTree.SubElement(asks, "file", name=name, path="/", encoding="base64")
        file.text = base64.b64encode(data).decode("ascii")
    _html(made, "generalfeedback", f"<p>{escape_text(one.why)}</p>")
    for name, value in (("defaultgrade", "1"), ("penalty", _PENALTY), ("hidden", "0")):
        ElementTree.SubElement(made, name).text = value
    _number(made, one) if one.kind == "number" else _choices(made, one)


def _hint(one: Question) -> str:
    if one.unit not in UNITS or one.kind != "number":
        return ""
    return _HINT[one.lang].format(example=_EXAMPLE[one.unit], unit=next(iter(UNITS[one.unit])))


def _choices(made: ElementTree.Element, one: Question) -> None:
    for name, value in (("single", "true"), ("shuffleanswers", "false"), ("answernumbering", "ABCD")):
        ElementTree.SubElement(made, name).text = value
    for place, choice in enumerate(one.choices):
        answer = _html(
            made, "answer", escape_text(one.say(choice.text)), fraction="100" if place == one.answer else "0"
        )
        _html(answer, "feedback", escape_text(one.say(choice.why)))


def _number(made: ElementTree.Element, one: Question) -> None:
    answer = ElementTree.SubElement(made, "answer", fraction="100", format="plain_text")
    _text(answer, repr(float(one.answer)))
    _html(answer, "feedback", escape_text(one.why))
    off = 0.0 if one.unit == "count" else one.tolerance * abs(one.answer)
    ElementTree.SubElement(answer, "tolerance").text = repr(float(off))
    units = UNITS.get(one.unit)
    if units:
        listed = ElementTree.SubElement(made, "units")
        for name, multiplier in units.items():
            unit = ElementTree.SubElement(listed, "unit")
            ElementTree.SubElement(unit, "multiplier").text = repr(float(multiplier))
            ElementTree.SubElement(unit, "unit_name").text = name
    shown = "0" if units else "3"  # units may be written, or there are none
    for name, value in (("unitgradingtype", "0"), ("unitpenalty", "0.1"), ("showunits", shown), ("unitsleft", "0")):
        ElementTree.SubElement(made, name).text = value


def _html(parent: ElementTree.Element, name: str, html: str, **attributes: str) -> ElementTree.Element:
    made = ElementTree.SubElement(parent, name, {"format": "html", **attributes})
    _text(made, html)
    return made


def _text(parent: ElementTree.Element, text: str) -> None:
    ElementTree.SubElement(parent, "text").text = _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)
