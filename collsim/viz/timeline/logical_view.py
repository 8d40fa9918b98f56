"""The picture without a machine: who talks to whom, as a ring, a tree, a star or a grid."""

from __future__ import annotations

from math import ceil, cos, pi, sin, sqrt
from typing import Any

import numpy as np

from ...schedule import Schedule
from .timeline_types import LogicalView

_MAX_EDGES = 5000


def build_logical_view(schedule: Schedule, across: int = 0) -> LogicalView:
    """Endpoints in a unit square and the pairs that ever talk, as in the timeline's `logical`.

    `across`: ranks in a row where they stand in a grid: those of a node, or of a torus's last dimension.

    Args:
        schedule: The schedule.
        across: Ranks in a row where they stand in a grid: those of a node, or of a torus's last dimension; 0 for none.
    """
    n = schedule.endpoints
    first_channel = _list_pairs(schedule, channel=0)
    all_pairs = first_channel
    if schedule.channels != 1:
        all_pairs = _list_pairs(schedule)
    kind, positions = _arrange_endpoints(first_channel, n, schedule.root, across)
    return {
        "x": [round(x, 4) for x, _ in positions],
        "y": [round(y, 4) for _, y in positions],
        "kind": kind,
        "edges": [list(pair) for pair in sorted(all_pairs)[:_MAX_EDGES]],
    }


def _list_pairs(schedule: Schedule, channel: int | None = None) -> set[tuple[int, int]]:
    """Unordered pairs of endpoints with a transfer between them."""
    keys: list[np.ndarray[Any, Any]] = []
    for p in schedule.patterns:
        keep = p.src != p.dst
        if channel is not None:
            keep = keep & (p.channel == channel)
        low, high = np.minimum(p.src, p.dst)[keep].astype(np.int64), np.maximum(p.src, p.dst)[keep]
        keys.append(np.unique(low * schedule.endpoints + high))
    if not keys:
        return set()
    low, high = np.divmod(np.unique(np.concatenate(keys)), schedule.endpoints)
    return set(zip(low.tolist(), high.tolist(), strict=True))


def _arrange_endpoints(
    pairs: set[tuple[int, int]], n: int, root: int, across: int = 0
) -> tuple[str, list[tuple[float, float]]]:
    near: list[list[int]] = [[] for _ in range(n)]
    for a, b in sorted(pairs):
        near[a].append(b)
        near[b].append(a)
    if (order := _find_ring_order(near, n)) is not None:
        return "ring", _place_on_snake(order, across) or _place_on_circle(order, n)
    hub = max(range(n), key=lambda e: (len(near[e]), -e))
    if n > 2 and len(pairs) == n - 1 == len(near[hub]):
        return "star", _place_round_hub(hub, n)
    if len(pairs) == n - 1 and (levels := _place_in_levels(near, root if near[root] else hub)) is not None:
        return "tree", levels
    if 2 * len(pairs) > n and n <= 32:
        return "grid", _place_on_circle(list(range(n)), n)
    return "grid", _place_on_grid(n, across)


def _find_ring_order(near: list[list[int]], n: int) -> list[int] | None:
    """The order round the ring if the pairs are one ring through all endpoints (two endpoints count as one)."""
    if n < 3:
        if n == 2 and near[0]:
            return list(range(n))
        return None
    if any(len(x) != 2 for x in near):
        return None
    order = [0, min(near[0]) if 1 not in near[0] else 1]
    while len(order) < n:
        onward = [e for e in near[order[-1]] if e != order[-2]]
        if not onward or onward[0] == 0:
            return None
        order.append(onward[0])
    return order


def _place_on_circle(order: list[int], n: int) -> list[tuple[float, float]]:
    """Clockwise; four stand in the corners, two side by side."""
    rotation, reach = {2: -0.25, 4: -0.125}.get(n, 0.0), 0.5 * sqrt(2) if n == 4 else 0.5
    angle = {e: 2 * pi * (i / n + rotation) for i, e in enumerate(order)}
    around = {e: (0.5 + reach * sin(a), 0.5 - reach * cos(a)) for e, a in angle.items()}
    return [around.get(e, (0.5, 0.5)) for e in range(n)]


_MAX_ON_CIRCLE = 32
_WIDE = 2.3  # a row of ranks by a column of them, on the stage


def _place_on_snake(order: list[int], base: int) -> list[tuple[float, float]]:
    """A ring of many: row by row there and back, and up along the left side; rows of whole nodes (`base` ranks).

    Empty where they are few, or where no even number of full rows has them all.
    """
    n, base = len(order), max(1, base)
    if n <= _MAX_ON_CIRCLE:
        return []
    row_lengths = [k for k in range(base, n, base) if n % k == 0 and n // k % 2 == 0]
    if not row_lengths:
        return []
    across = min(row_lengths, key=lambda k: abs(k / (n // k) - _WIDE))
    rows = n // across
    positions = [(0.0, 0.0)] * n
    for i, e in enumerate(order):
        row, column = divmod(i, across)
        if row % 2:
            column = across - 1 - column
        inner = 0 < row < rows - 1  # room for the way back up
        positions[e] = ((column + inner) / across, row / (rows - 1))
    return positions


def _place_round_hub(hub: int, n: int) -> list[tuple[float, float]]:
    others = [e for e in range(n) if e != hub]
    angles = {e: 2 * pi * i / len(others) for i, e in enumerate(others)}
    around = {e: (0.5 + 0.5 * sin(a), 0.5 - 0.5 * cos(a)) for e, a in angles.items()}
    return [around.get(e, (0.5, 0.5)) for e in range(n)]


def _place_in_levels(near: list[list[int]], root: int) -> list[tuple[float, float]] | None:
    """A tree from its root downwards, parents above the middle of their children; None where it is not one piece."""
    from ..layout.shapes import place_tree

    seen, order = {root}, [root]
    for e in order:
        for c in near[e]:
            if c not in seen:
                seen.add(c)
                order.append(c)
    if len(order) < len(near):
        return None
    positions = place_tree(near, root)
    x, y = [p[0] for p in positions], [p[1] for p in positions]
    wide, deep = max(x) - min(x) or 1.0, max(y) - min(y) or 1.0
    return [((a - min(x)) / wide, (b - min(y)) / deep) for a, b in positions]


def _place_on_grid(n: int, across: int = 0) -> list[tuple[float, float]]:
    if not (1 < across < n):
        across = ceil(sqrt(2 * n))
    down = ceil(n / across)
    return [((e % across + 0.5) / across, (e // across + 0.5) / max(1, down)) for e in range(n)]
