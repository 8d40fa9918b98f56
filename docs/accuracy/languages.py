"""The accuracy page in two languages: its texts and words in `pages/`, its tables, and how they become Markdown.

A table is made once, in English; its Chinese cells are the same cells in other words, so that no figure can differ.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

Language = Literal["en", "zh"]
LANGUAGES: tuple[Language, ...] = ("en", "zh")
PAGES = Path(__file__).with_name("pages")
#: Columns of names, and of what others wrote: the same in both languages.
QUOTED = {"run", "collective", "algorithm", "the table says", "constant", "not predicted", "why"}


@dataclass(frozen=True)
class Table:
    """Heads and cells, in English."""

    head: list[str]
    rows: list[list[Any]]

    def markdown(self, language: Language) -> str:
        """The table, its cells in the language, but for names and quotations."""
        is_quoted = [name in QUOTED for name in self.head]
        rows = [
            [str(cell) if as_is else translate(str(cell), language) for cell, as_is in zip(row, is_quoted, strict=True)]
            for row in self.rows
        ]
        head = [translate(name, language) for name in self.head]
        body = ["| " + " | ".join(row) + " |" for row in (head, *rows)]
        return "\n".join([body[0], "|" + "---|" * len(head), *body[1:]])


@dataclass(frozen=True)
class Text:
    """A file of `pages/` by its name, and what is put in place of its `{names}`."""

    name: str
    blocks: Mapping[str, Block]

    def markdown(self, language: Language) -> str:
        """The text with every block in the language."""
        return template(self.name, language).format(
            **{key: render_markdown(block, language) for key, block in self.blocks.items()}
        )


#: A number, a sentence that `words.csv` has, a table, a text, or several under one another.
Block = int | str | Table | Text | list["Block"]


def render_markdown(block: Block, language: Language) -> str | int:
    """A block in the language; a number stays one, so that the text says how it is written."""
    if isinstance(block, int):
        return block
    if isinstance(block, str):
        return translate(block, language)
    if isinstance(block, list):
        return "\n\n".join(str(render_markdown(part, language)) for part in block)
    return block.markdown(language)


def template(name: str, language: Language) -> str:
    """A text as it stands in `pages/`."""
    return (PAGES / f"{name}{'' if language == 'en' else f'.{language}'}.md").read_text(encoding="utf-8")


def translate(english: str, language: Language) -> str:
    """A sentence or cell in the language: what `words.csv` has for it, else as it is (a figure, a name)."""
    if language == "en":
        return english
    if english in (exact := words()):
        return exact[english]
    for pattern, chinese in _patterns():
        if match := pattern.fullmatch(english):
            return chinese.format(*(translate(part, language) for part in match.groups()))
    return english


@cache
def words() -> dict[str, str]:
    """English and Chinese; `{}` is anything, and in Chinese may have a number where the order is another."""
    with (PAGES / "words.csv").open(encoding="utf-8", newline="") as file:
        return {row["english"]: row["chinese"] for row in csv.DictReader(file) if not row["english"].startswith("# ")}


@cache
def _patterns() -> list[tuple[re.Pattern[str], str]]:
    """Words with `{}` in them, in the order of the file: the first that fits is taken."""
    return [
        (re.compile("(.+?)".join(map(re.escape, english.split("{}")))), chinese)
        for english, chinese in words().items()
        if "{}" in english
    ]
