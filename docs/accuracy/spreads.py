"""How wide an interval is, read from predictions of systems left out and kept in
`collsim/nccl/model/interval_widths.json`.

`rows_of` makes a small table of left-out residuals, without names: class of machine, group of collectives, band of
sizes, number of the system, shares of the time, log of measured over predicted (`left_out.csv`). `calibrated` reads
widths from such a table; `covered` asks, a tenth of the systems left out at a time, whether they hold.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from accuracy import crossval, crossval_mpi
from accuracy.tables import join_tables

from collsim.nccl.measured.prediction_accuracy import BANDS, Accuracy, MpiPrediction, PredictedRow, read_tables
from collsim.nccl.model import prediction_interval
from collsim.nccl.nccl_prediction import Prediction

Floats = npt.NDArray[np.float64]
HERE = Path(__file__).parent
FOLDS = HERE / "folds.json"
TABLE, KEPT = HERE / "left_out.csv", Path(prediction_interval.__file__).with_name("interval_widths.json")
#: Rows kept of a run and band, the rest of a time that nothing explains (two runs of one machine), how many systems'
#: worth a class leans on all others and a collective on its class, levels kept, passes that set the widths, folds of
#: systems within a calibration.
ROWS, REST, LEAN, LEVELS, PASSES, INNER = 5, 0.05, 4.0, (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98), 3, 8
#: Share of a variance that other sizes of the same run say nothing of: so that about four in five measurements lie
#: inside once one's own smallest and largest are known (`bought`).
SIZE_SHARE = 0.12
#: How much less a run of a system with many runs counts for the widths: by its number of runs to this power. 0 is every
#: run the same, as the report counts, 1 every system the same.
SYSTEM = 0.0
#: Family that another leans on while it has fewer than so many systems: one of them that is far off would decide alone.
KIN, ENOUGH = {"mpi full": "mpi"}, 10
_GUESSED = "unknown gpu"  # a class of `prediction_interval.class_of`
_POINTS = 3  # of one's own that `bought` tries
_NORMAL = 1.2816  # standard deviations on either side that hold four in five of a normal distribution
_PARTS = ("bytes", "fill", "latency")  # the part that decides each band, in the order of BANDS
_COLUMNS = ("latency", "fill", "bytes")


def rows_of(blind: Sequence[PredictedRow], described: pd.DataFrame) -> pd.DataFrame:
    """The residuals of left-out rows, a few of each run and band."""
    systems = dict(zip(described.case_id, described.system, strict=True))
    number = {name: k for k, name in enumerate(sorted(set(described.system)))}
    runs = {case_id: k for k, case_id in enumerate(sorted(set(described.case_id)))}
    result = []
    for case_id, p, seconds in blind:
        if not (seconds > 0 and p.parts is not None):
            continue
        kind, group, parts = described_by(p)
        band = next(k for k, (_, low, high) in enumerate(BANDS) if low <= p.nbytes < high)
        where = (number[systems[case_id]], runs[case_id], kind, group, band)
        result.append((*where, p.nbytes, *parts.vector.round(3), round(math.log(seconds / p.time), 4)))
    table = pd.DataFrame(result, columns=["system", "run", "kind", "group", "band", "nbytes", *_COLUMNS, "off"])
    table = table.sort_values(["system", "run", "band", "nbytes"], kind="stable")
    grouped = table.groupby(["run", "band"])
    position, count = grouped.cumcount(), grouped["run"].transform("size")
    keep = (count <= ROWS) | ((position * ROWS // count) != ((position - 1) * ROWS // count))
    return table[keep].reset_index(drop=True)


def described_by(p: Prediction | MpiPrediction) -> tuple[str, str, prediction_interval.Shares]:
    """Class, group of collectives, and shares of a prediction."""
    return p.kind, prediction_interval.group_collective(p.collective), p.shares


def calibrated(table: pd.DataFrame) -> dict[str, Any]:
    """Widths by class and group, and how many of them cover which share, by family."""
    families = table.groupby(table.kind.map(prediction_interval.get_family))
    parts = {str(name): part.reset_index(drop=True) for name, part in families}
    few = {name for name, part in parts.items() if KIN.get(name) in parts and part.system.nunique() < ENOUGH}
    result = {name: _calibrated(part) for name, part in parts.items() if name not in few}
    return result | {name: _pooled(parts[name], result[KIN[name]]) for name in sorted(few)}


def _pooled(table: pd.DataFrame, kin: Mapping[str, Any]) -> dict[str, Any]:
    """Widths of a family of few systems: its kin's, times one factor that its systems say, each the same, and its kin
    as `LEAN` systems more; so that its levels are those of Student's t with as many degrees of freedom (a normal
    prediction whose variance has a scaled inverse chi-squared prior: Gelman et al., Bayesian Data Analysis, 2.6)."""
    like = {
        **kin,
        "widths": np.array(kin["widths"]) * kin["quantiles"][f"{prediction_interval.LEVEL:g}"] / _NORMAL,
        "classes": {},
    }
    scores = (table.off / _deviations(table, like)) ** 2
    each = scores.groupby([table.system, table.run, table.band]).mean().groupby("system").mean()
    freedom = len(each) + LEAN
    widths = (like["widths"] * math.sqrt((LEAN + each.sum()) / freedom)).round(4).tolist()
    systems = table.groupby("kind").system.nunique()
    classes = {str(kind): {"widths": widths, "systems": int(count)} for kind, count in systems.items()}
    quantiles = {f"{level:g}": round(_student(level, freedom), 4) for level in LEVELS}
    return {"rest": REST, "size_share": SIZE_SHARE, "widths": widths, "classes": classes, "quantiles": quantiles}


def _student(level: float, freedom: float) -> float:
    """Standard deviations on either side that hold this share of Student's t, by summing its density."""
    x = np.linspace(0, 400, 400_001)
    cumulative = np.cumsum((1 + x**2 / freedom) ** (-(freedom + 1) / 2))
    return float(np.interp(level, cumulative / cumulative[-1], x))


def _calibrated(table: pd.DataFrame) -> dict[str, Any]:
    """Widths from all systems; how many cover which share from scores that have not seen their own system."""
    weights, scales = _weights(table), np.ones(3)
    for _ in range(PASSES):  # each band is to be covered as all are
        scores = _scores(table, weights, scales)
        for band, part in enumerate(_PARTS):
            here = (table.band == band).to_numpy()
            if here.any():
                scales[_COLUMNS.index(part)] *= (
                    _quantile(scores[here], weights[here], prediction_interval.LEVEL) / _NORMAL
                )
        scales = scales.clip(0.5, 2.0)  # where a part decides nothing, its width is anything
    scores, runs = _scores(table, weights, scales), table.run.nunique()
    levels = {f"{level:g}": min(1.0, level * (runs + 1) / runs) for level in LEVELS}
    quantiles = {name: round(_quantile(scores, weights, level), 4) for name, level in levels.items()}
    return {**_classes(table, weights, scales), "quantiles": quantiles}


def _scores(table: pd.DataFrame, weights: Floats, scales: Floats) -> Floats:
    """How many standard deviations each row is off, by widths of the other systems."""
    order, scores = np.array(sorted(set(table.system))), np.zeros(len(table))
    for fold in range(min(INNER, len(order))):
        out = table.system.isin(order[fold::INNER]).to_numpy()
        if out.all():
            continue
        known = _classes(table[~out].reset_index(drop=True), weights[~out], scales)
        scores[out] = np.abs(table.off[out]) / _deviations(table[out], known)
    return scores


class _Arrays(NamedTuple):
    """Columns of a table of residuals; `off` without its sign."""

    band: npt.NDArray[Any]
    system: npt.NDArray[Any]
    kind: npt.NDArray[Any]
    group: npt.NDArray[Any]
    off: Floats
    weight: Floats


def _weights(table: pd.DataFrame) -> Floats:
    """Every run counts the same in every band, and a system with many runs less for each: systems are left out whole,
    yet those with many are not the whole world."""
    rows = table.groupby(["run", "band"])["run"].transform("size").to_numpy(float)
    runs = table.groupby(["system", "band"])["run"].transform("nunique").to_numpy(float)
    result: Floats = 1 / rows / runs**SYSTEM
    return result


def _quantile(values: Any, weights: Floats, level: float) -> float:
    order = np.argsort(np.asarray(values))
    heap = np.cumsum(weights[order]) / weights.sum()
    return float(np.asarray(values)[order][min(int(np.searchsorted(heap, level)), len(order) - 1)])


def _widths(arrays: _Arrays, mine: npt.NDArray[np.bool_], lean: Floats | None) -> Floats:
    """Standard deviations of the parts, from the band that each decides: four fifths of residuals, over 1.28."""
    result = np.ones(3) if lean is None else lean.copy()
    for band, part in enumerate(_PARTS):
        here = mine & (arrays.band == band)
        if not here.any():
            continue
        width = max(_quantile(arrays.off[here], arrays.weight[here], prediction_interval.LEVEL) / _NORMAL, REST / 2)
        count = len(set(arrays.system[here].tolist()))
        k = _COLUMNS.index(part)
        share = count / (count + LEAN) if lean is not None else 1.0
        result[k] = math.exp(share * math.log(width) + (1 - share) * math.log(result[k]))
    return result


def _classes(table: pd.DataFrame, weights: Floats, scales: Floats) -> dict[str, Any]:
    band, system, kind, group = (table[name].to_numpy() for name in ("band", "system", "kind", "group"))
    arrays = _Arrays(band, system, kind, group, table.off.abs().to_numpy(), weights)
    base = _widths(arrays, np.ones(len(table), bool), None)
    classes: dict[str, Any] = {}

    def keep(name: str, mine: npt.NDArray[np.bool_], lean: Floats) -> Floats:
        width = _widths(arrays, mine, lean)
        if name.startswith(_GUESSED):  # what is guessed of the next GPU is another thing: no better known than all are
            width = np.maximum(width, base)
        count = len(set(arrays.system[mine].tolist()))
        classes[name] = {"widths": (width * scales).round(4).tolist(), "systems": count}
        return width

    for name in sorted(set(arrays.kind)):
        mine = arrays.kind == name
        width = keep(str(name), mine, base)
        for near in sorted(set(arrays.group[mine])):
            keep(f"{name}, {near}", mine & (arrays.group == near), width)
    return {"rest": REST, "size_share": SIZE_SHARE, "widths": (base * scales).round(4).tolist(), "classes": classes}


def _deviations(table: pd.DataFrame, known: Mapping[str, Any]) -> Floats:
    pairs = list(zip(table.kind, table.group, strict=True))
    widths = {pair: prediction_interval.get_widths(*pair, known)[0] for pair in set(pairs)}
    parts = table[list(_COLUMNS)].to_numpy() * np.array([widths[pair] for pair in pairs]).reshape(len(table), 3)
    result: Floats = np.sqrt((parts**2).sum(axis=1) + known["rest"] ** 2)
    return result


def covered(table: pd.DataFrame, level: float = prediction_interval.LEVEL, folds: int = 10) -> pd.DataFrame:
    """By library and band: share of left-out runs' rows inside intervals that have not seen their systems, and the
    median of high / low."""
    order = np.array(sorted(set(table.system)))
    np.random.default_rng(1).shuffle(order)
    inside, wide = np.zeros(len(table), bool), np.zeros(len(table))
    for fold in range(folds):
        out = table.system.isin(order[fold::folds]).to_numpy()
        known = calibrated(table[~out].reset_index(drop=True))
        for name, of in known.items():
            here = out & (table.kind.map(prediction_interval.get_family) == name).to_numpy()
            half = prediction_interval.interpolate_quantile(of["quantiles"], level) * _deviations(table[here], of)
            inside[here], wide[here] = np.abs(table.off[here]) <= half, np.exp(2 * half)
    weight = 1 / table.groupby(["run", "band"])["run"].transform("size")  # the report's: every run the same
    family = table.kind.map(prediction_interval.get_family)
    seen = table.assign(inside=inside, wide=wide, library=family, weight=weight)
    rows = [
        (
            library,
            band,
            rows.run.nunique(),
            float(np.average(rows.inside, weights=rows.weight)),
            rows.wide.median(),
        )
        for (library, band), rows in [
            *seen.groupby(["library", "band"]),
            *((("all", band), g) for band, g in seen.groupby("band")),
        ]
    ]
    return pd.DataFrame(rows, columns=["library", "band", "runs", "covered", "high_over_low"])


class Bought(NamedTuple):
    """Points known of a run, runs, and at their other sizes: median error, share inside, median of high / low."""

    points: int
    runs: int
    error: float
    covered: float
    wide: float


def bought(table: pd.DataFrame, known: Mapping[str, Any] | None = None) -> list[Bought]:
    """What none, one, two and three points of each run buy at its other sizes, each run the same."""
    known, result = known or calibrated(table), []
    long = [rows for _, rows in table.groupby("run") if rows.nbytes.nunique() > _POINTS]
    for count in range(_POINTS + 1):
        each = np.array(
            [_of_run(rows, known[prediction_interval.get_family(rows.kind.iloc[0])], count) for rows in long]
        )
        result.append(
            Bought(
                count, len(long), float(np.median(each[:, 0])), float(each[:, 1].mean()), float(np.median(each[:, 2]))
            )
        )
    return result


def _of_run(run_rows: pd.DataFrame, known: Mapping[str, Any], count: int) -> tuple[float, float, float]:
    """Median error, share inside and median width of a run with its smallest, largest and middle size known."""
    run_rows = run_rows.sort_values("nbytes")
    first = [0, len(run_rows) - 1, len(run_rows) // 2][:_POINTS]
    parts = [prediction_interval.Shares(*row) for row in run_rows[list(_COLUMNS)].to_numpy()]
    off = run_rows.off.to_numpy()
    points = [prediction_interval.Point(parts[i], off[i]) for i in first[:count]]
    widths, _ = prediction_interval.get_widths(run_rows.kind.iloc[0], run_rows.group.iloc[0], known)
    half, rows = prediction_interval.interpolate_quantile(known["quantiles"], prediction_interval.LEVEL), []
    for i in sorted(set(range(len(run_rows))) - set(first)):  # the same sizes, however many points are known
        shift, deviation = prediction_interval.compute_posterior(
            widths, known["rest"], parts[i], points, known["size_share"]
        )
        left = abs(off[i] - shift)
        rows.append((math.expm1(left), left <= half * deviation, math.exp(2 * half * deviation)))
    error, inside, wide = np.array(rows).T
    return float(np.median(error)), float(inside.mean()), float(np.median(wide))


def residuals(cases: str | Path, measured: str | Path, known: Sequence[Mapping[str, float]] | None = None) -> Left:
    """All runs predicted by fits that have not seen their systems; `known`: the factors of those fits from an earlier
    time, so that nothing is fitted for NCCL."""
    described, *_ = read_tables(cases, measured)
    nccl, blind, factors = crossval.left_out(cases, measured, known=known)
    mpi, over_mpi = crossval_mpi.left_out(cases, measured)
    return Left(rows_of([*blind, *over_mpi], described), factors, nccl, mpi)


class Left(NamedTuple):
    """Residuals, the factors of each fit, and the reports on NCCL and on MPI."""

    table: pd.DataFrame
    factors: list[dict[str, float]]
    nccl: Accuracy
    mpi: Accuracy


def remake(folder: str | Path) -> Left:
    """Fit ten times and keep what comes of it: minutes."""
    with TemporaryDirectory() as into:
        result = residuals(*join_tables(folder, into))
    rounded = [{name: round(value, 4) for name, value in each.items()} for each in result.factors]
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
        report.nccl.summarize_bands().to_string(),
        report.mpi.summarize_bands("mpi").to_string(),
        covered(report.table).to_string(),
        sep="\n\n",
    )
