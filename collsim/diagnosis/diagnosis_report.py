"""Documents of a diagnosis as Markdown or HTML, with every character of the evidence escaped."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import Literal, TypeAlias

from ..display.markup import format_table

ReportFormat = Literal["markdown", "html"]
#: Rows of a table, the first of them its head; or a text.
Block: TypeAlias = (
    tuple[Literal["title", "heading", "text", "quote", "item"], str] | tuple[Literal["table"], list[list[str]]]
)
_MARKS = {"title": "# ", "heading": "## ", "text": "", "item": "- ", "quote": "    "}
_TAGS = {"title": "h1", "heading": "h2", "text": "p", "item": "li", "quote": "pre"}


def write_document(blocks: Sequence[Block], format: ReportFormat) -> str:
    """Write blocks one after the other.

    Args:
        blocks: titles, headings, texts, quoted lines and tables.
        format: `markdown` or `html`.

    Examples:
        >>> print(write_document([("heading", "Odd"), ("table", [["node"], ["a|b"]])], "markdown"))
        ## Odd
        | node |
        |---|
        | a\\|b |
    """
    if format == "html":
        return "\n".join(_write_html(block) for block in blocks if block[1])
    return "\n".join(_write_markdown(block) for block in blocks)


def _write_markdown(block: Block) -> str:
    if block[0] != "table":
        if block[0] == "quote":  # an indented line is shown as it is
            return f"{_MARKS[block[0]]}{block[1]}"
        return f"{_MARKS[block[0]]}{_escape_markup(block[1])}"
    head, *rows = [[_escape_markup(cell).replace("|", "\\|") for cell in row] for row in block[1]]
    lines = [f"| {' | '.join(row)} |" for row in (head, *rows)]
    return "\n".join((lines[0], "|" + "---|" * len(head), *lines[1:]))


def _escape_markup(text: str) -> str:
    """A text in which no tag, link or image of evidence begins."""
    return re.sub(r"[<\[](?=[A-Za-z/!?])", r"\\\g<0>", text)


def _write_html(block: Block) -> str:
    if block[0] != "table":
        return f"<{_TAGS[block[0]]}>{html.escape(block[1])}</{_TAGS[block[0]]}>"
    return format_table(block[1][1:], block[1][0])
