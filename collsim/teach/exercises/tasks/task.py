"""What an exercise asks, as data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ....sandbox.produce import Wanted
from ....topology import Topology, switch
from ...language import Text


@dataclass(frozen=True)
class Task:
    """What an exercise asks.

    Attributes:
        name: `ring-allreduce`; a handed-in function is called `ring_allreduce`.
        collective: what the steps must do.
        ask, title, hints: in English and Chinese; three hints, each stronger than the one before.
        ranks: the numbers of ranks that are tried, in this order.
        steps, sent: the most steps, and the most buffers that the busiest rank may send, as functions of n.
        one_peer: in a step a rank may send to at most one other and receive from at most one.
        network, at, nbytes, within: where, for how many ranks and for which size time is compared with the bound, and
        how close it
            must come (None: the comparison is only shown).
        starter: code to begin with.
        helpers: endpoints beyond the ranks that the steps may use.
    """

    name: str
    collective: str
    title: Text
    ask: Text
    hints: tuple[Text, Text, Text]
    ranks: tuple[int, ...] = (2, 3, 4, 5, 6, 7, 8, 12, 16)
    steps: Callable[[int], int] | None = None
    sent: Callable[[int], float] | None = None
    one_peer: bool = False
    network: Callable[[int], Topology] = lambda n: switch(n, bandwidth="25GB/s", alpha="1us")
    at: int = 8
    nbytes: str = "64MiB"
    within: float | None = None
    starter: str = ""
    helpers: int = 0

    @property
    def wanted(self) -> Wanted:
        """What a function is called for."""
        return Wanted(self.collective, self.ranks, self.helpers)
