"""Bandwidth and latency between GPUs, and between GPUs and the host: p2pBandwidthLatencyTest (NVIDIA/cuda-samples,
p2pBandwidthLatencyTest.cu) and nvbandwidth, as text and as JSON (NVIDIA/nvbandwidth, output.cpp and json_output.cpp).

Both print matrices under a title, a row for each GPU with its number first. nvbandwidth writes `N/A` where nothing was
measured, and takes the CPU for row 0 of a test between host and GPUs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from ...files import find_json
from ...io.nccl.nccl_log_facts import Stated


@dataclass(frozen=True)
class PairMatrix:
    """Rates between pairs of GPUs, as one matrix of a test.

    Attributes:
        enabled: with peer access; False: through host memory.
        median: GB/s, of all pairs in one direction.
        pairs: number of ordered pairs with a figure.
    """

    enabled: bool
    median: float
    pairs: int


@dataclass(frozen=True)
class PairLatency:
    """Latency between pairs of GPUs.

    Attributes:
        enabled: Whether peer access was on; otherwise data are staged.
        median: Of all pairs, in microseconds.
    """

    enabled: bool
    median: float


@dataclass(frozen=True)
class PairRow:
    """Rates between one GPU and the others, as a row of nvbandwidth's matrix.

    Attributes:
        test: nvbandwidth's name of the test that printed it.
        gpu: number of the row.
        median: GB/s, of the row without the GPU itself.
    """

    test: str
    gpu: int
    median: float


@dataclass(frozen=True)
class HostLink:
    """Rate between the host and one GPU while it alone copies.

    Attributes:
        test: `host_to_device` or `device_to_host`.
        gpu: its number.
        rate: GB/s.
    """

    test: str
    gpu: int
    rate: float


#: A row begins with the number of a GPU; the numbers of columns above it have no point.
_ROW = re.compile(r"^\s*(\d{1,3})((?:\s+(?:\d{1,9}\.\d{1,6}|N/A))+)\s*$", re.ASCII)
_PEER_RATES = re.compile(r"^\s*Unidirectional P2P=(Enabled|Disabled) Bandwidth")
_PEER_LATENCIES = re.compile(r"^\s*P2P=(Enabled|Disabled) Latency")
_TEST = re.compile(r"^\s*Running ((?:host_to_device|device_to_host|device_to_device)_\w{3,60})\.")
#: Tests of nvbandwidth in one direction at a time, by copy engines or by kernels; others share links between copies.
_HOST_TESTS = re.compile(r"(host_to_device|device_to_host)_memcpy_(?:ce|sm)$")
_PAIR_TESTS = re.compile(r"device_to_device_memcpy_(?:read|write)_(?:ce|sm)$")
_PAIR_LATENCY_TEST = "device_to_device_latency_sm"
_NS_OF_US = 1000


def read_pair_matrices(lines: Sequence[str]) -> Iterator[Stated]:
    """Read p2pBandwidthLatencyTest: matrices of one direction and latencies at their first line, refused peers.

    Args:
        lines: of any text.

    Yields:
        Number of the line from 1, kind of the fact, and its value.
    """
    start, kind, enabled = 0, "", False
    cells: list[float] = []
    for number, line in enumerate((*lines, "end"), 1):
        if start and (row := _ROW.match(line)) is not None:
            cells += [cell for column, cell in _read_cells(row[2]) if column != int(row[1])]
            continue
        if start and cells:
            middle = median(cells)
            if kind == "gpu.pairs":
                yield start, kind, PairMatrix(enabled, middle, len(cells))
            else:
                yield start, kind, PairLatency(enabled, middle)
            start, cells = 0, []
        for pattern, name in ((_PEER_RATES, "gpu.pairs"), (_PEER_LATENCIES, "gpu.pair_latency")):
            if (head := pattern.match(line)) is not None:
                start, kind, enabled, cells = number, name, head[1] == "Enabled", []
        if re.match(r"^\s*Device=\d{1,3} CANNOT Access Peer Device=\d", line) is not None:
            yield number, "gpu.peers_refused", "CANNOT"


def _read_cells(text: str) -> Iterator[tuple[int, float]]:
    """Columns of a row that hold a number, and the number."""
    for column, cell in enumerate(text.split()):
        if re.fullmatch(r"\d{1,9}\.\d{1,6}", cell) is not None:
            yield column, float(cell)


def read_nvbandwidth(lines: Sequence[str]) -> Iterator[Stated]:
    """Read nvbandwidth: rows between GPUs and each GPU's rate to and from the host, at their lines.

    Args:
        lines: of any text.

    Yields:
        Number of the line from 1, kind of the fact, and its value.
    """
    test, start = "", 0
    matrix: list[tuple[int, list[tuple[int, float]], int]] = []
    for number, line in enumerate((*lines, "end"), 1):
        if (row := _ROW.match(line)) is not None and test:
            matrix.append((int(row[1]), list(_read_cells(row[2])), number))
        elif matrix:
            yield from _state_matrix(test, start, matrix)
            test, matrix = "", []
        if (head := _TEST.match(line)) is not None:
            test, start, matrix = head[1], number, []
    yield from _read_nvbandwidth_json(lines)


def _state_matrix(test: str, start: int, rows: Sequence[tuple[int, list[tuple[int, float]], int]]) -> Iterator[Stated]:
    """Facts of one matrix: rows are the number of a GPU (0 for the host), cells by column, and the line."""
    if (host := _HOST_TESTS.match(test)) is not None:
        for _, cells, number in rows[-1:]:
            for column, rate in cells:
                yield number, "gpu.host_link", HostLink(host[1], column, rate)
    elif _PAIR_TESTS.match(test) is not None:
        rates = []
        for gpu, cells, number in rows:
            others = [rate for column, rate in cells if column != gpu]
            if others:
                rates += others
                yield number, "gpu.pair_row", PairRow(test, gpu, median(others))
        if rates:
            yield start, "gpu.pairs", PairMatrix(True, median(rates), len(rates))
    elif test == _PAIR_LATENCY_TEST:
        waits = [wait for gpu, cells, _ in rows for column, wait in cells if column != gpu]
        if waits:
            yield start, "gpu.pair_latency", PairLatency(True, median(waits) / _NS_OF_US)


def _read_nvbandwidth_json(lines: Sequence[str]) -> Iterator[Stated]:
    """Facts of what nvbandwidth writes with -j, at the line of the name of each test."""
    text = "\n".join(lines)
    # nvbandwidth may print lines before its document.
    begin = text.rfind("{", 0, max(0, text.find('"nvbandwidth"')))
    if begin < 0:
        return
    document = find_json(text, begin)
    if not isinstance(document, dict) or not isinstance(body := document.get("nvbandwidth"), dict):
        return
    for number, line in enumerate(lines, 1):
        if (name := re.match(r'^\s*"\d{1,3}: ([^"(]{3,80}?):? \(', line)) is not None:
            yield number, "gpu.name", name[1]
    tests = body.get("testcases")
    if not isinstance(tests, list):
        return
    for case in tests:
        if not isinstance(case, dict) or not isinstance(matrix := case.get("bandwidth_matrix"), list):
            continue
        test = str(case.get("name", ""))
        # The line of the test's name is quoted; a matrix has no line of its own.
        number = next((n for n, line in enumerate(lines, 1) if f'"{test}"' in line), 1)
        rows = [
            (gpu, list(_read_cells(" ".join(map(str, row)))), number)
            for gpu, row in enumerate(matrix)
            if isinstance(row, list)
        ]
        yield from _state_matrix(test, number, rows)
