"""RCCL's own tuner for AMD's accelerators, where it has tables: what it chooses, and what it believes a step takes.

Tables are in `rccl.toml`. Source of all numbers: ROCm/rccl src/graph/tuning.cc (baseLat, tuning_model_5 and
tuning_model_6, ncclTopoTuneModel, ncclTopoGetAlgoTime) and src/rccl_wrap.cc (rcclUpdateCollectiveProtocol). RCCL's
topology models (src/graph/rome_models.cc) give the first to MI300X and its kin (gfx942), the second to MI350 and its
kin (gfx950); accelerators before them get NCCL's tables here. Microseconds, GB/s, bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from ...package_data import read_number_tables
from ..search import constants as c
from .releases import CURRENT

if TYPE_CHECKING:
    from ..machine.machine_facts import Facts
    from .tuner import Communicator

_tables = read_number_tables(__file__, "rccl.toml")

#: Architecture by what the name of an accelerator contains (AMD's data sheets).
ARCHITECTURES: Final[Mapping[str, str]] = _tables["architectures"]

#: NCCL's formulas of latency with RCCL's microseconds, [LL, LL128, Simple]: fixed for each call (baseLat), the same for
#: rings and trees, and for each step (hwLat); both models have the same.
LATENCIES: Final = replace(
    CURRENT,
    source="ROCm/rccl",
    base_latency=dict.fromkeys(("Tree", "Ring"), (12.0, 12.0, 17.0)),
    step_latency=_tables["step_latency"],
)

#: Share of the graph's bandwidth, [LL, LL128, Simple], up to two nodes and for more (bwRatio, the same in both models).
SHARE: Final[Mapping[str, tuple[tuple[float, ...], ...]]] = _tables["share"]


#: What a broadcast and a reduce on one node get of a ring with LL (ncclTopoTuneModel).
_ROOTED_LL = 1.65
#: Largest size that MSCCL++ takes, and what sizes are multiples of (RCCL_MSCCLPP_THRESHOLD and its restrictions:
#: rocm.docs.amd.com/projects/rccl, how-to/rccl-usage-tips of ROCm 6.3 and 7.0; ROCm 7.13 has it no more). Its steps:
#: all pairs reduce, then all pairs gather.
_MSCCLPP_BYTES, _MSCCLPP_MULTIPLE, MSCCLPP_STEPS = 2**20, 32, 2
_MSCCLPP_RANKS = 8
#: More than two nodes: LL128 for allreduce up to so many times the size (rcclUpdateCollectiveProtocol).
_MANY_NODES = 3.8


@dataclass(frozen=True)
class Tuning:
    """What differs between accelerators.

    Attributes:
        tree: factor on the bandwidth of a tree by protocol, for sizes from 64 * 2^i bytes on, the last for all above.
        ring: the same of a ring, between nodes only.
        ranges: protocol -> (above, up to) bytes, by collective, between nodes; per rank where every rank has a block.
            A size that lies in none of them takes Simple.
    """

    tree: Mapping[str, tuple[float, ...]]
    ring: Mapping[str, tuple[float, ...]]
    ranges: Mapping[str, Mapping[str, tuple[int, int]]]


TUNING: Final = {architecture: Tuning(**tables) for architecture, tables in _tables["tuning"].items()}


def find_architecture(gpu: str) -> str:
    """Find the architecture of an accelerator for which RCCL has tables here.

    Args:
        gpu: its name, `MI300X`.

    Returns:
        A key of `TUNING`; "" for all other accelerators.
    """
    return next((architecture for name, architecture in ARCHITECTURES.items() if name in gpu.upper()), "")


def runs_mscclpp(facts: Facts, collective: str, nbytes: int) -> bool:
    """Whether RCCL hands a call to MSCCL++: a small allreduce of eight MI300 or MI350 in one node, each with a process
    of its own. Published times jump at exactly these limits: 8 MI300X from a captured graph take 16 us with 16 bytes
    and 6 us with 32 (rocm.blogs.amd.com; docs/accuracy.md has the systems).

    Args:
        facts: the machine.
        collective: collsim's name of it.
        nbytes: nccl-tests' size, bytes.
    """
    has_kernel = find_architecture(facts.gpu) != "" and (facts.nodes, facts.ranks) == (1, _MSCCLPP_RANKS)
    is_small = 0 < nbytes <= _MSCCLPP_BYTES and nbytes % _MSCCLPP_MULTIPLE == 0
    return has_kernel and is_small and collective == "allreduce" and facts.launch in ("process per gpu", "graph")


def get_step_latency(link: str, algorithm: str, protocol: int) -> float:
    """Get the latency of a step by RCCL's table.

    The 320 us of a ring with Simple between nodes only keep RCCL from rings below 256 MiB: there a step of the tree
    counts, which is as long as a chunk of the ring.

    Args:
        link: `NVLINK` (xGMI here), `PCI` or `NET`.
        algorithm: NCCL's name of it.
        protocol: index in `constants.PROTOCOLS`.

    Returns:
        Microseconds.
    """
    is_bulk = link == "NET" and protocol == c.PROTOCOLS.index("Simple")
    latencies = LATENCIES.step_latency[link]
    return latencies.get("Tree" if is_bulk else algorithm, latencies["Ring"])[protocol]


def is_available(algorithm: str, protocol: str, comm: Communicator) -> bool:
    """Whether RCCL considers this pair: trees with Simple only over several nodes, LL128 only over direct links.

    Args:
        algorithm: NCCL's name of it.
        protocol: one of `constants.PROTOCOLS`.
        comm: the ranks.
    """
    graph = comm.get_graph(algorithm)
    if algorithm not in SHARE or graph is None:
        return False
    if protocol == "LL128":
        is_near = comm.nodes == 1 or c.is_type_at_most(graph.type_inter, "PXB")
        return is_near and c.is_type_at_most(graph.type_intra, "NVL")
    return not (algorithm == "Tree" and protocol == "Simple" and comm.nodes == 1)


def compute_bandwidth(collective: str, algorithm: str, protocol: str, comm: Communicator) -> float:
    """Compute the bandwidth that the tuner expects, before the correction by size (ncclTopoTuneModel).

    Args:
        collective: collsim's name of it.
        algorithm: `Tree` or `Ring`.
        protocol: one of `constants.PROTOCOLS`.
        comm: the ranks.

    Returns:
        GB/s of nccl-tests' size.
    """
    graph = comm.get_graph(algorithm)
    assert graph is not None
    channel = graph.bw_inter
    if comm.nodes <= 2:
        channel = graph.bw_intra
    bus = graph.channels * channel * SHARE[algorithm][comm.nodes > 2][c.PROTOCOLS.index(protocol)]
    if collective in ("broadcast", "reduce") and protocol == "LL" and comm.nodes == 1:
        bus *= _ROOTED_LL
    return bus * (0.5 if algorithm == "Tree" else comm.ranks / c.count_ring_steps(collective, comm.ranks))


def get_bandwidth_correction(algorithm: str, protocol: str, comm: Communicator, nbytes: int) -> float:
    """Get the factor on the bandwidth for a call of one size (ncclTopoGetAlgoTime).

    Args:
        algorithm: `Tree` or `Ring`.
        protocol: one of `constants.PROTOCOLS`.
        comm: the ranks.
        nbytes: nccl-tests' size, bytes.

    Returns:
        The factor; 1 for rings on one node.
    """
    if algorithm == "Ring" and comm.nodes == 1:
        return 1.0
    tuning = TUNING[comm.rccl]
    factors = (tuning.tree if algorithm == "Tree" else tuning.ring)[protocol]
    level = max(0, (nbytes >> 6).bit_length() - 1)
    return factors[min(level, len(factors) - 1)]


def choose_protocol(collective: str, comm: Communicator, nbytes: int, tuner_protocol: str) -> str:
    """Choose the protocol as RCCL does: between nodes by size, whatever its tuner chose.

    Args:
        collective: collsim's name of it.
        comm: the ranks.
        nbytes: nccl-tests' size, bytes.
        tuner_protocol: what the tuner chose.

    Returns:
        The protocol; on one node, and for collectives without a table, the tuner's.
    """
    ranges = TUNING[comm.rccl].ranges.get(collective)
    if comm.nodes < 2 or ranges is None:
        return tuner_protocol
    size = nbytes
    if collective != "allreduce":
        size = max(1, nbytes // comm.ranks)
    choice = "Simple"
    for protocol, (above, most) in ranges.items():
        factor = 1.0
        if (collective, protocol) == ("allreduce", "LL128") and comm.nodes > 2:
            factor = _MANY_NODES
        if above < size <= most * factor and (protocol == "LL" or is_available("Ring", protocol, comm)):
            choice = protocol
    return choice
