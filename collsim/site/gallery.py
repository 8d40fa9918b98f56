"""The runs of the gallery: every algorithm on networks and machines where a class would look at it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ..errors import CollsimError
from ..registry import Algorithm, algorithms, schedule
from ..simulate import Trace, simulate
from ..topology import Topology, fully_connected, machine, ring, switch, torus

_MAX_TRANSFERS = 6_000
_RATE, _LATENCY = "25GB/s", "1us"
_PICTURED = ("allreduce", "allgather", "reduce_scatter", "broadcast", "alltoall")


@dataclass(frozen=True)
class GalleryNetwork:
    """Where runs happen.

    Attributes:
        key: what `topology` builds.
        name: in English and Chinese.
        ranks: the numbers of ranks to show.
        collectives: those that are shown; all unless given.
        reduces: is it a switch that reduces? Then only algorithms that need one are shown.
    """

    key: str
    name: tuple[str, str]
    ranks: tuple[int, ...]
    collectives: tuple[str, ...] = ()
    reduces: bool = False

    def shows(self, entry: Algorithm) -> bool:
        """Is an algorithm shown here, if it runs?"""
        is_shown = not self.collectives or entry.collective in self.collectives
        return is_shown and (not self.reduces or entry.helpers_on != "host")

    def topology(self, n: int) -> Topology:
        """The machine or network of this entry of the gallery.

        Args:
            n: Ranks.
        """
        return _build_topology(self.key, n)


@lru_cache(maxsize=64)
def _build_topology(key: str, n: int) -> Topology:
    match key:
        case "switch":
            return switch(n, bandwidth=_RATE, alpha=_LATENCY)
        case "switch~reduces":
            return switch(n, bandwidth=_RATE, alpha=_LATENCY, reduces=True)
        case "ring":
            return ring(n, bandwidth=_RATE, alpha=_LATENCY)
        case "full":
            return fully_connected(n, bandwidth=_RATE, alpha=_LATENCY)
        case "torus":
            return torus(n // 4, 4, bandwidth=_RATE, alpha=_LATENCY)
    name, _, variant = key.partition("~")
    nodes, p2p, gdr = (2 if "2x" in variant else 1), "no-p2p" not in variant, "no-gdr" not in variant
    return machine(name, nodes=nodes, p2p=p2p, gdr=gdr)


NETWORKS: tuple[GalleryNetwork, ...] = (
    GalleryNetwork("switch", ("one switch", "一台交换机"), (4, 8, 16)),
    GalleryNetwork("ring", ("ring of cables", "环形网络"), (8,), _PICTURED[:4]),
    GalleryNetwork("full", ("every pair joined", "两两直连"), (8,), _PICTURED),
    GalleryNetwork("torus", ("torus 4 x 4", "4 x 4 torus"), (16,), _PICTURED[:3]),
    GalleryNetwork("pcie-8gpu", ("PCIe server, P2P on", "PCIe 服务器，启用 P2P"), (8,), _PICTURED),
    GalleryNetwork("pcie-8gpu~no-p2p", ("PCIe server, P2P off", "PCIe 服务器，关闭 P2P"), (8,), _PICTURED),
    GalleryNetwork("dgx-1v", ("DGX-1 V100", "DGX-1 V100"), (8,), _PICTURED),
    GalleryNetwork("dgx-a100", ("DGX A100", "DGX A100"), (8,), _PICTURED),
    GalleryNetwork("dgx-h100", ("DGX H100", "DGX H100"), (8,), _PICTURED),
    GalleryNetwork("dgx-a100~2x", ("two DGX A100", "两台 DGX A100"), (16,), _PICTURED),
    GalleryNetwork(
        "dgx-a100~2x no-gdr",
        ("two DGX A100, GPUDirect RDMA off", "两台 DGX A100，关闭 GPUDirect RDMA"),
        (16,),
        _PICTURED,
    ),
    GalleryNetwork("switch~reduces", ("one switch that reduces", "一台做归约的交换机"), (4, 8, 16), reduces=True),
)


@dataclass(frozen=True, eq=False)
class GalleryRun:
    """One run of the gallery.

    Attributes:
        key: algorithm, network and number of ranks, as addresses have it.
        network: the gallery's network.
        trace: the run.
    """

    key: str
    network: GalleryNetwork
    trace: Trace


def list_runs(networks: Sequence[GalleryNetwork] = NETWORKS, only: Sequence[str] | None = None) -> Iterator[GalleryRun]:
    """All runs that a page can show: algorithm by algorithm on every network; those that do not fit there are left out.

    Args:
        networks: the part of the gallery that is run.
        only: names of algorithms; all unless given.
    """
    for network in networks:
        for n in network.ranks:
            for name, entry in algorithms().items():
                if (only is None or name in only) and network.shows(entry):
                    trace = _run(name, network, n)
                    if trace is not None:
                        yield GalleryRun(make_slug(f"{name}--{network.key}--{n}"), network, trace)


def _run(name: str, network: GalleryNetwork, n: int) -> Trace | None:
    try:
        topology = network.topology(n)
        plan = schedule(name, ranks=n, topology=topology)
        if len(plan) > _MAX_TRANSFERS or not len(plan):
            return None
        return simulate(plan, topology, "64MiB")
    except CollsimError:  # a power of two is asked for, or helpers that have no position there
        return None


def make_slug(text: str) -> str:
    """A name that is safe in a file system and in an address."""
    return "--".join(re.sub(r"[^a-z0-9]+", "-", part.lower()).strip("-") for part in text.split("--"))
