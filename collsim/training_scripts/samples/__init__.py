"""Scripts and a command with the mistakes that articles make most, to look at."""

from __future__ import annotations

from functools import cache

from ...package_data import read_package_file


@cache
def load_samples() -> dict[str, str]:
    """Load the samples.

    Returns:
        Name of each, whose title is the text `sample.NAME` of the catalog `scripts`, and its text.
    """
    names = ("ddp", "data_parallel", "command")
    return {name: read_package_file(__file__, f"{name}.txt") for name in names}
