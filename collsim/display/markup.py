"""Text on its way into HTML: the one place where a number and its unit get a space that does not break.

Texts of collsim have plain spaces, so that they can be searched, compared and copied. Where a line may break between
`4.73` and `ms`, in HTML and in wrapped titles of pictures, the space becomes U+00A0. `viz/player/model/units.js` does
the same for what the players write.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence

from .palette import NUMBER_UNIT_SPACE

#: A space between a digit and a unit; not before `%` as Python's operator (`2 % n`).
UNIT_SPACE = re.compile(NUMBER_UNIT_SPACE)


def bind_units(text: str) -> str:
    """The text with a no-break space between each number and its unit: `4.73 ms` stays on one line."""
    return UNIT_SPACE.sub("\N{NO-BREAK SPACE}", text)


def escape_text(text: str) -> str:
    """A text as HTML: special characters escaped, numbers bound to their units. For code take `html.escape`."""
    return html.escape(bind_units(text))


# What begins something in Markdown within a line (`:` a directive of Streamlit), and what makes a line one of a list.
_MARKDOWN_MARK = re.compile(r"[\\`*_\[\]<>&~$#|^]|:(?=[\w:])")
_MARKDOWN_LIST = re.compile(r"\A(\d*)([-+.)])")
# Streamlit looks for addresses, icons and emoji (`www.`, `://`, `a@b`, `:smile:`) when the Markdown has been read and
# its backslashes are gone, so an invisible WORD JOINER has to keep their parts apart.
_MARKDOWN_SHORTCUT = re.compile(r"(?<=:)(?=//|[\w+/-]+:)|(?<=@)(?=\w)|(?<=www)(?=\.)", re.IGNORECASE)


def align_columns(rows: Sequence[Sequence[str]]) -> str:
    """Write a table as text, its columns two spaces apart, without spaces at the ends of lines.

    Args:
        rows: Cells of each row, as many in each.

    Returns:
        A line for each row.

    Examples:
        >>> print(align_columns([["rank", "time"], ["0", "1 ms"]]))
        rank  time
        0     1 ms
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def format_table(rows: Iterable[Iterable[str]], heads: Iterable[str] = (), attributes: str = "") -> str:
    """Write a table as HTML.

    Args:
        rows: Cells of each row, as plain text.
        heads: Headings of the columns; none for a table without.
        attributes: Of the element, such as `class="cells"`.

    Returns:
        The element.

    Examples:
        >>> format_table([["0"]], ["rank"])
        '<table><tr><th>rank</th></tr><tr><td>0</td></tr></table>'
    """
    lines = ["".join(f"<td>{escape_text(cell)}</td>" for cell in row) for row in rows]
    head = "".join(f"<th>{escape_text(text)}</th>" for text in heads)
    if head:
        lines.insert(0, head)
    start = f"<table {attributes}".rstrip()
    return f"{start}>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def escape_markdown(text: str) -> str:
    """Escape a text for a place where Streamlit reads Markdown: a label, a heading, a message.

    Streamlit takes the label of a button or an option for Markdown, so an image in somebody's text would make every
    browser ask for it.

    Args:
        text: Any text, for example one that a stranger wrote. Blanks around it and line ends are lost.

    Returns:
        Markdown that shows the text as it is.

    Examples:
        >>> print(escape_markdown("![x](y.png) or 3.5 ms"))
        !\\[x\\](y.png) or 3.5 ms
    """
    line = re.sub("[ \t\r\n]+", " ", text).strip(" ")
    marked = _MARKDOWN_MARK.sub(r"\\\g<0>", _MARKDOWN_SHORTCUT.sub("\N{WORD JOINER}", line))
    return _MARKDOWN_LIST.sub(r"\1\\\2", marked)
