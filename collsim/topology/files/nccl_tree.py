"""NCCL's tree of a system, as its log prints it (NCCL_DEBUG_SUBSYS=GRAPH), as a machine.

Source: NVIDIA/nccl src/graph/topo.cc (ncclTopoPrintRec): a line for each device, indented below the one that it hangs
on, with the kind and rate (GB/s) of the link between. The tree has what the XML file of a topology has, so it is
written as one and read by its reader. NCCL prints the PCIe rate that a slot could have, not the one that its link was
trained to: a degraded link does not show.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from xml.etree.ElementTree import Element, SubElement, tostring

from ...errors import FormatError
from ...package_data import read_toml
from ..network import Topology
from . import nccl_xml

_HEAD = re.compile(r"=== System : maxBw [\d.]{1,12} totalBw [\d.]{1,12} ===", re.ASCII)
_FRAME = re.compile(r"^(.{0,300}?NCCL INFO )(.{0,400})", re.ASCII)
_DEVICE = re.compile(
    r"^(\s*)(?:\+ (PCI|NVL|SYS|NET|C2C|XGMI|LOC)\[(\d{1,6}\.\d{1,2})\] - )?(CPU|PCI|GPU|NIC|NET|NVS|DEV)/"
    r"(?:(\d{1,5})-)?([0-9a-f]{1,10})(?: \(([^()]{0,80})\))?",
    re.ASCII,
)
_MAX_DEVICES, _LONGEST_TREE = 2_000, 2**20
#: GB/s of a PCIe lane for GT/s of its generation (topo.cc, kvDictPciGen: 100 Mbit/s, divided by 80).
_LANE_SPEEDS = {8: 60, 16: 120, 32: 240, 64: 480}
_MBIT_OF_GB = 8_000
#: Vendors and architectures of processors by their numbers (graph.h).
_VENDORS = {"1": "GenuineIntel", "2": "AuthenticAMD", "3": "  Shanghai  "}
_ARCHITECTURES = {"1": "x86_64", "2": "ppc64", "3": "arm64"}
#: Family and model, as the cpuid instruction numbers them, by NCCL's numbers of vendor and model (graph.h: Broadwell,
#: Skylake, Sapphire Rapids, Emerald Rapids). NCCL tells AMD's apart in nothing; they are taken for EPYC 7002.
_MODELS = {
    ("1", "1"): ("6", "79"),
    ("1", "2"): ("6", "85"),
    ("1", "3"): ("6", "143"),
    ("1", "4"): ("6", "207"),
    ("2", ""): ("143", "49"),
}
#: PCI classes of a bridge, a GPU and a card.
_CLASSES = {"PCI": "0x060400", "GPU": "0x030200", "NIC": "0x020700"}
#: Digits of vendor, device, and both of the subsystem.
_LENGTH_OF_IDS = 16
#: Compute capability, GB/s that NCCL gives each of its NVLinks, how many it has at most (topo.h from 2.8 on, where the
#: rates of some changed), and the oldest PCIe generation of its slot.
_NVLINKS: list[tuple[int, float, int, int]] = list(map(tuple, read_toml(__file__, "nccl_tree.toml")["nvlinks"]))


@dataclass
class _Tree:
    """The tree as it is read.

    Attributes:
        root: the document that is written.
        path: devices from the outermost to the last one, with their indentation.
        devices: how many there are so far.
        of_link: GB/s of an NVLink of the last GPU.
    """

    root: Element = field(default_factory=lambda: Element("system", version="1"))
    path: list[tuple[int, str, Element]] = field(default_factory=list)
    devices: int = 0
    of_link: float = 20.0


def matches_format(text: str) -> bool:
    """Whether a text has NCCL's tree of a system.

    Args:
        text: of a log.
    """
    return _HEAD.search(text) is not None


def extract_tree(text: str) -> str:
    """Return the part of a long log that has its first tree; "" where there is none.

    Args:
        text: of a log.
    """
    head = _HEAD.search(text)
    if head is None:
        return ""
    begin = text.rfind("\n", 0, head.start()) + 1
    return text[begin : begin + _LONGEST_TREE]


def read_nccl_tree(text: str, name: str, options: dict[str, object]) -> Topology:
    """The machine of the first tree of a log; all processes of a node print the same.

    Args:
        text: of the log.
        name: of the file, for errors and notes.
        options: keywords of `machine`.

    Raises:
        FormatError: The tree has no GPU, or is larger than a node.
    """
    tree = _Tree()
    lines = text.splitlines()
    rates = {gpu: rate for _, gpu, rate in read_nvlink_rates(lines)}
    for _, line in _list_lines(lines):
        if (device := _DEVICE.match(line)) is not None:
            _add_device(tree, device, rates, name)
    if not any(rates.values()):  # NCCL looked for NVLinks, other than the author of a file
        options = {"nvlink": "none", **options}
    return nccl_xml.read_nccl_topology(tostring(tree.root, encoding="unicode"), name, options)


def read_nvlink_rates(lines: Sequence[str]) -> Iterator[tuple[int, str, float]]:
    """List the GPUs of the first tree of a log and what all NVLinks of each carry.

    Args:
        lines: of the log.

    Yields:
        Line of a GPU from 1, its bus id as the tree has it, and GB/s.
    """
    gpus: list[tuple[int, str]] = []
    rates: dict[str, float] = {}
    current = ""
    for number, line in _list_lines(lines):
        device = _DEVICE.match(line)
        if device is None:
            continue
        # NVLinks stand below their GPU and are summed there; any other device ends that GPU's list.
        _, link, rate, kind, _, bus, _ = device.groups()
        if link == "NVL" and current:
            rates[current] += float(rate)
        elif kind == "GPU":
            current = bus
            rates[bus] = 0.0
            gpus.append((number, bus))
        else:
            current = ""
    for number, bus in gpus:
        yield number, bus, rates[bus]


def _list_lines(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Lines of the first tree with their numbers, as its process wrote them: others may write in between."""
    source = None
    for number, line in enumerate(lines, 1):
        if source is None:
            if "System : maxBw" in line and _HEAD.search(line) is not None:
                frame = _FRAME.match(line)
                source = ""
                if frame is not None:
                    source = frame[1]
        elif line.startswith(source):
            content = line[len(source) : len(source) + 400]
            if content.startswith("====="):
                return
            yield number, content


def _add_device(tree: _Tree, device: re.Match[str], rates: Mapping[str, float], name: str) -> None:
    """Write one line of the tree as an element below that on which the device hangs."""
    indent, link, rate, kind, _, number, words = device.groups()
    tree.devices += 1
    if tree.devices > _MAX_DEVICES:
        raise FormatError("{name}: a tree of more than {most:,} devices", name=name, most=_MAX_DEVICES)
    depth = -1
    if link is not None:
        # Indentation is the only structure of the log: what is deeper hangs on the line above.
        depth = len(indent)
    while tree.path and tree.path[-1][0] >= depth:
        tree.path.pop()
    if kind == "CPU" and link is None:
        tree.path = [(depth, kind, SubElement(tree.root, "cpu", _describe_processor(number, words or "")))]
        return
    if not tree.path:
        return
    _, above_kind, above = tree.path[-1]
    if kind == "DEV":  # what hangs on it hangs on the device above
        tree.path.append((depth, above_kind, above))
    if kind == "NET" and above_kind == "NIC":
        speed = str(round(float(rate) * _MBIT_OF_GB))
        nic = above.find("nic")
        if nic is not None:
            SubElement(nic, "net", {"name": f"net{number}", "dev": str(int(number, 16)), "speed": speed, "gdr": "1"})
    elif link in ("NVL", "XGMI", "C2C") and above_kind == "GPU":
        gpu = above.find("gpu")
        if gpu is not None:
            _add_gpu_link(gpu, link, float(rate), tree.of_link, kind, number)
    elif kind in ("PCI", "NIC") and link == "PCI":
        tree.path.append((depth, kind, _add_pci(above, kind, number, float(rate), words or "")))
    elif kind == "GPU" and link == "PCI":
        pci = _add_pci(above, kind, number, float(rate), "")
        total = rates.get(number, 0.0)
        # The log has the sum of all links; capability and count follow from the rates that generations have.
        capability, count = _find_nvlink(total, float(rate))
        tree.of_link = total / count
        rank = re.match(r"\d{1,7}\b", words or "")
        if rank is not None:
            SubElement(pci, "gpu", {"dev": rank[0], "rank": rank[0], "sm": str(capability), "gdr": "1"})
        tree.path.append((depth, kind, pci))


def _describe_processor(number: str, words: str) -> dict[str, str]:
    architecture, vendor, model = (*words.split("/"), "", "", "")[:3]
    attributes = {"numaid": number, "arch": _ARCHITECTURES.get(architecture, "x86_64")}
    if vendor in _VENDORS:
        attributes["vendor"] = _VENDORS[vendor]
    family, number_of_model = _MODELS.get((vendor, model), _MODELS.get((vendor, ""), ("6", "85")))
    return attributes | {"familyid": family, "modelid": number_of_model}


def _add_pci(above: Element, kind: str, number: str, rate: float, words: str) -> Element:
    speed, lanes = _find_slot(rate)
    attributes = {"busid": _write_bus(number), "class": _CLASSES[kind]}
    attributes |= {"link_speed": f"{speed}.0 GT/s PCIe", "link_width": str(lanes)}
    if len(words) == _LENGTH_OF_IDS:
        attributes |= {"vendor": f"0x{words[:4]}", "device": f"0x{words[4:8]}"}
    pci = SubElement(above, "pci", attributes)
    if kind == "NIC":
        SubElement(pci, "nic")
    return pci


def _find_slot(rate: float) -> tuple[int, int]:
    """GT/s and lanes of a rate, the most lanes first; sixteen of the third generation where none has it."""
    for lanes in (16, 8, 4, 2, 1):
        for speed, of_lane in _LANE_SPEEDS.items():
            if abs(lanes * of_lane / 80 - rate) < 0.02 * rate:
                return speed, lanes
    return 8, 16


def _find_nvlink(rate: float, slot_rate: float) -> tuple[int, int]:
    """Compute capability and number of NVLinks of a GPU whose links add up to a rate.

    Of capabilities that fit those count first whose slots are as new as this one: twelve links of an A100 carry what
    six of a B200 do. An A100 where none fits.
    """
    generation = {12.0: 3, 24.0: 4}.get(slot_rate, 5)
    fitting = []
    for capability, of_link, most, slot in _NVLINKS:
        count = round(rate / of_link)
        if 0 < count <= most and abs(rate - count * of_link) < 0.01 * of_link * count:
            fitting.append((abs(slot - generation), -count, capability, count))
    if not fitting:
        return 80, max(1, round(rate / 20.0))
    _, _, capability, count = min(fitting)
    return capability, count


def _add_gpu_link(gpu: Element, link: str, rate: float, of_link: float, kind: str, number: str) -> None:
    if link == "C2C":
        SubElement(gpu, "c2c", {"bw": str(round(rate * 1000)), "count": "1"})
        return
    target, device_class = "fffffff:ffff:ff", "0x068000"
    if kind == "GPU":
        target, device_class = _write_bus(number), "0x030200"
    if link == "XGMI":
        SubElement(gpu, "xgmi", {"target": target, "count": "1", "tclass": device_class})
        return
    count = max(1, round(rate / (of_link or rate)))
    SubElement(gpu, "nvlink", {"target": target, "count": str(count), "tclass": device_class})


def _write_bus(number: str) -> str:
    """A bus id: 4 digits of the domain at most, two of the bus, two of the device, one of the function."""
    digits = number.rjust(9, "0")
    return f"{digits[:-5]}:{digits[-5:-3]}:{digits[-3:-1]}.{digits[-1]}"
