"""What a host says of itself: driver and modules, PCIe links (pciutils, ls-caps.c), /dev/shm, bonds (Linux
Documentation/networking/bonding.rst), virtualization, IOMMU and kernel messages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...io.nccl.nccl_log_facts import Stated, load_line_forms, read_line

_DRIVER_LINES, _HOST_LINES = (load_line_forms(__file__, "tool_lines.toml", tool) for tool in ("driver", "host"))


@dataclass(frozen=True)
class PcieLink:
    """A PCIe link as it is trained and as it could be, by lspci or `nvidia-smi --query-gpu`.

    Attributes:
        device: its address, or `GPU` and its number.
        speed: GT/s a lane (lspci), or the PCIe generation (nvidia-smi), as trained.
        most_speed: the same at best; 0 where nvidia-smi was not asked for it.
        lanes: as trained.
        most_lanes: at best; 0 where nvidia-smi was not asked for it.
        is_busy: nvidia-smi's power state is P0 to P2: an idle GPU lowers its link. False for lspci.
        is_card: lspci calls the device a controller of a network.
    """

    device: str
    speed: float
    most_speed: float
    lanes: int
    most_lanes: int
    is_busy: bool
    is_card: bool = False


def read_driver(lines: Sequence[str]) -> Iterator[Stated]:
    """Read the driver's version, the CUDA that it supports, modules of the kernel and the kernel's version.

    Args:
        lines: of any text.

    Yields:
        Number of the line from 1, kind of the fact, and its value.
    """
    is_listing = False
    for number, line in enumerate(lines, 1):
        yield from read_line(_DRIVER_LINES, number, line)
        if re.match(r"^\$ ?(?:sudo )?lsmod", line) is not None:
            is_listing = True
            yield number, "module.listing", True
        elif line.startswith("$"):
            is_listing = False
        elif is_listing and (module := re.match(r"^([\w-]{2,60})\s+\d{1,12}\s+\d{1,6}\b", line)) is not None:
            yield number, "module.loaded", module[1].replace("-", "_")


def read_pcie(lines: Sequence[str]) -> Iterator[Stated]:
    """Read `lspci -vv`: links as trained, and ACS of bridges; `nvidia-smi --query-gpu=pcie...` in CSV.

    Args:
        lines: of any text.

    Yields:
        Number of the line from 1, kind of the fact, and its value.
    """
    device, is_bridge, is_card = "", False, False
    capable: tuple[float, int] | None = None
    columns: list[str] = []
    for number, line in enumerate(lines, 1):
        if (head := re.match(r"^(?:[\da-f]{4}:)?([\da-f]{2}:[\da-f]{2}\.[0-7]) (.{0,80})", line)) is not None:
            device, is_bridge, capable = head[1], "bridge" in head[2], None
            is_card = re.match("(?:Infiniband|Ethernet|Network) controller", head[2]) is not None
        elif (acs := re.search(r"ACSCtl:\s*(.{0,120})", line)) is not None:
            # ACS of an endpoint is of no interest: redirection happens in bridges.
            if is_bridge or not device:
                yield number, "pcie.acs", "ReqRedir+" in acs[1]
        elif (cap := re.search(r"LnkCap:.{0,40}Speed ([\d.]{1,5})GT/s.{0,20}Width x(\d{1,2})", line)) is not None:
            capable = (float(cap[1]), int(cap[2]))
        elif (
            sta := re.search(r"LnkSta:.{0,10}Speed ([\d.]{1,5})GT/s.{0,20}Width x(\d{1,2})", line)
        ) is not None and capable:
            speed, lanes = float(sta[1]), int(sta[2])
            yield number, "pcie.link", PcieLink(device, speed, capable[0], lanes, capable[1], False, is_card)
        elif line.lstrip().startswith("index,") and "pcie.link" in line:
            columns = [column.split()[0].strip() for column in line.split(",") if column.strip()]
        elif columns and line.count(",") == len(columns) - 1 and line.strip()[:1].isdigit():
            yield from _read_gpu_row(number, dict(zip(columns, map(str.strip, line.split(",")), strict=True)))
        elif columns:
            # A line of another shape ends the table.
            columns = []


def _read_gpu_row(number: int, row: dict[str, str]) -> Iterator[Stated]:
    try:
        speed, lanes = float(row["pcie.link.gen.current"]), int(row["pcie.link.width.current"])
        most_speed, most_lanes = float(row.get("pcie.link.gen.max", "0")), int(row.get("pcie.link.width.max", "0"))
    except (KeyError, ValueError):
        return
    is_busy = row.get("pstate", "") in ("P0", "P1", "P2")
    yield number, "pcie.link", PcieLink(f"GPU {row.get('index', '')}", speed, most_speed, lanes, most_lanes, is_busy)


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
            "/dev/shm" in line
            and (shm := re.match(r"^(?:shm|tmpfs|\S{1,40})\s+(\d[\d.]{0,8}[KMGT]?)\s.{0,60}\s/dev/shm\s*$", line))
            is not None
        ):
            yield number, "host.shm_bytes", _parse_size(shm[1])
        is_bond = is_bond or line.startswith("Bonding Mode:")
        if is_bond and (speed := re.match(r"^Speed: (\d{1,7}) Mbps", line)) is not None:
            yield number, "bond.port_gbits", int(speed[1]) / 1000
        yield from read_line(_HOST_LINES, number, line)


def _parse_size(text: str) -> int:
    factor = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}.get(text[-1], 1)
    return int(float(text.rstrip("KMGT")) * factor)
