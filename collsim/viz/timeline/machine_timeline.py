"""The picture of a machine without a run: every rank sends to its neighbour in each of the rings of the machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...schedule import Schedule, freeze
from ...simulate import simulate
from ...steps import Step, copy
from .timeline_document import build_timeline, encode
from .timeline_types import EncodedTimeline

if TYPE_CHECKING:
    from ...topology import Topology

#: Bytes that each rank sends on a ring: large enough that latency counts for little.
_NBYTES = "16MiB"


def build_machine_timeline(topology: Topology) -> EncodedTimeline:
    """The timeline of one step that shows a machine: all of its cables, and how busy rings would keep each of them.

    Args:
        topology: The machine or network.

    Returns:
        The timeline, as a player takes it.

    Raises:
        CollsimError: The machine has more ranks than a player shows.

    Examples:
        >>> import collsim as cs
        >>> from collsim.viz.timeline.machine_timeline import build_machine_timeline
        >>> timeline = build_machine_timeline(cs.machine("dgx-h100", gpus=4))
        >>> len(timeline["devices"]["name"]) > 4
        True
    """
    trace = simulate(_build_neighbour_step(topology), topology, _NBYTES)
    document = build_timeline(trace, np.ones(len(topology.links), bool))
    document["mistake"] = None  # one step is not meant to be a whole collective
    return encode(document)


def _build_neighbour_step(topology: Topology) -> Schedule:
    """One step in which every rank sends a chunk to the next one in each ring."""
    orders = [list(range(topology.ranks))]
    if topology.orders is not None:
        orders = topology.orders.tolist()
    steps: list[Step] = []
    for ring, order in enumerate(orders):
        for here, after in zip(order, [*order[1:], order[0]], strict=True):
            if here != after:
                steps.append(copy(here, after, chunk=ring, into=len(orders) + ring))
    count = len(orders)
    return freeze("neighbours in the rings", "sendrecv", topology.ranks, [steps], chunks=count, slots=2 * count)
