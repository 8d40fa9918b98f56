"""Warnings of the package. They go to Python's `warnings`, or to a list where the caller collects them.

Python's `catch_warnings` changes the filters of the whole process, so two threads that use it at once may leave all
warnings switched off. A list that belongs to the context of the caller concerns no other thread.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

_PACKAGE = str(Path(__file__).parents[1]) + os.sep
_COLLECTED: ContextVar[list[str] | None] = ContextVar("collected warnings", default=None)


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line outside of collsim that led here, or add the message to what `collect_warnings` collects.

    Args:
        message: A whole sentence.
        category: Of the warning.
    """
    collected = _COLLECTED.get()
    if collected is not None:
        collected.append(message)
        return
    level, frame = 1, sys._getframe(0)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


@contextmanager
def collect_warnings() -> Iterator[list[str]]:
    """Collect what `warn` is called with inside a block, in this thread only.

    Returns:
        A context manager; its value is the list of the messages so far.

    Examples:
        >>> with collect_warnings() as messages:
        ...     warn("rail 3 is not described")
        >>> messages
        ['rail 3 is not described']
    """
    messages: list[str] = []
    token = _COLLECTED.set(messages)
    try:
        yield messages
    finally:
        _COLLECTED.reset(token)
