"""Results of concurrent collectives, each by itself and merged into one run to look at, and of plain flows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from ..bounds import Bound
from ..dtypes import Floats, Longs
from ..errors.dependencies import pandas as pd
from ..schedule import Schedule
from ..steps import Step
from ..topology import Topology
from ..units import format_time
from .link_usage import Usage, compute_usage, require_link
from .lockstep import Segments, Timing
from .trace import Trace


@dataclass(frozen=True, eq=False, repr=False)
class FlowTrace:
    """When plain flows ran.

    Attributes:
        topology: where the flows ran.
        src: (flows,) rank that sends.
        dst: (flows,) rank that receives.
        nbytes: (flows,) bytes.
        sharing: how flows shared a link: `fair`, `fifo` or `none`, as in `simulate`.
        start: (flows,) s.
        finish: (flows,) s, with the flow's latency.
        timing: bytes per link, and the rates over time, as the engine returned them.

    Examples:
        >>> import collsim as cs
        >>> from collsim.simulate import simulate_flows
        >>> flows = simulate_flows(cs.topology.switch(4, bandwidth="1GB/s", alpha=0), [0, 1], [2, 2], "1MB")
        >>> flows.time  # both share the cable to rank 2
        0.002
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
        """What one link carries over time, B/s.

        Args:
            link: Number of the link, its row in `topology.links`.
        """
        return compute_usage(self.segments, require_link(link, self.topology), self.topology.routes(self.src, self.dst))

    def to_frame(self) -> pd.DataFrame:
        """A row per flow: src, dst, bytes, start, finish (s)."""
        return pd.DataFrame(
            {"src": self.src, "dst": self.dst, "bytes": self.nbytes, "start": self.start, "finish": self.finish}
        )

    def __repr__(self) -> str:
        return f"<FlowTrace {len(self.src)} flows on {self.topology.name}, {self.sharing}: {format_time(self.time)}>"


@dataclass(frozen=True, eq=False, repr=False)
class MergedTrace(Trace):
    """Several collectives as one run, for whatever shows a Trace: endpoints are the topology's, slots and channels of
    one collective stand behind those of the one before, steps are in the order in which they begin.

    Attributes:
        parts: the Trace of each collective.
        placements: its endpoints in the common numbering.
        first_slot: its first slot.
        step_of: (steps, 2) part, and number of the step in it.
        row_of: for each part the rows of its transfers.
        concurrent: what it was made of.

    Examples:
        >>> import collsim as cs
        >>> ring = cs.schedule("allreduce_ring", ranks=4)
        >>> both = cs.simulate([ring, ring], cs.topology.switch(4), nbytes="1MiB", engine="event")
        >>> [part.schedule.label for part in both.whole.parts]
        ['allreduce_ring(4)', 'allreduce_ring(4)']
    """

    parts: tuple[Trace, ...] = ()
    placements: tuple[Longs, ...] = ()
    first_slot: tuple[int, ...] = ()
    step_of: Longs = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    row_of: tuple[Longs, ...] = ()
    concurrent: ConcurrentTrace = field(kw_only=True)

    @property
    def slowdown(self) -> Floats:
        """(parts,) how many times longer each takes than alone; runs each alone when first asked for."""
        return self.concurrent.slowdown

    @property
    def busbw(self) -> float:
        """0: buffers of several collectives have no common factor."""
        return 0.0

    @cached_property
    def bound(self) -> Bound:
        """The largest of the collectives' bounds: no way of running them side by side can beat it."""
        return max((part.bound for part in self.parts), key=lambda bound: bound.time)


@dataclass(frozen=True, eq=False, repr=False)
class ConcurrentTrace:
    """Several collectives at once. It is a sequence of their Traces, in the order given; what shows a Trace shows
    `whole`.

    Attributes:
        topology: what all of them run on.
        traces: one Trace each; its `time` is the moment it ends, counted from 0 s of the whole run.
        placements: the topology's endpoint of each endpoint of each schedule.
        background: what the other traffic took, where there was some.
        run_alone: runs each with nothing beside it.
        rerun: runs all again with the links of another topology, or without bytes.

    Examples:
        >>> import collsim as cs
        >>> ring = cs.schedule("allreduce_ring", ranks=4)
        >>> both = cs.simulate([ring, ring], cs.topology.switch(4), nbytes="1MiB", engine="event")
        >>> len(both)
        2
        >>> both.slowdown.round(2).tolist()
        [1.84, 1.84]
    """

    traces: list[Trace]
    topology: Topology
    placements: list[Longs]
    background: FlowTrace | None
    run_alone: Callable[[], list[Trace]]
    rerun: Callable[[Topology, bool], ConcurrentTrace]

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
        return self.run_alone()

    @cached_property
    def slowdown(self) -> Floats:
        """(collectives,) how many times longer each takes than alone; 1.0 is undisturbed."""
        durations, by_itself = (np.array([t.duration for t in traces]) for traces in (self.traces, self.alone))
        factor: Floats = np.divide(durations, by_itself, out=np.ones_like(durations), where=by_itself > 0)
        return factor

    @cached_property
    def whole(self) -> MergedTrace:
        """All of them as one run, for tables and pictures."""
        return _merge_traces(self)

    @cached_property
    def link_bytes(self) -> Longs:
        """(links,) bytes of all of them, and of the background, over each directed link."""
        total = sum((t.link_bytes for t in self.traces), np.zeros(len(self.topology.links), np.int64))
        if self.background is not None:
            return total + self.background.link_bytes
        return total

    @property
    def links(self) -> pd.DataFrame:
        """A row per directed link, as `Trace.links`, of all collectives together until the last has ended."""
        return self.whole.links

    def usage(self, link: int) -> Usage:
        """What one link carries over time, of all collectives.

        Args:
            link: Number of the link, its row in `topology.links`.
        """
        return self.whole.usage(link)

    def to_frame(self) -> pd.DataFrame:
        """A row per collective: the figures of its Trace (`time` is the moment at which it ends), begin, duration,
        alone (its duration with no other collective, s) and slowdown."""
        frame = pd.DataFrame([t.row() for t in self.traces])
        frame["begin"], frame["duration"] = [t.begin for t in self.traces], [t.duration for t in self.traces]
        frame["alone"] = [t.duration for t in self.alone]
        frame["slowdown"] = self.slowdown
        return frame

    def row(self) -> list[dict[str, object]]:
        """The figures of each Trace."""
        return [t.row() for t in self.traces]

    def animate(self, language: str = "en", **options: object) -> Any:
        """The player with all of them, for a notebook cell.

        Args:
            language: `en` or `zh`.
            options: As those of `Trace.animate`.
        """
        return self.whole.animate(language, **options)

    def save(self, path: str | Path, **options: object) -> Any:
        """Write all of them to one file, as `Trace.save`.

        Args:
            path: File to write; its suffix says the format.
            options: As those of `Trace.save`.
        """
        return self.whole.save(path, **options)

    def _repr_html_(self) -> str | None:
        return self.whole._repr_html_()

    def _repr_png_(self) -> bytes | None:
        return self.whole._repr_png_()

    def __repr__(self) -> str:
        parts = ", ".join(f"{t.schedule.label} {format_time(t.time)}" for t in self.traces)
        return f"<ConcurrentTrace on {self.topology.name}: {parts}>"


# ---- as one run


def _merge_traces(concurrent: ConcurrentTrace) -> MergedTrace:
    traces = concurrent.traces
    # Each schedule gets slots and channels of its own behind those of the schedules before it.
    slots = np.cumsum([0, *(t.schedule.slots for t in traces)]).tolist()
    channels = np.cumsum([0, *(t.schedule.channels for t in traces)]).tolist()
    step_of = np.array([(p, k) for p, t in enumerate(traces) for k in range(t.schedule.steps)], np.int64).reshape(-1, 2)
    begin, end = (np.concatenate([getattr(t.timing, name) for t in traces]) for name in ("step_start", "step_end"))
    # A stable sort: steps that begin together stay in the order of their schedules, so that two runs look alike.
    order = np.argsort(begin, kind="stable")
    steps = [
        _renumber_step(step, placement, slots[p], channels[p])
        for p, (t, placement) in enumerate(zip(traces, concurrent.placements, strict=True))
        for step in t.schedule.each_step()
    ]
    row_of = _find_rows(traces, steps, order)
    names = " + ".join(dict.fromkeys(t.schedule.name for t in traces))
    topology, collective = concurrent.topology, traces[0].schedule.collective
    in_order = tuple(steps[i] for i in order)
    schedule = Schedule(names, collective, topology.ranks, topology.endpoints, slots[-1], slots[-1], in_order)
    timing = Timing(
        begin[order],
        end[order],
        np.sum([t.timing.link_bytes for t in traces], axis=0),
        partial(_join_times, traces, row_of),
        traces[0].how,
        partial(_join_segments, traces, row_of),
    )
    first = traces[0]
    return MergedTrace(
        schedule,
        concurrent.topology,
        sum(t.nbytes for t in traces),
        first.dtype,
        first.engine,
        np.concatenate([t.slot_bytes for t in traces]),
        np.arange(concurrent.topology.endpoints),
        timing,
        partial(_run_whole_again, concurrent),
        first.conditions,
        () if concurrent.background is None else (concurrent.background.timing,),
        concurrent.background,
        min(t.begin for t in traces),
        tuple(traces),
        tuple(concurrent.placements),
        tuple(slots[:-1]),
        step_of[order],
        tuple(row_of),
        concurrent=concurrent,
    )


def _run_whole_again(concurrent: ConcurrentTrace, topology: Topology, no_bytes: bool) -> MergedTrace:
    return concurrent.rerun(topology, no_bytes).whole


def _renumber_step(step: Step, placement: Longs, slot: int, channel: int) -> Step:
    """A step in the common numbering."""
    src, dst = (placement[ends].astype(np.int32) for ends in (step.src, step.dst))
    return replace(step, src=src, dst=dst, chunk=step.chunk + np.int32(slot), into=step.into + np.int32(slot),
                   channel=step.channel + np.int32(channel))  # fmt: skip


def _find_rows(traces: Sequence[Trace], steps: Sequence[Step], order: Longs) -> list[Longs]:
    """For each part the rows of its transfers, when `steps` are put in this order."""
    length = np.array([len(step) for step in steps], np.int64)
    first = np.empty(len(steps), np.int64)
    first[order] = np.concatenate([[0], np.cumsum(length[order])])[:-1]
    rows = np.repeat(first, length) + np.arange(length.sum()) - np.repeat(np.cumsum(length) - length, length)
    return np.split(rows, np.cumsum([len(t.schedule) for t in traces])[:-1])


def _join_times(traces: Sequence[Trace], row_of: Sequence[Longs]) -> tuple[Floats, Floats]:
    start, finish = (np.empty(sum(map(len, row_of))) for _ in range(2))
    for t, rows in zip(traces, row_of, strict=True):
        start[rows], finish[rows] = t.start, t.finish
    return start, finish


def _join_segments(traces: Sequence[Trace], row_of: Sequence[Longs]) -> Segments:
    flows = [t.segments._replace(row=rows[t.segments.row]) for t, rows in zip(traces, row_of, strict=True)]
    return Segments(*(np.concatenate(columns) for columns in zip(*flows, strict=True)))
