"""A rack of many GPUs in one NVLink domain: trays above and below the NVSwitches, each with its sockets, GPUs and
cards."""

from __future__ import annotations

from ...locale import Text
from .geometry import Box, center_box
from .sheet import NodeDevices, Sheet, build_panel, draw_cables_to_bars, name_insides

_TRAY, _SLOT = 122.0, 28.0


def is_rack(nodes: list[NodeDevices]) -> bool:
    """One node whose GPUs all hang on a socket and on one NVSwitch.

    Args:
        nodes: Devices of each node.
    """
    node, bars = nodes[0], nodes[0].get_devices("nvswitch")
    if len(nodes) != 1 or len(bars) != 1:
        return False
    return all(
        node.find_home(g) in node.get_devices("cpu") and bars[0] in node.near[g] for g in node.get_devices("gpu")
    )


def draw_rack(sheet: Sheet, node: NodeDevices, title: Text) -> None:
    """Two rows of trays with the NVSwitches as a bar between them, so that every NVLink is vertical.

    Args:
        sheet: The sheet that is being drawn; boxes, cables and names are added to it.
        node: Devices of the node.
        title: Name of the machine in every language.
    """
    trays = _group_trays(sheet, node)
    across = (len(trays) + 1) // 2
    cards = bool(node.get_devices("nic"))
    memory = any(sheet.picture.endpoint[m] < 0 for m in node.get_devices("memory"))
    tall = 12.0 + 26 * memory + 66 * cards + 30 + 30 + 30
    width = across * (_TRAY + 6) - 6
    middle = 34 + tall + 40
    panel = build_panel(node, sheet.picture, Box(0, 0, width + 28, 2 * middle + 34), title)
    sheet.panels.append(panel)
    for i, tray in enumerate(trays):
        row, column = divmod(i, across)
        _draw_tray(sheet, node, tray, 14 + column * (_TRAY + 6), middle, up=row == 0)
    sheet.boxes[node.get_devices("nvswitch")[0]] = Box(14, middle, width, 34)
    name_insides(sheet, node)
    sheet.narrow_cables(
        [(c, m) for c in node.get_devices("cpu") for m in node.near[c] if node.kind[m] == "memory"], 6.0
    )
    draw_cables_to_bars(sheet, node)


def _group_trays(sheet: Sheet, node: NodeDevices) -> list[list[int]]:
    """Sockets that are joined to each other, in order; at most two stand in a tray."""
    trays: list[list[int]] = []
    for c in node.get_devices("cpu"):
        if trays and len(trays[-1]) == 1 and sheet.is_linked(c, trays[-1][0]):
            trays[-1].append(c)
        else:
            trays.append([c])
    return trays


def _draw_tray(sheet: Sheet, node: NodeDevices, cpus: list[int], left: float, middle: float, *, up: bool) -> None:
    """GPUs next to the bar at `middle`, then their sockets, cards and host memory, away from it."""

    def row(distance: float, height: float) -> float:
        # Trays above the bar grow upwards and those below it downwards, as mirror images.
        if up:
            return middle - 40 - distance - height
        return middle + 34 + 40 + distance

    for i, c in enumerate(cpus):
        x0 = left + i * 2.2 * _SLOT
        gpus, cards = node.list_attached(c, "gpu"), node.list_attached(c, "nic")
        sheet.boxes[c] = Box(x0, row(30 + 26, 22), 2 * _SLOT, 22)
        for k, g in enumerate(gpus):
            sheet.boxes[g] = center_box(
                x0 + (k + 0.5) * 2 * _SLOT / len(gpus), row(0, 30) + 15, min(26.0, 2 * _SLOT / len(gpus) - 2), 30
            )
            _draw_upright_cable(sheet, g, c)
        for k, card in enumerate(cards):
            x = x0 + 10 + k * (2 * _SLOT - 20) / max(1, len(cards) - 1)
            sheet.boxes[card] = center_box(x, row(30 + 26 + 22 + 18, 48) + 24, 20, 48)
            _draw_upright_cable(sheet, card, c)
        for m in node.near[c]:
            if node.kind[m] == "memory" and sheet.picture.endpoint[m] < 0:
                beyond = 18
                if cards:
                    beyond = 66
                sheet.boxes[m] = center_box(x0 + _SLOT, row(30 + 26 + 22 + beyond + 4, 18) + 9, 2 * _SLOT - 4, 18)
                _draw_upright_cable(sheet, m, c)
    if len(cpus) == 2:
        first, second = (sheet.boxes[c] for c in cpus)
        sheet.add_cable(cpus[0], cpus[1], (first.right, first.cy), (second.x, second.cy))


def _draw_upright_cable(sheet: Sheet, device: int, socket: int) -> None:
    """A vertical cable in the middle of the device."""
    box, other = sheet.boxes[device], sheet.boxes[socket]
    sheet.add_cable(device, socket, (box.cx, box.face_y(other.cy)), (box.cx, other.face_y(box.cy)))
