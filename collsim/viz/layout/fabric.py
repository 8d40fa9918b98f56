"""The switches of a fabric between two nodes: a tall bar, or a stack."""

from __future__ import annotations

from itertools import pairwise

from .geometry import Box, centred
from .sheet import Node, Sheet, fabric_names

_LEAST = 150.0


def between(sheet: Sheet, nodes: list[Node], left: float, right: float) -> None:
    """The fabric's switches between two nodes: one tall bar, or a stack; those that only one node touches stand on its
    side."""
    what = sheet.what
    switches = [d for d in range(len(what)) if what.kind[d] == "switch" and d not in sheet.boxes]
    if not switches:
        return
    near = what.neighbours()
    cards = {d: [n for n in near[d] if what.kind[n] == "nic"] for d in switches}
    column: dict[float, list[int]] = {}
    middle = (left + right) / 2
    for d in switches:
        sides = {what.node[n] for n in cards[d]}
        x = (
            middle
            if len(sides) != 1 or len(nodes) == 1 or len(switches) == 1
            else left + 52
            if 0 in sides
            else right - 52
        )
        column.setdefault(x, []).append(d)
    rows = [sheet.boxes[n].cy for d in switches for n in cards[d]] or [44.0, 201.5]
    low, high = min(rows) - 16, max(rows) + 20
    if high - low < _LEAST:  # room for its name
        low, high = max(12.0, (low + high - _LEAST) / 2), max(12.0, (low + high - _LEAST) / 2) + _LEAST
    for x, stack in column.items():
        stack.sort(key=lambda d: (sum(sheet.boxes[n].cy for n in cards[d]) / len(cards[d]) if cards[d] else 1e6, d))
        leaves = [d for d in stack if cards[d]]
        spines = [d for d in stack if not cards[d]]
        wide = 44.0 if len(column) == 1 else 34.0
        heights = (
            [sum(sheet.boxes[n].cy for n in cards[d]) / len(cards[d]) for d in leaves] if len(leaves) > 1 else None
        )
        _stack(
            sheet,
            leaves or spines,
            x,
            low,
            high,
            wide if len(leaves) < 2 else 56.0 if len(column) == 1 else wide,
            heights,
        )
        if leaves and spines:
            _stack(sheet, spines, x, high + 14, high + 14 + 26 * len(spines), 70.0)
    fabric_names(sheet, switches)
    for d in switches:
        for n in cards[d]:
            card, bar = sheet.boxes[n], sheet.boxes[d]
            y = card.cy
            if bar.y <= y <= bar.bottom:
                sheet.cable(
                    n, d, (card.right if bar.cx > card.cx else card.x, y), (bar.x if bar.cx > card.cx else bar.right, y)
                )


def _stack(
    sheet: Sheet, devices: list[int], x: float, low: float, high: float, wide: float, rows: list[float] | None = None
) -> None:
    """Boxes one below another; each at its own height where `rows` are far enough apart."""
    if rows and len(rows) == len(devices) and min((b - a for a, b in pairwise(rows)), default=0.0) > 13:
        for d, y in zip(devices, rows, strict=True):
            sheet.boxes[d] = centred(x, y, wide, min(19.0, rows[1] - rows[0] - 3))
        return
    part = (high - low) / max(1, len(devices))
    for i, d in enumerate(devices):
        sheet.boxes[d] = Box(x - wide / 2, low + i * part, wide, part - (5 if i < len(devices) - 1 else 0))
