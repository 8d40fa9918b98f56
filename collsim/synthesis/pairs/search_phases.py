"""The parts of a search, by the word that a `progress` function gets for each."""

from __future__ import annotations

from collections.abc import Callable

RATES = "rates"
TREES, REDUCING_TREES = "trees", "reducing trees"
TIMING_TREES = "timing trees"
MATCHING = "matching"
SOLVER = "solver"
LIBRARY = "ring and tree"
#: All of them, in the order in which they come.
PHASES = (RATES, TREES, REDUCING_TREES, TIMING_TREES, MATCHING, SOLVER, LIBRARY)


def count_in(tell: Callable[..., None] | None, phase: str) -> Callable[[int, int], None] | None:
    """A function of (done, in all) that reports both as parts of one phase; None where nobody wants to know."""
    if tell is None:
        return None
    return lambda done, total: tell(done, total, phase)


def tick_in(tell: Callable[..., None] | None, phase: str, total: int = 1) -> Callable[[], None] | None:
    """Build a function that reports that a phase is under way, with nothing done yet.

    Args:
        tell: Called with (parts done, in all, phase); None where nobody wants to know.
        phase: One of `PHASES`.
        total: Parts in all.

    Returns:
        The function, or None without `tell`.
    """
    if tell is None:
        return None
    return lambda: tell(0, total, phase)
