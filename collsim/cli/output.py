"""What commands print: tables for people, one JSON document for machines."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import CollsimError
from ..errors.dependencies import pandas as pd
from ..files import format_csv, write_text
from ..units import format_bandwidth, format_time

if TYPE_CHECKING:
    from ..sweep.gap_closing import SynthesisRace


#: Files that hold the rows of a table for machines, and for a page.
_ROW_FILES, _PAGE_FILES = (".csv", ".json"), (".md", ".tex")
#: Characters up to which a column is never broken, so that names and figures stay whole.
_UNBROKEN_WIDTH = 40
#: Characters of a line that goes to a file or a pipe, unless its columns need more: a search for a row finds all of it.
_FILE_WIDTH = 160
#: Blanks between two columns.
_GAP = 2


def show(rows: list[dict[str, Any]], title: str) -> None:
    """A table with a column for each key of the first row; columns that do not fit into the width
    follow below, after the first column again.

    Args:
        rows: All with the same columns.
        title: Above the table.
    """
    from rich.console import Console

    names = [name for row in rows[:1] for name in row]
    columns = [(name, [str(row[name]) for row in rows]) for name in names]
    least = [_measure_width(name, cells) for name, cells in columns]
    needed = sum(least) + _GAP * len(least)
    width = None
    if not sys.stdout.isatty():
        width = max(_FILE_WIDTH, needed)
    console = Console(width=width, markup=False, emoji=False)
    for number, part in enumerate(_split_columns(least, console.width)):
        if number:
            console.print()
            title = ""
        console.print(_build_table([(*columns[column], least[column]) for column in part], title))


def _measure_width(name: str, cells: list[str]) -> int:
    """The width below which a column is not read well: all of it, but sentences may break."""
    from rich.cells import cell_len

    return min(max(map(cell_len, (name, *cells))), max(_UNBROKEN_WIDTH, cell_len(name)))


def _split_columns(least: list[int], width: int) -> list[list[int]]:
    """Numbers of the columns that fit next to one another in a width, each part with the first one."""
    parts = [[0][: len(least)]]
    for column in range(1, len(least)):
        if len(parts[-1]) > 1 and sum(least[other] + _GAP for other in parts[-1]) + least[column] > width:
            parts.append([0])
        parts[-1].append(column)
    return parts


def _build_table(columns: list[tuple[str, list[str], int]], title: str) -> object:
    """Columns, each with its cells and its least width, as rich draws them."""
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for name, _, width in columns:
        table.add_column(name, overflow="fold", min_width=width)
    for row in zip(*(cells for _, cells, _ in columns), strict=True):
        table.add_row(*row)
    return table


def print_json(value: object) -> None:
    """Print one JSON document on stdout, as `--json` of every command does.

    Frames are lists of rows, dataclasses are objects, and what is no number is null. Where stdout is not in UTF-8,
    characters beyond ASCII are escaped.

    Args:
        value: Anything that `to_plain` takes.
    """
    in_utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    print(json.dumps(to_plain(value), allow_nan=False, ensure_ascii=not in_utf8))


def require_table_file(out: Path | None) -> None:
    """Check a file for `save_rows` before anything is computed.

    Args:
        out: The file; None where none was named.

    Raises:
        CollsimError: No table is written to that suffix. (Whether anything can be written there is asked before.)
    """
    if out is None:
        return
    if out.suffix not in (*_ROW_FILES, *_PAGE_FILES):
        known = ", ".join((*_ROW_FILES, *_PAGE_FILES))
        raise CollsimError("a table goes to a file ending in {known}, not {name!r}", known=known, name=out.name)


def save_rows(rows: object, out: Path | None) -> None:
    """Write the table of a command; nothing where no file was named.

    Args:
        rows: What `--json` prints: dicts with the same keys, for `.json` any value.
        out: `x.json`, `x.csv`, `x.md` or `x.tex`.
    """
    if out is None:
        return
    if out.suffix == ".json":
        write_text(out, json.dumps(to_plain(rows), allow_nan=False, indent=1) + "\n")
        return
    from ..io import save

    frame = pd.DataFrame(to_plain(rows))
    if out.suffix == ".csv":
        write_text(out, format_csv(frame))
    else:
        save(frame, out)


def list_records(frame: Any) -> list[dict[str, Any]]:
    """List the rows of a frame as dicts, with None where there is no value."""
    rows: list[dict[str, Any]] = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return rows


def show_race(race: SynthesisRace) -> None:
    """What was synthesized against ring and tree, and the sentences on gain and gap.

    Args:
        race: Of `close_gap`.
    """
    print(race.provenance)
    trace = race.trace
    rows = [
        {
            "run": row["run"],
            "schedule": race.runs[row["run"]].schedule.label,
            "time": format_time(row["time"]),
            "busbw": format_bandwidth(row["busbw"]),
            "× bound": f"{row['gap']:.4g}",
            **{part: format_time(row[part]) for part in ("cut", "chunks", "latency")},
        }
        for row in race.rows()
    ]
    bound = format_time(trace.bound.time)
    show(rows, f"timed by the event engine on {trace.topology.name}; beyond the bound of {bound}: cut, chunks, latency")
    print(race)


def build_race_record(race: SynthesisRace) -> dict[str, object]:
    """Build the record of a race that `--json` prints."""
    return {
        "provenance": str(race.provenance),
        "sentences": [str(sentence) for sentence in race.sentences],
        "runs": race.rows(),
    }


def to_plain(value: Any) -> Any:
    """Convert a value to dicts, lists, texts, numbers and None, which JSON has.

    Args:
        value: Numbers that are not finite become None.

    Raises:
        TypeError: It has no such form.
    """
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return float(value)
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, Mapping):
        return {str(name): to_plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [to_plain(item) for item in value]
    return _from_object(value)


def _from_object(value: object) -> object:
    if hasattr(value, "to_dict") and hasattr(value, "columns"):  # a frame
        return to_plain(list_records(value))
    if hasattr(value, "tolist"):  # arrays and scalars of numpy
        return to_plain(value.tolist())
    if is_dataclass(value):
        return {field.name: to_plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"not JSON: {value!r}")
