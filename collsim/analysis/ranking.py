"""In which order compared runs stand: by time, and of equal times by name; one rule for whoever compares."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

#: Digits of a time that count. The same seconds, added up in another order, differ in the sixteenth.
_DIGITS = 9


def round_time(seconds: float) -> float:
    """Round a time to the digits that count.

    Args:
        seconds: The time; NaN where there is none.

    Returns:
        Seconds; infinity for NaN, which comes after all others.
    """
    if math.isnan(seconds):
        return math.inf
    return float(f"{seconds:.{_DIGITS - 1}e}")


def get_sort_key(seconds: float, name: str = "") -> tuple[float, str]:
    """Return what runs are sorted by: their time to the digits that count, then their name.

    Args:
        seconds: Of the run.
        name: Of the run.

    Returns:
        The key.
    """
    return round_time(seconds), name


def sort_table(table: pd.DataFrame, *by: str) -> pd.DataFrame:
    """Sort a table of runs.

    Args:
        table: A row for each run.
        by: Columns; `time` counts to its digits.

    Returns:
        The rows in order; equal ones stay as they are.
    """
    keys = table[list(by)]
    if "time" in by:
        keys = keys.assign(time=[round_time(seconds) for seconds in table["time"]])
    return table.loc[keys.sort_values(list(by), kind="stable").index]
