"""The network that the ranks imitate: one cable from each rank to a switch and one back, each with a token bucket.

What a rank sends leaves at `bandwidth`, what it receives comes in at `bandwidth`, and it counts as arrived `alpha`
after its last byte came in. Times are those of `time.perf_counter`, which all processes of a computer share.
"""

from __future__ import annotations

from dataclasses import dataclass, field

#: s of a piece on the cable: transfers that share it take turns after each.
_TURN = 0.002
_LEAST_PIECE, _MOST_PIECE = 1500, 1 << 18
#: s of a cable's bytes that the system may hold on a wire, so that a process that wakes up late finds as much to go on
#: with; a third of them go at once where nothing shares the cable.
_HOLD = 0.03
_LEAST_BUFFER, _MOST_BUFFER = 1 << 16, 1 << 20


@dataclass(frozen=True)
class ImitatedNetwork:
    """What is imitated: s from the last byte to the arrival, B/s of a cable in each direction (None: as fast as the
    computer), and whether a rank sends before the last one has arrived (`eager`).

    late: {endpoint: s} by which one joins later; slow: {endpoint: factor} by which its cables are slower.
    """

    alpha: float = 0.0
    bandwidth: float | None = None
    eager: bool = True
    late: dict[int, float] = field(default_factory=dict)
    slow: dict[int, float] = field(default_factory=dict)

    def beta(self, endpoint: int) -> float:
        """Seconds per byte of an endpoint's cables; 0 where nothing is paced."""
        return self.slow.get(endpoint, 1.0) / self.bandwidth if self.bandwidth else 0.0

    def cables(self, endpoint: int) -> tuple[Bucket, Bucket]:
        """The two cables of an endpoint, idle: out and in."""
        return Bucket(self.beta(endpoint)), Bucket(self.beta(endpoint))

    def piece(self, endpoint: int) -> int:
        """Bytes after which another transfer has its turn."""
        beta = self.beta(endpoint)
        return _MOST_PIECE if not beta else int(min(_MOST_PIECE, max(_LEAST_PIECE, _TURN / beta)))

    def buffer(self, endpoint: int) -> int:
        """Bytes that the system holds on each of an endpoint's wires: a network has small buffers, too."""
        beta = self.beta(endpoint)
        return _MOST_BUFFER if not beta else int(min(_MOST_BUFFER, max(_LEAST_BUFFER, _HOLD / beta)))

    def stretch(self, endpoint: int) -> int:
        """Bytes that it hands over at once where nothing shares the cable."""
        return max(self.piece(endpoint), min(_MOST_PIECE, self.buffer(endpoint) // 3))


@dataclass
class Bucket:
    """The tokens of one cable: `free` is the moment at which everything that has been given to it has passed.

    It runs on the moments that the network should have had, not on those at which a process woke up: as a network card
    goes on while the process sleeps, one that was late does not slow down what is already on its way.
    """

    beta: float
    free: float = 0.0

    def start(self, now: float) -> None:
        """It was idle; what it is given next begins now."""
        self.free = max(self.free, now)

    def passes(self, nbytes: int) -> float:
        """The moment at which so many bytes more would have passed."""
        return self.free + nbytes * self.beta

    def take(self, nbytes: int, not_before: float = 0.0) -> float:
        """Let bytes pass, none of them before a moment; when the last has passed."""
        self.free = max(self.free, not_before) + nbytes * self.beta
        return self.free
