"""One run of one rank: its program over its wires, in a loop that never waits for one of them alone.

What it does follows from what has come and from the clock of the network (`network.Bucket`); when it does it is up to
the computer, and that is what is measured.
"""

from __future__ import annotations

import heapq
import math
import select
import time
from collections import deque
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .network import Bucket, ImitatedNetwork
from .program import REDUCE, Move, RankProgram
from .wire import ARRIVED, CLEAR, DATA, Frame, PeerWire

Floats = npt.NDArray[np.float64]
_AHEAD = 2  # pieces that the receiving bucket may be ahead of the clock before nothing more is read


class Moments(NamedTuple):
    """(sends,) s at which each send began; (receives,) s at which each had its last byte, and was there."""

    began: Floats
    came: Floats
    arrived: Floats

    @classmethod
    def of(cls, program: RankProgram) -> Moments:
        """Room for those of a program; all 0 as yet."""
        return cls(*(np.zeros(len(moves)) for moves in (program.sends, program.receives, program.receives)))


def sleep_until(moment: float) -> None:
    """Return at a moment of `time.perf_counter`, not before."""
    while (rest := moment - time.perf_counter()) > 0:
        time.sleep(rest)


class ChannelTurns:
    """Transfers of a channel, those of one step after those of the steps before."""

    def __init__(self, moves: tuple[Move, ...]):
        self._groups: dict[int, deque[set[int]]] = {}
        steps: dict[int, int] = {}
        for index, move in enumerate(moves):
            groups = self._groups.setdefault(move.channel, deque())
            if steps.get(move.channel) != move.step:
                groups.append(set())
                steps[move.channel] = move.step
            groups[-1].add(index)
        self._moves = moves

    def on(self) -> list[int]:
        """Those whose turn it is at the start."""
        return [index for groups in self._groups.values() for index in groups[0]]

    def may(self, index: int) -> bool:
        """Is it the turn of this one?"""
        return index in self._groups[self._moves[index].channel][0]

    def done(self, index: int) -> list[int]:
        """One has ended; those whose turn it is now because of it."""
        groups = self._groups[self._moves[index].channel]
        groups[0].discard(index)
        if groups[0] or len(groups) == 1:
            return []
        groups.popleft()
        return list(groups[0])


class Exchange:
    """One run. `slots` are the arrays of this endpoint, changed in place."""

    def __init__(
        self,
        program: RankProgram,
        slots: list[npt.NDArray[Any]],
        wires: Mapping[int, PeerWire],
        network: ImitatedNetwork,
        combine: np.ufunc = np.add,
        cables: tuple[Bucket, Bucket] | None = None,
        beyond: float = math.inf,
    ):
        self.program, self.slots, self.wires, self.network, self.combine = program, slots, wires, network, combine
        self.beyond = beyond  # frames of this row and later ones are of the exchange after this one
        self.send_row = {move.row: i for i, move in enumerate(program.sends)}
        self.receive_row = {move.row: i for i, move in enumerate(program.receives)}
        self.order = {slot: deque(events) for slot, events in program.order.items()}
        self.turns, self.receiving = ChannelTurns(program.sends), ChannelTurns(program.receives)
        self.piece = network.piece(program.endpoint)
        self.out, self.into = cables or network.cables(program.endpoint)
        self.held: dict[int, memoryview] = {}  # read, and to be sent
        self.active: deque[int] = deque()  # under way, in turns
        self.sent = [0] * len(program.sends)
        self.clear: set[int] = set()  # their receivers wait for them
        self.coming: dict[int, list[bytes]] = {}
        self.due: list[tuple[float, int]] = []
        self.there: dict[int, bytes] = {}  # arrived, and not written yet
        self.left_to_send, self.left_to_write = len(program.sends), len(program.receives)
        self.moments = Moments.of(program)

    # ---- the loop

    def run(self, start: float) -> Moments:
        """From the moment `start` to the end."""
        sleep_until(start + self.network.late.get(self.program.endpoint, 0.0))
        self._allow(self.receiving.on())
        for slot in self.order:
            self._advance(slot)
        for wire in self.wires.values():
            for frame in wire.early():
                self._take(wire, frame)
        while self._goes_on:
            now = time.perf_counter()
            self._arrive(now)
            wake = min(self._push(now), self.due[0][0] if self.due else np.inf, self._throttled(now))
            if self._goes_on:
                self._wait(wake)
        return self.moments

    @property
    def _goes_on(self) -> bool:
        """Is there anything to be sent, written, or taken by the system yet?"""
        return bool(self.left_to_send or self.left_to_write) or any(wire.full for wire in self.wires.values())

    def _throttled(self, now: float) -> float:
        """When the receiving side will have caught up so far that more can be read; never if that is now."""
        ahead = self.into.free - _AHEAD * self.piece * self.into.beta
        return ahead if ahead > now else np.inf

    def _wait(self, wake: float) -> None:
        """Until something can be done."""
        now = time.perf_counter()
        reads = list(self.wires.values()) if self._throttled(now) == np.inf else []
        writes = [wire for wire in self.wires.values() if wire.full]
        seconds = None if wake == np.inf else max(0.0, wake - now)
        if not reads and not writes:
            time.sleep(seconds or 0.0)
            return
        readable, writable, _ = select.select(reads, writes, [], seconds)
        for wire in writable:
            wire.flush()
        for wire in readable:
            for frame in wire.receive():
                self._take(wire, frame)

    # ---- slots

    def _advance(self, slot: int) -> None:
        """Reads and writes of a slot whose turn has come."""
        events = self.order[slot]
        while events:
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
        data, move = self.slots[slot].tobytes(), self.program.sends[index]
        if move.peer == self.program.endpoint:
            self._copied_here(index, data)
            return
        self.held[index] = memoryview(data)
        self._begin(index)

    def _copied_here(self, index: int, data: bytes) -> None:
        now = time.perf_counter()
        self.moments.began[index] = now
        own = self.receive_row[self.program.sends[index].row]
        self.moments.came[own] = now
        self._sent(index)
        self._settle(own, data, now)

    def _write(self, slot: int, index: int) -> None:
        array = self.slots[slot]
        data = np.frombuffer(self.there.pop(index), array.dtype)
        if self.program.receives[index].kind == REDUCE:
            array[:] = self.combine(array, data)
        else:
            array[:] = data
        self.left_to_write -= 1

    # ---- sending

    def _begin(self, index: int) -> None:
        """Put a send under way if its data, its turn and its receiver allow it."""
        if index not in self.held or not self.turns.may(index):
            return
        if not self.network.eager and index not in self.clear:
            return
        now = time.perf_counter()
        if not self.active:
            self.out.start(now)
        self.moments.began[index] = now
        self.active.append(index)

    def _push(self, now: float) -> float:
        """Hand over the pieces that have left by now, in turns; when the next will have left."""
        blocked = 0
        while self.active and blocked < len(self.active):
            index = self.active[0]
            wire, data = self.wires[self.program.sends[index].peer], self.held[index]
            size = min(self.piece, len(data) - self.sent[index])
            if wire.full:
                self.active.rotate(-1)
                blocked += 1
                continue
            if self.out.passes(size) > now:
                return self.out.passes(size)
            blocked = 0
            self._piece(index, wire, data[self.sent[index] : self.sent[index] + size], self.out.take(size))
        if blocked:
            self.out.start(now)  # nobody takes anything: the cable is idle
        return np.inf

    def _piece(self, index: int, wire: PeerWire, data: memoryview, left: float) -> None:
        wire.send(Frame(DATA, self.program.sends[index].row, bytes(data), left))
        self.sent[index] += len(data)
        if self.sent[index] < len(self.held[index]):
            self.active.rotate(-1)
            return
        self.active.popleft()
        del self.held[index]
        if self.network.eager:
            self._sent(index)

    def _sent(self, index: int) -> None:
        self.left_to_send -= 1
        for other in self.turns.done(index):
            self._begin(other)

    # ---- receiving

    def _allow(self, indices: list[int]) -> None:
        """Tell the senders of these that they may come."""
        if self.network.eager:
            return
        for index in indices:
            move = self.program.receives[index]
            if move.peer != self.program.endpoint:
                self.wires[move.peer].send(Frame(CLEAR, move.row, b"", 0.0))

    def _take(self, wire: PeerWire, frame: Frame) -> None:
        """One frame that came."""
        if frame.row >= self.beyond:
            wire.keep(frame)
            return
        if frame.kind == DATA:
            self._data(frame)
            return
        index = self.send_row[frame.row]
        if frame.kind == CLEAR:
            self.clear.add(index)
            self._begin(index)
        elif frame.kind == ARRIVED:
            self._sent(index)

    def _data(self, frame: Frame) -> None:
        """A piece came in when the receiving cable let it; alpha after the last one the transfer is there."""
        index = self.receive_row[frame.row]
        pieces = self.coming.setdefault(index, [])
        pieces.append(frame.data)
        came = self.into.take(len(frame.data), frame.left - len(frame.data) * self.into.beta)
        if sum(map(len, pieces)) == self.slots[self.program.receives[index].slot].nbytes:
            self.moments.came[index] = came
            heapq.heappush(self.due, (came + self.network.alpha, index))

    def _arrive(self, now: float) -> None:
        """What is due is there."""
        while self.due and self.due[0][0] <= now:
            index = heapq.heappop(self.due)[1]
            self._settle(index, b"".join(self.coming.pop(index)), now)

    def _settle(self, index: int, data: bytes, now: float) -> None:
        move = self.program.receives[index]
        self.moments.arrived[index] = now
        self.there[index] = data
        if not self.network.eager and move.peer != self.program.endpoint:
            self.wires[move.peer].send(Frame(ARRIVED, move.row, b"", 0.0))
        self._allow(self.receiving.done(index))
        self._advance(move.slot)
