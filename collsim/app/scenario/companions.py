"""Another collective at the same time: what may run beside a run, on which ranks, and how code says so. Nothing here
knows Streamlit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import collsim as cs
from collsim.simulate import Engine, Together
from collsim.viz.timeline.document import build_encoded_timeline

#: The same once more (two jobs on one machine); an allreduce inside each node, as tensor parallelism has it; one for
#: each place in a node across all nodes, as data parallelism has it.
BESIDE = ("", "again", "tensor", "data")
RING = "allreduce_ring"


@dataclass(frozen=True)
class Several:
    """All collectives at once, as plain data: the player's timeline, and a row for each in the order in which they were
    given.

    Attributes:
        rows: algorithm, ranks, time alone (s), time beside the others (s), slow-down.
    """

    timeline: dict[str, Any]
    rows: tuple[tuple[str, int, float, float, float], ...]


def offered(place: cs.Topology | None) -> list[str]:
    """What can run beside on a place: groups need several nodes with several ranks each."""
    if place is None or place.ranks < 2:
        return [""]
    sizes = np.unique(_nodes(place), return_counts=True)[1]
    return list(BESIDE) if len(sizes) > 1 and sizes.min() == sizes.max() > 1 else list(BESIDE[:2])


def groups(what: str, place: cs.Topology) -> list[list[int]]:
    """The ranks of each collective that runs beside; none for the same once more, which has those of the run itself."""
    if what not in ("tensor", "data"):
        return []
    nodes = _nodes(place)
    inside = [np.flatnonzero(nodes == n).tolist() for n in np.unique(nodes)]
    return inside if what == "tensor" else [list(ranks) for ranks in zip(*inside, strict=True)]


def _nodes(place: cs.Topology) -> np.ndarray[Any, Any]:
    """The node of each rank."""
    return place.devices.node[place.endpoint_device[: place.ranks]]


def run_together(
    plan: cs.Schedule, what: str, place: cs.Topology, nbytes: str, dtype: str, engine: Engine, **settings: Any
) -> Together:
    """A schedule with others beside it. Raises CollsimError for what cannot be."""
    ranks: list[list[int] | None] = [*groups(what, place)]
    others = [cs.schedule(RING, ranks=len(group)) for group in ranks if group] or [plan]
    return cs.simulate([plan, *others], place, nbytes, dtype, engine, ranks=[None, *(ranks or [None])], **settings)


def transfers(plan: cs.Schedule, what: str, place: cs.Topology) -> int:
    """Transfers of all at once."""
    ranks = groups(what, place)
    beside = sum(2 * (len(r) - 1) * len(r) for r in ranks) if ranks else len(plan) * bool(what)
    return len(plan) + beside


def several(together: Together) -> Several:
    """What the page shows of all at once."""
    runs = zip(together, together.alone, together.slowdown.tolist(), strict=True)
    rows = [(t.schedule.name, t.schedule.ranks, alone.time, t.time, factor) for t, alone, factor in runs]
    return Several(build_encoded_timeline(together), tuple(rows))


def python(what: str, place: cs.Topology) -> str:
    """Lines after `plan = ...` that name the `plans` and `ranks` of all that run at once."""
    ranks = groups(what, place)
    if not ranks:
        return "plans, ranks = [plan, plan], None\n"
    step, span = ranks[0][1] - ranks[0][0], len(ranks[0])
    each = f"range(g, {place.ranks}, {step})" if what == "data" else f"range(g, g + {span})"
    first = f"range({step})" if what == "data" else f"range(0, {place.ranks}, {span})"
    listed = f"[list({each}) for g in {first}]"
    if ranks != [
        list(range(g, place.ranks, step) if what == "data" else range(g, g + span)) for g in [r[0] for r in ranks]
    ]:
        listed = repr(ranks)  # another order of ranks than node by node
    return (
        f"groups = {listed}\nplans = [plan, *[cs.schedule({RING!r}, ranks={span})] * {len(ranks)}]\nranks = [None, "
        "*groups]\n"
    )


def command(what: str, place: cs.Topology, algorithm: str) -> list[str]:
    """Words of the command line that say the same."""
    ranks = groups(what, place)
    each = [",".join(map(str, r)) for r in ranks]
    return [word for r in each for word in ("--beside", f"{RING}@{r}")] if ranks else ["--beside", algorithm]
