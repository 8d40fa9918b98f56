"""The network card of one rank: its wires, its two cables, what is under way on them, and the loop of its process.

The loop never waits for one wire alone. What it does follows from what has come and from the clock of the network
(`emulated_network.TokenBucket`); when it does it is up to the computer, and that is what is measured.
"""

from __future__ import annotations

import heapq
import math
import select
import time
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count

from .emulated_network import ImitatedNetwork, TokenBucket
from .wire import DATA, Frame, PeerWire

_AHEAD = 2  # bursts that the receiving bucket may be ahead of the clock before nothing more is read
_TURNS = 16  # that a large transfer takes at most: each of them wakes a process


def wait_until(moment: float) -> None:
    """Return at a moment of `time.perf_counter`, not before."""
    while (rest := moment - time.perf_counter()) > 0:
        time.sleep(rest)


@dataclass
class Outgoing:
    """A transfer that leaves.

    Attributes:
        wire: to its receiver.
        row: of the transfer.
        data: its bytes.
        alone: nothing else comes to its receiver in its step.
        left: called with the moment, in s, at which its last byte has left.
        sent: bytes that have left.
    """

    wire: PeerWire
    row: int
    data: memoryview
    alone: bool
    left: Callable[[float], None]
    sent: int = 0

    def copy_rest(self) -> None:
        """Copy what has not left yet, because its slot is about to be written."""
        if self.sent < len(self.data):
            self.data = memoryview(bytes(self.data))


class RankNic:
    """The card of one process. Transfers that leave at the same time take turns on the cable."""

    def __init__(self, endpoint: int, wires: Mapping[int, PeerWire], network: ImitatedNetwork):
        """A card with nothing under way.

        Args:
            endpoint: Number of this process.
            wires: To each peer, by its number.
            network: Says what a byte costs on this endpoint's cables.
        """
        self.endpoint, self.wires, self.network = endpoint, wires, network
        self.piece_bytes, self.burst_bytes = network.find_piece_bytes(endpoint), network.find_burst_bytes(endpoint)
        self.out: TokenBucket
        self.into: TokenBucket
        self.out, self.into = network.cables(endpoint)
        self.active: deque[Outgoing] = deque()
        self._joining: list[Outgoing] = []
        self._due: list[tuple[float, int, Callable[[float], None]]] = []
        self._number = count()
        self._firsts: list[int] = []
        self._takers: list[Callable[[Frame, float], None]] = []

    def serve(self, first_row: int, take: Callable[[Frame, float], None]) -> None:
        """Frames from this row on, up to the next one that is served, are for `take`, with the moment at which they had
        come in.

        Args:
            first_row: Rows from here to the next one that is served belong to this taker.
            take: Called with a frame and the moment, in s, at which it had come in.
        """
        index = bisect_right(self._firsts, first_row)
        self._firsts.insert(index, first_row)
        self._takers.insert(index, take)

    def call_at(self, moment: float, act: Callable[[float], None]) -> None:
        """Call something, with that moment, when it has come."""
        # The number keeps calls of one moment in their order, and functions from being compared.
        heapq.heappush(self._due, (moment, next(self._number), act))

    # ---- the loop

    def run(self, is_busy: Callable[[], bool]) -> None:
        """Go on as long as there is something to do, or something that the system has not taken.

        Args:
            is_busy: Whether there is something to do; asked again after each round.
        """
        while is_busy() or self.full:
            now = time.perf_counter()
            self._run_due_calls(now)
            wake = min(self._push(now), self._due[0][0] if self._due else math.inf, self._find_read_moment(now))
            if is_busy() or self.full:
                self._wait(wake)

    @property
    def full(self) -> bool:
        """Is there anything that the system has not taken yet?"""
        return any(wire.full for wire in self.wires.values())

    def _run_due_calls(self, now: float) -> None:
        while self._due and self._due[0][0] <= now:
            moment, _, act = heapq.heappop(self._due)
            act(moment)

    def _find_read_moment(self, now: float) -> float:
        """When the receiving side will have caught up so far that more can be read; never if that is now."""
        ahead = self.into.free - _AHEAD * self.burst_bytes * self.into.beta
        return ahead if ahead > now else math.inf

    def _wait(self, wake: float) -> None:
        """Until something can be done."""
        now = time.perf_counter()
        reads = list(self.wires.values()) if self._find_read_moment(now) == math.inf else []
        writes = [wire for wire in self.wires.values() if wire.full]
        seconds = None if wake == math.inf else max(0.0, wake - now)
        # `select` of three empty lists waits on Unix, and is an error on Windows (documentation of the module).
        if not reads and not writes:
            time.sleep(seconds or 0.0)
            return
        readable, writable, _ = select.select(reads, writes, [], seconds)
        for wire in writable:
            wire.flush()
        for wire in readable:
            for frame in wire.receive():
                self._take(frame)

    def _take(self, frame: Frame) -> None:
        """One frame that came: when the receiving cable had let it in."""
        size, came = len(frame.data), 0.0
        if frame.kind == DATA:
            # The frame says when its last byte left; its first left as long before as the cable takes for all of
            # them.
            came = self.into.pass_after(size, frame.left - size * self.into.beta)
        self._takers[bisect_right(self._firsts, frame.row) - 1](frame, came)

    # ---- sending

    def send(self, transfer: Outgoing, since: float) -> None:
        """Put a transfer under way that could have left since a moment: a card that had it goes on while the process
        sleeps.

        Args:
            transfer: What leaves, and over which wire.
            since: s, the moment from which it could have left.
        """
        if not self.active and not self._joining:
            self.out.start(since)
        self._joining.append(transfer)

    def _join(self) -> bool:
        """Those that begin now take their turns behind the others, the next rank's first and then around: where all
        send to all, each receiver has one of them at a time, and no cable waits for its first piece. Is any active?"""
        if self._joining and len(self.active) == 1:
            self._divide()
        self.active += sorted(
            # False sorts before True: peers above this rank first, then from 0 on.
            self._joining,
            key=lambda transfer: (transfer.wire.peer < self.endpoint, transfer.wire.peer),
        )
        self._joining.clear()
        return bool(self.active)

    def _divide(self) -> None:
        """Hand over what has left of the only transfer so far; from now on it takes turns."""
        transfer = self.active[0]
        # A transfer that was alone hands over long bursts, and part of the present one has left already. That part
        # is sent as a piece, so that newcomers wait for a piece and not for the whole burst.
        left = int((time.perf_counter() - self.out.free) / self.out.beta) if self.out.beta else 0
        size = min(left, self._next_size(transfer))
        if size > 0 and size < len(transfer.data) - transfer.sent and not transfer.wire.full:
            self._hand_over(transfer, size)

    def _push(self, now: float) -> float:
        """Hand over the pieces that have left by now, in turns; when the next will have left."""
        blocked = 0
        # A transfer whose socket is full lets the next one go first; when all are full, one has to be drained.
        while self._join() and blocked < len(self.active):
            transfer = self.active[0]
            if transfer.wire.full:
                self.active.rotate(-1)
                blocked += 1
                continue
            size = self._next_size(transfer)
            if self.out.find_passing_time(size) > now:
                return self.out.find_passing_time(size)
            blocked = 0
            self._hand_over(transfer, size)
        if blocked:
            self.out.start(now)  # nobody takes anything: the cable is idle
        return math.inf

    def _next_size(self, transfer: Outgoing) -> int:
        """Bytes that it hands over next: fewer where it shares a cable at either end."""
        most = self.burst_bytes
        if not transfer.alone or len(self.active) > 1:
            most = min(most, max(self.piece_bytes, len(transfer.data) // _TURNS))
        return min(most, len(transfer.data) - transfer.sent)

    def _hand_over(self, transfer: Outgoing, size: int) -> None:
        """The next bytes of the first transfer have left."""
        left = self.out.take(size)
        transfer.wire.send(Frame(DATA, transfer.row, transfer.data[transfer.sent : transfer.sent + size], left))
        transfer.sent += size
        if transfer.sent < len(transfer.data):
            self.active.rotate(-1)
            return
        self.active.popleft()
        transfer.left(left)
