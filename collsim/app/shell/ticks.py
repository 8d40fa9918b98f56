"""Ticks of the charts: powers of two or ten, each with its unit."""

from __future__ import annotations

import math
from typing import Any

import altair as alt
import pandas as pd

SIZES: list[list[Any]] = [["B", 1], ["KiB", 2**10], ["MiB", 2**20], ["GiB", 2**30], ["TiB", 2**40]]
TIMES: list[list[Any]] = [["ns", 1e-9], ["µs", 1e-6], ["ms", 1e-3], ["s", 1]]
RATES: list[list[Any]] = [["B/s", 1], ["kB/s", 1e3], ["MB/s", 1e6], ["GB/s", 1e9]]


def axis(values: pd.Series[Any], base: int) -> alt.Axis:
    """Ticks at powers of two or ten, written with their unit, at most nine of them."""
    units = SIZES if base == 2 else TIMES if values.max() < 1e4 else RATES
    first, last = math.floor(math.log(values.min(), base)), math.ceil(math.log(values.max(), base))
    apart = max(1, -(-(last - first) // 8))
    expression = f"format(datum.value/{units[0][1]}, '~r') + ' {units[0][0]}'"
    for name, size in units[1:]:
        expression = f"datum.value >= {size * 0.9999} ? format(datum.value/{size}, '~r') + ' {name}' : {expression}"
    return alt.Axis(
        labelExpr=expression,
        labelFlush=False,
        labelOverlap=True,
        labelSeparation=10,
        values=[float(base) ** k for k in range(first, last + 1, apart)],
    )
