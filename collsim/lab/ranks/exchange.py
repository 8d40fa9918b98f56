"""One collective on one rank: its program, its slots, and what of it has come and gone.

The loop that it runs in is that of the rank's network card (`nic`), which it may share with other collectives.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...dtypes import Floats
from .endpoint_program import REDUCE, Move, RankProgram
from .nic import Outgoing, RankNic, wait_until
from .wire import ARRIVED, CLEAR, DATA, Frame, PeerWire


class Moments(NamedTuple):
    """When the transfers of one endpoint took place in a run.

    Attributes:
        began: (sends,) s at which each send began.
        came: (receives,) s at which each had its last byte.
        arrived: (receives,) s at which each was there, with the latency that is imitated.
    """

    began: Floats
    came: Floats
    arrived: Floats

    @classmethod
    def allocate(cls, program: RankProgram) -> Moments:
        """Room for those of a program; all 0 as yet."""
        return cls(*(np.zeros(len(moves)) for moves in (program.sends, program.receives, program.receives)))


class ChannelTurns:
    """Transfers of a channel, those of one step after those of the steps before."""

    def __init__(self, moves: tuple[Move, ...]):
        """Find the groups of moves that may run together.

        Args:
            moves: Of one kind, sends or receives, in the order of steps.
        """
        self._groups: dict[int, deque[set[int]]] = {}
        steps: dict[int, int] = {}
        for index, move in enumerate(moves):
            groups = self._groups.setdefault(move.channel, deque())
            if steps.get(move.channel) != move.step:
                groups.append(set())
                steps[move.channel] = move.step
            groups[-1].add(index)
        self._moves = moves

    def list_ready(self) -> list[int]:
        """Those whose turn it is at the start."""
        return [index for groups in self._groups.values() for index in groups[0]]

    def is_ready(self, index: int) -> bool:
        """Is it the turn of this one?"""
        return index in self._groups[self._moves[index].channel][0]

    def finish(self, index: int) -> list[int]:
        """A move has ended; the moves whose turn it is because of it.

        Args:
            index: Of the move, as in `moves`.
        """
        groups = self._groups[self._moves[index].channel]
        groups[0].discard(index)
        if groups[0] or len(groups) == 1:
            return []
        groups.popleft()
        return list(groups[0])


def _do_nothing() -> None:
    """Nobody waits for the end."""


class Exchange:
    """One run of a program. `slots` are the arrays of this endpoint, changed in place once it has been started; what
    comes before that waits.

    Args:
        wires: to each endpoint of the program.
        first_row: of its frames; those of one run have numbers of their own.
        ended: called when all has been sent and written.
    """

    def __init__(
        self,
        program: RankProgram,
        slots: list[npt.NDArray[np.generic]],
        nic: RankNic,
        combine: np.ufunc = np.add,
        wires: Mapping[int, PeerWire] | None = None,
        first_row: int = 0,
        ended: Callable[[], None] = _do_nothing,
    ):
        self.program, self.slots, self.nic, self.combine = program, slots, nic, combine
        self.wires, self.first_row, self.ended = nic.wires if wires is None else wires, first_row, ended
        self.eager = nic.network.eager
        self.send_row = {move.row: i for i, move in enumerate(program.sends)}
        self.receive_row = {move.row: i for i, move in enumerate(program.receives)}
        self.order = {slot: deque(events) for slot, events in program.order.items()}
        # Sends of one channel leave in order, and so do receives: each has its turn.
        self.turns, self.receiving = ChannelTurns(program.sends), ChannelTurns(program.receives)
        self.prepared: dict[int, tuple[Outgoing, float]] = {}  # read, to be sent, and since when
        self.lent: dict[int, list[Outgoing]] = {}  # by slot: what is sent out of it, which a write must not change
        self.clear: set[int] = set()  # their receivers wait for them
        self.coming: dict[int, bytearray] = {}
        self.there: dict[int, bytes | bytearray] = {}  # arrived, and not written yet
        self.left_to_send, self.left_to_write = len(program.sends), len(program.receives)
        self.started = False
        self.there_at = 0.0  # when what has left so far will be there
        self.moments = Moments.allocate(program)
        nic.serve(first_row, self._take)

    @property
    def busy(self) -> bool:
        """Is there anything to be sent or written yet?"""
        return bool(self.left_to_send or self.left_to_write)

    def run(self, start: float) -> Moments:
        """Run the exchange alone to its end.

        Args:
            start: s on the clock of `time.perf_counter`, in the future.
        """
        wait_until(start + self.nic.network.late.get(self.program.endpoint, 0.0))
        self.start()
        self.nic.run(lambda: self.busy)
        return self.moments

    def start(self) -> None:
        """Begin now."""
        self.started = True
        if not self.busy:
            self.ended()
            return
        self._allow(self.receiving.list_ready())
        for slot in self.order:
            self._advance(slot)

    def _end_when_done(self) -> None:
        if not self.busy:
            self.ended()

    # ---- slots

    def _advance(self, slot: int) -> None:
        """Reads and writes of a slot whose turn has come."""
        events = self.order[slot]
        while events and self.started:
            is_write, index = events[0]
            if is_write and index not in self.there:
                return
            events.popleft()
            if is_write:
                self._write(slot, index)
            else:
                self._read(slot, index)

    def _read(self, slot: int, index: int) -> None:
        """What is in the slot now is what will be sent, whatever is written meanwhile."""
        now, move = time.perf_counter(), self.program.sends[index]
        if move.peer == self.program.endpoint:
            self._copied_here(index, self.slots[slot].tobytes(), now)
            return
        transfer = self._outgoing(index, move)
        self.lent.setdefault(slot, []).append(transfer)
        self.prepared[index] = transfer, now
        self._begin(index, now)

    def _outgoing(self, index: int, move: Move) -> Outgoing:
        data = self.slots[move.slot].view(np.uint8).data
        return Outgoing(
            self.wires[move.peer], self.first_row + move.row, data, move.alone, lambda left: self._gone(index, left)
        )

    def _copied_here(self, index: int, data: bytes, now: float) -> None:
        self.moments.began[index] = now
        receive_index = self.receive_row[self.program.sends[index].row]
        self.moments.came[receive_index] = now
        self._sent(index, now)
        self._settle(receive_index, data)

    def _write(self, slot: int, index: int) -> None:
        # Sends read their slot without a copy. One that is still under way copies it before it changes.
        for transfer in self.lent.pop(slot, ()):
            transfer.copy_rest()
        array = self.slots[slot]
        data = np.frombuffer(self.there.pop(index), array.dtype)
        if self.program.receives[index].kind == REDUCE:
            self.combine(array, data, out=array)
        else:
            array[:] = data
        self.left_to_write -= 1
        self._end_when_done()

    # ---- sending

    def _begin(self, index: int, moment: float) -> None:
        """Put a send under way if its data, its turn and its receiver allow it; the last of them did at that moment."""
        if index not in self.prepared or not self.turns.is_ready(index):
            return
        if not self.eager and index not in self.clear:
            return
        transfer, since = self.prepared.pop(index)
        self.moments.began[index] = began = max(moment, since)
        self.nic.send(transfer, began)

    def _gone(self, index: int, left: float) -> None:
        self.there_at = left + self.nic.network.alpha
        # An eager sender is done when its bytes have left; in a rendezvous it waits for the receiver's ARRIVED.
        if self.eager:
            self._sent(index, left)

    def _sent(self, index: int, moment: float) -> None:
        self.left_to_send -= 1
        for other in self.turns.finish(index):
            self._begin(other, moment)
        self._end_when_done()

    # ---- receiving

    def _allow(self, indices: list[int]) -> None:
        """Tell the senders of these that they may come."""
        for index in () if self.eager else indices:
            self._tell(CLEAR, self.program.receives[index])

    def _tell(self, kind: int, move: Move) -> None:
        if move.peer != self.program.endpoint:
            self.wires[move.peer].send(Frame(kind, self.first_row + move.row, b"", 0.0))

    def _take(self, frame: Frame, came: float) -> None:
        """One frame that came, its last byte at that moment."""
        row = frame.row - self.first_row
        if frame.kind == DATA:
            self._data(self.receive_row[row], frame.data, came)
            return
        index, now = self.send_row[row], time.perf_counter()
        if frame.kind == CLEAR:
            self.clear.add(index)
            self._begin(index, now)
        elif frame.kind == ARRIVED:
            self._sent(index, now)

    def _data(self, index: int, data: bytes | memoryview, came: float) -> None:
        """A piece came in; alpha after the last one the transfer is there."""
        # Pieces of one transfer come in their order: a socket keeps it, and each pair of endpoints has one.
        have = self.coming.setdefault(index, bytearray())
        have += data
        if len(have) == self.slots[self.program.receives[index].slot].nbytes:
            self.moments.came[index] = came
            self.nic.call_at(came + self.nic.network.alpha, lambda _: self._settle(index, self.coming.pop(index)))

    def _settle(self, index: int, data: bytes | bytearray) -> None:
        move = self.program.receives[index]
        self.moments.arrived[index] = time.perf_counter()
        self.there[index] = data
        if not self.eager:
            self._tell(ARRIVED, move)
        self._allow(self.receiving.finish(index))
        self._advance(move.slot)
