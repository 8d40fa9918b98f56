"""The style sheets of the app: one file for each part of it, next to this module."""

from __future__ import annotations

from pathlib import Path


def read_style(name: str) -> str:
    """Return the rules of a style sheet.

    Args:
        name: of the file, without `.css`.
    """
    return Path(__file__).with_name(f"{name}.css").read_text(encoding="utf-8")
