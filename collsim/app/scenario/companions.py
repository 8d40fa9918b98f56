"""Another collective at the same time: what may run, on which ranks, and how code says so. Nothing here knows
Streamlit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import collsim as cs
from collsim.simulate import ConcurrentTrace, Engine
from collsim.viz.timeline.timeline_document import build_encoded_timeline

#: The same once more (two jobs on one machine); an allreduce inside each node, as tensor parallelism has it; one for
#: each position in a node across all nodes, as data parallelism has it.
COMPANIONS = ("", "again", "tensor", "data")
RING = "allreduce_ring"


@dataclass(frozen=True)
class ConcurrentRuns:
    """Collectives that ran at the same time, as plain data, in the order in which they were given.

    Attributes:
        timeline: what the player draws.
        rows: algorithm, ranks, time alone (s), time next to the others (s), slow-down.
    """

    timeline: dict[str, object]
    rows: tuple[tuple[str, int, float, float, float], ...]


def find_companions(topology: cs.Topology) -> list[str]:
    """List what can run at the same time on a topology: groups need several nodes with several ranks each.

    Args:
        topology: The machine or network; None where it cannot be built.
    """
    if topology.ranks < 2:
        return [""]
    sizes = np.unique(_find_nodes(topology), return_counts=True)[1]
    if len(sizes) > 1 and sizes.min() == sizes.max() > 1:
        return list(COMPANIONS)
    return list(COMPANIONS[:2])


def list_groups(what: str, topology: cs.Topology) -> list[list[int]]:
    """List the ranks of each companion; none for "again", which has the ranks of the run itself.

    Args:
        what: Name of what runs at the same time.
        topology: The machine or network.
    """
    if what not in ("tensor", "data"):
        return []
    nodes = _find_nodes(topology)
    inside = [np.flatnonzero(nodes == n).tolist() for n in np.unique(nodes)]
    if what == "tensor":
        return inside
    return [list(ranks) for ranks in zip(*inside, strict=True)]


def _find_nodes(topology: cs.Topology) -> np.ndarray[Any, Any]:
    """The node of each rank."""
    return topology.devices.node[topology.endpoint_device[: topology.ranks]]


def run_together(
    plan: cs.Schedule, what: str, topology: cs.Topology, nbytes: str, dtype: str, engine: Engine, **settings: Any
) -> ConcurrentTrace:
    """Run a schedule and its companions at the same time.

    Args:
        plan: The schedule.
        what: Name of what runs at the same time.
        topology: The machine or network.
        nbytes: Size of the buffer with its unit.
        dtype: Type of the numbers.
        engine: Name of the engine.
        **settings: Keywords of `simulate` that belong to the engine.

    Raises:
        CollsimError: Where they do not fit the topology, or an option is wrong.
    """
    ranks: list[list[int] | None] = [*list_groups(what, topology)]
    others = [cs.schedule(RING, ranks=len(group)) for group in ranks if group] or [plan]
    return cs.simulate([plan, *others], topology, nbytes, dtype, engine, ranks=[None, *(ranks or [None])], **settings)


def count_transfers(plan: cs.Schedule, what: str, topology: cs.Topology) -> int:
    """Transfers of all at once.

    Args:
        plan: The schedule.
        what: Name of what runs at the same time.
        topology: The machine or network.
    """
    ranks = list_groups(what, topology)
    if ranks:
        companion_transfers = sum(2 * (len(r) - 1) * len(r) for r in ranks)
    else:
        companion_transfers = len(plan) * bool(what)
    return len(plan) + companion_transfers


def build_concurrent_runs(together: ConcurrentTrace) -> ConcurrentRuns:
    """What the page shows of all at once.

    Args:
        together: Several collectives at once.
    """
    runs = zip(together, together.alone, together.slowdown.tolist(), strict=True)
    rows = [(t.schedule.name, t.schedule.ranks, alone.time, t.time, factor) for t, alone, factor in runs]
    return ConcurrentRuns(build_encoded_timeline(together), tuple(rows))


def write_python(what: str, topology: cs.Topology) -> str:
    """Lines after `plan = ...` that name the `plans` and `ranks` of all that run at once.

    Args:
        what: Name of what runs at the same time.
        topology: The machine or network.
    """
    ranks = list_groups(what, topology)
    if not ranks:
        return "plans, ranks = [plan, plan], None\n"
    step, span = ranks[0][1] - ranks[0][0], len(ranks[0])
    group_ranks = f"range(g, g + {span})"
    if what == "data":
        group_ranks = f"range(g, {topology.ranks}, {step})"
    first = f"range(0, {topology.ranks}, {span})"
    if what == "data":
        first = f"range({step})"
    listed = f"[list({group_ranks}) for g in {first}]"
    if ranks != [
        list(range(g, topology.ranks, step) if what == "data" else range(g, g + span)) for g in [r[0] for r in ranks]
    ]:
        listed = repr(ranks)  # another order of ranks than node by node
    return (
        f"groups = {listed}\nplans = [plan, *[cs.schedule({RING!r}, ranks={span})] * {len(ranks)}]\nranks = [None, "
        "*groups]\n"
    )


def write_command(what: str, topology: cs.Topology, algorithm: str) -> list[str]:
    """Words of the command line that say the same.

    Args:
        what: Name of what runs at the same time.
        topology: The machine or network.
        algorithm: Name of the algorithm.
    """
    ranks = list_groups(what, topology)
    rank_lists = [",".join(map(str, r)) for r in ranks]
    if ranks:
        return [word for r in rank_lists for word in ("--beside", f"{RING}@{r}")]
    return ["--beside", algorithm]
