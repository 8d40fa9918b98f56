"""Where tables of measured collectives stand."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ...io.nccl.nccl_log_facts import Stated


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


def read_table_head(lines: Sequence[str]) -> Iterator[Stated]:
    """Read where nccl-tests' table begins; `io.nccl.nccl_tests` reads its rows.

    Args:
        lines: of any text.

    Yields:
        Number of the line from 1, kind of the fact, and its value.
    """
    for number, line in enumerate(lines, 1):
        if re.search(r"\bsize\s+count\s+type\b.{0,80}\bbusbw\b", line) is not None:
            yield number, "run.table", True
