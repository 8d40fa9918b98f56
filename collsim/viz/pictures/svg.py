"""Elements of SVG as text: the pictures that are drawn without matplotlib."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape


def draw_element(name: str, content: str = "", /, **attributes: object) -> str:
    """`<rect x="1.0" y="2.0"/>`.

    Args:
        name: Of the element.
        content: What stands in it, as SVG.
        **attributes: By name, `_` for `-`; a word of Python ends in `_`. Numbers that are not whole have one digit,
            and empty values are left out.
    """
    words = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_format_value(value)}"'
        for key, value in attributes.items()
        if value != ""
    )
    if content:
        return f"<{name}{words}>{content}</{name}>"
    return f"<{name}{words}/>"


def _format_value(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.1f}"
    return escape(str(value))


def draw_text(text: str, x: float, y: float, **attributes: object) -> str:
    """A text at a position.

    Args:
        text: What it says.
        x: Position of its anchor, px.
        y: Its base line, px.
        **attributes: As in `draw_element`.
    """
    return f"<text{draw_element('', x=x, y=y, **attributes)[1:-2]}>{escape(text)}</text>"


def wrap_svg(parts: Iterable[str], kind: str, label: str, width: float, height: float, **attributes: object) -> str:
    """A picture of its elements, as wide as the page lets it.

    Args:
        parts: The elements.
        kind: Class of the picture.
        label: What it shows, for screen readers.
        width: Of its coordinates, px.
        height: Likewise.
        **attributes: Further ones, as in `draw_element`.
    """
    view = f"0 0 {width} {height:.0f}"
    look = {"class_": kind, "role": "img", "aria_label": label, **attributes}
    return draw_element("svg", "".join(parts), xmlns="http://www.w3.org/2000/svg", **look, viewBox=view, width="100%")
