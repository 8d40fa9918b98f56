"""Scripts and a command with the mistakes that articles make most, to look at."""

from __future__ import annotations

from functools import cache
from pathlib import Path


@cache
def load_samples() -> dict[str, str]:
    """Load the samples.

    Returns:
        Name of each, whose title is the text `sample.NAME` of the catalog `scripts`, and its text.
    """
    names = ("ddp", "data_parallel", "command")
    return {name: (Path(__file__).parent / f"{name}.txt").read_text(encoding="utf-8") for name in names}
