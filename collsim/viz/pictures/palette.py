"""The colours of the still pictures and films: those of the player (Okabe and Ito's hues, moved in lightness only), in
light dress unless said otherwise. A test holds them to the player's."""

from __future__ import annotations

#: Of pictures that have a dark dress, too: (light, dark).
TOKENS = {
    "card": ("#FFFFFF", "#161D21"),
    "ink": ("#162026", "#EEF3F5"),
    "ink2": ("#45535B", "#BCC8CE"),
    "ink3": ("#5C6A72", "#98A7AE"),
    "edge": ("#7F8D95", "#71818A"),
    "idle": ("#CBD4D8", "#38444B"),
    "grid": ("#E6EAEC", "#242E33"),
    "sumfill": ("#8FD3BB", "#1D705B"),
    "sum2": ("#3FAE8C", "#1E7561"),
}
_NAMED = ("card", "ink", "ink2", "ink3", "edge", "idle", "grid", "sumfill")
CARD, INK, INK2, INK3, EDGE, IDLE, GRID, SUM = (TOKENS[name][0] for name in _NAMED)
SUNK, LINE = "#F0F3F2", "#D3DADD"
USE = {"room": "#3F8FC8", "near": "#A87000", "full": "#A63A00"}
TINT = {"room": "#E6F2FA", "near": "#FDF4E0", "full": "#FCE0CF"}
DONE, HOST, HOSTINK = "#00664A", "#F1E9F2", "#7A3E68"
#: For lines of a plot, in this order.
SERIES = ("#3F8FC8", "#A63A00", "#00664A", "#A87000", "#7A3E68", "#45535B")


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
