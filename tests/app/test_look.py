"""Streamlit's theme and our tokens are the same colours, and text can be read on them."""

import tomllib
from itertools import pairwise
from pathlib import Path

import pytest

from collsim.app.shell.look import color
from collsim.display.palette import SERIES, TOKENS

ROOT = Path(__file__).parents[2]
THEME = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text())["theme"]


@pytest.mark.parametrize("dark", [False, True])
def test_the_theme_file_holds_the_tokens(dark):
    theme = THEME["dark" if dark else "light"]
    assert theme["backgroundColor"] == color("bg", dark)
    assert theme["secondaryBackgroundColor"] == color("card", dark)
    assert theme["primaryColor"] == theme["textColor"] == color("ink", dark)
    assert theme["chartCategoricalColors"] == [color(name, dark) for name in SERIES]


def luminance(hex_color):
    parts = [int(hex_color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(a, b):
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("dark", [False, True])
def test_text_has_contrast_4_5_and_marks_have_3(dark):
    for ground in ("bg", "card"):
        for name in ("ink", "ink2", "ink3", "fulltext"):
            assert contrast(color(name, dark), color(ground, dark)) >= 4.5, (name, ground)
        for name in SERIES:
            assert contrast(color(name, dark), color(ground, dark)) >= 3, (name, ground)


def test_lightness_falls_with_use_so_that_grey_print_keeps_the_order():
    levels = [luminance(TOKENS[name][0]) for name in ("room", "near", "full")]
    assert all(a > b for a, b in pairwise(levels))
