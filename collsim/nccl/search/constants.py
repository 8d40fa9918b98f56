"""NCCL's own constants, as they stand in NCCL 2.30.7; its tables are in `constants.toml`. Bandwidth in GB/s (10^9 B/s),
latency in microseconds, as NCCL writes them.

Sources, all NVIDIA/nccl v2.30.7-1: `src/graph/tuning.cc` (latencies, caps, corrections), `src/graph/topo.h` (link
speeds), `src/graph/search.cc` (speed tables), `src/enqueue.cc` and `src/include/comm.h` (channels, threads, chunks).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from ...package_data import read_number_tables, use_number_keys
from ...topology.parts.sockets import load_processors

#: Three numbers by name.
Rows: TypeAlias = Mapping[str, tuple[float, float, float]]
_tables = read_number_tables(__file__, "constants.toml")

#: Algorithms and protocols in NCCL's order: a tie goes to the earlier (src/enqueue.cc, topoGetAlgoInfo).
ALGORITHMS: Final = ("Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT")
#: Those that reduce in the switches of the network (SHARP), and in the NVSwitches of a node.
IN_NETWORK: Final = ("CollNetDirect", "CollNetChain")
IN_NVSWITCH: Final = ("NVLS", "NVLSTree")
PROTOCOLS: Final = ("LL", "LL128", "Simple")

#: Fixed microseconds per call, [LL, LL128, Simple].
BASE_LATENCY: Final[Rows] = _tables["base_latency"]

#: Microseconds per step over a kind of link, [LL, LL128, Simple].
STEP_LATENCY: Final[Mapping[str, Rows]] = _tables["step_latency"]

#: Microseconds per rank that PAT takes beside its steps (tuning.cc, ncclTopoTuneModel).
PAT_PER_RANK = 2.8
#: By what its steps between nodes are divided (tuning.cc, ncclTopoTuneModel).
PAT_OVERLAP = 3.5

#: Rows of the caps below, by compute capability of the oldest GPU.
GENERATIONS: Final = ("Volta", "Ampere", "Hopper", "Blackwell")

#: GB/s by generation, columns one node, two nodes, more: of LL, of a ring's and a tree's channel with LL128, of a
#: tree's channel, of NVLSTree's.
LL_MAX: Final[Rows] = _tables["ll_max"]
RING_LL128_MAX: Final[Rows] = _tables["ring_ll128_max"]
TREE_LL128_MAX: Final[Rows] = _tables["tree_ll128_max"]
TREE_MAX: Final[Rows] = _tables["tree_max"]
NVLSTREE_MAX: Final[Rows] = _tables["nvlstree_max"]

#: Share of the bandwidth that NVLS reaches, by generation.
NVLS_EFFICIENCY: Final[Mapping[str, float]] = _tables["nvls_efficiency"]

#: Factor on the bandwidth of a tree for size 64·2^i bytes.
TREE_CORRECTION: Final[Mapping[str, tuple[float, ...]]] = _tables["tree_correction"]

#: So many of its entries are read (tuning.cc, ncclTopoGetAlgoTime).
TREE_CORRECTED: Final = {"Tree": 23, "NVLSTree": 24}

#: Share of the bus bandwidth: a ring with LL128; a tree, then with LL128 on one node and on more, then of the plain
#: pattern; PAT. With LL a tree's is divided (tuning.cc, ncclTopoTuneModel).
RING_LL128_SHARE, TREE_SHARE, TREE_LL128_SHARE, PLAIN_TREE_SHARE, PAT_SHARE = 0.92, 0.92, (7 / 9, 120 / 128), 0.85, 0.75
TREE_LL_DIVISOR = 3.8

#: Factor on the latency of an allreduce's ring with Simple over several nodes, before Ampere and since, from so many
#: bytes per channel and rank on (tuning.cc, ncclTopoGetAlgoTime).
RING_PLATEAU, RING_PLATEAU_BYTES = (1.9, 1.4), 64

#: Microseconds a CPU needs to post one network step; three times that for Simple (tuning.cc, getNetOverhead).
NET_OVERHEAD: Final = {"intel": 1.0, "amd": 2.0, "arm": 1.0}

#: Path types in NCCL's order of preference (src/include/graph.h); a number from here is comparable.
PATH_TYPES: Final = ("LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS", "NET", "DIS")

#: Tree patterns (src/include/graph.h): balanced, split, plain.
BALANCED_TREE, SPLIT_TREE, TREE, RING, NVLS = 1, 2, 3, 4, 5

#: GB/s of one NVLink in one direction, by compute capability.
NVLINK: Final[Mapping[int, float]] = use_number_keys(_tables["nvlink"])

#: GB/s of a x16 slot in one direction, by PCIe generation.
PCIE_X16: Final[Mapping[int, float]] = use_number_keys(_tables["pcie_x16"])

#: GB/s between sockets by generation of the processor (topo.h); the table is that of all machines.
SOCKET: Final = {name: float(processor.nccl) for name, processor in load_processors().items()}

#: Speeds per channel that the search tries in a node and between nodes, GB/s, from a compute capability on.
SPEEDS_INTRA: Final[Mapping[int, tuple[float, ...]]] = use_number_keys(_tables["speeds_intra"])
SPEEDS_INTER: Final[Mapping[int, tuple[float, ...]]] = use_number_keys(_tables["speeds_inter"])

#: What a GPU's path through an Intel host bridge reserves of PCIe for each byte (topo.h, INTEL_P2P_OVERHEAD), and what
#: a path to a GPU before Ampere from a card or CPU reserves on the way back (search.cc, followPath).
INTEL_P2P, WAY_BACK = 1.2, 1 / 8

#: The search continues at a speed that is more than this share of the best (search.cc, ncclTopoCompute).
SLOWER_SPEED = 0.49
#: GB/s of the one channel that is left where nothing is found (search.cc, "falling back to simple order").
LAST_RESORT = 0.1
#: GB/s of a channel from which channels are duplicated; after Ampere, where there are more than so many, from so many
#: GB/s on (search.cc, ncclTopoDupChannels).
DUPLICATED, DUPLICATED_FEW, DUPLICATED_FAST = 25.0, 4, 50.0

#: Most ranks of a node with NVLS, and so heads (src/include/device.h, NCCL_MAX_NVLS_ARITY).
MAX_NVLS_ARITY = 32

#: Largest number of channels (src/include/device.h) and of the search (search.cc).
MAX_CHANNELS, SEARCH_CHANNELS = 64, 32

#: Bytes per thread below which threads and channels are given up (src/include/comm.h); Ring LL multiplies by n.
THREAD_THRESHOLD: Final = {"LL": 8, "LL128": 8, "Simple": 64}

#: Most threads of a channel; of a ring with Simple whose channels have no more than so many GB/s together; of NVLS; and
#: at least. Simple gets more on top for a ring, else all of them. Halved only as a multiple of THREADS_HALVED
#: (tuning.cc, src/enqueue.cc topoGetAlgoInfo).
THREADS: Final = {"LL": 512, "LL128": 640, "Simple": 512}
SLOW_RING, SLOW_RING_THREADS, NVLS_THREADS, MIN_THREADS = 12.0, 256, 640, 96
RING_EXTRA_THREADS, SIMPLE_THREADS, THREADS_HALVED = 32, 640, 128

#: Channels that NVLS uses by default, by compute capability and (one node, more nodes).
NVLS_CHANNELS: Final[Mapping[int, tuple[int, ...]]] = use_number_keys(_tables["nvls_channels"])


def get_generation(cc: int) -> str:
    """Get the row of the cap tables for a generation of GPUs.

    Args:
        cc: compute capability, such as 80.

    Returns:
        One of `GENERATIONS`.

    Examples:
        >>> get_generation(86)
        'Ampere'
    """
    newer = sum(cc >= first for first in (80, 90, 100))
    return GENERATIONS[newer]


def get_ll_generation(generation: str, nodes: int, cpu: str) -> str:
    """Get the row of `LL_MAX` that bounds LL: over several nodes it depends on the CPU (tuning.cc, ncclTopoTuneModel).

    Args:
        generation: row of the GPUs.
        nodes: number of nodes.
        cpu: `intel`, `amd` or `arm`.

    Returns:
        One of `GENERATIONS`.
    """
    if nodes == 1:
        return generation
    if cpu == "amd":
        return "Ampere"
    return "Volta"


def get_cap_column(nodes: int) -> int:
    """Get the column of the cap tables: one node, two, more.

    Args:
        nodes: number of nodes.

    Returns:
        0 to 2.
    """
    return min(nodes, 3) - 1


def get_speeds(cc: int, nodes: int) -> tuple[float, ...]:
    """Get the speeds that the search tries.

    Args:
        cc: compute capability.
        nodes: number of nodes.

    Returns:
        GB/s per channel, fastest first.
    """
    speeds = SPEEDS_INTER
    if nodes == 1:
        speeds = SPEEDS_INTRA
    return speeds[max(first for first in speeds if first <= cc)]


def count_ring_steps(collective: str, ranks: int) -> int:
    """Count the steps of a ring, as NCCL counts them (tuning.cc, ncclTopoTuneModel, nsteps).

    Args:
        collective: collsim's name of it.
        ranks: number of ranks.

    Returns:
        2(n-1) for an allreduce, n for a broadcast or reduce, n-1 for the others.
    """
    if collective in ("broadcast", "reduce"):
        return ranks
    if collective == "allreduce":
        return 2 * (ranks - 1)
    return ranks - 1


def is_type_at_most(path_type: str, limit: str) -> bool:
    """Whether a path type is no farther than another, in NCCL's order.

    Args:
        path_type: one of `PATH_TYPES`.
        limit: another of them.
    """
    return PATH_TYPES.index(path_type) <= PATH_TYPES.index(limit)
