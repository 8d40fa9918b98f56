"""Two nodes that face each other, the second one mirrored, with the fabric between them; or one node and its fabric."""

from __future__ import annotations

from ...locale import Text
from .cube_mesh import draw_cube_mesh, draw_cube_nics
from .fabric import place_fabric_between
from .geometry import Box, center_box
from .reduction import Picture
from .sheet import NodeDevices, Sheet, build_panel, draw_arches, draw_cables_to_bars, name_insides


def arrange_facing(sheet: Sheet, nodes: list[NodeDevices], title: Text) -> Box | None:
    """Node 0 left, node 1 right and mirrored, the fabric between them; returns where the key of cables may stand.

    Args:
        sheet: The sheet that is being drawn; boxes, cables and names are added to it.
        nodes: Devices of each node.
        title: Name of the machine in every language.
    """
    is_cube = any(n.is_cube for n in nodes)
    most = max(len(n.get_devices("gpu")) for n in nodes)
    pitch = max(34.0, min(106.0, 424.0 / most))
    panel = 30 + most * pitch
    if most <= 8:
        panel = 454.0
    gap = 170.0
    if most <= 12:
        gap = 210.0
    rails = len(nodes) == 2 and is_on_rails(nodes, sheet.picture)
    width = 8 + panel + 150
    if len(nodes) == 2:
        width = 16 + panel * len(nodes) + gap
    deep = 0.0
    for n in nodes:
        mirror = None
        if n.number == 1:
            mirror = width
        node_sheet = Sheet(sheet.picture, sheet.pipe)
        # On rails the nodes are not mirrored: card i faces card i.
        reverse = mirror is not None and not rails
        if n.is_cube:
            draw_cube_mesh(node_sheet, n, reverse=mirror is not None)
            draw_cube_nics(node_sheet, n, panel)
        else:
            _arrange_inside(node_sheet, n, pitch, panel, reverse)
        deep = max(deep, _get_panel_height(n))
        _add_node_sheet(sheet, node_sheet, mirror)
        name_insides(sheet, n)
    height = 492.0
    if not is_cube:
        height = deep or 340.0
    for n in nodes:
        x = width - 8 - panel
        if n.number == 0:
            x = 8.0
        sheet.panels.append(build_panel(n, sheet.picture, Box(x, 8, panel, height), title))
    left, right = 8 + panel, width - 16
    if len(nodes) == 2:
        right = width - 8 - panel
    place_fabric_between(sheet, nodes, left, right)
    below = max((sheet.boxes[d].bottom for d in sheet.boxes if sheet.picture.kind[d] == "switch"), default=0.0)
    # The key stands in the gap between the nodes where nothing else does.
    if len(nodes) == 2 and not is_cube and deep and below < 236 and right - left > 190:
        return Box(left + 19, 240, right - left - 44, 216)
    return None


def is_on_rails(nodes: list[NodeDevices], picture: Picture) -> bool:
    """Does card i of both nodes hang on the same switch, for every i, and not all on one?

    Args:
        nodes: Devices of each node.
        picture: What is drawn of the topology.
    """
    homes = [
        [next((s for s in n.near[d] if picture.kind[s] == "switch"), -1) for d in n.get_devices("nic")] for n in nodes
    ]
    return homes[0] == homes[1] and len(set(homes[0])) == len(homes[0]) > 1


def _get_panel_height(node: NodeDevices) -> float:
    """Height of a panel with NVLinks below its GPUs; many that join GPUs directly need more of it. 0 where there are
    none."""
    if len(node.pairs) > 16:
        return 540.0
    if node.get_devices("nvswitch") or node.pairs:
        return 456.0
    return 0.0


def _add_node_sheet(sheet: Sheet, node_sheet: Sheet, mirror: float | None) -> None:
    """Put the drawing of one node on the sheet, as it is or seen in a mirror (a mirror swaps left-hand and right-hand
    traffic back)."""
    for d, box in node_sheet.boxes.items():
        sheet.boxes[d] = box
        if mirror is not None:
            sheet.boxes[d] = box.mirror(mirror)
    for pair, corners in node_sheet.bends.items():
        sheet.bends[pair] = corners
        if mirror is not None:
            sheet.bends[pair] = [(mirror - x, y) for x, y in corners]
    sheet.left_hand |= node_sheet.left_hand
    sheet.pipe = min(sheet.pipe, node_sheet.pipe)


def _arrange_inside(sheet: Sheet, node: NodeDevices, pitch: float, panel: float, reverse: bool) -> None:
    """One node with its NICs at the right edge; `reverse` counts GPUs from the right, for the node that will be
    mirrored."""
    gpus = node.get_devices("gpu")
    if reverse:
        gpus.reverse()
    wide = min(42.0, max(30.0, pitch - 11))
    offset = 19 + max(0.0, (panel - 30 - len(gpus) * pitch) / 2)
    for p, g in enumerate(gpus):
        sheet.boxes[g] = Box(offset + p * pitch + max(0.0, (pitch - 11 - wide) / 2), 293, wide, 40)
    homes = _place_pcie(sheet, node, gpus, pitch)
    step = 22.5
    if _place_cpus(sheet, node, homes, reverse):
        step = 19.5
    _place_nics(sheet, node, homes, panel, reverse, step)
    row = [sheet.boxes[g] for g in gpus]
    bars = node.get_devices("nvswitch")
    left, wide_bar = min(b.x for b in row) - 1, max(b.right for b in row) - min(b.x for b in row) + 2
    sheet.place_bars(bars, Box(left, 421, wide_bar, 31), 8)
    draw_cables_to_bars(sheet, node)
    draw_arches(sheet, node, _get_panel_height(node) - 338.0)


def _place_pcie(sheet: Sheet, node: NodeDevices, gpus: list[int], pitch: float) -> list[int]:
    """PCIe switches over their GPUs, from left to right."""
    position_of_gpu = {g: i for i, g in enumerate(gpus)}
    homes = [p for p in node.get_devices("pcie") if node.list_attached(p, "gpu")]
    homes.sort(key=lambda p: min(position_of_gpu[g] for g in node.list_attached(p, "gpu")))
    for p in homes:
        own_gpus = sorted(node.list_attached(p, "gpu"), key=lambda g: position_of_gpu[g])
        centres = [sheet.boxes[g].cx for g in own_gpus]
        # As wide as the GPUs that hang on it, so that their cables meet it without a bend.
        reach = max(46.0, centres[-1] - centres[0] - sheet.boxes[own_gpus[0]].w + 14)
        if len(own_gpus) == 2:
            wide = reach
        elif len(own_gpus) == 1:
            wide = min(42.0, pitch - 8)
        else:
            wide = centres[-1] - centres[0] + 26
        sheet.boxes[p] = center_box(sum(centres) / len(centres), 233.5, min(wide, len(own_gpus) * pitch - 6), 25)
        for q, g in enumerate(own_gpus):
            if len(own_gpus) != 2:
                x = centres[q]
            else:
                x = sheet.boxes[p].cx + (q - 0.5) * 26
            x = min(max(x, sheet.boxes[g].x + 5), sheet.boxes[g].right - 5)
            sheet.add_cable(g, p, (x, 293), (x, 246))
    others = [p for p in node.get_devices("pcie") if p not in homes]
    for i, p in enumerate(others):
        under = [sheet.boxes[d].cx for d in node.near[p] if d in sheet.boxes]
        x = 60.0 + 60 * i
        if under:
            x = sum(under) / len(under)
        sheet.boxes[p] = center_box(x, 196.0, 46, 20)
    return homes + others


def _place_cpus(sheet: Sheet, node: NodeDevices, homes: list[int], reverse: bool) -> bool:
    """Sockets between their PCIe switches where there is room, else above them (True); memory over each, if it is
    drawn."""
    cpus = node.get_devices("cpu")
    order = cpus[::-1] if reverse else cpus
    taken = [sheet.boxes[p] for p in homes]
    upper = [sheet.boxes[p] for p in node.get_devices("pcie") if not node.list_attached(p, "gpu")]
    boxes: dict[int, Box] = {}
    for i, c in enumerate(order):
        # A socket stands over what hangs on it; without anything, evenly spaced.
        below = [sheet.boxes[d].cx for d in node.near[c] if d in sheet.boxes and node.kind[d] in ("pcie", "gpu")]
        row = [b.cx for b in sheet.boxes.values()]
        if below:
            x = sum(below) / len(below)
        else:
            x = min(row) + (i + 0.5) * (max(row) - min(row)) / len(cpus)
        boxes[c] = center_box(x, 233.5, 42, 25)
    # Where sockets would cover switches, they move into a row of their own.
    above = any(boxes[c].overlaps(b) for c in cpus for b in [*taken, *(boxes[o] for o in cpus if o != c)])
    aside = 0
    if above and all(len(node.list_attached(p, "nic")) == 1 for p in homes):
        aside = 8  # between two cables to cards
    if above and upper:
        y, memory_y, memory_height = 158, 116, 18
    elif above:
        y, memory_y, memory_height = 193, 171, 18
    else:
        y, memory_y, memory_height = 233, 179, 20
    for c in cpus:
        if above:
            sheet.boxes[c] = center_box(boxes[c].cx - aside, y, 38, 22)
        else:
            sheet.boxes[c] = boxes[c]
        _place_memory(sheet, node, c, memory_y, memory_height)
    if above:
        for p in homes:
            sheet.boxes[p] = sheet.boxes[p].shift(0, 6)
            for g in node.list_attached(p, "gpu"):
                x, _ = sheet.bends[(g, p)][0]
                sheet.add_cable(g, p, (x, 293), (x, sheet.boxes[p].bottom))
        _draw_upward_cables(sheet, node, homes)
    for a in cpus:
        for b in cpus:
            if a < b and sheet.is_linked(a, b):
                _join_sockets(sheet, *sorted((a, b), key=lambda d: sheet.boxes[d].cx), above=above, upper=bool(upper))
    return above


def _join_sockets(sheet: Sheet, first: int, last: int, *, above: bool, upper: bool) -> None:
    """Over the sockets where they stand between PCIe switches or over a tree of them, else under them, where no memory
    is."""
    first_box, last_box = sheet.boxes[first], sheet.boxes[last]
    if above and not upper:
        x0, x1 = first_box.cx, last_box.cx
        sheet.add_cable(first, last, (x0, first_box.bottom), (x0, 213), (x1, 213), (x1, last_box.bottom))
        return
    y, inset = 212, 9
    if above:
        y, inset = 174, 11
    x0, x1 = first_box.cx + 9, last_box.cx - inset
    sheet.add_cable(first, last, (x0, first_box.y), (x0, y), (x1, y), (x1, last_box.y))


def _place_memory(sheet: Sheet, node: NodeDevices, cpu: int, y: float, tall: float) -> None:
    """Host memory over its socket, beside it where the socket has cards above it."""
    box = sheet.boxes[cpu]
    for m in node.near[cpu]:
        if node.kind[m] != "memory" or m not in node.members:
            continue
        if node.list_attached(cpu, "nic"):
            gap = 14.0 if box.x > 84 else 4.0  # at the edge there is less room
            wide = min(56.0, box.x - gap - 8)
            x = box.x - gap - wide / 2
            sheet.boxes[m] = center_box(x, y, wide, tall)
            sheet.add_cable(cpu, m, (box.x, box.cy), (x, box.cy), (x, y + tall / 2))
        else:
            sheet.boxes[m] = center_box(box.cx, y, min(52.0, box.w + 6), tall)
            sheet.add_cable(cpu, m, (box.cx, box.y), (box.cx, y + tall / 2))


def _draw_upward_cables(sheet: Sheet, node: NodeDevices, homes: list[int]) -> None:
    """From PCIe switches up to a socket above them: into its side, the farther ones higher."""
    for c in node.get_devices("cpu"):
        box = sheet.boxes[c]
        for side in (-1, 1):
            linked_homes = [p for p in homes if sheet.is_linked(p, c) and (sheet.boxes[p].cx - box.cx) * side > 0]
            linked_homes.sort(key=lambda p: -abs(sheet.boxes[p].cx - box.cx))
            for i, p in enumerate(linked_homes):
                y = box.y + (i + 0.5) * box.h / len(linked_homes)
                x = sheet.boxes[p].cx + 10
                edge = box.face_x(sheet.boxes[p].cx)
                if box.x < x < box.right:
                    sheet.add_cable(p, c, (x, sheet.boxes[p].y), (x, box.bottom))
                else:
                    sheet.add_cable(p, c, (x, sheet.boxes[p].y), (x, y), (edge, y))


def _place_nics(sheet: Sheet, node: NodeDevices, homes: list[int], panel: float, reverse: bool, step: float) -> None:
    """A column of NICs at the right edge, in the order of what they hang on, so that their cables nest."""
    nics = node.get_devices("nic")
    # Cards in the order of what they hang on, so that cables nest instead of crossing.
    order = {p: i for i, p in enumerate(sorted([*homes, *node.get_devices("cpu")], key=lambda d: sheet.boxes[d].cx))}
    nics.sort(reverse=reverse)
    nics.sort(key=lambda d: order.get(node.find_home(d) or 0, 99))
    if len(nics) > 8:
        step = min(step, 8 * step / len(nics))
    elif 1 < len(nics) < 8:
        step = min(45.0, 7 * step / (len(nics) - 1))
    tall = min(19.0, step - 3)
    for row, d in enumerate(nics):
        y = 110.0
        if len(nics) > 1:
            y = 44 + row * step
        sheet.boxes[d] = center_box(8 + panel, y, 56, tall)
        home = node.find_home(d)
        if home is None:
            continue
        box = sheet.boxes[home]
        own_nics = [m for m in nics if node.find_home(m) == home]
        q, k = own_nics.index(d), len(own_nics)
        if node.kind[home] == "pcie" and not node.list_attached(home, "gpu"):
            x = panel - 56.0  # a switch of switches: round the sockets above it
            sheet.add_cable(home, d, (box.right, box.cy), (x, box.cy), (x, y), (sheet.boxes[d].x, y))
            continue
        if k == 1:
            x = box.cx - 8
        elif k == 2:
            x = box.cx + (q - 0.5) * 26
        else:
            x = box.cx + (q - (k - 1) / 2) * min(16, box.w / (k + 1))
        sheet.add_cable(home, d, (x, box.y), (x, y), (sheet.boxes[d].x, y))
