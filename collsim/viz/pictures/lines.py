"""Many lines in one plot that stay readable: the foremost have a colour and their name at their end, the rest are grey
and counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ...analysis.ranking import round_time
from . import colours

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

MAX_NAMED_LINES = len(colours.SERIES)  # as many as there are colours
MARKERS = "osD^v"
_POINTS = 8.0  # height of a name
_GAP = 1.3  # from one name to the next, in heights


@dataclass(frozen=True, eq=False)
class PlotLine:
    """One line of a plot.

    Attributes:
        name: What it is called.
        x: Positions, ascending.
        y: A value for each position.
    """

    name: str
    x: npt.NDArray[np.float64]
    y: npt.NDArray[np.float64]


def select_foremost(lines: Sequence[PlotLine], low: bool) -> list[int]:
    """Select the lines that get a name, at most MAX_NAMED_LINES: first those that are best most often, then
    those that are best at the largest x.

    Args:
        lines: The lines of the plot.
        low: Whether less is better.
    """
    sign = -1.0
    if low:
        sign = 1.0
    best: dict[float, float] = {}
    for line in lines:
        for x, y in zip(line.x.tolist(), line.y.tolist(), strict=True):
            best[x] = min(best.get(x, np.inf), sign * y)
    wins = []
    for line in lines:
        points = zip(line.x.tolist(), line.y.tolist(), strict=True)
        wins.append(sum(round_time(abs(y)) == round_time(abs(best[x])) for x, y in points))
    far = max(best, default=0.0)
    at_end = {k: sign * line.y[-1] for k, line in enumerate(lines) if len(line.x) and line.x[-1] == far}
    order = sorted(range(len(lines)), key=lambda k: (-wins[k], at_end.get(k, np.inf), k))
    return sorted(order[:MAX_NAMED_LINES])


def draw_lines(ax: Axes, lines: Sequence[PlotLine], low: bool, rest: str) -> dict[int, Line2D]:
    """Draw them; those that are named, by number. `rest` names the others, with `{count}` in it.

    Args:
        ax: Axes to draw into.
        lines: The lines of the plot.
        low: Whether less is better.
        rest: Name of the lines without a colour, with `{count}` in it.
    """
    named = select_foremost(lines, low)
    others = [k for k in range(len(lines)) if k not in named]
    for k in others:
        label = None
        if k == others[0]:
            label = rest.format(count=len(others))
        ax.plot(lines[k].x, lines[k].y, color=colours.IDLE, linewidth=1.0, label=label, zorder=1.5)
    drawn = {}
    for number, k in enumerate(named):
        marker = MARKERS[number % len(MARKERS)]
        look: dict[str, Any] = {"color": colours.SERIES[number], "marker": marker, "markersize": 4, "linewidth": 1.8}
        (drawn[k],) = ax.plot(lines[k].x, lines[k].y, label=lines[k].name, **look)
    return drawn


def name_ends(ax: Axes, lines: Sequence[PlotLine], drawn: Mapping[int, Line2D]) -> None:
    """The name of each line beside its end, in its colour, apart from one another; the others' count above.

    To be called when scales and limits are set. Names stand outside of the Axes, so their figure must have a layout
    engine that makes room.

    Args:
        ax: Axes to draw into.
        lines: The lines of the plot.
        drawn: The lines of matplotlib by number, as `draw_lines` returns them.
    """
    ends = [(k, *end) for k in drawn if (end := _find_end(lines[k])) is not None]
    # Heights are spread until no two names overlap, and a thin line leads from each to its curve.
    high = np.array([_get_height(ax, x, y) for _, x, y in ends])
    step = _GAP * _POINTS / 72 / _get_inches(ax)
    for (k, x, y), height in zip(ends, _spread_heights(high, step).tolist(), strict=True):
        colour = drawn[k].get_color()
        leader = {"arrowstyle": "-", "color": colour, "linewidth": 0.7, "shrinkA": 1, "shrinkB": 4, "relpos": (0, 0.5)}
        look: dict[str, Any] = {"color": colour, "fontsize": _POINTS, "va": "center", "arrowprops": leader}
        ax.annotate(lines[k].name, (x, y), (1.03, height), textcoords=ax.transAxes, annotation_clip=False, **look)


def _find_end(line: PlotLine) -> tuple[float, float] | None:
    """The last point that can be drawn."""
    drawn = np.flatnonzero(np.isfinite(line.x) & np.isfinite(line.y))
    if len(drawn):
        return (float(line.x[drawn[-1]]), float(line.y[drawn[-1]]))
    return None


def _get_height(ax: Axes, x: float, y: float) -> float:
    """The height of a point as a part of the Axes."""
    return float(ax.transAxes.inverted().transform(ax.transData.transform((x, y)))[1])


def _get_inches(ax: Axes) -> float:
    """About how high the Axes are; a layout engine has not yet made room for the words below."""
    return float(ax.get_position().height * ax.figure.get_figheight()) * 0.95  # type: ignore[union-attr]


def _spread_heights(high: npt.NDArray[np.float64], step: float) -> npt.NDArray[np.float64]:
    """The same heights, at least a step from one another, in the same order, about where they were and within the Axes
    while there is room."""
    order = np.argsort(high, kind="stable")
    groups: list[tuple[float, int]] = []  # middle and number of names that touch
    for height in high[order].tolist():
        groups.append((height, 1))
        while len(groups) > 1 and groups[-1][0] - groups[-2][0] < step * (groups[-1][1] + groups[-2][1]) / 2 - 1e-12:
            (upper, n), (lower, m) = groups.pop(), groups.pop()
            groups.append(((upper * n + lower * m) / (n + m), n + m))
    spread = [middle + step * (k - (count - 1) / 2) for middle, count in groups for k in range(count)]
    ceiling = [1.0 - step * k for k in range(len(spread))][::-1]
    out = np.empty(len(spread))
    out[order] = np.minimum(spread, ceiling)
    return out
