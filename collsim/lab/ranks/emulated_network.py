"""The network that the ranks imitate: one cable from each rank to a switch and one back, each with a token bucket.

What a rank sends leaves at `bandwidth`, what it receives comes in at `bandwidth`, and it counts as arrived `alpha`
after its last byte came in. Times are those of `time.perf_counter`, which all processes of a computer share.
"""

from __future__ import annotations

from dataclasses import dataclass, field

#: s of a piece on the cable: transfers that share the cable alternate piece by piece.
_PIECE_SECONDS = 0.002
# Bytes: what an Ethernet frame carries, and as much as one call of the system moves well.
_MIN_PIECE, _MAX_PIECE = 1500, 1 << 18
#: s of a cable's bytes that the system may hold on a wire, so that a process that wakes up late finds as much to go on
#: with; a third of them go at once where nothing shares the cable.
_BUFFER_SECONDS = 0.03
_MAX_IDLE = 64  # times in which a cable was idle that are remembered
# Bytes of a socket's buffer.
_MIN_BUFFER, _MAX_BUFFER = 1 << 16, 1 << 20


@dataclass(frozen=True)
class ImitatedNetwork:
    """A switch that sockets of this computer imitate: one cable for each endpoint and direction.

    Attributes:
        alpha: s from the last byte to the arrival.
        bandwidth: B/s of a cable; None: nothing is paced, as fast as the computer is.
        eager: does a rank send before its last message has arrived?
        late: endpoint -> s by which it joins later.
        slow: endpoint -> factor by which its cables are slower.
    """

    alpha: float = 0.0
    bandwidth: float | None = None
    eager: bool = True
    late: dict[int, float] = field(default_factory=dict)
    slow: dict[int, float] = field(default_factory=dict)

    def beta(self, endpoint: int) -> float:
        """Seconds per byte of an endpoint's cables; 0 where nothing is paced."""
        return self.slow.get(endpoint, 1.0) / self.bandwidth if self.bandwidth else 0.0

    def cables(self, endpoint: int) -> tuple[TokenBucket, TokenBucket]:
        """The two cables of an endpoint, idle: out and in."""
        return TokenBucket(self.beta(endpoint)), TokenBucket(self.beta(endpoint))

    def find_piece_bytes(self, endpoint: int) -> int:
        """Bytes after which another transfer sends a piece."""
        beta = self.beta(endpoint)
        return _MAX_PIECE if not beta else int(min(_MAX_PIECE, max(_MIN_PIECE, _PIECE_SECONDS / beta)))

    def find_buffer_bytes(self, endpoint: int) -> int:
        """Bytes that the system holds on each of an endpoint's wires: a network has small buffers, too."""
        beta = self.beta(endpoint)
        return _MAX_BUFFER if not beta else int(min(_MAX_BUFFER, max(_MIN_BUFFER, _BUFFER_SECONDS / beta)))

    def find_burst_bytes(self, endpoint: int) -> int:
        """Bytes that it hands over at once where nothing shares the cable."""
        return max(self.find_piece_bytes(endpoint), min(_MAX_PIECE, self.find_buffer_bytes(endpoint) // 3))


@dataclass
class TokenBucket:
    """The tokens of one cable.

    It runs on the moments that the network should have had, not on those at which a process woke up: as a network card
    goes on while the process sleeps, one that was late does not slow down what is already on its way. So what came
    early and is read late passes while the cable was idle.

    Attributes:
        beta: Seconds for a byte.
        free: The moment at which everything that has been given to the cable has passed.
        idle: Times in which the cable was idle, (from, to), the latest of them.
    """

    beta: float
    free: float = 0.0
    idle: list[tuple[float, float]] = field(default_factory=list)

    def start(self, now: float) -> None:
        """It was idle; what it is given next begins now."""
        self.free = max(self.free, now)

    def find_passing_time(self, nbytes: int) -> float:
        """The moment at which so many bytes more would have passed."""
        return self.free + nbytes * self.beta

    def take(self, nbytes: int) -> float:
        """Let bytes pass behind all others; when the last has passed."""
        self.free += nbytes * self.beta
        return self.free

    def pass_after(self, nbytes: int, not_before: float) -> float:
        """Let bytes pass as soon as the cable is free.

        Args:
            nbytes: May be 0.
            not_before: s on the clock of `time.perf_counter`: none of them passes earlier.

        Returns:
            s, when the last has passed.
        """
        rest = nbytes * self.beta
        if rest and not_before < self.free and self.idle:
            rest, last = self._use_idle_time(rest, not_before)
            if rest <= 0:
                return last
        if not_before > self.free:
            self.idle = [*self.idle[1 - _MAX_IDLE :], (self.free, not_before)]
        self.free = max(self.free, not_before) + rest
        return self.free

    def _use_idle_time(self, rest: float, not_before: float) -> tuple[float, float]:
        """Use idle time from a moment on; s that are left over, and when the last that found room had passed."""
        idle, last = [], 0.0
        for begin, end in self.idle:
            first = max(begin, not_before)
            used = min(rest, max(0.0, end - first))
            if used <= 0:
                idle.append((begin, end))
                continue
            rest, last = rest - used, first + used
            idle += [gap for gap in ((begin, first), (last, end)) if gap[1] > gap[0]]
        self.idle = idle
        return rest, last
