"""NCCL's topology XML (src/graph/xml.cc, topo.cc), and RCCL's with xGMI.

Read as NCCL reads it: PCIe rate from link_speed and link_width (absent or 0 lanes are 16, an unknown speed is that of
gen 3), all NVSwitches are one, GPUs without `rank` are not part of the communicator, sockets are joined all to all,
cascaded Broadcom switches are one. Files that give only `pci` elements (Azure's) have their GPUs and cards by class.
What is not understood is noted. Entities, document types, and elements nested deeper than 64 are refused.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any
from xml.etree.ElementTree import Element

from ...errors import FormatError, Sentence, Words
from ...files import read_xml, refuse
from ...package_data import read_toml
from ..cables import GA102_SM, Nic, build_bridge, build_c2c, build_nvlink, build_pcie, build_xgmi, find_nic
from ..facts import Assumption
from ..machine_builder import Machine, MachineBuilder
from ..network import Cable, Topology
from ..parts.gpus import GPUS, find_gpu_name
from ..parts.sockets import build_socket_cable, identify_processor
from .boards import Board, add_nvlinks, find_board, find_board_by_bus, find_module, parse_nvlink
from .topology_assembly import finish, usual_memory

#: Names that Linux gives interfaces, tunnels and wireless cards; RDMA devices are called mlx5_0, rdmap0s6, ibp3s0 ...
_INTERFACE = re.compile(
    r"eth\d|en[opsx]\w|em\d|wl\w|bond\d|br-?\w|tun\d|tap\d|wg\d|vpn\d|ppp\d|docker|veth|tailscale|lo$"
)
#: Class of a 3D controller, which GPUs of data centers are.
_MODULE_CLASS = "0x0302"
#: Of nested elements, and below how many elements there may be: NCCL's own files have some ten levels and hundreds.
_MAX_DEPTH = 64
_MAX_LINKS = 512  # of one GPU, in one element
_FASTEST = 3_200_000  # Mbit/s of one port
_MAX_ELEMENTS = 20_000
_MAX_ATTRIBUTES, _LONGEST_VALUE = 64, 1000  # NCCL's own bounds are 16 and 254 (src/graph/xml.h)
#: Of PCI Express, by GT/s as Linux writes them.
_GENERATION = {"2.5": 1, "5": 2, "5.0": 2, "8": 3, "8.0": 3, "16": 4, "16.0": 4, "32": 5, "32.0": 5, "64": 6, "64.0": 6}
#: Compute capability (sm 9.0 is 90) from which on GPUs have a generation of NVLink.
_SM_TO_NVLINK = ((100, 5), (90, 4), (80, 3), (70, 2), (60, 1))
#: As the cpuid instruction names makers of processors, blanks included.
_VENDORS = {"GenuineIntel", "AuthenticAMD", "CentaurHauls", "  Shanghai  "}
_BROADCOM = {("0x1000", "0xc010"), ("0x1000", "0xc030")}  # topo.cc, ncclTopoFlattenBcmSwitches
_POWER = "0x068001"  # an NVLink to a Power processor (topo.cc, kvDictPciClass); 0x068000 is an NVSwitch
#: Attributes of each element that are read, or that NCCL writes and this reader does not need.
_KNOWN = {name: set(known) for name, known in read_toml(__file__, "nccl_xml.toml")["attributes"].items()}


@dataclass
class _Progress:
    """What has been met so far: the builder, GPUs with their element, cards, notes."""

    builder: MachineBuilder
    any_gpu: bool
    gpus: list[tuple[str, Element]] = field(default_factory=list)
    bus: dict[str, str] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    nets: list[Element] = field(default_factory=list)
    cards: int = 0
    ports: int = 1
    switches: int = 0
    notes: list[str] = field(default_factory=list)
    assumptions: list[Assumption] = field(default_factory=list)

    def count(self, element: Element, key: str, default: int, most: int = 2**31) -> int:
        """A whole number from 1 to `most`; anything else is the default, with a note. Absent is the default."""
        text = element.get(key)
        number = _parse_whole(text, -1)
        if text is not None and not 0 < number <= most:
            where = f"<{element.tag} {key}={text[:40]!r}>"
            self.notes.append(f"{where} is not a whole number from 1 to {most:,}: taken for {default}")
        if text is None or not 0 < number <= most:
            return default
        return number


def read_nccl_topology(text: str, name: str, options: dict[str, object]) -> Topology:
    """The topology of the machine that NCCL saw. Options: those of `machine`.

    Args:
        text: of the file.
        name: of the file, for errors and notes.
        options: keywords of `machine`.
    """
    root = _parse(text, name)
    if root.tag == "graphs":
        message = (
            "{name}: this is NCCL's graph file, which has rings and trees and no machine; cs.load reads those, and for "
            "the machine give the file that NCCL_TOPO_DUMP_FILE=topo.xml writes"
        )
        raise FormatError(message, name=name)
    if root.tag != "system":
        message = "{name}: the outermost element is <{tag}>; NCCL topology files begin with <system version=...>"
        raise FormatError(message, name=name, tag=root.tag)
    elements = list(root.iter())
    progress = _Progress(MachineBuilder(), any(e.tag == "gpu" for e in elements))
    progress.notes += _list_unknown(elements)
    # Ranks come from the file where it has them, so that rank r here is rank r in the log.
    order = _order_gpus(root, progress.any_gpu, name)
    progress.builder.add(*(f"gpu{i}" for i in range(len(order))))
    cpus = [child for child in root if child.tag == "cpu"]
    progress.notes += [
        f"<{child.tag}> outside of a <cpu> is left out" for child in root if child.tag in _KNOWN and child.tag != "cpu"
    ]
    if not cpus or not order:
        only: Words = ""
        if root.find(".//nic") is not None:
            only = Sentence("; it lists network cards only, as plugins' files do; use what NCCL_TOPO_DUMP_FILE writes")
        message = "{name}: no {kind} in it, so there is nothing to simulate{only}"
        raise FormatError(message, name=name, kind="<cpu>" if not cpus else "GPU", only=only)
    for i, cpu in enumerate(cpus):
        progress.builder.connect(f"cpu{i}", f"memory{i}", usual_memory(_find_processor(cpu)))
        for child in cpu:
            _walk(child, f"cpu{i}", None, order, progress, name)
    _join_sockets(cpus, progress)
    _join_links(progress, name)
    machine, board = _complete(_build_machine(progress, cpus, name), progress, root, options, name)
    card = _build_card(progress, board)
    return finish(machine, progress.notes, name, options, card, progress.assumptions)


def _complete(
    machine: Machine, progress: _Progress, root: Element, options: dict[str, Any], name: str
) -> tuple[Machine, Board | None]:
    """The machine with the NVLinks that its file leaves out, and the board that they are from.

    Raises:
        FormatError: Where that is unknown of GPUs that nothing but their PCI class describes.
    """
    word = parse_nvlink(options.get("nvlink"))
    has_links = any(cable.kind in ("nvlink", "xgmi") for *_, cable in machine.connections)
    if word == "none" or has_links or len(progress.gpus) < 2:
        return machine, None
    # The PCI device id tells an SXM module from a card: only modules have NVLink that a file can leave out.
    devices = [pci for pci in root.iter("pci") if _read_bus(pci) in progress.bus]
    gpu = find_module(pci.get("device", "") for pci in devices)
    if not gpu and options.get("gpu") is not None and (word or not progress.any_gpu):
        gpu = find_gpu_name(options["gpu"])
    board = find_board_by_bus(progress.bus)
    if board is None and gpu:
        board = find_board(gpu, len(progress.gpus))
    if board is not None:
        progress.notes.append(
            f"the file leaves NVLink out, as clouds' files do, and NCCL adds it by itself: NVLinks as in "
            f"{board.label}; nvlink='none' leaves them out"
        )
        return add_nvlinks(machine, board), board
    # A file of a module without any GPU element says nothing of its links; PCIe alone would be a wrong answer.
    is_bare = not progress.any_gpu and any(pci.get("class", "").startswith(_MODULE_CLASS) for pci in devices)
    if word == "board" or (is_bare and (not gpu or GPUS[gpu].links)):
        raise FormatError(
            "{name} holds processors and PCIe alone, as clouds' files do: NCCL adds NVLink by itself, and no machine "
            "of the catalogue has {count} such GPUs; say gpu='H100' for the NVLinks of its usual board, or "
            "nvlink='none' for PCIe alone",
            name=name,
            count=len(progress.gpus),
        )
    return machine, None


def _parse(text: str, name: str) -> Element:
    root: Element | None = None
    # Elements and attributes are counted while parsing: a hostile file must be refused before it fills the memory.
    for _, element, _ in read_xml(name, text=text, depth=_MAX_DEPTH, elements=_MAX_ELEMENTS):
        if root is None:
            root = element
        values = element.attrib.values()
        if len(values) > _MAX_ATTRIBUTES or max(map(len, values), default=0) > _LONGEST_VALUE:
            message = "more than {most} attributes, or one longer than {longest:,}"
            where = Sentence("element <{tag}>", tag=element.tag[:40])
            refuse(name, where, message, most=_MAX_ATTRIBUTES, longest=_LONGEST_VALUE)
    assert root is not None  # without an element XML is not well-formed
    return root


def _list_unknown(elements: list[Element]) -> Iterator[str]:
    """Elements and attributes that this reader does not know."""
    odd: Counter[str] = Counter()
    for element in elements:
        if element.tag not in _KNOWN:
            odd[f"<{element.tag[:40]}> is not understood"] += 1
            continue
        for key in element.attrib:
            if key not in _KNOWN[element.tag]:
                odd[f"attribute {key[:40]!r} of <{element.tag}> is not understood"] += 1
    return (what + (f" ({times} times)" if times > 1 else "") for what, times in odd.items())


def _is_gpu(pci: Element, any_gpu: bool) -> bool:
    """By its <gpu>; in files without any by class: 0x03 displays, 0x12 processing accelerators (AMD's)."""
    return pci.find("gpu") is not None or (not any_gpu and pci.get("class", "").startswith(("0x03", "0x12")))


def _order_gpus(root: Element, any_gpu: bool, name: str) -> list[tuple[str, int]]:
    """(bus id, which <gpu> of that device) by rank, or as they come in the file. Raises FormatError for two of one rank
    or bus id."""
    gpus: list[tuple[int, int, str, int]] = []
    ranks: dict[int, str] = {}
    buses: set[str] = set()
    for position, pci in enumerate(root.iter("pci")):
        if not _is_gpu(pci, any_gpu):
            continue
        bus = _read_bus(pci)
        if not bus or bus in buses:
            raise FormatError(
                "{name}: {what}; NCCL tells them apart by it",
                name=name,
                what=Sentence("two GPUs have busid {bus!r}", bus=bus) if bus else Sentence("a GPU has no busid"),
            )
        buses.add(bus)
        for i, gpu in enumerate(_list_gpu_elements(pci)):
            rank = gpu.get("rank")
            if any_gpu and rank is None:
                continue
            # Without ranks the order of the file counts.
            number = position
            if rank is not None:
                number = _parse_whole(rank, -1)
            if number < 0:
                message = "{name}: GPU {bus} has rank={rank!r}; expected a whole number from 0"
                raise FormatError(message, name=name, bus=bus, rank=rank)
            if rank is not None and number in ranks:
                message = (
                    "{name}: rank {number} is there twice, GPU {rank} and GPU {bus}; is this a file of several nodes?"
                )
                raise FormatError(message, name=name, number=number, rank=ranks[number], bus=bus)
            ranks[number] = bus
            gpus.append((number, position, bus, i))
    return [(bus, i) for *_, bus, i in sorted(gpus)]


def _list_gpu_elements(pci: Element) -> list[Element]:
    """The <gpu> elements of a device; one that says nothing where it is a GPU by its class only."""
    return pci.findall("gpu") or [Element("gpu")]


def _read_bus(pci: Element) -> str:
    return pci.get("busid", "").strip().lower()


def _walk(
    element: Element, above: str, parent: Element | None, order: list[tuple[str, int]], progress: _Progress, name: str
) -> None:
    """One element under a socket or a switch: a GPU, a card, or a switch with more of them below."""
    if element.tag == "nic":
        _add_card(element, above, None, progress)
        return
    if element.tag != "pci":
        if element.tag in _KNOWN:
            progress.notes.append(f"<{element.tag}> right under a <{'cpu' if parent is None else 'pci'}> is left out")
        return
    bus = _read_bus(element)
    if bus in progress.seen:
        progress.notes.append(f"busid {bus!r} is there twice; both are read")
    progress.seen |= {bus} if bus else set()
    slot = _read_slot(element, progress)
    if _is_gpu(element, progress.any_gpu):
        _add_gpus(element, above, slot, order, progress)
        return
    if element.find("nic") is not None or element.get("class", "").startswith("0x02"):
        _add_card(element, above, slot, progress)
        return
    if not len(element):
        progress.notes.append(
            f"PCI device {bus} of class {element.get('class')} is left out: neither GPU nor card, and nothing below it"
        )
        return
    chip = (element.get("vendor", ""), element.get("device", ""))
    # A switch of Broadcom shows as two levels of one chip; NCCL flattens it, or the path would count a hop too many.
    if parent is not None and chip in _BROADCOM and chip == (parent.get("vendor", ""), parent.get("device", "")):
        me = above
    else:
        me, progress.switches = f"pcie{progress.switches}", progress.switches + 1
        progress.builder.connect(me, above, slot)
    for child in element:
        _walk(child, me, element, order, progress, name)


def _add_gpus(element: Element, above: str, slot: Cable, order: list[tuple[str, int]], progress: _Progress) -> None:
    """The GPUs of one PCI device: one, or the parts of one (mlopart), which share its slot."""
    bus, parts = _read_bus(element), _list_gpu_elements(element)
    progress.notes += [
        f"<{child.tag}> in GPU {bus} is left out" for child in element if child.tag in _KNOWN and child.tag != "gpu"
    ]
    own_gpus = [(order.index((bus, i)), gpu) for i, gpu in enumerate(parts) if (bus, i) in order]
    if len(own_gpus) < len(parts):
        progress.notes.append(f"GPU {bus} has no rank, so it is not part of the communicator")
    if len(own_gpus) > 1:
        progress.notes.append(f"PCI device {bus} has {len(own_gpus)} <gpu> elements; they share its slot")
        # Parts of one GPU share the slot: a switch of the builder stands for it.
        shared, progress.switches = f"pcie{progress.switches}", progress.switches + 1
        progress.builder.connect(shared, above, slot)
        above = shared
    for number, gpu in own_gpus:
        progress.gpus.append((f"gpu{number}", gpu))
        progress.bus[bus] = f"gpu{number}"
        progress.builder.connect(f"gpu{number}", above, slot)


def _add_card(element: Element, above: str, slot: Cable | None, progress: _Progress) -> None:
    nets = [net for net in element.iter("net") if net.get("dev") is not None]
    for net in element.iter("net"):
        if net.get("dev") is None:
            progress.notes.append(f"<net name={net.get('name')!r}> has no dev, so NCCL ignores it")
    progress.nets += nets
    progress.builder.connect(f"nic{progress.cards}", above, slot or build_pcie(4))
    if slot is None:
        progress.notes.append(f"nic{progress.cards} is not under a PCI device: taken for PCIe 4.0 ×16")
    if len(nets) > 1:
        progress.notes.append(f"nic{progress.cards} has {len(nets)} ports: its rate is that of all of them")
    progress.ports = max(progress.ports, len(nets))
    progress.cards += 1


def _read_slot(pci: Element, progress: _Progress) -> Cable:
    lanes = 16
    if pci.get("link_width") != "0":
        lanes = progress.count(pci, "link_width", 16, most=64)
    speed = re.match(r"\s*([\d.]+)\s*GT/s", pci.get("link_speed", ""))
    generation = None
    if speed:
        generation = _GENERATION.get(speed[1])
    if generation is None:
        generation = 3
        progress.notes.append(
            f"PCI device {pci.get('busid')}: link_speed {pci.get('link_speed', '')!r} is unknown, gen 3 as in NCCL"
        )
    return build_pcie(generation, lanes)


def _parse_whole(text: str | None, default: int) -> int:
    try:
        if text is None:
            return default
        return int(text, 0)
    except ValueError:
        return default


def _join_sockets(cpus: list[Element], progress: _Progress) -> None:
    strange = {c.get("vendor", "") for c in cpus if c.get("arch", "x86_64") == "x86_64"} - _VENDORS
    if strange and len(cpus) > 1:
        progress.notes.append(
            f"processors of vendor {', '.join(map(repr, sorted(strange)))} are unknown to NCCL: 6 GB/s between sockets"
        )
    for b in range(len(cpus)):
        for a in range(b):
            progress.builder.connect(f"cpu{a}", f"cpu{b}", build_socket_cable(_find_processor(cpus[a])))


def _find_processor(cpu: Element) -> str:
    """The generation of a processor, which tells the link to the next socket."""
    family, model = (_parse_whole(cpu.get(word), 0) for word in ("familyid", "modelid"))
    return identify_processor(cpu.get("arch", ""), cpu.get("vendor", ""), family, model)


def _join_links(progress: _Progress, name: str) -> None:
    """NVLink, xGMI and C2C: to the switch (all of them one), to another GPU (once per pair), to a socket."""
    done: set[frozenset[str]] = set()
    switched: Counter[str] = Counter()
    for me, gpu in progress.gpus:
        if gpu.get("sm") is None and gpu.find("nvlink") is not None:
            progress.notes.append(f"{me} has NVLinks but no sm: taken for an A100, sm 80")
        sm = _parse_whole(gpu.get("sm"), 80)
        for link in gpu:
            count, target = progress.count(link, "count", 1, most=_MAX_LINKS), link.get("target", "").strip().lower()
            if link.tag == "c2c":
                bw = progress.count(link, "bw", 0, most=10_000_000)
                progress.builder.connect(me, _find_socket(me, progress), _build_c2c(bw * count / 1000))
            elif link.tag in ("nvlink", "xgmi"):
                if link.tag == "nvlink" and link.get("tclass") == _POWER:
                    progress.builder.connect(me, _find_socket(me, progress), _build_gpu_link(link.tag, sm, count, gpu))
                elif link.tag == "nvlink" and link.get("tclass", "").startswith("0x0680"):
                    # NVSwitches of a node work as one; how many links of each GPU go there is summed.
                    switched[me] += count
                elif target not in progress.bus:
                    progress.notes.append(
                        f"{me}: {link.tag} to {target}, which is not a GPU of the communicator, is left out"
                    )
                elif progress.bus[target] == me:
                    progress.notes.append(f"{me}: {link.tag} to itself is left out")
                elif frozenset((me, progress.bus[target])) not in done:
                    # Both GPUs list the link; it is added for the pair that comes first.
                    done.add(frozenset((me, progress.bus[target])))
                    progress.builder.connect(me, progress.bus[target], _build_gpu_link(link.tag, sm, count, gpu))
    for me, gpu in progress.gpus:
        if switched[me]:
            sm = _parse_whole(gpu.get("sm"), 80)
            progress.builder.connect(me, "nvswitch", _build_gpu_link("nvlink", sm, switched[me], gpu))


def _build_c2c(gigabytes: float) -> Cable:
    """Grace to its GPU, with NCCL's rate: bw * count / 1000 GB/s (topo.cc, ncclTopoAddC2c)."""
    cable = build_c2c()
    if not gigabytes:
        return cable
    source = f"bandwidth: bw and count of the file; {cable.source}"
    return replace(cable, bandwidth=gigabytes * 1e9, nominal=gigabytes * 1e9, effective=None, source=source)


def _find_socket(device: str, progress: _Progress) -> str:
    above = {a: b for a, b, cable in progress.builder.connections if cable.kind == "pcie"}
    while not device.startswith("cpu"):
        device = above[device]
    return device


def _build_gpu_link(tag: str, sm: int, count: int, gpu: Element) -> Cable:
    if tag == "xgmi":
        return build_xgmi(count, gpu.get("gcn", ""))
    if sm == GA102_SM:
        return build_bridge(count)
    return build_nvlink(next((g for least, g in _SM_TO_NVLINK if sm >= least), 1), count)


def _read_port_rate(net: Element, progress: _Progress) -> int:
    """Mbit/s of a port; some plugins give kbit/s. NCCL's own default is 10,000."""
    if (rate := _parse_whole(net.get("speed"), 0)) > _FASTEST and rate // 1000 <= _FASTEST:
        progress.notes.append(f"<net speed={rate}> is beyond any card in Mbit/s: taken for kbit/s")
        return rate // 1000
    return progress.count(net, "speed", 10_000, most=_FASTEST)


def _build_card(progress: _Progress, board: Board | None) -> Nic | None:
    """What the cards are: the rate of their ports, which is the same in NCCL's sense for all; where the file has none,
    those of the board that completes it."""
    if not progress.cards:
        return None
    speeds = sorted({_read_port_rate(net, progress) for net in progress.nets})
    if not speeds and board is not None and board.machine is not None:
        progress.notes.append(f"the file gives no rate of the cards: {board.machine.nic} as in {board.label}")
        return find_nic(board.machine.nic)
    if not speeds:
        reason = "the file gives no rate of the cards", "文件没有说明网卡的速率"
        progress.assumptions.append(Assumption("nic", "ib-hdr, 25 GB/s", reason, ("ib-edr", "ib-ndr")))
        return find_nic("ib-hdr")
    # The model of a machine has one rate for all its cards: the fastest is taken, with a note.
    if len(speeds) > 1:
        progress.notes.append(f"ports of {', '.join(map(str, speeds))} Mbit/s; all are given {speeds[-1]}")
    rate = speeds[-1] * progress.ports * 1e6 / 8
    source = f"bandwidth measured by NCCL: speed={speeds[-1]} Mbit/s in the file, {progress.ports} ports of a card"
    gigabits = speeds[-1] * progress.ports / 1000
    # System interfaces have no RDMA, whatever their rate.
    if all(_is_socket(net) for net in progress.nets):
        names = ", ".join(sorted({net.get("name", "") for net in progress.nets}))
        progress.notes.append(f"{names}: interfaces of the system, which NCCL uses over TCP sockets, without RDMA")
        cable = replace(
            find_nic("tcp-10").cable, label=f"TCP {gigabits:g}G", bandwidth=rate, nominal=rate, effective=None
        )
        return Nic("file", replace(cable, source=f"{source}; alpha as of {find_nic('tcp-10').cable.label}"), rdma=False)
    source += "; alpha order of magnitude: as HDR InfiniBand"
    return Nic("file", Cable("infiniband", f"{gigabits:g}G network", rate, 0.6e-6, source, nominal=rate))


def _is_socket(net: Element) -> bool:
    """Whether a <net> is an interface of the system, which NCCL's socket transport names, and no RDMA device."""
    return net.get("gdr") != "1" and _INTERFACE.match(net.get("name", "").lower()) is not None


def _build_machine(progress: _Progress, cpus: list[Element], name: str) -> Machine:
    sms = [_parse_whole(gpu.get("sm"), 0) for _, gpu in progress.gpus]
    if not progress.any_gpu:
        progress.notes.append(
            "the file has no <gpu> elements: GPUs are the PCI devices of class 0x03, in the order of the file"
        )
    return Machine.from_builder(
        progress.builder,
        name=name,
        title=f"{len(progress.gpus)} GPUs of {name}",
        about="read from NCCL topology XML",
        sm=max(sms, default=0),
        nic="ib-hdr",
        gdr=not any(gpu.get("gdr") == "0" for _, gpu in progress.gpus),
        amd_cpu=cpus[0].get("vendor") == "AuthenticAMD",
        source=f"NCCL topology XML in {name}",
    )
