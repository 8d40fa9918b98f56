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
from typing import Any, Unpack

import numpy as np

from ..errors import CollsimError
from ..errors.arguments import check_arguments
from ..registry import algorithms, schedule
from ..schedule import Schedule
from ..simulate import Engine, Trace, simulate
from ..topology import Topology
from ..topology.network import choose_channels
from ..topology.parts.rank_selection import read_rank_numbers, restrict_ranks
from ..topology_names import TopologyLike, resolve_topology
from ..units import ByteSize
from .machine.nccl_routes import place_ranks, select_participants, split_by_gpus
from .nccl_environment import PredictOptions, route_machine
from .nccl_prediction import Prediction, predict
from .search.ring_tree_search import build_rank_orders, join_node_orders

#: Bytes of a chunk that a channel sends at a time with Simple: one slot of the buffer (NCCL src/include/device.h: 4 MiB
#: / NCCL_STEPS).
SLOT = 512 * 1024
#: The same for NVLS (src/enqueue.cc, calcCollChunking).
NVLS_CHUNK = 128 * 1024
_MAX_CHANNELS, _MAX_CHUNKS = 8, 32
#: Transfers of a chain up to which it has four chunks a rank, so that filling it is a small part of its time.
_MAX_TRANSFERS = 2**16


@check_arguments
def predict_and_simulate(
    collective: str,
    machine: TopologyLike,
    nbytes: ByteSize,
    *,
    engine: Engine = "lockstep",
    **environment: Unpack[PredictOptions],
) -> tuple[Prediction, Trace]:
    """What `predict` says, and the simulation of that algorithm on the machine.

    NCCL's environment variables change the routes of the simulation as they change the prediction: what P2P, shared
    memory and GPUDirect RDMA leave. Ranks are numbered node by node, as NCCL numbers them, but those of sends and
    receives, which say themselves who sends to whom.

    Args:
        collective: collsim's name of it.
        machine: a Topology made by `machine(...)`.
        nbytes: nccl-tests' size, bytes.
        engine: `lockstep` or `event`.
        environment: ranks, NCCL_ALGO ... as for `predict`.

    Returns:
        The prediction, and the simulation of its algorithm.

    Raises:
        CollsimError: for Facts, which have no links; else as `predict`.

    Examples:
        >>> import collsim as cs
        >>> prediction, trace = cs.nccl.predict_and_simulate("allreduce", "dgx-a100", "64MiB")
        >>> prediction.algorithm, trace.schedule.name
        ('Ring', 'allreduce_ring')
    """
    machine = resolve_topology(machine, "predict_and_simulate")
    prediction = predict(collective, machine, nbytes, **environment)
    ranks = environment.get("ranks")
    settings: Any = {name: value for name, value in environment.items() if name.startswith("NCCL_")}
    if split_by_gpus(machine, ranks):
        machine = restrict_ranks(route_machine(machine, settings), np.sort(read_rank_numbers(ranks)).tolist())
    else:
        machine, _, _ = select_participants(machine, ranks)
        machine = place_ranks(route_machine(machine, settings), prediction.collective, prediction.facts.ranks)
    machine = order_channels(prediction, machine)
    return prediction, simulate(build_schedule(prediction, machine), machine, prediction.nbytes, engine=engine)


def measure_simulation_terms(run: Trace) -> dict[str, float]:
    """Measure what a simulation takes beyond the bytes on its busiest link, by simulating again.

    `latency` is what it takes longer than over cables without any. `pieces` is what barriers between steps take, and
    what its chunks take to fill the pipeline and to drain it: the second halves when every chunk is cut in two, and
    the rest does not change.

    Args:
        run: of a registered algorithm.

    Returns:
        Seconds by term.
    """
    transfers, options = run.schedule, dict(run.schedule.options)
    links = run.topology.links
    topology = replace(run.topology, links=replace(links, alpha=np.zeros(len(links))))
    time = float(simulate(transfers, topology, run.nbytes, run.dtype, run.engine).time)
    # Without barriers: channels whose slow hops lie at different depths of a long chain hold one another up at each of
    # them, which no longer halves with the chunks.
    on_links = float(simulate(transfers, topology, run.nbytes, run.dtype, "event").time)
    if transfers.ranks > 2 and "chunks" in options and transfers.name in algorithms():
        options["chunks"] *= 2
        finer = schedule(transfers.name, ranks=transfers.ranks, topology=topology, **options)
        on_links = 2 * float(simulate(finer, topology, run.nbytes, run.dtype, "event").time) - on_links
    return {"latency": run.time - time, "pieces": max(0.0, time - on_links)}


def order_channels(prediction: Prediction, machine: Topology) -> Topology:
    """Give a machine the orders of the rings or trees that NCCL's search finds.

    Args:
        prediction: of the call.
        machine: with the ranks of the prediction.

    Returns:
        The machine with these orders; as it is where there is no search.
    """
    graph_search, nodes = prediction.graph_search, prediction.facts.nodes
    if graph_search is None or prediction.collective in ("alltoall", "sendrecv"):
        return machine
    if prediction.facts.ranks % nodes:
        return _order_uneven_channels(prediction, machine)
    if prediction.algorithm == "Tree":
        return replace(machine, orders=build_rank_orders(graph_search.trees.channels, nodes))
    return replace(machine, orders=graph_search.rings.build_orders(nodes))


def _order_uneven_channels(prediction: Prediction, machine: Topology) -> Topology:
    """Each node's channels are those that the search finds on its own number of GPUs; the first nodes have one more."""
    facts = prediction.facts
    searches = {
        search.local_ranks: search
        for search in (prediction.graph_search, prediction.uneven_search)
        if search is not None
    }
    fewest, fuller = divmod(facts.ranks, facts.nodes)
    counts = [fewest + (node < fuller) for node in range(facts.nodes)]
    if not searches.keys() >= set(counts):
        return machine
    graphs = {
        count: search.trees if prediction.algorithm == "Tree" else search.rings for count, search in searches.items()
    }
    return replace(machine, orders=join_node_orders([graphs[count].channels for count in counts]))


def build_schedule(prediction: Prediction, machine: Topology) -> Schedule:
    """Build the schedule of the algorithm that was predicted, with no more channels and chunks than a picture needs.

    Args:
        prediction: of the call.
        machine: with the ranks of the prediction.

    Returns:
        The schedule, on the orders of NCCL's search.
    """
    p, ranks = prediction, prediction.facts.ranks
    machine = order_channels(p, machine)
    offered = choose_channels(machine, ranks)
    # More channels than the picture can show add nothing: they do the same on other links.
    channels = max(1, min(p.channels, max(_MAX_CHANNELS, offered)))
    chunks = max(1, min(_MAX_CHUNKS, p.nbytes // (SLOT * channels)))
    if p.collective in ("alltoall", "sendrecv"):
        return schedule(f"{p.collective}_direct", ranks=ranks)
    # A tree's channels come in pairs, up and down.
    if p.algorithm == "Tree":
        return _build_tree_schedule(p, machine, chunks, max(1, min(p.channels // 2, channels)))
    channels = _round_channels(channels, machine)
    if p.collective in ("broadcast", "reduce"):
        # The pipeline of a chain needs many chunks, within what can be drawn.
        most = min(4 * ranks, _MAX_TRANSFERS // (ranks * channels), p.nbytes // (SLOT * channels))
        chunks = max(chunks, most)
        return schedule(f"{p.collective}_chain", ranks=ranks, chunks=chunks, channels=channels, topology=machine)
    pieces = max(1, min(_MAX_CHUNKS // 2, p.nbytes // (NVLS_CHUNK * p.facts.local_ranks)))
    if p.algorithm == "NVLS":
        if p.collective == "allreduce":
            return schedule("allreduce_nvls", ranks=ranks, chunks=pieces)
        if p.collective == "reduce_scatter":
            return schedule("reduce_scatter_nvls", ranks=ranks, chunks=pieces)
        return schedule(f"{p.collective}_nvls", ranks=ranks)
    if p.algorithm == "NVLSTree":
        if ranks % p.facts.nodes:
            template = (
                "NVLSTree on nodes of {most} and {fewest} ranks: NCCL gives each node {fewest} heads "
                "(src/graph/connect.cc). predict() times that, but only nodes with as many ranks have a schedule of "
                "it: simulate ranks={less}, or NCCL_ALGO='Ring' or 'Tree'"
            )
            fewest = ranks // p.facts.nodes
            raise CollsimError(template, most=fewest + 1, fewest=fewest, less=fewest * p.facts.nodes)
        return schedule(
            "allreduce_nvls_tree", ranks=ranks, per_node=p.facts.local_ranks, chunks=pieces, topology=machine
        )
    if p.algorithm == "PAT":
        return schedule(f"{p.collective}_pat", ranks=ranks)
    return schedule(f"{p.collective}_ring", ranks=ranks, channels=channels, topology=machine)


def _build_tree_schedule(p: Prediction, machine: Topology, chunks: int, channels: int) -> Schedule:
    """The double binary tree over the chains that the search found: two of NCCL's channels are a pair of trees."""
    shape: dict[str, Any] = {}
    if p.graph_search is not None:
        shape = {"pattern": p.graph_search.trees.shape}
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
