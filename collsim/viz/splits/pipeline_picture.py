"""The rows of a pipeline as a still picture: an SVG for a page, with a text for who cannot see it. Time is counted in
forward passes of a microbatch through a rank."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

from ...display.markup import escape_text
from ...display.palette import TOKENS
from ...locale import build_text
from ..pictures.machine_picture import CHINESE, LATIN
from .pipeline_document import build_pipeline_runner

if TYPE_CHECKING:
    from ...train import Pipeline

_WIDE, _LEFT, _ROW, _LINE, _FOOT = 1000, 64, 24, 22, 24  # px
#: Where there is less room than for the wide picture: px, and up to how many of the page it is shown.
_NARROW, _LESS_LOOK = 400, 620
_DIGIT = 9.0  # px: a box narrower than its digits carries no number
#: What fills a pass, of a further stage of the same GPU, and the number on them.
_FILLS = {
    "F": ("grid", "idle", "ink"),
    "B": ("ink3", "ink", "card"),
    "I": ("ink3", "ink", "card"),
    "W": ("sumfill", "sum2", "ink"),
}
_HATCH, _BOLD = "url(#bubble)", 'font-weight="700"'
_LOOK = (
    ".cs-rows{container-type:inline-size}.cs-rows img{display:block;width:100%;max-width:1180px;height:auto}"
    ".cs-rows img+img{display:none}"
    f"@container(max-width:{_LESS_LOOK}px){{.cs-rows img{{display:none}}.cs-rows img+img{{display:block}}}}"
)
_FONTS = ", ".join(f"'{name}'" for name in (*LATIN, *CHINESE)) + ", sans-serif"


@dataclass(frozen=True, eq=False)
class PipelinePicture:
    """A pipeline's schedule, as data: rows of boxes with the number of their microbatch, and what is idle.

    Attributes:
        schedule: its name.
        ranks: GPUs of the pipeline.
        microbatches: how many.
        runner: rows and figures, as `build_pipeline_runner` has them.
        until: time at the right edge, where several pictures have one clock; its own end unless that is later.
    """

    schedule: str
    ranks: int
    microbatches: int
    runner: Mapping[str, Any] = field(repr=False)
    until: float = 0.0

    def title(self, language_number: int) -> str:
        """What is shown, with its time and bubble; language_number: 0 in English, 1 in Chinese.

        Args:
            language_number: Language: 0 for English, 1 for Chinese.
        """
        return _write("colon", language_number).join(self._title_lines(language_number))

    def _title_lines(self, language_number: int) -> list[str]:
        values = {"schedule": self.schedule, "ranks": self.ranks, "microbatches": self.microbatches}
        time, share = f"{self.runner['time']:g}", f"{100 * self.runner['share']:.3g}"
        return [_write("head", language_number, **values), _write("figures", language_number, time=time, share=share)]

    def describe(self, language_number: int) -> str:
        """The same and what every GPU runs, in order: `GPU 0: F0 F1 B0 B1, idle for 3`.

        Args:
            language_number: Language: 0 for English, 1 for Chinese.
        """
        colon = _write("colon", language_number)
        rows = (f"GPU {row['label']}{colon}{_describe_passes(row, language_number)}" for row in self._rows)
        return _write("stop", language_number).join([self.title(language_number), *rows])

    def svg(self, language_number: int, *, narrow: bool = False, dark: bool = False) -> str:
        """The picture as an SVG file; `narrow` for a column of text or a phone, `dark` for a dark page.

        Args:
            language_number: Language: 0 for English, 1 for Chinese.
            narrow: For a column of text or a telephone.
            dark: For a dark page.
        """
        ink = {name: both[dark] for name, both in TOKENS.items()}
        wide, lines = _WIDE, [self.title(language_number)]
        if narrow:
            wide, lines = _NARROW, self._title_lines(language_number)
        scale = (wide - _LEFT - 8) / max(self.until, float(self.runner["time"]))
        top = 8 + _LINE * len(lines)
        rows = "".join(_draw_row(row, top + i * _ROW, scale, ink) for i, row in enumerate(self._rows))
        kinds = [kind for kind in _FILLS if any(box[3] == kind for row in self._rows for box in row["boxes"])]
        below = top + _ROW * len(self._rows)
        key, under = _draw_key(kinds, self.runner["stages"] > 1, below + 20, wide, language_number, ink)
        tall = under + _FOOT
        head = _draw_text(12, 20, lines[0], ink["ink"], 15, _BOLD)
        for i, line in enumerate(lines[1:], 1):
            head += _draw_text(12, 20 + _LINE * i, line, ink["ink"], 13)
        end = _LEFT + float(self.runner["time"]) * scale
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {tall}" width="{wide}" height="{tall}" '
            f'font-family="{_FONTS}"><defs><pattern id="bubble" width="6" height="6" patternUnits="userSpaceOnUse" '
            f'patternTransform="rotate(45)"><rect width="2" height="6" fill="{ink["edge"]}"/></pattern></defs>'
            f'<rect width="{wide}" height="{tall}" rx="6" fill="{ink["card"]}"/>{head}{rows}'
            f'<rect x="{end:.1f}" y="{top - 3}" width="2" height="{below - top + 2}" fill="{ink["ink"]}"/>{key}</svg>'
        )

    def html(self, language_number: int, *, narrow: bool = True, dark: bool = False) -> str:
        """The same in a page: wide, or `narrow` where there is little room, so that its numbers stay readable. Images
        and not elements: Streamlit takes SVG elements out of the HTML of a page.

        Args:
            language_number: Language: 0 for English, 1 for Chinese.
            narrow: For a column of text or a telephone.
            dark: For a dark page.
        """
        images = self._image(language_number, False, dark)
        if narrow:
            images += self._image(language_number, True, dark)
        return f'<div class="cs-rows">{images}<style>{_LOOK}</style></div>'

    def _image(self, language_number: int, narrow: bool, dark: bool) -> str:
        data = base64.b64encode(self.svg(language_number, narrow=narrow, dark=dark).encode()).decode("ascii")
        return f'<img alt="{escape(self.describe(language_number))}" src="data:image/svg+xml;base64,{data}">'

    @property
    def _rows(self) -> list[dict[str, Any]]:
        return list(self.runner["rows"])


def build_pipeline_picture(pipe: Pipeline, microbatches: int, until: float = 0.0) -> PipelinePicture:
    """The picture of a pipeline whose backward pass takes two forward passes, with no time from GPU to GPU.

    Args:
        pipe: The pipeline.
        microbatches: Number of microbatches.
        until: Time at the right edge, in forward passes; the end of the schedule unless that is later.
    """
    timing = pipe.time_passes(microbatches, forward=1.0, backward=2.0)
    return PipelinePicture(pipe.schedule, pipe.size, microbatches, build_pipeline_runner(pipe, timing), until)


def _write(key: str, language_number: int, **values: object) -> str:
    return build_text("pictures", f"pipeline.{key}", **values)[language_number]


def _describe_passes(row: Mapping[str, Any], language_number: int) -> str:
    passes = " ".join(f"{kind}{micro}" for _, _, micro, kind, *_ in row["boxes"])
    idle = sum(b - a for a, b in row["idle"])
    return _write("idle", language_number, passes=passes, time=f"{idle:g}")


def _draw_row(row: Mapping[str, Any], top: int, scale: float, ink: Mapping[str, str]) -> str:
    """One GPU: its name, what is idle hatched, a box for each pass; passes that run as one share the height."""
    idle = "".join(_draw_box(a, b, top, _ROW - 4, scale, _HATCH, ink["card"]) for a, b in row["idle"])
    boxes = "".join(_draw_pass(box, top, scale, ink) for box in row["boxes"])
    name = _draw_text(_LEFT - 8, top + 15, f"GPU {row['label']}", ink["ink2"], 13, 'text-anchor="end"')
    return f"{name}{idle}{boxes}"


def _draw_pass(box: tuple[Any, ...], top: float, scale: float, ink: Mapping[str, str]) -> str:
    a, b, micro, kind, stage, part = box
    *fills, number = _FILLS[kind]
    high: float = _ROW - 4
    if part:
        high /= 2
    if part == 2:
        top += high
    drawn = _draw_box(a, b, top, high, scale, ink[fills[min(stage, 1)]], ink["card"])
    if (b - a) * scale < _DIGIT * len(micro) + 2 or part:
        return drawn
    return drawn + _draw_text(_LEFT + (a + b) / 2 * scale, top + 15, micro, ink[number], 13, 'text-anchor="middle"')


def _draw_box(a: float, b: float, top: float, high: float, scale: float, fill: str, edge: str) -> str:
    position = f'x="{_LEFT + a * scale:.1f}" y="{top:g}" width="{(b - a) * scale:.1f}" height="{high:g}"'
    return f'<rect {position} fill="{fill}" stroke="{edge}" stroke-width="1"/>'


def _draw_text(x: float, y: float, words: str, ink: str, size: int, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:g}" font-size="{size}" fill="{ink}" {more}>{escape_text(words)}</text>'


def _draw_key(
    kinds: list[str], further: bool, y: int, wide: int, language_number: int, ink: Mapping[str, str]
) -> tuple[str, int]:
    """What the fills mean, in as many lines as it takes, and where the last of them stands."""
    out, x = "", 12
    signs = [(f"{kind}: {_write(kind, language_number)}", ink[_FILLS[kind][0]]) for kind in kinds]
    signs.append((_write("bubble", language_number), _HATCH))
    if further:
        signs.append((_write("further", language_number), ""))
    for label, fill in signs:
        long = 44 + 7 * len(label) * (1 + language_number)
        if x > 12 and x + long > wide:
            x, y = 12, y + _LINE
        indent = 0
        if fill:
            indent = 20
            out += f'<rect x="{x}" y="{y - 11}" width="14" height="14" fill="{fill}" stroke="{ink["edge"]}"/>'
        out += _draw_text(x + indent, y + 1, label, ink["ink2"], 13)
        x += long
    return out, y
