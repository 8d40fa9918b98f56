"""The algorithms of the library as candidates: who times everything must not be slower than a ring.

Ring and tree are tried with one channel or all that a machine offers and few or many chunks; beside them what uses
switches that reduce or multicast (NVLS, SHARP), where the machine has them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from ..collective import Collective
from ..errors import CollsimError, Sentence
from ..faults import find_fault, require_right
from ..registry import Algorithm, algorithms, schedule
from ..schedule import Schedule
from ..simulate import Trace, simulate
from ..simulate.variants import Search
from ..topology import Topology
from . import phases
from .personal import PERSONAL
from .rates import pairs_of

MOST_RANKS, MOST_ROWS = 256, 300_000
WAYS = ("ring", "chain", "double_binary_tree", "tree", "pat", "binomial", "recursive_doubling", "bruck")
PERSONAL_WAYS = ("pairwise", "direct", "bruck")
_SWITCH = Sentence(", whose data switches of the machine reduce or multicast")


def reducing(topology: Topology) -> bool:
    """Has the topology a switch that reduces, by the rule of `with_helpers`?"""
    for count in {1, len(set(topology.devices.node[topology.endpoint_device[: topology.ranks]].tolist()))}:
        try:
            topology.with_helpers(count, on="switch")
        except CollsimError:
            continue
        return True
    return False


def entries(kind: Collective, topology: Topology, switches: bool, plain: bool) -> Iterator[Algorithm]:
    """The algorithms to try: `plain` ring and tree, and those of `switches`."""
    helped = switches and reducing(topology)
    for entry in algorithms(kind.name).values():
        known = entry.pattern in (PERSONAL_WAYS if kind.name in PERSONAL else WAYS)
        if (known and plain) or (helped and entry.helpers_on != "host"):
            yield entry


def raced(
    kind: Collective,
    topology: Topology,
    ranks: int,
    root: int,
    nbytes: int,
    switches: bool,
    plain: bool,
    told: Callable[..., None] | None = None,
) -> dict[str, Trace]:
    """The fastest run of each of them by the event engine, by name; of those that run here. `told` is called with
    (algorithms timed, in all, what)."""
    best: dict[str, Trace] = {}
    tried = list(entries(kind, topology, switches, plain))
    for number, entry in enumerate(tried):
        if told is not None:
            told(number, len(tried), phases.LIBRARY)
        for made in _made(entry, topology, ranks, root):
            try:
                require_right(made)
                trace = simulate(made, topology, nbytes, engine="event")
            except CollsimError:  # no place for its helpers here, or wrong
                break
            if entry.name not in best or trace.time < best[entry.name].time * (1 - 1e-9):
                best[entry.name] = trace
    return best


def quickest(runs: Mapping[str, Trace]) -> tuple[Trace, Sentence]:
    """The fastest of at least one run, of equals the first, and what is said of it."""
    name, best = next(iter(runs.items()))
    for other, trace in runs.items():
        if trace.time < best.time * (1 - 1e-9):
            name, best = other, trace
    helped: Any = _SWITCH if best.schedule.endpoints > best.schedule.ranks else ""
    says = Sentence(
        "Of all that was timed the library's {name} is the fastest{helped}; no trees and no matching beat it.",
        name=name,
        helped=helped,
    )
    return best, says


def shortest(kind: Collective, topology: Topology, ranks: int, steps: int) -> Schedule | None:
    """The library's schedule of fewest steps, fewer than `steps`, whose transfers pass no other rank; or None."""
    direct = pairs_of(topology, ranks)
    pairs = np.zeros((ranks, ranks), bool)
    pairs[direct.src, direct.dst] = True
    best = None
    for entry in algorithms(kind.name).values():
        try:
            made = schedule(entry, ranks=ranks, topology=topology)
        except CollsimError:  # not for so many ranks, or no place for its helpers here
            continue
        if made.endpoints > ranks or made.steps >= steps or len(made) > MOST_ROWS:
            continue
        rows = made.transfers
        if pairs[rows["src"], rows["dst"]].all() and find_fault(made) is None:
            best, steps = made, made.steps
    return best


def _made(entry: Algorithm, topology: Topology, ranks: int, root: int) -> Iterator[Schedule]:
    """Its schedules over channels and chunks, as far as they are small enough to time."""
    at = {"root": root} if "root" in entry.options else {}
    for options in Search.on(topology).of(entry):
        try:
            made = schedule(entry, ranks=ranks, topology=topology, **options, **at)
        except CollsimError:
            return
        if len(made) <= MOST_ROWS:
            yield made


def named(made: Schedule, kind: Collective, options: dict[str, Any]) -> Schedule:
    """The schedule as one that was synthesized; its options say which algorithm it is."""
    told = {**options, "algorithm": made.name, **made.options}
    return replace(made, name=f"synthesized_{kind.name}", options=MappingProxyType(told))
