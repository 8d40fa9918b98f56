"""How older NCCL chooses: the tables and formulas of its tuner where they differ from those of 2.30, by version.

Read in NVIDIA/nccl `src/graph/tuning.cc` at the tags named in `Release.source`; what a tag between two of them changed
is not known here, and counts from the later one on. A version decides what is chosen. What a choice takes stays what
was found on runs of all versions (`links`), and graphs are searched as in 2.30. Units are NCCL's: GB/s, microseconds.

Trees came with 2.4 (release notes 2.4.2), LL128 with 2.5 (2.5.6), NVLink SHARP in a node with 2.17 and over nodes with
2.18 (2.18.1), PAT with 2.23 (2.23.4). NCCL 2.4 chose by thresholds of size; the tables of 2.5 without LL128 stand for
them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from ...errors import CollsimError, Sentence
from ..search import constants as c

if TYPE_CHECKING:
    from .tuner import Communicator, Graph

#: The oldest and the newest version that are known, and what is assumed where nobody says.
OLDEST, NEWEST = 4, 30
Steps = Mapping[str, Mapping[str, tuple[float, float, float]]]
Caps = Mapping[str, tuple[float, float, float]]
_HOPPER_TREE: Final[Caps] = {**c.TREE_MAX, "Blackwell": c.TREE_MAX["Hopper"]}
_HOPPER_TREE_LL128: Final[Caps] = {**c.TREE_LL128_MAX, "Blackwell": c.TREE_LL128_MAX["Hopper"]}
_HOPPER_RING_LL128: Final[Caps] = {**c.RING_LL128_MAX, "Blackwell": c.RING_LL128_MAX["Hopper"]}
_LL_AS_AMPERE: Final[Caps] = {
    **dict.fromkeys(("Hopper", "Blackwell"), c.LL_MAX["Ampere"]),
    **{name: c.LL_MAX[name] for name in ("Volta", "Ampere")},
}


def _steps(ll: float, tree: float, far_tree: float, far_ring: float, nvls: float, far_nvls_tree: float) -> Steps:
    """The rows of 2.30 with LL inside a node, Simple of trees and of rings, and NVLS as they were."""
    inside, pci, net = (dict(c.STEP_LATENCY[kind]) for kind in ("NVLINK", "PCI", "NET"))
    inside |= {"Tree": (ll, 1.25, tree), "Ring": (0.6 if ll > 0.52 else 0.47, 1.9, 3.4)}
    inside |= dict.fromkeys(("NVLS", "NVLSTree"), (0.0, 0.0, nvls))
    pci |= {"Tree": (1.0, 1.9, tree)}
    net |= {"Tree": (5.0, 8.5, far_tree), "Ring": (2.7, 4.0, far_ring), "NVLSTree": (0.0, 0.0, far_nvls_tree)}
    return {"NVLINK": inside, "PCI": pci, "NET": net}


@dataclass(frozen=True)
class Release:
    """The tuner from a version on.

    Attributes:
        since: 17 is 2.17. source: repository, tag and commit that it was read at.
        algorithms: those that there are. ll128: compute capabilities on which LL128 is used unless asked for; None as
        in 2.30. ll128_path: worst path between GPUs for it.
        base, steps, ll_max, ring_ll128, tree_ll128, tree_max: as `constants` has them for 2.30.
        ring_ll128_for: GB/s of a channel with LL128 by collective, where that counted.
        bus: most GB/s of all channels by generation. ll_share: of the bus bandwidth that LL gets in a ring, over
        several nodes or where it reduces, and else. lone_ll128: the same for LL128 with one GPU per node.
        ll_inside: factor on a step of LL inside a node where there are several. posts: steps inside a node take at
        least as long as a CPU needs to post one. returns: rings of an allreduce cross nodes 2N times, not 2(N-1).
        lone_trees: with one GPU per node steps take as long as a tree's.
        plain_tree, nvls: factors on bandwidth. plateau: on a ring's latency, before Hopper and since.
    """

    since: int
    source: str
    base_latency: Mapping[str, tuple[float, float, float]] = field(default_factory=lambda: c.BASE_LATENCY)
    step_latency: Steps = field(default_factory=lambda: c.STEP_LATENCY)
    algorithms: frozenset[str] = frozenset(("Tree", "Ring"))
    ll128_capabilities: frozenset[int] | None = frozenset((70, 80))
    ll128_path: str = "NVB"
    ll_max: Caps = field(default_factory=lambda: c.LL_MAX)
    ring_ll128: Caps = field(default_factory=lambda: _HOPPER_RING_LL128)
    ring_ll128_for: Mapping[str, float] = field(default_factory=dict)
    tree_ll128: Caps = field(default_factory=lambda: _HOPPER_TREE_LL128)
    tree_max: Caps = field(default_factory=lambda: _HOPPER_TREE)
    bus_caps: Mapping[str, float] = field(default_factory=dict)
    ll_share: tuple[float, float] = (0.5, 0.5)
    lone_ll128_share: float = c.RING_LL128_SHARE
    ll_intra_factor: float = 1.0
    has_post_overhead: bool = True
    has_return_hops: bool = False
    has_lone_tree_steps: bool = False
    plain_tree_factor: float = c.PLAIN_TREE_SHARE
    nvls_factor: float = 5 / 6
    plateau_factors: tuple[float, float] | None = None

    def get_generation(self, cc: int) -> str:
        """Row of the tables: before 2.17 only compute capability 8.0 is Ampere's, before 2.25 Blackwell is Hopper's."""
        if self.since < 17:
            return "Ampere" if cc == 80 else "Volta"
        row = c.get_generation(cc)
        return "Hopper" if row == "Blackwell" and self.since < 25 else row


_NVLS, _PAT = frozenset(("Tree", "Ring", "NVLS")), frozenset(("Tree", "Ring", "NVLS", "NVLSTree", "PAT"))
_OLD_BASE = {**c.BASE_LATENCY, "Tree": (4.4, 4.4, 0.0), "Ring": (3.6, 10.0, 8.4), "NVLS": (0.0, 0.0, 40.0)}
_LL128_OF_ONE = dict.fromkeys(c.GENERATIONS, (20.0,) * 3)
_V2_10 = Release(
    10,
    "v2.10.3-1 (7e51592)",
    base_latency=_OLD_BASE,
    step_latency=_steps(0.52, 28.0, 28.0, 9.6, 0.0, 0.0),
    ll128_path="NVL",
    ll_max=_LL_AS_AMPERE,
    ring_ll128=_LL128_OF_ONE,
    tree_ll128=_LL128_OF_ONE,
    bus_caps={"Ampere": 235.0},
    ll_share=(1 / 4, 1 / 3),
    lone_ll128_share=0.7,
    ll_intra_factor=1.8,
    has_post_overhead=False,
    plain_tree_factor=1.0,
    plateau_factors=(1.9, 1.9),
)
_V2_5 = replace(
    _V2_10,
    since=5,
    source="v2.8.3-1 (920dbe5)",
    ring_ll128_for={
        "broadcast": 18.8,
        "reduce": 12.0,
        "allgather": 18.3,
        "reduce_scatter": 15.2,
        "allreduce": 16.9,
    },
    tree_max={**_HOPPER_TREE, "Ampere": (24.0, 22.5, 16.0)},
)
_V2_18 = Release(
    18,
    "v2.20.3-1 (b647562)",
    base_latency={**c.BASE_LATENCY, "Tree": (6.8, 14.0, 0.0)},
    step_latency=_steps(0.6, 28.0, 28.0, 14.0, 23.0, 14.0),
    algorithms=_NVLS | {"NVLSTree"},
    ll128_capabilities=frozenset((70, 80, 90)),
    ll_max=_LL_AS_AMPERE,
    ll_share=(1 / 4, 1 / 3),
    lone_ll128_share=0.7,
    has_return_hops=True,
)
_V2_22 = replace(
    _V2_18,
    since=22,
    source="v2.22.3-1 (178b6b7)",
    step_latency=_steps(0.6, 28.0, 28.0, 14.0, 25.0, 14.0),
    ll_max=c.LL_MAX,
    ll_share=(0.5, 0.5),
)
_V2_23 = Release(
    23,
    "v2.24.3-1 (6aae379)",
    step_latency=_steps(0.6, 4.0, 14.0, 14.0, 25.0, 14.0),
    algorithms=_PAT,
    ll128_capabilities=frozenset((70, 80, 90)),
    has_lone_tree_steps=True,
)


def _twice(caps: Caps) -> Caps:
    """Blackwell as twice Hopper."""
    return {**caps, "Blackwell": tuple(2 * x for x in caps["Hopper"])}  # type: ignore[dict-item]


#: By version, the oldest first; from 2.28 on as 2.30 (2.29.7 printed its table: tests/nccl/test_tuner.py).
RELEASES: Final = (
    replace(_V2_5, since=4, ll128_capabilities=frozenset()),
    replace(_V2_5, ll128_capabilities=frozenset((70,))),
    replace(_V2_5, since=8),
    _V2_10,
    replace(
        _V2_10,
        since=17,
        source="v2.17.1-1 (5d3ab08)",
        algorithms=_NVLS,
        ll128_capabilities=frozenset((70, 80, 90)),
        ring_ll128=_HOPPER_RING_LL128,
        tree_ll128={**_HOPPER_RING_LL128},
        tree_max={**_HOPPER_TREE, "Hopper": (38.7, 41.4, 33.0)},
        bus_caps={"Ampere": 235.0, "Hopper": 370.0},
        has_return_hops=True,
        nvls_factor=0.75,
        plateau_factors=(1.9, 1.5),
    ),
    _V2_18,
    _V2_22,
    _V2_23,
    replace(
        _V2_23,
        since=25,
        source="v2.25.1-1 (80f6bda)",
        ll128_capabilities=frozenset((70, 80, 90, 100, 120)),
        ring_ll128=_twice(c.RING_LL128_MAX),
        tree_ll128=_twice(c.TREE_LL128_MAX),
        tree_max=_twice(c.TREE_MAX),
    ),
)
_SINCE_CURRENT = 28


def parse_version(version: Any) -> int | None:
    """18 of "2.18", "2.18.3" or "2.18.5+cuda12.2"; None where nobody says.

    Raises CollsimError for what is no version, and for one that is not known.
    """
    if version is None or version == "":
        return None
    found = (
        re.fullmatch(r"v?2\.(\d{1,2})(\.(\d+|x))?([+-].*)?", str(version).strip()) if isinstance(version, str) else None
    )
    if found is None:
        why = "version={version!r} is no version of NCCL as text; write for example '2.18' or '2.18.3'"
        raise CollsimError(why, version=version)
    minor = int(found[1])
    if not OLDEST <= minor <= NEWEST:
        raise CollsimError(
            "version={version!r}: known are NCCL 2.{oldest} to 2.{newest}; give one of them, or leave it out for "
            "2.{newest}",
            version=version,
            oldest=OLDEST,
            newest=NEWEST,
        )
    return minor


#: What later versions have that earlier ones lack, in the order in which it came.
_CAME: Final = (
    (5, "LL128 (2.5)"),
    (8, "LL128 on A100 (2.8)"),
    (17, "LL128 on H100, NVLS (2.17)"),
    (18, "NVLSTree (2.18)"),
    (23, "PAT (2.23)"),
)


def describe_release(minor: int | None) -> Sentence:
    """A sentence on what a version means for a prediction; None: what was assumed."""
    release = find_release(minor)
    if minor is None:
        return Sentence(
            "NCCL's version is not said: chosen as 2.{newest} would; version= (--nccl) says another", newest=NEWEST
        )
    if release is None:
        return Sentence("NCCL 2.{minor}: chosen as 2.{newest} would", minor=minor, newest=NEWEST)
    lacking = ", ".join(what for since, what in _CAME if since > minor)
    return Sentence(
        "NCCL 2.{minor}: chosen by the tables of {source}{lacking}; what a choice takes is known of all versions "
        "together",
        minor=minor,
        source=release.source,
        lacking=Sentence("; not there yet: {what}", what=lacking) if lacking else "",
    )


def find_release(minor: int | None) -> Release | None:
    """The tuner of a version; None for that of 2.30."""
    if minor is None or minor >= _SINCE_CURRENT:
        return None
    return next(r for r in reversed(RELEASES) if r.since <= minor)


# ---- the formulas
# -----------------------------------------------------------------------------------------------------------------


def has_pair(
    r: Release | None, algorithm: str, protocol: str, graph: Graph | None, comm: Communicator, forced_ll128: bool
) -> bool:
    """Is a pair there that 2.30 has? None: that is 2.30."""
    if r is None or graph is None:
        return True
    if algorithm not in r.algorithms or (protocol == "LL128" and r.since < 5):
        return False
    if protocol != "LL128" or forced_ll128 or r.ll128_capabilities is None:
        return True
    alike = comm.max_cc in (None, comm.cc)
    return comm.cc in r.ll128_capabilities and alike and c.is_type_at_most(graph.type_intra, r.ll128_path)


def compute_bandwidth(r: Release, collective: str, algorithm: str, protocol: str, comm: Communicator) -> float:
    """GB/s of nccl-tests' size that the tuner expected."""
    graph = comm.ring if r.since == 17 and algorithm == "NVLS" else comm.get_graph(algorithm)
    assert graph is not None
    bus = min(_bus(algorithm, graph, comm), r.bus_caps.get(r.get_generation(comm.cc), math.inf))
    bus = _ring_bus(r, collective, protocol, bus, graph, comm) if algorithm == "Ring" else bus
    bus = _tree_bus(r, protocol, bus, graph, comm) if algorithm == "Tree" else bus
    n, blocks = comm.ranks, collective in ("allgather", "reduce_scatter")
    if algorithm == "PAT":
        return bus * c.PAT_SHARE
    if algorithm in c.IN_NVSWITCH:
        return bus if blocks and r.since >= 23 else bus * r.nvls_factor
    steps = n if collective in ("broadcast", "reduce") else 2 * (n - 1) if collective == "allreduce" else n - 1
    return bus * (0.5 if algorithm == "Tree" else n / steps)


def _bus(algorithm: str, graph: Graph, comm: Communicator) -> float:
    bw = graph.bw_intra if comm.nodes <= 2 else graph.bw_inter
    if algorithm == "NVLS":
        bw = min(graph.bw_intra, graph.bw_inter)
    if algorithm == "NVLSTree":
        bw = min(graph.bw_intra, graph.bw_inter if comm.nodes <= 2 else graph.bw_inter / 2)
    return graph.channels * bw


def _at(comm: Communicator) -> int:
    return min(comm.nodes, 3) - 1


def _ll_max(r: Release, comm: Communicator) -> float:
    """By GPU in one node, by CPU between several."""
    row = r.get_generation(comm.cc) if comm.nodes == 1 else "Ampere" if comm.cpu == "amd" else "Volta"
    return r.ll_max[row][_at(comm)]


def _ring_bus(r: Release, collective: str, protocol: str, bus: float, graph: Graph, comm: Communicator) -> float:
    if protocol == "LL":
        busy = comm.nodes > 1 or collective in ("allreduce", "reduce")
        return min(_ll_max(r, comm), bus * r.ll_share[0 if busy else 1])
    if protocol == "LL128":
        share = r.lone_ll128_share if comm.local_ranks < 2 else c.RING_LL128_SHARE
        channel = r.ring_ll128_for.get(collective, r.ring_ll128[r.get_generation(comm.cc)][_at(comm)])
        return min(share * bus, graph.channels * channel)
    return bus


def _tree_bus(r: Release, protocol: str, bus: float, graph: Graph, comm: Communicator) -> float:
    row, at = r.get_generation(comm.cc), _at(comm)
    bus = min(c.TREE_SHARE * bus, graph.channels * r.tree_max[row][at])
    if protocol == "LL":
        bus = min(bus / c.TREE_LL_DIVISOR, _ll_max(r, comm))
    elif protocol == "LL128":
        channel = r.ring_ll128_for.get("allreduce", r.tree_ll128[row][at])
        bus = min(bus * c.TREE_LL128_SHARE[comm.nodes > 1], graph.channels * channel)
    return bus * r.plain_tree_factor if graph.pattern == c.TREE else bus


def compute_latency(r: Release, collective: str, algorithm: str, protocol: str, comm: Communicator) -> float:
    """Microseconds of a call without bytes, as the tuner counted them."""
    graph = comm.ring if r.since == 17 and algorithm == "NVLS" else comm.get_graph(algorithm)
    assert graph is not None
    p, nodes = c.PROTOCOLS.index(protocol), comm.nodes
    inside = "NVLINK" if graph.type_intra == "NVL" else "PCI"
    intra = r.step_latency[inside][algorithm][p] * (r.ll_intra_factor if nodes > 1 and protocol == "LL" else 1.0)
    lone = r.has_lone_tree_steps and comm.local_ranks == 1 and algorithm != "NVLSTree"
    inter = r.step_latency["NET"]["Tree" if lone else algorithm][p]
    inter += graph.latency_inter * (2 if protocol == "Simple" else 1)
    base, depth = r.base_latency[algorithm][p], math.floor(math.log2(nodes))
    if algorithm == "Ring":
        return base + _ring_latency(r, collective, protocol, graph, comm, intra, inter)
    if algorithm == "Tree":
        return base + 2 * ((comm.ranks // nodes - 1) * intra + depth * inter)
    if algorithm == "NVLS":
        return base + intra + (inter if nodes > 1 else 0)
    if algorithm == "NVLSTree":
        return base + intra + 2 * depth * inter
    return base + depth * inter / c.PAT_OVERLAP + c.PAT_PER_RANK * comm.ranks


def _ring_latency(
    r: Release, collective: str, protocol: str, graph: Graph, comm: Communicator, intra: float, inter: float
) -> float:
    p, n, nodes = c.PROTOCOLS.index(protocol), comm.ranks, comm.nodes
    if collective in ("broadcast", "reduce"):
        row = r.step_latency["NET" if nodes > 1 else "NVLINK" if graph.type_intra == "NVL" else "PCI"]
        return row["Ring"][p] if graph.same_channels else n * row["Tree" if protocol == "Simple" else "Ring"][p]
    rounds = 2 if collective == "allreduce" else 1
    far = rounds * (nodes - 1)
    if r.has_return_hops and collective == "allreduce" and nodes > 1:
        far = 2 * nodes
    if r.has_post_overhead and nodes > 1:
        intra = max(intra, c.NET_OVERHEAD[comm.cpu] * (3 if protocol == "Simple" else 1))
    return (rounds * (n - 1) - far) * intra + far * inter


def get_plateau_factor(r: Release, comm: Communicator, nbytes: int) -> float | None:
    """Factor on the latency of a ring's allreduce over nodes before 2.18; None where it is that of 2.30."""
    if r.plateau_factors is None:
        return None
    return r.plateau_factors[comm.cc >= 90] if nbytes >= comm.ranks / 16 * 65536 else 1.0
