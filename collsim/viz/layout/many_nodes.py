"""Many nodes: a box for each, in one row or a grid, under the fabric's levels."""

from __future__ import annotations

from math import ceil, sqrt

import numpy as np

from ...topology import Topology
from .geometry import Box, Point
from .levels import (
    draw_cables_between,
    find_levels,
    is_in_rows,
    place_fabric_on_top,
    place_levels_between,
    sort_between,
)
from .reduction import Picture
from .shapes import NARROW_WIDTH, Label, StageLayout, write_label
from .sheet import Sheet, finish_sheet

_IN_A_ROW = 64
_WITH_NODE = 110.0
_NARROW, _IN_TWO_ROWS = 340.0, 16  # on a narrow screen: pixels of a row, and nodes of which two rows can be read


def arrange_cluster(picture: Picture, topology: Topology) -> StageLayout:
    """Boxes of nodes with the ranks in them; above them the switches, level by level.

    Args:
        picture: What is drawn of the topology.
        topology: The machine or network.
    """
    nodes = [d for d in range(len(picture)) if picture.kind[d] == "host" and picture.endpoint[d] < 0]
    # A few nodes fit in one row; more are wrapped into a block three times as wide as high.
    if len(nodes) <= _IN_A_ROW:
        across = len(nodes)
    else:
        across = ceil(sqrt(3 * len(nodes)))
    widest = max((len(level) for level in find_levels(picture, nodes)), default=1)
    # Columns are as narrow as the widest level of switches above needs them.
    column = max(26.0, min(140.0, 1110 / across), min(26.0, 1110 / widest))
    upright = column < 76 and across == len(nodes)
    several = topology.ranks > len(nodes)
    wide = column - 22
    if across == len(nodes):
        wide = column - 8
    if upright:
        tall = 90.0
    elif several and across == len(nodes):
        tall = 112.0
    else:
        tall = 40.0
    widest_rate = max(1.0, float(picture.bandwidth.max(initial=1e9)) / 1e9)
    sheet = Sheet(picture, min(1.1, min(9.0, column / 5) / sqrt(widest_rate)))
    for i, d in enumerate(nodes):
        row, column_number = divmod(i, across)
        sheet.boxes[d] = Box(column_number * column, row * (tall + 16), wide, tall)
        sheet.names[d] = _name_ranks(topology, picture.node[d], with_node=wide >= _WITH_NODE)
    right = max(across * column - (column - wide), 240.0)
    place_fabric_on_top(sheet, nodes, 0.0, right)
    if len(nodes) > across:
        _bend_cables_beside_columns(sheet, nodes)
    stage = finish_sheet(sheet, None)
    if stage.w > NARROW_WIDTH and len(nodes) <= _IN_TWO_ROWS:
        stage.narrow = _arrange_two_rows(Sheet(picture, sheet.pipe), topology, nodes)
    return stage


def _arrange_two_rows(sheet: Sheet, topology: Topology, nodes: list[int]) -> StageLayout | None:
    """For a narrow screen: the fabric between two rows of nodes; None where cables would pass behind a switch."""
    upper, lower = nodes[: len(nodes) // 2], nodes[len(nodes) // 2 :]
    levels = sort_between(sheet.picture, upper, lower)
    rows = [upper, *levels, lower]
    if not is_in_rows(sheet.picture, rows):
        return None
    column = _NARROW / len(lower)
    tall = 112.0
    if topology.ranks <= len(nodes) or column < 76:
        tall = 90.0
    y = 0.0
    for row in (upper, lower):
        for i, d in enumerate(row):
            sheet.boxes[d] = Box(i * column, y, column - 8, tall)
            sheet.names[d] = _name_ranks(topology, sheet.picture.node[d], with_node=column - 8 >= _WITH_NODE)
        y += tall
        if row is upper:
            y = place_levels_between(sheet, levels, y, 0.0, _NARROW - 8)
    draw_cables_between(sheet, rows)
    return finish_sheet(sheet, None)


def _name_ranks(topology: Topology, node: int, *, with_node: bool) -> Label:
    """`8–15` for a node with these ranks, its number where they are not in a row; both where there is room."""
    ranks_on_node = np.flatnonzero(topology.devices.node[topology.endpoint_device[: topology.ranks]] == node)
    if len(ranks_on_node) and ranks_on_node[-1] - ranks_on_node[0] == len(ranks_on_node) - 1:
        if len(ranks_on_node) > 1:
            ranks = f"{ranks_on_node[0]}–{ranks_on_node[-1]}"
        else:
            ranks = f"{ranks_on_node[0]}"
        if with_node:
            return write_label("node_with_ranks", number=node, ranks=ranks)
        return ranks
    return write_label("node", number=node)


def _bend_cables_beside_columns(sheet: Sheet, nodes: list[int]) -> None:
    """In a grid cables leave a node at its side and climb the lane beside its column."""
    for (low, high), corners in list(sheet.bends.items()):
        if low in nodes and high not in nodes:
            sheet.bends[(low, high)] = _bend_along_lane(sheet.boxes[low], sheet.boxes[high], corners[-1][1])


def _bend_along_lane(box: Box, end: Box, y: float) -> list[Point]:
    """Out of `box`, up its lane, and to `end` at the height y."""
    lane = box.right + 11
    x = min(max(lane, end.x + 4), end.right - 4)
    return [(box.right, box.cy), (lane, box.cy), (lane, -14.0), (x, y)]
