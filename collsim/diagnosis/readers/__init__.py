"""Facts of what tools print: nvidia-smi, lspci, ibstat, perftest, df, dmesg and others.

A text may hold the output of several commands, so every reader looks for its own lines and ignores the rest. The forms
are those of the tools' sources and manuals, which each module names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ...io.nccl.nccl_log_facts import Stated
from . import benchmark_tables, gpu_tools, host_tools, network_tools, topology_dumps
from .execution_traces import read_chakra_nodes
from .gpu_bandwidth import read_nvbandwidth, read_pair_matrices

#: Name of a file that describes a machine, where tools are listed.
TOPOLOGY_FILE = "topology file"
Reader = Callable[[Sequence[str]], Iterator[Stated]]

#: Readers by the tool whose lines they look for.
TOOL_READERS: dict[str, Reader] = {
    TOPOLOGY_FILE: topology_dumps.read_topology_file,
    "NCCL graphs": topology_dumps.read_graph_file,
    "nccl-tests": benchmark_tables.read_table_head,
    "nccl-tests -J": benchmark_tables.read_table_document,
    "nvidia-smi topo -m": gpu_tools.read_topology_words,
    "nvidia-smi topo -p2p": gpu_tools.read_peer_status,
    "nvidia-smi nvlink -s": gpu_tools.read_nvlink_status,
    "names of GPUs": gpu_tools.read_gpu_names,
    "nvidia-smi -q": gpu_tools.read_fabric,
    "driver": host_tools.read_driver,
    "lspci": host_tools.read_pcie,
    "ibstat": network_tools.read_cards,
    "perftest": network_tools.read_card_tests,
    "host": host_tools.read_host,
    "p2pBandwidthLatencyTest": read_pair_matrices,
    "nvbandwidth": read_nvbandwidth,
    "rocm-smi, amd-smi": gpu_tools.read_amd_topology,
    "npu-smi": gpu_tools.read_npu_topology,
    "counters of cards": network_tools.read_counters,
    "hccl_test": benchmark_tables.read_hccl_test,
    "nccom-test": benchmark_tables.read_nccom_test,
    "PyTorch benchmark": benchmark_tables.read_torch_benchmarks,
    "OSU": benchmark_tables.read_osu,
    "NCCL Inspector": benchmark_tables.read_inspector,
    "Chakra trace": read_chakra_nodes,
    "busbw by nodes": benchmark_tables.read_node_counts,
}
