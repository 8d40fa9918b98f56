"""What NCCL's log states besides rings and trees: its network, its cards, GPUDirect RDMA, NVLS, the variables that were
set, and its warnings.

Source: NVIDIA/nccl src/misc/param.cc and src/debug.cc (`NCCL_X set by environment to Y`), src/transport/net_ib.cc
(`NET/IB : Using [0]mlx5_0:1/IB [1]...`), src/init.cc (`Using network IB`, `24 coll channels, ...`, `MNNVL busId ...
cliqueId`), src/transport/nvls.cc. Until 2.22 NCCL prints NCCL_P2P_DISABLE=1 as `NCCL_P2P_LEVEL ... to LOC`
(src/graph/paths.cc).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

_SET = re.compile(r"\b(NCCL_[A-Z0-9_]{1,60}) set (?:by environment )?to (\S{1,200}?)\.?\s*$", re.ASCII)
_NETWORK = re.compile(r"Using network (\S{1,40})", re.ASCII)
_USING = re.compile(r"NET/(?!Plugin)\S{1,20} : Using (\[.*)")
_CARD = re.compile(r"\[\d{1,4}\](?:=\{\[\d{1,4}\] )?([^\s\[\]{}:/]{1,60})", re.ASCII)
_CHANNELS = re.compile(r"(\d{1,4}) coll channels")
_NVLS = re.compile(r"NVLS multicast support is (not )?available")
_CLIQUE = re.compile(r"MNNVL busId \S{1,40} fabric UUID (\S{1,80}) cliqueId (0x[0-9a-f]{1,16})")
_NODES = re.compile(r"nNodes (\d{1,7}) .{0,80}?MNNVL (\d)")
_WARNING = re.compile(r"NCCL WARN (.{1,300})")
_MOST_WARNINGS = 20


@dataclass(frozen=True)
class JobStatements:
    """What a log states.

    Attributes:
        environment: variables that were set, with their values.
        network: of `Using network`: IB, Socket, or the name of a plugin; "" where the log does not say.
        cards: names of the cards of the process that lists most.
        channels: of collectives; 0 where the log does not say.
        has_nvls: whether NVLink SHARP is available; None where the log does not say.
        cliques: cliques of NVLink domains of the processes, where some are on nodes that NVLink could join.
        uses_mnnvl: whether NCCL takes NVLink between nodes (MNNVL 1).
        warnings: texts of `NCCL WARN`, each once.
    """

    environment: Mapping[str, str] = field(default_factory=dict)
    network: str = ""
    cards: tuple[str, ...] = ()
    channels: int = 0
    has_nvls: bool | None = None
    cliques: frozenset[str] = frozenset()
    uses_mnnvl: bool = False
    warnings: tuple[str, ...] = ()


def read_statements(lines: Iterable[str]) -> JobStatements:
    """Read what a log states.

    Args:
        lines: of the log.

    Returns:
        The statements; of several lines about one thing the last counts, of cards and channels the largest.
    """
    environment: dict[str, str] = {}
    warnings: dict[str, None] = {}
    network, channels, uses_mnnvl = "", 0, False
    cards: tuple[str, ...] = ()
    has_nvls: bool | None = None
    cliques: set[str] = set()
    for full in lines:
        line = full[:4096]
        if (warning := _WARNING.search(line)) is not None and len(warnings) < _MOST_WARNINGS:
            warnings[warning[1].strip()] = None
        if "NCCL INFO" not in line:
            continue
        if (variable := _SET.search(line)) is not None:
            environment[variable[1]] = variable[2]
        elif (name := _NETWORK.search(line)) is not None:
            network = name[1]
        elif (using := _USING.search(line)) is not None:
            cards = max(cards, tuple(_CARD.findall(using[1].partition("; OOB")[0])), key=len)
        elif (count := _CHANNELS.search(line)) is not None:
            channels = max(channels, int(count[1]))
        elif (nvls := _NVLS.search(line)) is not None:
            has_nvls = nvls[1] is None
        elif (clique := _CLIQUE.search(line)) is not None:
            cliques.add(f"{clique[1]} {clique[2]}")
        elif (nodes := _NODES.search(line)) is not None:
            uses_mnnvl |= nodes[2] == "1"
    return JobStatements(
        environment, network, cards, channels, has_nvls, frozenset(cliques), uses_mnnvl, tuple(warnings)
    )
