"""How far off steps of training are, by who published them: the figures of the table in docs/training.md.

    PYTHONPATH=docs python -m accuracy.steps measured.csv

A row of measurements becomes a call as `collsim train-accuracy` makes it; what is no call is left out. Behind the
table: how often the split of a model that is predicted to be the fastest was measured to be.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import mean, median
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from collsim.errors import CollsimError
from collsim.train.measured_steps import parse_row

#: What a source is called, what its name in the measurements begins with, and which of its rows: each, or every sixth.
SOURCES = (
    ("torchtitan", "pytorch/torchtitan", 1),
    ("vTrain, 64 nodes", "vTrain (KAIST, MICRO 2024) data/ground_truth_multi", 1),
    ("vTrain, one node, every sixth row", "vTrain (KAIST, MICRO 2024) data/ground_truth_single", 6),
    ("Megatron-Bridge", "NVIDIA-NeMo/Megatron-Bridge", 1),
    ("fms-fsdp", "foundation-model-stack/fms-fsdp", 1),
    ("llm-foundry", "mosaicml/llm-foundry", 1),
    ("Llama 3, table 4", "Grattafiori et al. 2024 (arXiv 2407.21783), table 4", 1),
    ("Korthikanti et al. 2022, table 5", "Korthikanti et al. 2022 (arXiv 2205.05198), table 5", 1),
    ("Narayanan et al. 2021, table 1", "Narayanan et al., SC21 (arXiv 2104.04473), table 1", 1),
    ("PyTorch's DDP benchmark", "pytorch/pytorch benchmarks/distributed/ddp", 1),
)


#: Rows that were typed from a paper, in the columns of the measurements.
TYPED = Path(__file__).with_name("llama3_steps.csv")
#: The second table of PyTorch's DDP benchmark, and what its rows are in the measurements: its columns were taken there
#: for the two bucket sizes. diff.py prints the 75th and the 95th percentile of the test run alone, that with buckets of
#: 1 MiB (`vb = np.percentile(mb, p)`, pytorch/pytorch 1415989); what it says of 25 MiB is only the difference.
_DIFF, _TAIL = "diff.py table; labelled p75", "diff.py table; labelled p95"


def as_printed(rows: Iterable[Mapping[str, str]]) -> list[Mapping[str, str]]:
    """Rows of that table as diff.py means them; without the 95th percentiles, since a step has no spread here."""
    usable = [row for row in rows if not row.get("note", "").startswith(_TAIL)]
    small = {"mode": "DDP, bucket_cap_mb=1"}
    return [{**row, **small} if row.get("note", "").startswith(_DIFF) else row for row in usable]


def chosen(rows: Iterable[Mapping[str, str]]) -> dict[str, list[Mapping[str, str]]]:
    """The rows of each source."""
    every = as_printed(rows)
    return {name: [row for row in every if row["source"].startswith(begins)][::n] for name, begins, n in SOURCES}


def error(row: Mapping[str, str]) -> float | None:
    """Predicted over measured time, less one; None for a row that is no call."""
    try:
        step = parse_row(row)
        return step.predict() / step.seconds - 1
    except CollsimError:
        return None


def table(figures: Mapping[str, Sequence[float]]) -> str:
    """A line for each source, the one with the largest median first."""
    lines = ["| who published them | rows | median | mean | worst | too fast |", "|---|---|---|---|---|---|"]
    for name, off in sorted(figures.items(), key=lambda item: -_median(item[1])):
        sizes, worst = [abs(e) for e in off], max(off, key=abs)
        shares = f"{median(sizes):.1%} | {mean(sizes):.1%} | {worst:+.0%}".replace("-", "−")
        lines.append(f"| {name} | {len(off)} | {shares} | {sum(e < 0 for e in off)} |")
    return "\n".join(lines)


def _median(figures: Sequence[float]) -> float:
    return median(abs(e) for e in figures)


Found = dict[str, list[tuple[Mapping[str, str], float]]]


def predicted(measured: str | Path) -> Found:
    """The rows of each source in a table of measurements that are calls, with their errors."""
    groups = chosen([*read(measured), *read(TYPED)])
    with ProcessPoolExecutor() as pool:
        pairs = {name: zip(rows, pool.map(error, rows), strict=True) for name, rows in groups.items()}
        figures = {name: [(row, e) for row, e in listed if e is not None] for name, listed in pairs.items()}
    return {name: several for name, several in figures.items() if several}


def errors(figures: Found) -> dict[str, list[float]]:
    """The errors of each source."""
    return {name: [e for _, e in pairs] for name, pairs in figures.items()}


def by_model(pairs: Iterable[tuple[Mapping[str, str], float]]) -> str:
    """Rows and median error of each model of a source, the smallest error first."""
    listed: dict[str, list[float]] = {}
    for row, e in pairs:
        listed.setdefault(parse_row(row).call["model"].name, []).append(e)
    near = sorted(listed.items(), key=lambda item: _median(item[1]))
    return ", ".join(f"{name} ({len(off)}) {_median(off):.1%}".replace("%", " %") for name, off in near)


def by_row(pairs: Iterable[tuple[Mapping[str, str], float]]) -> list[tuple[tuple[str, str, str], float]]:
    """The rows of mixtures of experts, the largest error first: (model, GPUs with types, release) and the error."""
    listed = []
    for row, e in pairs:
        if any(layer.experts for layer in parse_row(row).call["model"].layers):
            gpus = f"{int(row['gpus']):,} {row['gpu_type']}, {row['precision'].split(' (')[0]}, {row['micro_batch']}"
            listed.append(((row["model"], gpus, row["note"].split(" ")[0]), e))
    return sorted(listed, key=lambda item: -abs(item[1]))


def read(measured: str | Path) -> list[dict[str, str]]:
    """The rows of a table of measurements."""
    with Path(measured).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


# ---- the best split -------------------------------------------------------------------------------------------------

#: vTrain's measurements of many splits of one model; with how far a choice may be from the best that was measured.
_SPLITS, NEAR = "vTrain", 0.04
_JOB = ("hidden", "layers", "heads", "seq", "batch", "gpus")


def jobs(rows: Iterable[Mapping[str, str]], *more: str) -> list[list[Mapping[str, str]]]:
    """Measured splits of the same model and batch on as many GPUs, where there are several; `more`: what else they have
    in common (`"micro_batch"`)."""
    figures: dict[tuple[str, ...], list[Mapping[str, str]]] = {}
    for row in rows:
        if row["source"].startswith(_SPLITS):
            figures.setdefault(tuple(row[column] for column in (*_JOB, *more)), []).append(row)
    return [group for group in figures.values() if len(group) > 1]


def cost_of_choice(times: Iterable[tuple[float, float]]) -> float:
    """How much longer than the fastest the split takes that is predicted to be the fastest: measured times over each
    other, less one, from (predicted, measured) of each."""
    listed = list(times)
    return min(listed)[1] / min(measured for _, measured in listed) - 1


def times_of(row: Mapping[str, str], wait: float | None = None) -> tuple[float, float]:
    """Predicted and measured seconds of a split; `wait`: s that a pass loses at each collective that it waits for, the
    GPU's own unless given."""
    call = parse_row(row)
    if wait is not None:
        call = replace(call, call={**call.call, "compute": replace(call.call["compute"], wait_time=wait)})
    return call.predict(), call.seconds


def choice(group: Iterable[Mapping[str, str]], wait: float | None = None) -> float:
    """The same of measured splits."""
    return cost_of_choice(times_of(row, wait) for row in group)


def timed(rows: Sequence[Mapping[str, str]], wait: float | None = None) -> dict[int, tuple[float, float]]:
    """`times_of` each split, by its id."""
    with ProcessPoolExecutor() as pool:
        pairs = pool.map(partial(times_of, wait=wait), rows, chunksize=8)
        return {id(row): pair for row, pair in zip(rows, pairs, strict=True)}


def choices(measured: str | Path, *alike: Sequence[str]) -> list[list[float]]:
    """What the choice costs in each job, for each list of what else its splits have in common (see `jobs`)."""
    rows = read(measured)
    lines = [jobs(rows, *more) for more in alike]
    times = timed([row for row in rows if row["source"].startswith(_SPLITS)])
    return [[cost_of_choice(times[id(row)] for row in group) for group in groups] for groups in lines]


#: s that a pass might lose at each collective that it waits for.
WAITS = (0.0, 40e-6, 80e-6, 120e-6, 160e-6)


def waiting(path: str | Path) -> list[tuple[float, int, float]]:
    """For each of WAITS in how many jobs the choice is near the best, and the mean error of vTrain's rows on one
    node."""
    rows = [row for row in read(path) if row["source"].startswith(_SPLITS)]
    groups, out = jobs(rows), []
    for wait in WAITS:
        times = timed(rows, wait)
        near = sum(cost_of_choice(times[id(row)] for row in group) <= NEAR for group in groups)
        single_node = (times[id(row)] for row in rows if row["nodes"] == "1")
        out.append((wait, near, mean(abs(ours / measured - 1) for ours, measured in single_node)))
    return out


class Cell(NamedTuple):
    """What measured steps have in common that differ in their layers and microbatches only.

    Attributes:
        rows: how many they are. more: that follow from the others. worst: relative distance from the sum of a constant,
            a time for each layer, each microbatch, and each layer of each microbatch. block: s of the last; nan where
            it cannot be told.
    """

    rows: int
    more: int
    worst: float
    block: float


def cells(
    rows: Iterable[Mapping[str, str]], seconds: Callable[[Mapping[str, str]], float] = lambda row: float(row["value"])
) -> dict[tuple[int, ...], Cell]:
    """Of vTrain's rows on one node, by hidden, micro_batch, tp, pp and dp: a sum of so few times is no run of each.

    `seconds`: of a row; as measured, unless said.
    """
    figures: dict[tuple[int, ...], list[tuple[float, float, float]]] = {}
    for row in rows:
        if row["source"].startswith(_SPLITS) and row["nodes"] == "1":
            key = tuple(int(row[column] or 1) for column in ("hidden", "micro_batch", "tp", "pp", "dp"))
            many = int(row["batch"]) / key[4] / key[1]
            figures.setdefault(key, []).append((int(row["layers"]), many, seconds(row)))
    return {key: _cell(np.array(listed)) for key, listed in figures.items()}


def blocks(rows: Sequence[Mapping[str, str]]) -> dict[tuple[int, ...], tuple[float, float]]:
    """Seconds of a layer of a microbatch on all stages together, measured and predicted, by hidden, micro_batch and tp:
    the median over pp and dp of what `cells` finds."""
    pairs: dict[tuple[int, ...], list[tuple[float, float]]] = {}
    ours = cells(rows, lambda row: times_of(row)[0])
    for key, cell in cells(rows).items():
        if not math.isnan(cell.block):
            pairs.setdefault(key[:3], []).append((cell.block * key[3], ours[key].block * key[3]))
    return {key: (median(a for a, _ in figures), median(b for _, b in figures)) for key, figures in pairs.items()}


def _cell(listed: npt.NDArray[np.float64]) -> Cell:
    layers, many, seconds = listed.T
    terms = np.stack([np.ones_like(layers), layers, many, layers * many], axis=1)
    sizes, _, rank, _ = np.linalg.lstsq(terms, seconds, rcond=None)
    worst = float(np.abs(terms @ sizes / seconds - 1).max())
    return Cell(len(listed), len(listed) - int(rank), worst, float(sizes[3]) if rank == 4 else math.nan)


def format_costs(costs: Sequence[float]) -> str:
    """How often the choice is right, and how often near it."""
    right, near = sum(cost == 0 for cost in costs), sum(cost <= NEAR for cost in costs)
    rest = f"on average {mean(costs):.1%} slower, {max(costs):.0%} at most"
    return f"{len(costs)} groups: right in {right}, within {NEAR:.0%} in {near} ({near / len(costs):.0%}), {rest}"


if __name__ == "__main__":
    import sys

    rows = predicted(sys.argv[1])
    print(table(errors(rows)))
    print("Megatron-Bridge:", by_model(rows["Megatron-Bridge"]))
    for names, off in by_row(rows["Megatron-Bridge"]):
        print("|", *(f"{name} |" for name in names), f"{off:+.0%} |".replace("-", "−"))
    for costs in choices(sys.argv[1], (), ("micro_batch",)):
        print(format_costs(costs))
    for (hidden, samples, tp), (measured, ours) in sorted(blocks(read(sys.argv[1])).items()):
        off = f"{measured * 1e3:.2f} ms, predicted {ours / measured - 1:+.0%}"
        print(f"hidden size of {hidden}, {samples} samples, TP {tp}: {off}")
    for wait, near, mean_error in waiting(sys.argv[1]):
        lost = f"{wait * 1e6:.0f} us lost at each collective that a pass waits for"
        print(f"{lost}: within 4% in {near}, vTrain on one node {mean_error:.1%}")
    many = cells(read(sys.argv[1])).values()
    follow, exact = sum(cell.more for cell in many), sum(cell.more for cell in many if cell.worst < 1e-12)
    print(f"vTrain, one node: of {sum(c.rows for c in many)} rows {follow} follow from the others, {exact} to 1e-12")
