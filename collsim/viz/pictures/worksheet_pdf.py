"""A worksheet as PDF: a headline, what is given, and numbered questions, wrapped and broken over A4 pages.

It knows nothing of questions: it is given texts and draws them.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from typing import TYPE_CHECKING

from ...errors import CollsimError
from ...errors.dependencies import matplotlib as mpl
from ...errors.dependencies import require_package
from .machine_picture import CHINESE, find_fonts

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ...topology import Topology

_WIDTH, _HEIGHT = 8.27, 11.69  # inches, A4
_COLUMNS, _TOP, _BOTTOM, _LINE = 92, 0.94, 0.06, 0.0185


@dataclass(frozen=True)
class Item:
    """One question as it is printed.

    Attributes:
        text: the question.
        options: lettered choices; empty where there are none.
        answer: in a key, the right answer; empty: lines to write on.
        reasons: in a key, why.
    """

    text: str
    options: Sequence[str] = ()
    answer: str = ""
    reasons: Sequence[str] = field(default_factory=tuple)


def draw_pdf(
    heading: str,
    facts: Sequence[str],
    items: Sequence[Item],
    plan: str = "",
    drawing: Callable[[Axes], Axes] | None = None,
) -> bytes:
    """Draw a sheet as a PDF.

    With `plan` (a text diagram) or `drawing` (draws in given Axes) what is given has a page of its own.

    Args:
        heading: The headline.
        facts: Sentences that are given, before the questions.
        items: The questions.
        plan: The schedule as a text diagram; "" for none.
        drawing: A function that draws into Axes; None for no picture.

    Raises:
        CollsimError: Chinese text is asked for and no font on this machine has it.
    """
    mpl = require_package("matplotlib")
    from matplotlib.backends.backend_pdf import PdfPages
    from matplotlib.figure import Figure

    family = _choose_fonts("".join([heading, *facts, *(i.text + i.answer for i in items)]))
    buffer = BytesIO()  # matplotlib hides what a file system refuses behind an error of zlib
    has_own_page = bool(plan or drawing)
    blocks = list(_build_blocks(heading, () if has_own_page else facts, items))
    with (
        mpl.rc_context({"font.family": family, "pdf.fonttype": 42}),
        PdfPages(buffer, metadata={"Title": heading, "CreationDate": None}) as out,
    ):
        if has_own_page:
            out.savefig(_draw_facts_page(heading, facts, plan, drawing))
        for number, page in enumerate(_break_pages(blocks), 1 + has_own_page):
            figure = Figure(figsize=(_WIDTH, _HEIGHT))
            _draw_page(figure, page, number)
            out.savefig(figure)
    return buffer.getvalue()


def _choose_fonts(text: str) -> list[str]:
    default_fonts = ["DejaVu Sans"]
    if not any("\u4e00" <= c <= "\u9fff" for c in text):
        return default_fonts
    chinese_fonts = [name for name in find_fonts("zh") if name in CHINESE]
    if not chinese_fonts:
        message = "no font on this machine has Chinese; install one of {fonts}, or write the worksheet as Markdown"
        raise CollsimError(message, fonts=", ".join(CHINESE))
    return chinese_fonts + default_fonts


Line = tuple[str, float, str]  # text, indent as a part of the width, weight


def _build_blocks(heading: str, facts: Sequence[str], items: Sequence[Item]) -> Iterator[list[Line]]:
    """Lines that stay together on a page."""
    yield [*((text, 0.0, "bold") for text in wrap_text(heading, _COLUMNS - 10)), ("", 0.0, "normal")]
    yield [*((text, 0.0, "normal") for fact in facts for text in wrap_text(fact, _COLUMNS)), ("", 0.0, "normal")]
    for number, item in enumerate(items, 1):
        lines: list[Line] = [(text, 0.0, "normal") for text in wrap_text(f"{number}.  {item.text}", _COLUMNS)]
        lines += [
            (text, 0.04, "normal")
            for k, option in enumerate(item.options)
            for text in wrap_text(f"{chr(65 + k)}.  {option}", _COLUMNS - 6)
        ]
        if item.answer:
            lines += [(text, 0.04, weight) for text, weight in _wrap_answer(item)]
        else:
            lines += [("", 0.0, "normal"), ("_" * 48, 0.04, "normal")]
        yield [*lines, ("", 0.0, "normal")]


def _wrap_answer(item: Item) -> Iterator[tuple[str, str]]:
    """Lines of the answer and of its reasons, each with its weight."""
    for text in wrap_text(item.answer, _COLUMNS - 6):
        yield text, "bold"
    for reason in item.reasons:
        for text in wrap_text(reason, _COLUMNS - 6):
            yield text, "normal"


def _break_pages(blocks: Sequence[list[Line]]) -> Iterator[list[Line]]:
    most = int((_TOP - _BOTTOM) / _LINE)
    page: list[Line] = []
    for block in blocks:
        if page and len(page) + len(block) > most:
            yield page
            page = []
        page = [*page, *block]
        while len(page) > most:
            yield page[:most]
            page = page[most:]
    if page:
        yield page


def _draw_facts_page(heading: str, facts: Sequence[str], plan: str, drawing: Callable[[Axes], Axes] | None) -> Figure:
    """What is given, the schedule as text, and below them the picture of the machine."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(_WIDTH, _HEIGHT))
    lines: list[Line] = [line for block in list(_build_blocks(heading, facts, ())) for line in block]
    _draw_page(figure, lines, 1)
    row, size = len(lines), _LINE * 0.8
    rows = plan.splitlines()
    wide = max(map(len, rows), default=1)
    for k, text in enumerate(rows):
        y = _TOP - row * _LINE - k * size
        figure.text(0.08, y, text, family="DejaVu Sans Mono", fontsize=min(8.0, 820 / wide), va="top")
    top = _TOP - row * _LINE - len(rows) * size - 0.02
    if drawing is not None and top > 0.2:
        ax = figure.add_axes((0.08, _BOTTOM, 0.84, min(0.45, top - _BOTTOM)))
        drawing(ax)
    return figure


def _draw_page(figure: object, page: Sequence[Line], number: int) -> None:
    for row, (text, indent, weight) in enumerate(page):
        if text:
            x, y = 0.08 + indent, _TOP - row * _LINE
            figure.text(x, y, _escape_dollars(text), fontsize=10, weight=weight, va="top")  # type: ignore[attr-defined]
    figure.text(0.92, 0.03, str(number), fontsize=9, ha="right")  # type: ignore[attr-defined]


def _escape_dollars(text: str) -> str:
    """A dollar sign begins no formula."""
    return text.replace("$", r"\$")


def wrap_text(text: str, columns: int) -> list[str]:
    """Lines of at most so many columns; a Chinese character takes two and a line may break after it.

    Args:
        text: The text.
        columns: Width of a line in Latin characters.
    """
    lines, line, used = [], "", 0
    for word in _split_words(text):
        size = len(word) + sum(unicodedata.east_asian_width(c) in "WF" for c in word)
        if used + size > columns and line.strip():
            lines.append(line.rstrip())
            line, used, word = "", 0, word.lstrip()
        line, used = line + word, used + size
    if line.strip():
        return [*lines, line.rstrip()]
    return lines


def _split_words(text: str) -> Iterator[str]:
    word = ""
    for c in text:
        word += c
        if c == " " or unicodedata.east_asian_width(c) in "WF":
            yield word
            word = ""
    if word:
        yield word


def create_machine_drawing(topology: Topology, language: str) -> Callable[[Axes], Axes] | None:
    """A function that draws the machine in given Axes; None where it is too large to be drawn.

    Args:
        topology: The machine or network.
        language: `en` or `zh`.
    """
    from matplotlib.figure import Figure

    def draw(ax: Axes) -> Axes:
        drawn: Axes = topology.draw(ax=ax, language=language)
        return drawn

    try:
        draw(Figure().add_subplot())
    except CollsimError:
        return None
    return draw


def render_machine(topology: Topology, form: str, language: str) -> bytes:
    """The machine's picture; empty where it is too large to be drawn.

    Args:
        topology: The machine or network.
        form: Suffix of the format without the dot: `png`, `svg`, ...
        language: `en` or `zh`.
    """
    out = BytesIO()
    settings = mpl.rc_context({"svg.hashsalt": "collsim"})  # the same bytes for the same machine
    try:
        with settings:
            figure = topology.draw(language=language).figure
            metadata = {"svg": {"Date": None}}.get(form)
            figure.savefig(out, format=form, dpi=110, metadata=metadata)
    except CollsimError:
        return b""
    return out.getvalue()
