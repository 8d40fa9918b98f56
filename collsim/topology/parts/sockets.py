"""The links between two sockets, by generation of the processor: one table, `processors.toml`, for catalogue, readers
and the NCCL model.

Nominal rates are links × lanes that carry data × transfers per second. How many links a board joins is the board's: the
table has what two-socket GPU servers usually have, and a cable's source says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from ...errors import TopologyError, describe_unknown
from ...package_data import TomlTable, read_toml
from ..cables import build_memory, build_socket_link
from ..network import Cable


@dataclass(frozen=True)
class Processor:
    """A generation of server processors, as the link between two sockets goes.

    Attributes:
        title: for people.
        label: of the link.
        gigatransfers: GT/s of a lane.
        links: links between two sockets.
        nccl: GB/s that NCCL plans with between such sockets (src/graph/topo.h, ncclTopoGetInterCpuBw).
        source: of the link's rate.
        vendor: as NCCL's XML has it (CPUID); empty where it has no such word.
        memory: of a socket with every channel filled: standard, megatransfers a second, channels (the makers' data
            sheets).
        families: as NCCL's XML has them (CPUID); empty where it has none.
        models: as NCCL's XML has them (CPUID; NCCL adds the extended family shifted by 4, Linux does not, so both are
            here); empty where it has none.
        lanes: of a link that carry data.
    """

    title: str
    label: str
    gigatransfers: float
    links: int
    nccl: float
    source: str
    vendor: str
    memory: tuple[str, int, int]
    families: tuple[int, ...] = ()
    models: tuple[int, ...] = ()
    lanes: int = 16

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


@cache
def load_processors() -> Mapping[str, Processor]:
    """The generations of `processors.toml` by name, as `cpu=` takes it."""
    return MappingProxyType(
        {name: _build_processor(row) for name, row in read_toml(__file__, "processors.toml").items()}
    )


def _build_processor(row: TomlTable) -> Processor:
    """The generation of a row, whose lists become tuples."""
    return Processor(**row | {key: tuple(value) for key, value in row.items() if isinstance(value, list)})


#: The processor of the usual two-socket server with GPUs of a PCIe generation (NVIDIA's and vendors' guides: DGX-2,
#: servers with A100 PCIe, DGX H100, HGX B200).
_USUAL: Mapping[int, str] = {1: "broadwell", 2: "broadwell", 4: "ice-lake", 5: "sapphire-rapids", 6: "emerald-rapids"}

#: The same of servers with AMD's processors: EPYC 7001 has PCIe 3, 7002 and 7003 PCIe 4, 9004 and 9005 PCIe 5 (data
#: sheets).
_USUAL_AMD: Mapping[int, str] = {4: "milan", 5: "genoa", 6: "turin"}


def find_processor(name: object) -> Processor:
    """A generation by name.

    Args:
        name: a name in `processors.toml`.

    Raises:
        TopologyError: With the nearest names.
    """
    plain = str(name).strip().lower().replace(" ", "-").replace("_", "-")
    if plain == "cascade-lake":
        plain = "skylake"
    if plain not in load_processors():
        raise TopologyError(describe_unknown("processor", name, load_processors()))
    return load_processors()[plain]


def build_socket_cable(name: str) -> Cable:
    """The link between two sockets of a generation. Raises TopologyError for an unknown one."""
    return find_processor(name).link


def choose_memory(pcie: int) -> Cable:
    """The memory of a socket of the usual server with slots of a PCIe generation."""
    return find_processor(choose_processor(pcie)).dram


def choose_processor(pcie: int, is_amd: bool = False) -> str:
    """Choose the generation that a server with slots of a PCIe generation usually has.

    Args:
        pcie: generation of the slots.
        is_amd: whether its processors are AMD's; else Intel's.

    Returns:
        A name in `processors.toml`.
    """
    if is_amd:
        return _USUAL_AMD.get(pcie, "naples")
    return _USUAL.get(pcie, "skylake")


def identify_processor(arch: str, vendor: str, family: int, model: int) -> str:
    """The generation by the words of NCCL's XML; of one that is newer than the table the newest before it.

    Args:
        arch: `x86_64`, `arm64` ...
        vendor: as cpuid says it, `GenuineIntel`.
        family: of cpuid.
        model: of cpuid.

    Returns:
        A name in `processors.toml`.
    """
    if arch in ("ppc64", "arm64"):
        if arch == "ppc64":
            return "power9"
        return "arm"
    same = {name: p for name, p in load_processors().items() if p.vendor == vendor and p.models}
    # Family and model must both match; models are numbered anew in each family.
    for name, p in same.items():
        if family in p.families and model in p.models:
            return name
    # Intel's server processors share family 6, so the newest known model before this one is the nearest.
    if vendor == "GenuineIntel":
        return _find_newest_before(model)
    older = [name for name, p in same.items() if p.families[0] <= family]
    if older:
        return older[-1]
    if vendor == "AuthenticAMD":
        return "naples"
    return "unknown"


def _find_newest_before(model: int) -> str:
    """Of Intel's, by the number of the model, which rises with time but for Granite Rapids."""
    names = {m: name for name, p in load_processors().items() if p.vendor == "GenuineIntel" for m in p.models}
    return names[max((m for m in names if m <= model), default=min(names))]
