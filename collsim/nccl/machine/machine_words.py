"""The vocabulary of tables of measurements, `nvlink3-nvswitch`, `8xHDR200 IB`, `pcie4-x16-nop2p`, read into `Facts`.

A grammar, not a list: technology and generation first, then wiring. A word that it cannot read is a CollsimError that
names the word.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import NamedTuple

from ...errors import CollsimError
from ...errors.arguments import check_arguments
from .machine_facts import (
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
#: GPUs of one NVLink 5 domain in a GB200 rack, and of one of its trays.
_RACK, _TRAY = 72, 4
#: Gbit/s of a card of Slingshot, by its generation: ConnectX-5, then HPE's own, which libfabric drives by its provider
#: cxi (glennklockwood.com/garden/slingshot). All systems of the published tables that state it have the second.
SLINGSHOT_10, SLINGSHOT_11 = 100.0, 200.0
#: Generations that state the rate of a card, Gbit/s; those of InfiniBand with four lanes (IBTA, InfiniBand roadmap).
_GENERATIONS: tuple[tuple[str, float], ...] = (
    (r"slingshot[ -]?10\b", SLINGSHOT_10),
    (r"slingshot[ -]?11\b|\bcxi\b", SLINGSHOT_11),
    *((rf"\b{name}dr\b", rate) for name, rate in zip("fehnx", (56.0, 100.0, 200.0, 400.0, 800.0), strict=True)),
)
#: Names of cards that end in a number that is no rate.
_NUMBERED = re.compile(r"\b(?:connectx|cx|bluefield|slingshot)[ -]?\d{1,2}\b", re.I)

#: NVLink generation of the GPUs that are sold on NVSwitch boards, by compute capability.
_NVLINK_OF = {70: 2, 80: 3, 90: 4, 100: 5, 103: 5}

#: Words that say what a network is: its kind, a generation of InfiniBand, a rate with its unit, or that it is not
#: stated.
_NETWORK = re.compile(
    r"tcp|socket|ipoib|efa|slingshot|roce|gbe|ethernet|infiniband|mnnvl|\bib\b|[efhnx]dr|\d\s*g(?:b|"
    r"bit/s)?\b|\bnics?\b|not stated",
    re.I,
)
_NOT_STATED = re.compile(r"not stated|^nic rate", re.I)
#: Words for links inside a node that nobody stated.
_UNSTATED_LINKS = ("", "none", "n/a", "unknown")
_RATE = re.compile(r"(?:EDR|HDR|NDR|XDR|FDR|Slingshot|)\s*(\d+)\s*(?:G|GbE|Gb|)\b", re.I)
#: Letters of the longest words, as searching the patterns takes the square of their length; and how many letters of a
#: longer one an error quotes.
_MAX_LETTERS, _MAX_QUOTED = 1_000, 40
_COUNT = re.compile(r"^(\d+)\s*(?:x|NICs?\b)\s*", re.I)


class NetworkCards(NamedTuple):
    """The network cards of a node, as words state them.

    Attributes:
        cards: those that the ranks use.
        rate: B/s of one, one direction, nominal.
        net: what they speak.
        guessed: what nobody stated of them, as in `Facts.guessed`: `nic_rate`, `slingshot`, or "" for nothing.
    """

    cards: float
    rate: float
    net: Net
    guessed: str = ""


@dataclass(frozen=True)
class _NodeLinks:
    """The links inside a node, with fields as those of `Facts`."""

    wiring: WiringKind
    rate: float
    pcie: int
    crosses_sockets: bool = False
    switches: int = 0
    root_ports: int = 1
    over_fabric: bool = False
    staged_between_switches: bool = False


@check_arguments
def parse_facts(
    gpu_name: str, ranks: int, nodes: int, intra_link: str, inter_link: str, gdr: str = "", launch: str = ""
) -> Facts:
    """Read the facts of a machine from the words of a table's columns.

    A GPU that no table knows is taken as what the other words make of it.

    Args:
        gpu_name: as people write it, `A100-SXM4-80GB`.
        ranks: ranks in all, one per GPU.
        nodes: hosts.
        intra_link: the links inside a node, `nvlink3-nvswitch`, `pcie4-x16-nop2p` or "".
        inter_link: the network, `8xHDR200 IB`; not read where there is one node.
        gdr: GPUDirect RDMA, `yes` or `no`; anything else: not stated.
        launch: who launches the kernels, in words.

    Returns:
        The facts; hosts of one NVLink domain are one node.

    Raises:
        CollsimError: naming the word that is not understood.

    Examples:
        >>> import collsim as cs
        >>> facts = cs.nccl.parse_facts("A100-SXM4-80GB", 16, 2, "nvlink3-nvswitch", "8xHDR200 IB", gdr="yes")
        >>> facts.wiring, facts.nics, facts.nic_rate
        ('nvswitch', 8.0, 25000000000.0)
    """
    for word, value in (("gpu", gpu_name), ("intra_link", intra_link), ("inter_link", inter_link)):
        _require_short_word(word, value)
    if _is_rack(intra_link, inter_link):  # a B200 of a rack sits on a Grace
        gpu_name = re.sub(r"^B(?=[23]00)", "GB", gpu_name)
    is_listed = is_known_gpu(gpu_name)
    gpu = find_gpu(gpu_name) if is_listed else guess_gpu(gpu_name, intra_link)
    _require_ranks(ranks, nodes)
    domains = _count_domains(intra_link, inter_link, ranks, nodes)
    # Ranks need not divide evenly; the fullest node decides.
    local_ranks = -(-ranks // domains)
    is_card = _is_pcie_card(gpu_name, gpu, is_listed)
    links = _parse_intra_link(intra_link, gpu, local_ranks, is_card)
    network = _parse_inter_link(inter_link, gpu, local_ranks) if domains > 1 else NetworkCards(0.0, 0.0, "none")
    return Facts(
        gpu=gpu_name,
        cc=gpu.cc,
        ranks=ranks,
        nodes=domains,
        wiring=links.wiring,
        link_rate=links.rate,
        pcie=links.pcie,
        crosses_sockets=links.crosses_sockets,
        switches=links.switches,
        root_ports=links.root_ports,
        over_fabric=links.over_fabric,
        staged_between_switches=links.staged_between_switches,
        nics=network.cards,
        nic_rate=network.rate,
        net=network.net,
        is_pcie_card=is_card,
        gdr=_parse_gdr(gdr, gpu_name, gpu.cc, network.net),
        cpu=_guess_cpu(gpu_name, gpu.cc),
        hosts=_count_hosts(intra_link, inter_link, ranks, nodes),
        launch=parse_launch(launch),
        guessed=_find_guessed_fields(is_listed, intra_link, network, local_ranks),
    )


def _require_ranks(ranks: int, nodes: int) -> None:
    """Check that each node has a rank."""
    if ranks < 1 or nodes < 1 or ranks < nodes:
        raise CollsimError(
            "ranks={ranks} on nodes={nodes}: each node needs at least one rank", ranks=ranks, nodes=nodes
        )


def _require_short_word(word: str, value: str) -> None:
    if len(value) > _MAX_LETTERS:
        template = "{word}={value!r} has {letters} letters; write at most {most}"
        quoted = f"{value[:_MAX_QUOTED]}..."
        raise CollsimError(template, word=word, value=quoted, letters=len(value), most=_MAX_LETTERS)


def _count_domains(intra_link: str, inter_link: str, ranks: int, nodes: int) -> int:
    """Groups of ranks that NCCL sees as one node: an NVLink domain over several trays is one."""
    if nodes == 1:
        return 1
    if "mnnvl" in inter_link.lower():
        return -(-ranks // _RACK)
    match = re.match(r"nvlink\d-nvl(\d+)", intra_link.strip().lower())
    if match and int(match[1]) > -(-ranks // nodes):
        return -(-ranks // int(match[1]))
    return nodes


def _count_hosts(intra_link: str, inter_link: str, ranks: int, nodes: int) -> int:
    """Hosts: the trays of a rack that the words call one node."""
    if nodes == 1 and _is_rack(intra_link, inter_link):
        return -(-ranks // _TRAY)
    return nodes


def _is_rack(intra_link: str, inter_link: str) -> bool:
    """Whether the words are those of an NVLink domain of several trays."""
    return "mnnvl" in inter_link.lower() or re.match(r"nvlink\d-nvl\d\d", intra_link.strip().lower()) is not None


def _is_pcie_card(gpu_name: str, gpu: Gpu, is_listed: bool) -> bool:
    if "PCI" in gpu_name.upper() or gpu.cc in (75, 86, 89, 120, 121):  # these are sold as cards only
        return True
    return not (is_listed or gpu.links or gpu.is_apu)


def _parse_gdr(word: str, gpu_name: str, cc: int, net: str) -> bool | None:
    """Whether NIC and GPU exchange data directly; None where that is not stated."""
    if _lacks_gdr(gpu_name, cc, net):
        return False
    return {"yes": True, "no": False}.get(word.strip().lower())


def _lacks_gdr(gpu_name: str, cc: int, net: str) -> bool:
    """GeForce cards and the GB10 have no GPUDirect RDMA (NVIDIA GPUDirect RDMA documentation: Tesla and Quadro class);
    over EFA it came with the A100 (AWS, EC2 accelerated computing: P4d and later)."""
    return gpu_name.upper().startswith(("RTX 2", "RTX 3", "RTX 4", "RTX 5", "GB10")) or (net == "efa" and 0 < cc < 80)


def _guess_cpu(gpu_name: str, cc: int) -> str:
    """The CPU of the boxes that a GPU is usually sold in."""
    if cc in (0, 80):
        return "amd"
    if gpu_name.upper().startswith(("GH", "GB")):
        return "arm"
    return "intel"


def _parse_intra_link(word: str, gpu: Gpu, local_ranks: int, is_card: bool) -> _NodeLinks:
    """How the GPUs of a node are wired."""
    text = word.strip().lower()
    if local_ranks == 1:
        return _NodeLinks("none", 0.0, gpu.pcie)
    if text in _UNSTATED_LINKS:  # what a box of this GPU is usually sold with
        text = "shm"
        if gpu.cc in _NVLINK_OF and not is_card:
            text = f"nvlink{_NVLINK_OF[gpu.cc]}-nvswitch"
        elif gpu.links and not (gpu.cc or is_card):
            text = "xgmi"
    if match := re.match(r"nvlink(\d)-(\w+)", text):
        return _parse_nvlink(int(match[1]), match[2], text, gpu, local_ranks)
    if text.startswith("xgmi"):
        if gpu.cc:
            raise CollsimError(
                "intra_link={text!r}: only AMD's GPUs have xGMI; write for example nvlink4-nvswitch or pcie4-x16-nop2p",
                text=text,
            )
        return _NodeLinks("xgmi", min(gpu.links, local_ranks - 1) * XGMI_GBPS * 1e9, gpu.pcie)
    if match := re.match(r"pcie(\d)\b-?(.*)", text):
        return _parse_pcie(int(match[1]), match[2])
    if text == "shm":
        return _NodeLinks("host", PCIE_GBPS[gpu.pcie] * 1e9, gpu.pcie)
    raise CollsimError(
        "intra_link={word!r} is not understood; write for example nvlink3-nvswitch, pcie4-x16-p2p or pcie4-x16-nop2p",
        word=word,
    )


def _parse_nvlink(generation: int, wiring: str, text: str, gpu: Gpu, local_ranks: int) -> _NodeLinks:
    if generation not in NVLINK_GBPS:
        template = "NVLink generation {generation} is not known; known: {known}"
        raise CollsimError(template, generation=generation, known=", ".join(map(str, NVLINK_GBPS)))
    links = next((GPUS[variant].links for variant in ("A800", "H800") if variant.lower() in text), gpu.links)
    if not links or not gpu.cc:
        raise CollsimError(
            "intra_link={text!r}: this GPU has no NVLink; write for example pcie5-x16-p2p, pcie5-x16-nop2p or "
            "xgmi-mi300x",
            text=text,
        )
    link_rate = (GA102_LINK_GBPS if gpu.cc in (86, 89) else NVLINK_GBPS[generation]) * 1e9
    if wiring == "hybridcubemesh":
        return _NodeLinks("cube", links * link_rate, gpu.pcie)
    if wiring.startswith("mesh"):
        peers = max(1, int(wiring[4:] or 4) - 1)
        return _NodeLinks("mesh", links * link_rate * min(1.0, (local_ranks - 1) / peers), gpu.pcie)
    if wiring == "bridge" and local_ranks > 2:
        # bridges join pairs: between pairs a ring crosses host bridges, which is beyond NCCL's P2P level
        return _NodeLinks("host", PCIE_GBPS[gpu.pcie] * 1e9, gpu.pcie)
    if wiring == "bridge":
        return _NodeLinks("bridge", min(links, _BRIDGE_LINKS) * link_rate, gpu.pcie)
    if wiring.startswith("nv"):
        return _NodeLinks("nvswitch", links * link_rate, gpu.pcie)
    raise CollsimError(
        "NVLink wiring {wiring!r} is not understood; known: nvswitch, nvl72, mesh4, hybridcubemesh, bridge",
        wiring=wiring,
    )


def _parse_pcie(generation: int, wiring: str) -> _NodeLinks:
    if generation not in PCIE_GBPS:
        template = "PCIe generation {generation} is not known; known: {known}"
        raise CollsimError(template, generation=generation, known=", ".join(map(str, PCIE_GBPS)))
    has_fabric, between_switches = "fabric" in wiring, "between" in wiring
    usual_switches = 2
    if not between_switches:
        usual_switches = int("plx" in wiring or has_fabric)
    switches = _parse_number(r"(\d+)switch", wiring, usual_switches)
    root_ports = _parse_number(r"(\d+)root", wiring, max(1, switches))
    # A tree of switches has one root port for all of them.
    if "tree" in wiring:
        root_ports = 1
    sockets = _parse_number(r"(\d+)socket", wiring, 2 if "crosssocket" in wiring else 1)
    is_staged = "nop2p" in wiring or "shm" in wiring
    return _NodeLinks(
        "host" if is_staged else "pcie",
        PCIE_GBPS[generation] * 1e9 * _parse_number(r"x(\d+)", wiring, LANES) / LANES,
        generation,
        crosses_sockets=sockets > 1
        or has_fabric,  # a PCIe fabric between boxes is as far as another socket, or farther
        switches=switches,
        root_ports=root_ports,
        over_fabric=has_fabric,
        staged_between_switches=between_switches,
    )


def _parse_number(pattern: str, text: str, default: int) -> int:
    match = re.search(pattern, text)
    if match:
        return int(match[1])
    return default


def _parse_inter_link(word: str, gpu: Gpu, local_ranks: int) -> NetworkCards:
    """The network between nodes: a card a GPU, unless the number is stated; what speaks TCP is one card for all."""
    text = word.strip() or "NIC rate not stated"
    if text.lower() in ("none", "n/a"):
        raise CollsimError("inter_link={word!r} says nothing about the network between nodes", word=word)
    if not _NETWORK.search(text):
        raise CollsimError(
            "inter_link={word!r} is not understood; write for example 8xNDR400 IB, 4x100G EFA or 1x10GbE (TCP sockets)",
            word=word,
        )
    net, plain = _parse_net(text), re.sub(r"\([^()]*\)", "", text)
    count = _COUNT.match(plain)
    nics, is_per_gpu = float(local_ranks), "per gpu" in text.lower()
    if count and not is_per_gpu:
        nics = float(count[1])
    elif net == "tcp" and not is_per_gpu:
        nics = 1.0
    has_number = local_ranks == 1 or count is not None or is_per_gpu
    # The rate is read behind the count, or 8 of `8x400G` would be a rate.
    start = count.end() if count else 0
    gigabits, guessed = _parse_gigabits(plain[start:]) or _find_generation(text[start:]), ""
    if gigabits is None and "slingshot" in text.lower():
        gigabits, guessed = SLINGSHOT_11, "slingshot"
    elif gigabits is None:  # where cards are more than GPUs, all together carry what is usual
        usual = max(rate for cc, rate in USUAL_NIC.items() if (gpu.cc or 90) >= cc)
        gigabits, guessed = usual * min(1.0, local_ranks / nics), "nic_rate"
    if not has_number or _NOT_STATED.search(text):
        guessed = "nic_rate"
    slot = math.inf
    if gpu.is_apu:
        slot = PCIE_GBPS[gpu.pcie] * gpu.lanes / LANES
    return NetworkCards(nics, min(gigabits / 8, slot) * 1e9, net, guessed)


def _find_guessed_fields(is_listed: bool, intra_link: str, network: NetworkCards, local_ranks: int) -> frozenset[str]:
    """Fields of `Facts` that the words leave open: a GPU of no table, the links inside a node, the rate or the number
    of the cards."""
    guessed = {
        "gpu": not is_listed,
        "wiring": local_ranks > 1 and intra_link.strip().lower() in _UNSTATED_LINKS,
        network.guessed: bool(network.guessed),
    }
    return frozenset(name for name, is_guessed in guessed.items() if is_guessed)


def _find_generation(text: str) -> float | None:
    """Gbit/s of a card by the generation that its name states; None where it states none."""
    return next((rate for pattern, rate in _GENERATIONS if re.search(pattern, text, re.I)), None)


def _parse_gigabits(text: str) -> float | None:
    """Gbit/s of a NIC; None where the words state no rate. Numbers below 5 are generations or counts."""
    match = _RATE.search(_NUMBERED.sub("", text))
    if match and float(match[1]) >= 5:
        return float(match[1])
    return None


def parse_network(word: str, ranks_per_node: int = 1, gpu_name: str = "A100") -> NetworkCards:
    """Read a word such as `4xHDR200 IB`.

    Args:
        word: the network between nodes.
        ranks_per_node: ranks of a node, for `a NIC per GPU`.
        gpu_name: whose usual card counts where the word states no rate.

    Returns:
        The cards of a node.

    Raises:
        CollsimError: where the word is not understood.

    Examples:
        >>> parse_network("4xHDR200 IB")
        NetworkCards(cards=4.0, rate=25000000000.0, net='ib', guessed='')
    """
    _require_short_word("inter_link", word)
    gpu = find_gpu(gpu_name) if is_known_gpu(gpu_name) else guess_gpu(gpu_name, "")
    return _parse_inter_link(word, gpu, ranks_per_node)


def _parse_net(text: str) -> Net:
    low = text.lower()
    if "tcpx" in low:
        if "tcpxo" in low:
            return "tcpxo"
        return "tcpx"
    if "tcp" in low or "socket" in low or "ipoib" in low:
        return "tcp"
    if "efa" in low:
        return "efa"
    if "slingshot" in low:
        return "slingshot"
    is_ethernet = "roce" in low or "gbe" in low or "ethernet" in low
    if is_ethernet and not re.search(r"\bib/", low):
        return "roce"
    return "ib"
