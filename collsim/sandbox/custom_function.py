"""A learner's own function, in their own kernel or script: `exercise(...).check(my_function)`.

Its definition has already run there with all rights, so nothing is to be kept from it; what it gets is protection from
accidents: a copy of the process with limits, and, where the system has seccomp, no way to write, start, signal or send
anything. It may read what its kernel may read. Where there is no seccomp it runs with the limits alone, and that is
said once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from ..errors.collected_warnings import warn
from . import syscalls
from .attempt import Attempt, read_attempt
from .isolation import Isolation
from .learner_tables import FunctionRequest, send_tables
from .resource_limits import Limits
from .sandbox_launcher import run_in_child


class OpenGround(UserWarning):
    """A function runs without isolation."""


def try_function(function: Callable[..., Any], request: FunctionRequest, limits: Limits | None = None) -> Attempt:
    """Call `function(n)` for each n and take what it yields, as far as it gets.

    Args:
        function: the learner's.
        request: what it is called for.
        limits: of all its calls together.
    """
    limits = limits or Limits()
    there = syscalls.has_seccomp()
    if not there:
        _warn_once()
    ended = run_in_child(
        lambda send: send_tables(lambda: function, request, limits, send),
        limits,
        Isolation.LANDLOCK if there else Isolation.NONE,
    )
    return read_attempt(ended, request, limits)


@lru_cache(maxsize=1)
def _warn_once() -> None:
    warn(
        "this system has no seccomp: check() runs your function with a limit on its time only; it may do all that "
        "you may. Check only functions that you wrote or read.",
        OpenGround,
    )
