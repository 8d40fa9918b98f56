"""What endpoints, devices and links are called in a sentence."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..schedule import Schedule
from ..topology import Topology
from . import words

if TYPE_CHECKING:
    from ..simulate import Trace

Pair = tuple[str, str]


def endpoint_name(schedule: Schedule, endpoint: int) -> Pair:
    """`rank 3`, `the server`, `server 1`, in English and Chinese."""
    if endpoint < schedule.ranks:
        return f"rank {endpoint}", f"rank {endpoint}"
    if schedule.endpoints - schedule.ranks == 1:
        return "the server", "服务器"
    number = endpoint - schedule.ranks
    return f"server {number}", f"服务器 {number}"


def plural_ranks(endpoints: list[int], ranks: int) -> Pair:
    """`Ranks 0, 2 and 4`; `12 ranks` where they are too many to name."""
    if len(endpoints) == 1:
        return f"Rank {endpoints[0]}", f"rank {endpoints[0]}"
    if len(endpoints) > 4:
        return f"{len(endpoints)} ranks", f"{len(endpoints)} 个 rank"
    names = [str(e) if e < ranks else "the server" for e in endpoints]
    return f"Ranks {words.listed(names)}", f"rank {words.listed(names, True)}"


def device_name(topology: Topology, device: int) -> Pair:
    """`rank 3` for a device with a rank on it, `the server`, else its own short name."""
    on = [e for e, d in enumerate(topology.endpoint_device.tolist()) if d == device]
    if on:
        rank = on[0]
        if rank < topology.ranks:
            return f"rank {rank}", f"rank {rank}"
        return ("server", "服务器") if topology.endpoints - topology.ranks == 1 else (f"server {rank - topology.ranks}", f"服务器 {rank - topology.ranks}")
    name = str(topology.devices.name[device])
    match = re.fullmatch(r"(?:node(\d+)/)?(?:fabric/)?([a-z_]+?)(\d*)", name)
    if match is None:
        return name, name
    node, kind, number = match.groups()
    en, zh = {"nic": ("NIC", "网卡"), "pcie": ("PCIe switch", "PCIe 交换机"), "cpu": ("CPU", "CPU"), "memory": ("host memory", "主机内存"), "nvswitch": ("NVSwitch", "NVSwitch"), "switch": ("switch", "交换机")}.get(kind, (kind, kind))
    number = f" {number}" if number and not (kind == "switch" and topology.devices.kind.tolist().count(topology.devices.kind[device]) == 1) else ""
    several = node is not None and int(topology.devices.node.max()) > 0
    return f"{en}{number}{f' of node {node}' if several else ''}", f"{f'节点 {node} 的 ' if several else ''}{zh}{number}"


def link_name(trace: Trace, link: int) -> Pair:
    """`switch → server`."""
    topology = trace.topology
    a, b = device_name(topology, int(topology.links.src[link])), device_name(topology, int(topology.links.dst[link]))
    return f"{a[0]} → {b[0]}", f"{a[1]} → {b[1]}"
