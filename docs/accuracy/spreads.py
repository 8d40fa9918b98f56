"""How wide an interval is, read from predictions of systems left out and kept in
`collsim/nccl/model/interval_widths.json`.

`rows_of` makes a small table of left-out residuals, without names: class of machine, group of collectives, band of
sizes, number of the system, shares of the time, what nobody stated, log of measured over predicted (`left_out.csv`).
Each run occurs twice in it: with its system left out of the fit, and with its whole kind of machine left out.
`calibrated` reads widths from both (`interval_widths.py`); `mark_covered` asks, a tenth of the systems or a kind left
out at a time, whether they hold.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from accuracy import crossval, crossval_mpi
from accuracy.interval_widths import COLUMNS, Residuals, calibrate, compute_deviations
from accuracy.tables import join_tables, read_unseen

from collsim.nccl.measured.prediction_accuracy import (
    BANDS,
    Accuracy,
    MpiPrediction,
    PredictedRow,
    predict_rows,
    read_tables,
)
from collsim.nccl.model import prediction_interval
from collsim.nccl.model.prediction_interval import LEVEL, SIDES, FamilyWidths, Side
from collsim.nccl.nccl_prediction import Prediction

Floats = npt.NDArray[np.float64]
LeftOut = Literal["system", "kind"]
HERE = Path(__file__).parent
FOLDS = HERE / "folds.json"
TABLE, KEPT = HERE / "left_out.csv", Path(prediction_interval.__file__).with_name("interval_widths.json")
#: Rows kept of a run and band.
ROWS = 5
_POINTS = 3  # of one's own that `bought` tries


def rows_of(blind: Sequence[PredictedRow], described: pd.DataFrame, left_out: LeftOut) -> pd.DataFrame:
    """The residuals of left-out rows, a few of each run and band."""
    info = described.set_index("case_id")
    number = {name: k for k, name in enumerate(sorted(set(described.system)))}
    runs = {case_id: k for k, case_id in enumerate(sorted(set(described.case_id)))}
    result = []
    for case_id, p, seconds in blind:
        if not (seconds > 0 and p.parts is not None):
            continue
        kind, group, shares = described_by(p)
        band = next(k for k, (_, low, high) in enumerate(BANDS) if low <= p.nbytes < high)
        case: Any = info.loc[case_id]
        where = (left_out, number[case.system], runs[case_id], case.kind, kind, group, band)
        inputs = [round(math.hypot(*(each[side] for each in shares.unknown.values())), 3) for side in SIDES]
        off = round(math.log(seconds / p.time), 4)
        result.append((*where, p.nbytes, *shares.vector.round(3), *inputs, off))
    first = ["left_out", "system", "run", "machine", "kind", "group", "band", "nbytes"]
    table = pd.DataFrame(result, columns=[*first, *COLUMNS, *SIDES, "off"])
    table = table.sort_values(["system", "run", "band", "nbytes"], kind="stable")
    grouped = table.groupby(["run", "band"])
    position, count = grouped.cumcount(), grouped["run"].transform("size")
    keep = (count <= ROWS) | ((position * ROWS // count) != ((position - 1) * ROWS // count))
    return table[keep].reset_index(drop=True)


def described_by(p: Prediction | MpiPrediction) -> tuple[str, str, prediction_interval.Shares]:
    """Class, group of collectives, and shares of a prediction."""
    return p.kind, prediction_interval.group_collective(p.collective), p.shares


def calibrated(table: pd.DataFrame) -> dict[str, Any]:
    """Widths by class and group, and how many of them cover which share on either side, by family."""
    families = table.groupby(table.kind.map(prediction_interval.get_family))
    return {str(name): calibrate(Residuals.read(part)) for name, part in families}


def _deviations(rows: Residuals, side: Side, known: FamilyWidths) -> Floats:
    pairs = list(zip(rows.kind.tolist(), rows.group.tolist(), strict=True))
    widths = {pair: prediction_interval.get_widths(*pair, known)[side] for pair in set(pairs)}
    return compute_deviations(rows, side, np.array([widths[pair] for pair in pairs]).reshape(len(pairs), 3))


def mark_covered(table: pd.DataFrame, left_out: LeftOut = "system", level: float = LEVEL) -> pd.DataFrame:
    """The rows predicted without their system or their kind of machine, with what intervals say that have not seen it
    either: `inside`, `above` (slower than the interval), `high_over_low`."""
    hidden = table[table.left_out == left_out]
    column = {"system": "system", "kind": "machine"}[left_out]
    order = np.array(sorted(set(hidden[column])))
    np.random.default_rng(1).shuffle(order)
    folds = min(10, len(order)) if left_out == "system" else len(order)
    parts = []
    for fold in range(folds):
        names = order[fold::folds]
        known: Any = calibrated(table[~table[column].isin(names)])
        out = hidden[hidden[column].isin(names)]
        for family, rows in out.groupby(out.kind.map(prediction_interval.get_family)):
            of = known[str(family)]
            fast, slow = (
                prediction_interval.interpolate_quantile(of["quantiles"][side], level)
                * _deviations(Residuals.read(rows), side, of)
                for side in SIDES
            )
            inside = (-fast <= rows.off) & (rows.off <= slow)
            parts.append(
                rows.assign(inside=inside, above=rows.off > slow, high_over_low=np.exp(fast + slow), library=family)
            )
    return pd.concat(parts)


def covered(table: pd.DataFrame, left_out: LeftOut = "system", by: Sequence[str] = ("library",)) -> pd.DataFrame:
    """By the columns in `by` and band: runs, median error, share of their rows inside and above, every run the same,
    and the median of high / low."""
    return summarize_covered(mark_covered(table, left_out), by)


def summarize_covered(rows: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Summarize rows as `mark_covered` has them, as `covered` says."""
    runs = rows.assign(error=np.expm1(rows.off.abs())).groupby([*by, "band", "run"], sort=True)
    each = runs.agg(
        error=("error", "median"), covered=("inside", "mean"), above=("above", "mean"), wide=("high_over_low", "median")
    )
    grouped = each.reset_index().groupby([*by, "band"])
    return grouped.agg(
        runs=("run", "size"),
        error=("error", "median"),
        covered=("covered", "mean"),
        above=("above", "mean"),
        high_over_low=("wide", "median"),
    ).reset_index()


class Bought(NamedTuple):
    """Points known of a run, runs, and at their other sizes: median error, share inside, median of high / low."""

    points: int
    runs: int
    error: float
    covered: float
    wide: float


def bought(table: pd.DataFrame, known: dict[str, Any] | None = None) -> list[Bought]:
    """What none, one, two and three points of each run buy at its other sizes, each run the same."""
    known, table, result = known or calibrated(table), table[table.left_out == "system"], []
    long = [rows for _, rows in table.groupby("run") if rows.nbytes.nunique() > _POINTS]
    for count in range(_POINTS + 1):
        each = np.array(
            [_of_run(rows, known[prediction_interval.get_family(rows.kind.iloc[0])], count) for rows in long]
        )
        error, inside, wide = each.T
        result.append(Bought(count, len(long), float(np.median(error)), float(inside.mean()), float(np.median(wide))))
    return result


def _of_run(run_rows: pd.DataFrame, family: FamilyWidths, count: int) -> tuple[float, float, float]:
    """Median error, share inside and median width of a run with its smallest, largest and middle size known."""
    run_rows = run_rows.sort_values("nbytes")
    first = [0, len(run_rows) - 1, len(run_rows) // 2][:_POINTS]
    shares = [
        prediction_interval.Shares(*row[:3], {"inputs": dict(zip(SIDES, row[3:], strict=True))})
        for row in run_rows[[*COLUMNS, *SIDES]].to_numpy()
    ]
    off = run_rows.off.to_numpy()
    points = [prediction_interval.Point(shares[i], off[i]) for i in first[:count]]
    kind, group = run_rows.kind.iloc[0], run_rows.group.iloc[0]
    rows = []
    for i in sorted(set(range(len(run_rows))) - set(first)):  # the same sizes, however many points are known
        low, middle, high = prediction_interval.compute_log_ends(kind, group, family, shares[i], LEVEL, points)
        rows.append((math.expm1(abs(off[i] - middle)), low <= off[i] <= high, math.exp(high - low)))
    error, inside, wide = np.array(rows).T
    return float(np.median(error)), float(inside.mean()), float(np.median(wide))


class Factors(NamedTuple):
    """The factors of the fits that have not seen a tenth of the systems or a kind of machine each."""

    system: list[dict[str, float]]
    kind: list[dict[str, float]]


class Left(NamedTuple):
    """Residuals, the factors of each fit, and the reports on NCCL and on MPI by what was left out."""

    table: pd.DataFrame
    factors: Factors
    nccl: dict[str, Accuracy]
    mpi: dict[str, Accuracy]


def residuals(folder: str | Path, known: Factors | None = None) -> Left:
    """All runs predicted by fits that have not seen their systems or their kinds; `known`: the factors of those fits
    from an earlier time, so that nothing is fitted for NCCL. Later sets (`tables.UNSEEN_SETS`) were in no fit."""
    with TemporaryDirectory() as into:
        cases, measured = join_tables(folder, into)
        described, *_ = read_tables(cases, measured)
        unseen, rows, _ = read_unseen(folder)
        later = predict_rows(unseen, rows)[0]
        everything = pd.concat([described, unseen])
        tables, factors, nccl, mpi = [], {}, {}, {}
        for by, folds in (("system", 10), ("kind", 99)):
            nccl[by], blind, factors[by] = crossval.left_out(
                cases, measured, by, folds, known=None if known is None else getattr(known, by)
            )
            mpi[by], over_mpi = crossval_mpi.left_out(cases, measured, by, folds)
            tables.append(rows_of([*blind, *over_mpi, *later], everything, by))  # type: ignore[arg-type]
    return Left(pd.concat(tables, ignore_index=True), Factors(**factors), nccl, mpi)


def read_factors() -> Factors:
    """The factors of an earlier time."""
    return Factors(**json.loads(FOLDS.read_text(encoding="utf-8")))


def remake(folder: str | Path) -> Left:
    """Fit for each tenth of the systems and each kind and keep what comes of it: minutes."""
    result = residuals(folder)
    rounded = {
        by: [{name: round(value, 4) for name, value in each.items()} for each in folds]
        for by, folds in result.factors._asdict().items()
    }
    FOLDS.write_text(json.dumps(rounded, indent=0) + "\n", encoding="utf-8")
    write(result.table)
    return result


def write(table: pd.DataFrame) -> None:
    """Keep the table and what it says."""
    table.to_csv(TABLE, index=False)
    KEPT.write_text(json.dumps(calibrated(table), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    import sys

    report = remake(sys.argv[1])
    print(
        report.nccl["system"].summarize_bands().to_string(),
        report.mpi["system"].summarize_bands("mpi").to_string(),
        covered(report.table).to_string(),
        covered(report.table, "kind", ("machine",)).to_string(),
        sep="\n\n",
    )
