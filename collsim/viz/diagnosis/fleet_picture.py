"""The nodes of a fleet as SVG: a box each, those that differ lit, and a line between two that are slow together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from html import escape
from math import ceil

from ...diagnosis import FleetDiagnosis
from ..pictures.svg import draw_element, draw_text, wrap_svg

_HEIGHT, _GAP = 30.0, 6.0  # px of a box, and between boxes
_NARROWEST, _WIDEST = 44.0, 120.0  # px of a box
_LETTER = 7.0  # px of a letter of 12 px


def draw_fleet_picture(fleet: FleetDiagnosis, width: int = 544) -> str:
    """Draw the nodes in rows.

    Args:
        fleet: what tells its nodes apart.
        width: of the picture, px.

    Returns:
        An SVG element with a label for screen readers.
    """
    counts = Counter([*(odd.node for odd in fleet.odd), *(cause.node for cause in fleet.causes)])
    names = _shorten_names(fleet.nodes)
    wide = min(_WIDEST, max(_NARROWEST, _LETTER * max(map(len, names.values()), default=1) + 12))
    across = max(1, int((width + _GAP - 12) // (wide + _GAP)))
    rows = ceil(len(fleet.nodes) / across)
    corners = {
        node: (4 + (i % across) * (wide + _GAP), 12 + (i // across) * (_HEIGHT + _GAP))
        for i, node in enumerate(fleet.nodes)
    }
    parts = [*_draw_nodes(fleet, names, corners, wide, counts), *_draw_pairs(fleet, corners, wide)]
    return wrap_svg(parts, "fp", fleet.explanation(), width, 12 + rows * (_HEIGHT + _GAP))


def _shorten_names(nodes: tuple[str, ...]) -> dict[str, str]:
    """Names without the beginning that all of them share up to their numbers."""
    shared = len(_find_shared_beginning(nodes))
    return {node: node[shared:][-16:] or node[-16:] for node in nodes}


def _find_shared_beginning(nodes: tuple[str, ...]) -> str:
    if len(nodes) < 2:
        return ""
    first, last = min(nodes), max(nodes)
    shared = next((first[:i] for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), "")
    return shared.rstrip("0123456789")


def _draw_nodes(
    fleet: FleetDiagnosis,
    names: dict[str, str],
    corners: dict[str, tuple[float, float]],
    wide: float,
    counts: Counter[str],
) -> Iterator[str]:
    for node in fleet.nodes:
        x, y = corners[node]
        kind = "node"
        if counts[node]:
            kind = "odd"
        box = draw_element("rect", x=x, y=y, width=wide, height=_HEIGHT, rx=4)
        name = draw_text(names[node], x + wide / 2, y + 19, text_anchor="middle")
        yield draw_element("g", f"<title>{escape(node)}</title>{box}{name}", class_=kind)
        if counts[node]:
            yield draw_element("circle", cx=x + wide - 2, cy=y, r=9)
            yield draw_text(str(counts[node]), x + wide - 2, y + 4.4, class_="count", text_anchor="middle")


def _draw_pairs(fleet: FleetDiagnosis, corners: dict[str, tuple[float, float]], wide: float) -> Iterator[str]:
    for pair in fleet.slow_pairs:
        ends = [corners[node] for node in pair.nodes if node in corners]
        if len(ends) == 2:
            (ax, ay), (bx, by) = [(x + wide / 2, y + _HEIGHT - 4) for x, y in ends]
            yield f'<path d="M{ax:.1f} {ay:.1f}Q{(ax + bx) / 2:.1f} {max(ay, by) + 18:.1f} {bx:.1f} {by:.1f}"/>'
