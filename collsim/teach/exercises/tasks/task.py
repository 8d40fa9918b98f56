"""What an exercise asks, as data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ....locale import Text
from ....sandbox.produce import Wanted
from ....topology import Topology, switch


@dataclass(frozen=True)
class Partners:
    """Who may send to whom: `allowed(src, dst, n)` of arrays of endpoints, a truth value for each transfer, and the
    rule in words: "to its right neighbour only"."""

    allowed: Callable[[Any, Any, int], Any]
    rule: Text


RIGHT_NEIGHBOUR = Partners(lambda src, dst, n: dst == (src + 1) % n, ("to its right neighbour only", "只发给右邻居"))
NEIGHBOURS = Partners(
    lambda src, dst, n: (dst == (src + 1) % n) | (src == (dst + 1) % n),
    ("to its two neighbours only", "只发给左右邻居"),
)
NEXT = Partners(lambda src, dst, n: dst == src + 1, ("to the next rank of the chain only", "只发给链上的下一个 rank"))
SERVER = Partners(
    lambda src, dst, n: (src == 0) | (dst == 0),
    ("to the server only, and the server to all", "只发给服务器，由服务器发给所有 rank"),
)
POWER_OF_TWO = Partners(
    lambda src, dst, n: ((src ^ dst) & ((src ^ dst) - 1)) == 0,
    ("to partners at distance 1, 2, 4, ... only", "只发给距离为 1、2、4……的伙伴"),
)


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
        partners: who may send to whom; None where everybody may send to everybody.
        network: where time is compared with the bound, of a number of ranks.
        compared_ranks: for how many ranks it is compared.
        nbytes: for which size.
        within: how close it must come, as a factor; None: the comparison is only shown.
        starter: code to begin with.
        answer: code of a right answer, for the tests; where students should not find it here, it stands in theirs.
        helpers: endpoints beyond the ranks that the steps may use.

    Examples:
        >>> import collsim as cs
        >>> task = cs.exercise("broadcast-tree").task
        >>> task.collective, task.steps(8)  # at most so many steps on 8 ranks
        ('broadcast', 3)
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
    partners: Partners | None = None
    network: Callable[[int], Topology] = lambda n: switch(n, bandwidth="25GB/s", alpha="1us")
    compared_ranks: int = 8
    nbytes: str = "64MiB"
    within: float | None = None
    starter: str = ""
    answer: str = field(default="", repr=False)
    helpers: int = 0

    @property
    def wanted(self) -> Wanted:
        """What a function is called for."""
        return Wanted(self.collective, self.ranks, self.helpers, is_new=True)
