"""Machines as people draw them: a row of GPUs, PCIe and sockets above, the NVSwitch below, NICs at the edge that faces
the fabric.

One node alone is a plain picture of the box, a rack of many GPUs a picture of its trays. Two nodes face each other, the
second one mirrored, so that the ring runs 7 → 8 along the bottom and 15 → 0 along the top without a crossing. Where
they are more, or the fabric has levels, they stand side by side below it. Sizes of the first are those of the mock (CSS
pixels).
"""

from __future__ import annotations

from math import sqrt

from ...topology import Topology
from .levels import find_levels
from .one_node import arrange_single_node
from .rack import draw_rack, is_rack
from .reduction import Picture
from .row_of_nodes import arrange_side_by_side, arrange_stacked
from .shapes import NARROW_WIDTH, StageLayout
from .sheet import NodeDevices, Sheet, finish_sheet
from .two_nodes import arrange_facing, is_on_rails

_MAX_IN_A_ROW = 16


def arrange_nodes(picture: Picture, topology: Topology) -> StageLayout | None:
    """Place the insides of one to eight nodes and the fabric between them; None where they are not machines we know.

    Args:
        picture: What is drawn of the topology.
        topology: The machine or network.
    """
    near = picture.neighbours()
    nodes = [
        NodeDevices(k, near, picture.kind, [d for d in range(len(picture)) if picture.node[d] == k])
        for k in range(picture.nodes)
    ]
    most = max(len(n.get_devices("gpu")) for n in nodes)
    if most and ((most > _MAX_IN_A_ROW and not is_rack(nodes)) or min(len(n.get_devices("gpu")) for n in nodes) == 0):
        return None
    for n in nodes:
        # Ranks in their order first, since people look for rank 0 at the left.
        rank = {d: picture.endpoint[d] if picture.endpoint[d] >= 0 else 10**9 + d for d in n.members}
        n.members.sort(key=lambda d: (n.kind[d] != "gpu", rank[d] if n.kind[d] == "gpu" else d))
    widest = max(1.0, float(picture.bandwidth.max(initial=1e9)) / 1e9)
    sheet = Sheet(picture, min(1.1, 19.2 / sqrt(widest)), topology.facts.nvswitches)
    title = topology.facts.titles
    key = None
    # From the special to the general: racks, stacked fabrics, one node, two that face each other, rows of nodes.
    if len(nodes) == 1 and most > _MAX_IN_A_ROW:
        draw_rack(sheet, nodes[0], title)
    elif not most or (len(nodes) == 2 and _has_levels(picture, nodes)):
        arrange_side_by_side(sheet, nodes, title)
    elif len(nodes) == 1 and not nodes[0].get_devices("nic"):
        arrange_single_node(sheet, nodes[0])
    elif len(nodes) <= 2:
        key = arrange_facing(sheet, nodes, title)
    else:
        arrange_side_by_side(sheet, nodes, title)
    stage = finish_sheet(sheet, key)
    if most <= _MAX_IN_A_ROW and stage.w > NARROW_WIDTH:
        narrow = Sheet(picture, sheet.pipe, sheet.chips)
        is_in_rows = arrange_stacked(narrow, nodes, title)
        layout = finish_sheet(narrow, None)
        if len(nodes) <= 2 or (is_in_rows and layout.w <= NARROW_WIDTH):
            stage.narrow = layout
    return stage


def _has_levels(picture: Picture, nodes: list[NodeDevices]) -> bool:
    """Is the fabric more than what fits between two nodes: one switch, a leaf for every pair of cards, or one switch at
    each node?"""
    levels = find_levels(picture, [d for n in nodes for d in n.get_devices("nic")])
    if not levels or sum(map(len, levels)) == 1:
        return False
    near = picture.neighbours()
    sides = [{picture.node[n] for n in near[d] if picture.kind[n] == "nic"} for d in levels[0]]
    one_each = len(levels[0]) == 2 and all(len(side) == 1 for side in sides)
    return len(levels) > 1 or not (one_each or is_on_rails(nodes, picture))
