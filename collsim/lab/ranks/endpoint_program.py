"""The program of one endpoint: what it sends and receives, and in which order each of its slots is read and written.

A slot is read and written in the order of the schedule: of one step first the reads, then the writes in the order of
rows. So whatever the moments at which things arrive, the numbers are those of `replay`, bit for bit.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...dtypes import Bools

if TYPE_CHECKING:
    from ...schedule import Schedule

#: What a write does to its slot.
COPY, REDUCE = 0, 1


@dataclass(frozen=True)
class Move:
    """One transfer, as one of its ends sees it.

    Attributes:
        row: in the schedule.
        step: from 0.
        channel: of the transfer.
        peer: endpoint at the other end.
        slot: at this end: read by a send, written by a receive.
        kind: what a receive does, `COPY` or `REDUCE`; a reduction into an empty slot is a copy.
        alone: in its step nothing else comes to where it goes.
    """

    row: int
    step: int
    channel: int
    peer: int
    slot: int
    kind: int = COPY
    alone: bool = True


@dataclass(frozen=True)
class RankProgram:
    """What one endpoint does.

    Attributes:
        endpoint: its number; helpers follow the ranks.
        sends: its transfers that leave, by step and row; a local copy is in both.
        receives: its transfers that arrive, likewise.
        order: slot -> `(is_write, index into sends or receives)` in the order in which they touch it.
    """

    endpoint: int
    sends: tuple[Move, ...]
    receives: tuple[Move, ...]
    order: dict[int, tuple[tuple[bool, int], ...]]

    @property
    def peers(self) -> set[int]:
        """The endpoints that it exchanges anything with."""
        return {move.peer for move in (*self.sends, *self.receives)} - {self.endpoint}


def build_programs(schedule: Schedule, has_data: Bools) -> list[RankProgram]:
    """A program for each endpoint.

    A reduce into what a helper does not hold yet is a copy, as `replay` has it.

    Args:
        schedule: Written out, a row for each transfer.
        has_data: (endpoints, slots) bool, which slots hold data at the start.
    """
    table, has_data = schedule.transfers, has_data.copy()
    comes = Counter(zip(table["step"].tolist(), table["dst"].tolist(), strict=True))
    sends: list[list[Move]] = [[] for _ in range(schedule.endpoints)]
    receives: list[list[Move]] = [[] for _ in range(schedule.endpoints)]
    for row, t in enumerate(table.tolist()):
        step, src, dst, chunk, into, reduces, channel = t
        kind = REDUCE if reduces and has_data[dst, into] else COPY
        has_data[dst, into] = True
        alone = comes[step, dst] == 1
        sends[src].append(Move(row, step, channel, dst, chunk, alone=alone))
        receives[dst].append(Move(row, step, channel, src, into, kind, alone))
    return [
        RankProgram(e, tuple(sends[e]), tuple(receives[e]), _order_accesses(sends[e], receives[e]))
        for e in range(schedule.endpoints)
    ]


def _order_accesses(sends: list[Move], receives: list[Move]) -> dict[int, tuple[tuple[bool, int], ...]]:
    """For each slot its reads and writes: by step, of one step the reads first, then by row."""
    touched: dict[int, list[tuple[Any, ...]]] = {}
    for is_write, moves in ((False, sends), (True, receives)):
        for index, move in enumerate(moves):
            touched.setdefault(move.slot, []).append((move.step, is_write, move.row, index))
    return {slot: tuple((t[1], t[3]) for t in sorted(accesses)) for slot, accesses in touched.items()}
