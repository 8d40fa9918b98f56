"""A prediction moved by a few measurements on the same machine: what they say of launch, steps, pipeline and rate, by
Bayesian linear regression on the log of measured over predicted time (`model.prediction_interval`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from ..errors import CollsimError
from ..units import ByteSize, Duration, format_bytes, parse_bytes, parse_time
from .model.prediction_interval import Point

if TYPE_CHECKING:
    import pandas as pd

    from .nccl_prediction import Prediction

#: Times by size, {"8B": "13us", "1GiB": 8.1e-3}, or a table with columns nbytes and time (seconds).
MeasuredTimes: TypeAlias = "Mapping[ByteSize, Duration] | pd.DataFrame"


def read_measured_times(measured: MeasuredTimes, collective: str) -> dict[int, float]:
    """Read measured times of one collective.

    Args:
        measured: a mapping such as {"8B": "13us", "1GiB": 8.1e-3}, or a table with columns nbytes and time (seconds),
            as an nccl-tests log is read; of rows with a collective those of this one count.
        collective: collsim's name of it.

    Returns:
        Seconds by size in bytes, rising; the median where a size occurs several times.

    Raises:
        CollsimError: for what is no size or time, and where nothing is left.
    """
    from ..errors.dependencies import pandas as pd

    if isinstance(measured, (str, Path)):
        raise CollsimError(
            "measured={measured!r} is a path; read the log first: measured=collsim.load(path)", measured=str(measured)
        )
    if isinstance(measured, pd.DataFrame):
        pairs = _read_rows(measured, collective)
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
    return {size: float(pd.Series(times).median()) for size, times in sorted(by_size.items())}


def _read_rows(table: pd.DataFrame, collective: str) -> list[tuple[int, float]]:
    if missing := [name for name in ("nbytes", "time") if name not in table]:
        raise CollsimError("measured wants columns nbytes and time; {missing} is missing", missing=", ".join(missing))
    if "collective" in table and table["collective"].notna().any():
        names = table["collective"].astype(str).str.replace("_", "").str.lower()
        table = table[names == collective.replace("_", "")]
    return list(zip(table["nbytes"].fillna(0).astype(int), table["time"].astype(float), strict=True))


def update_prediction(
    prediction: Prediction, measured: MeasuredTimes, predict_size: Callable[[int], Prediction]
) -> Prediction:
    """Move a prediction by measurements on the same machine.

    Args:
        prediction: the prediction without them.
        measured: times of the same collective, as for `read_measured_times`.
        predict_size: predicts the same call of another size in bytes, without measurements.

    Returns:
        The prediction with its time moved, its interval narrowed, and a note that says by how much.

    Raises:
        CollsimError: as `read_measured_times`.
    """
    times = read_measured_times(measured, prediction.collective)
    points = []
    for size, seconds in times.items():
        at_size = predict_size(size)
        points.append(Point(at_size.shares, math.log(seconds / at_size.time)))
    moved = replace(prediction, points=tuple(points))
    factor, sizes = moved.interval().middle / prediction.time, ", ".join(map(format_bytes, times))
    note = f"moved by x {factor:.2f}: what was measured at {sizes} says so"
    return replace(moved.scale(factor), prior_time=prediction.time, notes=(*prediction.notes, note))
