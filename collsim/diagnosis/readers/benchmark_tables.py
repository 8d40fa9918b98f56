"""Times of collectives as programs other than nccl-tests print them.

Huawei's hccl_test and AWS Neuron's nccom-test print tables like nccl-tests'. DeepSpeed's communication benchmarks and
all_reduce_bench.py of stas00/ml-engineering measure through PyTorch. The OSU micro-benchmarks and IMB print latencies,
and `io.osu` knows their titles.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...errors import CollsimError
from ...files import find_json
from ...io.nccl.nccl_log_facts import Stated
from ...io.nccl.nccl_tests import TESTS, parse_nccl_tests_document
from ...io.osu import PER_RANK, parse_osu_rows


@dataclass(frozen=True)
class MeasuredTime:
    """How long a collective of a size took.

    Attributes:
        tool: that measured it, by its name in `TOOL_READERS`.
        collective: collsim's name; "" where the tool does not say.
        ranks: that took part; 0 where it does not say.
        nbytes: nccl-tests' size.
        seconds: mean, or median where the tool printed several.
        is_nccl: whether NCCL or RCCL ran it.
        is_of_rank: whether the size is what one rank gives, and nccl-tests' is that times the ranks.
    """

    tool: str
    collective: str
    ranks: int
    nbytes: int
    seconds: float
    is_nccl: bool = True
    is_of_rank: bool = False


def read_node_counts(lines: Sequence[str]) -> Iterator[Stated]:
    """Read a small table of busbw by the number of nodes.

    Args:
        lines: of any text.

    Yields:
        Number of the line from 1, kind of the fact, and its value.
    """
    is_table = False
    for number, line in enumerate(lines, 1):
        if re.match(r"^\s*nodes\s+busbw\b", line, re.IGNORECASE) is not None:
            is_table = True
        elif is_table and (row := re.match(r"^\s*(\d{1,6})\s+(\d{1,6}(?:\.\d{1,4})?)\s*$", line)) is not None:
            yield number, "run.by_nodes", (int(row[1]), float(row[2]))
        elif line.strip():
            is_table = False


def read_table_document(lines: Sequence[str]) -> Iterator[Stated]:
    """Read what nccl-tests writes with -J: times, at the lines of their sizes, GPUs and hosts, and NCCL's variables.

    Args:
        lines: of any text.

    Yields:
        Number of the line from 1, kind of the fact, and its value.
    """
    if not any('"out_of_place"' in line for line in lines):
        return
    text = "\n".join(lines)
    document = find_json(text, max(0, text.find("{")))
    try:
        table = parse_nccl_tests_document(document, "nccl-tests")
    except CollsimError:
        return
    places = [number for number, line in enumerate(lines, 1) if re.match(r'^\s*"size"\s*:', line) is not None]
    # Where lines cannot be matched to rows (compact JSON), the whole file is quoted by its first line.
    if len(places) != len(table):
        places = [1] * len(table)
    for number, row in zip(places, table.to_dict("records"), strict=True):
        collective, seconds = row["collective"], float(row["time"])
        if isinstance(collective, str) and seconds > 0:
            time = MeasuredTime("nccl-tests -J", collective, int(row["ranks"] or 0), int(row["nbytes"]), seconds)
            yield number, "run.time", time
    for number, line in enumerate(lines, 1):
        if (device := re.match(r'^\s*"(device_info|hostname)"\s*:\s*"([^"]{1,80})"', line)) is not None:
            yield number, {"device_info": "gpu.name", "hostname": "nccl.host"}[device[1]], device[2]
        elif (variable := re.match(r'^\s*"(NCCL_[A-Z0-9_]{1,60})"\s*:\s*"([^"]{1,200})"', line)) is not None:
            yield number, "nccl.variable", (variable[1], variable[2])


_US, _MS = 1e-6, 1e-3
#: PyTorch's launch of a collective, 20 to 30 us, is in what benchmarks measure through it, so that smaller sizes tell
#: of PyTorch (stas00/ml-engineering, network/benchmarks).
_MIN_OF_TORCH = 2**20
_HCCL_HEAD = re.compile(r"data_size\(Bytes\):.{0,60}alg_bandwidth\(GB/s\):")
_HCCL_ROW = re.compile(
    r"^\s*(\d{1,15})\s*\|\s*(\d{1,12}\.\d{1,6})\s*\|\s*\d{1,9}\.\d{1,9}\s*\|\s*(?:success|failed|NULL)", re.ASCII
)
_NCCOM_HEAD = re.compile(r"^\s*size\(B\)\s+count\(elems\)\s+type\s+time(?::avg)?\(us\)")
_NCCOM_ROW = re.compile(
    r"^\s*(\d{1,15})\s+\d{1,15}\s+\w{2,10}\s+(\d{1,12}(?:\.\d{1,6})?)\s+[\d.]{1,12}\s+[\d.]{1,12}", re.ASCII
)
_SHORT_NAMES = {"allr": "allreduce", "redsct": "reduce_scatter", "allg": "allgather", "alltoall": "alltoall"}
_NPU_TESTS = re.compile(r"\b(all_reduce|all_gather|reduce_scatter|alltoall|broadcast|reduce)_test\b")
_DEEPSPEED_HEAD = re.compile(r"---- Performance of (\w{3,20}) on (\d{1,7}) devices")
_DEEPSPEED_ROW = re.compile(r"\s(\d{1,15})x(\d{1,2})\s+(\d{1,12}\.\d{1,6}) (us|ms)\b", re.ASCII)
_TORCH_HEAD = re.compile(r"average bandwidth(?: and the per-call latency)? of (\w{3,20}) over (\d{1,7}) ranks")
_TORCH_ROW = re.compile(r"^\s*\|\s*(\d{1,6})([KMG])i?B \|\s*\d{1,6}\.\d\dGBps \|\s*(\d{1,6}\.\d\d)GBps \|", re.ASCII)
_UNITS = {"K": 2**10, "M": 2**20, "G": 2**30}


def _name_collective(word: str) -> str:
    """collsim's name of `all_reduce`, `all_reduce_test` and the like; "" for others."""
    return TESTS.get(f"{word}_perf", "")


def read_hccl_test(lines: Sequence[str]) -> Iterator[Stated]:
    """Read hccl_test, whose bandwidth is that of the algorithm.

    Args:
        lines: of any text.

    Yields:
        Number of the line from 1, kind of the fact, and its value.
    """
    collective, is_table = "", False
    for number, line in enumerate(lines, 1):
        if (test := _NPU_TESTS.search(line)) is not None:
            collective = _name_collective(test[1])
        if _HCCL_HEAD.search(line) is not None:
            is_table = True
        elif is_table and (row := _HCCL_ROW.match(line)) is not None:
            time = MeasuredTime("hccl_test", collective, 0, int(row[1]), float(row[2]) * _US, is_nccl=False)
            yield number, "run.time", time


def read_nccom_test(lines: Sequence[str]) -> Iterator[Stated]:
    """Read nccom-test, with the collective and the ranks of its command where that is there.

    Args:
        lines: of any text.

    Yields:
        Number of the line from 1, kind of the fact, and its value.
    """
    collective, ranks, is_table = "", 0, False
    for number, line in enumerate(lines, 1):
        if (command := re.search(r"\bnccom-test\b(.{1,300})", line)) is not None:
            name = next((word for word in command[1].split() if word in _SHORT_NAMES or _name_collective(word)), "")
            collective = _SHORT_NAMES.get(name) or _name_collective(name)
            count = re.search(r"(?:-r|--nworkers) (\d{1,6})\b", command[1])
            ranks = 0
            if count is not None:
                ranks = int(count[1])
        elif _NCCOM_HEAD.match(line) is not None:
            is_table = True
        elif is_table and (row := _NCCOM_ROW.match(line)) is not None:
            time = MeasuredTime("nccom-test", collective, ranks, int(row[1]), float(row[2]) * _US, is_nccl=False)
            yield number, "run.time", time


def read_torch_benchmarks(lines: Sequence[str]) -> Iterator[Stated]:
    """Read benchmarks through PyTorch: DeepSpeed's (by size and duration, as its throughput counts twice in some
    versions) and all_reduce_bench.py (by size and algbw).

    Args:
        lines: of any text.

    Yields:
        Number of the line from 1, kind of the fact, and its value.
    """
    collective, ranks = "", 0
    for number, line in enumerate(lines, 1):
        if (head := _DEEPSPEED_HEAD.search(line) or _TORCH_HEAD.search(line)) is not None:
            collective, ranks = _name_collective(head[1]), int(head[2])
        elif (row := _DEEPSPEED_ROW.search(line)) is not None and ranks:
            nbytes = int(row[1]) * int(row[2])
            seconds = float(row[3]) * {"us": _US, "ms": _MS}[row[4]]
            if collective == "allreduce" and nbytes >= _MIN_OF_TORCH:
                yield number, "run.time", MeasuredTime("PyTorch benchmark", collective, ranks, nbytes, seconds)
        elif (row := _TORCH_ROW.match(line)) is not None:
            nbytes, algbw = int(row[1]) * _UNITS[row[2]], float(row[3]) * 1e9
            if nbytes >= _MIN_OF_TORCH and algbw > 0:
                # without its title a table is that of the script's first version, which measured allreduce only
                name = collective or "allreduce"
                yield number, "run.time", MeasuredTime("PyTorch benchmark", name, ranks, nbytes, nbytes / algbw)


def read_osu(lines: Sequence[str]) -> Iterator[Stated]:
    """Read tables of the OSU micro-benchmarks and IMB: of NCCL, and of an MPI library.

    Args:
        lines: of any text.

    Yields:
        Number of the line from 1, kind of the fact, and its value.
    """
    if not any("OSU" in line or "Benchmarking" in line for line in lines):
        return
    try:
        rows = list(parse_osu_rows(lines, "OSU"))
    except CollsimError:
        return
    for number, row in rows:
        collective, nbytes, seconds = (row[key] for key in ("collective", "nbytes", "time"))
        if isinstance(collective, str) and isinstance(nbytes, int) and isinstance(seconds, float) and seconds > 0:
            ranks = row["ranks"]
            is_nccl, is_of_rank = row["library"] == "NCCL", collective in PER_RANK and ranks is None
            count = ranks if isinstance(ranks, int) else 0
            yield number, "run.time", MeasuredTime("OSU, IMB", collective, count, nbytes, seconds, is_nccl, is_of_rank)
