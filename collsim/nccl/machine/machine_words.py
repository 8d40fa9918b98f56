"""The vocabulary of tables of measurements: `nvlink3-nvswitch`, `8xHDR200 IB`, `pcie4-x16-nop2p` ... into `Facts`.

A grammar, not a list: technology and generation first, then wiring. A word it cannot read is a CollsimError that says
which.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from ...errors import CollsimError
from .facts import (
    GA102_LINK_GBPS,
    GPUS,
    LANES,
    NVLINK_GBPS,
    PCIE_GBPS,
    USUAL_NIC,
    XGMI_GBPS,
    Facts,
    Gpu,
    Net,
    WiringKind,
    find_gpu,
    guess_gpu,
    is_known_gpu,
    parse_launch,
)

#: Links of three bridges between two cards (product briefs of A100 and H100 PCIe).
_BRIDGE_LINKS = 12
#: GPUs of one NVLink 5 domain in a GB200 rack, and what HPE sells as one Slingshot port, Gbit/s.
_RACK, _SLINGSHOT = 72, 200.0

#: NVLink generation of the GPUs that are sold on NVSwitch boards, by compute capability.
_NVLINK_OF = {70: 2, 80: 3, 90: 4, 100: 5, 103: 5}

#: Words that say what a network is: its kind, a generation of InfiniBand, a rate with its unit, or that nobody says.
_NETWORK = re.compile(
    r"tcp|socket|ipoib|efa|slingshot|roce|gbe|ethernet|infiniband|mnnvl|\bib\b|[efhnx]dr|\d\s*g(?:b|"
    r"bit/s)?\b|\bnics?\b|not stated",
    re.I,
)
_NOT_STATED = re.compile(r"not stated|^nic rate", re.I)
_RATE = re.compile(r"(?:EDR|HDR|NDR|XDR|FDR|Slingshot|)\s*(\d+)\s*(?:G|GbE|Gb|)\b", re.I)
#: Letters of the longest words, as patterns are searched in them, which takes the square of their length; and how many
#: of longer ones an error repeats.
_LONGEST, _SHOWN = 1_000, 40
_COUNT = re.compile(r"^(\d+)\s*(?:x|NICs?\b)\s*", re.I)


@dataclass(frozen=True)
class _Wires:
    inside: WiringKind
    rate: float
    pcie: int
    crossing: bool = False
    switches: int = 0
    roots: int = 1
    partly: bool = False


def parse_facts(
    gpu_name: str, ranks: int, nodes: int, intra_link: str, inter_link: str, gdr: str = "", launch: str = ""
) -> Facts:
    """Facts of a machine in the words of a table's columns; a GPU that no table knows is what the other words make of
    it. Raises CollsimError naming the word that is not understood."""
    for word, value in (("gpu", gpu_name), ("intra_link", intra_link), ("inter_link", inter_link)):
        _not_too_long(word, value)
    listed = is_known_gpu(gpu_name)
    card = find_gpu(gpu_name) if listed else guess_gpu(gpu_name, intra_link)
    if ranks < 1 or nodes < 1 or ranks < nodes:
        raise CollsimError(
            "ranks={ranks} on nodes={nodes}: each node needs at least one rank", ranks=ranks, nodes=nodes
        )
    domains = _domains(intra_link, inter_link, ranks, nodes)
    local = -(-ranks // domains)
    wires = _inside(intra_link, card, local)
    nics, rate, net = (0.0, 0.0, "none") if domains == 1 else _nics(inter_link, card, local)
    return Facts(
        gpu=gpu_name,
        cc=card.cc,
        ranks=ranks,
        nodes=domains,
        wiring=wires.inside,
        link_rate=wires.rate,
        pcie=wires.pcie,
        crosses_sockets=wires.crossing,
        switches=wires.switches,
        root_ports=wires.roots,
        staged_between_switches=wires.partly,
        nics=nics,
        nic_rate=rate,
        net=net,  # type: ignore[arg-type]
        is_pcie_card="PCI" in gpu_name.upper()
        or card.cc in (75, 86, 89, 120, 121)
        or not (listed or card.links or card.is_apu),
        gdr=False if _no_gdr(gpu_name, card.cc, net) else {"yes": True, "no": False}.get(gdr.strip().lower()),
        cpu="amd" if card.cc in (0, 80) else "arm" if gpu_name.upper().startswith(("GH", "GB")) else "intel",
        hosts=nodes,
        launch=parse_launch(launch),
        gpu_known=listed,
    )


def _not_too_long(word: str, value: str) -> None:
    if len(value) > _LONGEST:
        why = "{word}={value!r} has {letters} letters; write at most {most}"
        raise CollsimError(why, word=word, value=f"{value[:_SHOWN]}...", letters=len(value), most=_LONGEST)


def _domains(intra_link: str, inter_link: str, ranks: int, nodes: int) -> int:
    """Groups of ranks that NCCL sees as one node: an NVLink domain over several trays is one."""
    if nodes == 1:
        return 1
    if "mnnvl" in inter_link.lower():
        return -(-ranks // _RACK)
    match = re.match(r"nvlink\d-nvl(\d+)", intra_link.strip().lower())
    if match and int(match[1]) > -(-ranks // nodes):
        return -(-ranks // int(match[1]))
    return nodes


def _no_gdr(gpu_name: str, cc: int, net: str) -> bool:
    """GeForce cards and the GB10 have no GPUDirect RDMA (NVIDIA GPUDirect RDMA documentation: Tesla and Quadro class);
    over EFA it came with the A100 (AWS, EC2 accelerated computing: P4d and later)."""
    return gpu_name.upper().startswith(("RTX 2", "RTX 3", "RTX 4", "RTX 5", "GB10")) or (net == "efa" and 0 < cc < 80)


def _inside(word: str, card: Gpu, local: int) -> _Wires:
    """How the GPUs of a node are wired."""
    text = word.strip().lower()
    if local == 1:
        return _Wires("none", 0.0, card.pcie)
    if text in ("", "none", "n/a", "unknown"):  # nobody says: what a box of this GPU is usually sold with
        text = f"nvlink{_NVLINK_OF[card.cc]}-nvswitch" if card.cc in _NVLINK_OF else "shm"
    if match := re.match(r"nvlink(\d)-(\w+)", text):
        return _nvlink(int(match[1]), match[2], text, card, local)
    if text.startswith("xgmi"):
        if card.cc:
            raise CollsimError(
                "intra_link={text!r}: only AMD's GPUs have xGMI; write for example nvlink4-nvswitch or pcie4-x16-nop2p",
                text=text,
            )
        return _Wires("xgmi", min(card.links, local - 1) * XGMI_GBPS * 1e9, card.pcie)
    if match := re.match(r"pcie(\d)\b-?(.*)", text):
        return _pcie(int(match[1]), match[2])
    if text == "shm":
        return _Wires("host", PCIE_GBPS[card.pcie] * 1e9, card.pcie)
    raise CollsimError(
        "intra_link={word!r} is not understood; write for example nvlink3-nvswitch, pcie4-x16-p2p or pcie4-x16-nop2p",
        word=word,
    )


def _nvlink(generation: int, wiring: str, text: str, card: Gpu, local: int) -> _Wires:
    if generation not in NVLINK_GBPS:
        why = "NVLink generation {generation} is not known; known: {known}"
        raise CollsimError(why, generation=generation, known=", ".join(map(str, NVLINK_GBPS)))
    links = next((GPUS[cut].links for cut in ("A800", "H800") if cut.lower() in text), card.links)
    if not links or not card.cc:
        raise CollsimError(
            "intra_link={text!r}: this GPU has no NVLink; write for example pcie5-x16-p2p, pcie5-x16-nop2p or "
            "xgmi-mi300x",
            text=text,
        )
    per_link = (GA102_LINK_GBPS if card.cc in (86, 89) else NVLINK_GBPS[generation]) * 1e9
    if wiring == "hybridcubemesh":
        return _Wires("cube", links * per_link, card.pcie)
    if wiring.startswith("mesh"):
        others = max(1, int(wiring[4:] or 4) - 1)
        return _Wires("mesh", links * per_link * min(1.0, (local - 1) / others), card.pcie)
    if (
        wiring == "bridge" and local > 2
    ):  # pairs: between them a ring goes through host bridges, beyond NCCL's P2P level
        return _Wires("host", PCIE_GBPS[card.pcie] * 1e9, card.pcie)
    if wiring == "bridge":
        return _Wires("bridge", min(links, _BRIDGE_LINKS) * per_link, card.pcie)
    if wiring.startswith("nv"):
        return _Wires("nvswitch", links * per_link, card.pcie)
    raise CollsimError(
        "NVLink wiring {wiring!r} is not understood; known: nvswitch, nvl72, mesh4, hybridcubemesh, bridge",
        wiring=wiring,
    )


def _pcie(generation: int, wiring: str) -> _Wires:
    if generation not in PCIE_GBPS:
        why = "PCIe generation {generation} is not known; known: {known}"
        raise CollsimError(why, generation=generation, known=", ".join(map(str, PCIE_GBPS)))
    width = int(m[1]) if (m := re.search(r"x(\d+)", wiring)) else LANES
    switches = (
        int(m[1])
        if (m := re.search(r"(\d+)switch", wiring))
        else 2
        if "between" in wiring
        else int("plx" in wiring or "fabric" in wiring)
    )
    roots = int(m[1]) if (m := re.search(r"(\d+)root", wiring)) else max(1, switches)
    sockets = int(m[1]) if (m := re.search(r"(\d+)socket", wiring)) else 2 if "crosssocket" in wiring else 1
    apart = sockets > 1 or "fabric" in wiring  # a PCIe fabric between boxes is as far as another socket, or farther
    staged = "nop2p" in wiring or "shm" in wiring
    rate = PCIE_GBPS[generation] * 1e9 * width / LANES
    return _Wires(
        "host" if staged else "pcie",
        rate,
        generation,
        apart,
        switches,
        1 if "tree" in wiring else roots,
        "between" in wiring,
    )


def _nics(word: str, card: Gpu, local: int) -> tuple[float, float, Net]:
    """NICs per node that the ranks use, B/s of one NIC, and what they speak."""
    text = word.strip() or "NIC rate not stated"
    if text.lower() in ("none", "n/a"):
        raise CollsimError("inter_link={word!r} says nothing about the network between nodes", word=word)
    if not _NETWORK.search(text):
        raise CollsimError(
            "inter_link={word!r} is not understood; write for example 8xNDR400 IB, 4x100G EFA or 1x10GbE (TCP sockets)",
            word=word,
        )
    slingshot = "slingshot" in text.lower()
    plain = re.sub(r"\([^()]*\)", "", text)
    counted = _COUNT.match(plain)
    rated = _RATE.search(plain[counted.end() :] if counted else plain)
    usual = max(v for k, v in USUAL_NIC.items() if (card.cc or 90) >= k)
    speed = float(rated[1]) if rated and float(rated[1]) >= 5 else _SLINGSHOT if slingshot else float(usual)
    unsaid = counted is None and (slingshot or _NOT_STATED.search(text) is not None)
    count = float(local) if "per gpu" in text.lower() or unsaid else float(counted[1]) if counted else 1.0
    slot = PCIE_GBPS[card.pcie] * card.lanes / LANES if card.is_apu else math.inf
    return count, min(speed / 8, slot) * 1e9, _net(text)


def parse_network(word: str, ranks_per_node: int = 1) -> tuple[float, float, Net]:
    """(NICs per node, B/s of one, what they speak) for a word such as `4xHDR200 IB`, where the GPU does not matter."""
    _not_too_long("inter_link", word)
    return _nics(word, find_gpu("A100"), ranks_per_node)


def _net(text: str) -> Net:
    low = text.lower()
    if "tcpx" in low:
        return "tcpxo" if "tcpxo" in low else "tcpx"
    if "tcp" in low or "socket" in low or "ipoib" in low:
        return "tcp"
    if "efa" in low:
        return "efa"
    if "slingshot" in low:
        return "slingshot"
    ethernet = "roce" in low or "gbe" in low or "ethernet" in low
    return "roce" if ethernet and not re.search(r"\bib/", low) else "ib"
