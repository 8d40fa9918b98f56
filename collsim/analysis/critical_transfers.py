"""The critical path: which transfers, one after another, make up the time, and what each spends it on.

From the transfer that arrives last, step back to the one whose arrival it had to wait for: the one that brought its
chunk if that arrived just then, else one at the same endpoint, else (a barrier) any that ended then. Each transfer's
time is split into alpha (the latency of its route), beta (its own bytes at the full rate of its slowest link) and
waiting (what sharing, queueing and barriers add).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..dtypes import Floats, Longs
from ..errors import CollsimError
from ..errors.arguments import check_arguments
from ..simulate import Trace
from ..units import format_time

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class CriticalPath:
    """Transfers in the order of time, and their seconds.

    Attributes:
        trace: the run.
        transfers: rows of `trace.schedule.transfers`.
        alpha: seconds of latency of each.
        beta: seconds of its bytes at the full rate.
        waiting: seconds of waiting; the three together are the duration of the run.

    Examples:
        >>> import collsim as cs
        >>> trace = cs.simulate(cs.schedule("allreduce_ring", ranks=4), cs.topology.switch(4), nbytes="4MiB")
        >>> {name: round(part, 2) for name, part in cs.analysis.critical_path(trace).shares.items()}
        {'alpha': 0.05, 'beta': 0.95, 'waiting': 0.0}
    """

    trace: Trace
    transfers: Longs
    alpha: Floats
    beta: Floats
    waiting: Floats

    @property
    def shares(self) -> dict[str, float]:
        """alpha, beta and waiting as parts of the duration of the run."""
        total = self.trace.duration or 1.0
        return {name: float(getattr(self, name).sum()) / total for name in ("alpha", "beta", "waiting")}

    def to_frame(self) -> pd.DataFrame:
        """`Trace.to_frame` of the path, with alpha, beta, waiting (s) and link, the slowest of the transfer's route."""
        frame = self.trace.to_frame().iloc[self.transfers].reset_index(names="transfer")
        frame["alpha"], frame["beta"], frame["waiting"] = self.alpha, self.beta, self.waiting
        frame["link"] = [self._slowest(int(s), int(d)) for s, d in zip(frame["src"], frame["dst"], strict=True)]
        return frame

    def _slowest(self, src: int, dst: int) -> str:
        route = self.trace.topology.routes(self.trace.placement[[src]], self.trace.placement[[dst]])[0]
        if not len(route):
            return ""
        return self.trace.topology.link_name(int(route[np.argmin(self.trace.topology.links.bandwidth[route])]))

    def __str__(self) -> str:
        parts = ", ".join(f"{name} {100 * share:.3g} %" for name, share in self.shares.items())
        return f"{len(self.transfers)} transfers make up {format_time(self.trace.duration)}: {parts}"

    def __repr__(self) -> str:
        return f"<CriticalPath {self}>"


@check_arguments
def critical_path(trace: Trace) -> CriticalPath:
    """Find the chain of transfers that makes a run as long as it is.

    Args:
        trace: a run.

    Returns:
        The path; empty where nothing moved.

    Raises:
        CollsimError: for anything but a Trace.

    Examples:
        >>> import collsim as cs
        >>> path = cs.analysis.critical_path(cs.simulate(cs.schedule("allreduce_ring", 4), "switch(4)", "1MiB"))
        >>> len(path.transfers), {name: round(share, 2) for name, share in path.shares.items()}
        (6, {'alpha': 0.16, 'beta': 0.84, 'waiting': 0.0})
    """
    if not isinstance(trace, Trace):
        raise CollsimError("critical_path wants a Trace, got {trace!r}; simulate(...) makes one", trace=trace)
    chain: list[int] = []
    if len(trace.schedule):
        chain = _build_chain(trace)
    return _split_times(trace, np.array(chain[::-1], np.int64))


def _build_chain(trace: Trace) -> list[int]:
    """Rows of the table, the one that ends last first, each with the reason for its start after it."""
    table, start, finish = trace.schedule.transfers, trace.start, trace.finish
    by_finish = np.argsort(finish, kind="stable")
    ends = finish[by_finish]
    # Sums of the same times in another order differ by rounding; a billionth of the run is far above that and far
    # below any transfer.
    tolerance = 1e-9 * max(trace.time, 1e-30)
    chain = [int(np.argmax(finish))]
    # The length is a guard: transfers of no duration could name one another forever.
    while start[chain[-1]] > trace.begin + tolerance and len(chain) <= len(table):
        before = _find_before(start, ends, by_finish, start[chain[-1]], tolerance)
        if not len(before):
            break
        chain.append(_choose_cause(table, before, chain[-1]))
    return chain


def _find_before(start: Floats, ends: Floats, by_finish: Longs, moment: float, tolerance: float) -> Longs:
    """Rows that end at a moment (`ends`: all ends, in order), or where none does (launch, jitter) the latest before."""
    low, high = np.searchsorted(ends, [moment - tolerance, moment + tolerance])
    ending = by_finish[low:high]
    ending = ending[start[ending] < moment - tolerance]
    if len(ending):
        return ending
    return by_finish[:low][-1:]


def _choose_cause(table: npt.NDArray[np.void], before: Longs, row: int) -> int:
    """Of the transfers that end when a row starts, the one it most likely waited for."""
    transfer, earlier = table[row], table[before]
    brings = (earlier["dst"] == transfer["src"]) & (earlier["into"] == transfer["chunk"])
    near = (
        (earlier["src"] == transfer["src"]) | (earlier["dst"] == transfer["dst"]) | (earlier["dst"] == transfer["src"])
    )
    # That it brought the very bytes says more than that it used the same port; of equals the first is taken.
    return int(before[np.argmax(2 * brings + near)])


def _split_times(trace: Trace, rows: Longs) -> CriticalPath:
    """The path over these rows, with the seconds of each split."""
    if not len(rows):
        return CriticalPath(trace, rows, *np.zeros((3, 0)))
    table = trace.schedule.transfers[rows]
    routes = trace.topology.routes(trace.placement[table["src"]], trace.placement[table["dst"]])
    links = trace.topology.links
    alpha, beta = np.zeros(len(rows)), np.zeros(len(rows))
    # Only transfers of the path are looked up, which are few; the schedule may have millions.
    for i in range(len(rows)):
        route = routes[i]
        if len(route):
            alpha[i] = links.alpha[route].sum()
            beta[i] = trace.slot_bytes[table["chunk"][i]] / links.bandwidth[route].min()
    # A transfer of the path ends where the next begins, so what is neither latency nor bytes in between is waiting.
    ends = np.append(trace.start[rows][1:], trace.time)
    begins = np.append(trace.begin, ends[:-1])
    return CriticalPath(trace, rows, alpha, beta, np.maximum(ends - begins - alpha - beta, 0.0))
