"""The calls of a simulated run, as PyTorch's Flight Recorder would have written them down."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...package_data import read_csv, read_toml
from ...rank_engine.engine import RankEvent
from .records import JobRecord, RecordedCall, Sizes

WORLD, WORLD_LABEL, PROGRAM_FILE = "0", "default_pg", "program.py"
#: Names of element types in torch (c10/core/ScalarType.h), by numpy's.
DTYPES: dict[str, str] = read_toml(__file__, "recorded_run.toml")["types"]


@dataclass(frozen=True)
class _Shares:
    """The bytes of a collective's input and output, for each byte that a rank puts in; `n` stands for the members."""

    operation: str
    output: str = "1"


#: Operation and sizes of a call, by its word in lower case without underscores.
_OPERATIONS = {row["word"]: _Shares(row["operation"], row["output"]) for row in read_csv(__file__, "operations.csv")}


def record_run(events: Sequence[RankEvent], groups: Sequence[Sequence[int]], ranks: int) -> JobRecord:
    """Write down what the ranks of a run called.

    Args:
        events: what they did, in order.
        groups: the ranks of communicators that had a collective.
        ranks: how many ranks there are.

    Returns:
        The calls by rank; tensors are flat, since events have their bytes and no shapes.
    """
    names = _name_groups(groups, ranks)
    members: dict[str, tuple[int, ...]] = {WORLD: tuple(range(ranks))}
    members.update({name: tuple(ranks_of) for name, ranks_of in zip(names, groups, strict=True)})
    calls: dict[int, list[RecordedCall]] = {rank: [] for rank in range(ranks)}
    numbers: dict[tuple[int, str], int] = defaultdict(int)
    for event in events:
        if event.kind not in ("send", "receive", "collective") or event.is_internal:
            continue
        if event.kind == "collective":
            group = names[event.group]
            numbers[event.rank, group] += 1
            call = _record_collective(event, group, numbers[event.rank, group], len(members[group]))
        else:
            numbers[event.rank, "message"] += 1
            call = _record_message(event, numbers[event.rank, "message"])
        calls[event.rank].append(call)
    return JobRecord({rank: tuple(rank_calls) for rank, rank_calls in calls.items()}, members, {WORLD: WORLD_LABEL})


def _name_groups(groups: Sequence[Sequence[int]], ranks: int) -> list[str]:
    """`0` for the group of all ranks, as torch names it; the others are counted."""
    names: list[str] = []
    for members in groups:
        if tuple(members) == tuple(range(ranks)) and WORLD not in names:
            names.append(WORLD)
        else:
            names.append(str(1 + sum(name != WORLD for name in names)))
    return names


def _record_message(event: RankEvent, number: int) -> RecordedCall:
    sizes = _build_shape(event.nbytes, event.dtype)
    inputs: Sizes
    outputs: Sizes
    operation, inputs, outputs = "recv", (), sizes
    if event.kind == "send":
        operation, inputs, outputs = "send", sizes, ()
    dtypes, end = (_name_dtype(event.dtype),), (event.is_complete, PROGRAM_FILE, event.line)
    return RecordedCall(event.rank, WORLD, number, operation, event.peer, inputs, outputs, dtypes, *end)


def _record_collective(event: RankEvent, group: str, number: int, members: int) -> RecordedCall:
    word = event.call.lower().replace("_", "")
    shares = _OPERATIONS.get(word, _Shares(event.call))
    inputs: Sizes = ()
    outputs: Sizes = ()
    dtypes: tuple[str, ...] = ()
    # A barrier carries no data of the program.
    if word != "barrier":
        dtypes = (_name_dtype(event.dtype),)
        inputs = _build_shape(event.nbytes, event.dtype)
        factors: Mapping[str, float] = {"1": 1, "n": members, "1/n": 1 / members}
        outputs = _build_shape(round(event.nbytes * factors[shares.output]), event.dtype)
    if word == "scatter":  # what a rank receives is not among the events
        inputs = outputs = ()
    end = event.is_complete, PROGRAM_FILE, event.line
    return RecordedCall(event.rank, group, number, shares.operation, -1, inputs, outputs, dtypes, *end)


def _build_shape(nbytes: int, dtype: str) -> Sizes:
    """The flat shape of so many bytes; an object travels as bytes."""
    width = 1
    if dtype:
        width = np.dtype(dtype).itemsize
    return ((math.ceil(nbytes / width),),)


def _name_dtype(dtype: str) -> str:
    return DTYPES.get(dtype, "Byte")
