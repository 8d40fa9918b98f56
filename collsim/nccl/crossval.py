"""Would the constants have been found without the runs that they are judged on? Leave whole systems out, fit the rest, predict them.

Starts from NCCL's own step latencies and round numbers, so that a kind of link seen only in the systems left out is predicted with
those. Takes some minutes on the published table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from ..errors import FormatError
from .accuracy import BANDS, Accuracy, accuracy_of, bands_of, read_tables
from .fit import PUBLISHED, Knobs, Sample, solve, turned
from .graphs import communicator
from .links import MEASURED, Parameters
from .predict import Prediction
from .timing import Call, time_of

#: Where a fit starts that must not know the answer: NCCL's own latencies, 80 % of every nominal rate, round numbers.
NEUTRAL = Parameters(
    carries=dict.fromkeys(MEASURED.carries, 0.8),
    nvls_carries=dict.fromkeys(MEASURED.nvls_carries, 0.65),
    host_one_way=0.5,
    host_both_ways=0.25,
    without_gdr=0.6,
    host_bridge=0.7,
    tcp_per_nic=4e9,
    launch=5e-6,
    launch_p2p=8e-6,
    launch_per_gpu=2e-6,
    peer=2e-6,
    step=dict.fromkeys(MEASURED.step, 1.0),
    step_bulk=dict.fromkeys(MEASURED.step_bulk, 1.0),
    step_without_gdr=1.0,
    rendezvous=1e-5,
    fill=dict.fromkeys(MEASURED.fill, 2.0),
    fade=dict.fromkeys(MEASURED.fade, 20.0),
    wait=dict.fromkeys(MEASURED.wait, 5e-6),
    chain=0.5,
)

#: All that is fitted there: the latencies of `fit.PUBLISHED` and every rate.
EVERYTHING: Knobs = {
    **PUBLISHED,
    **{f"carries {kind}": (("carries", (kind,)),) for kind in MEASURED.carries},
    "nvls": (("nvls_carries", ()),),
    **{name: ((name, ()),) for name in ("host_one_way", "host_both_ways", "without_gdr", "host_bridge", "tcp_per_nic", "crossing")},
}
_ROWS = 5  # of a run and band that a fit looks at


def cross_validate(
    cases: str | Path, measured: str | Path, by: str = "system", folds: int = 10, said: Callable[[str], None] | None = None
) -> Accuracy:
    """Accuracy on systems that the constants have not seen: `folds` times a share of the values of column `by` is left out.

    Raises FormatError where the table of cases has no such column.
    """
    described, rows = read_tables(cases, measured)
    if by not in described:
        raise FormatError(f"{cases}: has no column {by!r} to leave out by")
    found, failed = accuracy_of(described, rows)
    runs = [(case_id, p, seconds) for case_id, p, seconds in found if isinstance(p, Prediction)]
    group = described.set_index("case_id")[by]
    names = np.array([str(group[case_id]) for case_id, *_ in runs])
    samples = [_sample(p, seconds) for _, p, seconds in runs]
    weights = _weights([case_id for case_id, *_ in runs], [p.nbytes for _, p, _ in runs])
    order = np.array(sorted(set(names)))
    np.random.default_rng(0).shuffle(order)
    times = np.zeros(len(runs))
    for fold in range(folds):
        out = np.isin(names, order[fold::folds])
        known = [replace(s, weight=w) for s, w, hidden in zip(samples, weights, out, strict=True) if w > 0 and not hidden]
        links = turned(NEUTRAL, EVERYTHING, solve(known, NEUTRAL, EVERYTHING, pull=0.3))
        times[out] = [time_of(replace(s.call, links=links)).total for s, hidden in zip(samples, out, strict=True) if hidden]
        if said:
            said(f"fold {fold + 1} of {folds}: {out.sum()} rows of {len(order[fold::folds])} systems")
    blind = [(case_id, replace(p, time=t), seconds) for (case_id, p, seconds), t in zip(runs, times, strict=True)]
    return bands_of(blind, described, rows, failed)


def _sample(prediction: Prediction, seconds: float) -> Sample:
    p = prediction
    algorithm = "Ring" if p.algorithm == "P2P" else p.algorithm
    return Sample(Call(p.collective, algorithm, p.protocol, p.nbytes, p.facts, communicator(p.facts)), seconds)


def _weights(runs: list[str], sizes: list[int]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Every run counts the same in every band, and only some of its rows are looked at."""
    table = pd.DataFrame({"run": runs, "band": np.searchsorted([low for _, low, _ in reversed(BANDS)][1:], sizes, side="right")})
    grouped = table.groupby(["run", "band"])
    at, count = grouped.cumcount(), grouped["run"].transform("size")
    keep = (count <= _ROWS) | ((at * _ROWS // count) != ((at - 1) * _ROWS // count))
    kept = table.assign(keep=keep).groupby(["run", "band"])["keep"].transform("sum")
    return np.where(keep, 1 / np.sqrt(kept), 0.0)
