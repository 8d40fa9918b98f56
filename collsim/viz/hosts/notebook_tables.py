"""What a notebook shows of a Schedule, a Topology and the figures of a run: small tables in HTML, with the same words
and numbers as `print`, without script, readable in light and dark, and where no frame is shown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...display.markup import escape_text
from ...topology.network import DEVICE_KINDS
from ...units import format_bandwidth, format_time

if TYPE_CHECKING:
    from ...schedule import Schedule
    from ...topology import Topology

MAX_RANKS, MAX_STEPS = 17, 16
MAX_CELL = 40  # letters of a cell of a schedule

_TABLE = '<table style="border-collapse:collapse;margin:.3em 0;font-variant-numeric:tabular-nums">'
_CELL = "padding:.15em .7em;text-align:left;vertical-align:top"


def format_printed_trace(text: str) -> str:
    """The lines of `print(trace)` as a table: the first is its caption, of each other the first word names it.

    Args:
        text: What `print` writes of a trace.
    """
    caption, *lines = text.split("\n")
    pairs = [line.split(maxsplit=1) if " " in line else [line, ""] for line in lines]
    return _format_table(caption, (), pairs)


def format_schedule(schedule: Schedule) -> str:
    """A row per endpoint, a column per step, as `print` has it; beyond a screen they are counted, and cells are cut.

    Args:
        schedule: The schedule.
    """
    names, cells = schedule.diagram_cells(MAX_RANKS, MAX_STEPS)
    cells = [[_shorten_cell(cell) for cell in row] for row in cells]
    step_count = min(schedule.steps, MAX_STEPS)
    hidden = {"endpoints": schedule.endpoints - len(names), "steps": schedule.steps - step_count}
    left_out = " and ".join(f"{count:,} more {what}" for what, count in hidden.items() if count)
    note = ""
    if left_out:
        note = f"{left_out} not shown; "
    return _format_table(
        repr(schedule)[1:-1],
        ["", *(f"step {k}" for k in range(1, step_count + 1))],
        [[name, *row] for name, row in zip(names, cells, strict=True)],
        note + "+2←3 adds chunk 2 from rank 3, =2←3 copies it",
    )


def format_topology(topology: Topology) -> str:
    """How many links there are of each kind of cable, with bandwidth and latency of one direction, and of which
    devices.

    Args:
        topology: The machine or network.
    """
    links, kinds = topology.links, np.bincount(topology.devices.kind, minlength=len(DEVICE_KINDS))
    count = np.bincount(links.cable, minlength=len(links.cables))
    rows = []
    for i, cable in enumerate(links.cables):
        if count[i]:
            rates = _format_bandwidth_range(links.bandwidth[links.cable == i])
            rows.append([cable.kind, cable.label, f"{count[i]:,}", rates, format_time(cable.alpha)])
    devices = ", ".join(f"{n:,} {kind}" for kind, n in zip(DEVICE_KINDS, kinds.tolist(), strict=True) if n)
    head = ["kind", "cable", "links", "bandwidth, one direction", "latency"]
    return _format_table(repr(topology)[1:-1], head, rows, f"devices: {devices}")


def _shorten_cell(cell: str) -> str:
    """What fits of a cell that names many chunks."""
    if len(cell) <= MAX_CELL:
        return cell
    return cell[: MAX_CELL - 1] + "…"


def _format_bandwidth_range(rates: np.ndarray) -> str:  # type: ignore[type-arg]
    """One bandwidth, or the lowest and the highest where edits have changed some."""
    low, high = format_bandwidth(rates.min()), format_bandwidth(rates.max())
    if low == high:
        return low
    return f"{low} to {high}"


def _format_table(caption: str, head: Sequence[str], rows: Iterable[Sequence[str]], note: str = "") -> str:
    style = f'style="{_CELL};caption-side:top;font-weight:bold"'
    lines = [f"<caption {style}>{escape_text(caption)}</caption>"]
    if head:
        lines.append("<thead><tr>" + "".join(_format_cell(word, "th") for word in head) + "</tr></thead>")
    lines += ["<tr>" + _format_cell(row[0], "th") + "".join(map(_format_cell, row[1:])) + "</tr>" for row in rows]
    below = ""
    if note:
        below = f'<div style="opacity:.7;font-size:90%">{escape_text(note)}</div>'
    return f'<div style="overflow-x:auto">{_TABLE}{"".join(lines)}</table>{below}</div>'


def _format_cell(word: str, tag: str = "td") -> str:
    return f'<{tag} style="{_CELL}">{escape_text(word)}</{tag}>'
