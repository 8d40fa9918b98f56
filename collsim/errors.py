"""Errors that say what was given, where, and the way out.

Every mistake a user can make ends in a `CollsimError`; doors (CLI, app) show its sentence and nothing else.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

_LONGEST_NAME = 200
_LONGEST_VALUE = 80
_LONGEST_LIST = 600
_MOST_NAMES = 64
_MOST_COMPARED = 2000
_MOST_BITS = 512


class CollsimError(ValueError):
    """A mistake in what collsim was given: the value, the place, and how to mend it."""

    _most = 4000  # characters of a message, whatever stands in it

    def __init__(self, message: str = "") -> None:
        half = self._most // 2  # the way out stands at the end
        super().__init__(message if len(message) <= self._most else f"{message[:half]} … {message[3 - half :]}")


class ScheduleError(CollsimError):
    """A schedule that cannot run, or that does not do what its collective promises.

    Attributes:
        step, rank, chunk: where it went wrong (0-based), or None where that has no meaning.
        from_start: no step makes it wrong, it is so from the start; `step` is 0 then.
        origin, cell: where it begins (`collsim.origin`), and the cell (endpoint, slot) in which it shows, where `verify`
            found both.
    """

    from_start = False
    origin: Any = None
    cell: tuple[int | None, int | None] | None = None

    def __init__(self, message: str, *, step: int | None = None, rank: int | None = None, chunk: int | None = None):
        super().__init__(message)
        self.step, self.rank, self.chunk = step, rank, chunk


class TopologyError(CollsimError):
    """A machine or network that cannot be built, or on which ranks cannot reach each other."""


class FormatError(CollsimError):
    """A file that is not what it claims to be: file, line or element, and what was expected."""

    _most = 1000


def shown(value: object, most: int = _LONGEST_VALUE) -> str:
    """A value in a message, as Python writes it and however long it is: the first characters of what somebody gave.

    >>> shown("9" * 900_000, 8)
    "'9999999…' of 900,000 characters"
    """
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        return f"a number of {value.bit_length():,} bits"
    try:
        text = repr(value[:most]) if isinstance(value, str) else repr(value)
    except (ValueError, RecursionError):  # long numbers or deep lists inside
        return f"a {type(value).__name__}"
    if isinstance(value, str) and len(value) > most:
        return f"{repr(value[: most - 1])[:-1]}…' of {len(value):,} characters"
    return text if len(text) <= max(most, _LONGEST_VALUE) + 2 else f"{text[:most]}…"


def unknown(what: str, name: object, known: Iterable[str]) -> str:
    """The sentence for an unknown name, with the nearest known ones (or those that contain it: `"ring"` for
    `"allreduce_ring"`).

    >>> unknown("machine", "dgx-h10", ["dgx-h100", "dgx-1v"])
    "unknown machine 'dgx-h10'; did you mean 'dgx-h100'?"
    """
    names = sorted(known)
    listed = _listed(names)
    text = name if isinstance(name, str) else shown(name)
    if len(text) > _LONGEST_NAME:  # from a damaged file; the search for near names would take its square
        return f"unknown {what} '{text[:_LONGEST_NAME]}…' of {len(text):,} characters; known: {listed}"
    word = text.lower()
    short = [n for n in names[:_MOST_COMPARED] if len(n) <= _LONGEST_NAME]
    close = difflib.get_close_matches(text, short, n=3, cutoff=0.6)
    close += [n for n in short if len(word) > 2 and word in n.lower() and n not in close][:5]
    if close:
        return f"unknown {what} {shown(name, _LONGEST_NAME)}; did you mean {' or '.join(map(repr, close))}?"
    return f"unknown {what} {shown(name, _LONGEST_NAME)}; known: {listed}"


def _listed(names: list[str]) -> str:
    """The names, as many of them as can be read."""
    length = 0
    for count, name in enumerate(names):
        length += len(name) + 2
        if length > _LONGEST_LIST or count == _MOST_NAMES:
            return f"{', '.join(names[:count])} and {len(names) - count:,} more"
    return ", ".join(names) or "none"


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
