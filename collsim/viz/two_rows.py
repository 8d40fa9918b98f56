"""Three to eight nodes: two rows with the fabric as a bar between them; everything in a node is smaller."""

from __future__ import annotations

from dataclasses import replace

from .fabric_bars import fabric_bar
from .geometry import Box, centred
from .sheet import Node, Sheet, arches, down_to_bars, name_insides, panel_of


def in_two_rows(sheet: Sheet, nodes: list[Node], title: str) -> None:
    """Two rows of nodes with the fabric as a bar between them; the lower row has its NICs on top."""
    across = (len(nodes) + 1) // 2
    most = max(len(n.of("gpu")) for n in nodes)
    wide = max((1134.0 - 8 - across * 8) / across, 22.0 + most * 31)
    tall = 190.0
    fabric = Box(8, 8 + tall + 22, across * (wide + 8) - 8, 52 if sheet.what.kind.count("switch") == 1 else 92)
    for n in nodes:
        row, column = divmod(n.number, across)
        box = Box(8 + column * (wide + 8), 8 if row == 0 else fabric.bottom + 22, wide, tall)
        panel = panel_of(n, sheet.what, box, title)
        sheet.panels.append(panel if wide > 420 else replace(panel, note={"en": "", "zh": ""}))
        _small_inside(sheet, n, box, down=row == 0)
        name_insides(sheet, n, small=True)
        if wide / most < 44:
            for d in n.of("cpu", "pcie", "memory"):
                sheet.names[d] = "" if sheet.what.endpoint[d] < 0 else sheet.names.get(d, "")
    fabric_bar(sheet, fabric)


def _small_inside(sheet: Sheet, node: Node, box: Box, down: bool) -> None:
    """GPU row, NVSwitch bar, PCIe and NIC rows of one small node; `down`: its NICs are at the bottom."""
    gpus = node.of("gpu")
    pitch = (box.w - 22) / max(8, len(gpus))
    size = min(42.0, pitch - 5)
    rows = {"bar": 28.0, "gpu": 76.0, "pcie": 126.0, "nic": 163.0} if down else {"bar": 154.0, "gpu": 98.0, "pcie": 61.0, "nic": 22.0}
    offset = box.x + (box.w - len(gpus) * pitch) / 2
    for i, g in enumerate(gpus):
        sheet.boxes[g] = Box(offset + (i + 0.5) * pitch - size / 2, box.y + rows["gpu"], size, min(30.0, size))
    low = min(sheet.boxes[g].x for g in gpus)
    span = max(sheet.boxes[g].right for g in gpus) - low
    for i, bar in enumerate(node.of("nvswitch")):
        part = span / len(node.of("nvswitch"))
        sheet.boxes[bar] = Box(low + i * part, box.y + rows["bar"], part - 2, 18)
    homes = _small_pcie(sheet, node, box.y + rows["pcie"], pitch)
    _small_cards(sheet, node, box, box.y + rows["nic"])
    _small_cpus(sheet, node, homes, box.y + rows["pcie"], down)
    down_to_bars(sheet, node)
    arches(sheet, node, 42.0, up=down)


def _small_pcie(sheet: Sheet, node: Node, y: float, pitch: float) -> list[int]:
    homes = [p for p in node.of("pcie") if node.hanging(p, "gpu")] or node.of("pcie")
    for i, p in enumerate([p for p in node.of("pcie") if p not in homes]):
        below = [sheet.boxes[d].cx for d in node.of("gpu")]
        sheet.boxes[p] = Box(sum(below) / len(below) - 20 + 50 * i, y + (18 if y > sheet.boxes[node.of("gpu")[0]].y else -13), 40, 11)
    for i, p in enumerate(homes):
        centres = [sheet.boxes[g].cx for g in node.hanging(p, "gpu")] or [sheet.boxes[node.of("gpu")[0]].cx + i * pitch]
        wide = min(46.0, pitch * 0.92) if len(centres) < 3 else max(centres) - min(centres) + pitch * 0.5
        sheet.boxes[p] = Box((min(centres) + max(centres)) / 2 - wide / 2, y, wide, 16)
        for g in node.hanging(p, "gpu"):
            gpu, box = sheet.boxes[g], sheet.boxes[p]
            x = min(max(gpu.cx, box.x + 5), box.right - 5)
            x = min(max(x, gpu.x + 4), gpu.right - 4)
            ends = ((x, gpu.bottom), (x, box.y)) if box.y > gpu.y else ((x, gpu.y), (x, box.bottom))
            sheet.cable(g, p, *ends)
    return homes


def _small_cards(sheet: Sheet, node: Node, box: Box, y: float) -> None:
    """NICs in a row, right of the panel's label."""
    nics = node.of("nic")
    nics.sort(key=lambda d: (sheet.boxes[h].cx if (h := node.home(d)) is not None and h in sheet.boxes else 0.0, d))
    start = box.x + (238 if box.w > 420 else 84)
    room = (box.right - 10 - start) / max(1, len(nics))
    for i, d in enumerate(nics):
        wide = min(34.0, room - 4)
        sheet.boxes[d] = Box(start + (i + 0.5) * room - wide / 2, y, wide, 12)
        home = node.home(d)
        if home is None or home not in sheet.boxes:
            continue
        low, high = sorted((sheet.boxes[home], sheet.boxes[d]), key=lambda b: b.y)
        mine = [m for m in nics if node.home(m) == home]
        hub = sheet.boxes[home]
        x0, x1 = hub.cx + (mine.index(d) - (len(mine) - 1) / 2) * min(14, hub.w / (len(mine) + 1)), sheet.boxes[d].cx
        middle = low.bottom + (high.y - low.bottom) * (0.3 + 0.5 * (i + 0.5) / len(nics))
        down = hub.y < sheet.boxes[d].y
        first, last = (hub.bottom, sheet.boxes[d].y) if down else (hub.y, sheet.boxes[d].bottom)
        corners = [(x0, first), (x1, last)] if abs(x0 - x1) < 1.5 else [(x0, first), (x0, middle), (x1, middle), (x1, last)]
        sheet.cable(home, d, *corners)


def _small_cpus(sheet: Sheet, node: Node, homes: list[int], y: float, down: bool) -> None:
    """Sockets and memory: small boxes between the PCIe switches, or in the gap beside them."""
    cpus = node.of("cpu")
    row = sorted(sheet.boxes[g].cx for g in node.of("gpu"))
    for i, c in enumerate(cpus):
        below = [sheet.boxes[p].cx for p in homes if sheet.joined(p, c)]
        x = sum(below) / len(below) if below else row[0] + (i + 0.5) * (row[-1] - row[0]) / len(cpus)
        place = centred(x, y + 8, min(36.0, (row[-1] - row[0]) / 14 + 8), 14)
        squeezed = any(place.overlaps(sheet.boxes[p]) for p in homes)
        if squeezed:
            place = place.moved(0, 19 if down else -19)
            place = Box(place.x + 4, place.y + 2, max(8.0, place.w - 8), 9)
        sheet.boxes[c] = place
        for m in node.near[c]:
            if node.kind[m] == "memory" and m in node.members:
                beside = Box(place.right + 3, place.y, max(8.0, place.w * 0.7), 9)
                sheet.boxes[m] = beside if squeezed else Box(place.x + 2, place.y - 15 if down else place.bottom + 6, place.w - 4, 9)
