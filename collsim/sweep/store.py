"""Where results go as they come: SQLite, one row per scenario, so that a killed sweep goes on where it was."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import CollsimError, FormatError, require_path

if TYPE_CHECKING:
    import pandas as pd

Row = dict[str, Any]

_TABLES = (".parquet", ".csv", ".json")
_STORES = (".sqlite", ".db")


class Store:
    """Rows by scenario id. Opened on a file, each batch is on disk when `add` returns; without one it lives in memory.

    `x.sqlite` is the store itself. For `x.parquet`, `x.csv` or `x.json` the store is `x.parquet.part` beside it, and becomes the
    table when the sweep is complete.
    """

    def __init__(self, path: str | os.PathLike[str] | None):
        self.table: Path | None = None
        where = ":memory:"
        if path is not None:
            target = require_path(path, "out")
            if target.suffix not in _TABLES + _STORES:
                raise CollsimError(f"results go to a file ending in {', '.join(_TABLES + _STORES)}, not {target.name!r}")
            if not target.parent.is_dir():
                raise CollsimError(f"there is no folder {str(target.parent)!r} to write {target.name} into")
            if target.suffix == ".parquet":
                _require_parquet()
            if target.suffix in _TABLES:
                self.table = target
                target = target.with_name(target.name + ".part")
            where = str(target)
        self.part = None if self.table is None else Path(where)
        try:
            self._db = sqlite3.connect(where)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("CREATE TABLE IF NOT EXISTS rows (id TEXT PRIMARY KEY, row TEXT NOT NULL)")
            self._db.commit()
        except sqlite3.DatabaseError as error:
            raise FormatError(f"{where} is not a store of results: {error}; give another name") from error

    def add(self, rows: Iterable[tuple[str, Row]]) -> None:
        """Append rows; one that is there already is replaced."""
        with self._db:
            self._db.executemany("INSERT OR REPLACE INTO rows VALUES (?, ?)", [(key, json.dumps(row, default=str)) for key, row in rows])

    def known(self) -> set[str]:
        """Ids of scenarios that are done."""
        return {key for (key,) in self._db.execute("SELECT id FROM rows")}

    def rows(self, keys: Iterable[str]) -> list[Row]:
        """The rows of these scenarios, in their order."""
        found = {key: json.loads(row) for key, row in self._db.execute("SELECT id, row FROM rows")}
        return [{"scenario": key, **found[key]} for key in keys if key in found]

    def finish(self, frame: pd.DataFrame) -> None:
        """Write the table (whole or not at all) and drop the partial store."""
        self._db.close()
        if self.table is None or self.part is None:
            return
        fresh = self.table.with_name(self.table.name + ".new")
        if self.table.suffix == ".parquet":
            frame.assign(options=frame["options"].map(json.dumps)).to_parquet(fresh)
        elif self.table.suffix == ".csv":
            frame.to_csv(fresh, index=False)
        else:
            frame.to_json(fresh, orient="records", lines=True)
        os.replace(fresh, self.table)
        for leftover in (self.part, *(self.part.with_name(self.part.name + tail) for tail in ("-wal", "-shm"))):
            leftover.unlink(missing_ok=True)

    def close(self) -> None:
        self._db.close()


def _require_parquet() -> None:
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise CollsimError("writing .parquet needs pyarrow (pip install pyarrow); .csv and .sqlite need nothing more") from None
