"""Facts of what tools print: nvidia-smi, lspci, ibstat, perftest, df, dmesg and others.

A text may hold the output of several commands, so every reader looks for its own lines and ignores the rest. The forms
are those of the tools' sources and manuals, which each module names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ...io.nccl.nccl_log_facts import Stated
from .benchmark_tables import read_node_counts, read_table_head
from .gpu_bandwidth import PairMatrix, read_pair_matrices
from .gpu_tools import (
    GpuLinks,
    read_fabric,
    read_gpu_names,
    read_nvlink_status,
    read_peer_status,
    read_topology_words,
)
from .host_tools import PcieLink, read_driver, read_host, read_pcie
from .network_tools import CardPort, CardTest, read_card_tests, read_cards

__all__ = ["TOOL_READERS", "CardPort", "CardTest", "GpuLinks", "PairMatrix", "PcieLink", "Reader"]

Reader = Callable[[Sequence[str]], Iterator[Stated]]

#: Readers by the tool whose lines they look for.
TOOL_READERS: dict[str, Reader] = {
    "nccl-tests": read_table_head,
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
    "busbw by nodes": read_node_counts,
}
