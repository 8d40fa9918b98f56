"""What an exercise about a rank program asks, as data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from ....rank_engine.expected import ProgramCollective
from ....sandbox.learner_tables import FunctionRequest
from ....sandbox.rank_programs import ProgramRequest
from ....units import parse_bytes
from .localized_task import TaskTexts


@dataclass(frozen=True)
class ProgramTask(TaskTexts):
    """What such an exercise asks; the catalogs have its words. Every send waits for its receive, at every size.

    Attributes:
        name: as of a Task; a program handed in for `make-it-right` has a function `make_it_right`,
            or is a text of that name.
        starter: the program to begin with.
        verdict: what the program should do: be `right`, or hang (`hangs`) with all ranks in one cycle.
        collective: what its result should be.
        ranks: the numbers of ranks that are tried, in this order.
        nbytes: bytes of each rank's array.
        sent: the most buffers that the busiest rank may send, as a function of the number of ranks; None: any.

    Examples:
        >>> import collsim as cs
        >>> task = cs.exercise("make-it-hang").task
        >>> isinstance(task, cs.teach.ProgramTask), task.verdict
        (True, 'hangs')
    """

    name: str
    starter: str
    verdict: Literal["right", "hangs"] = "right"
    collective: ProgramCollective = "allreduce"
    ranks: tuple[int, ...] = (2, 3, 4, 5, 8)
    nbytes: str = "1920B"
    sent: Callable[[int], float] | None = None

    @property
    def function_request(self) -> FunctionRequest:
        """For what it is called."""
        return FunctionRequest(self.collective, self.ranks)

    @property
    def request(self) -> ProgramRequest:
        """How a program that was handed in is run."""
        return ProgramRequest(self.ranks[0], None, self.collective, parse_bytes(self.nbytes), 0)
