"""A log of NCCL (NCCL_DEBUG=INFO) beside what its search finds on the machine: rings and trees of both. Nothing here
knows Streamlit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import collsim as cs
from collsim.diagnosis import diagnose
from collsim.diagnosis.causes import CAUSE_BY_KEY
from collsim.diagnosis.job_diagnosis import CAUSE_OF_HYPOTHESIS
from collsim.errors import CollsimError
from collsim.io import formats
from collsim.io.nccl.nccl_log import NcclCommunicator
from collsim.nccl import build_communicator, read_facts, search_graphs
from collsim.nccl.machine.machine_facts import Facts
from collsim.nccl.measured.gaps import HYPOTHESES, can_change, list_stated_causes

from ...scenario.outcome import Refused
from .pasted_log import load_log


@dataclass(frozen=True)
class Orders:
    """Ring orders, or parents of trees (-1 the root), in a log of NCCL and by the search.

    Attributes:
        logged: Distinct orders of the log, each with the number of its channels.
        searched: Distinct orders that the search finds, each with the number of its channels.
        alike: How many of the log's channels have an order that the search finds too; None where there are none.
    """

    logged: tuple[tuple[tuple[int, ...], int], ...]
    searched: tuple[tuple[tuple[int, ...], int], ...]
    alike: int | None

    @property
    def channels(self) -> int:
        """Channels of the log."""
        return sum(count for _, count in self.logged)


@dataclass(frozen=True)
class LoggedJob:
    """What a log says of its largest communicator.

    Attributes:
        ranks: its ranks.
        nodes: its nodes.
        version: of NCCL.
        rings: of the log and of the search.
        trees: the same.
        transports: with how many connections go over each.
        causes: keys of the causes of slow calls that it states (`diagnosis.causes.CAUSES`).
        searched_channels: channels that run by the search on the machine; 0 where there is none.
        variables: `NAME=value` of NCCL that were set.
    """

    ranks: int
    nodes: int
    version: str
    rings: Orders
    trees: Orders
    transports: tuple[tuple[str, int], ...]
    causes: tuple[str, ...]
    searched_channels: int
    variables: tuple[str, ...]


def is_nccl_log(text: str) -> bool:
    """Is it a log of NCCL without a table of nccl-tests in it?

    Args:
        text: The text.
    """
    return formats()["nccl-log"].looks(text) and not formats()["nccl-tests"].looks(text)


def read_job(text: str) -> NcclCommunicator:
    """What the log says of its largest communicator.

    Args:
        text: The text.

    Raises:
        CollsimError: for a damaged log
    """
    job: NcclCommunicator = load_log(text, "nccl.log", format="nccl-log")
    return job


def read_logged_job(text: str, topology: cs.Topology) -> LoggedJob:
    """The log's graphs beside those of the search.

    Args:
        text: The text.
        topology: The machine.

    Raises:
        CollsimError: for a damaged log, more ranks than the machine has, and another number of nodes than the log says
    """
    job = read_job(text)
    if job.ranks > topology.ranks:
        raise Refused("measured.manyranks", ranks=job.ranks, gpus=topology.ranks)
    nodes = topology.facts.nodes
    if job.nodes not in (0, nodes):
        raise Refused("graphs.othernodes", logged=job.nodes, nodes=nodes)
    rings, trees = _search_graphs(topology, job.ranks, nodes)
    kinds: dict[str, int] = {}
    for transport in job.transports.values():
        kind = "/".join([transport.split("/")[0], *(part for part in transport.split("/")[1:] if not part.isdigit())])
        kinds[kind] = kinds.get(kind, 0) + 1
    counts_by_kind = tuple(sorted(kinds.items(), key=lambda item: -item[1]))
    logged = [tuple(_rotate_ring(order) for order in job.rings.values()), tuple(job.trees.values())]
    return LoggedJob(
        job.ranks,
        nodes,
        job.version,
        _list_orders(logged[0], rings),
        _list_orders(logged[1], trees),
        counts_by_kind,
        _list_causes(text, job, read_facts(topology, job.ranks)),
        len(rings),
        tuple(f"{name}={value}" for name, value in sorted(job.statements.environment.items())),
    )


def _list_causes(text: str, job: NcclCommunicator, facts: Facts) -> tuple[str, ...]:
    """What the log states, as the page Slow job says it, less what this machine has by itself; and what the log states
    together with the machine, such as NVLink SHARP that is off, which GPUs before Hopper do not have."""
    idle = {hypothesis.key for hypothesis in HYPOTHESES if not can_change(hypothesis, facts)}
    stated = [CAUSE_BY_KEY[cause.key] for cause in diagnose({"nccl.log": text}).causes if cause.is_stated]
    causes = [cause for cause in stated if cause.hypothesis not in idle]
    known = {cause.hypothesis for cause in causes}
    by_machine = [h.key for h in list_stated_causes(job, facts) if h.key not in known]
    return tuple(dict.fromkeys([*(cause.key for cause in causes), *map(CAUSE_OF_HYPOTHESIS.__getitem__, by_machine)]))


def _search_graphs(
    topology: cs.Topology, ranks: int, nodes: int
) -> tuple[Sequence[tuple[int, ...]], Sequence[tuple[int, ...]]]:
    """Rings and trees by the search; none where there is none (RCCL, large nodes, uneven nodes)."""
    if ranks % nodes:
        return (), ()
    try:
        graphs = search_graphs(topology, ranks)
    except CollsimError:
        return (), ()
    rings = [_rotate_ring(order) for order in graphs.rings.build_orders(nodes).tolist()]
    running = build_communicator(read_facts(topology, ranks), graph_search=graphs).running_channels
    return [rings[k % len(rings)] for k in range(running)], graphs.trees.build_parents(nodes)


def _rotate_ring(order: Sequence[int]) -> tuple[int, ...]:
    """A ring as seen from rank 0."""
    position = list(order).index(0)
    return (*order[position:], *order[:position])


def _list_orders(logged: Sequence[tuple[int, ...]], searched: Sequence[tuple[int, ...]]) -> Orders:
    alike = None
    if searched and logged:
        alike = sum(order in set(searched) for order in logged)
    return Orders(_count_orders(logged), _count_orders(searched), alike)


def _count_orders(orders: Sequence[tuple[int, ...]]) -> tuple[tuple[tuple[int, ...], int], ...]:
    return tuple((order, list(orders).count(order)) for order in dict.fromkeys(orders))
