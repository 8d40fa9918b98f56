"""The door to the engines: check what was given, size the chunks, run, and wrap the outcome in a Trace."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..collective import collective
from ..dtypes import itemsize
from ..errors import CollsimError, TopologyError, unknown
from ..schedule import Schedule
from ..topology import Topology
from ..units import parse_bytes
from .lockstep import lockstep
from .trace import Trace

ENGINES = ("lockstep",)


def simulate(schedule: Schedule, topology: Topology, nbytes: Any, dtype: Any = "float32", engine: str = "lockstep") -> Trace:
    """Time a schedule on a topology.

    Args:
        schedule: from `cs.schedule(...)` or an algorithm called with n. Its rank r sits on the topology's rank r.
        topology: at least as many ranks as the schedule; helpers get a place of their own where it has one for them.
        nbytes: nccl-tests' size in bytes, or a text such as `"64MiB"`; for allgather and reduce_scatter the whole array.
        dtype: chunks are cut between elements of this type.
        engine: `lockstep` (a barrier after each step).

    Raises:
        CollsimError for a bad size, dtype or engine; TopologyError where the ranks do not fit or cannot reach each other.
    """
    if not isinstance(schedule, Schedule):
        raise CollsimError(f"simulate wants a schedule, got {schedule!r}; make one with schedule('allreduce_ring', ranks=8)")
    if not isinstance(topology, Topology):
        raise CollsimError(f"simulate wants a topology, got {topology!r}; make one with topology.switch(8) or machine('dgx-a100')")
    if engine not in ENGINES:
        raise CollsimError(unknown("engine", engine, ENGINES))
    if schedule.ranks > topology.ranks:
        raise TopologyError(
            f"{schedule.label} has {schedule.ranks} ranks, {topology.name} only {topology.ranks}; use fewer ranks or more nodes"
        )
    size = parse_bytes(nbytes)
    helpers = schedule.endpoints - schedule.ranks
    topology = topology.with_helpers(helpers)
    place = np.concatenate([np.arange(schedule.ranks), topology.ranks + np.arange(helpers)])
    slot_bytes = chunk_bytes(schedule, size, itemsize(dtype))
    timing = lockstep(schedule, topology, slot_bytes, place)
    return Trace(schedule, topology, size, str(dtype), engine, slot_bytes, place, timing)


def chunk_bytes(schedule: Schedule, nbytes: int, item: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Bytes of each slot: whole elements, as even as they allow; scratch slots are as large as the chunk they stand for.

    A size that is not a whole number of elements keeps its last, partial element: no byte vanishes.
    """
    kind = collective(schedule.collective)
    elements = -(-nbytes // item)
    sizes = kind.chunk_sizes(elements, schedule.ranks, schedule.chunks) * item
    if missing := elements * item - nbytes:
        sizes[np.flatnonzero(sizes)[-1]] -= missing
    return np.resize(sizes, schedule.slots)
