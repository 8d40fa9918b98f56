"""Bandwidth between pairs of GPUs: p2pBandwidthLatencyTest (NVIDIA/cuda-samples, p2pBandwidthLatencyTest.cu)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from ...io.nccl.nccl_log_facts import Stated


@dataclass(frozen=True)
class PairMatrix:
    """GB/s between pairs of GPUs, median of all pairs, with peer access or staged."""

    enabled: bool
    median: float
    pairs: int


def read_pair_matrices(lines: Sequence[str]) -> Iterator[Stated]:
    """Read p2pBandwidthLatencyTest: the matrices of one direction, at their first line.

    Args:
        lines: of any text.

    Yields:
        Number of the line from 1, kind of the fact, and its value.
    """
    start, enabled = 0, False
    cells: list[float] = []
    for number, line in enumerate((*lines, "end"), 1):
        row = re.match(r"^\s*(\d{1,3})((?:\s+[\d.]{1,10})+)\s*$", line)
        if start and row is not None:
            cells += [float(cell) for column, cell in enumerate(row[2].split()) if column != int(row[1])]
        elif start and cells:
            yield start, "gpu.pairs", PairMatrix(enabled, median(cells), len(cells))
            start, cells = 0, []
        if (head := re.match(r"^Unidirectional P2P=(Enabled|Disabled) Bandwidth", line)) is not None:
            start, enabled, cells = number, head[1] == "Enabled", []
