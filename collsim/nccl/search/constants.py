"""NCCL's own tables, as they stand in NCCL 2.30.7. Bandwidth in GB/s (10^9 B/s), latency in microseconds, as NCCL
writes them.

Sources, all NVIDIA/nccl v2.30.7-1: `src/graph/tuning.cc` (latencies, caps, corrections), `src/graph/topo.h` (link
speeds), `src/graph/search.cc` (speed tables), `src/enqueue.cc` and `src/include/comm.h` (channels, threads, chunks).
"""

from __future__ import annotations

from typing import Final

from ...topology.parts.sockets import load_processors

#: Algorithms and protocols in NCCL's order: a tie goes to the earlier (src/enqueue.cc, topoGetAlgoInfo).
ALGORITHMS: Final = ("Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT")
#: Those that reduce in the switches of the network (SHARP), and in the NVSwitches of a node.
IN_NETWORK: Final = ("CollNetDirect", "CollNetChain")
IN_NVSWITCH: Final = ("NVLS", "NVLSTree")
PROTOCOLS: Final = ("LL", "LL128", "Simple")

#: Fixed microseconds per call, [LL, LL128, Simple] (tuning.cc, baseLatencies).
BASE_LATENCY: Final = {
    "Tree": (6.8, 14.0, 8.4),
    "Ring": (6.6, 14.0, 8.4),
    "CollNetDirect": (0.0, 0.0, 0.0),
    "CollNetChain": (0.0, 0.0, 0.0),
    "NVLS": (0.0, 0.0, 0.0),
    "NVLSTree": (0.0, 0.0, 0.0),
    "PAT": (8.0, 8.0, 8.0),
}

#: Microseconds per step over a kind of link, [LL, LL128, Simple] (tuning.cc, hwLatencies).
STEP_LATENCY: Final = {
    "NVLINK": {
        "Tree": (0.6, 1.25, 4.0),
        "Ring": (0.6, 1.9, 3.4),
        "CollNetDirect": (0.0, 0.0, 3.7),
        "CollNetChain": (0.0, 0.0, 2.8),
        "NVLS": (0.0, 0.0, 25.0),
        "NVLSTree": (0.0, 0.0, 25.0),
        "PAT": (0.0, 0.0, 4.0),
    },
    "PCI": {
        "Tree": (1.0, 1.9, 4.0),
        "Ring": (1.0, 2.5, 5.7),
        "CollNetDirect": (0.0, 0.0, 3.7),
        "CollNetChain": (0.0, 0.0, 2.8),
        "NVLS": (0.0, 0.0, 0.0),
        "NVLSTree": (0.0, 0.0, 0.0),
        "PAT": (0.0, 0.0, 4.0),
    },
    "NET": {
        "Tree": (5.0, 8.5, 14.0),
        "Ring": (2.7, 4.0, 14.0),
        "CollNetDirect": (0.0, 0.0, 31.0),
        "CollNetChain": (0.0, 0.0, 30.0),
        "NVLS": (0.0, 0.0, 18.0),
        "NVLSTree": (0.0, 0.0, 20.9),
        "PAT": (0.0, 0.0, 14.0),
    },
}

#: Microseconds per rank that PAT takes beside its steps (tuning.cc, ncclTopoTuneModel).
PAT_PER_RANK = 2.8
#: By what its steps between nodes are divided (tuning.cc, ncclTopoTuneModel).
PAT_OVERLAP = 3.5

#: Rows of the caps below, by compute capability of the oldest GPU.
GENERATIONS: Final = ("Volta", "Ampere", "Hopper", "Blackwell")

#: GB/s, columns one node, two nodes, more (tuning.cc: llMaxBws, perChMaxRingLL128Bws, perChMaxTreeLL128Bws,
#: perChMaxTreeBws, ...).
LL_MAX: Final = {
    "Volta": (39.0, 39.0, 20.4),
    "Ampere": (87.7, 22.5, 19.0),
    "Hopper": (141.0, 45.0, 35.0),
    "Blackwell": (282.0, 90.0, 70.0),
}
RING_LL128_MAX: Final = {"Volta": (20.0,) * 3, "Ampere": (20.0,) * 3, "Hopper": (36.7,) * 3, "Blackwell": (40.0,) * 3}
TREE_LL128_MAX: Final = {
    "Volta": (20.0,) * 3,
    "Ampere": (20.0,) * 3,
    "Hopper": (36.7, 36.7, 29.0),
    "Blackwell": (55.6, 31.67, 20.0),
}
TREE_MAX: Final = {
    "Volta": (26.5, 18.5, 10.0),
    "Ampere": (24.0, 23.6, 17.8),
    "Hopper": (38.7, 41.4, 36.0),
    "Blackwell": (70.0, 42.8, 24.0),
}
NVLSTREE_MAX: Final = {
    "Volta": (26.5, 18.5, 10.0),
    "Ampere": (24.0, 23.6, 17.8),
    "Hopper": (0.0, 57.7, 45.5),
    "Blackwell": (0.0, 96.0, 80.0),
}
NVLS_EFFICIENCY: Final = {"Volta": 0.0, "Ampere": 0.0, "Hopper": 0.85, "Blackwell": 0.74}

#: Factor on the bandwidth of a tree for size 64·2^i bytes (tuning.cc, treeCorrectionFactor).
TREE_CORRECTION: Final = {
    "LL": (1, 1, 1, 1, 0.9, 0.8, 0.7, 0.7, 0.7, 0.7, 0.6, 0.5, 0.4, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1, 1, 1, 1),
    "LL128": (1, 1, 1, 1, 1, 0.9, 0.8, 0.8, 0.8, 0.7, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.8, 0.9, 0.9, 0.9, 0.9, 1, 1, 1),
    "Simple": (
        0.9,
        0.9,
        0.9,
        0.9,
        0.9,
        0.9,
        0.9,
        0.8,
        0.7,
        0.6,
        0.6,
        0.5,
        0.5,
        0.5,
        0.5,
        0.6,
        0.7,
        0.8,
        0.7,
        0.7,
        0.8,
        0.9,
        0.9,
        0.9,
    ),
}

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

#: GB/s of one NVLink in one direction, by compute capability (topo.h).
NVLINK: Final = {60: 18.0, 70: 20.0, 75: 20.0, 80: 20.0, 86: 12.0, 89: 12.0, 90: 20.6, 100: 40.1}

#: GB/s of a x16 slot in one direction, by PCIe generation (topo.h, lane values).
PCIE_X16: Final = {1: 3.0, 2: 6.0, 3: 12.0, 4: 24.0, 5: 48.0, 6: 96.0}

#: GB/s between sockets by generation of the processor (topo.h); the table is that of all machines.
SOCKET: Final = {name: float(processor.nccl) for name, processor in load_processors().items()}

#: Speeds per channel that the search tries, GB/s (search.cc).
SPEEDS_INTRA: Final = {
    0: (40.0, 30.0, 20.0, 18.0, 15.0, 12.0, 10.0, 9.0, 7.0, 6.0, 5.0, 4.0, 3.0),
    90: (60.0, 50.0, 40.0, 30.0, 24.0, 20.0, 15.0, 12.0, 11.0, 6.0, 3.0),
    100: (90.0, 80.0, 70.0, 60.0, 50.0, 45.0, 40.0, 30.0, 24.0, 20.0, 19.0, 18.0),
}
SPEEDS_INTER: Final = {
    0: (48.0, 30.0, 28.0, 24.0, 20.0, 18.0, 15.0, 12.0, 10.0, 9.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.4, 1.2, 0.24, 0.12),
    90: (48.0, 45.0, 42.0, 40.0, 30.0, 24.0, 22.0, 20.0, 17.5, 15.0, 12.0, 6.0, 3.0, 2.4, 1.2, 0.24, 0.12),
    100: (
        96.0,
        86.0,
        80.0,
        48.0,
        45.1,
        42.0,
        40.0,
        30.0,
        24.0,
        22.0,
        20.0,
        17.5,
        15.0,
        12.0,
        6.0,
        3.0,
        2.4,
        1.2,
        0.24,
        0.12,
    ),
}

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
SLOW_RING, SLOW_RING_THREADS, NVLS_THREADS, LEAST_THREADS = 12.0, 256, 640, 96
RING_EXTRA_THREADS, SIMPLE_THREADS, THREADS_HALVED = 32, 640, 128

#: Least traffic per channel, bytes (src/enqueue.cc, scheduleCollTasksToPlan).
CHANNEL_TRAFFIC = 32 * 1024

#: Channels that NVLS uses by default (src/transport/nvls.cc), by compute capability and (one node, more nodes).
NVLS_CHANNELS: Final = {90: (16, 16), 100: (24, 32)}


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
    if nodes == 1:
        speeds = SPEEDS_INTRA
    else:
        speeds = SPEEDS_INTER
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
