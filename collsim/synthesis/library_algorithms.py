"""The algorithms of the library as candidates, so that what is synthesized is never slower than a ring.

Ring and tree are tried with one channel or all that a machine offers and few or many chunks, and so are the algorithms
that use switches which reduce or multicast (NVLS, SHARP), where the topology has them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
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
from ..simulate.variants import VariantSearch
from ..topology import Topology
from .pairs import search_phases
from .pairs.alltoall_rates import find_pairs
from .personalized import PERSONALIZED

MAX_RANKS, MAX_ROWS = 256, 300_000
PATTERNS = ("ring", "chain", "double_binary_tree", "tree", "pat", "binomial", "recursive_doubling", "bruck")
PERSONALIZED_PATTERNS = ("pairwise", "direct", "bruck")
_SWITCH = Sentence(", whose data switches of the machine reduce or multicast")


def has_reducing_switch(topology: Topology) -> bool:
    """Has the topology a switch that reduces, by the rule of `with_helpers`?

    Args:
        topology: Asked for one helper, and for one in each node.
    """
    for count in {1, len(set(topology.devices.node[topology.endpoint_device[: topology.ranks]].tolist()))}:
        try:
            topology.with_helpers(count, on="switch")
        except CollsimError:
            continue
        return True
    return False


def _find_candidates(kind: Collective, topology: Topology, switches: bool, ring_and_tree: bool) -> Iterator[Algorithm]:
    """The algorithms to try: ring and tree where `ring_and_tree`, those with reducing switches where `switches`."""
    may_reduce = switches and has_reducing_switch(topology)
    for entry in algorithms(kind.name).values():
        is_listed = entry.pattern in (PERSONALIZED_PATTERNS if kind.name in PERSONALIZED else PATTERNS)
        if (is_listed and ring_and_tree) or (may_reduce and entry.helpers_on != "host"):
            yield entry


def time_candidates(
    kind: Collective,
    topology: Topology,
    ranks: int,
    root: int,
    nbytes: int,
    switches: bool,
    ring_and_tree: bool,
    report: Callable[..., None] | None = None,
) -> dict[str, Trace]:
    """The fastest run of each algorithm that runs here, by the event engine.

    Args:
        kind: the collective.
        topology: the network.
        ranks: so many, the first of the topology.
        root: of the collective, where it has one.
        nbytes: of the operation.
        switches: try those that use switches which reduce.
        ring_and_tree: try ring and tree.
        report: called with (algorithms timed, in all, what).

    Returns:
        A run by the name of its algorithm.
    """
    best: dict[str, Trace] = {}
    candidates = list(_find_candidates(kind, topology, switches, ring_and_tree))
    for number, entry in enumerate(candidates):
        if report is not None:
            report(number, len(candidates), search_phases.LIBRARY)
        fastest = time_fastest_variant(entry, topology, ranks, root, nbytes, most_rows=MAX_ROWS)
        if fastest is not None:
            best[entry.name] = fastest
    return best


def time_fastest_variant(
    entry: Algorithm,
    topology: Topology,
    ranks: int,
    root: int,
    nbytes: int,
    dtype: str = "float32",
    most_rows: float = math.inf,
) -> Trace | None:
    """The fastest run of an algorithm over the channels and chunks that a comparison tries, by the event engine.

    Args:
        entry: the algorithm.
        topology: the network.
        ranks: so many, the first of the topology.
        root: of the collective, where it has one.
        nbytes: of the operation.
        dtype: type of an element.
        most_rows: larger schedules are left out.

    Returns:
        Of equals the first; None where it cannot run here.
    """
    root_option = {"root": root} if "root" in entry.options else {}

    def run_variants() -> Iterator[Trace]:
        for options in VariantSearch.for_topology(topology).list_variants(entry):
            try:
                plan = schedule(entry, ranks=ranks, topology=topology, **options, **root_option)
                if len(plan) <= most_rows:
                    require_right(plan)
                    yield simulate(plan, topology, nbytes, dtype, "event")
            except CollsimError:  # no place for its helpers here, or wrong: its other variants would fail alike
                return

    return _choose_fastest(run_variants())  # which keeps one run, and not all


def _choose_fastest(runs: Iterable[Trace]) -> Trace | None:
    """Of equals the first, with a thousand-millionth of margin, so that rounding does not decide."""
    best = None
    for trace in runs:
        if best is None or trace.time < best.time * (1 - 1e-9):
            best = trace
    return best


def find_fastest_run(runs: Mapping[str, Trace]) -> tuple[Trace, Sentence]:
    """The fastest of at least one run (of equals the first), and a sentence about it.

    Args:
        runs: By name of the algorithm, at least one.
    """
    best = _choose_fastest(runs.values())
    assert best is not None
    if best.schedule.endpoints > best.schedule.ranks:
        switches: Any = _SWITCH
    else:
        switches = ""
    sentence = Sentence(
        "Of all that was timed the library's {name} is the fastest{helped}; no trees and no matching beat it.",
        name=best.schedule.name,
        helped=switches,
    )
    return best, sentence


def find_shortest(kind: Collective, topology: Topology, ranks: int, steps: int) -> Schedule | None:
    """The library's schedule of fewest steps whose transfers pass no other rank.

    Args:
        kind: the collective.
        topology: the network.
        ranks: so many, the first of the topology.
        steps: it has fewer than these.

    Returns:
        The schedule; None where there is none.
    """
    direct_pairs = find_pairs(topology, ranks)
    pairs = np.zeros((ranks, ranks), bool)
    pairs[direct_pairs.src, direct_pairs.dst] = True
    best = None
    for entry in algorithms(kind.name).values():
        try:
            plan = schedule(entry, ranks=ranks, topology=topology)
        except CollsimError:  # not for so many ranks, or no place for its helpers here
            continue
        if plan.endpoints > ranks or plan.steps >= steps or len(plan) > MAX_ROWS:
            continue
        rows = plan.transfers
        # Only schedules whose every transfer has a direct pair count; a relay would cost steps that are not counted
        # here.
        if pairs[rows["src"], rows["dst"]].all() and find_fault(plan) is None:
            best, steps = plan, plan.steps
    return best


def mark_synthesized(plan: Schedule, kind: Collective, options: dict[str, Any]) -> Schedule:
    """The same schedule with a name of synthesis; its options say which algorithm it is."""
    marks = {**options, "algorithm": plan.name, **plan.options}
    return replace(plan, name=f"synthesized_{kind.name}", options=MappingProxyType(marks))
