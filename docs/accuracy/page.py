"""docs/accuracy.md, made from an Accuracy: the figures, the misses first, then every run."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from accuracy import crossval, crossval_mpi, origins, spreads
from accuracy.tables import joined

from collsim.nccl.measured.accuracy import BANDS, Accuracy, Row, accuracy_of, bands_of, read_tables
from collsim.nccl.predict import Prediction

#: A run's name, what is predicted for one of its calls, and the seconds it took.
Call = tuple[str, Prediction, float]
#: Sizes whose time is that of a call, not of its bytes.
_SMALL = BANDS[-2][1]

_TEXT = """# How wrong are we?

*This page is generated: `make docs`, where the measurements are. Change the model, not the page.*

`collsim.nccl.predict` is held against {runs} published benchmark runs ({rows:,} rows): nccl-tests and rccl-tests, and
micro-benchmarks of MPI (OSU's and PICO's). Each machine is built from the words of a table (GPU, ranks, nodes, links
inside and between nodes, GPUDirect, pinned algorithm and protocol, who launches, library and year); the name of a run,
its system and its source are never read.
Times are compared, out of place. The error of a row is max(predicted / measured, measured / predicted) - 1: half the
time and twice the time are both 100 % off, ten times too fast and ten times too slow both 900 %. Every figure weighs
by run: the median over a run's rows, then over runs. *Within 1.25x* counts runs whose median ratio of predicted to
measured time is between 1/1.25 and 1.25; *rows* is the mean over runs of the share of their rows that is.

## NCCL and RCCL

{bands}

*NCCL's tuner* is the re-implementation of NCCL's own formulas ([tuner.py](../collsim/nccl/model/tuner.py)) on the
same machines, for comparison.

{blind}
{intervals}
## MPI

Buffers in host memory: the rounds of the algorithm that the library would run by its published rules
([openmpi.py](../collsim/nccl/libraries/openmpi.py), of the release or year that the table says;
[mpich.py](../collsim/nccl/libraries/mpich.py)), counted ([rounds.py](../collsim/nccl/libraries/rounds.py)), at LogGP's
cost of a message on that network ([loggp.py](../collsim/nccl/libraries/loggp.py)). Buffers on GPUs: rounds and bytes
whatever the algorithm ([mpi.py](../collsim/nccl/libraries/mpi.py)).

{mpi}

{mpi_blind}
## What words cannot tell apart

Pairs of runs from different systems whose words give the same machine (`Facts`; the name of the GPU aside),
collective, algorithm and protocol. *Apart*: how far the times of one are from those of the other, median over the
sizes that both have, then over pairs. Whoever knows the words alone says one number for both, and is off by half of
that at best.

{apart}

The pairs are few. A wider look, over machines whose words differ: the smallest allreduce on one node of eight
NVSwitch GPUs took {floors} of this table, not in the order of their generations (launch mode and host, see below).

## Effects

Pairs of runs on one system that differ in one thing. *Right sign*: both say faster, or both slower (measured
differences under 5 % count as right). *Off*: how far the predicted ratio of times is from the measured one, as an
error above, median over pairs.

{effects}

## The misses first

The runs that are farthest off, with what the table itself says about them where it says something.

{misses}

What is known about why:

- **Launch mode** (a call is launched while the one before still runs, so that the longer of the two decides) is said
  in the second collection only, of few machines. One process that drives eight GPUs needs 30
  to 42 us for the smallest call, eight processes 13 us, a captured graph 6 us. Where nobody says, the model takes a
  middle, which is part of what keeps the share of small sizes within 1.6x below 80 % for machines left out.
- **MPI on full nodes of clouds** (56 and 96 ranks a node): one network of 200 Gbit/s InfiniBand needs 10 ms for 4 bytes
  on 12,288 ranks, where counted rounds take 34 us; containers and oversubscribed cores are not in the tables. The
  interval of that class is a factor of 28 to 51 in the median, by size, which says that little is known: its seven
  systems lean on MPI's others as on four more (`spreads._pooled`), as one of them alone would set it.
- **The same InfiniBand, another day**: jobs of 128 to 256 nodes take 3 to 4 us a round, one of 512 nodes 1.4 us. The
  model takes a middle.
- **Broadcast and reduce** of small buffers overlap from call to call: some systems print 5 us over 32 nodes, others
  22 us inside one.
- **Through host memory** the published rates differ by a factor of twelve on the same PCIe generation (1.35 to 16 GB/s
  on PCIe 4): sockets, memory placement and virtual machines are not in the tables.
- **Clouds** with a disturbed or misconfigured network stay far above the prediction at all sizes below 1 GiB.
- **Middle sizes**: NCCL's versions choose LL, LL128 and Simple at different sizes; the model follows the version that
  the table says, else NCCL 2.30. Two A100 of one system take twice as long as is said from 64 KiB to 1 MiB, eight of
  the same as long as is said: with LL every further channel takes 1.2 us there, whatever the number of GPUs, on V100
  and A100 of two more systems about as much, on Hopper next to nothing; nothing published explains it.
- **AMD**: MI300 and MI350 and their kin have RCCL's own tables ([rccl.py](../collsim/nccl/model/rccl.py)), whose step
  latencies are scaled as NCCL's are; MI250 and cards without xGMI are told NCCL's. On MI300X RCCL hands what it can to
  MSCCL where every rank is a process of its own (ROCm's RCCL usage tips), and those schedules are not modelled:
  middle sizes are predicted 1.2 to 1.7 times too slow.
- EFA is known from three systems, TCPX/TCPXO from two, and B200 over Ethernet from two. On 32 EFA cards of 100 Gbit/s
  large allreduces of 2 to 32 nodes are predicted within 10 %, allgather up to 1.1 times too slow, alltoall 0.8 to 1.2;
  four older cards of 100 Gbit/s take twice as long as is said. AWS's tuner plugin chooses what NCCL would not, and
  that is not modelled; nor is what a card of one generation takes less than its forerunner's.
- **TCPX** gets half of its cards' rate on the one system that published it, and nothing here explains that: its rate is
  read off, and the interval is wide.
- **Alltoall over Slingshot** on 8 nodes takes twice as long as predicted, and below 4 KiB (450 us, then 130 us) four
  times: no published rule of its provider explains the step.
- **Rings and NVLSTree over 32 nodes of B200**: the ring was 8 % faster on the one system that published both, and is
  predicted 3 % slower; both are predicted too fast there, and nothing says what held them back. It is the one pair but
  for nodes whose sign is wrong.
- **A card of 25 Gbit/s in a virtual machine**, GPUDirect off, carries half of its rate both ways, which its slot would
  not hold back: neither its MTU nor its virtual function is in the table.
- **GPUs of no table** (RTX 4070 Ti SUPER, Radeon AI PRO R9700, Strix Halo) are predicted from their slot alone, and the
  network card of an APU from the four lanes that its boards leave for it.
- **P2P off**: all nine pairs are one system; in six of them two GPUs were lent from another box over a PCIe fabric,
  which the model treats as another socket.

{failed}

## Tried in vain

Terms with a reason that made systems left out no better, and are not in the model:

- Launching and the kernel before it overlapped altogether (the longer one alone): better at 16 MiB and more, worse at
  middle and small sizes than the soft maximum that is there.
- Runs over several nodes taken as launched by a process per GPU where nobody says: worse at small sizes.
- Broadcast and reduce without the latency of their hops, as calls follow one another without waiting: better at small
  sizes in one division of the systems, worse at middle sizes in both.
- The date of a run for NCCL's version where nobody says it: 0.1 to 0.7 points of the median error, with release dates
  that were not checked.
- Systems counted the same in the fit, whatever their number of runs: worse at small sizes.
- An eighth of the hop latency of broadcast and reduce with LL, as a channel has eight slots and the root may be that
  many calls ahead: nothing at small sizes, a run less at middle ones.
- Pipelines held more or less strongly near round numbers, another width of the loss: one band gains what another loses.

## Constants

Every constant that a prediction is made of. *NCCL's own*: from its source. *Vendor*: a data sheet or a standard.
*Fitted*: by `crossval.refit`, starting from the value given; behind it stand the runs and systems whose times it
moves. *Read off*: from the few runs named, outside the fit ([origins.py](accuracy/origins.py)). Seconds, bytes, B/s;
fractions of nominal rates; factors.

{constants}

## By kind of machine

{kinds}

## Every run

Ratio of predicted to measured time, median over the run's rows in the band.

{table}
"""

_BLIND = """### Left out

The same model when a tenth of the systems is left out, the constants are found again from the others, and the systems
left out are predicted (ten times, so that each is left out once); `make accuracy-all` makes the fits anew and
adds the same by GPU and by source, which takes long. Each fit starts
from NCCL's own step latencies and link speeds ([crossval.py](accuracy/crossval.py)). Not left out is the shape of the
model: which terms it has, and the few constants marked "read off" below, were settled with all runs in view; so were
the loss of the fit, how strongly it is held near what is published, and its last terms (`blocks`, `software`,
`channel`, `fill_pcie`, `overlap`), chosen among some fifty candidates by these very tables. Truly unseen runs may be
worse than these tables in that respect. Another division into tenths of systems and of GPUs moved the median errors by
up to 5 points and the shares by up to 10.

{tables}"""
_MPI_BLIND = """### MPI left out

The same for MPI ({systems} systems, {gpus} kinds of buffer, {sources} files of results;
[crossval_mpi.py](accuracy/crossval_mpi.py)). Constants for GPU buffers are found again from round numbers without the
systems that are predicted. Those for host memory are no fit: latency and rates are published tests between two ranks,
so that nothing changes where a system is left out, but for the few that `loggp.py` marks as read off collectives
(latency and rate of Slingshot, latency of TCP in clouds, what a rank moves of InfiniBand, memory and caches of a node,
copies before a reduce-scatter), which were read with all runs in view.

{tables}"""
#: What is left out, and how the page says it.
_LEFT_OUT = {"system": "systems", "gpu": "GPUs", "source": "sources"}


def page(
    result: Accuracy,
    found: Sequence[Row],
    described: pd.DataFrame,
    blind: Mapping[str, Accuracy] | None = None,
    mpi_blind: Mapping[str, Accuracy] | None = None,
) -> str:
    """The page as Markdown. `found` are the rows behind `result`, `blind` and `mpi_blind` the results of
    `crossval.cross_validate` and `crossval_mpi.cross_validate` by column left out."""
    calls = [(case_id, p, seconds) for case_id, p, seconds in found if isinstance(p, Prediction)]
    return _TEXT.format(
        runs=len(described),
        rows=len(result.predictions),
        bands=_bands(result, "nccl"),
        blind=_BLIND.format(tables=_blind(blind, "nccl")) if blind else "",
        intervals=_intervals() if blind else "",
        mpi_blind=_mpi_blind(mpi_blind, result, described) if mpi_blind else "",
        mpi=_bands(result, "mpi", tuner=False),
        apart=_apart(calls, described),
        floors=_floors(calls),
        constants=_constants(calls, described),
        effects=_effects(result),
        misses=_misses(result, described),
        failed=_failed(result),
        kinds=_kinds(result),
        table=_every(result, described),
    )


_INTERVALS = """### Intervals

Every prediction has a low and a high, between which four in five measurements lie (`Prediction.interval(level)` for
any other share). They are read from the residuals of systems left out, by class of machine and collective
([spreads.py](accuracy/spreads.py), [spread.py](../collsim/nccl/model/spread.py)), and checked here with the class
widths found again without a tenth of the systems at a time: *covered* is the share of measurements inside,
*high / low* the median of how wide.

{table}

One or two measurements of one's own (`predict(..., measured={{"8B": "13us"}})`, the Measured page) move launch,
pipeline and rate by Bayesian linear regression and narrow the interval. Runs of the tables, each predicted at its
other sizes from none, its smallest, its largest too, and its middle size too, with widths that have seen all systems:

{worth}
"""


def _intervals() -> str:
    """How many measurements lie inside, and what one's own buy; nothing where no residuals are kept."""
    if not spreads.TABLE.exists():
        return ""
    table = pd.read_csv(spreads.TABLE)
    names = {"nccl": "NCCL and RCCL", "mpi": "MPI", "mpi full": "MPI, full nodes", "all": "all"}
    rows = [
        [names[r.library], BANDS[r.band][0], r.runs, f"{r.covered:.0%}", f"{r.high_over_low:.2f}"]
        for r in spreads.covered(table).itertuples()
    ]
    bought = [[r.points, r.runs, f"{r.error:.1%}", f"{r.covered:.0%}", f"{r.wide:.2f}"] for r in spreads.bought(table)]
    return _INTERVALS.format(
        table=_table(["library", "size", "runs", "covered", "high / low"], rows),
        worth=_table(["points", "runs", "median error", "covered", "high / low"], bought),
    )


def _table(head: list[str], rows: list[list[Any]]) -> str:
    body = ["| " + " | ".join(map(str, row)) + " |" for row in rows]
    return "\n".join(["| " + " | ".join(head) + " |", "|" + "---|" * len(head), *body])


def _bands(result: Accuracy, library: str, tuner: bool = True) -> str:
    rows = []
    for name, row in result.bands(library).iterrows():
        shares = [f"{row[k]:.0%}" for k in ("within_125", "within_16", "rows_125", "rows_16")]
        rows.append(
            [name, f"{row.runs:.0f}", f"{row.error:.1%}", *shares, *([f"{row.tuner_error:.0%}"] if tuner else [])]
        )
    head = [
        "size",
        "runs",
        "median error",
        "runs within 1.25x",
        "1.6x",
        "rows within 1.25x",
        "1.6x",
        *(["NCCL's tuner"] if tuner else []),
    ]
    return _table(head, rows)


def _blind(results: Mapping[str, Accuracy], library: str) -> str:
    names = {**_LEFT_OUT, **({"gpu": "kinds of buffer"} if library == "mpi" else {})}
    return "\n".join(
        f"Without their {names[by]}:\n\n{_bands(result, library, tuner=False)}\n" for by, result in results.items()
    )


def _mpi_blind(results: Mapping[str, Accuracy], result: Accuracy, described: pd.DataFrame) -> str:
    ours = described[described.case_id.isin(result.cases[result.cases.library == "mpi"].case_id)]
    counts = {f"{by}s": ours[by].nunique() for by in ("system", "gpu", "source")}
    return _MPI_BLIND.format(tables=_blind(results, "mpi"), **counts)


def apart(calls: Sequence[Call], described: pd.DataFrame) -> pd.DataFrame:
    """Pairs of runs of different systems that words do not tell apart: first, second, band, and the log of the ratio of
    their times."""
    info = described.set_index("case_id")
    runs: dict[str, dict[int, float]] = {}
    alike: dict[Hashable, list[str]] = {}
    for case_id, p, seconds in calls:
        if case_id not in runs:
            case: Any = info.loc[case_id]
            alike.setdefault((replace(p.facts, gpu=""), p.collective, case.algo, case.proto), []).append(case_id)
        runs.setdefault(case_id, {})[p.nbytes] = seconds
    rows = []
    for a, b in (
        pair for names in alike.values() for pair in combinations(names, 2) if len(set(info.system[list(pair)])) == 2
    ):
        sizes, others = sorted(runs[a]), sorted(runs[b])
        times = np.interp(np.log(sizes), np.log(others), np.log([runs[b][n] for n in others]))
        off = {n: t - np.log(runs[a][n]) for n, t in zip(sizes, times, strict=True) if others[0] <= n <= others[-1]}
        for name, low, high in BANDS:
            if shared := [ratio for n, ratio in off.items() if low <= n < high]:
                rows.append((a, b, name, float(np.median(shared))))
    return pd.DataFrame(rows, columns=["first", "second", "band", "log_ratio"])


def _apart(calls: Sequence[Call], described: pd.DataFrame) -> str:
    if "system" not in described:
        return ""
    rows = []
    for name, pairs in apart(calls, described).groupby("band", sort=False):
        off = float(pairs.log_ratio.abs().median())
        rows.append(
            [
                name,
                len(pairs),
                f"{np.expm1(off):.0%}",
                f"{np.expm1(off / 2):.0%}",
                f"{np.expm1(pairs.log_ratio.abs().max()):.0%}",
            ]
        )
    return _table(["size", "pairs", "apart", "off at best", "farthest pair"], rows)


def _floors(calls: Sequence[Call]) -> str:
    """The smallest allreduce of eight GPUs on one NVSwitch, from run to run."""
    least: dict[str, float] = {}
    for case_id, p, seconds in calls:
        if (
            p.collective == "allreduce"
            and p.facts.nvswitch
            and (p.facts.ranks, p.facts.nodes) == (8, 1)
            and p.nbytes < _SMALL
        ):
            least[case_id] = min(seconds, least.get(case_id, seconds))
    if not least:
        return "as long as nobody measured in any run"
    return f"{min(least.values()) * 1e6:.0f} to {max(least.values()) * 1e6:.0f} us in {len(least)} runs"


def _constants(calls: Sequence[Call], described: pd.DataFrame) -> str:
    system = described.set_index("case_id").system if "system" in described else None
    runs = [(case_id, "" if system is None else str(system[case_id])) for case_id, *_ in calls]
    rows = []
    for known in origins.table([crossval.sample(p, seconds) for _, p, seconds in calls], runs):
        behind = (
            ""
            if known.runs is None
            else f"runs: {known.runs}, systems: {known.systems}"
            if known.runs
            else "none: its family's"
        )
        rows.append([f"`{known.name}`", known.value, known.kind, known.source, behind])
    return _table(["constant", "value", "kind", "source or start of the fit", "behind it"], rows)


def _effects(result: Accuracy) -> str:
    rows = [[r.effect, r.pairs, f"{r.sign:.0%}", f"{r.off:.1%}"] for r in result.signs().itertuples()]
    return _table(["effect", "pairs", "right sign", "off"], rows)


def _misses(result: Accuracy, described: pd.DataFrame) -> str:
    info = described.set_index("case_id")
    rows = []
    for row in result.farthest().head(25).itertuples():
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
        rows.append(
            [
                case_id,
                case.collective,
                said,
                group.algorithm.iloc[0],
                *(ratios.get(name, "") for name, *_ in BANDS),
                source,
            ]
        )
    return _table(["run", "collective", "machine", "algorithm", *(name for name, *_ in BANDS), ""], rows)


def write_page(folder: str | Path, path: str | Path, every: bool = False) -> Accuracy:
    """Make the page of the tables in a folder. Systems left out come from the factors that `spreads` kept; `every`
    leaves GPUs and sources out too, which takes long: each in a process of its own."""
    with TemporaryDirectory() as into:
        cases, measured = joined(folder, into)
        described, rows, unread = read_tables(cases, measured)
        found, failed = accuracy_of(described, rows)
        result = bands_of(found, described, rows, {**failed, **unread})
        kept = spreads.residuals(cases, measured, json.loads(spreads.FOLDS.read_text(encoding="utf-8")))
        unseen, mpi_unseen = {"system": kept.nccl}, {"system": kept.mpi}
        with ProcessPoolExecutor() as pool:
            more = [by for by in _LEFT_OUT if every and by != "system"]
            runs = {by: pool.submit(crossval.cross_validate, cases, measured, by) for by in more}
            over_mpi = {by: pool.submit(crossval_mpi.cross_validate, cases, measured, by) for by in more}
            unseen |= {by: run.result() for by, run in runs.items()}
            mpi_unseen |= {by: run.result() for by, run in over_mpi.items()}
    Path(path).write_text(page(result, found, described, unseen, mpi_unseen), encoding="utf-8")
    return result


if __name__ == "__main__":
    import sys

    write_page(sys.argv[1], sys.argv[2], every="--all" in sys.argv)
