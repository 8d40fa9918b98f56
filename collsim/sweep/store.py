"""The store of results: SQLite, one row per scenario, so that an interrupted sweep resumes where it was."""

from __future__ import annotations

import json
import math
import os
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import CollsimError, FormatError, format_value, require_path
from ..errors.dependencies import pandas as pd
from ..files import format_csv, replace_file, require_writable_file

Row = dict[str, Any]

_TABLES = (".parquet", ".csv", ".json")
_STORES = (".sqlite", ".db")
_UNREADABLE = (sqlite3.DatabaseError, UnicodeDecodeError)  # the latter where sqlite's own words hold what it found
#: Columns that hold options by name: JSON texts in a frame, as that can be compared and written to Parquet.
_OPTION_COLUMNS = ("options", "engine_options")


class Store:
    """Rows by scenario id. With a file, each batch is on disk when `add` returns; without one, rows stay in memory.

    `x.sqlite` is the store itself. For `x.parquet`, `x.csv` or `x.json` the store is `x.parquet.part` beside it, and
    becomes the table when the sweep is complete.
    """

    def __init__(self, path: str | os.PathLike[str] | None):
        """Open the results of a study, or begin them.

        Args:
            path: `.csv`, `.parquet` or a SQLite file; None keeps them in memory.

        Raises:
            CollsimError: Nothing can be written there, or its suffix is unknown.
        """
        self.table: Path | None = None
        self.location = where = ":memory:"
        if path is not None:
            target = require_path(path, "out")
            if target.suffix not in _TABLES + _STORES:
                message = "results go to a file ending in {known}, not {name!r}"
                raise CollsimError(message, known=", ".join(_TABLES + _STORES), name=target.name)
            require_writable_file(target)
            self.location = str(target)
            if target.suffix == ".parquet":
                _require_parquet()
            # A table is written at the end; rows are collected in a database beside it, which survives an
            # interruption.
            if target.suffix in _TABLES:
                self.table = target
                target = target.with_name(target.name + ".part")
            where = str(target)
        self.part = None
        if self.table is not None:
            self.part = Path(where)
        try:
            self._db = sqlite3.connect(where)
            # WAL: a reader may look into the results while the study goes on.
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("CREATE TABLE IF NOT EXISTS rows (id TEXT PRIMARY KEY, row TEXT NOT NULL)")
            self._db.commit()
        except sqlite3.OperationalError as error:
            raise self._build_write_error(error) from error
        except _UNREADABLE as error:
            raise self._build_damage_error(error) from error

    def _build_write_error(self, error: Exception) -> FormatError:
        """The error where the file system or another process does not let it write; it names the file of the user."""
        return FormatError("cannot write {path!r}: {error}", path=self.location, error=error)

    def _build_damage_error(self, error: Exception) -> FormatError:
        """The error where a file cannot be read as the rows of a sweep."""
        message = "{path} is not a store of results, or damaged: {reason}; give another name, or remove it"
        return FormatError(
            message, path=self.part or self.location, reason=format_value(str(error) or type(error).__name__, 200)
        )

    def add(self, rows: Iterable[tuple[str, Row]]) -> None:
        """Append rows; one that is there already is replaced.

        Args:
            rows: id of a scenario and its row.

        Raises:
            FormatError: Where the disk is full, another sweep writes there, or the file is damaged.
        """
        try:
            with self._db:
                texts = [(key, json.dumps(row, default=str)) for key, row in rows]
                self._db.executemany("INSERT OR REPLACE INTO rows VALUES (?, ?)", texts)
        except sqlite3.OperationalError as error:
            raise self._build_write_error(error) from error
        except _UNREADABLE as error:
            raise self._build_damage_error(error) from error

    def list_done(self) -> set[str]:
        """Ids of scenarios that are done."""
        try:
            return {key for (key,) in self._db.execute("SELECT id FROM rows")}
        except _UNREADABLE as error:
            raise self._build_damage_error(error) from error

    def rows(self, keys: Iterable[str], figures: Sequence[str] = ()) -> list[Row]:
        """The rows of these scenarios, in their order.

        Args:
            keys: ids of scenarios.
            figures: columns that must be finite numbers.

        Raises:
            FormatError: Where one of them is damaged, or where one of its `figures` is no finite number.
        """
        wanted = list(keys)
        known = set(wanted)
        try:
            stored = self._db.execute("SELECT id, row FROM rows")
            rows = {key: json.loads(row) for key, row in stored if key in known}
            _require_numbers(rows, figures)
            return [{"scenario": key, **rows[key]} for key in wanted if key in rows]
        except (*_UNREADABLE, ValueError, TypeError, RecursionError) as error:
            raise self._build_damage_error(error) from error

    def build_frame(self, wanted: Sequence[str]) -> pd.DataFrame:
        """The rows with these ids as a frame whose columns hold numbers and texts only."""
        frame = pd.DataFrame(self.rows(wanted))
        return frame.assign(**{name: frame[name].map(json.dumps) for name in _OPTION_COLUMNS if name in frame})

    def finish(self, frame: pd.DataFrame) -> None:
        """Write the table (whole or not at all) and drop the partial store.

        Args:
            frame: the whole table.
        """
        self._db.close()
        if self.table is None or self.part is None:
            return
        with replace_file(self.table) as fresh:
            if self.table.suffix == ".json":
                rows = map(parse_options, frame.astype(object).where(frame.notna(), None).to_dict("records"))
                with open(fresh, "w", encoding="utf-8") as file:  # pandas would cut times after the tenth decimal
                    file.writelines(f"{json.dumps(row)}\n" for row in rows)
            elif self.table.suffix == ".parquet":
                frame.to_parquet(fresh, index=False)
            else:
                fresh.write_text(format_csv(frame), encoding="utf-8", newline="")
        for leftover in (self.part, *(self.part.with_name(self.part.name + tail) for tail in ("-wal", "-shm"))):
            leftover.unlink(missing_ok=True)

    def close(self) -> None:
        self._db.close()


def parse_options(row: Mapping[Any, Any]) -> Row:
    """A row of a sweep's frame for a JSON document, with its options as objects and not as texts.

    Args:
        row: a column's value by name.

    Returns:
        The same with `options` and `engine_options` as dicts.
    """
    parsed = {name: json.loads(row[name]) for name in _OPTION_COLUMNS if name in row}
    return {**row, **parsed}


def _require_numbers(rows: Mapping[str, object], names: Sequence[str]) -> None:
    """Raise ValueError for a row without these figures."""
    for key, row in rows.items():
        if not isinstance(row, dict):
            raise ValueError(f"row {key} is {row!r}")
        for name in names:
            value = row.get(name)
            if not isinstance(value, int | float) or not math.isfinite(value):
                raise ValueError(f"{name}={value!r} in row {key}")


def _require_parquet() -> None:
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        message = "writing .parquet needs pyarrow: pip install 'collsim[parquet]'; .csv and .sqlite need nothing more"
        raise CollsimError(message) from None
