"""How far published steps of training are from what is predicted, by kind: `collsim/train/timing/step_intervals.csv`.

    PYTHONPATH=docs python -m accuracy.step_spreads measured.csv

Every source counts the same in its kind, so that one of 700 rows does not decide alone; a kind of few sources leans on
the other kinds. Printed behind: the share of rows inside where their source, and where their whole kind is left out.
The ends are the 5th and the 95th hundredth: with so few sources these hold four in five rows of one that was left out.
"""

from __future__ import annotations

import math
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from accuracy import gpu_steps
from accuracy.steps import as_printed, read

from collsim.errors import CollsimError
from collsim.train import training_step
from collsim.train.measured_steps import parse_row
from collsim.train.timing.step_interval import StepKind, classify_step

#: Of vTrain's rows one of so many is looked at; how many sources' worth a kind leans on the others; the ends.
THINNED, LEAN, ENDS = 8, 2.0, (0.05, 0.95)
KINDS: tuple[StepKind, ...] = ("moe", "cnn", "pipeline", "fsdp", "dense")
Floats = npt.NDArray[np.float64]
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
    return Off(classify_step(trace.step), name_source(row["source"]), math.log(step.seconds / trace.time))


def name_source(source: str) -> str:
    """Who published a row: several tables of one repository are one source."""
    name = source.split(" (")[0].split(",")[0].split(" @")[0]
    return "/".join(name.split("/")[:2]).split(" ")[0]


def collect(measured: str | Path) -> pd.DataFrame:
    """The rows of a table of measured steps, of vTrain's some."""
    rows: Any = pd.DataFrame(as_printed(read(measured)))
    position = rows.groupby("source").cumcount() + 1
    keep = ~rows.source.str.startswith("vTrain") | (position % THINNED == 0)
    with ProcessPoolExecutor(2) as pool:
        found = pool.map(measure, rows[keep].to_dict("records"))
        return pd.DataFrame([*(each for each in found if each is not None), *list_steps_on_one_gpu()])


def list_steps_on_one_gpu() -> list[Off]:
    """Steps of one GPU in eager PyTorch that no rate was read from (`gpu_steps.csv`)."""
    kinds: dict[str, StepKind] = {"cnn": "cnn"}
    errors = gpu_steps.list_errors("held out")
    return [Off(kinds.get(e.row["family"], "dense"), "gpu_steps.csv", -math.log1p(e.time)) for e in errors]


def ratios(table: pd.DataFrame) -> pd.DataFrame:
    """By kind: the ratios that are its ends, rows, sources."""
    result = []
    for kind in KINDS:
        mine, others = table[table.kind == kind], table[table.kind != kind]
        sources = mine.source.nunique()
        parts = [(part, weight) for part, weight in ((mine, sources), (others, LEAN)) if len(part)]
        off = np.concatenate([part.off for part, _ in parts])
        weights = np.concatenate([weight * weigh_sources(part) for part, weight in parts])
        low, high = np.exp(find_ends(off, weights)).round(2)
        result.append((kind, low, high, len(mine), sources))
    return pd.DataFrame(result, columns=["kind", "low", "high", "rows", "sources"])


def weigh_sources(table: pd.DataFrame) -> Floats:
    """A weight for each row: every source of every kind the same, 1 together."""
    groups = table.groupby(["kind", "source"]).off
    return (1 / groups.transform("size") / groups.ngroups).to_numpy()


def find_ends(off: Floats, weights: Floats) -> Floats:
    """Where the weights reach the ends."""
    order = np.argsort(off)
    heap = np.cumsum(weights[order]) / weights.sum()
    return np.array([off[order][min(int(np.searchsorted(heap, level)), len(off) - 1)] for level in ENDS])


def measure_coverage(table: pd.DataFrame) -> pd.DataFrame:
    """By kind: share of the rows inside ratios that have not seen their source, and that have not seen their kind;
    every source the same."""
    parts = []
    for (kind, source), rows in table.groupby(["kind", "source"]):
        inside = {
            "source left out": _is_inside(rows, table[table.source != source], kind),
            "kind left out": _is_inside(rows, table[table.kind != kind], kind),
        }
        parts.append({"kind": kind, **inside})
    return pd.DataFrame(parts).groupby("kind").mean().round(2).reset_index()


def _is_inside(rows: pd.DataFrame, known: pd.DataFrame, kind: str) -> float:
    ends = ratios(known).set_index("kind").loc[kind]
    return float(rows.off.between(math.log(ends.low), math.log(ends.high)).mean())


if __name__ == "__main__":
    import sys

    found = collect(sys.argv[1])
    result = ratios(found)
    result.to_csv(TABLE, index=False)
    print(result.to_string(), measure_coverage(found).to_string(), sep="\n\n")
