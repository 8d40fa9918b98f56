"""The same for MPI over OSU: would its constants have been found without the runs that they are judged on?

The constants for GPU buffers of `collsim.nccl.libraries.mpi` start from round numbers (`PRIOR`) and are turned on the
runs that are left, each held lightly at its start, so that one of which no run is left stays there. Those for host
memory (`loggp`) are no fit: they come from tests between two ranks, so that leaving a system out changes nothing, but
for the few that are marked there as read off collectives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from collsim.errors import FormatError
from collsim.nccl.libraries.mpi import Constants, Rates, predict_mpi_parts, predict_mpi_time
from collsim.nccl.link_calibration import minimize_squares
from collsim.nccl.measured.prediction_accuracy import (
    BANDS,
    Accuracy,
    MpiPrediction,
    PredictedRow,
    predict_rows,
    read_tables,
    summarize_accuracy,
)

Floats = npt.NDArray[np.float64]
_SLOW = Rates(1e-5, 2e-6, 5e9, 5e9)
#: Round numbers for a GPU's buffers: a message between nodes takes 2 us (what vendors of RDMA networks say), one inside
#: half of that, a call 10 us more; cards carry their rate less headers. For host memory what is published of two ranks.
PRIOR = Constants(gpu=_SLOW, cray=_SLOW, inside=0.5, peer=5e-7, fill=1.0, fade=100.0, wire=0.95)
_PULL, _SCALE, _NUDGE = 0.4, 0.25, 1e-4  # pull and width as for a family of links in `crossval`


def cross_validate(cases: str | Path, measured: str | Path, by: str = "system", folds: int = 10) -> Accuracy:
    """Accuracy on OSU runs that the constants have not seen: `folds` times a share of the values of column `by` is left
    out.

    Raises FormatError where the table of cases has no such column.
    """
    return left_out(cases, measured, by, folds)[0]


def left_out(
    cases: str | Path, measured: str | Path, by: str = "system", folds: int = 10
) -> tuple[Accuracy, list[PredictedRow]]:
    """`cross_validate`, and the rows behind it."""
    described, rows, unread = read_tables(cases, measured)
    if by not in described:
        raise FormatError(f"{cases}: has no column {by!r} to leave out by")
    predicted, failed = predict_rows(described, rows)
    runs = [row for row in predicted if isinstance(row[1], MpiPrediction)]
    case_of = {str(case.case_id): case for case in described.itertuples()}
    names = np.array([str(getattr(case_of[case_id], by)) for case_id, *_ in runs])
    order = np.array(sorted(set(names)))
    np.random.default_rng(0).shuffle(order)
    blind: list[PredictedRow] = []
    for fold in range(min(folds, len(order))):
        out = np.isin(names, order[fold::folds])
        known = refit([run for run, hidden in zip(runs, out, strict=True) if not hidden], case_of)
        hidden = [run for run, left in zip(runs, out, strict=True) if left]
        for c, p, seconds in hidden:
            parts = predict_mpi_parts(case_of[c], p.nbytes, known)
            assert isinstance(p, MpiPrediction)
            blind.append((c, replace(p, time=parts.total, parts=parts), seconds))
    return summarize_accuracy(blind, described, rows, {**failed, **unread}), blind


def refit(runs: Sequence[tuple[str, Any, float]], case_of: dict[str, Any]) -> Constants:
    """The constants that runs give, by robust least squares on log ratios; every run counts the same in every band."""
    start = np.log(_values(PRIOR))
    timed = [(c, case_of[c], p.nbytes, s) for c, p, s in runs if s > 0 and p.nbytes > 0]  # a blank time is NaN
    usable = [run for run in timed if "none" not in run[1].gpu.lower()]
    want = np.log([s for *_, s in usable])
    weight = _weights([c for c, *_ in usable], [n for *_, n, _ in usable])

    def times(x: Floats) -> Floats:
        known = _constants(np.exp(start + x))
        return np.log([predict_mpi_time(case, n, known) for _, case, n, _ in usable])

    def residuals(x: Floats, seconds: Floats) -> Floats:
        far = ((seconds - want) / _SCALE) ** 2
        return np.concatenate([weight * np.sign(seconds - want) * np.sqrt(2 * (np.sqrt(1 + far) - 1)), _PULL * x])

    def slope(x: Floats, seconds: Floats) -> Floats:
        start = residuals(x, seconds)
        near = [x + _NUDGE * e for e in np.eye(len(x))]
        return np.stack([(residuals(y, times(y)) - start) / _NUDGE for y in near], axis=1)

    return _constants(np.exp(start + minimize_squares(times, residuals, slope, np.zeros(len(start)))))


def _weights(runs: list[str], sizes: list[int]) -> Floats:
    band = np.searchsorted([low for _, low, _ in reversed(BANDS)][1:], sizes, side="right")
    table = pd.DataFrame({"run": runs, "band": band})
    weight: Floats = 1 / np.sqrt(table.groupby(["run", "band"])["band"].transform("size").to_numpy(float))
    return weight


_SINGLE = ("inside", "peer", "fill", "fade", "wire")


def _values(known: Constants) -> list[float]:
    """All constants that a fit turns as one list."""
    rates = [x for each in (known.gpu, known.cray) for x in asdict(each).values()]
    return [*rates, *(getattr(known, name) for name in _SINGLE)]


def _constants(values: Sequence[float] | Floats) -> Constants:
    numbers = list(map(float, values))
    single = dict(zip(_SINGLE, numbers[8:], strict=True))
    return Constants(Rates(*numbers[:4]), Rates(*numbers[4:8]), **single)  # type: ignore[arg-type]
