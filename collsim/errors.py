"""Errors that say what was given, where, and the way out.

Every mistake a user can make ends in a `CollsimError`; doors (CLI, app) show its sentence and nothing else.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class CollsimError(ValueError):
    """A mistake in what collsim was given: the value, the place, and how to mend it."""


class ScheduleError(CollsimError):
    """A schedule that cannot run, or that does not do what its collective promises.

    Attributes:
        step, rank, chunk: where it went wrong (0-based), or None where that has no meaning.
    """

    def __init__(self, message: str, *, step: int | None = None, rank: int | None = None, chunk: int | None = None):
        super().__init__(message)
        self.step, self.rank, self.chunk = step, rank, chunk


class TopologyError(CollsimError):
    """A machine or network that cannot be built, or on which ranks cannot reach each other."""


class FormatError(CollsimError):
    """A file that is not what it claims to be: file, line or element, and what was expected."""


def unknown(what: str, name: object, known: Iterable[str]) -> str:
    """The sentence for an unknown name, with the nearest known ones.

    >>> unknown("machine", "dgx-h10", ["dgx-h100", "dgx-1v"])
    "unknown machine 'dgx-h10'; did you mean 'dgx-h100'?"
    """
    names = sorted(known)
    close = difflib.get_close_matches(str(name), names, n=3, cutoff=0.6)
    if close:
        return f"unknown {what} {name!r}; did you mean {' or '.join(map(repr, close))}?"
    return f"unknown {what} {name!r}; known: {', '.join(names)}"
