"""The inside of nodes that are drawn as boxes: nodes that are alike have one arrangement, under a strip of all.

A player opens one node at a time. Links inside nodes have numbers of their own, after those of the picture, so that
their bytes are shown in every chart whether a node is open or not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from ...topology import Topology
from .geometry import Box
from .rack import is_rack, rack
from .reduction import Picture, node_picture, rates
from .row_of_nodes import side_by_side
from .shapes import StageLayout
from .sheet import NodeDevices, Sheet, finished, name_insides, panel_of

Ints = npt.NDArray[np.int64]
_MOST_IN_A_ROW = 16
_MOST_ACROSS = 16  # nodes in a row of the strip
_WIDE = 1134.0  # the stage that machines are laid out in (the mock's)
_STRIP = 104.0  # height of a node in the strip
_BETWEEN = 26.0  # from the strip to the open node
_GAP = 8.0
_EDGE = 3.0  # room for the outline of a node in the strip
_ROOMY = 132.0  # between the middles of GPUs


@dataclass(frozen=True, eq=False)
class Insides:
    """Nodes that are alike, and how one of them is drawn.

    Attributes:
        stage: devices and links of one node, with its panel, below the strip.
        strip: a box for each node of the cluster.
        nodes: numbers of the nodes that are drawn so.
        labels, panels, endpoints: of each of these nodes, what is written on its devices, its panel, and the
        topology's endpoint on each device, or -1.
        first: number of the first link of each node in the timeline.
        bandwidth: (nodes, links) bytes per second.
    """

    stage: StageLayout
    strip: list[Box]
    nodes: list[int]
    labels: list[list[Any]]
    panels: list[Any]
    endpoints: list[list[int]]
    first: list[int]
    bandwidth: npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _Alike:
    """Nodes with the same devices and links: of each node, the topology's numbers of both."""

    nodes: list[int]
    devices: list[Ints]
    links: list[Ints]


def insides(topology: Topology, carried: npt.NDArray[Any], count: int) -> tuple[list[Insides], Ints]:
    """How nodes look from inside, and for each link of the topology its number in the timeline, -1 for those that are
    not drawn there.

    Args:
        carried: (links,) bytes on each link.
        count: links of the picture in which nodes are boxes; theirs come after.
    """
    link_of = np.full(len(topology.links), -1, np.int64)
    found = []
    for alike in _alike(topology):
        what, own_link = _one_picture(topology, alike, carried)
        made = _arranged(what, topology)
        if made is None:
            return [], np.full(len(topology.links), -1, np.int64)
        stage, sheet, node = made
        number = count + len(what.src) * np.arange(len(alike.nodes))
        for first, links in zip(number.tolist(), alike.links, strict=True):
            link_of[links] = np.where(own_link >= 0, first + own_link, -1)
        count = int(number[-1]) + len(what.src)
        found.append(_described(topology, alike, carried, stage, sheet, node, own_link, number.tolist()))
    return found, link_of


def _alike(topology: Topology) -> list[_Alike]:
    """Nodes by what is in them; nodes that somebody changed stand apart."""
    devices, links = topology.devices, topology.links
    node = devices.node
    local = np.zeros(len(devices), np.int64)
    inner = np.where(node[links.src] == node[links.dst], node[links.src], -1)
    found: dict[tuple[Any, ...], _Alike] = {}
    for k in range(int(node.max(initial=-1)) + 1):
        mine, own = np.flatnonzero(node == k), np.flatnonzero(inner == k)
        local[mine] = np.arange(len(mine))
        names = tuple(str(devices.name[d]).partition("/")[2] for d in mine.tolist())
        key = (names, *(tuple(column.tolist()) for column in (local[links.src[own]], local[links.dst[own]])))
        one = found.setdefault((*key, tuple(links.cable[own].tolist())), _Alike([], [], []))
        one.nodes.append(k)
        one.devices.append(mine)
        one.links.append(own)
    return list(found.values())


def _one_picture(topology: Topology, alike: _Alike, carried: npt.NDArray[Any]) -> tuple[Picture, Ints]:
    """The first of them as a picture, with what any of them uses; and for each of its links the one that is drawn."""
    used = np.zeros(len(topology.links), np.int64)
    used[alike.links[0]] = np.sum([carried[links] > 0 for links in alike.links], axis=0)
    what = node_picture(topology, alike.devices[0], used)
    return what, what.link_of[alike.links[0]]


def _arranged(what: Picture, topology: Topology) -> tuple[StageLayout, Sheet, NodeDevices] | None:
    """One node by itself, its cards on top; None where it is no machine we know."""
    near = what.neighbours()
    node = NodeDevices(what.node[0], near, what.kind, list(range(len(what))))
    node.members.sort(key=lambda d: (node.kind[d] != "gpu", what.endpoint[d] if node.kind[d] == "gpu" else d))
    gpus = len(node.of("gpu"))
    racked = is_rack([node])
    if not (gpus or node.of("memory")) or (gpus > _MOST_IN_A_ROW and not racked):
        return None
    widest = max(1.0, float(what.bandwidth.max(initial=1e9)) / 1e9)
    sheet = Sheet(what, min(1.1, 19.2 / sqrt(widest)), int(topology.facts.get("nvswitches", 0)))
    title = str(topology.facts.get("title", topology.facts.get("machine", "")))
    if racked and gpus > _MOST_IN_A_ROW:
        rack(sheet, node, title)
    else:
        side_by_side(sheet, [node], title, roomy=_ROOMY)
    return finished(sheet, None), sheet, node


def _described(
    topology: Topology,
    alike: _Alike,
    carried: npt.NDArray[Any],
    stage: StageLayout,
    sheet: Sheet,
    node: NodeDevices,
    own_link: Ints,
    first: list[int],
) -> Insides:
    what, drawn = stage.picture, own_link >= 0
    placed, strip = _under_the_strip(stage, int(topology.devices.node.max()) + 1)
    on = np.full(len(topology.devices), -1, np.int64)
    on[topology.endpoint_device[::-1]] = np.arange(len(topology.endpoint_device))[::-1]
    box_of = what.device_of[alike.devices[0]]
    endpoints, labels, panels = [], [], []
    for k, mine in zip(alike.nodes, alike.devices, strict=True):
        ends = np.full(len(what), -1, np.int64)
        for box, end in zip(box_of.tolist(), on[mine].tolist(), strict=True):
            if box >= 0 and end >= 0 and ends[box] < 0:
                ends[box] = end
        endpoints.append(ends.tolist())
        here, own = replace(what, endpoint=ends.tolist()), replace(node, number=k)
        name_insides(sheet, own)
        labels.append([str(e) if 0 <= e < topology.ranks else sheet.names.get(d, "") for d, e in enumerate(ends)])
        panels.append(panel_of(own, here, placed.panels[0].box, str(topology.facts.get("title", ""))))
    rate = [
        rates(topology.links.bandwidth[own][drawn], own_link[drawn], len(what.src), carried[own][drawn])
        for own in alike.links
    ]
    return Insides(placed, strip, alike.nodes, labels, panels, endpoints, first, np.array(rate))


def _under_the_strip(made: StageLayout, nodes: int) -> tuple[StageLayout, list[Box]]:
    """The node moved below a strip with a box for every node, both as wide as the wider of them."""
    across = min(nodes, _MOST_ACROSS)
    wide = max(made.w, _WIDE)
    pitch = (wide - 2 * _EDGE + _GAP) / across
    strip = [
        Box(_EDGE + (i % across) * pitch, _EDGE + (i // across) * (_STRIP + _GAP), pitch - _GAP, _STRIP)
        for i in range(nodes)
    ]
    dx, dy = (wide - made.w) / 2, ceil(nodes / across) * (_STRIP + _GAP) - _GAP + _BETWEEN + _EDGE
    made.boxes = [b.moved(dx, dy) for b in made.boxes]
    made.panels = [replace(p, box=p.box.moved(dx, dy)) for p in made.panels]
    made.lines = [[(x + dx, y + dy) for x, y in line] for line in made.lines]
    made.w, made.h = wide, made.h + dy
    return made, strip
