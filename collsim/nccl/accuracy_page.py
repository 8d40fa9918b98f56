"""docs/accuracy.md, made from an Accuracy: the figures, the misses first, then every run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from .accuracy import BANDS, Accuracy, read_tables

_TEXT = """# How wrong are we?

*This page is generated: `python -m collsim.nccl.accuracy_page CASES.csv MEASURED.csv docs/accuracy.md`. Change the model, not the page.*

`collsim.nccl.predict` is held against {runs} published benchmark runs ({rows:,} rows): nccl-tests and rccl-tests, and OSU's
micro-benchmarks over MPI. Each machine is built from the words of a table (GPU, ranks, nodes, links inside and between nodes, GPUDirect,
pinned algorithm and protocol); the name of a run, its system and its source are never read. Times are compared, out of place.
Every figure weighs by run: the median over a run's rows, then over runs. *Within 1.25x* counts runs whose median ratio of predicted
to measured time is between 1/1.25 and 1.25; *rows* is the mean over runs of the share of their rows that is.

## NCCL and RCCL

{bands}

*NCCL's tuner* is the re-implementation of NCCL's own formulas ([tuner.py](../collsim/nccl/tuner.py)) on the same machines, for comparison.

{blind}
## MPI over OSU

The time model knows rounds and bytes, not the algorithm. Beside it stands the algorithm that Open MPI's published rules give
([openmpi.py](../collsim/nccl/openmpi.py)); Cray's MPICH has rules of its own.

{mpi}

## Effects

Pairs of runs on one system that differ in one thing. *Right sign*: both say faster, or both slower (measured differences under 5 % count
as right). *Off*: how far the predicted ratio of times is from the measured one, median over pairs.

{effects}

## The misses first

The runs that are farthest off, with what the table itself says about them where it says something.

{misses}

What is known about why:

- **Launch mode is not in the tables.** One process that drives eight GPUs needs 35 us and more for the smallest call, eight processes
  13 to 20 us, on the same hardware. The model takes a middle.
- **Broadcast and reduce** of small buffers overlap from call to call: some systems print 5 us over 32 nodes, others 22 us inside one.
- **Through host memory** the published rates differ by a factor of ten on the same PCIe generation (1.35 to 16 GB/s on PCIe 4): sockets,
  memory placement and virtual machines are not in the tables.
- **Clouds** with a disturbed or misconfigured network stay far above the prediction at all sizes below 1 GiB.
- **Middle sizes**: NCCL's versions choose LL, LL128 and Simple at different sizes; the model follows NCCL 2.30.
- **AMD** runs are predicted with NCCL's tables; RCCL has its own.
- Two kinds of network (EFA, TCPX/TCPXO) are known from two systems each, and B200 over Ethernet from one.
- **P2P off**: all nine pairs are one system; in six of them two GPUs were lent from another box over a PCIe fabric, which the model
  treats as another socket.

{failed}

## By kind of machine

{kinds}

## Every run

Ratio of predicted to measured time, median over the run's rows in the band.

{table}
"""

_BLIND = """### Left out

The same model when a tenth of the systems is left out, the constants are found again from the others, and the systems left out are
predicted (ten times, so that each is left out once); then the same by GPU and by source. Each fit starts from NCCL's own step latencies
and link speeds ([crossval.py](../collsim/nccl/crossval.py)). Not left out is the shape of the model: which terms it has, and the few
constants marked "read off" in [links.py](../collsim/nccl/links.py), were settled with all runs in view. Truly unseen runs may be worse
than these tables in that respect.

{tables}"""
#: What is left out, and how the page says it.
_LEFT_OUT = {"system": "systems", "gpu": "GPUs", "source": "sources"}


def page(result: Accuracy, described: pd.DataFrame, blind: Mapping[str, Accuracy] | None = None) -> str:
    """The page as Markdown. `blind` are the results of `crossval.cross_validate`, by column left out."""
    return _TEXT.format(
        runs=result.cases.case_id.nunique() + len(result.failed),
        rows=len(result.predictions),
        bands=_bands(result, "nccl"),
        blind=_blind(blind) if blind else "",
        mpi=_bands(result, "mpi", tuner=False),
        effects=_effects(result),
        misses=_misses(result, described),
        failed=_failed(result),
        kinds=_kinds(result),
        table=_every(result, described),
    )


def _table(head: list[str], rows: list[list[Any]]) -> str:
    body = ["| " + " | ".join(map(str, row)) + " |" for row in rows]
    return "\n".join(["| " + " | ".join(head) + " |", "|" + "---|" * len(head), *body])


def _bands(result: Accuracy, library: str, tuner: bool = True) -> str:
    rows = []
    for name, row in result.bands(library).iterrows():
        shares = [f"{row[k]:.0%}" for k in ("within_125", "within_16", "rows_125", "rows_16")]
        rows.append([name, f"{row.runs:.0f}", f"{row.error:.1%}", *shares, *([f"{row.tuner_error:.0%}"] if tuner else [])])
    head = ["size", "runs", "median error", "runs within 1.25x", "1.6x", "rows within 1.25x", "1.6x", *(["NCCL's tuner"] if tuner else [])]
    return _table(head, rows)


def _blind(results: Mapping[str, Accuracy]) -> str:
    tables = [f"Without their {_LEFT_OUT[by]}:\n\n{_bands(result, 'nccl', tuner=False)}\n" for by, result in results.items()]
    return _BLIND.format(tables="\n".join(tables))


def _effects(result: Accuracy) -> str:
    groups = [*result.effects.groupby("effect"), ("all", result.effects)] if len(result.effects) else []
    rows = [[name, len(pairs), f"{pairs.sign.mean():.0%}", f"{pairs.off.median():.1%}"] for name, pairs in groups]
    return _table(["effect", "pairs", "right sign", "off"], rows)


def _misses(result: Accuracy, described: pd.DataFrame) -> str:
    info = described.set_index("case_id")
    rows = []
    for row in result.cases.sort_values("error", ascending=False).head(25).itertuples():
        note = str(info.loc[str(row.case_id)].get("note", "")).replace("|", "/")[:160]
        rows.append([row.case_id, row.kind, row.band, f"{row.ratio:.2f}", note])
    return _table(["run", "machine", "size", "predicted / measured", "the table says"], rows)


def _failed(result: Accuracy) -> str:
    if not result.failed:
        return "Every run of the table could be predicted."
    return _table(["not predicted", "why"], [[case, why] for case, why in result.failed.items()])


def _kinds(result: Accuracy) -> str:
    rows = []
    for library in ("nccl", "mpi"):
        cases = result.cases[result.cases.library == library]
        for kind, group in sorted(cases.groupby("kind"), key=lambda item: str(item[0])):
            cells = [[g for b, g in group.groupby("band") if b == name] for name, *_ in BANDS]
            rows.append([kind, *(f"{c[0].error.median():.0%} ({len(c[0])})" if c else "" for c in cells)])
    return _table(["machine", *(f"{name}: error (runs)" for name, *_ in BANDS)], rows)


def _every(result: Accuracy, described: pd.DataFrame) -> str:
    info = described.set_index("case_id")
    rows = []
    for case_id, group in result.cases.groupby("case_id", sort=True):
        ratios = {row.band: f"{row.ratio:.2f}" for row in group.itertuples()}
        case: Any = info.loc[str(case_id)]
        said = f"{case.ranks}x {case.gpu}, {case.nodes} node" + ("s" if case.nodes != "1" else "")
        source = f"[source]({case['source']})" if str(case.get("source", "")).startswith("http") else ""
        rows.append([case_id, case.collective, said, group.algorithm.iloc[0], *(ratios.get(name, "") for name, *_ in BANDS), source])
    return _table(["run", "collective", "machine", "algorithm", *(name for name, *_ in BANDS), ""], rows)


def write_page(cases: str | Path, measured: str | Path, path: str | Path, blind: bool = True) -> Accuracy:
    """Make the page. `blind` also leaves systems out, which takes minutes."""
    from .accuracy import accuracy
    from .crossval import cross_validate

    result = accuracy(cases, measured)
    described, _ = read_tables(cases, measured)
    unseen = {by: cross_validate(cases, measured, by) for by in _LEFT_OUT if blind and by in described}
    Path(path).write_text(page(result, described, unseen))
    return result


if __name__ == "__main__":
    import sys

    write_page(sys.argv[1], sys.argv[2], sys.argv[3])
