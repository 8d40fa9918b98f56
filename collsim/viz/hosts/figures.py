"""What a notebook shows of a Schedule, a Topology and the figures of a run: small tables in HTML, with the same words
and numbers as `print`, without script, readable in light and dark, and where no frame is shown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...markup import escape_text
from ...topology.network import DEVICE_KINDS
from ...units import format_bandwidth, format_time

if TYPE_CHECKING:
    from ...schedule import Schedule
    from ...topology import Topology

MOST_RANKS, MOST_STEPS = 17, 16
MOST_CELL = 40  # letters of a cell of a schedule

_TABLE = '<table style="border-collapse:collapse;margin:.3em 0;font-variant-numeric:tabular-nums">'
_CELL = "padding:.15em .7em;text-align:left;vertical-align:top"


def printed(text: str) -> str:
    """The lines of `print(trace)` as a table: the first is its caption, of each other the first word names it."""
    caption, *lines = text.split("\n")
    pairs = [line.split(maxsplit=1) if " " in line else [line, ""] for line in lines]
    return _table(caption, (), pairs)


def schedule(plan: Schedule) -> str:
    """A row per endpoint, a column per step, as `print` has it; beyond a screen they are counted, and cells are cut."""
    names, cells = plan.diagram_cells(MOST_RANKS, MOST_STEPS)
    cells = [[_short(cell) for cell in row] for row in cells]
    shown = min(plan.steps, MOST_STEPS)
    rest = {"endpoints": plan.endpoints - len(names), "steps": plan.steps - shown}
    left_out = " and ".join(f"{count:,} more {what}" for what, count in rest.items() if count)
    note = f"{left_out} not shown; " if left_out else ""
    return _table(
        repr(plan)[1:-1],
        ["", *(f"step {k}" for k in range(1, shown + 1))],
        [[name, *row] for name, row in zip(names, cells, strict=True)],
        note + "+2←3 adds chunk 2 from rank 3, =2←3 copies it",
    )


def topology(network: Topology) -> str:
    """How many links there are of each kind of cable, with bandwidth and latency of one direction, and of which
    devices."""
    links, kinds = network.links, np.bincount(network.devices.kind, minlength=len(DEVICE_KINDS))
    count = np.bincount(links.cable, minlength=len(links.cables))
    rows = [
        [cable.kind, cable.label, f"{count[i]:,}", _range(links.bandwidth[links.cable == i]), format_time(cable.alpha)]
        for i, cable in enumerate(links.cables)
        if count[i]
    ]
    devices = ", ".join(f"{n:,} {kind}" for kind, n in zip(DEVICE_KINDS, kinds.tolist(), strict=True) if n)
    head = ["kind", "cable", "links", "bandwidth, one direction", "latency"]
    return _table(repr(network)[1:-1], head, rows, f"devices: {devices}")


def _short(cell: str) -> str:
    """What fits of a cell that names many chunks."""
    return cell if len(cell) <= MOST_CELL else cell[: MOST_CELL - 1] + "…"


def _range(rates: np.ndarray) -> str:  # type: ignore[type-arg]
    """One bandwidth, or the lowest and the highest where edits have changed some."""
    low, high = format_bandwidth(rates.min()), format_bandwidth(rates.max())
    return low if low == high else f"{low} to {high}"


def _table(caption: str, head: Sequence[str], rows: Iterable[Sequence[str]], note: str = "") -> str:
    style = f'style="{_CELL};caption-side:top;font-weight:bold"'
    lines = [f"<caption {style}>{escape_text(caption)}</caption>"]
    if head:
        lines.append("<thead><tr>" + "".join(_cell(word, "th") for word in head) + "</tr></thead>")
    lines += ["<tr>" + _cell(row[0], "th") + "".join(map(_cell, row[1:])) + "</tr>" for row in rows]
    below = f'<div style="opacity:.7;font-size:90%">{escape_text(note)}</div>' if note else ""
    return f'<div style="overflow-x:auto">{_TABLE}{"".join(lines)}</table>{below}</div>'


def _cell(word: str, tag: str = "td") -> str:
    return f'<{tag} style="{_CELL}">{escape_text(word)}</{tag}>'
