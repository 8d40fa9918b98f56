"""What an exercise asks, as data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ....locale import Text, build_text
from ....sandbox.learner_tables import FunctionRequest
from ....topology import Topology, switch
from .localized_task import TaskTexts


@dataclass(frozen=True)
class Partners:
    """Who may send to whom.

    Attributes:
        name: of its text in the catalogs of exercises.
        allowed: a truth value for each transfer, from arrays of endpoints: `allowed(src, dst, n)`.
    """

    name: str
    allowed: Callable[[Any, Any, int], Any]

    @property
    def rule(self) -> Text:
        """The rule in words: "to its right neighbour only"."""
        return build_text("exercises", f"partners.{self.name}")


RIGHT_NEIGHBOUR = Partners("right_neighbour", lambda src, dst, n: dst == (src + 1) % n)
NEIGHBOURS = Partners("neighbours", lambda src, dst, n: (dst == (src + 1) % n) | (src == (dst + 1) % n))
NEXT = Partners("next", lambda src, dst, n: dst == src + 1)
SERVER = Partners("server", lambda src, dst, n: (src == 0) | (dst == 0))
POWER_OF_TWO = Partners("power_of_two", lambda src, dst, n: ((src ^ dst) & ((src ^ dst) - 1)) == 0)


@dataclass(frozen=True)
class Task(TaskTexts):
    """What an exercise asks; the catalogs have its words.

    Attributes:
        name: `ring-allreduce`; a handed-in function is called `ring_allreduce`.
        collective: what the steps must do.
        ranks: the numbers of ranks that are tried, in this order.
        steps: the most steps, as a function of n; None: any number.
        sent: the most buffers that the busiest rank may send, as a function of n; None: any number.
        one_peer: in a step a rank may send to at most one other and receive from at most one.
        partners: who may send to whom; None where everybody may send to everybody.
        network: where time is compared with the bound, as a function of the number of ranks.
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
    def function_request(self) -> FunctionRequest:
        """What a function is called for."""
        return FunctionRequest(self.collective, self.ranks, self.helpers, is_new=True)
