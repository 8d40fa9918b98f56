"""Outputs of other tools that are recognized and are neither a topology nor a schedule or table: what each one is, and
what to give instead. `cs.diagnose` reads most of them as evidence about a job.

The forms are those of the tools' sources and manuals: nvbandwidth (json_output.cpp), cuda-samples
(p2pBandwidthLatencyTest), rocm_smi.py, amd-smi, npu-smi, perftest (perftest_parameters.h), pciutils, infiniband-diags,
microsoft/mscclpp (execution_plan.cc), NVIDIA/nccl (plugins/profiler/inspector).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ...errors import FormatError, Sentence

_HEAD = 2**20
_FLAGS = re.MULTILINE | re.ASCII

_TOPOLOGY = Sentence("give what nvidia-smi topo -m prints, or the file that NCCL_TOPO_DUMP_FILE=topo.xml writes")
_AMD = Sentence("give the file that RCCL writes with NCCL_TOPO_DUMP_FILE=topo.xml, or a machine such as mi300x-8gpu")
_NPU = Sentence(
    "no rates of NPUs are known here; describe the machine in collsim's YAML or as a networkx graph "
    "(Topology.from_networkx), with the rate of each HCCS link"
)
_TABLE = Sentence("give the table that all_reduce_perf of nccl-tests prints")
_CARDS = Sentence("say the cards with nic= and nics= of a machine, or give what nvidia-smi topo -m prints")
_LINKS = Sentence("say the links that are left: topology.with_link, without_link, or scaled('nvlink', 0.8)")
_SCHEDULE = Sentence("give the algorithm as MSCCL XML, or write it in Python with cs.copy and cs.reduce")
_GOAL = Sentence(
    "it has messages without their data, so nothing can be verified; LogGOPSim runs it, and collsim reads the schedule "
    "that it was made from (MSCCL XML, CSV, JSON)"
)


@dataclass(frozen=True)
class UnreadFormat:
    """An output that is recognized and not read.

    Attributes:
        tool: the program and its option, or the name of the format.
        pattern: what only this output has.
        advice: what to give instead.
        is_evidence: whether `cs.diagnose` reads it.
    """

    tool: Sentence
    pattern: re.Pattern[str]
    advice: Sentence
    is_evidence: bool = True

    def build_error(self, name: str) -> FormatError:
        """The refusal of a file.

        Args:
            name: of the file.

        Returns:
            The error, to be raised.
        """
        if self.is_evidence:
            message = "{name}: this is {tool}, which only cs.diagnose reads, as evidence about a slow job; {advice}"
            return FormatError(message, name=name, tool=self.tool, advice=self.advice)
        message = "{name}: this is {tool}, which collsim does not read; {advice}"
        return FormatError(message, name=name, tool=self.tool, advice=self.advice)


def _recognize(tool: Sentence | str, pattern: str, advice: Sentence, is_evidence: bool = True) -> UnreadFormat:
    """One entry; a text is the name of a program."""
    if isinstance(tool, str):
        tool = Sentence("the output of {program}", program=tool)
    return UnreadFormat(tool, re.compile(pattern, _FLAGS), advice, is_evidence)


#: The first whose pattern a text has counts: those that others' output may contain come last.
UNREAD = (
    _recognize("nvbandwidth", r"^nvbandwidth Version|\"nvbandwidth\"\s*:|^SUM \w+_(?:ce|sm)\b", _TOPOLOGY),
    _recognize(
        "p2pBandwidthLatencyTest",
        r"P2P \(Peer-to-Peer\) GPU Bandwidth Latency Test|P2P=(?:Disabled|Enabled) (?:Bandwidth|Latency)",
        _TOPOLOGY,
    ),
    _recognize(
        "amd-smi topology",
        r"\bamd-smi topology\b|^[ \t]*(?:ACCESS|WEIGHT|HOPS|LINK TYPE|NUMA BW|CACHE COHERANCY|CACHE COHERENCY) TABLE:"
        r"|\"link_type\"\s*:\s*\"(?:XGMI|PCIE)\"",
        _AMD,
    ),
    _recognize(
        "rocm-smi",
        r"ROCm System Management Interface|(?:Link Type|Hops|Weight) between two GPUs",
        _AMD,
    ),
    _recognize("npu-smi", r"^[ \t]*NPU0\s+.*\bX\b|^[ \t$#>]*npu-smi\b|\bHCCS\b.*\bHCCS\b", _NPU),
    _recognize(
        Sentence("an execution plan of MSCCL++"),
        r"\"num_threads_per_block\"|\"remote_buffer_refs\"",
        _SCHEDULE,
        is_evidence=False,
    ),
    _recognize(
        Sentence("a GOAL schedule"), r"\A(?:\s|//.*\n|/\*(?:[^*]|\*(?!/))*\*/)*num_ranks\s+\d+\s*$", _GOAL, False
    ),
    _recognize(Sentence("a log of NCCL Inspector"), r"\"inspector_output_format_version\"", _TABLE),
    _recognize(Sentence("a dump of PyTorch's Flight Recorder"), r"\"pg_config\"\s*:", _TABLE),
    _recognize("nvidia-smi nvlink", r"^[ \t]*Link \d+: (?:[\d.]+ GB/s|<inactive>)", _LINKS),
    _recognize("lspci", r"\bLnk(?:Cap|Sta):|\bACSCtl:|^-\[[\da-f]{4}:[\da-f]{2}\]-", _TOPOLOGY),
    _recognize(
        "lspci",
        r"^(?:[\da-f]{4}:)?[\da-f]{2}:[\da-f]{2}\.[0-7] (?:[A-Z3]\w*(?: \w+)* (?:controller|bridge)|System peripheral)",
        _TOPOLOGY,
    ),
    _recognize("perftest (ib_write_bw)", r"(?:RDMA_\w+|Send|Atomic\w*) (?:BW|Latency) Test", _CARDS),
    _recognize("ibstat", r"^CA '\S+'|^Infiniband device '", _CARDS),
    _recognize("ibv_devinfo", r"^hca_id:\s", _CARDS),
    _recognize("hccl_test", r"data_size\(Bytes\)", _TABLE),
    _recognize("DeepSpeed's ds_bench", r"^-+ ?Performance of \w+ on \d+ devices", _TABLE),
    _recognize("nvidia-smi", r"NVSMI LOG|^\| NVIDIA-SMI |^GPU \d+: .*\(UUID: ", _TOPOLOGY),
)


def find_unread_format(text: str) -> UnreadFormat | None:
    """Recognize an output that is not read.

    Args:
        text: of the file; its first MiB is looked at.

    Returns:
        What it is; None where it is none of them.
    """
    head = text[:_HEAD]
    return next((entry for entry in UNREAD if entry.pattern.search(head)), None)
