"""QR codes (ISO/IEC 18004, made by segno): for a terminal, and as a picture for a page."""

from __future__ import annotations

import io
from functools import lru_cache

import segno


def in_terminal(text: str) -> str:
    """Two modules a character, for light letters on a dark ground; on a light ground it comes out inverted."""
    out = io.StringIO()
    segno.make(text, micro=False).terminal(out, border=2, compact=True)
    return out.getvalue()


@lru_cache(maxsize=64)
def as_picture(text: str) -> str:
    """An SVG as a data URI, dark on white with the quiet zone of four modules that readers want."""
    return str(segno.make(text, micro=False).svg_data_uri(scale=6, border=4, dark="#000", light="#fff"))
