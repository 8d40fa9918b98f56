"""Where the constants of `links` come from, and would they have been found without the runs that they are judged on?

`refit` starts from what is published about links (`PRIOR`: NCCL's own step latencies and link speeds, or a round
number) and turns few knobs on the runs of a table. Knobs are nested: one for a family (all fabrics, all networks), and
one per kind inside it, which is held back more strongly: a kind with thin data stays near its family, and one without
any gets the family's. `cross_validate` does it again and again with a share of the systems (or GPUs, or sources) left
out, and predicts those.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from collsim.errors import FormatError
from collsim.nccl.link_calibration import Sample, fit_factors
from collsim.nccl.machine.machine_facts import NVLINK_GBPS, PCIE_GBPS, XGMI_GBPS
from collsim.nccl.measured.prediction_accuracy import (
    BANDS,
    Accuracy,
    PredictedRow,
    predict_rows,
    read_tables,
    summarize_accuracy,
)
from collsim.nccl.model.algorithm_time import Call, compute_time
from collsim.nccl.model.calibration_knobs import Knobs, apply_knobs
from collsim.nccl.model.links import FABRICS, MEASURED, LinkParameters
from collsim.nccl.nccl_prediction import Prediction
from collsim.nccl.search import constants as c
from collsim.nccl.tuner_graphs import XGMI_PER_LINK, build_communicator

_NVLINK = ("nvlink-70", "nvlink-80", "nvlink-90", "nvlink-100")
_RDMA, _SOFTWARE = ("ib", "roce"), ("efa", "tcp", "tcpx", "tcpxo")
_NETWORKS = (*_RDMA, "slingshot", *_SOFTWARE)
_NEAR = (*FABRICS, "pcie", "host")
#: Constants of what a launch costs.
_LAUNCH = ("launch", "launch_p2p", "launch_per_gpu", "launch_each", "kernel", "kernel_p2p", "blocks", "peer")

#: What is known without any run: NCCL's link speeds over nominal ones (src/graph/topo.h), between two AMD sockets 16
#: GB/s where a slot has 24, its step latencies as they are, what a channel moves (tuning.cc), a NIC that carries its
#: rate less headers, AWS's own latency of EFA (see `LinkParameters.software`), and round numbers for the rest.
PRIOR = LinkParameters(
    carries={
        **{f"nvlink-{cc}": c.NVLINK[cc] / NVLINK_GBPS[g] for cc, g in ((70, 2), (80, 3), (90, 4), (100, 5))},
        "bridge": c.NVLINK[80] / NVLINK_GBPS[3],
        "xgmi": XGMI_PER_LINK / XGMI_GBPS,
        **{f"pcie{g}": c.PCIE_X16[g] / PCIE_GBPS[g] for g in (1, 2, 3, 4, 5, 6)},
        **dict.fromkeys(_NETWORKS, 0.95),
        "efa": MEASURED.carries["efa"],
    },
    nvls_carries=dict.fromkeys(MEASURED.nvls_carries, 0.65),
    host_one_way=0.5,
    crossing=c.SOCKET["rome"] / c.PCIE_X16[4],
    without_gdr=0.4,
    host_bridge=0.5,
    net_p2p=dict.fromkeys(MEASURED.net_p2p, 0.85),
    channel={"LL": 1e10, "LL128": 2e10, "Simple": 2e10},
    launch=3e-6,
    launch_p2p=6e-6,
    launch_per_gpu=2e-6,
    launch_each=3.5e-6,
    kernel=5e-6,
    kernel_p2p=6e-6,
    blocks=1.0,
    peer=2e-6,
    step=dict.fromkeys(MEASURED.step, 1.0),
    step_bulk=dict.fromkeys(MEASURED.step_bulk, 1.0),
    software={"efa": 2e-5, **dict.fromkeys(("tcp", "tcpx", "tcpxo"), 3e-5)},
    step_without_gdr=1.0,
    rendezvous=1e-5,
    fill=dict.fromkeys(MEASURED.fill, 2.0),
    fill_pcie=1.0,
    fade=dict.fromkeys(MEASURED.fade, 20.0),
    wait=dict.fromkeys(MEASURED.wait, 5e-6),
    chain=0.5,
)


#: Turned for all at once ...
_SINGLE: Knobs = {
    **{name: ((name, ()),) for name in (*_LAUNCH, "step_without_gdr", "rendezvous", "chain", "fill_pcie")},
    **{f"{name} {p}": ((name, (p,)),) for name in ("fill", "fade", "channel") for p in c.PROTOCOLS},
    "wait LL": (("wait", ("LL", "LL128")),),
    "wait Simple": (("wait", ("Simple",)),),
    **{f"nvls {cc}": (("nvls_carries", (cc,)),) for cc in MEASURED.nvls_carries},
    "steps of NVLS": (("step_bulk", ("nvls",)),),
    **{name: ((name, ()),) for name in ("host_one_way", "crossing", "without_gdr", "host_bridge")},
    "sends between": (("net_p2p", ()),),
}
#: ... for a family ...
_FAMILY: Knobs = {
    "steps inside": (("step", _NEAR),),
    "bulk steps inside": (("step_bulk", _NEAR),),
    "steps between": (("step", _NETWORKS),),
    "bulk steps between": (("step_bulk", _NETWORKS),),
    "software between": (("software", _SOFTWARE),),
    "NVLink and xGMI carry": (("carries", (*_NVLINK, "bridge", "xgmi")),),
    "PCIe carries": (("carries", ("pcie3", "pcie4", "pcie5", "pcie6")),),
    "networks carry": (("carries", (*_RDMA, "slingshot", "tcp", "tcpx", "tcpxo")),),
}
#: ... and for a kind inside it.
_KIND: Knobs = {
    "steps over PCIe": (("step", ("pcie", "host")),),
    "bulk steps over PCIe": (("step_bulk", ("pcie", "host")),),
    "steps of slingshot": (("step", ("slingshot",)), ("step_bulk", ("slingshot",))),
    "bulk steps of slingshot": (("step_bulk", ("slingshot",)),),
    **{f"software of {kinds[0]}": (("software", kinds),) for kinds in (("efa",), ("tcp",), ("tcpx", "tcpxo"))},
    "sends to one peer": (("net_p2p", ("sendrecv",)),),
    **{
        f"{kinds[0]} carries": (("carries", kinds),)
        for kinds in (*((k,) for k in MEASURED.carries if k not in (*_RDMA, "efa", "pcie1", "pcie2", "pcie6")), _RDMA)
    },
}
KNOBS: Knobs = {**_SINGLE, **_FAMILY, **_KIND}
#: What a launch costs, what a link carries, and the pipeline: few systems say the first (who launches is mostly not in
#: the tables), what is published of the second is better than a handful of runs, and of the third nothing is published.
_RATES = ("carries", "nvls_carries", "host_one_way", "crossing", "without_gdr", "host_bridge")
_PIPELINE = ("fill", "fade", "wait")


def _pull(name: str) -> float:
    """How strongly a knob is held at 1: families lightly, kinds inside them more than twice as strongly as what stands
    alone; launches three times, rates eight times, the pipeline half as strongly. Chosen among some twenty by systems
    left out."""
    fields = {field for field, _ in KNOBS[name]}
    usual = 0.4 if name in _FAMILY else 1.2 if name in _SINGLE else 2.5
    return usual * (
        3.0 if fields & {*_LAUNCH} else 8.0 if fields & {*_RATES} else 0.5 if fields & {*_PIPELINE} else 1.0
    )


PULL = {name: _pull(name) for name in KNOBS}
_ROWS = 5  # of a run and band that a fit looks at


def refit(cases: str | Path, measured: str | Path) -> LinkParameters:
    """The constants that the runs of a table give: those in `links` are these, rounded."""
    described, rows, _ = read_tables(cases, measured)
    _, samples, weights = _samples(predict_rows(described, rows)[0])
    return _links([replace(s, weight=w) for s, w in zip(samples, weights, strict=True) if w > 0])


def cross_validate(
    cases: str | Path,
    measured: str | Path,
    by: str = "system",
    folds: int = 10,
    report_progress: Callable[[str], None] | None = None,
) -> Accuracy:
    """Accuracy on runs that the constants have not seen: `folds` times a share of the values of column `by` is left
    out.

    Raises FormatError where the table of cases has no such column.
    """
    return left_out(cases, measured, by, folds, report_progress)[0]


def left_out(
    cases: str | Path,
    measured: str | Path,
    by: str = "system",
    folds: int = 10,
    report_progress: Callable[[str], None] | None = None,
    known: Sequence[Mapping[str, float]] | None = None,
) -> tuple[Accuracy, list[PredictedRow], list[dict[str, float]]]:
    """`cross_validate`, the rows behind it, and the factors of each fit. `known`: those factors from an earlier time,
    so that nothing is fitted."""
    described, rows, unread = read_tables(cases, measured)
    if by not in described:
        raise FormatError(f"{cases}: has no column {by!r} to leave out by")
    predicted, failed = predict_rows(described, rows)
    runs, samples, weights = _samples(predicted)
    group = described.set_index("case_id")[by]
    names = np.array([str(group[case_id]) for case_id, *_ in runs])
    order = np.array(sorted(set(names)))
    np.random.default_rng(0).shuffle(order)
    blind: list[PredictedRow] = []
    factors: list[dict[str, float]] = []
    for fold in range(min(folds, len(order))):
        out = np.isin(names, order[fold::folds])
        seen = [
            replace(s, weight=w) for s, w, hidden in zip(samples, weights, out, strict=True) if w > 0 and not hidden
        ]
        factors.append(_factors(seen) if known is None else dict(known[fold]))
        links = apply_knobs(PRIOR, KNOBS, factors[-1])
        for i in np.flatnonzero(out):
            case_id, p, seconds = runs[i]
            parts = compute_time(replace(samples[i].call, links=links))
            blind.append((case_id, replace(p, time=parts.total, parts=parts), seconds))
        if report_progress:
            report_progress(
                f"fold {fold + 1}: {out.sum()} rows of {len(order[fold::folds])} out of {len(order)} by {by}"
            )
    return summarize_accuracy(blind, described, rows, {**failed, **unread}), blind, factors


def _factors(samples: Sequence[Sample]) -> dict[str, float]:
    return fit_factors(samples, PRIOR, KNOBS, PULL, loss="cauchy")


def _links(samples: Sequence[Sample]) -> LinkParameters:
    return apply_knobs(PRIOR, KNOBS, _factors(samples))


def _samples(
    predicted: Sequence[PredictedRow],
) -> tuple[list[tuple[str, Prediction, float]], list[Sample], npt.NDArray[np.float64]]:
    """Rows of NCCL and RCCL, the same as samples, and what each weighs."""
    runs = [(case_id, p, seconds) for case_id, p, seconds in predicted if isinstance(p, Prediction)]
    samples = [sample(p, seconds) for _, p, seconds in runs]
    return runs, samples, _weights([case_id for case_id, *_ in runs], [p.nbytes for _, p, _ in runs])


def sample(prediction: Prediction, seconds: float) -> Sample:
    """A predicted call beside what was measured, for a fit."""
    p = prediction
    algorithm = "Ring" if p.algorithm == "P2P" else p.algorithm
    return Sample(Call(p.collective, algorithm, p.protocol, p.nbytes, p.facts, build_communicator(p.facts)), seconds)


def _weights(runs: list[str], sizes: list[int]) -> npt.NDArray[np.float64]:
    """Every run counts the same in every band, and only some of its rows are looked at."""
    table = pd.DataFrame(
        {"run": runs, "band": np.searchsorted([low for _, low, _ in reversed(BANDS)][1:], sizes, side="right")}
    )
    grouped = table.groupby(["run", "band"])
    position, count = grouped.cumcount(), grouped["run"].transform("size")
    keep = (count <= _ROWS) | ((position * _ROWS // count) != ((position - 1) * _ROWS // count))
    retained = table.assign(keep=keep).groupby(["run", "band"])["keep"].transform("sum")
    return np.where(keep, 1 / np.sqrt(retained), 0.0)
