"""Several steps of training at the same time on one network: what they cost each other, and over which link."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..dtypes import Floats, Longs
from ..errors import CollsimError, require_language
from ..errors.arguments import check_arguments
from ..errors.dependencies import pandas as pd
from ..locale import join_texts, translate
from ..topology import Topology
from ..units import format_time
from .step_request import get_collective_model
from .step_trace import StepTrace
from .timing.shared_timing import RunningStep, time_shared


@dataclass(frozen=True, eq=False, repr=False)
class ConcurrentSteps:
    """Steps that ran at the same time; a sequence of their StepTraces, in the order given.

    Attributes:
        topology: what all of them ran on.
        traces: as they ran together.
        alone: as each runs with nothing beside it.

    Examples:
        >>> import collsim as cs
        >>> network = cs.topology.switch(4, bandwidth="25GB/s", alpha="1us")
        >>> options = dict(parallel=cs.ddp(), batch=64, compute="A100")
        >>> steps = [cs.training_step("resnet18", network, ranks=ranks, **options) for ranks in ([0, 1], [2, 3])]
        >>> len(cs.train.time_concurrent_steps(steps))
        2
    """

    topology: Topology
    traces: tuple[StepTrace, ...]
    alone: tuple[StepTrace, ...]

    def __len__(self) -> int:
        return len(self.traces)

    def __getitem__(self, i: int) -> StepTrace:
        return self.traces[i]

    def __iter__(self) -> Iterator[StepTrace]:
        return iter(self.traces)

    @property
    def time(self) -> float:
        """Seconds until the last step has ended."""
        return max(trace.time for trace in self.traces)

    @property
    def slowdown(self) -> Floats:
        """(steps,) how many times longer each takes than alone."""
        return np.array([a.time / b.time for a, b in zip(self.traces, self.alone, strict=True)])

    @cached_property
    def shared_link(self) -> int | None:
        """The busiest of the links that more than one step uses; None where they share none."""
        links = self.topology.links
        carried = np.array([_get_link_bytes(trace)[: len(links)] for trace in self.traces])
        seconds = np.where((carried > 0).sum(axis=0) > 1, carried.sum(axis=0) / links.bandwidth, 0.0)
        if seconds.any():
            return int(np.argmax(seconds))
        return None

    def explain(self, language: str = "en") -> str:
        """Say how much longer each step takes, over which link they meet, and what twice as fast links of its kind
        would change.

        Args:
            language: `en` or `zh`.

        Returns:
            The sentences.

        Raises:
            CollsimError: The language is unknown.
        """
        require_language(language)
        parts = [
            f"{t.step.model.name} {format_time(a.time)} → {format_time(t.time)} (× {s:.3g})"
            for t, a, s in zip(self.traces, self.alone, self.slowdown, strict=True)
        ]
        listed = join_texts("semicolons", parts)
        if self.shared_link is None:
            return translate(language, "train", "concurrent_steps.no_shared_link", steps=listed)
        links = self.topology.links
        cable, name = links.cables[links.cable[self.shared_link]], self.topology.link_name(self.shared_link)
        # What would change the slowdown is asked of the model itself: the step runs again with links of that kind
        # doubled.
        wider = self._change_topology(self.topology.scaled(kind=cable.kind, by=2))
        now = ", ".join(f"× {s:.3g}" for s in wider.slowdown)
        key = "concurrent_steps.meet_on_link"
        return translate(language, "train", key, steps=listed, link=name, cable=cable.label, kind=cable.kind, now=now)

    def _change_topology(self, topology: Topology) -> ConcurrentSteps:
        """The same steps with other links."""
        return time_concurrent_steps([trace.what_if(machine=topology) for trace in self.alone])

    def to_frame(self) -> pd.DataFrame:
        """A row per step: the figures of its StepTrace, with alone (s) and slowdown."""
        frame = pd.DataFrame([trace.row() for trace in self.traces])
        frame["alone"], frame["slowdown"] = [trace.time for trace in self.alone], self.slowdown
        return frame

    def __repr__(self) -> str:
        parts = ", ".join(f"{t.step.model.name} × {s:.3g}" for t, s in zip(self.traces, self.slowdown, strict=True))
        return f"<ConcurrentSteps on {self.topology.name}: {parts}>"


def _get_link_bytes(trace: StepTrace) -> Longs:
    if trace.link_bytes is None:
        return np.zeros(0, np.int64)
    return trace.link_bytes


@check_arguments
def time_concurrent_steps(traces: Sequence[StepTrace]) -> ConcurrentSteps:
    """Run steps at the same time, all from 0 s: their collectives share links.

    Args:
        traces: of `training_step`, all on one topology, each on GPUs of its own (`ranks=`).

    Returns:
        The steps as they ran together, and as each runs with nothing beside it.

    Raises:
        CollsimError: For fewer than two, other topologies, and GPUs that two of them use.

    Examples:
        >>> import collsim as cs
        >>> network = cs.topology.switch(4, bandwidth="25GB/s", alpha="1us")
        >>> options = dict(parallel=cs.ddp(), batch=64, compute="A100")
        >>> steps = [cs.training_step("resnet18", network, ranks=ranks, **options) for ranks in ([0, 1], [2, 3])]
        >>> together = cs.train.time_concurrent_steps(steps)
        >>> together.time == max(trace.time for trace in together)
        True
    """
    if isinstance(traces, Iterable):
        traces = tuple(traces)
    else:
        traces = (traces,)
    if len(traces) < 2 or not all(isinstance(trace, StepTrace) for trace in traces):
        message = "time_concurrent_steps wants at least two StepTraces, got {traces!r:.200}; training_step makes one"
        raise CollsimError(message, traces=traces)
    first = traces[0].topology
    taken: set[int] = set()
    for trace in traces:
        if not _is_same_network(trace.topology, first):
            message = "steps run on one network: {name} is another than {first_name}"
            raise CollsimError(message, name=trace.topology.name, first_name=first.name)
        ranks = {rank for lane in trace.step.lanes for rank in lane}
        if both := sorted(taken & ranks):
            message = "GPU {gpu} is used by two of the steps; give each GPUs of its own: ranks=[...]"
            raise CollsimError(message, gpu=both[0])
        taken |= ranks
    # Steps alone are timed on shared links, too, or the difference would be one of two models.
    alone = tuple(t if t.request.network == "shared" else t.what_if(network="shared") for t in traces)
    parts = [RunningStep(t.step, _list_task_seconds(t), t.interference) for t in alone]
    timings = time_shared(parts, get_collective_model(traces[0].request), None)
    shared: list[StepTrace] = [
        # A trace of earlier steps would hold steps that ran without neighbours.
        replace(t, begin=r.begin, end=r.end, link_bytes=r.link_bytes, previous=None)
        for t, r in zip(alone, timings, strict=True)
    ]
    return ConcurrentSteps(first, tuple(shared), tuple(replace(t, previous=None) for t in alone))


def _is_same_network(first: Topology, second: Topology) -> bool:
    return first is second or (
        first.name == second.name
        and len(first.links) == len(second.links)
        and np.array_equal(first.links.bandwidth, second.links.bandwidth)
        and np.array_equal(first.endpoint_device, second.endpoint_device)
    )


def _list_task_seconds(trace: StepTrace) -> Floats:
    """Seconds of each task by itself."""
    return trace.costs.seconds + get_collective_model(trace.request).time_collectives(trace.step)
