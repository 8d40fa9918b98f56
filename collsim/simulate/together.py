"""Outcomes that are not one collective's: several at once, and plain flows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..topology import Topology
from ..units import format_time
from .lockstep import Segments, Timing
from .trace import Trace
from .usage import Usage, usage_of

if TYPE_CHECKING:
    import pandas as pd

Floats = npt.NDArray[np.float64]
Longs = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class FlowTrace:
    """When plain flows ran.

    Attributes:
        topology, sharing: where, and how links were shared.
        src, dst, nbytes: (flows,) ranks and bytes.
        start, finish: (flows,) s; a flow's latency is part of it.
    """

    topology: Topology
    src: Longs
    dst: Longs
    nbytes: Longs
    sharing: str
    start: Floats
    finish: Floats
    timing: Timing

    @property
    def time(self) -> float:
        """Seconds until the last flow has ended."""
        return float(self.finish.max(initial=0.0))

    @cached_property
    def link_bytes(self) -> Longs:
        """(links,) bytes that crossed each directed link."""
        return np.rint(self.timing.link_bytes).astype(np.int64)

    @cached_property
    def segments(self) -> Segments:
        """The times in which bytes of each flow move, and their rates."""
        assert self.timing.flows is not None
        return self.timing.flows()

    def usage(self, link: int) -> Usage:
        """What one link carries over time, B/s."""
        return usage_of(self.segments, link, self.topology.routes(self.src, self.dst))

    def to_frame(self) -> pd.DataFrame:
        """A row per flow: src, dst, bytes, start, finish (s)."""
        import pandas as pd

        return pd.DataFrame({"src": self.src, "dst": self.dst, "bytes": self.nbytes, "start": self.start, "finish": self.finish})

    def __repr__(self) -> str:
        return f"<FlowTrace {len(self.src)} flows on {self.topology.name}, {self.sharing}: {format_time(self.time)}>"


@dataclass(frozen=True, eq=False, repr=False)
class Together:
    """Several collectives at once. It is a sequence of their Traces, in the order given.

    Attributes:
        topology: what all of them run on.
        traces: one Trace each; its `time` is the moment it ends, counted from 0 s of the whole run.
        background: what the other traffic took, where there was some.
    """

    traces: list[Trace]
    topology: Topology
    background: FlowTrace | None
    by_themselves: Callable[[], list[Trace]]

    def __len__(self) -> int:
        return len(self.traces)

    def __getitem__(self, i: int) -> Trace:
        return self.traces[i]

    def __iter__(self) -> Iterator[Trace]:
        return iter(self.traces)

    @property
    def time(self) -> float:
        """Seconds until the last collective has ended."""
        return max(t.time for t in self.traces)

    @cached_property
    def alone(self) -> list[Trace]:
        """Each collective on the same topology with nothing beside it."""
        return self.by_themselves()

    @cached_property
    def slowdown(self) -> Floats:
        """(collectives,) how many times longer each takes than alone; 1.0 is undisturbed."""
        took, by_itself = (np.array([_spent(t) for t in traces]) for traces in (self.traces, self.alone))
        factor: Floats = np.divide(took, by_itself, out=np.ones_like(took), where=by_itself > 0)
        return factor

    @cached_property
    def link_bytes(self) -> Longs:
        """(links,) bytes of all of them, and of the background, over each directed link."""
        total = sum((t.link_bytes for t in self.traces), np.zeros(len(self.traces[0].topology.links), np.int64))
        return total + self.background.link_bytes if self.background is not None else total

    def to_frame(self) -> pd.DataFrame:
        """A row per collective: the figures of its Trace, when it begins and ends, alone (s) and slowdown."""
        import pandas as pd

        frame = pd.DataFrame([t.row() for t in self.traces])
        frame["alone"] = [t.time for t in self.alone]
        frame["slowdown"] = self.slowdown
        return frame

    def row(self) -> list[dict[str, Any]]:
        """The figures of each Trace."""
        return [t.row() for t in self.traces]

    def __repr__(self) -> str:
        parts = ", ".join(f"{t.schedule.label} {format_time(t.time)}" for t in self.traces)
        return f"<Together on {self.topology.name}: {parts}>"


def _spent(trace: Trace) -> float:
    """Seconds from a collective's first transfer to its last arrival."""
    timing = trace.timing
    return float(timing.step_end.max() - timing.step_start.min()) if len(timing.step_end) else 0.0
