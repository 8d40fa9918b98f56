"""The inside of nodes that are drawn as boxes: nodes that are alike have one arrangement, under a strip of all.

A player opens one node at a time. Links inside nodes have numbers of their own, after those of the picture, so that
their bytes are shown in every chart whether a node is open or not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, sqrt

import numpy as np
import numpy.typing as npt

from ...topology import Topology
from .geometry import Box
from .rack import draw_rack, is_rack
from .reduction import Carried, Picture, build_node_picture, sum_bandwidths
from .row_of_nodes import arrange_side_by_side
from .shapes import Label, Panel, StageLayout
from .sheet import NodeDevices, Sheet, build_panel, finish_sheet, name_insides

Ints = npt.NDArray[np.int64]
_MAX_IN_A_ROW = 16
_MAX_ACROSS = 16  # nodes in a row of the strip
_WIDE = 1134.0  # the stage that machines are laid out in (the mock's)
_STRIP = 104.0  # height of a node in the strip
_BETWEEN = 26.0  # from the strip to the open node
_GAP = 8.0
_EDGE = 3.0  # room for the outline of a node in the strip
#: Between the middles of GPUs, where a node is open and where it is a small picture.
_WIDE_PITCH, _NARROW_PITCH = 132.0, 64.0


@dataclass(frozen=True, eq=False)
class Insides:
    """Nodes that are alike, and how one of them is drawn.

    Attributes:
        stage: devices and links of one node, with its panel, below the strip.
        strip: a box for each node of the cluster.
        nodes: numbers of the nodes that are drawn so.
        labels, panels, endpoints: of each of these nodes, what is written on its devices, its panel, and the topology's
            endpoint on each device, or -1.
        first: number of the first link of each node in the timeline.
        bandwidth: (nodes, links) bytes per second.
    """

    stage: StageLayout
    strip: list[Box]
    nodes: list[int]
    labels: list[list[Label]]
    panels: list[Panel]
    endpoints: list[list[int]]
    first: list[int]
    bandwidth: npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _Alike:
    """Nodes with the same devices and links: of each node, the topology's numbers of both."""

    nodes: list[int]
    devices: list[Ints]
    links: list[Ints]


def build_insides(topology: Topology, carried: Carried, count: int) -> tuple[list[Insides], Ints]:
    """How nodes look from inside, and for each link of the topology its number in the timeline, -1 for those that are
    not drawn there.

    Args:
        topology: The machine.
        carried: (links,) bytes on each link.
        count: Number of links of the picture in which nodes are boxes; theirs come after.
    """
    link_of = np.full(len(topology.links), -1, np.int64)
    result = []
    for alike in _group_alike_nodes(topology):
        picture, own_link = _build_shared_picture(topology, alike, carried)
        arranged = _arrange_node(picture, topology)
        if arranged is None:
            return [], np.full(len(topology.links), -1, np.int64)
        stage, sheet, node = arranged
        number = count + len(picture.src) * np.arange(len(alike.nodes))
        for first, links in zip(number.tolist(), alike.links, strict=True):
            link_of[links] = np.where(own_link >= 0, first + own_link, -1)
        count = int(number[-1]) + len(picture.src)
        result.append(_describe_insides(topology, alike, carried, stage, sheet, node, own_link, number.tolist()))
    return result, link_of


def _group_alike_nodes(topology: Topology) -> list[_Alike]:
    """Nodes by what is in them; nodes that somebody changed stand apart."""
    devices, links = topology.devices, topology.links
    node = devices.node
    local = np.zeros(len(devices), np.int64)
    inner = np.where(node[links.src] == node[links.dst], node[links.src], -1)
    groups: dict[tuple[object, ...], _Alike] = {}
    for k in range(int(node.max(initial=-1)) + 1):
        members, inner_links = np.flatnonzero(node == k), np.flatnonzero(inner == k)
        local[members] = np.arange(len(members))
        names = tuple(str(devices.name[d]).partition("/")[2] for d in members.tolist())
        columns = local[links.src[inner_links]], local[links.dst[inner_links]], links.cable[inner_links]
        group = groups.setdefault((names, *(tuple(column.tolist()) for column in columns)), _Alike([], [], []))
        group.nodes.append(k)
        group.devices.append(members)
        group.links.append(inner_links)
    return list(groups.values())


def _build_shared_picture(topology: Topology, alike: _Alike, carried: Carried) -> tuple[Picture, Ints]:
    """The first of them as a picture, with what any of them uses; and for each of its links the one that is drawn."""
    used = np.zeros(len(topology.links), np.int64)
    used[alike.links[0]] = np.sum([carried[links] > 0 for links in alike.links], axis=0)
    picture = build_node_picture(topology, alike.devices[0], used)
    return picture, picture.link_of[alike.links[0]]


def _arrange_node(
    picture: Picture, topology: Topology, widest_pitch: float = _WIDE_PITCH
) -> tuple[StageLayout, Sheet, NodeDevices] | None:
    """One node by itself, its cards on top; None where it is no machine we know."""
    near = picture.neighbours()
    node = NodeDevices(picture.node[0], near, picture.kind, list(range(len(picture))))
    node.members.sort(key=lambda d: (node.kind[d] != "gpu", picture.endpoint[d] if node.kind[d] == "gpu" else d))
    gpus = len(node.get_devices("gpu"))
    racked = is_rack([node])
    if not (gpus or node.get_devices("memory")) or (gpus > _MAX_IN_A_ROW and not racked):
        return None
    widest = max(1.0, float(picture.bandwidth.max(initial=1e9)) / 1e9)
    sheet = Sheet(picture, min(1.1, 19.2 / sqrt(widest)), topology.facts.nvswitches)
    title = topology.facts.titles
    if racked and gpus > _MAX_IN_A_ROW:
        draw_rack(sheet, node, title)
    else:
        arrange_side_by_side(sheet, [node], title, widest_pitch=widest_pitch)
    return finish_sheet(sheet, None), sheet, node


def _describe_insides(
    topology: Topology,
    alike: _Alike,
    carried: Carried,
    stage: StageLayout,
    sheet: Sheet,
    node: NodeDevices,
    own_link: Ints,
    first: list[int],
) -> Insides:
    picture, drawn = stage.picture, own_link >= 0
    placed, strip = _move_under_strip(stage, int(topology.devices.node.max()) + 1)
    endpoint_of = np.full(len(topology.devices), -1, np.int64)
    # Written backwards, so that of several endpoints on a device the first one stays.
    endpoint_of[topology.endpoint_device[::-1]] = np.arange(len(topology.endpoint_device))[::-1]
    box_of = picture.device_of[alike.devices[0]]
    endpoints, labels, panels = [], [], []
    for k, members in zip(alike.nodes, alike.devices, strict=True):
        ends = np.full(len(picture), -1, np.int64)
        # A box may stand for several devices; the first endpoint in it gives the number.
        for box, end in zip(box_of.tolist(), endpoint_of[members].tolist(), strict=True):
            if box >= 0 and end >= 0 and ends[box] < 0:
                ends[box] = end
        endpoints.append(ends.tolist())
        numbered_picture, numbered_node = replace(picture, endpoint=ends.tolist()), replace(node, number=k)
        name_insides(sheet, numbered_node)
        labels.append([str(e) if 0 <= e < topology.ranks else sheet.names.get(d, "") for d, e in enumerate(ends)])
        panels.append(build_panel(numbered_node, numbered_picture, placed.panels[0].box, topology.facts.titles))
    rate, bandwidth = [], topology.links.bandwidth
    for links in (node_links[drawn] for node_links in alike.links):
        rate.append(sum_bandwidths(bandwidth[links], own_link[drawn], len(picture.src), carried[links]))
    return Insides(placed, strip, alike.nodes, labels, panels, endpoints, first, np.array(rate))


def _move_under_strip(layout: StageLayout, nodes: int) -> tuple[StageLayout, list[Box]]:
    """The node moved below a strip with a box for every node, both as wide as the wider of them."""
    across = min(nodes, _MAX_ACROSS)
    wide = max(layout.w, _WIDE)
    pitch = (wide - 2 * _EDGE + _GAP) / across
    places = (divmod(i, across) for i in range(nodes))
    strip = [Box(_EDGE + x * pitch, _EDGE + y * (_STRIP + _GAP), pitch - _GAP, _STRIP) for y, x in places]
    dx, dy = (wide - layout.w) / 2, ceil(nodes / across) * (_STRIP + _GAP) - _GAP + _BETWEEN + _EDGE
    layout.boxes = [b.shift(dx, dy) for b in layout.boxes]
    layout.panels = [replace(p, box=p.box.shift(dx, dy)) for p in layout.panels]
    layout.lines = [[(x + dx, y + dy) for x, y in line] for line in layout.lines]
    layout.w, layout.h = wide, layout.h + dy
    return layout, strip


def lay_out_node(topology: Topology, carried: Carried) -> tuple[StageLayout, Ints] | None:
    """Arrange the first node of a machine by itself, with what any node uses.

    Args:
        topology: The machine.
        carried: (links,) bytes on each link, or which links are used.

    Returns:
        The arrangement, and for each link of the topology the drawn link of that node, or of a node like it, -1 where
        there is none; None where the node is no machine we know.
    """
    alike = _group_alike_nodes(topology)[0]
    picture, own_link = _build_shared_picture(topology, alike, carried)
    arranged = _arrange_node(picture, topology, widest_pitch=_NARROW_PITCH)
    if arranged is None:
        return None
    link_of = np.full(len(topology.links), -1, np.int64)
    for links in alike.links:
        link_of[links] = own_link
    return arranged[0], link_of
