"""Edits of a source: lines put in and expressions replaced, so that all else stays as its author wrote it."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class SourceEdit:
    """One change of a source.

    Attributes:
        start: line from 1 and column in bytes from 0, as `ast` counts, where it begins.
        end: where it ends; at `start`, the text is inserted.
        text: what stands there afterwards.
    """

    start: tuple[int, int]
    end: tuple[int, int]
    text: str


def replace_node(node: ast.expr, text: str) -> SourceEdit:
    """Replace an expression by a text."""
    return SourceEdit(
        (node.lineno, node.col_offset), (node.end_lineno or node.lineno, node.end_col_offset or node.col_offset), text
    )


def insert_lines(before: int, lines: Iterable[str], like: str) -> SourceEdit:
    """Put lines in before a line, indented as another one is.

    Args:
        before: line from 1.
        lines: the new ones.
        like: a line with the indentation that they get.
    """
    indent = like[: len(like) - len(like.lstrip())]
    return SourceEdit((before, 0), (before, 0), "".join(f"{indent}{line}\n" for line in lines))


def delete_statement(node: ast.stmt, line: str, is_alone: bool) -> SourceEdit:
    """Take a statement out.

    Args:
        node: the statement.
        line: its last line; where more stands on it, `pass` takes the place of the statement.
        is_alone: whether its block has no other statement: then `pass` does, too.
    """
    end = node.end_lineno or node.lineno
    remainder = line.encode()[node.end_col_offset or 0 :].strip()
    if is_alone or (remainder and not remainder.startswith(b"#")):
        return SourceEdit((node.lineno, node.col_offset), (end, node.end_col_offset or len(line.encode())), "pass")
    return SourceEdit((node.lineno, 0), (end + 1, 0), "")


def apply_edits(source: str, edits: Iterable[SourceEdit]) -> str:
    """Apply edits to a source.

    Args:
        source: the text.
        edits: those that overlap an earlier one are left out, and the same insertion is made once.

    Returns:
        The new text.
    """
    # ast counts columns in bytes of UTF-8, so edits are made on bytes.
    lines = [line.encode() for line in source.splitlines(keepends=True)]
    if lines and not lines[-1].endswith(b"\n"):
        lines[-1] += b"\n"
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    data, last = b"".join(lines), (len(lines) + 2, 0)
    # From the end to the beginning, so that earlier positions stay true.
    for edit in sorted(set(edits), reverse=True):
        if edit.end > last or edit.end[0] > len(lines) + 1:
            continue
        begin, end = (starts[line - 1] + column for line, column in (edit.start, edit.end))
        data = data[:begin] + edit.text.encode() + data[end:]
        last = edit.start
    return data.decode()
