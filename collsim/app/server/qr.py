"""QR codes (ISO/IEC 18004, made by segno): for a terminal, and as a picture for a page."""

from __future__ import annotations

import io
from functools import lru_cache

import segno


def render_qr_text(text: str) -> str:
    """Return a QR code for a terminal: two modules a character, for light letters on a dark ground. On a light one it
    comes out inverted."""
    out = io.StringIO()
    segno.make(text, micro=False).terminal(out, border=2, compact=True)
    return out.getvalue()


@lru_cache(maxsize=64)
def render_qr_svg(text: str) -> str:
    """Return a QR code as an SVG in a data URI, dark on white with the quiet zone of four modules that readers want."""
    return str(segno.make(text, micro=False).svg_data_uri(scale=6, border=4, dark="#000", light="#fff"))
