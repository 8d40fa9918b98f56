"""The colours of the still pictures and films: those of the player in light dress (Okabe and Ito's hues, moved in
lightness only)."""

from __future__ import annotations

CARD, SUNK, INK, INK2, INK3 = "#FFFFFF", "#F0F3F2", "#162026", "#45535B", "#5C6A72"
EDGE, IDLE, GRID, LINE = "#7F8D95", "#CBD4D8", "#E6EAEC", "#D3DADD"
USE = {"room": "#3F8FC8", "near": "#A87000", "full": "#A63A00"}
TINT = {"room": "#E6F2FA", "near": "#FDF4E0", "full": "#FCE0CF"}
SUM, DONE, HOST, HOSTINK = "#8FD3BB", "#00664A", "#F1E9F2", "#7A3E68"
#: For lines of a plot, in this order.
SERIES = ("#3F8FC8", "#A63A00", "#00664A", "#A87000", "#7A3E68", "#45535B")


def use(share: float) -> str:
    """`room` under 75 % of capacity, `near` up to 95 %, then `full`."""
    return "full" if share > 0.95 else "near" if share >= 0.75 else "room"
