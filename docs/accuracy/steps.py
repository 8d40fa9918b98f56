"""How far off steps of training are, by who published them: the figures of the table in docs/training.md.

    PYTHONPATH=docs python -m accuracy.steps measured.csv

A row of measurements becomes a call as `collsim train-accuracy` makes it; what is no call is left out.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import mean, median

from collsim.errors import CollsimError
from collsim.training.accuracy import call_of

#: What a source is called, what its name in the measurements begins with, and which of its rows: each, or every sixth.
SOURCES = (
    ("torchtitan", "pytorch/torchtitan", 1),
    ("vTrain, 64 nodes", "vTrain (KAIST, MICRO 2024) data/ground_truth_multi", 1),
    ("vTrain, one node, every sixth row", "vTrain (KAIST, MICRO 2024) data/ground_truth_single", 6),
    ("fms-fsdp", "foundation-model-stack/fms-fsdp", 1),
    ("llm-foundry", "mosaicml/llm-foundry", 1),
    ("Korthikanti et al. 2022, table 5", "Korthikanti et al. 2022 (arXiv 2205.05198), table 5", 1),
    ("Narayanan et al. 2021, table 1", "Narayanan et al., SC21 (arXiv 2104.04473), table 1", 1),
    ("PyTorch's DDP benchmark", "pytorch/pytorch benchmarks/distributed/ddp", 1),
)


def chosen(rows: Iterable[Mapping[str, str]]) -> dict[str, list[Mapping[str, str]]]:
    """The rows of each source."""
    every = list(rows)
    return {name: [row for row in every if row["source"].startswith(begins)][::n] for name, begins, n in SOURCES}


def error(row: Mapping[str, str]) -> float | None:
    """Predicted over measured time, less one; None for a row that is no call."""
    try:
        step = call_of(row)
        return step.predicted() / step.seconds - 1
    except CollsimError:
        return None


def table(found: Mapping[str, Sequence[float]]) -> str:
    """A line for each source, the one with the largest median first."""
    lines = ["| who published them | rows | median | mean | worst | too fast |", "|---|---|---|---|---|---|"]
    for name, off in sorted(found.items(), key=lambda item: -_median(item[1])):
        sizes, worst = [abs(e) for e in off], max(off, key=abs)
        shares = f"{median(sizes):.1%} | {mean(sizes):.1%} | {worst:+.0%}".replace("-", "−")
        lines.append(f"| {name} | {len(off)} | {shares} | {sum(e < 0 for e in off)} |")
    return "\n".join(lines)


def _median(found: Sequence[float]) -> float:
    return median(abs(e) for e in found)


def errors(measured: str | Path) -> dict[str, list[float]]:
    """The errors of each source that has rows in a table of measurements."""
    with Path(measured).open(encoding="utf-8", newline="") as file:
        groups = chosen(csv.DictReader(file))
    with ProcessPoolExecutor() as pool:
        found = {name: [e for e in pool.map(error, rows) if e is not None] for name, rows in groups.items()}
    return {name: several for name, several in found.items() if several}


if __name__ == "__main__":
    import sys

    print(table(errors(sys.argv[1])))
