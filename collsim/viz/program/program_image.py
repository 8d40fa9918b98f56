"""The lanes of a rank program as an image, where no script runs and no style of a page reaches: lessons."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass, field

from ...display.markup import escape_text
from ...display.palette import TOKENS
from ...locale import LANGUAGES
from ...programs import ProgramRun
from .program_picture import draw_program_lanes

_WIDE, _NARROW = 760, 340
_COLOUR = re.compile(r"var\(--cs-(\w+)\)")
#: In a page a picture is as wide as its place; an image has a size of its own.
_WIDTH = re.compile(r'style="[^"]*" viewBox="0 0 (\d+) (\d+)" width="100%"')
_LOOK = (
    ".cs-lanes-of-ranks img{max-width:100%}.cs-lanes-of-ranks .narrow{display:none}"
    "@media(max-width:600px){.cs-lanes-of-ranks .wide{display:none}.cs-lanes-of-ranks .narrow{display:block}}"
)


@dataclass(frozen=True)
class ProgramPicture:
    """The lanes of a run."""

    run: ProgramRun = field(repr=False)

    def describe(self, language_number: int) -> str:
        """What the picture shows, in a text; language_number: 0 in English, 1 in Chinese."""
        return self.run.explanation(LANGUAGES[language_number])

    def html(self, language_number: int, *, narrow: bool = True, dark: bool = False) -> str:
        """The picture in a page.

        Args:
            language_number: Language of the description: 0 for English, 1 for Chinese.
            narrow: Also a picture for narrow screens.
            dark: For a dark page.
        """
        label = self.describe(language_number)
        images, look = self._draw_image("wide", _WIDE, label, dark), ""
        if narrow:
            images += self._draw_image("narrow", _NARROW, label, dark)
            look = f"<style>{_LOOK}</style>"
        return f'<div class="cs-lanes-of-ranks">{images}{look}</div>'

    def svg(self, width: int = _WIDE, *, dark: bool = False) -> str:
        """The picture as an SVG file.

        Args:
            width: In pixels.
            dark: For a dark page.
        """
        picture = _COLOUR.sub(lambda match: TOKENS[match[1]][dark], draw_program_lanes(self.run, width))
        return _WIDTH.sub(r'viewBox="0 0 \1 \2" width="\1" height="\2"', picture, count=1)

    def _draw_image(self, name: str, width: int, label: str, dark: bool) -> str:
        data = base64.b64encode(self.svg(width, dark=dark).encode()).decode()
        return f'<img class="{name}" alt="{escape_text(label)}" src="data:image/svg+xml;base64,{data}">'
