"""The readers of what tools print, by tool.

A text may hold the output of several commands, so every reader looks for its own lines and ignores the rest. The forms
are those of the tools' sources and manuals, which each module names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ...io.nccl.nccl_log_facts import Stated, load_line_forms, read_line
from . import benchmark_tables, gpu_tools, host_tools, network_tools, topology_dumps
from .execution_traces import read_chakra_nodes
from .gpu_bandwidth import read_nvbandwidth, read_pair_matrices
from .profiler_traces import TOOL, read_profiler_lines
from .timed_calls import INSPECTOR, read_inspector

#: Name of a file that describes a machine, where tools are listed.
TOPOLOGY_FILE = "topology file"
Reader = Callable[[Sequence[str]], Iterator[Stated]]


def _build_line_reader(tool: str) -> Reader:
    """A reader of lines that state something by themselves (`tool_lines.toml`)."""
    forms = load_line_forms(__file__, "tool_lines.toml", tool)
    return lambda lines: (fact for number, line in enumerate(lines, 1) for fact in read_line(forms, number, line))


#: Readers by the tool whose lines they look for.
TOOL_READERS: dict[str, Reader] = {
    TOPOLOGY_FILE: topology_dumps.read_topology_file,
    "NCCL graphs": topology_dumps.read_graph_file,
    "nccl-tests": _build_line_reader("nccl-tests"),
    "nccl-tests -J": benchmark_tables.read_table_document,
    "nvidia-smi topo -m": gpu_tools.read_topology_words,
    "nvidia-smi topo -p2p": gpu_tools.read_peer_status,
    "nvidia-smi nvlink -s": gpu_tools.read_nvlink_status,
    "names of GPUs": _build_line_reader("names of GPUs"),
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
    "OSU, IMB": benchmark_tables.read_osu,
    INSPECTOR: read_inspector,
    TOOL: read_profiler_lines,
    "Chakra trace": read_chakra_nodes,
    "busbw by nodes": benchmark_tables.read_node_counts,
}
