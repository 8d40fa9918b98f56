"""Files that describe a machine: NCCL's and RCCL's topology XML, collsim's own YAML, and the graphs that NCCL found
(NCCL_GRAPH_DUMP_FILE; NVIDIA/nccl src/graph/search.cc). Their readers are in `topology.files` and `io.nccl`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ...io.nccl.nccl_log_facts import Stated
from ...topology.files.nccl_tree import read_nvlink_rates

#: Lines at the beginning of a file that are looked at for its first element.
_HEAD = 50


def read_topology_file(lines: Sequence[str]) -> Iterator[Stated]:
    """Read where a topology begins, NCCL's XML or collsim's YAML, and how many GPUs an XML has.

    Args:
        lines: of any text.

    Yields:
        Number of the line from 1, kind of the fact, and its value.
    """
    for number, line in enumerate(lines[:_HEAD], 1):
        if re.match(r"^\s*(?:<\?xml[^>]{0,100}\?>)?\s*<system\b|^collsim: \d", line) is not None:
            yield number, "topology.file", True
            if gpus := sum(line.count("<gpu ") for line in lines):
                yield number, "topology.gpus", gpus
            return


def read_graph_file(lines: Sequence[str]) -> Iterator[Stated]:
    """Read the channels of the first ring that NCCL's search found, and what it expects of each (GB/s).

    Args:
        lines: of any text.

    Yields:
        Number of the line from 1, kind of the fact, and its value.
    """
    for number, line in enumerate(lines, 1):
        graph = re.match(
            r'^\s*<graph id="0" .{0,200}?nchannels="(\d{1,4})" .{0,80}?speedintra="(\d{1,5}(?:\.\d{1,6})?)"', line
        )
        if graph is not None:
            yield number, "nccl.searched_channels", (int(graph[1]), float(graph[2]))
            return


def read_tree(lines: Sequence[str]) -> Iterator[Stated]:
    """Read the tree of a system in NCCL's log: what all NVLinks of each GPU carry together (GB/s).

    Args:
        lines: of a log.

    Yields:
        Number of the line from 1, kind of the fact, and its value.
    """
    for number, _, rate in read_nvlink_rates(lines):
        yield number, "nccl.nvlink_rate", rate
