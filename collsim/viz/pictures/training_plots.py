"""The timeline of a training step: two lanes for each kind of GPU, computing over network, a colour for each bucket."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...training.workload.step import COMPUTE
from . import palette
from .plots import _axes, _clean
from .still import language

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...training import StepTrace

_WORDS = {
    "compute": ("computing", "计算"),
    "network": ("network", "网络"),
    "exposed": ("waits for the network", "等待网络"),
    "time": ("time, ms", "时间，毫秒"),
}
_FORWARD, _BACKWARD, _OTHER = palette.TINT["room"], palette.USE["room"], palette.IDLE


def plot(trace: StepTrace, ax: Axes | None = None, lang: str = "en") -> Axes:
    """Draw a step into `ax` or a figure of its own; the Axes.

    A bucket has one colour on the network lane, waits for the network are hatched, the critical chain has a dark edge.
    Computing is light forward and dark backward. `lang` is en or zh.
    """
    word = 1 if language(lang) == "zh" else 0
    lanes = trace.step.lanes
    ax = _axes(ax, 9.0, 1.2 + 1.1 * len(lanes))
    critical = set(trace.critical)
    for number, task in enumerate(trace.step.tasks):
        begin, spent = 1e3 * trace.begin[number], 1e3 * (trace.end[number] - trace.begin[number])
        if spent > 0:
            edge: dict[str, Any] = (
                {"edgecolor": palette.INK, "linewidth": 0.8} if number in critical and not task.computes else {}
            )
            for lane in task.lanes:
                row = 2 * lane + (task.stream != COMPUTE)
                ax.barh(row, spent, 0.8, begin, color=_colour(task), **edge)
    _waits(trace, ax)
    ax.set_yticks(range(2 * len(lanes)))
    ax.set_yticklabels([f"{_name(ranks)}, {_WORDS[s][word]}" for ranks in lanes for s in ("compute", "network")])
    ax.set_ylim(2 * len(lanes) - 0.4, -0.6)
    ax.set_xlim(0, max(1e3 * trace.time, 1e-9))
    ax.set_xlabel(_WORDS["time"][word])
    ax.set_title(f"{trace.step.model.name}, {trace.step.says}", loc="left")
    return _clean(ax, "x", lang)


def _colour(task: Any) -> str:
    if task.computes:
        return {"forward": _FORWARD, "backward": _BACKWARD}.get(task.kind, _OTHER)
    return palette.SERIES[task.bucket % len(palette.SERIES)] if task.bucket >= 0 else palette.HOSTINK


def _name(ranks: tuple[int, ...]) -> str:
    return f"GPU {ranks[0]}" if len(ranks) == 1 else f"GPU {ranks[0]}–{ranks[-1]}"


def _waits(trace: StepTrace, ax: Axes) -> None:
    """Hatch the times in which GPUs communicate and do not compute."""
    for lane, spans in enumerate(trace.waits):
        for begin, end in spans:
            ax.barh(
                2 * lane,
                1e3 * (end - begin),
                0.8,
                1e3 * begin,
                color="none",
                edgecolor=palette.USE["full"],
                hatch="////",
                linewidth=0.0,
            )


def picture(trace: StepTrace, path: Path, lang: str = "en") -> Path:
    """Write the timeline as .png, .svg or .pdf."""
    figure: Any = plot(trace, lang=lang).figure
    figure.savefig(path, dpi=150)
    return path
