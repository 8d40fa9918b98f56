"""What endpoints, devices and links are called in a sentence."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from ..schedule import Schedule
from . import words

if TYPE_CHECKING:
    from ..simulate import Trace

Pair = tuple[str, str]
_NOUNS = {
    "nic": ("NIC", "网卡"),
    "pcie": ("PCIe switch", "PCIe 交换机"),
    "cpu": ("CPU", "CPU"),
    "memory": ("host memory", "主机内存"),
    "nvswitch": ("NVSwitch", "NVSwitch"),
    "switch": ("switch", "交换机"),
}


def helper_noun(schedule: Schedule) -> Pair:
    """What the endpoints beyond the ranks are in this algorithm: servers, switches that reduce, or just helpers."""
    if "server" in schedule.name:
        return "server", "服务器"
    if any(word in schedule.name for word in ("nvls", "collnet", "sharp", "multicast", "switch")):
        return "reducing switch", "做归约的交换机"
    return "helper", "辅助端点"


def endpoint_name(schedule: Schedule, endpoint: int) -> Pair:
    """`rank 3`, `the server`, `server 1`, in English and Chinese."""
    if endpoint < schedule.ranks:
        return f"rank {endpoint}", f"rank {endpoint}"
    en, zh = helper_noun(schedule)
    if schedule.endpoints - schedule.ranks == 1:
        return f"the {en}", zh
    number = endpoint - schedule.ranks
    return f"{en} {number}", f"{zh} {number}"


def plural_ranks(endpoints: list[int], ranks: int) -> Pair:
    """`Ranks 0, 2 and 4`; `12 ranks` where they are too many to name."""
    if len(endpoints) == 1:
        return f"Rank {endpoints[0]}", f"rank {endpoints[0]}"
    if len(endpoints) > 4:
        return f"{len(endpoints)} ranks", f"{len(endpoints)} 个 rank"
    names = [str(e) if e < ranks else "the server" for e in endpoints]
    return f"Ranks {words.listed(names)}", f"rank {words.listed(names, True)}"


def device_name(trace: Trace, device: int) -> Pair:
    """`rank 3` for a device with a rank on it, `server` for a helper's, else its own short name."""
    topology = trace.topology
    on = np.flatnonzero(topology.endpoint_device[trace.place] == device)
    if len(on):
        en, zh = endpoint_name(trace.schedule, int(on[0]))
        return en.removeprefix("the "), zh
    name = str(topology.devices.name[device])
    match = re.fullmatch(r"(?:node(\d+)/)?(?:fabric/)?([a-z_]+?)(\d*)", name)
    if match is None:
        return name, name
    node, kind, number = match.groups()
    en, zh = _NOUNS.get(kind, (kind, kind))
    only = kind == "switch" and int((topology.devices.kind == topology.devices.kind[device]).sum()) == 1
    number = f" {number}" if number and not only else ""
    several = node is not None and int(topology.devices.node.max()) > 0
    return f"{en}{number}{f' of node {node}' if several else ''}", f"{f'节点 {node} 的 ' if several else ''}{zh}{number}"


def link_name(trace: Trace, link: int) -> Pair:
    """`switch → server`."""
    links = trace.topology.links
    a, b = device_name(trace, int(links.src[link])), device_name(trace, int(links.dst[link]))
    return f"{a[0]} → {b[0]}", f"{a[1]} → {b[1]}"
