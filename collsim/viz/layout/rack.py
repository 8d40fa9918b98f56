"""A rack of many GPUs in one NVLink domain: trays above and below the NVSwitches, each with its sockets, GPUs and
cards."""

from __future__ import annotations

from .geometry import Box, centred
from .sheet import NodeDevices, Sheet, down_to_bars, name_insides, panel_of

_TRAY, _SLOT = 122.0, 28.0


def is_rack(nodes: list[NodeDevices]) -> bool:
    """One node whose GPUs all hang on a socket and on one NVSwitch."""
    node, bars = nodes[0], nodes[0].of("nvswitch")
    if len(nodes) != 1 or len(bars) != 1:
        return False
    return all(node.home(g) in node.of("cpu") and bars[0] in node.near[g] for g in node.of("gpu"))


def rack(sheet: Sheet, node: NodeDevices, title: str) -> None:
    """Two rows of trays with the NVSwitches as a bar between them, so that every NVLink is vertical."""
    trays = _trays(sheet, node)
    across = (len(trays) + 1) // 2
    cards, memory = bool(node.of("nic")), any(sheet.what.endpoint[m] < 0 for m in node.of("memory"))
    tall = 12.0 + 26 * memory + 66 * cards + 30 + 30 + 30
    width = across * (_TRAY + 6) - 6
    middle = 34 + tall + 40
    panel = panel_of(node, sheet.what, Box(0, 0, width + 28, 2 * middle + 34), title)
    sheet.panels.append(panel)
    for i, tray in enumerate(trays):
        row, column = divmod(i, across)
        _tray(sheet, node, tray, 14 + column * (_TRAY + 6), middle, up=row == 0)
    sheet.boxes[node.of("nvswitch")[0]] = Box(14, middle, width, 34)
    name_insides(sheet, node)
    sheet.narrow([(c, m) for c in node.of("cpu") for m in node.near[c] if node.kind[m] == "memory"], 6.0)
    down_to_bars(sheet, node)


def _trays(sheet: Sheet, node: NodeDevices) -> list[list[int]]:
    """Sockets that are joined to each other, in order; at most two stand in a tray."""
    trays: list[list[int]] = []
    for c in node.of("cpu"):
        if trays and len(trays[-1]) == 1 and sheet.joined(c, trays[-1][0]):
            trays[-1].append(c)
        else:
            trays.append([c])
    return trays


def _tray(sheet: Sheet, node: NodeDevices, cpus: list[int], left: float, middle: float, *, up: bool) -> None:
    """GPUs next to the bar at `middle`, then their sockets, cards and host memory, away from it."""

    def row(distance: float, height: float) -> float:
        return middle - 40 - distance - height if up else middle + 34 + 40 + distance

    for i, c in enumerate(cpus):
        x0 = left + i * 2.2 * _SLOT
        gpus, cards = node.hanging(c, "gpu"), node.hanging(c, "nic")
        sheet.boxes[c] = Box(x0, row(30 + 26, 22), 2 * _SLOT, 22)
        for k, g in enumerate(gpus):
            sheet.boxes[g] = centred(
                x0 + (k + 0.5) * 2 * _SLOT / len(gpus), row(0, 30) + 15, min(26.0, 2 * _SLOT / len(gpus) - 2), 30
            )
            _upright(sheet, g, c)
        for k, card in enumerate(cards):
            x = x0 + 10 + k * (2 * _SLOT - 20) / max(1, len(cards) - 1)
            sheet.boxes[card] = centred(x, row(30 + 26 + 22 + 18, 48) + 24, 20, 48)
            _upright(sheet, card, c)
        for m in node.near[c]:
            if node.kind[m] == "memory" and sheet.what.endpoint[m] < 0:
                beyond = 66 if cards else 18
                sheet.boxes[m] = centred(x0 + _SLOT, row(30 + 26 + 22 + beyond + 4, 18) + 9, 2 * _SLOT - 4, 18)
                _upright(sheet, m, c)
    if len(cpus) == 2:
        one, two = (sheet.boxes[c] for c in cpus)
        sheet.cable(cpus[0], cpus[1], (one.right, one.cy), (two.x, two.cy))


def _upright(sheet: Sheet, device: int, socket: int) -> None:
    """A vertical cable in the middle of the device."""
    one, two = sheet.boxes[device], sheet.boxes[socket]
    ends = ((one.cx, one.y), (one.cx, two.bottom)) if one.y > two.y else ((one.cx, one.bottom), (one.cx, two.y))
    sheet.cable(device, socket, *ends)
