"""Named things that print as a table: what `cs.algorithms()`, `cs.machines()`, `cs.models()` and the like return."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from ..errors import UnknownEntryError, describe_unknown
from ..errors.arguments import check_arguments
from ..errors.dependencies import pandas as pd
from . import markup

T = TypeVar("T")
Row = Mapping[str, object]

_WIDEST_CELL = 72  # characters: a sentence that is longer would wrap and hide the columns


class Catalog(Mapping[str, T]):
    """A read-only mapping from names to things, in the order of its entries.

    Printing it shows one row for each entry; a notebook shows the same as an HTML table.

    Args:
        entries: the things by name.
        describe: the columns of one entry, by heading. The values are numbers, booleans and text; they are formatted
            when the table is printed.

    Examples:
        >>> import collsim as cs
        >>> "allreduce_ring" in cs.algorithms("allreduce")
        True
        >>> cs.models().rows()[0]["name"]
        'bert-base'
    """

    def __init__(self, entries: Mapping[str, T], describe: Callable[[T], Row]) -> None:
        self._entries = entries
        self._describe = describe

    def __getitem__(self, name: str) -> T:
        try:
            return self._entries[name]
        except (KeyError, TypeError):
            raise UnknownEntryError(describe_unknown("entry", name, self._entries)) from None

    def __contains__(self, name: object) -> bool:
        # Without it, asking for a name that is none would write the sentence of the error, which reads the glossary.
        return isinstance(name, str) and name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def rows(self) -> list[dict[str, object]]:
        """The table as data.

        Returns:
            One dict for each entry; all have the same keys.
        """
        return [{"name": name, **self._describe(entry)} for name, entry in self.items()]

    def to_frame(self) -> pd.DataFrame:
        """The table as a pandas frame.

        Returns:
            One row for each entry, with the columns of `rows()`.
        """
        return pd.DataFrame(self.rows())

    def __repr__(self) -> str:
        rows = self.rows()
        if not rows:
            return "(no entries)"
        cells = [list(rows[0]), *([_shorten(format_cell(value)) for value in row.values()] for row in rows)]
        return markup.align_columns(cells)

    def _repr_html_(self) -> str:
        rows = self.rows()
        return markup.format_table((map(format_cell, row.values()) for row in rows), rows[0] if rows else ())


@check_arguments
def format_cell(value: object) -> str:
    """A value of a table as text: numbers with separators, True as yes, False and None as nothing.

    Args:
        value: a number, boolean or text.

    Returns:
        The text.

    Examples:
        >>> from collsim.display.catalog import format_cell
        >>> format_cell(109482240), format_cell(True), format_cell(None)
        ('109,482,240', 'yes', '')
    """
    if value is None or value is False:
        return ""
    if value is True:
        return "yes"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.4g}"
    return str(value)


def _shorten(text: str) -> str:
    if len(text) <= _WIDEST_CELL:
        return text
    return f"{text[: _WIDEST_CELL - 1]}…"
