"""What endpoints, devices and links are called in a sentence."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from ...locale import Text
from ...schedule import Schedule
from . import words

if TYPE_CHECKING:
    from ...simulate import Trace

#: Devices of a machine, by kind.
DEVICES = {
    "nic": ("NIC", "网卡"),
    "pcie": ("PCIe", "PCIe"),
    "cpu": ("CPU", "CPU"),
    "memory": ("host memory", "主机内存"),
    "nvswitch": ("NVSwitch", "NVSwitch"),
    "switch": ("switch", "交换机"),
}


#: What the endpoints beyond the ranks are called.
_SERVER, _REDUCING = ("server", "服务器"), ("reducing switch", "做归约的交换机")


def name_helpers(schedule: Schedule) -> Text:
    """What the endpoints beyond the ranks of a schedule are: servers, or switches that reduce.

    Args:
        schedule: The schedule.
    """
    if schedule.helpers_on == "host":
        return _SERVER
    return _REDUCING


def name_endpoint(schedule: Schedule, endpoint: int) -> Text:
    """`rank 3`, `the server`, `server 1`, in English and Chinese.

    Args:
        schedule: The schedule.
        endpoint: An endpoint of the schedule: a rank, or a helper beyond the ranks.
    """
    if endpoint < schedule.ranks:
        return f"rank {endpoint}", f"rank {endpoint}"
    (en, zh), number = name_helpers(schedule), endpoint - schedule.ranks
    if schedule.endpoints - schedule.ranks == 1:
        return (f"the {en}", zh)
    return (f"{en} {number}", f"{zh} {number}")


def name_ranks(schedule: Schedule, endpoints: list[int]) -> Text:
    """`Ranks 0, 2 and the server`; `12 ranks` where they are too many to name.

    Args:
        schedule: The schedule.
        endpoints: Endpoints of the schedule.
    """
    if len(endpoints) == 1:
        return f"Rank {endpoints[0]}", f"rank {endpoints[0]}"
    if len(endpoints) > 4:
        return f"{len(endpoints)} ranks", f"{len(endpoints)} 个 rank"
    names = [(str(e), str(e)) if e < schedule.ranks else name_endpoint(schedule, e) for e in endpoints]
    return f"Ranks {words.join_list([en for en, _ in names])}", f"rank {words.join_list([zh for _, zh in names], True)}"


def name_device(trace: Trace, device: int) -> Text:
    """`rank 3` for a device with a rank on it, `server` for a helper's, else its own short name: `PCIe 2`, `NIC 7`,
    `switch`.

    Args:
        trace: The run.
        device: Number of a device in the topology.
    """
    topology = trace.topology
    endpoints = np.flatnonzero(topology.endpoint_device[trace.placement] == device)
    if len(endpoints):
        en, zh = name_endpoint(trace.schedule, int(endpoints[0]))
        return en.removeprefix("the "), zh
    name = str(topology.devices.name[device])
    match = re.fullmatch(r"(?:node\d+/|fabric/)?([a-z_]+?)(\d*)", name)
    if match is None:
        return name, name
    kind, number = match.groups()
    if kind == "nic" and number:
        number = str(_count_card(trace, device))
    en, zh = DEVICES.get(kind, (kind, kind))
    only = kind == "switch" and int((topology.devices.kind == topology.devices.kind[device]).sum()) == 1
    if number and not only:
        number = f" {number}"
    else:
        number = ""
    return f"{en}{number}", f"{zh}{number}"


def _count_card(trace: Trace, device: int) -> int:
    """Cards are counted through all nodes, as ranks are, and as the picture has them."""
    devices = trace.topology.devices
    before = (devices.kind == devices.kind[device]) & (devices.node >= 0)
    return int(before[:device].sum())


def name_link(trace: Trace, link: int) -> Text:
    """`switch → server`; `CPU 1 → PCIe 2, node 0` where there are several nodes.

    Args:
        trace: The run.
        link: Number of a link in the topology.
    """
    links = trace.topology.links
    src, dst = int(links.src[link]), int(links.dst[link])
    return _join_ends(trace, src, dst, name_device(trace, src), name_device(trace, dst))


def name_links(trace: Trace) -> list[Text]:
    """`name_link` of every link.

    Args:
        trace: The run.
    """
    links = trace.topology.links
    called = [name_device(trace, device) for device in range(len(trace.topology.devices.kind))]
    ends = zip(links.src.tolist(), links.dst.tolist(), strict=True)
    return [_join_ends(trace, src, dst, called[src], called[dst]) for src, dst in ends]


def _join_ends(trace: Trace, src: int, dst: int, a: Text, b: Text) -> Text:
    node = trace.topology.devices.node
    where = max(int(node[src]), int(node[dst]))
    if where < 0 or int(node.max()) == 0:
        return f"{a[0]} → {b[0]}", f"{a[1]} → {b[1]}"
    return f"{a[0]} → {b[0]}, node {where}", f"{a[1]} → {b[1]}，节点 {where}"
