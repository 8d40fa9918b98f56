"""The tables of published runs, all collections under one another."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

#: The sets of tables that the constants were fitted on and that the page lists: `cases.csv`, `cases-2.csv` and their
#: measurements. Later sets are predictions of systems that the fits have not seen, until a fit takes them in.
FITTED_SETS = ("", "-2")


def list_tables(folder: str | Path, name: str) -> list[Path]:
    """The tables of one name in a folder, of the sets in `FITTED_SETS`.

    Args:
        folder: where the tables are.
        name: `cases` or `measured`.

    Returns:
        The paths that exist, in the order of the sets.
    """
    paths = [Path(folder) / f"{name}{suffix}.csv" for suffix in FITTED_SETS]
    return [path for path in paths if path.exists()]


def join_tables(folder: str | Path, into: str | Path) -> tuple[Path, Path]:
    """The fitted sets of `cases` and `measured` in a folder as one table each, written into another folder."""
    out = []
    for name in ("cases", "measured"):
        parts = [pd.read_csv(path, dtype=str, keep_default_na=False) for path in list_tables(folder, name)]
        out.append(Path(into) / f"{name}.csv")
        pd.concat(parts).fillna("").to_csv(out[-1], index=False)
    return out[0], out[1]
