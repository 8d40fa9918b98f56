"""A prediction moved by a few measurements of one's own: what they say of launch, steps, pipeline and rate, by Bayesian
linear regression on the log of measured over predicted time (`model.spread`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import CollsimError
from ..units import format_bytes, parse_bytes, parse_time
from .model.prediction_interval import Point

if TYPE_CHECKING:
    import pandas as pd

    from .prediction import Prediction


def read_measured_times(measured: Any, collective: str) -> dict[int, float]:
    """Seconds by size: of a mapping such as {"8B": "13us", "1GiB": 8.1e-3}, or of a table with columns nbytes and time
    (seconds), as nccl-tests' log is read; of rows with a collective those of this one.

    Raises CollsimError for a size or time that is none, and where nothing is left.
    """
    import pandas as pd

    if isinstance(measured, (str, Path)):
        raise CollsimError(
            "measured={measured!r} is a path; read the log first: measured=collsim.load(path)", measured=str(measured)
        )
    if isinstance(measured, pd.DataFrame):
        pairs = _rows(measured, collective)
    elif isinstance(measured, Mapping):
        pairs = [(parse_bytes(size), parse_time(seconds, "measured")) for size, seconds in measured.items()]
    else:
        raise CollsimError("measured={measured!r} is no mapping of sizes to times", measured=measured)
    by_size: dict[int, list[float]] = {}
    for size, seconds in pairs:
        if size > 0 and math.isfinite(seconds) and seconds > 0:
            by_size.setdefault(int(size), []).append(float(seconds))
    if not by_size:
        raise CollsimError("measured: no size has a positive time for {collective}", collective=collective)
    return {size: float(pd.Series(those).median()) for size, those in sorted(by_size.items())}


def _rows(table: pd.DataFrame, collective: str) -> list[tuple[int, float]]:
    if missing := [name for name in ("nbytes", "time") if name not in table]:
        raise CollsimError("measured wants columns nbytes and time; {missing} is missing", missing=", ".join(missing))
    if "collective" in table and table["collective"].notna().any():
        plain = table["collective"].astype(str).str.replace("_", "").str.lower()
        table = table[plain == collective.replace("_", "")]
    return list(zip(table["nbytes"].fillna(0).astype(int), table["time"].astype(float), strict=True))


def update_prediction(here: Prediction, measured: Any, again: Callable[[int], Prediction]) -> Prediction:
    """`here` as these measurements move it; `again` predicts another size without them."""
    known = read_measured_times(measured, here.collective)
    points = []
    for size, seconds in known.items():
        at = again(size)
        points.append(Point(at.shares, math.log(seconds / at.time)))
    moved = replace(here, points=tuple(points))
    found = moved.interval()
    by, sizes = found.middle / here.time, ", ".join(map(format_bytes, known))
    note = f"moved by x {by:.2f}: what was measured at {sizes} says so"
    return replace(moved.scale(by), prior_time=here.time, notes=(*here.notes, note))
