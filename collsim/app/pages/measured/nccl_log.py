"""A log of NCCL (NCCL_DEBUG=INFO) beside what its search finds on the machine: rings and trees of both. Nothing here
knows Streamlit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import collsim as cs
from collsim.errors import CollsimError
from collsim.io import formats
from collsim.io.nccl_log import NcclJob
from collsim.nccl import build_communicator, read_facts, search_graphs

from ...scenario.outcome import Refused
from .reading import loaded


@dataclass(frozen=True)
class Orders:
    """Ring orders, or parents of trees (-1 the root): distinct ones with how many channels have each, in the log and by
    the search.

    `alike`: how many of the log's channels have an order that the search finds as well; None where there is nothing to
    compare with.
    """

    logged: tuple[tuple[tuple[int, ...], int], ...]
    found: tuple[tuple[tuple[int, ...], int], ...]
    alike: int | None

    @property
    def channels(self) -> int:
        """Channels of the log."""
        return sum(count for _, count in self.logged)


@dataclass(frozen=True)
class LoggedJob:
    """What a log says of its largest communicator; `transports` with how many connections go over each."""

    ranks: int
    nodes: int
    version: str
    rings: Orders
    trees: Orders
    transports: tuple[tuple[str, int], ...]


def looks(text: str) -> bool:
    """Is it a log of NCCL without a table of nccl-tests in it?"""
    return formats()["nccl-log"].looks(text) and not formats()["nccl-tests"].looks(text)


def job_of(text: str) -> NcclJob:
    """What the log says of its largest communicator. Raises CollsimError for a damaged log."""
    job: NcclJob = loaded(text, "nccl.log", format="nccl-log")
    return job


def read(text: str, place: cs.Topology) -> LoggedJob:
    """The log's graphs beside those of the search.

    Raises CollsimError for a damaged log, more ranks than the machine has, and another number of nodes than the log
    says.
    """
    job = job_of(text)
    if job.ranks > place.ranks:
        raise Refused("measured.manyranks", ranks=job.ranks, gpus=place.ranks)
    nodes = int(place.facts["nodes"])
    if job.nodes not in (0, nodes):
        raise Refused("graphs.othernodes", logged=job.nodes, nodes=nodes)
    rings, trees = _searched(place, job.ranks, nodes)
    kinds: dict[str, int] = {}
    for way in job.transports.values():
        kind = "/".join([way.split("/")[0], *(part for part in way.split("/")[1:] if not part.isdigit())])
        kinds[kind] = kinds.get(kind, 0) + 1
    ways = tuple(sorted(kinds.items(), key=lambda item: -item[1]))
    logged = [tuple(_turned(order) for order in job.rings.values()), tuple(job.trees.values())]
    return LoggedJob(job.ranks, nodes, job.version, _orders(logged[0], rings), _orders(logged[1], trees), ways)


def _searched(
    place: cs.Topology, ranks: int, nodes: int
) -> tuple[Sequence[tuple[int, ...]], Sequence[tuple[int, ...]]]:
    """Rings and trees by the search; none where there is none (RCCL, large nodes, uneven nodes)."""
    if ranks % nodes:
        return (), ()
    try:
        found = search_graphs(place, ranks)
    except CollsimError:
        return (), ()
    rings = [_turned(order) for order in found.rings.build_orders(nodes).tolist()]
    running = build_communicator(read_facts(place, ranks), graph_search=found).running_channels
    return [rings[k % len(rings)] for k in range(running)], found.trees.build_parents(nodes)


def _turned(order: Sequence[int]) -> tuple[int, ...]:
    """A ring as seen from rank 0."""
    at = list(order).index(0)
    return (*order[at:], *order[:at])


def _orders(logged: Sequence[tuple[int, ...]], found: Sequence[tuple[int, ...]]) -> Orders:
    alike = sum(order in set(found) for order in logged) if found and logged else None
    return Orders(_counted(logged), _counted(found), alike)


def _counted(orders: Sequence[tuple[int, ...]]) -> tuple[tuple[tuple[int, ...], int], ...]:
    return tuple((order, list(orders).count(order)) for order in dict.fromkeys(orders))
