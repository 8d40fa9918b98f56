"""The schedule that is synthesized for a machine, as one of the algorithms of a sweep.

The package of synthesis, and the compiler with it, is imported when somebody asks for such a schedule, so that
`import collsim` stays quick.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..collective import collectives, get_collective
from ..errors import CollsimError, describe_unknown
from ..schedule import Schedule
from ..simulate import Engine, Trace, simulate
from ..topology import Topology

#: Its name among algorithms: a schedule for each machine and size, found and not chosen.
SYNTHESIZED = "synthesized"
OPTIONS = ("effort", "method", "pieces", "root", "switches")
_MAX_TREES = 256  # ranks: beyond, packing takes minutes


def can_synthesize(name: str) -> bool:
    """Is a collective synthesized? Not a sendrecv, where every rank has one peer and one route to it, and not an
    alltoallv or a dispatch, whose parts differ in size.

    Args:
        name: Of the collective.

    Returns:
        True where `synthesize` takes it.
    """
    kind = get_collective(name)
    return kind.after != "neighbour" and not kind.has_targets


def check_options(names: Iterable[str], options: Iterable[str]) -> None:
    """Raise CollsimError for collectives that are not synthesized, and for options that are none of synthesis.

    Args:
        names: Of collectives.
        options: Names of options.
    """
    for name in names:
        if not can_synthesize(name):
            message = "{name} cannot be synthesized; known: {known}"
            raise CollsimError(message, name=name, known=", ".join(filter(can_synthesize, collectives())))
    for option in options:
        if option not in OPTIONS:
            raise CollsimError(describe_unknown("option of synthesis", option, OPTIONS))


def time_synthesized(
    name: str,
    topology: Topology,
    nbytes: Any,
    dtype: str = "float32",
    engine: Engine = "event",
    *,
    options: Mapping[str, Any] | None = None,
    conditions: Mapping[str, Any] | None = None,
) -> Trace:
    """Time what is synthesized for a size.

    A matching has steps of unequal length, for which a barrier after each would be unfair: with `lockstep` the trees
    are tried as well.

    Args:
        name: Of the collective.
        topology: The network.
        nbytes: nccl-tests' size.
        dtype: Type of an element.
        engine: `"event"` or `"lockstep"`.
        options: Of `synthesize`.
        conditions: Options of the event engine.

    Returns:
        The fastest run.

    Raises:
        CollsimError: As `synthesize` and `simulate`.
    """

    def run(plan: Schedule) -> Trace:
        return simulate(plan, topology, nbytes, dtype, engine, **(conditions or {}))

    schedules = _list_candidates(name, topology, nbytes, engine, options or {})
    return min(map(run, schedules), key=lambda trace: trace.time)


def _list_candidates(
    name: str, topology: Topology, nbytes: Any, engine: Engine, options: Mapping[str, Any]
) -> list[Schedule]:
    """What is synthesized for a size, and the trees too where a barrier may make them the faster."""
    from ..synthesis import report, synthesize
    from ..synthesis.tree_packing.forests import FORESTS

    schedules = [synthesize(name, topology, nbytes, **options)]
    search = report(schedules[0])
    can_try_trees = topology.ranks <= _MAX_TREES and name in FORESTS and options.get("method") is None
    if engine == "lockstep" and can_try_trees and search is not None and search.method == "greedy":
        schedules.append(synthesize(name, topology, nbytes, **{**options, "method": "trees"}))
    return schedules
