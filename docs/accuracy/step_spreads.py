"""How far published steps of training are from what is predicted, by kind: `collsim/train/timing/step_intervals.csv`.

    PYTHONPATH=docs python -m accuracy.step_spreads measured.csv

Every source counts the same in its kind, so that one of 700 rows does not decide alone; a kind of few sources leans on
all steps. Printed behind: how many rows of a source lie inside where that source is left out.
"""

from __future__ import annotations

import math
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from accuracy.steps import _read, as_printed

from collsim.errors import CollsimError
from collsim.train import training_step
from collsim.train.measured_steps import parse_row
from collsim.train.timing.step_interval import StepKind, classify_step

#: Rows of a source that are looked at, most; how many sources' worth a kind leans on all others.
ROWS, LEAN = 20, 1.0
KINDS: tuple[StepKind, ...] = ("moe", "cnn", "pipeline", "fsdp", "dense")
TABLE = Path(__file__).parents[2] / "collsim/train/timing/step_intervals.csv"


class Off(NamedTuple):
    """A row: kind of step, who published it, log of measured over predicted time."""

    kind: StepKind
    source: str
    off: float


def measure(row: dict[str, str]) -> Off | None:
    """How far off a row is; None where it is no call."""
    try:
        step = parse_row(row)
        trace = training_step(**dict(step.call))
    except CollsimError:
        return None
    return Off(
        classify_step(trace.step),
        row["source"].split(" (")[0].split(",")[0].split(" @")[0],
        math.log(step.seconds / trace.time),
    )


def collect(measured: str | Path) -> pd.DataFrame:
    """The rows of a table of measured steps, some of each source."""
    rows: Any = pd.DataFrame(as_printed(_read(measured)))
    position = rows.groupby("source").cumcount()
    count = rows.groupby("source").source.transform("size")
    keep = (count <= ROWS) | ((position * ROWS // count) != ((position - 1) * ROWS // count))
    with ProcessPoolExecutor(2) as pool:
        found = pool.map(measure, rows[keep].to_dict("records"))
        return pd.DataFrame([each for each in found if each is not None])


def ratios(table: pd.DataFrame) -> pd.DataFrame:
    """By kind: the ratios between which four in five rows lie, rows, sources."""
    everything = _quantiles(table)
    result = []
    for kind in KINDS:
        mine = table[table.kind == kind]
        sources = mine.source.nunique()
        share = sources / (sources + LEAN)
        near = _quantiles(mine) if sources else everything
        low, high = np.exp(share * near + (1 - share) * everything).round(2)
        result.append((kind, low, high, len(mine), sources))
    return pd.DataFrame(result, columns=["kind", "low", "high", "rows", "sources"])


def _quantiles(table: pd.DataFrame) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The tenth and the ninetieth hundredth, every source the same."""
    off = table.off.to_numpy()
    weight = (1 / table.groupby("source").off.transform("size")).to_numpy()
    order = np.argsort(off)
    heap = np.cumsum(weight[order]) / weight.sum()
    return np.array([off[order][min(int(np.searchsorted(heap, level)), len(off) - 1)] for level in (0.1, 0.9)])


def covered(table: pd.DataFrame) -> pd.DataFrame:
    """By kind: share of the rows inside ratios that have not seen their source, every source the same."""
    parts = []
    for source in sorted(set(table.source)):
        known = ratios(table[table.source != source]).set_index("kind")
        rows = table[table.source == source]
        ends = known.loc[rows.kind, ["low", "high"]].to_numpy()
        parts.append(rows.assign(inside=(np.exp(rows.off) >= ends[:, 0]) & (np.exp(rows.off) <= ends[:, 1])))
    inside = pd.concat(parts)
    by_source = inside.groupby(["kind", "source"]).inside.mean().reset_index()
    return by_source.groupby("kind").inside.mean().round(2).reset_index()


if __name__ == "__main__":
    import sys

    found = collect(sys.argv[1])
    result = ratios(found)
    result.to_csv(TABLE, index=False)
    print(result.to_string(), covered(found).to_string(), sep="\n\n")
