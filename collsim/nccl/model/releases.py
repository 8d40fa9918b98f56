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
from ...package_data import read_toml
from ..search import constants as c

if TYPE_CHECKING:
    from .tuner import Communicator, Graph

#: The oldest and the newest version that are known, and the one that is assumed where none is given: the newest whose
#: sources were read.
OLDEST, NEWEST, ASSUMED = 4, 32, 30
#: Microseconds per step by kind of link and algorithm, [LL, LL128, Simple].
Steps = Mapping[str, Mapping[str, tuple[float, float, float]]]
#: GB/s by generation of GPUs, columns one node, two nodes, more.
Caps = Mapping[str, tuple[float, float, float]]
_HOPPER_TREE: Final[Caps] = {**c.TREE_MAX, "Blackwell": c.TREE_MAX["Hopper"]}
_HOPPER_TREE_LL128: Final[Caps] = {**c.TREE_LL128_MAX, "Blackwell": c.TREE_LL128_MAX["Hopper"]}
_HOPPER_RING_LL128: Final[Caps] = {**c.RING_LL128_MAX, "Blackwell": c.RING_LL128_MAX["Hopper"]}


@dataclass(frozen=True)
class Release:
    """The tuner from a version on.

    Attributes:
        since: the version, 17 is 2.17.
        source: tag and commit of NVIDIA/nccl that it was read at.
        base_latency: microseconds per call (`constants.BASE_LATENCY` for 2.30).
        step_latency: microseconds per step (`constants.STEP_LATENCY`).
        algorithms: those that exist.
        ll128_capabilities: compute capabilities on which LL128 is used unless asked for.
        ll128_path: the worst path between GPUs for LL128.
        ll_max: GB/s of LL (`constants.LL_MAX`).
        ring_ll128: GB/s of a ring's channel with LL128 (`constants.RING_LL128_MAX`).
        ring_ll128_for: the same by collective, where that counted.
        tree_ll128: GB/s of a tree's channel with LL128 (`constants.TREE_LL128_MAX`).
        tree_max: GB/s of a tree's channel (`constants.TREE_MAX`).
        bus_caps: most GB/s of all channels, by generation of GPUs.
        ll_share: share of the bus bandwidth that LL gets in a ring: over several nodes or where it reduces, and else.
        lone_ll128_share: the same for LL128 with one GPU per node.
        ll_intra_factor: factor on a step of LL inside a node where there are several.
        has_post_overhead: steps inside a node take at least as long as a CPU needs to post one.
        has_return_hops: rings of an allreduce cross nodes 2N times, not 2(N-1).
        has_lone_tree_steps: with one GPU per node steps take as long as a tree's.
        plain_tree_factor: factor on the bandwidth of the plain tree.
        nvls_factor: factor on the bandwidth of NVLS.
        plateau_factors: factor on a ring's latency for larger sizes, before Hopper and since; None: as in 2.30.
    """

    since: int
    source: str
    base_latency: Mapping[str, tuple[float, float, float]] = field(default_factory=lambda: c.BASE_LATENCY)
    step_latency: Steps = field(default_factory=lambda: c.STEP_LATENCY)
    algorithms: frozenset[str] = frozenset(("Tree", "Ring"))
    ll128_capabilities: frozenset[int] = frozenset((70, 80))
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
        """Get the row of the tables: before 2.17 only compute capability 8.0 is Ampere's, before 2.25 Blackwell is
        Hopper's.

        Args:
            cc: compute capability.

        Returns:
            One of `constants.GENERATIONS`.
        """
        if self.since < 17:
            if cc == 80:
                return "Ampere"
            return "Volta"
        generation = c.get_generation(cc)
        if generation == "Blackwell" and self.since < 25:
            return "Hopper"
        return generation


def _read_releases() -> tuple[Release, ...]:
    """Read the releases of `releases.toml`, each from what it is like."""
    releases: dict[int, Release] = {}
    for row in read_toml(__file__, "releases.toml")["release"]:
        like = releases.get(row.pop("like", 0), Release(row["since"], row["source"]))
        changed: dict[str, Any] = {name: _merge(getattr(like, name), value) for name, value in row.items()}
        releases[row["since"]] = replace(like, **changed)
    return tuple(releases[since] for since in sorted(releases))


def _merge(known: object, value: object) -> object:
    """Put what differs into a field of a release: a table keeps its other rows."""
    if isinstance(known, Mapping) and isinstance(value, Mapping):
        return {**known, **{key: _merge(known.get(key), entry) for key, entry in value.items()}}
    if isinstance(known, frozenset) and isinstance(value, list):
        return frozenset(value)
    if isinstance(value, list):
        return tuple(value)
    return value


#: By version, the oldest first; from 2.28 on as 2.30 (2.29.7 printed its table: tests/nccl/test_tuner.py).
RELEASES: Final = _read_releases()
_SINCE_CURRENT = 28


def parse_version(version: str | None) -> int | None:
    """Read a version of NCCL.

    Args:
        version: "2.18", "2.18.3" or "2.18.5+cuda12.2"; None or "": not given.

    Returns:
        18 of these; None where none is given.

    Raises:
        CollsimError: for what is no version, and for one that is not known.
    """
    if version is None or version == "":
        return None
    text = ""
    if isinstance(version, str):
        text = version.strip()
    match = re.fullmatch(r"v?2\.(\d{1,2})(\.(\d+|x))?([+-].*)?", text)
    if match is None:
        template = "version={version!r} is no version of NCCL as text; write for example '2.18' or '2.18.3'"
        raise CollsimError(template, version=version)
    minor = int(match[1])
    if not OLDEST <= minor <= NEWEST:
        raise CollsimError(
            "version={version!r}: known are NCCL 2.{oldest} to 2.{newest}; give one of them, or leave it out for "
            "2.{assumed}",
            version=version,
            oldest=OLDEST,
            newest=NEWEST,
            assumed=ASSUMED,
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
    """Describe what a version means for a prediction.

    Args:
        minor: the version, 18 for 2.18; None: none was given.

    Returns:
        A sentence, which says what was assumed where none was given.
    """
    release = find_release(minor)
    if minor is None:
        return Sentence(
            "No NCCL version given: 2.{newest} is assumed; set another with version= (--version)", newest=ASSUMED
        )
    if minor > ASSUMED:
        return Sentence(
            "NCCL 2.{minor}: chosen by the tables of its library and the formulas of 2.{newest}, the newest whose "
            "sources were read; kernels on symmetric memory and copy engines are not modelled",
            minor=minor,
            newest=ASSUMED,
        )
    if release is None:
        return Sentence("NCCL 2.{minor}: chosen as 2.{newest} would", minor=minor, newest=ASSUMED)
    # Algorithms that came later cannot be chosen.
    names = ", ".join(name for since, name in _CAME if since > minor)
    return Sentence(
        "NCCL 2.{minor}: chosen by the tables of {source}{lacking}; what a choice takes is known of all versions "
        "together",
        minor=minor,
        source=release.source,
        lacking=Sentence("; not there yet: {what}", what=names) if names else "",
    )


#: Calls that other code would carry, by the version that it came with: `nccl.h`, and NCCL's user guide, "Window
#: Registration", "Zero-CTA Optimization" and "One-sided communication".
_SYMMETRIC: Final = (27, frozenset(("allreduce", "allgather", "reduce_scatter")))
_COPY_ENGINES: Final = (28, frozenset(("allgather", "alltoall", "gather", "scatter")))
_ONE_SIDED: Final = (29, frozenset(("alltoall", "sendrecv")))


def describe_registered_buffers(minor: int | None, collective: str) -> tuple[Sentence, ...]:
    """Describe what NCCL would do instead where a program registers its buffers, which no time here contains.

    Args:
        minor: the version, 28 for 2.28; None: none was given.
        collective: its name; on GPUs that all reach one another over NVLink.

    Returns:
        A sentence for each other way that the version has.
    """
    if minor is None:
        minor = ASSUMED
    sentences = []
    if _has(minor, collective, _SYMMETRIC):
        template = (
            "not in this time: for buffers that ncclCommWindowRegister has made symmetric, NCCL {version} and newer "
            "chooses among kernels on symmetric memory"
        )
        sentences.append(Sentence(template, version=f"2.{_SYMMETRIC[0]}"))
    if _has(minor, collective, _COPY_ENGINES):
        template = (
            "not in this time: for symmetric buffers and NCCL_CTA_POLICY_ZERO, NCCL {version} and newer copies by the "
            "GPUs' copy engines, without a kernel"
        )
        sentences.append(Sentence(template, version=f"2.{_COPY_ENGINES[0]}"))
    if _has(minor, collective, _ONE_SIDED):
        template = (
            "not in this time: with ncclPutSignal, the one-sided call of NCCL {version} and newer, the receiver makes "
            "no call"
        )
        sentences.append(Sentence(template, version=f"2.{_ONE_SIDED[0]}"))
    return tuple(sentences)


def _has(minor: int, collective: str, feature: tuple[int, frozenset[str]]) -> bool:
    since, collectives = feature
    return minor >= since and collective in collectives


def find_caps(minor: int) -> c.NewerCaps:
    """Find the caps of LL and of trees with LL128 of a version; those of versions before 2.28 are in their `Release`.

    Args:
        minor: the version, 32 for 2.32.

    Returns:
        The caps.
    """
    return c.NEWER_CAPS[max((since for since in c.NEWER_CAPS if since <= minor), default=min(c.NEWER_CAPS))]


def find_release(minor: int | None) -> Release | None:
    """Find the tuner of a version.

    Args:
        minor: the version, 18 for 2.18; None: the newest.

    Returns:
        The tuner; None for that of 2.30.
    """
    if minor is None or minor >= _SINCE_CURRENT:
        return None
    return next(release for release in reversed(RELEASES) if release.since <= minor)


# ---- the formulas --------------------------------------------------------------------------------------------------


def has_pair(
    release: Release | None,
    algorithm: str,
    protocol: str,
    graph: Graph | None,
    comm: Communicator,
    forced_ll128: bool,
) -> bool:
    """Whether a release has a pair that 2.30 has.

    Args:
        release: the tuner of the release; None: 2.30's.
        algorithm: NCCL's name of it.
        protocol: one of `constants.PROTOCOLS`.
        graph: the algorithm's graph; None where there is none.
        comm: the ranks.
        forced_ll128: whether NCCL_PROTO asks for LL128.
    """
    if release is None or graph is None:
        return True
    if algorithm not in release.algorithms or (protocol == "LL128" and release.since < 5):
        return False
    if protocol != "LL128" or forced_ll128:
        return True
    is_one_generation = comm.max_cc in (None, comm.cc)
    is_near = c.is_type_at_most(graph.type_intra, release.ll128_path)
    return comm.cc in release.ll128_capabilities and is_one_generation and is_near


def compute_bandwidth(release: Release, collective: str, algorithm: str, protocol: str, comm: Communicator) -> float:
    """Compute the bandwidth that the tuner of a release expected.

    Args:
        release: the tuner of the release.
        collective: collsim's name of it.
        algorithm: NCCL's name of it.
        protocol: one of `constants.PROTOCOLS`.
        comm: the ranks.

    Returns:
        GB/s of nccl-tests' size.
    """
    graph = _get_graph(release, algorithm, comm)
    cap = release.bus_caps.get(release.get_generation(comm.cc), math.inf)
    bus = min(_compute_bus_bandwidth(algorithm, graph, comm), cap)
    if algorithm == "PAT":
        return bus * c.PAT_SHARE
    if algorithm in c.IN_NVSWITCH:
        has_blocks = collective in ("allgather", "reduce_scatter")
        if has_blocks and release.since >= 23:
            return bus
        return bus * release.nvls_factor
    if algorithm == "Tree":
        return _cap_tree_bandwidth(release, protocol, bus, graph, comm) * 0.5
    bus = _cap_ring_bandwidth(release, collective, protocol, bus, graph, comm)
    return bus * (comm.ranks / c.count_ring_steps(collective, comm.ranks))


def _get_graph(release: Release, algorithm: str, comm: Communicator) -> Graph:
    """The graph that the tuner looked at: 2.17 took that of rings for NVLS."""
    if release.since == 17 and algorithm == "NVLS":
        return comm.ring
    graph = comm.get_graph(algorithm)
    assert graph is not None
    return graph


def _compute_bus_bandwidth(algorithm: str, graph: Graph, comm: Communicator) -> float:
    channel = graph.bw_inter
    if comm.nodes <= 2:
        channel = graph.bw_intra
    if algorithm == "NVLS":
        channel = min(graph.bw_intra, graph.bw_inter)
    if algorithm == "NVLSTree":
        channel = min(graph.bw_intra, graph.bw_inter if comm.nodes <= 2 else graph.bw_inter / 2)
    return graph.channels * channel


def _get_ll_max(release: Release, comm: Communicator) -> float:
    """By GPU in one node, by CPU between several."""
    row = c.get_ll_generation(release.get_generation(comm.cc), comm.nodes, comm.cpu)
    return release.ll_max[row][c.get_cap_column(comm.nodes)]


def _cap_ring_bandwidth(
    release: Release, collective: str, protocol: str, bus: float, graph: Graph, comm: Communicator
) -> float:
    if protocol == "LL":
        is_busy = comm.nodes > 1 or collective in ("allreduce", "reduce")
        return min(_get_ll_max(release, comm), bus * release.ll_share[0 if is_busy else 1])
    if protocol == "LL128":
        share = c.RING_LL128_SHARE
        if comm.local_ranks < 2:
            share = release.lone_ll128_share
        ring_cap = release.ring_ll128[release.get_generation(comm.cc)][c.get_cap_column(comm.nodes)]
        return min(share * bus, graph.channels * release.ring_ll128_for.get(collective, ring_cap))
    return bus


def _cap_tree_bandwidth(release: Release, protocol: str, bus: float, graph: Graph, comm: Communicator) -> float:
    row, column = release.get_generation(comm.cc), c.get_cap_column(comm.nodes)
    bus = min(c.TREE_SHARE * bus, graph.channels * release.tree_max[row][column])
    if protocol == "LL":
        bus = min(bus / c.TREE_LL_DIVISOR, _get_ll_max(release, comm))
    elif protocol == "LL128":
        channel = release.ring_ll128_for.get("allreduce", release.tree_ll128[row][column])
        bus = min(bus * c.TREE_LL128_SHARE[comm.nodes > 1], graph.channels * channel)
    if graph.pattern == c.TREE:
        return bus * release.plain_tree_factor
    return bus


def compute_latency(release: Release, collective: str, algorithm: str, protocol: str, comm: Communicator) -> float:
    """Compute the latency of a call without bytes, as the tuner of a release counted it.

    Args:
        release: the tuner of the release.
        collective: collsim's name of it.
        algorithm: NCCL's name of it.
        protocol: one of `constants.PROTOCOLS`.
        comm: the ranks.

    Returns:
        Microseconds.
    """
    graph = _get_graph(release, algorithm, comm)
    p, nodes = c.PROTOCOLS.index(protocol), comm.nodes
    intra = release.step_latency[graph.intra_link][algorithm][p]
    if nodes > 1 and protocol == "LL":
        intra *= release.ll_intra_factor
    is_alone = release.has_lone_tree_steps and comm.local_ranks == 1 and algorithm != "NVLSTree"
    inter = release.step_latency["NET"]["Tree" if is_alone else algorithm][p]
    inter += graph.latency_inter * (2 if protocol == "Simple" else 1)
    base, depth = release.base_latency[algorithm][p], math.floor(math.log2(nodes))
    if algorithm == "Ring":
        return base + _compute_ring_latency(release, collective, protocol, graph, comm, intra, inter)
    if algorithm == "Tree":
        return base + 2 * ((comm.ranks // nodes - 1) * intra + depth * inter)
    if algorithm == "NVLS":
        return base + intra + (inter if nodes > 1 else 0)
    if algorithm == "NVLSTree":
        return base + intra + 2 * depth * inter
    return base + depth * inter / c.PAT_OVERLAP + c.PAT_PER_RANK * comm.ranks


def _compute_ring_latency(
    release: Release, collective: str, protocol: str, graph: Graph, comm: Communicator, intra: float, inter: float
) -> float:
    p, ranks, nodes, is_simple = c.PROTOCOLS.index(protocol), comm.ranks, comm.nodes, protocol == "Simple"
    if collective in ("broadcast", "reduce"):
        latencies = release.step_latency["NET" if nodes > 1 else graph.intra_link]
        if graph.same_channels:
            return latencies["Ring"][p]
        return ranks * latencies["Tree" if is_simple else "Ring"][p]
    rounds = 1
    if collective == "allreduce":
        rounds = 2
    inter_steps = rounds * (nodes - 1)
    if release.has_return_hops and collective == "allreduce" and nodes > 1:
        inter_steps = 2 * nodes
    if release.has_post_overhead and nodes > 1:
        intra = max(intra, c.NET_OVERHEAD[comm.cpu] * (3 if is_simple else 1))
    return (rounds * (ranks - 1) - inter_steps) * intra + inter_steps * inter


def get_plateau_factor(release: Release, comm: Communicator, nbytes: int) -> float | None:
    """Get the factor on the latency of a ring's allreduce over nodes, which releases before 2.18 had.

    Args:
        release: the tuner of the release.
        comm: the ranks.
        nbytes: nccl-tests' size, bytes.

    Returns:
        The factor; None where it is that of 2.30.
    """
    if release.plateau_factors is None:
        return None
    if nbytes >= comm.ranks / 16 * 65536:
        return release.plateau_factors[comm.cc >= 90]
    return 1.0
