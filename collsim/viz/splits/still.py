"""The rows of a pipeline as a still picture: an SVG for a page, with a text for who cannot see it. Time is counted in
forward passes of a microbatch through a rank."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

from ..pictures import palette
from ..pictures.still import CHINESE, LATIN
from .lanes import pipeline_runner

if TYPE_CHECKING:
    from ...training import Pipeline

_WIDE, _LEFT, _ROW, _TOP, _FOOT = 1000, 64, 24, 30, 46  # px
_SUM2 = "#3FAE8C"  # the player's sum2, in light dress
_DIGIT = 9.0  # px: a box narrower than its digits carries no number
#: What fills a pass, of a further stage of the same GPU, and the number on them, as the page Pipelines has them.
_FILLS = {
    "F": (palette.GRID, palette.IDLE, palette.INK),
    "B": (palette.INK3, palette.INK, palette.CARD),
    "I": (palette.INK3, palette.INK, palette.CARD),
    "W": (palette.SUM, _SUM2, palette.INK),
}
_PASSES = {
    "F": ("forward", "前向"),
    "B": ("backward", "反向"),
    "I": ("backward, inputs", "反向（输入）"),
    "W": ("backward, weights", "反向（权重）"),
}
_BUBBLE = "bubble", "气泡"
_FURTHER = "darker: a further stage of the same GPU", "较深：同一 GPU 的另一个阶段"
_HATCH, _BOLD = "url(#bubble)", 'font-weight="700"'
_FONTS = ", ".join(f"'{name}'" for name in (*LATIN, *CHINESE)) + ", sans-serif"


@dataclass(frozen=True, eq=False)
class PipelinePicture:
    """A pipeline's schedule, as data: rows of boxes with the number of their microbatch, and what is idle.

    Attributes:
        schedule: its name. ranks, microbatches: how many. runner: rows and figures, as `pipeline_runner` has them.
    """

    schedule: str
    ranks: int
    microbatches: int
    runner: Mapping[str, Any] = field(repr=False)

    def title(self, k: int) -> str:
        """What is shown, with its time and bubble; k: 0 in English, 1 in Chinese."""
        time, share = f"{self.runner['time']:g}", f"{100 * self.runner['share']:.3g}"
        return (
            f"{self.schedule}, {self.ranks} GPUs, {self.microbatches} microbatches: {time} forward passes long, "
            f"{share} % bubble",
            f"{self.schedule}，{self.ranks} 个 GPU，{self.microbatches} 个微批：共 {time} 个前向的时间，气泡 {share} %",
        )[k]

    def described(self, k: int) -> str:
        """The same and what every GPU runs, in order: `GPU 0: F0 F1 B0 B1, idle for 3`."""
        head, colon = self.title(k), (": ", "：")[k]
        return (". ", "。")[k].join([head, *(f"GPU {row['label']}{colon}{_in_words(row, k)}" for row in self._rows)])

    def svg(self, k: int) -> str:
        """The picture as an SVG file."""
        scale = (_WIDE - _LEFT - 8) / float(self.runner["time"])
        rows = "".join(_row(row, _TOP + i * _ROW, scale) for i, row in enumerate(self._rows))
        kinds = [kind for kind in _PASSES if any(box[3] == kind for row in self._rows for box in row["boxes"])]
        tall = _TOP + _ROW * len(self._rows) + _FOOT
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDE} {tall}" width="{_WIDE}" height="{tall}" '
            f'font-family="{_FONTS}"><defs><pattern id="bubble" width="6" height="6" patternUnits="userSpaceOnUse" '
            f'patternTransform="rotate(45)"><rect width="2" height="6" fill="{palette.EDGE}"/></pattern></defs>'
            f'<rect width="{_WIDE}" height="{tall}" rx="6" fill="{palette.CARD}"/>'
            f"{_text(12, 20, self.title(k), palette.INK, 15, _BOLD)}{rows}"
            f"{_key(kinds, self.runner['stages'] > 1, tall - 20, k)}</svg>"
        )

    def html(self, k: int) -> str:
        """The same in a page, as wide as there is room and no narrower than its numbers stay readable. An image and
        not an element: Streamlit takes SVG elements out of the HTML of a page."""
        data = base64.b64encode(self.svg(k).encode()).decode("ascii")
        look = "display:block;width:100%;min-width:680px;max-width:1180px;height:auto"
        return (
            f'<div style="overflow-x:auto"><img alt="{escape(self.described(k))}" style="{look}" '
            f'src="data:image/svg+xml;base64,{data}"></div>'
        )

    @property
    def _rows(self) -> list[dict[str, Any]]:
        return list(self.runner["rows"])


def pipeline_picture(pipe: Pipeline, microbatches: int, backward: float = 2.0) -> PipelinePicture:
    """The picture of a pipeline whose backward pass takes `backward` forward passes, with no time from GPU to GPU."""
    timing = pipe.timing(microbatches, forward=1.0, backward=backward)
    return PipelinePicture(pipe.schedule, pipe.size, microbatches, pipeline_runner(pipe, timing))


def _in_words(row: Mapping[str, Any], k: int) -> str:
    passes = " ".join(f"{kind}{micro}" for _, _, micro, kind, *_ in row["boxes"])
    idle = sum(b - a for a, b in row["idle"])
    return f"{passes}, idle for {idle:g}" if k == 0 else f"{passes}，空闲 {idle:g}"


def _row(row: Mapping[str, Any], top: int, scale: float) -> str:
    """One GPU: its name, what is idle hatched, a box for each pass; passes that run as one share the height."""
    idle = "".join(_box(a, b, top, _ROW - 4, scale, _HATCH) for a, b in row["idle"])
    boxes = "".join(_pass(box, top, scale) for box in row["boxes"])
    name = _text(_LEFT - 8, top + 15, f"GPU {row['label']}", palette.INK2, 13, 'text-anchor="end"')
    return f"{name}{idle}{boxes}"


def _pass(box: tuple[Any, ...], top: float, scale: float) -> str:
    a, b, micro, kind, stage, part = box
    *fills, ink = _FILLS[kind]
    high = (_ROW - 4) / (2 if part else 1)
    top += high if part == 2 else 0
    drawn = _box(a, b, top, high, scale, fills[min(stage, 1)])
    if (b - a) * scale < _DIGIT * len(micro) + 2 or part:
        return drawn
    return drawn + _text(_LEFT + (a + b) / 2 * scale, top + 15, micro, ink, 13, 'text-anchor="middle"')


def _box(a: float, b: float, top: float, high: float, scale: float, fill: str) -> str:
    edge = f'stroke="{palette.CARD}" stroke-width="1"'
    at = f'x="{_LEFT + a * scale:.1f}" y="{top:g}" width="{(b - a) * scale:.1f}" height="{high:g}"'
    return f'<rect {at} fill="{fill}" {edge}/>'


def _text(x: float, y: float, words: str, ink: str, size: int, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:g}" font-size="{size}" fill="{ink}" {more}>{escape(words)}</text>'


def _key(kinds: list[str], further: bool, y: float, k: int) -> str:
    """What the fills mean."""
    out, x = "", _LEFT
    signs = [(f"{kind}: {_PASSES[kind][k]}", _FILLS[kind][0]) for kind in kinds]
    for said, fill in [*signs, (_BUBBLE[k], _HATCH)]:
        sign = f'<rect x="{x}" y="{y - 11:g}" width="14" height="14" fill="{fill}" stroke="{palette.EDGE}"/>'
        out += sign + _text(x + 20, y + 1, said, palette.INK2, 13)
        x += 40 + 8 * len(said) * (1 + k)
    return out + (_text(x, y + 1, _FURTHER[k], palette.INK2, 13) if further else "")
