"""One node by itself: host memory, sockets, PCIe switches and GPUs as a tree from the top, the NVSwitch as a bar
below."""

from __future__ import annotations

from itertools import pairwise

from .cube_mesh import cube
from .geometry import Box, centred
from .sheet import NodeDevices, Sheet, arches, down_to_bars, name_insides, number_of


def alone(sheet: Sheet, node: NodeDevices) -> None:
    """Host memory, sockets, PCIe switches and GPUs as a tree from the top, the NVSwitch as a bar below."""
    if node.is_cube:
        cube(sheet, node, scale=1.45)
        name_insides(sheet, node)
        return
    gpus, bars = node.of("gpu"), node.of("nvswitch")
    homes = _ordered_homes(node)
    rows = (8.0, 96.0, 200.0, 318.0) if not bars and not node.pairs else (8.0, 72.0, 146.0, 232.0)
    x, slot = 0.0, {}
    for home in homes:
        mine = node.hanging(home, "gpu") if home is not None else [g for g in gpus if node.home(g) is None]
        for g in mine:
            slot[g] = x
            x += 84.0
        x += 22.0
    for g in gpus:
        sheet.boxes[g] = Box(slot[g], rows[3], 62, 48)
    _tree_above(sheet, node, rows)
    for i, bar in enumerate(bars):
        wide = (x - 22 - 22) / len(bars)
        sheet.boxes[bar] = Box(i * wide + 1, rows[3] + 48 + 92, wide - 2 - 10 * (i < len(bars) - 1), 34)
    name_insides(sheet, node)
    down_to_bars(sheet, node)
    arches(sheet, node, 110.0)
    for m in node.of("memory"):
        if sheet.what.endpoint[m] < 0:
            number = number_of(sheet.what, m)
            sheet.names[m] = {"en": f"host memory {number}".strip(), "zh": f"主机内存 {number}".strip()}


def _ordered_homes(node: NodeDevices) -> list[int | None]:
    """PCIe switches (or sockets) in the order of the GPUs that hang on them."""
    return list(dict.fromkeys(node.home(g) for g in node.of("gpu")))


def _tree_above(sheet: Sheet, node: NodeDevices, rows: tuple[float, float, float, float]) -> None:
    """PCIe switches over their GPUs, sockets over their switches, memory over its socket."""
    middle = _middles(sheet, node)
    lower = sorted((p for p in node.of("pcie") if node.hanging(p, "gpu")), key=lambda p: middle[p])
    room = min((middle[b] - middle[a] - 16 for a, b in pairwise(lower)), default=160.0)
    for p in node.of("pcie"):
        mine = [middle[g] for g in node.hanging(p, "gpu")]
        wide = max(min(136.0, room), min(room, max(mine) - min(mine) + 62)) if mine else 110.0
        sheet.boxes[p] = (
            centred(middle[p], rows[2] + 22, wide, 44)
            if mine or not lower
            else centred(middle[p], rows[2] - 40, wide, 30)
        )
    apart = min((b - a for a, b in pairwise(sorted(middle[c] for c in node.of("cpu")))), default=300.0)
    for c in node.of("cpu"):
        direct = [middle[d] for d in node.near[c] if node.kind[d] == "gpu"]
        wide = max(min(130.0, apart - 20), max(direct) - min(direct) + 62 if direct else 0.0)
        sheet.boxes[c] = centred(middle[c], rows[1] + 21, wide, 42)
    for m in node.of("memory"):
        over = next(
            (middle[c] for c in node.near[m] if node.kind[c] == "cpu" and c in middle), next(iter(middle.values()))
        )
        sheet.boxes[m] = centred(over, rows[0] + 18, min(160.0, apart - 8), 36)
    _tree_cables(sheet, node)


def _middles(sheet: Sheet, node: NodeDevices) -> dict[int, float]:
    """x of GPUs as placed; of PCIe switches and sockets the middle of what hangs below them."""
    middle = {g: sheet.boxes[g].cx for g in node.of("gpu")}
    right = max(middle.values())
    for _ in range(3):
        for p in node.of("pcie"):
            below = [middle[d] for d in node.near[p] if d in middle and node.kind[d] in ("gpu", "pcie") and d != p]
            if below and p not in middle:
                middle[p] = (min(below) + max(below)) / 2
    for i, p in enumerate(node.of("pcie")):
        middle.setdefault(p, right + 90 * (i + 1))
    cpus = node.of("cpu")
    for i, c in enumerate(cpus):
        below = [middle[d] for d in node.near[c] if node.kind[d] in ("pcie", "gpu")]
        middle[c] = (min(below) + max(below)) / 2 if below else right + 130 if i else (i + 0.5) * right / len(cpus)
    return middle


def _tree_cables(sheet: Sheet, node: NodeDevices) -> None:
    """Vertical where the boxes allow it; between sockets horizontal."""
    for g in node.of("gpu"):
        home = node.home(g)
        if home is None:
            continue
        low, high = sheet.boxes[g], sheet.boxes[home]
        x = min(max(low.cx, high.x + 10), high.right - 10)
        if low.x + 6 <= x <= low.right - 6:
            sheet.cable(g, home, (x, low.y), (x, high.bottom))
    for c in node.of("cpu"):
        box = sheet.boxes[c]
        for d in node.near[c]:
            if d in sheet.boxes and node.kind[d] == "pcie":
                low = sheet.boxes[d]
                x = min(max(low.cx, box.x + 24), box.right - 24)
                sheet.cable(d, c, (low.cx, low.y), (x, box.bottom))
