"""The hybrid cube mesh of the DGX-1: two squares with their diagonals, joined corner to corner."""

from __future__ import annotations

from collections.abc import Callable

from .geometry import Point, center_box
from .sheet import NodeDevices, Sheet


def draw_cube_mesh(sheet: Sheet, node: NodeDevices, scale: float = 1.0, reverse: bool = False) -> None:
    """Two squares with diagonals, corner joined to corner: 0 1 | 5 4 above, 3 2 | 6 7 below; PCIe above and below,
    sockets outside.

    Args:
        sheet: The sheet that is being drawn; boxes, cables and names are added to it.
        node: Devices of the node.
        scale: Factor of all lengths.
        reverse: Mirrored, GPU 0 on the right.
    """

    # The second node is drawn as a mirror image of the first, so that their cards face each other.
    def scale_point(x: float, y: float) -> Point:
        if reverse:
            x = 464 - x
        return x * scale, y * scale

    gpus = node.get_devices("gpu")
    size = 44.0 * min(1.3, scale)
    columns, rows = {0: 92, 3: 92, 1: 192, 2: 192, 5: 272, 6: 272, 4: 372, 7: 372}, {0: 252, 1: 252, 5: 252, 4: 252}
    for i, g in enumerate(gpus):
        sheet.boxes[g] = center_box(*scale_point(columns[i], rows.get(i, 372)), size, size * 0.95)
    edges = {(gpus.index(a), gpus.index(b)): (a, b) for a, b in node.pairs}
    # Corners of the two squares are joined around the outside, or the cables would cross the middle.
    for (i, j), y in {(0, 4): 212.0, (3, 7): 412.0}.items():
        a, b = edges[(i, j)]
        out = 8 * scale
        if sheet.boxes[a].cx < sheet.boxes[b].cx:
            out = -8 * scale
        x0, x1, y0 = sheet.boxes[a].cx + out, sheet.boxes[b].cx - out, scale_point(0, y)[1]
        edge = sheet.boxes[a].face_y(y0)
        sheet.add_cable(a, b, (x0, edge), (x0, y0), (x1, y0), (x1, edge))
    for p in node.get_devices("pcie"):
        own_gpus = [gpus.index(g) for g in node.list_attached(p, "gpu")]
        if not own_gpus:
            continue
        is_upper = all(i in rows for i in own_gpus)
        xs = [sheet.boxes[gpus[i]].cx for i in own_gpus]
        _, y = scale_point(0, 176 if is_upper else 446)
        box = center_box((min(xs) + max(xs)) / 2, y, max(xs) - min(xs) + 26 * scale, 24 * min(1.3, scale))
        sheet.boxes[p] = box
        for i in own_gpus:
            gpu = sheet.boxes[gpus[i]]
            x = gpu.cx + 7 * scale
            sheet.add_cable(gpus[i], p, (x, gpu.face_y(box.cy)), (x, box.face_y(gpu.cy)))
    _draw_sockets(sheet, node, scale_point, scale)


def _draw_sockets(sheet: Sheet, node: NodeDevices, scale_point: Callable[[float, float], Point], scale: float) -> None:
    """Sockets left and right of the squares, half-way up."""
    cpus = node.get_devices("cpu")
    for c in cpus:
        near = [sheet.boxes[p].cx for p in node.near[c] if p in sheet.boxes and node.kind[p] == "pcie"]
        is_left = not near or sum(near) / len(near) < 232 * scale
        middle, inward = 424.0, -1
        if is_left:
            middle, inward = 40.0, 1
        box = center_box(middle * scale, 312 * scale, 42 * min(1.3, scale), 26 * min(1.3, scale))
        sheet.boxes[c] = box
        for p in node.near[c]:
            if p not in sheet.boxes or node.kind[p] != "pcie":
                continue
            switch = sheet.boxes[p]
            x = box.cx + 18 * inward * scale
            edge, end = switch.face_x(box.cx), box.face_y(switch.cy)
            sheet.add_cable(p, c, (edge, switch.cy), (x, switch.cy), (x, end))
        for m in node.near[c]:
            if node.kind[m] == "memory":
                x = box.cx - 11 * inward * scale
                sheet.boxes[m] = center_box(x, box.bottom + 32 * scale, 52 * scale, 20 * scale)
    if len(cpus) == 2 and sheet.is_linked(cpus[0], cpus[1]):
        a, b = sorted(cpus, key=lambda c: sheet.boxes[c].cx)
        x0, x1, y = sheet.boxes[a].cx - 10 * scale, sheet.boxes[b].cx + 10 * scale, scale_point(0, 146)[1]
        sheet.add_cable(a, b, (x0, sheet.boxes[a].y), (x0, y), (x1, y), (x1, sheet.boxes[b].y))


def draw_cube_nics(sheet: Sheet, node: NodeDevices, panel: float) -> None:
    """NICs of the upper PCIe switches at the top of the edge, those of the lower ones at its bottom.

    Args:
        sheet: The sheet that is being drawn; boxes, cables and names are added to it.
        node: Devices of the node.
        panel: Width of the node's panel, CSS pixels.
    """
    nics = [d for d in node.get_devices("nic") if node.find_home(d) in sheet.boxes]
    homes = {d: sheet.boxes[h] for d in nics if (h := node.find_home(d)) is not None}
    upper = sorted((d for d in nics if homes[d].cy < 300), key=lambda d: homes[d].cx)
    lower = sorted((d for d in nics if homes[d].cy >= 300), key=lambda d: -homes[d].cx)
    for row, d in enumerate(upper):
        y = 62.0 + 42 * row
        sheet.boxes[d] = center_box(8 + panel, y, 56, 19)
        sheet.add_cable(node.find_home(d) or 0, d, (homes[d].cx, homes[d].y), (homes[d].cx, y), (sheet.boxes[d].x, y))
    for row, d in enumerate(lower):
        y = 470.0 + 19 * row
        sheet.boxes[d] = center_box(8 + panel, y, 56, 16)
        sheet.add_cable(
            node.find_home(d) or 0, d, (homes[d].cx, homes[d].bottom), (homes[d].cx, y), (sheet.boxes[d].x, y)
        )
