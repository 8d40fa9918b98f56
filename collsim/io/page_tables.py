"""A comparison as a table for a page: Markdown (GitHub's tables) or LaTeX (booktabs)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..display.markup import bind_units
from ..errors import CollsimError
from ..files import FilePath, write_text
from ..units import format_bandwidth, format_bytes, format_time
from .file_formats import register_built_in

if TYPE_CHECKING:
    import pandas as pd

_MAX_ROWS = 100_000
_TIMES = ("time", "bound", "alpha", "start", "finish", "in_place_time", "mean_time")
_RATES = ("algbw", "busbw", "bandwidth", "in_place_algbw", "in_place_busbw")
_SIZES = ("nbytes", "bytes")
_LEFT_OUT = ("scenario",)  # a fingerprint, for machines
_TEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "µ": r"\textmu{}",
    "\N{NO-BREAK SPACE}": "~",
}
_TEX |= {c: "\\" + c for c in "&%$#_{}"}


def format_page_cell(column: str, value: Any) -> str:
    """A value with its unit, as people write it; an empty cell for nothing.

    Args:
        column: whose unit it has: `time` in s, `nbytes` in bytes, `busbw` in B/s ...
        value: of the cell.
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, str):
        return " ".join(value.split())
    if column in _TIMES:
        return format_time(float(value))
    if column in _RATES:
        return format_bandwidth(float(value))
    if column in _SIZES:
        return format_bytes(float(value))
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)


def _format_cells(table: pd.DataFrame, columns: list[str] | None) -> tuple[list[str], list[list[str]]]:
    """Header and rows; columns that say nothing are left out unless asked for."""
    if len(table) > _MAX_ROWS:
        raise CollsimError("the table has {rows:,} rows; a page takes {most:,}", rows=len(table), most=_MAX_ROWS)
    missing = [c for c in columns or () if c not in table.columns]
    if missing:
        message = "no column {missing}; there are {columns}"
        raise CollsimError(message, missing=", ".join(map(repr, missing)), columns=", ".join(map(str, table.columns)))
    names = columns or [
        str(c) for c in table.columns if c not in _LEFT_OUT and any(_has_content(value) for value in table[c])
    ]
    return names, [[format_page_cell(n, row[n]) for n in names] for row in table.to_dict("records")]


def _has_content(value: object) -> bool:
    """Is there anything to show?"""
    return value is not None and value not in ({}, "{}") and value == value


def write_markdown(table: pd.DataFrame, path: FilePath, *, columns: list[str] | None = None) -> None:
    """Write a table as Markdown.

    Args:
        table: in SI units.
        path: of the file.
        columns: those to write, in order; None for all that have content.

    Raises:
        CollsimError: For columns that it does not have.
    """
    names, rows = _format_cells(table, columns)
    texts = [[c.replace("\\", "\\\\").replace("|", "\\|") for c in row] for row in [names, *rows]]
    lines = ["| " + " | ".join(row) + " |" for row in texts]
    numeric = [n in (*_TIMES, *_RATES, *_SIZES) or str(table[n].dtype).startswith(("int", "float")) for n in names]
    lines.insert(1, "|" + "|".join("---:" if right else "---" for right in numeric) + "|")
    write_text(path, "\n".join(lines) + "\n")


def write_latex(
    table: pd.DataFrame, path: FilePath, *, columns: list[str] | None = None, caption: str = "", label: str = ""
) -> None:
    """Write a table as LaTeX (needs the booktabs package). Raises CollsimError for columns that it does not have."""
    names, rows = _format_cells(table, columns)
    write_text(path, (f"{line}\n" for line in _format_latex(names, rows, caption, label)))


def _format_latex(names: list[str], rows: list[list[str]], caption: str, label: str) -> Iterator[str]:
    yield "\\begin{table}"
    yield "  \\centering"
    yield f"  \\begin{{tabular}}{{{'l' * len(names)}}}"
    yield "    \\toprule"
    for number, row in enumerate([names, *rows]):
        yield "    " + " & ".join(_escape_latex(c) for c in row) + " \\\\"
        if number == 0:
            yield "    \\midrule"
    yield "    \\bottomrule"
    yield "  \\end{tabular}"
    if caption:
        yield f"  \\caption{{{_escape_latex(caption)}}}"
    if label:
        yield f"  \\label{{{label}}}"
    yield "\\end{table}"


def _escape_latex(text: str) -> str:
    return "".join(_TEX.get(c, c) for c in bind_units(text))


register_built_in("markdown", write=write_markdown)
register_built_in("latex", write=write_latex)
