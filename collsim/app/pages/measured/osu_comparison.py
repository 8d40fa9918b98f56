"""A log of OSU's micro-benchmarks beside what the MPI model predicts for the same ranks and network. Nothing here knows
Streamlit."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pandas as pd

from collsim.errors import CollsimError
from collsim.io import formats
from collsim.nccl import Facts
from collsim.nccl.libraries import mpi

from ...scenario.outcome import Refused
from .pasted_log import load_log

#: Titles of tables with buffers on GPUs: `# OSU MPI-CUDA Allreduce Latency Test v7.4`.
_ON_GPUS = re.compile(r"OSU MPI-(CUDA|ROCM)\b", re.IGNORECASE)
_NETS = {"ib": "IB", "roce": "RoCE", "efa": "EFA", "slingshot": "Slingshot"}


@dataclass(frozen=True)
class Case:
    """What the MPI model is told of a run, in the words of its tables.

    Attributes:
        gpu: Name of the GPU; `none` for buffers in host memory.
        ranks: Number of ranks.
        nodes: Number of nodes.
        collective: Name of the collective.
        inter_link: The network between the nodes.
        nccl_version: Version of the library, where the table states it.
        gdr: `no` where the reader has switched GPUDirect RDMA off; else not stated, as MPI may be built without it.
    """

    gpu: str
    ranks: int
    nodes: int
    collective: str
    inter_link: str
    nccl_version: str = ""
    gdr: str = ""


def is_osu_log(text: str) -> bool:
    """Is it a log of OSU's micro-benchmarks?

    Args:
        text: The text.
    """
    return formats()["osu"].looks(text)


def read_osu_table(text: str, ranks: int) -> pd.DataFrame:
    """The rows of all tables.

    Args:
        text: The text.
        ranks: Number of ranks.

    Raises:
        CollsimError: for a log that is damaged
    """
    table: pd.DataFrame = load_log(text, "osu.txt", format="osu", ranks=ranks)
    return table


def build_case(rows: pd.DataFrame, text: str, facts: Facts, ranks: int, collective: str) -> Case:
    """What is known of one table: `rows` of a log with this text, which ran on a machine with these facts.

    Args:
        rows: Rows of the log, one for each size.
        text: The text.
        facts: What is known of the machine.
        ranks: Number of ranks.
        collective: Name of the collective.
    """
    name = rows["collective"].iloc[0] or collective
    if not name:
        raise Refused("measured.nocollective")
    link = ""
    if facts.nodes > 1:
        link = f"{facts.nics:g}x{facts.nic_rate * 8e-9:g}G {_NETS.get(facts.net, 'TCP sockets')}"
    gpu = "none"
    if _ON_GPUS.search(text):
        gpu = facts.gpu
    return Case(gpu, ranks, facts.nodes, str(name).replace("_", ""), link)


def compare_with_model(rows: pd.DataFrame, case: Case) -> pd.DataFrame:
    """Measured and predicted, a row per size, with the columns that `nccl.compare_run` has for times.

    Args:
        rows: Rows of the log, one for each size.
        case: One table of a log and what is known of it.

    Raises:
        CollsimError: for a table without times, for a collective that the model does not know, and for too few ranks
    """
    timed = rows[(rows["nbytes"] > 0) & (rows["time"] > 0)]
    if timed.empty:
        raise Refused("measured.notimes")
    if case.ranks < max(2, case.nodes):
        message = "ranks={ranks} is too few; on {nodes} nodes there are at least {least}"
        raise CollsimError(message, ranks=case.ranks, nodes=case.nodes, least=max(2, case.nodes))
    table = timed.groupby("nbytes", as_index=False)[["time", "busbw"]].median()
    table["predicted"] = [mpi.predict_mpi_time(case, int(n)) for n in table["nbytes"]]
    ends = [mpi.predict_mpi_interval(case, int(n)) for n in table["nbytes"]]
    table["low"], table["high"] = [end.low for end in ends], [end.high for end in ends]
    ratio, bus = table["predicted"] / table["time"], table["busbw"] * table["time"]
    table = table.assign(low_busbw=bus / table["high"], high_busbw=bus / table["low"])
    return table.assign(ratio=ratio, predicted_busbw=table["busbw"] / ratio, algorithm="MPI", protocol="")


def build_python(case: Case) -> str:
    """The same study as a script.

    Args:
        case: One table of a log and what is known of it.
    """
    return (
        "from types import SimpleNamespace\n\nimport collsim as cs\nfrom collsim.nccl import mpi\n\n"
        f'table = cs.load("osu.log", ranks={case.ranks})\n'
        f'case = SimpleNamespace(gpu="{case.gpu}", ranks={case.ranks}, nodes={case.nodes}, '
        f'collective="{case.collective}",\n'
        f'                       inter_link="{case.inter_link}", nccl_version="", gdr="{case.gdr}")\n'
        'table["predicted"] = [mpi.predict_mpi_time(case, n) for n in table["nbytes"]]\n'
        'print(table[["nbytes", "time", "predicted"]])\n'
    )
