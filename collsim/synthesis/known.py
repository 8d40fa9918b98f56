"""The algorithms of the library as candidates: who times everything must not be slower than a ring.

Ring and tree are tried with one channel or all that a machine offers and few or many chunks; beside them what uses
switches that reduce or multicast (NVLS, SHARP), where the machine has them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from ..collective import Collective
from ..errors import CollsimError, Sentence
from ..registry import Algorithm, algorithms, schedule
from ..schedule import Schedule
from ..simulate import simulate
from ..simulate.variants import Search
from ..topology import Topology

MOST_RANKS, MOST_ROWS = 256, 300_000
WAYS = ("ring", "chain", "double_binary_tree", "tree", "pat", "binomial", "recursive_doubling", "bruck")
_SWITCH = Sentence(", whose data switches of the machine reduce or multicast")


def reducing(topology: Topology) -> bool:
    """Does the machine say that a switch of its own reduces? Of a generic network nobody knows."""
    if topology.shape == "switch":
        return False
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
    for name, entry in algorithms(kind.name).items():
        known = name.removeprefix(f"{kind.name}_") in WAYS
        if (known and plain) or (helped and getattr(entry, "helpers_on", "host") == "switch"):
            yield entry


def quickest(
    kind: Collective, topology: Topology, ranks: int, root: int, nbytes: int, switches: bool, plain: bool
) -> tuple[Schedule, float, Sentence] | None:
    """The fastest of them, its seconds by the event engine, and what is said of it; None where none runs here."""
    best: tuple[float, Schedule, Algorithm] | None = None
    for entry in entries(kind, topology, switches, plain):
        for made in _made(entry, topology, ranks, root):
            try:
                time = simulate(made, topology, nbytes, engine="event").time
            except CollsimError:  # no place for its helpers here
                break
            if best is None or time < best[0] * (1 - 1e-9):
                best = time, made, entry
    if best is None:
        return None
    time, made, entry = best
    helped: Any = _SWITCH if made.endpoints > made.ranks else ""
    says = Sentence(
        "Of all that was timed the library's {name} is the fastest{helped}; no trees and no matching beat it.",
        name=entry.name,
        helped=helped,
    )
    return made, time, says


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
