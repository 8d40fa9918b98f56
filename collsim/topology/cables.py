"""What machines are wired with: every number, one direction, with its source. The numbers stand in `cables.toml`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType

from ..errors import TopologyError, require_word
from ..package_data import TomlTable, read_toml
from .network import Cable


@cache
def _load_tables() -> TomlTable:
    return read_toml(__file__, "cables.toml")


def _fill_source(template: str, **values: object) -> str:
    """A source with the works that it quotes by a short name, and the values of the cable."""
    works: Mapping[str, str] = _load_tables()["works"]
    filled = {key: value.format(**works) if isinstance(value, str) else value for key, value in values.items()}
    return template.format(**works, **filled)


def _build_cable(
    kind: str, label: str, nominal: float, alpha: float, source: str, effective: float | None = None, width: int = 1
) -> Cable:
    """A cable whose rate is the nominal one, as long as nobody asks for another."""
    return Cable(kind, label, nominal, alpha, source, nominal=nominal, effective=effective, width=width)


def build_pcie(generation: int, lanes: int = 16) -> Cable:
    """PCI Express, `lanes` wide. Nominal: signalling rate × 128/130, rounded to 0.1 GB/s at ×16 as people quote it.

    Args:
        generation: 1 to 6.
        lanes: width of the slot.

    Returns:
        The cable, with the source of its numbers.
    """
    pcie = _load_tables()["pcie"]
    generations = {int(number): row for number, row in pcie["generations"].items()}
    if generation not in generations:
        message = "PCIe generation {generation!r} is unknown; known: {known}"
        raise TopologyError(message, generation=generation, known=", ".join(pcie["generations"]))
    row = generations[generation]
    # Rate and effective rate grow with lanes; latency belongs to the generation.
    nominal, effective = (row[name] * lanes / 16 for name in ("nominal", "effective"))
    source = _fill_source(pcie["source"], lane=row["lane"], alpha_source=row["alpha_source"])
    return _build_cable("pcie", f"PCIe {generation}.0 ×{lanes}", nominal, row["alpha"], source, effective, lanes)


def build_nvlink(generation: int, links: int) -> Cable:
    """`links` bonded NVLinks of a generation.

    Args:
        generation: 1 to 5.
        links: side by side.
    """
    nvlink = _load_tables()["nvlink"]
    row = nvlink["generations"][str(generation)]
    source = _fill_source(
        nvlink["source"],
        gpus=row["gpus"],
        nominal=row["nominal"] / 1e9,
        effective=row["effective"] / 1e9,
        alpha_source=nvlink["alpha_source"],
    )
    return _bond_nvlinks(f"NVLink {generation} ×{links}", row, links, source)


#: Compute capability of GA102 (RTX 3090, A6000, A40) times ten.
GA102_SM = 86


def build_bridge(links: int = 4) -> Cable:
    """The bridge of two graphics cards with GA102: four links as it is sold, fewer where contacts are missing
    (NVIDIA/nccl issue 557).

    Args:
        links: NVLinks in it, 1 to 4.
    """
    tables = _load_tables()
    source = _fill_source(tables["bridge"]["source"], alpha_source=tables["nvlink"]["alpha_source"])
    return _bond_nvlinks(f"NVLink bridge ×{links}", tables["bridge"], links, source)


def _bond_nvlinks(label: str, row: Mapping[str, float], links: int, source: str, kind: str = "nvlink") -> Cable:
    """Links side by side; `row` has the rates of one. No latency of xGMI is published: it is given NVLink's."""
    nominal, effective = row["nominal"] * links, row["effective"] * links
    return _build_cable(kind, label, nominal, _load_tables()["nvlink"]["alpha"], source, effective, links)


def build_c2c() -> Cable:
    """Grace to its GPU."""
    return _build_fixed_cable("c2c")


def build_grace_link() -> Cable:
    """Grace to Grace in one tray."""
    return _build_fixed_cable("grace")


def _build_fixed_cable(name: str) -> Cable:
    row = _load_tables()[name]
    return Cable(**{**row, "source": _fill_source(row["source"])})


def build_xgmi(links: int = 1, gcn: str = "942") -> Cable:
    """AMD Infinity Fabric between two GPUs: `gcn` is their architecture, `"942"` (or `"gfx942"`) for MI300X.

    Args:
        links: joined side by side.
        gcn: LLVM's name of the architecture, with or without `gfx`.
    """
    # LLVM names an architecture by digits that only begin alike: 90a and 910 are one table row, other 90x the oldest.
    short = gcn.lower().removeprefix("gfx")
    if short.startswith(("90a", "910")):
        short = "910"
    elif short.startswith("90"):
        short = ""
    row = next(row for row in _load_tables()["xgmi"] if short.startswith(row["gcn"]))
    return _bond_nvlinks(f"xGMI ×{links}", row, links, _fill_source(row["source"]), "xgmi")


def build_ici(gigabytes: float, what: str, source: str) -> Cable:
    """A TPU's link to a neighbour: GB/s, one direction."""
    source = f"bandwidth spec: {gigabytes:g} GB/s per link and direction ({source}); alpha order of magnitude"
    return _build_cable("ici", f"ICI, {what}", gigabytes * 1e9, 1e-6, source)


def build_socket_link(label: str, gigatransfers: float, links: int, nccl: float, cpu: str, lanes: int = 16) -> Cable:
    """The link between two sockets: `links` of `lanes` lanes at `gigatransfers` per second; `nccl` is its model's
    GB/s.

    Args:
        label: as people say it, `"UPI"`.
        gigatransfers: 10^9 transfers a second of a lane.
        links: between the two sockets.
        nccl: 10^9 B/s that NCCL's model takes for it.
        cpu: of the processors, for the source.
        lanes: of one link.
    """
    socket = _load_tables()["socket"]
    nominal = gigatransfers * 1e9 * lanes / 8 * links
    values = {"links": links, "lanes": lanes, "gigatransfers": gigatransfers, "cpu": cpu, "nccl": nccl}
    source = _fill_source(socket["source"], **values)
    return _build_cable("upi", f"{label} ×{links}", nominal, socket["alpha"], source, nccl * 1e9, links)


def build_memory(label: str, megatransfers: int, channels: int, cpu: str) -> Cable:
    """Memory of one socket. Reads and writes share the channels; each direction is given the whole.

    Args:
        label: its name.
        megatransfers: million transfers a second of a channel, of 8 bytes each.
        channels: of the socket.
        cpu: the processor, for the source.
    """
    memory = _load_tables()["memory"]
    rate = megatransfers * 1e6 * 8 * channels
    source = _fill_source(memory["source"], channels=channels, megatransfers=megatransfers, cpu=cpu)
    return _build_cable("memory", f"{label} ×{channels}", rate, memory["alpha"], source, width=channels)


def build_gpu_memory(gpu: str, rate: float, gpu_source: str) -> Cable:
    """Memory of a GPU, from one rank on it to another; copies in all directions share it.

    Args:
        gpu: its name.
        rate: B/s of its memory by the data sheet.
        gpu_source: the data sheet.
    """
    memory = _load_tables()["gpu_memory"]
    nominal = rate / 2
    source = _fill_source(memory["source"], rate=rate / 1e12, gpu_source=gpu_source)
    return _build_cable("gpu_memory", f"{gpu} memory", nominal, memory["alpha"], source, nominal * memory["share"])


@dataclass(frozen=True)
class Nic:
    """A network card.

    Attributes:
        name: as `machine(nic=...)` takes it.
        cable: to its switch.
        rdma: does it do RDMA? Without it there is no GPUDirect RDMA either.
        sharp: does its switch reduce for NCCL?
    """

    name: str
    cable: Cable
    rdma: bool = True
    sharp: bool = False


@cache
def load_nics() -> Mapping[str, Nic]:
    """The network cards of `cables.toml` by name, for `machine(nic=...)`."""
    nics = (nic for row in _load_tables()["nics"] for nic in _build_nics(row))
    return MappingProxyType({nic.name: nic for nic in nics})


def _build_nics(row: TomlTable) -> Iterator[Nic]:
    """The card of a row, or one for each rate that it lists."""
    for gigabits in row.get("gigabits", [0]):
        nominal = row.get("nominal", gigabits * 1e9 / 8)
        effective = row.get("effective", nominal * row.get("share", 1))
        label, source = row["label"].format(gigabits=gigabits), _fill_source(row["source"], gigabits=gigabits)
        cable = _build_cable(row["kind"], label, nominal, row["alpha"], source, effective)
        yield Nic(row["name"].format(gigabits=gigabits), cable, row.get("rdma", True), row.get("sharp", False))


def find_nic(name: object) -> Nic:
    """A network card by name. Raises TopologyError with the nearest names."""
    if isinstance(name, Nic):
        return name
    return load_nics()[require_word("NIC", name, load_nics(), TopologyError)]


def apply_rates(cable: Cable, rates: str) -> Cable:
    """The cable with its nominal or its effective rate as the one that simulations use."""
    if rates == "nominal" or cable.effective is None:
        return cable
    return replace(cable, bandwidth=cable.effective)
