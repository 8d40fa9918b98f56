"""Errors that say what was given, where, and the way out.

Every mistake a user can make ends in a `CollsimError`; doors (CLI, app) show its sentence and nothing else.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Collection, Iterable
from pathlib import Path

_LONGEST_NAME = 200
_MOST_NAMES = 64


class CollsimError(ValueError):
    """A mistake in what collsim was given: the value, the place, and how to mend it."""


class ScheduleError(CollsimError):
    """A schedule that cannot run, or that does not do what its collective promises.

    Attributes:
        step, rank, chunk: where it went wrong (0-based), or None where that has no meaning.
        from_start: no step makes it wrong, it is so from the start; `step` is 0 then.
    """

    from_start = False

    def __init__(self, message: str, *, step: int | None = None, rank: int | None = None, chunk: int | None = None):
        super().__init__(message)
        self.step, self.rank, self.chunk = step, rank, chunk


class TopologyError(CollsimError):
    """A machine or network that cannot be built, or on which ranks cannot reach each other."""


class FormatError(CollsimError):
    """A file that is not what it claims to be: file, line or element, and what was expected."""


def unknown(what: str, name: object, known: Iterable[str]) -> str:
    """The sentence for an unknown name, with the nearest known ones (or those that contain it: `"ring"` for
    `"allreduce_ring"`).

    >>> unknown("machine", "dgx-h10", ["dgx-h100", "dgx-1v"])
    "unknown machine 'dgx-h10'; did you mean 'dgx-h100'?"
    """
    names = sorted(known)
    more = f" and {len(names) - _MOST_NAMES:,} more" if len(names) > _MOST_NAMES else ""
    listed = ", ".join(names[:_MOST_NAMES]) + more or "none"
    text = str(name)
    if len(text) > _LONGEST_NAME:  # from a damaged file; the search for near names would take its square
        return f"unknown {what} '{text[:_LONGEST_NAME]}…' of {len(text):,} characters; known: {listed}"
    word = text.lower()
    close = difflib.get_close_matches(text, names, n=3, cutoff=0.6)
    close += [n for n in names if len(word) > 2 and word in n.lower() and n not in close][:5]
    if close:
        return f"unknown {what} {name!r}; did you mean {' or '.join(map(repr, close))}?"
    return f"unknown {what} {name!r}; known: {listed}"


def require_word(what: str, value: object, known: Collection[str]) -> str:
    """The value, if it is one of the known words. Raises CollsimError with the nearest ones for anything else, of
    whatever type."""
    if not isinstance(value, str) or value not in known:
        raise CollsimError(unknown(what, value, known))
    return value


def require_path(value: object, what: str = "path") -> Path:
    """A path from a text or a Path. Raises CollsimError for anything else (a number would be taken for an open
    file)."""
    if not isinstance(value, (str, os.PathLike)) or isinstance(place := os.fspath(value), bytes):
        raise CollsimError(f"{what}={value!r} is not a path; give a text or a Path, for example 'ring.html'")
    if "\0" in place:
        raise CollsimError(f"{what}={value!r} is not a path; it has a zero byte in it")
    return Path(place)
