"""Outputs of other tools that are recognized and are neither a topology nor a schedule or table: what each one is, and
what to give instead. `cs.diagnose` reads most of them as evidence about a job.

The forms are those of the tools' sources and manuals: nvbandwidth (json_output.cpp), cuda-samples
(p2pBandwidthLatencyTest), rocm_smi.py, amd-smi, npu-smi, perftest (perftest_parameters.h), pciutils, infiniband-diags,
microsoft/mscclpp (execution_plan.cc), NVIDIA/nccl (plugins/profiler/inspector).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from ...errors import FormatError, Sentence
from ...package_data import TomlTable, read_toml

_HEAD = 2**20
_FLAGS = re.MULTILINE | re.ASCII

#: What to give instead.
_ADVICES = {
    "topology": Sentence("give what nvidia-smi topo -m prints, or the file that NCCL_TOPO_DUMP_FILE=topo.xml writes"),
    "amd": Sentence(
        "give the file that RCCL writes with NCCL_TOPO_DUMP_FILE=topo.xml, or a machine such as mi300x-8gpu"
    ),
    "npu": Sentence(
        "no rates of NPUs are known here; describe the machine in collsim's YAML or as a networkx graph "
        "(Topology.from_networkx), with the rate of each HCCS link"
    ),
    "table": Sentence("give the table that all_reduce_perf of nccl-tests prints"),
    "cards": Sentence("say the cards with nic= and nics= of a machine, or give what nvidia-smi topo -m prints"),
    "links": Sentence("say the links that are left: topology.with_link, without_link, or scaled('nvlink', 0.8)"),
    "schedule": Sentence("give the algorithm as MSCCL XML, or write it in Python with cs.copy and cs.reduce"),
    "goal": Sentence(
        "it has messages without their data, so nothing can be verified; LogGOPSim runs it, and collsim reads the "
        "schedule that it was made from (MSCCL XML, CSV, JSON)"
    ),
}
_FORMATS = {
    "mscclpp": Sentence("an execution plan of MSCCL++"),
    "goal": Sentence("a GOAL schedule"),
    "inspector": Sentence("a log of NCCL Inspector"),
    "flight_recorder": Sentence("a dump of PyTorch's Flight Recorder"),
}


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


def _recognize(row: TomlTable) -> UnreadFormat:
    if "tool" in row:
        tool = Sentence("the output of {program}", program=row["tool"])
    else:
        tool = _FORMATS[row["format"]]
    return UnreadFormat(tool, re.compile(row["pattern"], _FLAGS), _ADVICES[row["advice"]], row.get("is_evidence", True))


@cache
def list_unread_formats() -> tuple[UnreadFormat, ...]:
    """All of them; the first whose pattern a text has counts."""
    return tuple(map(_recognize, read_toml(__file__, "unread.toml")["output"]))


def find_unread_format(text: str) -> UnreadFormat | None:
    """Recognize an output that is not read.

    Args:
        text: of the file; its first MiB is looked at.

    Returns:
        What it is; None where it is none of them.
    """
    head = text[:_HEAD]
    return next((entry for entry in list_unread_formats() if entry.pattern.search(head)), None)
