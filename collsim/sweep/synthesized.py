"""The schedule that is synthesized for a machine, as one of the algorithms of a sweep.

Its room, and the compiler with it, is imported when somebody asks for such a schedule: `import collsim` stays quick.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..collective import collective, collectives
from ..errors import CollsimError, describe_unknown
from ..schedule import Schedule
from ..simulate import Engine, Trace, simulate
from ..topology import Topology

#: Its name among algorithms: a schedule for each machine and size, found and not chosen.
SYNTHESIZED = "synthesized"
OPTIONS = ("effort", "method", "pieces", "root", "switches")
_MOST_TREES = 256  # ranks: beyond, packing takes minutes

Told = Callable[[int, int, str], None] | None


def can_be(name: str) -> bool:
    """Is a collective synthesized? Not a sendrecv: every rank has one peer, and one route to it."""
    return collective(name).after != "neighbour"


def check_options(names: Iterable[str], options: Iterable[str]) -> None:
    """Raises CollsimError for collectives that are not synthesized, and for options that are none of synthesis."""
    for name in names:
        if not can_be(name):
            why = "{name} cannot be synthesized; known: {known}"
            raise CollsimError(why, name=name, known=", ".join(filter(can_be, collectives())))
    for option in options:
        if option not in OPTIONS:
            raise CollsimError(describe_unknown("option of synthesis", option, OPTIONS))


def timed(
    name: str,
    topology: Topology,
    nbytes: Any,
    dtype: str = "float32",
    engine: Engine = "event",
    *,
    options: Mapping[str, Any] | None = None,
    conditions: Mapping[str, Any] | None = None,
    ranks: int | None = None,
    told: Told = None,
) -> Trace:
    """The fastest run of what is synthesized for a size, by one of the engines.

    A matching has steps of unequal length, for which a barrier after each would be unfair: with `lockstep` the trees
    are tried as well. Raises as `synthesize` and `simulate`.
    """

    def run(plan: Schedule) -> Trace:
        return simulate(plan, topology, nbytes, dtype, engine, **(conditions or {}))

    given = {"ranks": ranks, "progress": told, **(options or {})}
    return min(map(run, _candidates(name, topology, nbytes, engine, given)), key=lambda trace: trace.time)


def _candidates(name: str, topology: Topology, nbytes: Any, engine: Engine, given: Mapping[str, Any]) -> list[Schedule]:
    """What is synthesized for a size, and the trees too where a barrier may make them the faster."""
    from ..synthesis import report, synthesize
    from ..synthesis.forests import FORESTS

    found = [synthesize(name, topology, nbytes, **given)]
    said = report(found[0])
    small = topology.ranks <= _MOST_TREES and name in FORESTS and given.get("method") is None
    if engine == "lockstep" and small and said is not None and said.method == "greedy":
        found.append(synthesize(name, topology, nbytes, **{**given, "method": "trees"}))
    return found
