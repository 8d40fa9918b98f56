"""The links between two sockets, by generation of the processor: one table for catalogue, readers and the NCCL model.

Nominal rates are links × lanes that carry data × transfers per second. How many links a board joins is the board's: the
table has what two-socket GPU servers usually have, and a cable's source says so.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...errors import TopologyError, describe_unknown
from ..cables import build_memory, build_socket_link
from ..network import Cable

_UPI = "wikipedia.org, Intel Ultra Path Interconnect: 20.8 GB/s a direction at 10.4 GT/s; later 11.2, 16, 20, 24 GT/s"
_QPI = "wikipedia.org, Intel QuickPath Interconnect: 19.2 GB/s a direction at 9.6 GT/s"
_XGMI = "anandtech.com/show/14694 on EPYC 7002: 64 lanes of PCIe's rate join two sockets"


@dataclass(frozen=True)
class Processor:
    """A generation of server processors, as the link between two sockets goes.

    Attributes:
        title: for people.
        label: of the link.
        gigatransfers: per second and lane.
        links, lanes: lanes that carry data.
        nccl: GB/s that NCCL plans with between such sockets (src/graph/topo.h, ncclTopoGetInterCpuBw).
        vendor, families, models: as NCCL's XML has them (CPUID; NCCL adds the extended family shifted by 4, Linux does
            not, so both stand here); empty where it has no such words.
        source: of the link's rate.
        memory: of a socket with every channel filled: standard, megatransfers a second, channels (the makers' data
            sheets).
    """

    title: str
    label: str
    gigatransfers: float
    links: int
    nccl: float
    source: str
    vendor: str = "GenuineIntel"
    families: tuple[int, ...] = (6,)
    models: tuple[int, ...] = ()
    lanes: int = 16
    memory: tuple[str, int, int] = ("DDR4", 3200, 8)

    @property
    def dram(self) -> Cable:
        """The memory of a socket."""
        return build_memory(*self.memory, self.title)

    @property
    def link(self) -> Cable:
        """The cable between two sockets."""
        return build_socket_link(
            self.label, self.gigatransfers, self.links, self.nccl, f"{self.title} ({self.source})", self.lanes
        )

    @property
    def is_amd(self) -> bool:
        return self.vendor == "AuthenticAMD"


_AMD = "AuthenticAMD"
#: By name, as `cpu=` takes it.
PROCESSORS: dict[str, Processor] = {
    "haswell": Processor("Xeon E5 v3", "QPI", 9.6, 2, 6, _QPI, models=(63,), memory=("DDR4", 2133, 4)),
    "broadwell": Processor("Xeon E5 v4", "QPI", 9.6, 2, 6, _QPI, models=(79,), memory=("DDR4", 2400, 4)),
    "skylake": Processor(
        "Xeon Scalable of Skylake and Cascade Lake", "UPI", 10.4, 3, 10, _UPI, models=(85,), memory=("DDR4", 2666, 6)
    ),
    "ice-lake": Processor("Xeon Scalable of Ice Lake", "UPI", 11.2, 3, 10, _UPI, models=(106, 108)),
    "sapphire-rapids": Processor(
        "Xeon Scalable of Sapphire Rapids", "UPI 2.0", 16, 4, 22, _UPI, models=(143,), memory=("DDR5", 4800, 8)
    ),
    "granite-rapids": Processor(
        "Xeon 6 of Granite Rapids", "UPI 2.0", 24, 4, 22, _UPI, models=(173, 174), memory=("DDR5", 6400, 8)
    ),
    "emerald-rapids": Processor(
        "Xeon Scalable of Emerald Rapids", "UPI 2.0", 20, 4, 40, _UPI, models=(207,), memory=("DDR5", 5600, 8)
    ),
    "naples": Processor("EPYC 7001", "xGMI", 9.6, 4, 16, _XGMI, _AMD, (23, 143), (1,), memory=("DDR4", 2666, 8)),
    "rome": Processor("EPYC 7002", "xGMI-2", 16, 4, 16, _XGMI, _AMD, (23, 143), (49,)),
    "milan": Processor("EPYC 7003", "xGMI-2", 16, 4, 16, _XGMI, _AMD, (25, 175), (1,)),
    "genoa": Processor("EPYC 9004", "xGMI-3", 32, 4, 16, _XGMI, _AMD, (25, 175), (17, 160), memory=("DDR5", 4800, 12)),
    "turin": Processor("EPYC 9005", "xGMI-4", 32, 4, 16, _XGMI, _AMD, (26, 191), (2, 17), memory=("DDR5", 6000, 12)),
    "power9": Processor(
        "Power9",
        "X bus",
        16,
        1,
        32,
        "IBM Redpaper 5472 on Power System AC922",
        "IBM",
        (),
        (),
        32,
        memory=("DDR4", 2666, 8),
    ),
    "arm": Processor(
        "an Arm server", "socket link", 3, 1, 6, "no figure at hand: NCCL's 6 GB/s is taken", "arm64", (), ()
    ),
    "unknown": Processor(
        "a processor that NCCL does not know", "socket link", 3, 1, 6, "no figure at hand: NCCL's smallest", "", (), ()
    ),
}
#: The processor of the usual two-socket server with GPUs of a PCIe generation (NVIDIA's and vendors' guides: DGX-2,
#: servers with A100 PCIe, DGX H100, HGX B200).
_USUAL = {1: "broadwell", 2: "broadwell", 4: "ice-lake", 5: "sapphire-rapids", 6: "emerald-rapids"}


def find_processor(name: object) -> Processor:
    """A generation by name.

    Args:
        name: a key of PROCESSORS.

    Raises:
        TopologyError: With the nearest names.
    """
    plain = str(name).strip().lower().replace(" ", "-").replace("_", "-")
    if plain == "cascade-lake":
        plain = "skylake"
    if plain not in PROCESSORS:
        raise TopologyError(describe_unknown("processor", name, PROCESSORS))
    return PROCESSORS[plain]


def build_socket_cable(name: str) -> Cable:
    """The link between two sockets of a generation. Raises TopologyError for an unknown one."""
    return find_processor(name).link


def choose_memory(pcie: int) -> Cable:
    """The memory of a socket of the usual server with slots of a PCIe generation."""
    return find_processor(choose_processor(pcie)).dram


def choose_processor(pcie: int) -> str:
    """The generation that a server with slots of a PCIe generation usually has."""
    return _USUAL.get(pcie, "skylake")


def identify_processor(arch: str, vendor: str, family: int, model: int) -> str:
    """The generation by the words of NCCL's XML; of one that is newer than the table the newest before it.

    Args:
        arch: `x86_64`, `arm64` ...
        vendor: as cpuid says it, `GenuineIntel`.
        family: of cpuid.
        model: of cpuid.

    Returns:
        A key of PROCESSORS.
    """
    if arch in ("ppc64", "arm64"):
        if arch == "ppc64":
            return "power9"
        return "arm"
    same = {name: p for name, p in PROCESSORS.items() if p.vendor == vendor and p.models}
    for name, p in same.items():
        if family in p.families and model in p.models:
            return name
    if vendor == "GenuineIntel":
        return _find_newest_before(model)
    older = [name for name, p in same.items() if p.families[0] <= family]
    if older:
        return older[-1]
    if vendor == _AMD:
        return "naples"
    return "unknown"


def _find_newest_before(model: int) -> str:
    """Of Intel's, by the number of the model, which rises with time but for Granite Rapids."""
    names = {m: name for name, p in PROCESSORS.items() if p.vendor == "GenuineIntel" for m in p.models}
    return names[max((m for m in names if m <= model), default=min(names))]
