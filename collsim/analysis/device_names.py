"""What devices and links are called in a sentence."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from ..locale import Text, build_text, has_text, repeat_text
from .endpoint_names import name_box

if TYPE_CHECKING:
    from ..simulate import Trace


def name_device_kind(kind: str) -> Text:
    """What a kind of device is called: `NIC`, `host memory`.

    Args:
        kind: As topologies name it; another word stays as it is.
    """
    if has_text("sentences", f"names.device.{kind}"):
        return build_text("sentences", f"names.device.{kind}")
    return repeat_text(kind)


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
        return name_box(trace.schedule, int(endpoints[0]))
    name = str(topology.devices.name[device])
    match = re.fullmatch(r"(?:node\d+/|fabric/)?([a-z_]+?)(\d*)", name)
    if match is None:
        return repeat_text(name)
    kind, number = match.groups()
    if kind == "nic" and number:
        number = str(_count_card(trace, device))
    called = name_device_kind(kind)
    only = kind == "switch" and int((topology.devices.kind == topology.devices.kind[device]).sum()) == 1
    if number and not only:
        return tuple(f"{text} {number}" for text in called)
    return called


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
    ends = tuple(f"{first} → {second}" for first, second in zip(a, b, strict=True))
    if where < 0 or int(node.max()) == 0:
        return ends
    return build_text("sentences", "names.in_node", device=ends, node=where)
