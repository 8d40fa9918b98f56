"""Facts of what tools print: nvidia-smi, lspci, ibstat, perftest, df, dmesg and others.

A text may hold the output of several commands, so every reader looks for its own lines and ignores the rest. The forms
are those of the tools' sources and manuals: NVIDIA's nvidia-smi documentation, pciutils (ls-caps.c),
infiniband-diags (ibstat.c), linux-rdma/perftest (perftest_parameters.h), NVIDIA/cuda-samples
(p2pBandwidthLatencyTest.cu), Linux Documentation/networking/bonding.rst.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from .log_reader import Stated

Reader = Callable[[Sequence[str]], Iterator[Stated]]


@dataclass(frozen=True)
class GpuLinks:
    """NVLinks of a GPU: its number and name, how many are active, and how many it has."""

    gpu: int
    name: str
    active: int
    total: int


@dataclass(frozen=True)
class CardPort:
    """A port of a network card: Gbit/s, state (`Active`, `Down`), and link layer (`InfiniBand`, `Ethernet`)."""

    card: str
    gbits: float
    state: str
    layer: str


@dataclass(frozen=True)
class CardTest:
    """A run of perftest: device, queue pairs, Gbit/s on average, whether GPU memory was sent, and the link layer."""

    device: str
    queue_pairs: int
    gbits: float
    uses_gpu: bool
    layer: str


@dataclass(frozen=True)
class PcieLink:
    """A PCIe link as it is trained and as it could be: GT/s or generation, and lanes."""

    device: str
    speed: float
    most_speed: float
    lanes: int
    most_lanes: int
    is_busy: bool


@dataclass(frozen=True)
class PairMatrix:
    """GB/s between pairs of GPUs, median of all pairs, with peer access or staged."""

    enabled: bool
    median: float
    pairs: int


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


def read_gpu_names(lines: Sequence[str]) -> Iterator[Stated]:
    """Read names of GPUs: `nvidia-smi -L` and `nvlink -s`, nccl-tests' list of devices, p2pBandwidthLatencyTest.

    Args:
        lines: of any text.

    Yields:
        Number of the line from 1, kind of the fact, and its value.
    """
    forms = (
        re.compile(r"^\s*GPU \d{1,4}: ([^(]{3,80}?) \(UUID"),
        re.compile(r"#\s+Rank\s+\d{1,7} .{0,120}device\s+\d{1,4} \[[^\]]{1,40}\] (.{3,80})$"),
        re.compile(r"^Device: \d{1,4}, ([^,]{3,80}), pciBusID"),
    )
    for number, line in enumerate(lines, 1):
        for form in forms:
            if (match := form.search(line)) is not None:
                yield number, "gpu.name", match[1].strip()


def read_driver(lines: Sequence[str]) -> Iterator[Stated]:
    """Read the driver's version, the CUDA that it supports, modules of the kernel and the kernel's version.

    Args:
        lines: of any text.

    Yields:
        Number of the line from 1, kind of the fact, and its value.
    """
    is_listing = False
    for number, line in enumerate(lines, 1):
        if (
            match := re.search(r"Driver Version: (\d[\d.]{1,20})\s+CUDA Version: (\d{1,2}\.\d{1,2})", line)
        ) is not None:
            yield number, "driver.version", match[1]
            yield number, "driver.cuda", tuple(map(int, match[2].split(".")))
        if re.match(r"^\$ ?(?:sudo )?lsmod", line) is not None:
            is_listing = True
            yield number, "module.listing", True
        elif line.startswith("$"):
            is_listing = False
        elif is_listing and (module := re.match(r"^([\w-]{2,60})\s+\d{1,12}\s+\d{1,6}\b", line)) is not None:
            yield number, "module.loaded", module[1].replace("-", "_")
        if (kernel := re.match(r"^(\d)\.(\d{1,3})\.\d{1,4}[-.\w]{0,60}$", line)) is not None:
            yield number, "kernel.version", (int(kernel[1]), int(kernel[2]))
        if (module := re.search(r"NVRM version: NVIDIA UNIX (Open )?", line)) is not None:
            yield number, "driver.is_open", module[1] is not None


def read_pcie(lines: Sequence[str]) -> Iterator[Stated]:
    """Read `lspci -vv`: links as trained, and ACS of bridges; `nvidia-smi --query-gpu=pcie...` in CSV.

    Args:
        lines: of any text.

    Yields:
        Number of the line from 1, kind of the fact, and its value.
    """
    device, is_bridge = "", False
    capable: tuple[float, int] | None = None
    columns: list[str] = []
    for number, line in enumerate(lines, 1):
        if (head := re.match(r"^(?:[\da-f]{4}:)?([\da-f]{2}:[\da-f]{2}\.[0-7]) (.{0,80})", line)) is not None:
            device, is_bridge, capable = head[1], "bridge" in head[2], None
        elif (acs := re.search(r"ACSCtl:\s*(.{0,120})", line)) is not None:
            if is_bridge or not device:
                yield number, "pcie.acs", "ReqRedir+" in acs[1]
        elif (cap := re.search(r"LnkCap:.{0,40}Speed ([\d.]{1,5})GT/s.{0,20}Width x(\d{1,2})", line)) is not None:
            capable = (float(cap[1]), int(cap[2]))
        elif (
            sta := re.search(r"LnkSta:.{0,10}Speed ([\d.]{1,5})GT/s.{0,20}Width x(\d{1,2})", line)
        ) is not None and capable:
            yield number, "pcie.link", PcieLink(device, float(sta[1]), capable[0], int(sta[2]), capable[1], False)
        elif line.lstrip().startswith("index,") and "pcie.link" in line:
            columns = [column.split()[0].strip() for column in line.split(",") if column.strip()]
        elif columns and line.count(",") == len(columns) - 1 and line.strip()[:1].isdigit():
            yield from _read_gpu_row(number, dict(zip(columns, map(str.strip, line.split(",")), strict=True)))
        elif columns:
            columns = []


def _read_gpu_row(number: int, row: dict[str, str]) -> Iterator[Stated]:
    try:
        speed, lanes = float(row["pcie.link.gen.current"]), int(row["pcie.link.width.current"])
        most_speed, most_lanes = float(row.get("pcie.link.gen.max", "0")), int(row.get("pcie.link.width.max", "0"))
    except (KeyError, ValueError):
        return
    is_busy = row.get("pstate", "") in ("P0", "P1", "P2")
    yield number, "pcie.link", PcieLink(f"GPU {row.get('index', '')}", speed, most_speed, lanes, most_lanes, is_busy)


def read_cards(lines: Sequence[str]) -> Iterator[Stated]:
    """Read `ibstat` and `ibstatus`: a port of a card each, at the line of its rate.

    Args:
        lines: of any text.

    Yields:
        Number of the line from 1, kind of the fact, and its value.
    """
    card, state = "", ""
    rate: tuple[int, float] | None = None
    for number, line in enumerate(lines, 1):
        if (head := re.match(r"^CA '([\w.-]{1,60})'|^Infiniband device '([\w.-]{1,60})'", line)) is not None:
            card, state, rate = head[1] or head[2], "", None
        elif (word := re.match(r"\s*[Ss]tate:\s+(?:\d: )?(\w{1,20})", line)) is not None and card:
            state = word[1].capitalize()
        elif (number_of := re.match(r"\s*[Rr]ate:\s+(\d{1,4}(?:\.\d)?)", line)) is not None and card:
            rate = (number, float(number_of[1]))
        elif (layer := re.match(r"\s*[Ll]ink.layer:\s+(\w{1,20})", line)) is not None and card and rate is not None:
            yield rate[0], "card.port", CardPort(card, rate[1], state, layer[1])


def read_card_tests(lines: Sequence[str]) -> Iterator[Stated]:
    """Read perftest's bandwidth tests, at the line of the result.

    Args:
        lines: of any text.

    Yields:
        Number of the line from 1, kind of the fact, and its value.
    """
    device, queue_pairs, uses_gpu, is_mib, layer = "", 1, False, False, "Ethernet"
    for number, line in enumerate(lines, 1):
        if "--use_cuda" in line or "--use_rocm" in line:
            uses_gpu = True
        if (name := re.search(r"\bDevice\s{1,20}: (\S{1,60})", line)) is not None:
            device = name[1]
        elif (pairs := re.search(r"Number of qps\s{1,10}: (\d{1,5})", line)) is not None:
            queue_pairs = int(pairs[1])
        elif (link := re.search(r"Link type\s{1,20}: (\w{1,20})", line)) is not None:
            layer = {"IB": "InfiniBand"}.get(link[1], "Ethernet")
        elif "BW average" in line:
            is_mib = "MiB/sec" in line
        elif device and (
            row := re.match(r"^\s*\d{1,12}\s+\d{1,12}\s+[\d.]{1,12}\s+([\d.]{1,12})\s+[\d.]{1,12}\s*$", line)
        ):
            gbits = float(row[1])
            if is_mib:
                gbits *= 2**20 * 8 / 1e9
            yield number, "card.test", CardTest(device, queue_pairs, gbits, uses_gpu, layer)
            device, queue_pairs, uses_gpu = "", 1, False


def read_host(lines: Sequence[str]) -> Iterator[Stated]:
    """Read what a host says: /dev/shm, bonds, RDMA devices in a container, virtualization, IOMMU, NUMA balancing.

    Args:
        lines: of any text.

    Yields:
        Number of the line from 1, kind of the fact, and its value.
    """
    is_bond = False
    for number, line in enumerate(lines, 1):
        if (
            shm := re.match(r"^(?:shm|tmpfs|\S{1,40})\s+(\d[\d.]{0,8}[KMGT]?)\s.{0,60}\s/dev/shm\s*$", line)
        ) is not None:
            yield number, "host.shm_bytes", _parse_size(shm[1])
        is_bond = is_bond or line.startswith("Bonding Mode:")
        if line.startswith("Bonding Mode:"):
            yield number, "bond.mode", line.partition(":")[2].strip()
        if is_bond and (speed := re.match(r"^Speed: (\d{1,7}) Mbps", line)) is not None:
            yield number, "bond.port_gbits", int(speed[1]) / 1000
        if re.search(r"/dev/infiniband.{0,4}: No such file or directory", line) is not None:
            yield number, "container.no_rdma_devices", True
        for kind, value, form in _HOST_LINES:
            if form.search(line) is not None:
                yield number, kind, value


_HOST_LINES: tuple[tuple[str, object, re.Pattern[str]], ...] = (
    ("host.is_virtual", False, re.compile(r"^none\s*$")),
    ("host.is_virtual", True, re.compile(r"^(?:kvm|vmware|microsoft|xen|amazon|google|qemu)\s*$")),
    ("host.iommu_translates", True, re.compile(r"iommu: Default domain type: Translated|AMD-Vi: .{0,40}[Tt]ranslat")),
    ("host.iommu_passes", True, re.compile(r"\biommu=(?:pt|off)\b|Default domain type: Passthrough")),
    ("host.iommu_fault", True, re.compile(r"IO_PAGE_FAULT|DMAR: .{0,40}[Ff]ault")),
    ("host.numa_balancing", 1, re.compile(r"kernel\.numa_balancing = 1\b")),
    ("host.numa_balancing", 0, re.compile(r"kernel\.numa_balancing = 0\b")),
    ("gpu.xid", 79, re.compile(r"NVRM: Xid \(PCI:[^)]{1,40}\): 79\b")),
    ("gpu.xid", 74, re.compile(r"NVRM: Xid \(PCI:[^)]{1,40}\): 74\b")),
    ("gpu.xid", 48, re.compile(r"NVRM: Xid \(PCI:[^)]{1,40}\): 48\b")),
    ("host.out_of_memory", True, re.compile(r"Out of memory: Killed process|oom-kill")),
    ("gpu.throttled", True, re.compile(r"(?:HW|SW) (?:Thermal )?(?:Slowdown|Power Brake Slowdown)\s+: Active")),
    ("gpu.throttled", True, re.compile(r"SW Power Cap\s+: Active")),
    ("gpu.is_split", True, re.compile(r"^\s*MIG (?:Mode|M\.)\s*:? ?Enabled|^\s*Current\s+: Enabled")),
    ("imex.state", "DOWN", re.compile(r"Domain State: (?:DEGRADED|DOWN)")),
    ("imex.state", "UP", re.compile(r"Domain State: UP")),
    ("fabric_manager.state", "inactive", re.compile(r"^(?:inactive|failed)\s*$")),
)


def _parse_size(text: str) -> int:
    factor = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}.get(text[-1], 1)
    return int(float(text.rstrip("KMGT")) * factor)


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


def read_pair_matrices(lines: Sequence[str]) -> Iterator[Stated]:
    """Read p2pBandwidthLatencyTest: the matrices of one direction, at their first line.

    Args:
        lines: of any text.

    Yields:
        Number of the line from 1, kind of the fact, and its value.
    """
    start, enabled = 0, False
    cells: list[float] = []
    for number, line in enumerate((*lines, "end"), 1):
        row = re.match(r"^\s*(\d{1,3})((?:\s+[\d.]{1,10})+)\s*$", line)
        if start and row is not None:
            cells += [float(cell) for column, cell in enumerate(row[2].split()) if column != int(row[1])]
        elif start and cells:
            yield start, "gpu.pairs", PairMatrix(enabled, median(cells), len(cells))
            start, cells = 0, []
        if (head := re.match(r"^Unidirectional P2P=(Enabled|Disabled) Bandwidth", line)) is not None:
            start, enabled, cells = number, head[1] == "Enabled", []


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


def read_node_counts(lines: Sequence[str]) -> Iterator[Stated]:
    """Read a small table of busbw by the number of nodes.

    Args:
        lines: of any text.

    Yields:
        Number of the line from 1, kind of the fact, and its value.
    """
    is_table = False
    for number, line in enumerate(lines, 1):
        if re.match(r"^\s*nodes\s+busbw\b", line, re.IGNORECASE) is not None:
            is_table = True
        elif is_table and (row := re.match(r"^\s*(\d{1,6})\s+(\d{1,6}(?:\.\d{1,4})?)\s*$", line)) is not None:
            yield number, "run.by_nodes", (int(row[1]), float(row[2]))
        elif line.strip():
            is_table = False


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


def read_table_head(lines: Sequence[str]) -> Iterator[Stated]:
    """Read where nccl-tests' table begins; `io.nccl.nccl_tests` reads its rows.

    Args:
        lines: of any text.

    Yields:
        Number of the line from 1, kind of the fact, and its value.
    """
    for number, line in enumerate(lines, 1):
        if re.search(r"\bsize\s+count\s+type\b.{0,80}\bbusbw\b", line) is not None:
            yield number, "run.table", True


#: Readers by the tool whose lines they look for.
TOOL_READERS: dict[str, Reader] = {
    "nccl-tests": read_table_head,
    "nvidia-smi topo -m": read_topology_words,
    "nvidia-smi topo -p2p": read_peer_status,
    "nvidia-smi nvlink -s": read_nvlink_status,
    "names of GPUs": read_gpu_names,
    "nvidia-smi -q": read_fabric,
    "driver": read_driver,
    "lspci": read_pcie,
    "ibstat": read_cards,
    "perftest": read_card_tests,
    "host": read_host,
    "p2pBandwidthLatencyTest": read_pair_matrices,
    "busbw by nodes": read_node_counts,
}
