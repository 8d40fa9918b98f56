"""The colours of still pictures and films: those of the light theme."""

from __future__ import annotations

from ...display import palette

_LIGHT = {name: light for name, (light, _) in palette.TOKENS.items()}
_NAMED = ("card", "ink", "ink2", "ink3", "edge", "idle", "grid", "sumfill", "sunk", "line", "done", "host")
CARD, INK, INK2, INK3, EDGE, IDLE, GRID, SUM, SUNK, LINE, DONE, HOST = (_LIGHT[name] for name in _NAMED)
#: By the class of use that `classify_use` gives.
USE = {name: _LIGHT[name] for name in ("room", "near", "full")}
TINT = {name: _LIGHT[f"{name}tint"] for name in USE}
#: For lines of a plot, in this order.
SERIES = tuple(_LIGHT[name] for name in palette.SERIES)


def classify_use(share: float) -> str:
    """`room` under 75 % of capacity, `near` up to 95 %, then `full`.

    Args:
        share: Part of the capacity in use, 1 for all of it.
    """
    if share > 0.95:
        return "full"
    if share >= 0.75:
        return "near"
    return "room"
