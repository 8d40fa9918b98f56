"""The modes in which a program is executed: what MPI and torch leave open is decided otherwise in each."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from .engine import Kept, RunMode
from .execute import Execution, find_users

UNLIMITED = float("inf")
MAX_ORDERS = 32  # executions in other orders of arrival


def execute_modes(execute: Callable[[RunMode, Kept], Execution], limit: float) -> list[Execution]:
    """Execute a program in the modes that tell something.

    Args:
        execute: runs it once in a mode, and keeps events only of the first run.
        limit: messages up to so many bytes are buffered; -1: none.

    Returns:
        First as the library does it; then, where that hangs, in other orders and with every message buffered; else,
        where it can make a difference, with bytes read as late as they may be, in other orders in which receives from
        any source may take their messages (at most `MAX_ORDERS`), and with no message buffered.
    """
    first = execute(RunMode(limit), "events")
    if first.errors:
        return [find_users(first)]
    if first.hangs:
        ahead = None
        if any(wait.needs is not None for wait in first.waits):
            ahead = execute(RunMode(UNLIMITED, looks_ahead=True), "results")
        orders = _execute_orders(execute, limit, first)
        return [find_users(first, ahead), execute(RunMode(UNLIMITED), "results"), *orders]
    executions = [first]
    if first.depends_on_reads:
        executions.append(execute(RunMode(limit, is_late=True), "results"))
    executions += _execute_orders(execute, limit, first)
    if limit >= 0:
        executions.append(execute(RunMode(), "results"))
    return executions


def _execute_orders(
    execute: Callable[[RunMode, Kept], Execution], limit: float, first: Execution
) -> Iterator[Execution]:
    """A program in other orders of arrival: every choice taken otherwise, one after another."""
    pending = _list_other_choices(first)
    if first.options:
        pending.append(tuple(count - 1 for count in first.options))  # the highest source first
    for _ in range(MAX_ORDERS):
        if not pending:
            return
        execution = execute(RunMode(limit, choices=pending.pop()), "results")
        pending += _list_other_choices(execution)
        yield find_users(execution)


def _list_other_choices(execution: Execution) -> list[tuple[int, ...]]:
    """The choices of an execution with one of those changed that it made by default; each order comes up once."""
    taken = execution.mode.choices
    return [
        (*taken, *[0] * (number - len(taken)), choice)
        for number in range(len(taken), len(execution.options))
        for choice in range(1, execution.options[number])
    ]
