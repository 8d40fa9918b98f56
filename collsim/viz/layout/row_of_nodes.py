"""Several nodes side by side under the fabric: cards on top, then sockets, PCIe switches, GPUs and the NVSwitch, each
in its row.

Everything in a node has a column of its own, so that cables are vertical and none passes behind a box: a PCIe switch
stands over its GPUs and under its cards, a socket between its switches.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from ...locale import Text
from .geometry import Box, center_box
from .levels import draw_cables_between, is_in_rows, place_fabric_on_top, place_levels_between, sort_between
from .sheet import NodeDevices, Sheet, build_panel, draw_arches, draw_cables_to_bars, name_insides

_EDGE = 12.0  # between a panel and what is in it
_PANEL_GAP = 8.0  # between panels
_LEVEL_CARD_PITCH = 84.0  # pixels from GPU to GPU from which on cards are drawn level; below it they stand upright
#: On a narrow screen: pixels of a row of GPUs, and between rows.
_STACKED_WIDTH, _STACKED_GAP = 320.0, 26.0
#: There: height of a card, width of a socket, height of a switch over one GPU, in which names can be read.
_STACKED_CARD, _STACKED_SOCKET, _UPRIGHT_SWITCH = 64.0, 66.0, 42.0


@dataclass(eq=False)
class _Rows:
    """Tops of the rows in a panel, in pixels from its top; `upper` and `lower` are those of PCIe switches."""

    nic: float = 12.0
    memory: float = 0.0
    cpu: float = 0.0
    upper: float = 0.0
    lower: float = 0.0
    gpu: float = 0.0
    bar: float = 0.0
    height: float = 0.0  # of the whole panel
    card: float = 50.0  # height of a card; where it stands upright, until the rows are found
    socket: float = 50.0  # width of a socket that stands between its switches
    switch: float = 22.0  # height of a PCIe switch
    panel: float = 190.0  # least width of a panel


@dataclass(eq=False)
class _Inside:
    """One node while it is being placed: x runs from 0, rows are known."""

    sheet: Sheet
    node: NodeDevices
    pitch: float
    rows: _Rows
    x: float = 0.0
    span: dict[int, tuple[float, float]] = field(default_factory=dict)
    cards: dict[int, float] = field(default_factory=dict)

    def list_children(self, device: int) -> list[int]:
        """What hangs on a socket or switch: switches and ranks, in order.

        Args:
            device: Number of a device in the picture.
        """
        node = self.node
        switches = [d for d in node.near[device] if node.kind[d] == "pcie" and find_parent(node, d) == device]
        return switches + [d for d in list_rank_devices(node) if node.find_home(d) == device]

    def list_nics(self, device: int) -> list[int]:
        """Cards that hang on a device.

        Args:
            device: Number of a device in the picture.
        """
        return [d for d in self.node.get_devices("nic") if self.node.find_home(d) == device]

    def list_memory(self, device: int) -> list[int]:
        """Host memories of a socket in which no rank sits.

        Args:
            device: Number of a device in the picture.
        """
        return [
            d for d in self.node.near[device] if self.node.kind[d] == "memory" and self.sheet.picture.endpoint[d] < 0
        ]


def arrange_side_by_side(sheet: Sheet, nodes: list[NodeDevices], title: Text, widest_pitch: float = 64.0) -> None:
    """Place nodes in a row, their cards on top, and the fabric's switches above them, a band for each of its levels.

    Args:
        sheet: The sheet that is being drawn; boxes, cables and names are added to it.
        nodes: Devices of each node.
        title: Name of the machine in every language.
        widest_pitch: Pixels from GPU to GPU where there is room; fewer where nodes are many.
    """
    most = max(len(list_rank_devices(n)) for n in nodes)
    pitch = max(34.0, min(widest_pitch, (1134.0 / len(nodes) - 2 * _EDGE - _PANEL_GAP) / most))
    rows = _find_rows(sheet, nodes, _Rows(), upright=pitch < _LEVEL_CARD_PITCH and _has_many_cards(nodes))
    _place_row(sheet, nodes, title, pitch, rows)
    right = max(panel.box.right for panel in sheet.panels)
    place_fabric_on_top(sheet, [d for n in nodes for d in n.get_devices("nic")], _PANEL_GAP, right)


def _place_row(sheet: Sheet, nodes: list[NodeDevices], title: Text, pitch: float, rows: _Rows) -> None:
    """Nodes side by side, each in its panel."""
    insides = [_Inside(sheet, n, pitch, rows) for n in nodes]
    for inside in insides:
        _assign_columns(inside)
    panel_width = max(max(inside.x for inside in insides) + 2 * _EDGE, rows.panel)
    for i, inside in enumerate(insides):
        left = _PANEL_GAP + i * (panel_width + _PANEL_GAP)
        _place_boxes(inside, left + (panel_width - inside.x) / 2, rows)
        name_insides(sheet, inside.node)
        panel = build_panel(inside.node, sheet.picture, Box(left, 0.0, panel_width, rows.height), title)
        sheet.panels.append(replace(panel, foot=True))
        draw_cables_to_bars(sheet, inside.node)
        draw_arches(sheet, inside.node, rows.height - rows.gpu - 76)


def list_rank_devices(node: NodeDevices) -> list[int]:
    """Devices in the bottom row: the GPUs, or the memories that ranks sit in.

    Args:
        node: Devices of the node.
    """
    return node.get_devices("gpu") or node.get_devices("memory")


def find_parent(node: NodeDevices, switch: int) -> int | None:
    """The device above a PCIe switch: its socket, or the switch that has more switches below it.

    Args:
        node: Devices of the node.
        switch: A PCIe switch of the node.
    """
    if sockets := [d for d in node.near[switch] if node.kind[d] == "cpu"]:
        return sockets[0]
    above = [d for d in node.near[switch] if node.kind[d] == "pcie" and not node.list_attached(d, "gpu")]
    if above and node.list_attached(switch, "gpu"):
        return above[0]
    return None


def _has_many_cards(nodes: list[NodeDevices]) -> bool:
    return max(len(n.get_devices("nic")) for n in nodes) > 2


def _find_rows(sheet: Sheet, nodes: list[NodeDevices], rows: _Rows, *, upright: bool) -> _Rows:
    """Where the rows are: those that no node needs take no room. `rows` has the sizes."""
    kinds = {sheet.picture.kind[d] for n in nodes for d in n.members}
    top = rows.nic
    if not upright:
        rows.card = 20.0
    if "nic" in kinds:
        top += rows.card + 30
    host = [d for n in nodes for d in n.get_devices("memory") if sheet.picture.endpoint[d] < 0]
    if host:
        rows.memory, top = top, top + 20 + 22
    if "cpu" in kinds:
        rows.cpu, top = top, top + 30 + 26
    if any(not n.list_attached(p, "gpu") and n.get_devices("gpu") for n in nodes for p in n.get_devices("pcie")):
        rows.upper, top = top, top + rows.switch + 26
    if "pcie" in kinds:
        rows.lower, top = top, top + rows.switch + 26
    rows.gpu, top = top, top + 32
    if "nvswitch" in kinds:
        rows.bar, top = top + 56, top + 56 + 28
    elif any(n.pairs for n in nodes):
        # Arches of cables between GPUs need room in proportion to their number, within limits.
        top += 16 + min(120.0, 9.0 * max(len(n.pairs) for n in nodes))
    rows.height = top + 36
    return rows


# ---- columns


def _assign_columns(inside: _Inside) -> None:
    """Give every device that is not above another its range of x."""
    node = inside.node
    for root in node.get_devices("cpu") or [p for p in node.get_devices("pcie") if find_parent(node, p) is None]:
        _assign_column(inside, root)
    for unplaced in [d for d in [*node.get_devices("pcie"), *list_rank_devices(node)] if d not in inside.span]:
        _assign_column(inside, unplaced)
    _place_lone_cards(inside)


def _place_lone_cards(inside: _Inside) -> None:
    """Room for the cards that are above no other device."""
    for card in [d for d in inside.node.get_devices("nic") if d not in inside.cards]:
        inside.cards[card] = inside.x + inside.pitch / 2
        inside.x += inside.pitch


def _assign_column(inside: _Inside, device: int) -> None:
    """A socket or switch right above its ranks, or between the two halves of what hangs on it."""
    children = [d for d in inside.list_children(device) if d not in inside.span]
    start = inside.x
    # A socket over switches stands in the middle of them, so that its cables do not cross.
    if any(inside.node.kind[d] == "pcie" for d in children):
        half = (len(children) + 1) // 2
        for d in children[:half]:
            _assign_column(inside, d)
        _assign_own_column(inside, device)
        for d in children[half:]:
            _assign_column(inside, d)
        return
    for d in children:
        inside.span[d] = (inside.x, inside.x + inside.pitch)
        inside.x += inside.pitch
    if not children and device not in list_rank_devices(inside.node):
        _assign_own_column(inside, device)
        return
    cards = inside.list_nics(device)
    memory_width = 64 * bool(inside.list_memory(device))
    # Cards share the width of their host, which grows with their number.
    least = max(len(cards), 1) * inside.pitch + memory_width
    inside.x = max(inside.x, start + least)
    inside.span[device] = (start, inside.x)
    room = inside.x - start - memory_width
    for i, card in enumerate(cards):
        inside.cards[card] = inside.x - room + (i + 0.5) * room / len(cards)


def _assign_own_column(inside: _Inside, device: int) -> None:
    """Room for a socket by itself; its cards above it, and beside it those that its memory leaves no room for."""
    cards, has_no_memory = inside.list_nics(device), not inside.list_memory(device)
    width = inside.rows.socket
    inside.span[device] = (inside.x, inside.x + width)
    for i, card in enumerate(cards):
        inside.cards[card] = inside.x + width + 16 + 32 * (i - has_no_memory)
    if has_no_memory and cards:
        inside.cards[cards[0]] = inside.x + width / 2
    inside.x += width + 32 * max(0, len(cards) - has_no_memory) + 4


# ---- boxes and cables


def _place_boxes(inside: _Inside, left: float, rows: _Rows) -> None:
    sheet, node = inside.sheet, inside.node
    # Boxes of one kind stand at one height over all nodes.
    for d, (low, high) in inside.span.items():
        kind, middle = node.kind[d], left + (low + high) / 2
        if d in list_rank_devices(node):
            width = min(46.0, _narrow_pitch(inside.pitch))
            # Not so tall that the player would write the number upright.
            sheet.boxes[d] = center_box(middle, rows.gpu + 16, width, min(32.0, 1.6 * width))
        elif kind == "cpu":
            sheet.boxes[d] = center_box(middle, rows.cpu + 15, high - low - 8, 30)
        else:
            top = rows.upper
            if node.list_attached(d, "gpu") or not top:
                top = rows.lower
            sheet.boxes[d] = center_box(middle, top + rows.switch / 2, high - low - 2, rows.switch)
    card_width = 54.0
    if rows.card > 30:
        card_width = min(28.0, _narrow_pitch(inside.pitch))
    for card, x in inside.cards.items():
        sheet.boxes[card] = center_box(left + x, rows.nic + rows.card / 2, card_width, rows.card)
    bars = node.get_devices("nvswitch")
    rank_boxes = [sheet.boxes[g] for g in list_rank_devices(node)]
    low = min(b.x for b in rank_boxes)
    width = max(b.right for b in rank_boxes) - low
    sheet.place_bars(bars, Box(low, rows.bar, width, 28), 6)
    for c in node.get_devices("cpu"):
        for m in inside.list_memory(c):
            box = sheet.boxes[c]
            if box.w <= rows.socket:
                x, memory_width = box.cx, rows.socket - 4
            else:
                x, memory_width = box.x + 30, 58
            sheet.boxes[m] = center_box(x, rows.memory + 10, memory_width, 20)
            sheet.add_cable(c, m, (x, box.y), (x, rows.memory + 20))
    _draw_upward_cables(inside)
    _join_sockets(sheet, node)


def _narrow_pitch(pitch: float) -> float:
    """Width of a box where boxes are `pitch` apart."""
    return pitch - min(6.0, 0.18 * pitch)


def _draw_upward_cables(inside: _Inside) -> None:
    """Cables from ranks and switches to what is above them, and from those to their cards."""
    sheet, node = inside.sheet, inside.node
    for host in [*node.get_devices("cpu"), *node.get_devices("pcie")]:
        top = sheet.boxes[host]
        below = [d for d in inside.list_children(host) if d in sheet.boxes]
        for d in below:
            box = sheet.boxes[d]
            # A device under its host has a straight cable; others enter from the side, the farthest highest, so that
            # none cross.
            if top.x <= box.cx <= top.right:
                sheet.add_cable(d, host, (box.cx, box.y), (box.cx, top.bottom))
        for side in (-1, 1):
            far = [d for d in below if (sheet.boxes[d].cx - top.cx) * side > top.w / 2]
            far.sort(key=lambda d: -abs(sheet.boxes[d].cx - top.cx))
            for i, d in enumerate(far):
                box, y = sheet.boxes[d], top.y + 10 + (i + 0.5) * (top.h - 10) / len(far)
                x, edge = box.x + 9, top.right
                if side < 0:
                    x, edge = box.right - 9, top.x
                sheet.add_cable(d, host, (x, box.y), (x, y), (edge, y))
        for card in inside.list_nics(host):
            box = sheet.boxes[card]
            if top.x + 4 <= box.cx <= top.right - 4:
                hangs_on_socket = any(node.kind[d] == "cpu" for d in node.near[host])
                between = sheet.is_linked(host, card) and top.w < 40 and hangs_on_socket
                # A card's cable gives way to the one between switch and socket.
                x = box.cx
                if between and _find_host_side(inside, host) > 0:
                    x -= 5
                elif between:
                    x += 5
                sheet.add_cable(host, card, (x, top.y), (x, box.bottom))
            else:
                sheet.add_cable(host, card, (top.right, top.y + 6), (box.cx, top.y + 6), (box.cx, box.bottom))


def _find_host_side(inside: _Inside, switch: int) -> float:
    """On which side of a switch its socket stands."""
    boxes = inside.sheet.boxes
    above = find_parent(inside.node, switch)
    if above is not None and above in boxes:
        return boxes[above].cx - boxes[switch].cx
    return 0.0


def _join_sockets(sheet: Sheet, node: NodeDevices) -> None:
    """Neighbours straight, others over the top."""
    cpus = sorted(node.get_devices("cpu"), key=lambda c: sheet.boxes[c].cx)
    lane = 0
    for i, a in enumerate(cpus):
        for k, b in enumerate(cpus[i + 1 :]):
            if not sheet.is_linked(a, b):
                continue
            first, second = sheet.boxes[a], sheet.boxes[b]
            if k == 0:
                sheet.add_cable(a, b, (first.right, first.y + 6), (second.x, second.y + 6))
            else:
                lane += 1
                x0, x1, y = first.right - 4, second.x + 4, first.y - 5 - 5 * lane
                sheet.add_cable(a, b, (x0, first.y), (x0, y), (x1, y), (x1, second.y))


# ---- on a narrow screen


def arrange_stacked(sheet: Sheet, nodes: list[NodeDevices], title: Text) -> bool:
    """Place one node below the fabric, or up to four above and below it, two beside each other: the upper ones upside
    down, so that the cards of all face the fabric. Returns whether no cable passes behind a switch.

    Args:
        sheet: The sheet that is being drawn; boxes, cables and names are added to it.
        nodes: Devices of each node, one to four.
        title: Name of the machine in every language.
    """
    upper, lower = nodes[: len(nodes) // 2], nodes[len(nodes) // 2 :]
    cards = [[d for n in row for d in n.get_devices("nic")] for row in (upper, lower)]
    levels = sort_between(sheet.picture, *cards)
    rows_of_fabric = [cards[0], *levels, cards[1]]
    most, least = max(len(list_rank_devices(n)) for n in nodes), 34.0
    sizes = _Rows(card=_STACKED_CARD, socket=_STACKED_SOCKET)
    upright = _has_many_cards(nodes) or len(lower) > 1
    if len(lower) > 1:
        least = 22.0
        sizes.panel = 0.0
        if any(len(n.list_attached(p, "gpu")) == 1 for n in nodes for p in n.get_devices("pcie")):
            sizes.switch = _UPRIGHT_SWITCH
    pitch = min(64.0, max(least, _STACKED_WIDTH / most / len(lower)))
    y = _PANEL_GAP
    for row in filter(None, (upper, lower)):
        alone = Sheet(sheet.picture, sheet.pipe, sheet.chips)
        _place_row(alone, row, title, pitch, _find_rows(alone, nodes, replace(sizes), upright=upright))
        height = _squeeze_rows(alone)
        if row is lower:
            y = place_levels_between(sheet, levels, y, _PANEL_GAP, max(panel.box.right for panel in alone.panels))
        _add_row(sheet, alone, y, height, is_flipped=row is upper)
        y += height
    for node in nodes:
        bars = node.get_devices("nvswitch")
        cables = [(gpu, bar) for gpu in node.get_devices("gpu") for bar in bars]
        sheet.narrow_cables(cables, 0.4 * _narrow_pitch(pitch) / max(1, len(bars)))
    draw_cables_between(sheet, rows_of_fabric)
    return is_in_rows(sheet.picture, rows_of_fabric)


def _squeeze_rows(sheet: Sheet) -> float:
    """Bring the rows of nodes nearer to each other where only cables are between them; the height of their panels."""
    before, after = [0.0], [0.0]
    for box in sorted(sheet.boxes.values(), key=lambda box: box.y):
        if box.bottom <= before[-1]:
            continue
        gap = max(0.0, box.y - before[-1])
        top = after[-1] + min(gap, _STACKED_GAP)
        before += [before[-1] + gap, box.bottom]
        after += [top, top + box.bottom - before[-2]]
    panel = sheet.panels[0]
    height = after[-1] + panel.box.h - before[-1]
    before.append(panel.box.h)
    after.append(height)
    for d, box in sheet.boxes.items():
        sheet.boxes[d] = replace(box, y=float(np.interp(box.y, before, after)))
    for pair, corners in sheet.bends.items():
        sheet.bends[pair] = [(x, float(np.interp(y, before, after))) for x, y in corners]
    sheet.panels = [replace(panel, box=replace(panel.box, h=height)) for panel in sheet.panels]
    return height


def _add_row(sheet: Sheet, alone: Sheet, y: float, height: float, *, is_flipped: bool) -> None:
    """Put the drawing of a row of nodes on the sheet, from `y` downwards, as it is or upside down."""
    sign, start = 1.0, y
    if is_flipped:
        sign, start = -1.0, y + height
    for d, box in alone.boxes.items():
        middle = start + sign * box.cy
        sheet.boxes[d] = center_box(box.cx, middle, box.w, box.h)
    for pair, corners in alone.bends.items():
        sheet.bends[pair] = [(x, start + sign * corner_y) for x, corner_y in corners]
    sheet.left_hand |= alone.left_hand
    sheet.names |= alone.names
    sheet.panels += [replace(panel, box=panel.box.shift(0, y), foot=not is_flipped) for panel in alone.panels]
