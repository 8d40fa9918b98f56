"""A right program beside what the library runs for the same collective: how many times as long, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..errors import Sentence
from ..registry import schedule
from ..simulate import simulate
from ..topology import Topology
from ..units import format_bytes, format_time
from .program_timing import Events, Groups, time_events

#: The algorithm of the library for each collective: rings, as NCCL has them, where there are some.
ALGORITHMS = {
    "allreduce": "allreduce_ring",
    "allgather": "allgather_ring",
    "reduce_scatter": "reduce_scatter_ring",
    "broadcast": "broadcast_binomial",
    "reduce": "reduce_binomial",
    "alltoall": "alltoall_pairwise",
}
_ROUNDING = 1e-9  # of a time: smaller differences are those of floating point


@dataclass(frozen=True)
class LibraryComparison:
    """How a program compares with the library. Times are in s.

    Attributes:
        algorithm: what the library runs.
        time: of the program.
        library_time: of the library, on the same machine, with the same late ranks.
        bytes_difference: how much longer the program takes to move its bytes; negative where it takes less.
        latency_difference: how much longer it takes where messages hold nothing: the messages that follow one another.
        sent: bytes that the busiest rank of the program sends.
        library_sent: bytes that the busiest rank of the library sends.
    """

    algorithm: str
    time: float
    library_time: float
    bytes_difference: float
    latency_difference: float
    sent: int
    library_sent: int

    @property
    def sentence(self) -> Sentence:
        """How many times as long it takes, because of what."""
        values: dict[str, object] = {"algorithm": self.algorithm, "time": format_time(self.time)}
        values |= {"sent": format_bytes(self.sent), "library_sent": format_bytes(self.library_sent)}
        if abs(self.time - self.library_time) < _ROUNDING * self.time:
            return Sentence(
                "It takes as long as {algorithm} of the library ({time}); its busiest rank sends {sent}, there "
                "{library_sent}.",
                **values,
            )
        return Sentence(
            "It takes {factor:.3g} times as long as {algorithm} of the library ({time}, {library}), because of its "
            "bytes ({bytes}: the busiest rank sends {sent}, there {library_sent}) and its messages ({latency}).",
            **values,
            factor=self.time / self.library_time,
            library=format_time(self.library_time),
            bytes=self._format_difference(self.bytes_difference),
            latency=self._format_difference(self.latency_difference),
        )

    def _format_difference(self, seconds: float) -> str:
        if abs(seconds) < _ROUNDING * self.time:
            seconds = 0.0
        sign = "+"
        if seconds < 0:
            sign = "\N{MINUS SIGN}"
        return sign + format_time(abs(seconds))


def compare_with_library(
    collective: str,
    events: Events,
    groups: Groups,
    ranks: int,
    topology: Topology,
    late: Mapping[int, float],
    nbytes: int,
    dtype: str,
    time: float,
    sent: int,
) -> LibraryComparison | None:
    """Time what the library runs for a collective, and split the difference.

    Args:
        collective: what the program does.
        events: what its ranks did.
        groups: the ranks of communicators.
        ranks: how many ranks there are.
        topology: the network.
        late: seconds by which ranks begin later.
        nbytes: bytes of the array that each rank sends.
        dtype: of its elements.
        time: of the program, in s.
        sent: bytes that its busiest rank sends.

    Returns:
        The comparison; None for a collective without an algorithm here, and for one rank.
    """
    if collective not in ALGORITHMS or ranks < 2:
        return None
    steps = schedule(ALGORITHMS[collective], ranks=ranks)
    size = nbytes
    if collective == "allgather":  # its size is that of the whole array
        size = nbytes * ranks
    library = simulate(steps, topology, size, dtype, "event", late=late)
    empty = simulate(steps, topology, 0, dtype, "event", late=late).time
    emptied = [event._replace(nbytes=0) for event in events]
    latency = time_events(emptied, groups, ranks, topology, late).time
    bytes_difference, most = (time - latency) - (library.time - empty), int(max(library.sent_bytes))
    return LibraryComparison(steps.name, time, library.time, bytes_difference, latency - empty, sent, most)
