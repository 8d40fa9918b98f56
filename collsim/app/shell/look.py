"""The look: tokens, the style sheet of the parts that Streamlit draws, and the theme of the charts.

The tokens are those of the player (`collsim/display/palette.json`); those that Streamlit's own widgets need stand in
`.streamlit/config.toml` as well, and a test holds the two together. `light-dark()` follows the `color-scheme` that
Streamlit sets, so nothing here needs to know which theme is on.
"""

from __future__ import annotations

from typing import Any

from collsim.display.palette import FONT, TOKENS, build_css_variables

from ..styles import read_style

#: Components that are a page's picture: on a phone they stand before everything else of it.
_PICTURES = ",".join(
    f".st-key-{key}"
    for key in (
        "player",
        "race",
        "before_after",
        "step",
        "rivals",
        "synthesis",
        "pipelines",
        "sharding",
        "split",
        "routes",
        "lab",
        "lab_step",
        "write_play",
        "card_hang",
    )
)

STYLE = (
    f"<style>.stApp{{{build_css_variables(prefix='--cs-')};font-variant-numeric:tabular-nums}}\n"
    f"{read_style('look').replace('PICTURES', _PICTURES)}</style>"
)


def build_menu_style(name: str) -> str:
    """The style that gives the button of the folded menu a word, as an arrow alone says nothing on a phone.

    Args:
        name: The word, without quotation marks.
    """
    button = "[data-testid=stExpandSidebarButton]"
    return (
        f"<style>{button}{{width:auto;padding:0 10px;border:1px solid var(--cs-edge);border-radius:7px;gap:6px}}"
        f"{button}::after{{content:'{name}';font-size:15px;font-weight:700;color:var(--cs-ink)}}</style>"
    )


def color(token: str, dark: bool) -> str:
    """A token's hex value in one theme.

    Args:
        token: Name of the color.
        dark: For a dark page.
    """
    return TOKENS[token][dark]


def build_chart_look(dark: bool) -> dict[str, Any]:
    """Configuration of an Altair chart: system fonts, ink text, light grid.

    Args:
        dark: For a dark page.
    """
    ink, grid, line = color("ink2", dark), color("grid", dark), color("line", dark)
    words = {
        "labelFontSize": 14,
        "titleFontSize": 15,
        "labelColor": ink,
        "titleColor": ink,
        "titleFontWeight": "normal",
    }
    return {
        "font": FONT,
        "background": color("card", dark),
        "axis": {**words, "gridColor": grid, "domainColor": line, "tickColor": line, "titlePadding": 10},
        "view": {"stroke": None},
    }


def _draw_ring(dark: bool) -> str:
    """Chunks on a ring, in a square of 32."""
    ink, card = color("ink", dark), color("card", dark)
    dots = "".join(
        f'<circle cx="{x}" cy="22" r="3.6" fill="{color(token, dark)}" stroke="{card}" stroke-width="1.4"/>'
        for x, token in ((6, "done"), (26, "full"))
    )
    return (
        f'<circle cx="16" cy="16" r="11.5" fill="none" stroke="{ink}" stroke-opacity=".55" stroke-width="2.4"/>'
        f'<rect x="12" y="0.9" width="8" height="8" rx="1.6" fill="{card}" stroke="{ink}" stroke-width="1.6"/>{dots}'
    )


def mark() -> str:
    """The icon of the browser's tab."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="32" height="32" viewBox="0 0 32 32">{_draw_ring(False)}</svg>'
    )


def draw_logo(dark: bool) -> str:
    """The name with its mark.

    Args:
        dark: For a dark page.
    """
    letters = 'font-family="Segoe UI,Helvetica Neue,Arial,sans-serif" font-size="20" font-weight="700"'
    name = f'<text x="38" y="22.5" {letters} fill="{color("ink", dark)}">collsim</text>'
    head = '<svg xmlns="http://www.w3.org/2000/svg" width="120" height="32" viewBox="0 0 120 32">'
    return f"{head}{_draw_ring(dark)}{name}</svg>"
