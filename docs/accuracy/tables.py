"""The tables of published runs, all collections under one another."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from collsim.nccl.measured.prediction_accuracy import read_tables

#: The sets of tables that the constants were fitted on and that the page lists: `cases.csv`, `cases-2.csv` and their
#: measurements. Later sets are predictions of systems that the fits have not seen, until a fit takes them in.
FITTED_SETS = ("", "-2")
#: Sets that no fit has seen. Their residuals count for the widths of intervals, as those of systems left out do.
UNSEEN_SETS = ("-3",)


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


def read_unseen(folder: str | Path) -> tuple[pd.DataFrame, pd.DataFrame, dict[str, str]]:
    """The runs, rows and unread rows of the sets that no fit has seen (`UNSEEN_SETS`)."""
    found = [
        read_tables(*(Path(folder) / f"{name}{each}.csv" for name in ("cases", "measured"))) for each in UNSEEN_SETS
    ]
    described, rows = (pd.concat(tables, ignore_index=True) for tables in list(zip(*found, strict=True))[:2])
    return described, rows, {name: reason for *_, unread in found for name, reason in unread.items()}
