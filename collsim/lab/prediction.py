"""What the simulator says of the network that the ranks imitate, as asked for and as it was measured to be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ..schedule import Schedule
from ..simulate import Trace, simulate
from ..topology import Topology
from ..topology.generic import switch
from .ranks.emulated_network import ImitatedNetwork

_UNPACED = 1e12  # B/s where nothing is paced: bytes cost nothing beside messages


def build_imitated_topology(ranks: int, alpha: float, bandwidth: float | None, reduces: bool = False) -> Topology:
    """The network that the ranks imitate, as a topology: a cable to a switch and one back, half of alpha on each.

    Args:
        ranks: 2 or more.
        alpha: s between two ranks.
        bandwidth: B/s of a rank's cable; None where nothing is paced.
        reduces: Whether processes beyond the ranks stand for a switch that reduces.
    """
    return switch(ranks, bandwidth=bandwidth or _UNPACED, alpha=alpha / 2, reduces=reduces)


def predict_run(
    schedule: Schedule,
    nbytes: int,
    dtype: str,
    alpha: float,
    bandwidth: float | None,
    *,
    late: Mapping[int, Any] | None = None,
    slow: Mapping[int, Any] | None = None,
    eager: bool = True,
) -> Trace:
    """The event engine's Trace of it, under the rule of sending that the ranks follow."""
    reduces = schedule.endpoints > schedule.ranks and schedule.helpers_on != "host"
    topology = build_imitated_topology(schedule.ranks, alpha, bandwidth, reduces)
    return simulate(schedule, topology, nbytes, dtype, "event", late=late or {}, slow=slow or {}, eager=eager)


@dataclass(frozen=True)
class MessageCost:
    """What was measured beside a run: s of a message, B/s of its bytes.

    From the best times of a step of an allgather around the ring, at a small and a large block: time = alpha +
    bytes / bandwidth. Several steps, because the first of a run also waits for the last process to begin.
    """

    alpha: float
    bandwidth: float

    RUNS: ClassVar[int] = 9
    SMALL: ClassVar[int] = 4096
    SECONDS: ClassVar[float] = 0.03  # that the large one takes on the imitated cable
    LARGE: ClassVar[tuple[int, int]] = (65536, 4 * 2**20)  # its least and most bytes

    @classmethod
    def choose_sizes(cls, network: ImitatedNetwork) -> tuple[int, int]:
        """Bytes of the two blocks."""
        least, most = cls.LARGE
        large = most if network.bandwidth is None else min(most, max(least, int(network.bandwidth * cls.SECONDS)))
        return cls.SMALL, large // 4 * 4

    @classmethod
    def fit(cls, network: ImitatedNetwork, times: list[float]) -> MessageCost:
        """The line through both times. A byte takes no less than it is paced to, so where one time was disturbed the
        other decides what a message costs.

        Args:
            network: What the processes imitated; its bandwidth is a limit that no byte beats.
            times: s of one message of each of `choose_sizes`.
        """
        sizes = cls.choose_sizes(network)
        beta = max((times[1] - times[0]) / (sizes[1] - sizes[0]), 1 / (network.bandwidth or _UNPACED))
        return cls(max(0.0, min(time - size * beta for time, size in zip(times, sizes, strict=True))), 1 / beta)
