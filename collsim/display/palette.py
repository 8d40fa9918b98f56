"""Colours, fonts and the spaces between numbers and units, from `palette.json`, which the JavaScript reads as well.

A token has a colour for the light and one for the dark theme: Okabe and Ito's hues, moved in lightness only.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TypedDict


class _Palette(TypedDict):
    """What this module reads of the file."""

    tokens: dict[str, tuple[str, str]]
    series: list[str]
    fonts: list[str]
    number_unit_space: str


_PALETTE: _Palette = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))

#: Colours by name: (light, dark).
TOKENS: dict[str, tuple[str, str]] = {name: (light, dark) for name, (light, dark) in _PALETTE["tokens"].items()}
#: Tokens for the lines of a plot, in this order; with more of them, dashes tell them apart.
SERIES: tuple[str, ...] = tuple(_PALETTE["series"])
FONT = ", ".join(_PALETTE["fonts"])
#: A space between a digit and a unit, as a regular expression.
NUMBER_UNIT_SPACE: str = _PALETTE["number_unit_space"]


def build_css_variables(names: Iterable[str] = TOKENS, prefix: str = "--") -> str:
    """Return declarations of tokens as CSS variables that follow the `color-scheme` of their element.

    Args:
        names: Tokens; all unless given.
        prefix: What the variables' names begin with.

    Examples:
        >>> build_css_variables(["card"])
        '--card:light-dark(#FFFFFF,#161D21)'
    """
    return ";".join(f"{prefix}{name}:light-dark({','.join(TOKENS[name])})" for name in names)
