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

#: GPU name (as its word begins) -> (compute capability, NVLink generation, PCIe generation, usual network card).
GPUS = {
    "P100": (60, 1, 3, "ib-edr"),
    "V100": (70, 2, 3, "ib-edr"),
    "A100": (80, 3, 4, "ib-hdr"),
    "A800": (80, 3, 4, "ib-hdr"),
    "H100": (90, 4, 5, "ib-ndr"),
    "H200": (90, 4, 5, "ib-ndr"),
    "H800": (90, 4, 5, "ib-ndr"),
    "B200": (100, 5, 5, "ib-ndr"),
}

_MOST_NOTES = 100

HOST_MEMORY = replace(
    dram("DRAM", 3200, 8, "a server of today"),
    source="bandwidth order of magnitude: 8 channels of DDR4-3200, the file does not say; alpha order of magnitude: one DRAM access",
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


def finish(plan: Machine, notes: Iterable[str], name: str, options: dict[str, Any], card: Nic | None = None) -> Topology:
    """A topology of a machine from a file; `notes` go into its facts, `card` is used unless `nic=` asks for another."""
    if card is not None and plan.of_kind("nic") and "nic" not in options:
        options = {**options, "nic": card}
    topology = machine(plan, **options)
    notes = list(notes)
    if len(notes) > _MOST_NOTES:
        notes = [*notes[:_MOST_NOTES], f"and {len(notes) - _MOST_NOTES:,} more notes like these"]
    return replace(topology, facts=MappingProxyType({**topology.facts, "file": name, "notes": tuple(notes)}))


__all__ = ["GPUS", "HOST_MEMORY", "finish", "nvlink", "pcie", "socket_link"]
