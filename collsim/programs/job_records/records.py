"""What each rank of a job called, in its order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Sizes = tuple[tuple[int, ...], ...]  # the shape of each tensor


@dataclass(frozen=True)
class RecordedCall:
    """One call of a rank.

    Attributes:
        rank: who called.
        group: the name of the group of ranks.
        number: the position among the collectives of its group, or among the messages of its rank; from 1.
        operation: `all_reduce`, `send` and so on.
        peer: the other rank of a message, among all ranks; -1 for a collective, and for a receive from any source.
        input_sizes: shapes of what goes in.
        output_sizes: shapes of what comes out.
        dtypes: element types of what goes in and what comes out, as torch writes them (`Float`).
        is_complete: whether it has ended.
        file: the file of the program with the call; empty where it is not known.
        line: the line, or 0.
    """

    rank: int
    group: str
    number: int
    operation: str
    peer: int = -1
    input_sizes: Sizes = ()
    output_sizes: Sizes = ()
    dtypes: tuple[str, ...] = ()
    is_complete: bool = False
    file: str = ""
    line: int = 0

    @property
    def is_message(self) -> bool:
        """Whether it is a send or a receive."""
        return self.operation in ("send", "recv")

    @property
    def position(self) -> str:
        """`train.py:41`, or nothing where it is not known."""
        if not self.line:
            return ""
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class JobRecord:
    """The calls of a job.

    Attributes:
        calls: by rank, each in the order in which it called; only ranks of which something was written.
        groups: the ranks of each group, by its name.
        labels: what people call a group, by its name, where that is another word.
    """

    calls: Mapping[int, tuple[RecordedCall, ...]]
    groups: Mapping[str, tuple[int, ...]]
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def ranks(self) -> tuple[int, ...]:
        """All ranks that are named anywhere."""
        return tuple(sorted({*self.calls, *(rank for members in self.groups.values() for rank in members)}))

    @property
    def unread(self) -> tuple[int, ...]:
        """Ranks of which nothing was written."""
        return tuple(rank for rank in self.ranks if rank not in self.calls)

    def label(self, group: str) -> str:
        """What people call a group."""
        return self.labels.get(group) or group
