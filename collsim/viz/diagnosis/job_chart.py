"""Measured busbw of a job over size, with what is predicted without its fault and with it, as SVG."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...errors.dependencies import pandas as pd
from ...locale import translate
from ...units import format_bandwidth, format_bytes
from ..pictures.svg import draw_element, draw_text, wrap_svg

_LEFT, _RIGHT, _TOP, _BOTTOM = 78.0, 10.0, 8.0, 24.0  # px around the plot
_HEIGHT = 172  # px
_WIDE_LABELS = 480.0  # px of a picture in which labels with an interval fit


@dataclass(frozen=True)
class _Plot:
    """Positions of bytes and B/s on logarithmic axes, px."""

    width: float
    height: float
    sizes: tuple[float, float]
    rates: tuple[float, float]

    def find_x(self, nbytes: float) -> float:
        low, high = map(math.log, self.sizes)
        share = (math.log(nbytes) - low) / max(high - low, 1e-9)
        return _LEFT + share * (self.width - _LEFT - _RIGHT)

    def find_y(self, rate: float) -> float:
        low, high = map(math.log, self.rates)
        share = (math.log(min(max(rate, self.rates[0]), self.rates[1])) - low) / (high - low)
        return self.height - _BOTTOM - share * (self.height - _TOP - _BOTTOM)


def draw_job_chart(
    table: pd.DataFrame, with_fault: Sequence[float] = (), language: str = "en", width: int = 544
) -> str:
    """Draw the rates.

    Args:
        table: a row for each size: `nbytes`, `busbw`, `predicted_busbw`, `low_busbw`, `high_busbw` (B/s), as
            `cs.nccl.compare_run` makes it.
        with_fault: (sizes,) B/s that are predicted with the fault that was found; none where there is none.
        language: `en` or `zh`.
        width: of the picture, px.

    Returns:
        An SVG element with a label for screen readers.
    """
    columns = ("busbw", "predicted_busbw", "low_busbw", "high_busbw")
    rates = [rate for name in columns for rate in table[name] if rate > 0] + [rate for rate in with_fault if rate > 0]
    ends = (10.0 ** math.floor(math.log10(min(rates))), 10.0 ** math.ceil(math.log10(max(rates) * 1.02)))
    plot = _Plot(width, _HEIGHT, (float(table["nbytes"].min()), float(table["nbytes"].max())), ends)
    label = "; ".join(text for text, _ in _list_labels(table, with_fault, language, is_short=False))
    parts = [
        *_draw_axes(plot, table),
        *_draw_curves(plot, table, with_fault),
        *_draw_labels(plot, table, with_fault, language),
    ]
    return wrap_svg(parts, "jc", label, width, _HEIGHT)


def _draw_axes(plot: _Plot, table: pd.DataFrame) -> Iterator[str]:
    """A line for each power of ten, and for about four sizes."""
    right, bottom = plot.width - _RIGHT, plot.height - _BOTTOM
    for power in range(round(math.log10(plot.rates[0])), round(math.log10(plot.rates[1])) + 1):
        y = plot.find_y(10.0**power)
        yield draw_element("path", class_="grid", d=f"M{_LEFT} {y:.1f}H{right}")
        yield draw_text(format_bandwidth(10.0**power), _LEFT - 8, y + 4.5, text_anchor="end")
    sizes = sorted(set(table["nbytes"].tolist()))
    most = max(2, int((plot.width - _LEFT) / 100))
    step = max(1, math.ceil((len(sizes) - 1) / most))
    for number, nbytes in enumerate(sizes[::step]):
        x = plot.find_x(nbytes)
        anchor = "middle"
        if number == 0:
            anchor = "start"
        elif right - x < 30:
            anchor = "end"
        yield draw_element("path", class_="grid", d=f"M{x:.1f} {_TOP}V{bottom}")
        yield draw_text(format_bytes(int(nbytes)), x, plot.height - 6, text_anchor=anchor)


def _draw_curves(plot: _Plot, table: pd.DataFrame, with_fault: Sequence[float]) -> Iterator[str]:
    sizes = table["nbytes"].tolist()

    def trace(rates: Sequence[float]) -> list[str]:
        return [f"{plot.find_x(n):.1f} {plot.find_y(r):.1f}" for n, r in zip(sizes, rates, strict=True)]

    band = trace(table["low_busbw"].tolist()) + trace(table["high_busbw"].tolist())[::-1]
    yield f'<polygon class="band" points="{" ".join(band).replace(" ", ",")}"/>'
    yield f'<path class="line" d="M{"L".join(trace(table["predicted_busbw"].tolist()))}"/>'
    if with_fault:
        yield f'<path class="fault" d="M{"L".join(trace(with_fault))}"/>'
    for point in trace(table["busbw"].tolist()):
        x, y = point.split()
        yield f'<circle class="dot" cx="{x}" cy="{y}" r="4.2"/>'


def _list_labels(
    table: pd.DataFrame, with_fault: Sequence[float], language: str, *, is_short: bool
) -> list[tuple[str, float]]:
    """What is written at each curve, at its largest size, and the rate there."""
    last = table.iloc[-1]
    low, high = (format_bandwidth(float(last[name])) for name in ("low_busbw", "high_busbw"))
    possible = format_bandwidth(float(last["predicted_busbw"]))
    measured = format_bandwidth(float(last["busbw"]))
    texts = [("chart.possible", float(last["predicted_busbw"])), ("chart.measured", float(last["busbw"]))]
    values = {"possible": possible, "low": low, "high": high, "measured": measured}
    if with_fault:
        texts[1] = ("chart.with_fault", float(last["busbw"]))
        values["predicted"] = format_bandwidth(with_fault[-1])
    if is_short:
        texts = [("chart.possible.short", texts[0][1]), ("chart.measured", texts[1][1])]
    return [(translate(language, "diagnosis", key, **values), rate) for key, rate in texts]


def _draw_labels(plot: _Plot, table: pd.DataFrame, with_fault: Sequence[float], language: str) -> Iterator[str]:
    """One label above what is higher at the largest size, the other below what is lower, within the plot."""
    labels = sorted(
        _list_labels(table, with_fault, language, is_short=plot.width < _WIDE_LABELS), key=lambda label: -label[1]
    )
    above, below = plot.find_y(labels[0][1]) - 12, plot.find_y(labels[1][1]) + 22
    if below > plot.height - _BOTTOM - 4:
        below = max(above + 40, plot.find_y(labels[1][1]) - 12)
    for (text, _), y in zip(labels, (max(above, _TOP + 13), below), strict=True):
        yield draw_text(text, plot.width - _RIGHT, y, class_="said", text_anchor="end")
