"""Cables that files name only in part, and the way from a plan to a topology."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from ..cables import Nic, dram, nvlink, pcie
from ..machines import machine
from ..network import Cable, Topology
from ..plan import Machine

#: GPU name as people write it -> (compute capability, NVLink generation or 0, PCIe generation, usual network card).
GPUS = {
    "P100": (60, 1, 3, "ib-edr"),
    "V100": (70, 2, 3, "ib-edr"),
    "T4": (75, 0, 3, "ib-edr"),
    "RTX 2080": (75, 2, 3, "ib-edr"),
    "A100": (80, 3, 4, "ib-hdr"),
    "A800": (80, 3, 4, "ib-hdr"),
    "A30": (80, 3, 4, "ib-hdr"),
    "A10": (86, 0, 4, "ib-hdr"),
    "A40": (86, 3, 4, "ib-hdr"),
    "A5000": (86, 3, 4, "ib-hdr"),
    "A6000": (86, 3, 4, "ib-hdr"),
    "RTX 3090": (86, 3, 4, "ib-hdr"),
    "RTX 4090": (89, 0, 4, "ib-hdr"),
    "6000 ADA": (89, 0, 4, "ib-hdr"),
    "L4": (89, 0, 4, "ib-hdr"),
    "L40": (89, 0, 4, "ib-hdr"),
    "H100": (90, 4, 5, "ib-ndr"),
    "H200": (90, 4, 5, "ib-ndr"),
    "H800": (90, 4, 5, "ib-ndr"),
    "H20": (90, 4, 5, "ib-ndr"),
    "B200": (100, 5, 5, "ib-ndr"),
    "B300": (103, 5, 6, "ib-xdr"),
    "RTX 5090": (120, 0, 5, "ib-ndr"),
    "PRO 6000": (120, 0, 5, "ib-ndr"),
}
#: Those whose NVLinks are a bridge to one other card, and those whose driver has neither P2P over PCIe nor GPUDirect
#: RDMA.
BRIDGED = {"A40", "A5000", "A6000", "RTX 3090"}
GEFORCE = {"RTX 2080", "RTX 3090", "RTX 4090", "RTX 5090"}

_MOST_NOTES = 100

HOST_MEMORY = replace(
    dram("DRAM", 3200, 8, "a server of today"),
    source="bandwidth order of magnitude: 8 channels of DDR4-3200, the file does not say; alpha order of magnitude: "
    "one DRAM access",
)


def socket_link(gigabytes: float, said: str) -> Cable:
    """Between sockets, with the rate that NCCL plans with: files do not tell it."""
    return Cable(
        kind="upi",
        label="socket link",
        bandwidth=gigabytes * 1e9,
        alpha=0.2e-6,
        effective=gigabytes * 1e9,
        source=f"bandwidth: {said} (NCCL src/graph/topo.h, 5067397), the file does not say; alpha order of magnitude",
    )


def finish(
    plan: Machine, notes: Iterable[str], name: str, options: dict[str, Any], card: Nic | None = None
) -> Topology:
    """A topology of a machine from a file; `notes` go into its facts, `card` is used unless `nic=` asks for another."""
    if card is not None and plan.of_kind("nic") and "nic" not in options:
        options = {**options, "nic": card}
    topology = machine(plan, **options)
    notes = list(notes)
    if len(notes) > _MOST_NOTES:
        notes = [*notes[:_MOST_NOTES], f"and {len(notes) - _MOST_NOTES:,} more notes like these"]
    return replace(topology, facts=MappingProxyType({**topology.facts, "file": name, "notes": tuple(notes)}))


__all__ = ["BRIDGED", "GEFORCE", "GPUS", "HOST_MEMORY", "finish", "nvlink", "pcie", "socket_link"]
