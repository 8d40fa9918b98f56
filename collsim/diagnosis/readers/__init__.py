"""Facts of what tools print: nvidia-smi, lspci, ibstat, perftest, df, dmesg and others.

A text may hold the output of several commands, so every reader looks for its own lines and ignores the rest. The forms
are those of the tools' sources and manuals, which each module names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ...io.nccl.nccl_log_facts import Stated
from .benchmark_tables import (
    LateRank,
    MeasuredTime,
    read_hccl_test,
    read_inspector,
    read_nccom_test,
    read_node_counts,
    read_osu,
    read_table_document,
    read_table_head,
    read_torch_benchmarks,
)
from .execution_traces import read_chakra_nodes, write_chakra_node
from .gpu_bandwidth import HostLink, PairLatency, PairMatrix, PairRow, read_nvbandwidth, read_pair_matrices
from .gpu_tools import (
    GpuLinks,
    LinkKinds,
    read_amd_topology,
    read_fabric,
    read_gpu_names,
    read_npu_topology,
    read_nvlink_status,
    read_peer_status,
    read_topology_words,
)
from .host_tools import PcieLink, read_driver, read_host, read_pcie
from .network_tools import (
    ERROR_COUNTERS,
    LOSS_COUNTERS,
    CardPort,
    CardTest,
    PortCounter,
    read_card_tests,
    read_cards,
    read_counters,
)
from .topology_dumps import read_graph_file, read_topology_file, read_tree

__all__ = [
    "ERROR_COUNTERS",
    "LOSS_COUNTERS",
    "TOOL_READERS",
    "TOPOLOGY_FILE",
    "CardPort",
    "CardTest",
    "GpuLinks",
    "HostLink",
    "LateRank",
    "LinkKinds",
    "MeasuredTime",
    "PairLatency",
    "PairMatrix",
    "PairRow",
    "PcieLink",
    "PortCounter",
    "Reader",
    "read_tree",
    "write_chakra_node",
]

#: Name of a file that describes a machine, where tools are listed.
TOPOLOGY_FILE = "topology file"
Reader = Callable[[Sequence[str]], Iterator[Stated]]

#: Readers by the tool whose lines they look for.
TOOL_READERS: dict[str, Reader] = {
    TOPOLOGY_FILE: read_topology_file,
    "NCCL graphs": read_graph_file,
    "nccl-tests": read_table_head,
    "nccl-tests -J": read_table_document,
    "nvidia-smi topo -m": read_topology_words,
    "nvidia-smi topo -p2p": read_peer_status,
    "nvidia-smi nvlink -s": read_nvlink_status,
    "names of GPUs": read_gpu_names,
    "nvidia-smi -q": read_fabric,
    "driver": read_driver,
    "lspci": read_pcie,
    "ibstat": read_cards,
    "perftest": read_card_tests,
    "host": read_host,
    "p2pBandwidthLatencyTest": read_pair_matrices,
    "nvbandwidth": read_nvbandwidth,
    "rocm-smi, amd-smi": read_amd_topology,
    "npu-smi": read_npu_topology,
    "counters of cards": read_counters,
    "hccl_test": read_hccl_test,
    "nccom-test": read_nccom_test,
    "PyTorch benchmark": read_torch_benchmarks,
    "OSU": read_osu,
    "NCCL Inspector": read_inspector,
    "Chakra trace": read_chakra_nodes,
    "busbw by nodes": read_node_counts,
}
