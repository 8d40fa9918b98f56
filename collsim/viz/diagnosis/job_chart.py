"""Measured busbw of a job over size, with what is predicted without its fault and with it, for `jobchart.js`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from ...errors.dependencies import pandas as pd
from ...locale import translate
from ...units import format_bandwidth


class ChartLabel(TypedDict):
    """What is written at a curve, for a narrow picture in short, and the rate (B/s) there."""

    words: str
    short: str
    rate: float


class JobChart(TypedDict):
    """Columns by size (bytes), in B/s; `fault` is empty where no fault is predicted."""

    sizes: list[int]
    measured: list[float]
    predicted: list[float]
    low: list[float]
    high: list[float]
    fault: list[float]
    labels: list[ChartLabel]


def describe_job_chart(table: pd.DataFrame, with_fault: Sequence[float] = (), language: str = "en") -> JobChart:
    """Return what the chart shows.

    Args:
        table: a row for each size: `nbytes`, `busbw`, `predicted_busbw`, `low_busbw`, `high_busbw` (B/s), as
            `cs.nccl.compare_run` makes it.
        with_fault: (sizes,) B/s that are predicted with the fault that was found; none where there is none.
        language: `en` or `zh`.
    """
    return {
        "sizes": table["nbytes"].tolist(),
        "measured": table["busbw"].tolist(),
        "predicted": table["predicted_busbw"].tolist(),
        "low": table["low_busbw"].tolist(),
        "high": table["high_busbw"].tolist(),
        "fault": list(with_fault),
        "labels": _list_labels(table, with_fault, language),
    }


def _list_labels(table: pd.DataFrame, with_fault: Sequence[float], language: str) -> list[ChartLabel]:
    """What is written at each curve, at its largest size."""
    last = {name: float(table[name].iloc[-1]) for name in ("busbw", "predicted_busbw", "low_busbw", "high_busbw")}
    values = {
        "possible": format_bandwidth(last["predicted_busbw"]),
        "measured": format_bandwidth(last["busbw"]),
        "low": format_bandwidth(last["low_busbw"]),
        "high": format_bandwidth(last["high_busbw"]),
    }
    key = "chart.measured"
    if with_fault:
        key = "chart.with_fault"
        values["predicted"] = format_bandwidth(with_fault[-1])

    def label(key: str, short: str, rate: float) -> ChartLabel:
        words, shortened = (translate(language, "diagnosis", name, **values) for name in (key, short))
        return {"words": words, "short": shortened, "rate": rate}

    return [
        label("chart.possible", "chart.possible.short", last["predicted_busbw"]),
        label(key, "chart.measured", last["busbw"]),
    ]
