"""Execution traces of Chakra (mlcommons/chakra, schema/protobuf/et_def.proto): what a training job ran, with a node for
each operation. `io.chakra` reads the files; here each node is a line, so that evidence can be quoted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from ...io.chakra import COLLECTIVE, COMP, RECV, SEND
from ...io.nccl.nccl_log_facts import Stated
from .benchmark_tables import MeasuredTime

#: Words of the types of nodes.
_KINDS = {COMP: "COMP_NODE", SEND: "COMM_SEND_NODE", RECV: "COMM_RECV_NODE", COLLECTIVE: "COMM_COLL_NODE"}
#: Chakra's numbers of collectives, and collsim's names (et_def.proto, CollectiveCommType).
_COLLECTIVES = dict(
    enumerate(("allreduce", "reduce", "allgather", "gather", "scatter", "broadcast", "alltoall", "reduce_scatter"))
)
_LINE = re.compile(r"^COMM_COLL_NODE (\w{1,20}) comm_size=(\d{1,18}) duration_micros=(\d{1,15}) (.{0,200})$", re.ASCII)
_US = 1e-6


def write_chakra_node(node: Mapping[str, object]) -> str:
    """Write a node as a line.

    Args:
        node: as `io.chakra.iterate_chakra` yields it.
    """
    number = node.get("type")
    kind = "NODE"
    if isinstance(number, int):
        kind = _KINDS.get(number, kind)
    name = " ".join(str(node.get("name", "")).split())[:200]
    if number != COLLECTIVE:
        return f"{kind} {name}"
    word = node.get("comm_type", -1)
    collective = "unknown"
    if isinstance(word, int):
        collective = _COLLECTIVES.get(word, collective)
    size, duration = node.get("comm_size", 0), node.get("duration_micros", 0)
    return f"{kind} {collective} comm_size={size} duration_micros={duration} {name}"


def read_chakra_nodes(lines: Sequence[str]) -> Iterator[Stated]:
    """Read collectives of an execution trace, and of allreduces of a size the shortest: it waited least for others.

    Args:
        lines: as `write_chakra_node` writes them.

    Yields:
        Number of the line from 1, kind of the fact, and its value.
    """
    shortest: dict[int, tuple[int, int]] = {}
    for number, line in enumerate(lines, 1):
        if (node := _LINE.match(line)) is None:
            continue
        nbytes, duration = int(node[2]), int(node[3])
        yield number, "job.collective", (node[1], nbytes)
        if node[1] == "allreduce" and nbytes and duration:
            shortest[nbytes] = min(shortest.get(nbytes, (duration, number)), (duration, number))
    for nbytes, (duration, number) in sorted(shortest.items()):
        yield number, "run.time", MeasuredTime("Chakra trace", "allreduce", 0, nbytes, duration * _US)
