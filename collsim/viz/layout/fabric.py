"""The switches of a fabric between two nodes: a tall bar, or a stack."""

from __future__ import annotations

from itertools import pairwise

from .geometry import Box, center_box
from .sheet import NodeDevices, Sheet, name_fabric

_MIN_HEIGHT = 150.0


def place_fabric_between(sheet: Sheet, nodes: list[NodeDevices], left: float, right: float) -> None:
    """The fabric's switches between two nodes: one tall bar, or a stack; those that only one node touches stand on its
    side.

    Args:
        sheet: The sheet that is being drawn; boxes, cables and names are added to it.
        nodes: Devices of each node.
        left: Left edge of the space, CSS pixels.
        right: Right edge of the space, CSS pixels.
    """
    picture = sheet.picture
    switches = [d for d in range(len(picture)) if picture.kind[d] == "switch" and d not in sheet.boxes]
    if not switches:
        return
    near = picture.neighbours()
    cards = {d: [n for n in near[d] if picture.kind[n] == "nic"] for d in switches}
    columns: dict[float, list[int]] = {}
    for d in switches:
        sides = {picture.node[n] for n in cards[d]}
        # A switch that only one node touches stands on that node's side; the others in the middle.
        alone = len(sides) == 1 and len(nodes) > 1 and len(switches) > 1
        if alone:
            x = right - 52
            if 0 in sides:
                x = left + 52
        else:
            x = (left + right) / 2
        columns.setdefault(x, []).append(d)
    low, high = _find_reach(sheet, cards)
    for x, stack in columns.items():
        _place_column(sheet, cards, stack, x, (low, high), only=len(columns) == 1)
    name_fabric(sheet, switches)
    for d in switches:
        for n in cards[d]:
            _draw_level_cable(sheet, n, d)


def _find_reach(sheet: Sheet, cards: dict[int, list[int]]) -> tuple[float, float]:
    """From the highest to the lowest card, and at least as much as a name needs."""
    rows = [sheet.boxes[n].cy for below in cards.values() for n in below] or [44.0, 201.5]
    low, high = min(rows) - 16, max(rows) + 20
    if high - low >= _MIN_HEIGHT:
        return low, high
    low = max(12.0, (low + high - _MIN_HEIGHT) / 2)
    return low, low + _MIN_HEIGHT


def _place_column(
    sheet: Sheet, cards: dict[int, list[int]], stack: list[int], x: float, reach: tuple[float, float], only: bool
) -> None:
    """Switches above one another: leaves at the height of their cards, spines below them."""
    height = {d: sum(sheet.boxes[n].cy for n in cards[d]) / len(cards[d]) for d in stack if cards[d]}
    stack.sort(key=lambda d: (height.get(d, 1e6), d))
    leaves, spines = [d for d in stack if cards[d]], [d for d in stack if not cards[d]]
    if not only:
        wide = 34.0
    elif len(leaves) < 2:
        wide = 44.0
    else:
        wide = 56.0
    rows = None
    if len(leaves) > 1:
        rows = [height[d] for d in leaves]
    _stack_boxes(sheet, leaves or spines, x, *reach, wide, rows)
    if leaves and spines:
        _stack_boxes(sheet, spines, x, reach[1] + 14, reach[1] + 14 + 26 * len(spines), 70.0)


def _draw_level_cable(sheet: Sheet, card: int, switch: int) -> None:
    """A cable straight across, where the switch is as high as the card."""
    a, b = sheet.boxes[card], sheet.boxes[switch]
    if b.y <= a.cy <= b.bottom:
        sheet.add_cable(card, switch, (a.face_x(b.cx), a.cy), (b.face_x(a.cx), a.cy))


def _stack_boxes(
    sheet: Sheet, devices: list[int], x: float, low: float, high: float, wide: float, rows: list[float] | None = None
) -> None:
    """Boxes one below another; each at its own height where `rows` are far enough apart."""
    if rows and len(rows) == len(devices) and min((b - a for a, b in pairwise(rows)), default=0.0) > 13:
        for d, y in zip(devices, rows, strict=True):
            sheet.boxes[d] = center_box(x, y, wide, min(19.0, rows[1] - rows[0] - 3))
        return
    part = (high - low) / max(1, len(devices))
    for i, d in enumerate(devices):
        gap = 5 * (i < len(devices) - 1)
        sheet.boxes[d] = Box(x - wide / 2, low + i * part, wide, part - gap)
