"""The algorithm that NCCL would choose, run chunk by chunk over the links of the machine: the Trace behind a
prediction.

It knows nothing of protocols, launches or measured rates: it shows where the bytes go and which links they share. Its
time is that of the links as the topology states them, so it is a lower bound of what is measured; `predict` is the
number to compare with nccl-tests. Rings and trees take the orders that NCCL's search finds (`nccl.search`), so that
NCCL_CROSS_NIC says here which cards, rails and spines carry them, as in the prediction; where there is no
search (RCCL, more than 16 GPUs in a node) the topology's own orders.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..errors import CollsimError
from ..registry import schedule
from ..schedule import Schedule
from ..simulate import Engine, Trace, simulate
from ..topology import Topology
from ..topology_names import TopologyLike, resolve_topology
from .machine.fabric_cost import restrict_ranks
from .machine.facts import Facts
from .nccl_prediction import Prediction, predict
from .search.ring_tree_search import build_rank_orders

#: Bytes of a chunk that a channel sends at a time with Simple: one slot of the buffer (NCCL src/include/device.h: 4 MiB
#: / NCCL_STEPS).
SLOT = 512 * 1024
#: The same for NVLS (src/enqueue.cc, calcCollChunking).
NVLS_CHUNK = 128 * 1024
_MOST_CHANNELS, _MOST_CHUNKS = 8, 32


def predict_and_simulate(
    collective: str, machine: TopologyLike, nbytes: Any, *, engine: Engine = "lockstep", **environment: Any
) -> tuple[Prediction, Trace]:
    """What `predict` says, and the simulation of that algorithm on the machine.

    Args:
        collective: as for `predict`.
        machine: a Topology made by `machine(...)`.
        nbytes: nccl-tests' size, bytes or text.
        engine: `lockstep` or `event`.
        environment: ranks, NCCL_ALGO ... as for `predict`; fewer ranks are the first GPUs of each node.
            NCCL_P2P_DISABLE and NCCL_NET_GDR_LEVEL change the prediction only: give the machine `p2p=False`,
            `gdr=False` for the paths to change too.

    Returns:
        Both.

    Raises:
        CollsimError: For Facts, which have no links, and for a number of ranks that nodes cannot share evenly; else as
            `predict`.

    Examples:
        >>> import collsim as cs
        >>> prediction, trace = cs.nccl.predict_and_simulate("allreduce", "dgx-a100", "64MiB")
        >>> prediction.algorithm, trace.schedule.name
        ('Ring', 'allreduce_ring')
    """
    machine = resolve_topology(machine, "predict_and_simulate")
    prediction = predict(collective, machine, nbytes, **environment)
    machine = _select_ranks(machine, prediction.facts)
    return prediction, simulate(build_schedule(prediction, machine), machine, prediction.nbytes, engine=engine)


def _select_ranks(machine: Topology, facts: Facts) -> Topology:
    """The machine with only the ranks that take part: as many of each node, its first."""
    if facts.ranks == machine.ranks:
        return machine
    if facts.ranks % facts.nodes:
        message = "ranks={ranks}: {nodes} nodes cannot share them evenly, which a simulation needs; use a multiple"
        raise CollsimError(message, ranks=facts.ranks, nodes=facts.nodes)
    return restrict_ranks(machine, facts)


def build_schedule(prediction: Prediction, machine: Topology) -> Schedule:
    """Build the schedule of the algorithm that was predicted, with no more channels and chunks than a picture needs.

    Args:
        prediction: The prediction.
        machine: The machine, with the ranks of the prediction.

    Returns:
        The schedule.
    """
    p, ranks = prediction, prediction.facts.ranks
    channels = max(1, min(p.channels, _MOST_CHANNELS))
    chunks = max(1, min(_MOST_CHUNKS, p.nbytes // (SLOT * channels)))
    if p.collective in ("alltoall", "sendrecv"):
        return schedule(f"{p.collective}_direct", ranks=ranks)
    if p.algorithm == "Tree":
        return _build_tree_schedule(p, machine, chunks, max(2, channels // 2 * 2))
    if p.graph_search is not None:
        machine = replace(machine, orders=p.graph_search.rings.build_orders(p.facts.nodes))
    channels = _round_channels(channels, machine)
    if p.collective in ("broadcast", "reduce"):
        return schedule(f"{p.collective}_chain", ranks=ranks, chunks=chunks, channels=channels, topology=machine)
    pieces = max(1, min(_MOST_CHUNKS // 2, p.nbytes // (NVLS_CHUNK * p.facts.local_ranks)))
    if p.algorithm == "NVLS":
        if p.collective == "allreduce":
            return schedule("allreduce_nvls", ranks=ranks, chunks=pieces)
        return schedule(f"{p.collective}_nvls", ranks=ranks)
    if p.algorithm == "NVLSTree":
        return schedule(
            "allreduce_nvls_tree", ranks=ranks, per_node=p.facts.local_ranks, chunks=pieces, topology=machine
        )
    if p.algorithm == "PAT":
        return schedule(f"{p.collective}_pat", ranks=ranks)
    return schedule(f"{p.collective}_ring", ranks=ranks, channels=channels, topology=machine)


def _build_tree_schedule(p: Prediction, machine: Topology, chunks: int, channels: int) -> Schedule:
    """The double binary tree over the chains that the search found."""
    shape: dict[str, Any] = {}
    if p.graph_search is not None:
        trees = p.graph_search.trees
        machine, shape = (
            replace(machine, orders=build_rank_orders(trees.channels, p.facts.nodes)),
            {"pattern": trees.shape},
        )
    channels = _round_channels(channels, machine)
    sizes = {"ranks": p.facts.ranks, "chunks": chunks, "channels": channels, "per_node": p.facts.local_ranks}
    return schedule("allreduce_double_binary_tree", **sizes, topology=machine, **shape)


def _round_channels(channels: int, machine: Topology) -> int:
    """So many channels that no order of the topology's serves more of them than another does."""
    offered = 1
    if machine.orders is not None:
        offered = len(machine.orders)
    if channels > offered:
        return channels - channels % offered
    return channels
