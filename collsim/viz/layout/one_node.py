"""One node by itself: host memory, sockets, PCIe switches and GPUs as a tree from the top, the NVSwitch as a bar
below."""

from __future__ import annotations

from itertools import pairwise

from .cube_mesh import draw_cube_mesh
from .geometry import Box, center_box
from .shapes import split_number, write_label
from .sheet import NodeDevices, Sheet, draw_arches, draw_cables_to_bars, name_insides


def arrange_single_node(sheet: Sheet, node: NodeDevices) -> None:
    """Host memory, sockets, PCIe switches and GPUs as a tree from the top, the NVSwitch as a bar below.

    Args:
        sheet: The sheet that is being drawn; boxes, cables and names are added to it.
        node: Devices of the node.
    """
    if node.is_cube:
        draw_cube_mesh(sheet, node, scale=1.45)
        name_insides(sheet, node)
        return
    gpus, bars = node.get_devices("gpu"), node.get_devices("nvswitch")
    homes = _list_homes(node)
    # Without links between GPUs there is no bar below, and the rows may stand farther apart.
    rows = (8.0, 72.0, 146.0, 232.0)
    if not bars and not node.pairs:
        rows = (8.0, 96.0, 200.0, 318.0)
    x, slot = 0.0, {}
    for home in homes:
        if home is not None:
            own_gpus = node.list_attached(home, "gpu")
        else:
            own_gpus = [g for g in gpus if node.find_home(g) is None]
        for g in own_gpus:
            slot[g] = x
            x += 84.0
        # A gap between groups shows which GPUs share a switch.
        x += 22.0
    for g in gpus:
        sheet.boxes[g] = Box(slot[g], rows[3], 62, 48)
    _place_tree_above(sheet, node, rows)
    sheet.place_bars(bars, Box(1, rows[3] + 48 + 92, x - 22 - 24, 34), 12)
    name_insides(sheet, node)
    draw_cables_to_bars(sheet, node)
    draw_arches(sheet, node, 110.0)
    for m in node.get_devices("memory"):
        if sheet.picture.endpoint[m] < 0:
            sheet.names[m] = write_label("host_memory", number=split_number(sheet.picture.name[m])[1])


def _list_homes(node: NodeDevices) -> list[int | None]:
    """PCIe switches (or sockets) in the order of the GPUs that hang on them."""
    return list(dict.fromkeys(node.find_home(g) for g in node.get_devices("gpu")))


def _place_tree_above(sheet: Sheet, node: NodeDevices, rows: tuple[float, float, float, float]) -> None:
    """PCIe switches over their GPUs, sockets over their switches, memory over its socket."""
    middle = _find_middles(sheet, node)
    lower = sorted((p for p in node.get_devices("pcie") if node.list_attached(p, "gpu")), key=lambda p: middle[p])
    room = min((middle[b] - middle[a] - 16 for a, b in pairwise(lower)), default=160.0)
    for p in node.get_devices("pcie"):
        own_gpus = [middle[g] for g in node.list_attached(p, "gpu")]
        if own_gpus:
            # Nearly as wide as its GPUs, but never over a neighbour.
            wide = max(min(136.0, room), min(room, max(own_gpus) - min(own_gpus) + 62))
        else:
            wide = 110.0
        if own_gpus or not lower:
            sheet.boxes[p] = center_box(middle[p], rows[2] + 22, wide, 44)
        else:
            sheet.boxes[p] = center_box(middle[p], rows[2] - 40, wide, 30)
    socket_distance = min(
        (b - a for a, b in pairwise(sorted(middle[c] for c in node.get_devices("cpu")))), default=300.0
    )
    for c in node.get_devices("cpu"):
        direct = [middle[d] for d in node.near[c] if node.kind[d] == "gpu"]
        wide = max(min(130.0, socket_distance - 20), max(direct) - min(direct) + 62 if direct else 0.0)
        sheet.boxes[c] = center_box(middle[c], rows[1] + 21, wide, 42)
    for m in node.get_devices("memory"):
        x = next(
            (middle[c] for c in node.near[m] if node.kind[c] == "cpu" and c in middle), next(iter(middle.values()))
        )
        sheet.boxes[m] = center_box(x, rows[0] + 18, min(160.0, socket_distance - 8), 36)
    _draw_tree_cables(sheet, node)


def _find_middles(sheet: Sheet, node: NodeDevices) -> dict[int, float]:
    """x of GPUs as placed; of PCIe switches and sockets the middle of what hangs below them."""
    middle = {g: sheet.boxes[g].cx for g in node.get_devices("gpu")}
    right = max(middle.values())
    for _ in range(3):
        for p in node.get_devices("pcie"):
            below = [middle[d] for d in node.near[p] if d in middle and node.kind[d] in ("gpu", "pcie") and d != p]
            if below and p not in middle:
                middle[p] = (min(below) + max(below)) / 2
    for i, p in enumerate(node.get_devices("pcie")):
        middle.setdefault(p, right + 90 * (i + 1))
    cpus = node.get_devices("cpu")
    for i, c in enumerate(cpus):
        below = [middle[d] for d in node.near[c] if node.kind[d] in ("pcie", "gpu")]
        if below:
            middle[c] = (min(below) + max(below)) / 2
        elif i:
            middle[c] = right + 130
        else:
            middle[c] = (i + 0.5) * right / len(cpus)
    return middle


def _draw_tree_cables(sheet: Sheet, node: NodeDevices) -> None:
    """Vertical where the boxes allow it; between sockets horizontal."""
    for g in node.get_devices("gpu"):
        home = node.find_home(g)
        if home is None:
            continue
        low, high = sheet.boxes[g], sheet.boxes[home]
        x = min(max(low.cx, high.x + 10), high.right - 10)
        if low.x + 6 <= x <= low.right - 6:
            sheet.add_cable(g, home, (x, low.y), (x, high.bottom))
    for c in node.get_devices("cpu"):
        box = sheet.boxes[c]
        for d in node.near[c]:
            if d in sheet.boxes and node.kind[d] == "pcie":
                low = sheet.boxes[d]
                x = min(max(low.cx, box.x + 24), box.right - 24)
                sheet.add_cable(d, c, (low.cx, low.y), (x, box.bottom))
