"""What tools of GPUs print: nvidia-smi's NVLinks, matrices and fabric, and names of GPUs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...io.nccl.nccl_log_facts import Stated


@dataclass(frozen=True)
class GpuLinks:
    """NVLinks of a GPU, as `nvidia-smi nvlink -s` lists them.

    Attributes:
        gpu: its number.
        name: of the product.
        active: links with a rate.
        total: all that are listed, with inactive ones.
    """

    gpu: int
    name: str
    active: int
    total: int


def read_nvlink_status(lines: Sequence[str]) -> Iterator[Stated]:
    """Read `nvidia-smi nvlink -s`: links of each GPU, at the line of the first that is inactive.

    Args:
        lines: of any text.

    Yields:
        Number of the line from 1, kind of the fact, and its value.
    """
    gpu, name, start, active, total, inactive = -1, "", 0, 0, 0, 0
    for number, line in enumerate((*lines, "GPU -1: "), 1):
        head = re.match(r"\s*GPU (-?\d{1,4}): ([^(]{0,80})", line)
        if head is not None:
            if total:
                yield inactive or start, "nvlink.links", GpuLinks(gpu, name, active, total)
            gpu, name, start, active, total, inactive = int(head[1]), head[2].strip(), number, 0, 0, 0
        elif (link := re.match(r"\s*Link \d{1,3}: (<inactive>|[\d.]{1,12} GB/s)", line)) is not None:
            total += 1
            if link[1] == "<inactive>":
                inactive = inactive or number
            else:
                active += 1


#: Words of `nvidia-smi topo -p2p`: chipset, GPU, topology not supported, disabled by the registry; OK and unknown.
_REFUSED_PEERS = frozenset({"CNS", "GNS", "TNS", "DR"})

_PEER_STATES = _REFUSED_PEERS | {"OK", "U"}


def read_peer_status(lines: Sequence[str]) -> Iterator[Stated]:
    """Read `nvidia-smi topo -p2p`: whether the driver lets GPUs write to one another.

    Args:
        lines: of any text.

    Yields:
        Number of the line from 1, kind of the fact, and its value.
    """
    for number, line in enumerate(lines, 1):
        cells = line.split()
        if len(cells) > 2 and re.fullmatch(r"GPU\d{1,3}", cells[0]) and set(cells[1:]) & _REFUSED_PEERS:
            yield number, "gpu.peers_refused", next(cell for cell in cells if cell in _REFUSED_PEERS)


def read_topology_words(lines: Sequence[str]) -> Iterator[Stated]:
    """Read `nvidia-smi topo -m`: the sum of the NVLinks of each GPU's row.

    Args:
        lines: of any text.

    Yields:
        Number of the line from 1, kind of the fact, and its value.
    """
    for number, line in enumerate(lines, 1):
        cells = line.split()
        if set(cells) & _PEER_STATES:  # `topo -p2p` has the same rows
            continue
        if len(cells) > 1 and re.fullmatch(r"GPU\d{1,3}", cells[0]) and "X" in cells[1:]:
            links = [int(cell[2:]) for cell in cells[1:] if re.fullmatch(r"NV\d{1,2}", cell)]
            yield number, "topology.row", (int(cells[0][3:]), tuple(links))


def read_fabric(lines: Sequence[str]) -> Iterator[Stated]:
    """Read the section Fabric of `nvidia-smi -q`: clique of an NVLink domain, and whether it is completed.

    Args:
        lines: of any text.

    Yields:
        Number of the line from 1, kind of the fact, and its value.
    """
    is_fabric, cluster = False, ""
    clique: tuple[int, str] | None = None
    for number, line in enumerate((*lines, "$"), 1):
        if re.match(r"^\s*Fabric\s*$", line) is not None:
            is_fabric = True
        elif is_fabric and (state := re.match(r"^\s+State\s+: (\w[\w ]{0,30})", line)) is not None:
            yield number, "fabric.state", state[1].strip()
        elif is_fabric and (match := re.match(r"^\s+CliqueId\s+: (\d{1,10})", line)) is not None:
            clique = (number, match[1])
        elif is_fabric and (match := re.match(r"^\s+ClusterUUID\s+: ([\da-f-]{8,60})", line)) is not None:
            cluster = match[1]
            if clique is not None:
                yield clique[0], "fabric.clique", f"{cluster} {clique[1]}"
                clique = None


@dataclass(frozen=True)
class LinkKinds:
    """Links between one GPU and the others.

    Attributes:
        gpu: Number of the GPU.
        kinds: As rocm-smi, amd-smi and npu-smi name them: `XGMI`, `PCIE`, `HCCS` and the like.
    """

    gpu: int
    kinds: tuple[str, ...]


_AMD_TABLE = re.compile(r"^=+ (Link Type) between two GPUs =+|^\s*([A-Z][A-Z -]{2,30}) TABLE:\s*$")
_AMD_ROW = re.compile(r"^\s*(?:GPU(\d{1,3})|[\da-fA-F]{4}:[\da-fA-F]{2}:[\da-fA-F]{2}\.[0-7])\s+(\S.{0,2000})$")
#: What stands on the diagonal.
_ITSELF = frozenset({"0", "SELF", "X"})


def read_amd_topology(lines: Sequence[str]) -> Iterator[Stated]:
    """Read `rocm-smi --showtopo` (rocm_smi.py) and `amd-smi topology` (amdsmi_commands.py): kinds of links between
    GPUs, whether they may access one another, and their names (`--showproductname`, `amd-smi static`).

    Args:
        lines: of any text.

    Yields:
        Number of the line from 1, kind of the fact, and its value.
    """
    table, gpu = "", 0
    for number, line in enumerate(lines, 1):
        if (name := re.match(r"^(?:GPU\[\d{1,3}\]\s*: Card Series:|\s*MARKET_NAME:)\s*(\S.{2,78})", line)) is not None:
            yield number, "gpu.name", name[1].strip()
        elif (head := _AMD_TABLE.match(line)) is not None:
            table, gpu = (head[1] or head[2]).upper(), 0
        elif line.startswith("===="):
            table = ""
        elif table and (row := _AMD_ROW.match(line)) is not None:
            cells = row[2].split()
            if _AMD_ROW.match(f"{cells[0]} x") is not None:  # the line of columns
                continue
            if table == "LINK TYPE" and len(_ITSELF.intersection(cells)) == 1:
                kinds = tuple(cell for cell in cells if cell not in _ITSELF)
                yield number, "gpu.link_kinds", LinkKinds(gpu, kinds)
            elif table == "ACCESS" and "DISABLED" in cells:
                yield number, "gpu.peers_refused", "DISABLED"
            gpu += 1


def read_npu_topology(lines: Sequence[str]) -> Iterator[Stated]:
    """Read `npu-smi info -t topo`: kinds of links between NPUs.

    Args:
        lines: of any text.

    Yields:
        Number of the line from 1, kind of the fact, and its value.
    """
    for number, line in enumerate(lines, 1):
        row = re.match(r"^\s*NPU(\d{1,3})\s+((?:(?:X|HCCS|HCCS_SW|SIO|PIX|PXB|PHB|SYS|NA)\s+){2,})", line + " ")
        if row is not None and "X" in row[2].split():
            kinds = tuple(cell for cell in row[2].split() if cell != "X")
            yield number, "npu.link_kinds", LinkKinds(int(row[1]), kinds)
