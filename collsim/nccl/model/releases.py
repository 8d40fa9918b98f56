"""What each version of NCCL chooses by: the tables of its tuner, and in which formulas of `tuner` it differs.

Read in NVIDIA/nccl `src/graph/tuning.cc` at the tags named in `Release.source`; what a tag between two of them changed
is not known here, and counts from the later one on. A version decides what is chosen. What a choice takes stays what
was found on runs of all versions (`links`), and graphs are searched as in 2.30. Units are NCCL's: GB/s, microseconds.

Trees came with 2.4 (release notes 2.4.2), LL128 with 2.5 (2.5.6), NVLink SHARP in a node with 2.17 and over nodes with
2.18 (2.18.1), PAT with 2.23 (2.23.4). NCCL 2.4 chose by thresholds of size; the tables of 2.5 without LL128 stand for
them.
"""

from __future__ import annotations

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
#: Since when the formulas are those of 2.30.
_SINCE_CURRENT = 28


@dataclass(frozen=True, eq=False)
class Release:
    """The tuner from a version on.

    Attributes:
        since: the version, 17 is 2.17.
        source: tag and commit of NVIDIA/nccl that it was read at.
        base_latency: microseconds per call.
        step_latency: microseconds per step.
        algorithms: those that exist.
        ll128_capabilities: compute capabilities on which LL128 is used unless asked for, before 2.28.
        ll128_path: the worst path between GPUs for LL128, before 2.28.
        ll_max: GB/s of LL.
        ring_ll128: GB/s of a ring's channel with LL128.
        ring_ll128_for: the same by collective, where that counted.
        tree_ll128: GB/s of a tree's channel with LL128.
        tree_max: GB/s of a tree's channel.
        bus_caps: most GB/s of all channels, by generation of GPUs.
        ll_share: share of the bus bandwidth that LL gets in a ring: over several nodes or where it reduces, and else.
        lone_ll128_share: the same for LL128 with one GPU per node.
        ll_intra_factor: factor on a step of LL inside a node where there are several.
        has_post_overhead: steps inside a node take at least as long as a CPU needs to post one.
        has_return_hops: rings of an allreduce cross nodes 2N times, not 2(N-1).
        has_lone_tree_steps: with one GPU per node steps take as long as a tree's.
        plain_tree_factor: factor on the bandwidth of the plain tree.
        nvls_factor: factor on the bandwidth of NVLS, before 2.28.
        plateau_factors: factor on a ring's latency for larger sizes, before Hopper and since; None: by the bytes of a
            channel, as in 2.30.
    """

    since: int
    source: str
    base_latency: Mapping[str, tuple[float, float, float]] = field(default_factory=lambda: c.BASE_LATENCY)
    step_latency: Steps = field(default_factory=lambda: c.STEP_LATENCY)
    algorithms: frozenset[str] = frozenset(("Tree", "Ring"))
    ll128_capabilities: frozenset[int] = frozenset((70, 80))
    ll128_path: str = "NVB"
    ll_max: Caps = field(default_factory=lambda: c.LL_MAX)
    ring_ll128: Caps = field(default_factory=lambda: c.RING_LL128_MAX)
    ring_ll128_for: Mapping[str, float] = field(default_factory=dict)
    tree_ll128: Caps = field(default_factory=lambda: c.TREE_LL128_MAX)
    tree_max: Caps = field(default_factory=lambda: c.TREE_MAX)
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

    @property
    def is_current(self) -> bool:
        """Whether LL128, NVLS and the corrections of a tree go by the rules of 2.30."""
        return self.since >= _SINCE_CURRENT

    @property
    def running(self) -> Release:
        """The release whose caps count for the time that a call takes, which is known of all versions together."""
        if self.is_current:
            return self
        return CURRENT

    @property
    def takes_rings_for_nvls(self) -> bool:
        """Whether the tuner looked at the graph of rings for NVLS."""
        return self.since == 17

    def get_nvls_share(self, has_blocks: bool) -> float:
        """Get the share of the bus bandwidth that NVLS was given before 2.28.

        Args:
            has_blocks: whether the collective is allgather or reduce_scatter.

        Returns:
            The factor.
        """
        if has_blocks and self.since >= 23:
            return 1.0
        return self.nvls_factor

    def get_plateau_factor(self, comm: Communicator, nbytes: int) -> float:
        """Get the factor on the latency of an allreduce's ring over several nodes.

        Args:
            comm: the ranks.
            nbytes: nccl-tests' size, bytes.

        Returns:
            The factor; 1 for small sizes.
        """
        if self.plateau_factors is None:
            factor, is_large = (
                c.RING_PLATEAU[comm.cc >= 80],
                nbytes // (comm.running_channels * comm.ranks) >= c.RING_PLATEAU_BYTES,
            )
        else:
            factor, is_large = self.plateau_factors[comm.cc >= 90], nbytes >= comm.ranks / 16 * 65536
        if is_large:
            return factor
        return 1.0

    def has_ll128(self, graph: Graph, cc: int, max_cc: int | None) -> bool:
        """Tell whether a release before 2.28 uses LL128 without being asked.

        Args:
            graph: the algorithm's graph.
            cc: compute capability of the oldest GPU.
            max_cc: that of the newest; None: the same.

        Returns:
            Whether it does, as far as its own rules go; True since 2.28, which has none.
        """
        is_near = c.is_type_at_most(graph.type_intra, self.ll128_path)
        return self.is_current or (cc in self.ll128_capabilities and max_cc in (None, cc) and is_near)

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


#: By version, the oldest first; from 2.28 on as 2.30 (2.29.7 printed its table: tests/nccl/test_tuner.py), but for the
#: tables of 2.32.
RELEASES: Final = _read_releases()


def find_release(minor: int) -> Release:
    """Find the tuner of a version.

    Args:
        minor: the version, 18 for 2.18.

    Returns:
        The tuner.
    """
    return next(release for release in reversed(RELEASES) if release.since <= minor)


#: The tuner of the version that is assumed where none is given.
CURRENT: Final = find_release(ASSUMED)


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
    release = find_release(minor)
    if release.is_current:
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
