"""Collectives as the ranks of a job spent time in them, put together from the files of all ranks. NCCL Inspector
(plugins/profiler/inspector) writes a JSON object for each; `profiler_traces` reads those of PyTorch's profiler.

What a rank spends in a collective includes waiting for those that come later; the last one to come waits for nobody, so
that the shortest time of a call is the collective's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TypeVar

from ...files import find_json
from ...io.nccl.nccl_log_facts import Stated
from ...io.nccl.nccl_tests import TESTS
from .benchmark_tables import MeasuredTime

Source = TypeVar("Source")
INSPECTOR = "NCCL Inspector"
_US = 1e-6
#: Ranks of one call: seconds of each, and the index of what says it.
_Ranks = dict[int, tuple[float, int]]
#: A rank is late where it comes last to so many of at least so many collectives, and the others wait so much longer.
_LATE_SHARE, _LATE_CALLS, _LATE_WAIT = 0.75, 4, 1.2


@dataclass(frozen=True)
class TimedCall:
    """A collective as one rank spent time in it.

    Attributes:
        tool: that measured it, by its name in `TOOL_READERS`.
        group: name of its group of ranks.
        number: of the call in the group.
        rank: that measured.
        host: that it runs on; "" where the tool does not say.
        collective: collsim's name.
        ranks: of the group.
        nbytes: nccl-tests' size.
        seconds: that the rank spent.
    """

    tool: str
    group: str
    number: int
    rank: int
    host: str
    collective: str
    ranks: int
    nbytes: int
    seconds: float


@dataclass(frozen=True)
class LateRank:
    """A rank that most collectives had to wait for.

    Attributes:
        rank: which.
        host: that it runs on; "" where nothing says.
        share: of the collectives to which it came last.
        waiting: how many times as long the others were in the collective, in the median.
    """

    rank: int
    host: str
    share: float
    waiting: float


def read_inspector(lines: Sequence[str]) -> Iterator[Stated]:
    """Read NCCL Inspector's objects, one a line.

    Args:
        lines: of any text.

    Yields:
        Number of the line from 1, kind of the fact, and its value.
    """
    for number, line in enumerate(lines, 1):
        if '"coll_perf"' in line and (call := _read_record(line)) is not None:
            yield number, "job.call", call


#: Collectives whose size Inspector counts per rank, as its bandwidths show.
_OF_RANK = ("allgather", "reduce_scatter")
_MAX_OF_RECORD = 2**60


def _read_record(line: str) -> TimedCall | None:
    """The call of an object; None where it does not say all of it."""
    document = find_json(line, max(0, line.find("{")))
    if not isinstance(document, dict):
        return None
    header, metadata, call = (document.get(key) for key in ("header", "metadata", "coll_perf"))
    if not isinstance(header, dict) or not isinstance(call, dict):
        return None
    host = ""
    if isinstance(metadata, dict):
        host = str(metadata.get("hostname", ""))[:80]
    # `AllReduce` of the document is `all_reduce_perf` of nccl-tests.
    collective = TESTS.get(re.sub(r"(?<!^)(?=[A-Z])", "_", str(call.get("coll", ""))[:40]).lower() + "_perf", "")
    microseconds = call.get("coll_exec_time_us")
    whole = [header.get("rank"), header.get("n_ranks"), call.get("coll_sn"), call.get("coll_msg_size_bytes")]
    numbers = [value for value in whole if isinstance(value, int) and 0 <= value < _MAX_OF_RECORD]
    if not collective or len(numbers) < len(whole):
        return None
    if not isinstance(microseconds, int | float) or not 0 < microseconds < _MAX_OF_RECORD:
        return None
    rank, ranks, number, nbytes = numbers
    if collective in _OF_RANK:
        nbytes *= ranks
    group = str(header.get("id", ""))[:80]
    return TimedCall(INSPECTOR, group, number, rank, host, collective, ranks, nbytes, microseconds * _US)


def combine_calls(calls: Sequence[tuple[Source, TimedCall]]) -> Iterator[tuple[Source, str, object]]:
    """Find how long collectives took, and a rank that most of them waited for.

    Args:
        calls: of all ranks, each with what says it.

    Yields:
        What says it, kind of the fact, and its value; the collectives that took longest together come first.
    """
    ranks_of_call: dict[tuple[str, str, int, str, int, int], _Ranks] = {}
    for index, (_, call) in enumerate(calls):
        key = (call.tool, call.group, call.number, call.collective, call.nbytes, call.ranks)
        ranks_of_call.setdefault(key, {})[call.rank] = (call.seconds, index)
    times: dict[tuple[str, str, int], dict[int, list[_Ranks]]] = {}
    for (tool, _, _, collective, nbytes, ranks), measured in ranks_of_call.items():
        if len(measured) > 1:  # what one rank says of itself alone may be waiting
            times.setdefault((tool, collective, ranks), {}).setdefault(nbytes, []).append(measured)
    for (tool, collective, ranks), sizes in sorted(times.items(), key=lambda item: -_sum_times(item[1])):
        # All times of a table come from one place, though several ranks have measured them.
        _, first = _find_time(next(iter(sizes.values())))
        for nbytes, same in sizes.items():
            seconds, _ = _find_time(same)
            yield calls[first][0], "run.time", MeasuredTime(tool, collective, ranks, nbytes, seconds)
    late = _find_late_rank(list(ranks_of_call.values()))
    if late is not None:
        index, rank, share, waiting = late
        yield calls[index][0], "job.late_rank", LateRank(rank, calls[index][1].host, share, waiting)


def _sum_times(sizes: dict[int, list[_Ranks]]) -> float:
    return sum(min(ranks.values())[0] for same in sizes.values() for ranks in same)


def _find_time(same: Sequence[_Ranks]) -> tuple[float, int]:
    """The median time of equal calls, and the index of what says it."""
    return sorted(min(ranks.values()) for ranks in same)[len(same) // 2]


def _find_late_rank(calls: Sequence[_Ranks]) -> tuple[int, int, float, float] | None:
    """Index of a call of the late rank, the rank, the share of its calls and how long others wait; None without one."""
    whole = [ranks for ranks in calls if len(ranks) > 2]
    if len(whole) < _LATE_CALLS:
        return None
    last = [min((seconds, rank) for rank, (seconds, _) in ranks.items())[1] for ranks in whole]
    rank = max(set(last), key=last.count)
    share = last.count(rank) / len(whole)
    mine = [ranks for ranks, late in zip(whole, last, strict=True) if late == rank]
    waiting = median(
        median(seconds for other, (seconds, _) in ranks.items() if other != rank) / ranks[rank][0] for ranks in mine
    )
    if share < _LATE_SHARE or waiting < _LATE_WAIT:
        return None
    return mine[0][rank][1], rank, share, waiting
