"""In which order compared runs stand: by time, and of equal times by name; one rule for whoever compares."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

#: Digits of a time that count. The same seconds, added up in another order, differ in the sixteenth.
_DIGITS = 9


def counted(seconds: float) -> float:
    """A time to the digits that count, seconds; what has none (NaN) comes after all that have one."""
    return math.inf if math.isnan(seconds) else float(f"{seconds:.{_DIGITS - 1}e}")


def standing(seconds: float, name: str = "") -> tuple[float, str]:
    """What runs are sorted by."""
    return counted(seconds), name


def in_order(table: pd.DataFrame, *by: str) -> pd.DataFrame:
    """The rows by these columns, of which `time` counts to its digits; what is equal stays as it is."""
    keys = table[list(by)]
    if "time" in by:
        keys = keys.assign(time=[counted(seconds) for seconds in table["time"]])
    return table.loc[keys.sort_values(list(by), kind="stable").index]
