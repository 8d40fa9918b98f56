"""How a program is started: its entry, its arguments, and the library whose semantics it has."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..errors import CollsimError, describe_unknown
from ..units import ByteSize, format_bytes, parse_bytes
from .execute import SIZE_NAMES, StartPlan
from .expected import IN_PARTS, build_expectation, make_input, require_program_collective
from .rewrite import RewrittenProgram, rewrite

#: Bytes that MPICH 5.0.2 copies at once in shared memory (measured: 8,112 complete without a receive, 8,113 do not).
MPICH_EAGER_LIMIT = 8_112
MAX_RANKS = 64
#: Bytes of the arrays of all ranks; the process of a program has no more.
MAX_MEMORY = 2**30
_RANK_PARAMETERS = {"rank", "comm"}
#: Parameters that every rank can fill in.
KNOWN_PARAMETERS = {*_RANK_PARAMETERS, *SIZE_NAMES, "send", "recv"}


def _find_entry(rewritten: RewrittenProgram, entry: str | None, collective: str | None) -> str:
    """The function that every rank calls; empty for a script."""
    functions = rewritten.functions
    if entry is not None:
        if entry and entry not in functions:
            raise CollsimError(describe_unknown("function", entry, functions))
        return entry
    # Names that entry functions have in articles; of several functions only one that takes a rank is an entry.
    preferred = [collective or "", "run", "main", "program"]
    for name in preferred:
        if name in functions and (collective is not None or _is_called_by_rank(rewritten, name)):
            return name
    if (rewritten.has_main or rewritten.runs_functions) and collective is None:
        return ""
    if len(functions) == 1 and (collective is not None or not rewritten.is_script):
        return next(iter(functions))
    if functions and not rewritten.is_script:
        message = "the program only defines functions; say which of {functions} every rank calls"
        raise CollsimError(message, functions=", ".join(list(functions)[:8]))
    return ""


def _is_called_by_rank(rewritten: RewrittenProgram, name: str) -> bool:
    """Whether every rank calls a function: the script does not by itself, and its parameters are what a rank has."""
    if rewritten.runs_functions:
        return False
    return not rewritten.has_main or set(rewritten.functions[name]) <= KNOWN_PARAMETERS


def build_plan(
    source: str,
    ranks: int,
    entry: str | None,
    collective: str | None,
    nbytes: ByteSize,
    arguments: Mapping[str, object],
) -> StartPlan:
    """Read a program and decide how it is started.

    Args:
        source: Python source.
        ranks: how many ranks run it.
        entry: the function that every rank calls; None: found by its name.
        collective: what the program should do, or None.
        nbytes: bytes of each rank's array.
        arguments: more arguments of the entry, by name.

    Returns:
        The plan of its executions.

    Raises:
        CollsimError: for a number of ranks that is not run, an unknown entry, and source that cannot be rewritten.
    """
    if isinstance(ranks, bool) or not isinstance(ranks, int) or not 1 <= ranks <= MAX_RANKS:
        raise CollsimError("ranks={ranks} must be 1 to {most}", ranks=ranks, most=MAX_RANKS)
    collective_name = None
    if collective is not None:
        collective_name = require_program_collective(collective)
    rewritten = rewrite(source)
    name = _find_entry(rewritten, entry, collective)
    parameters = set(rewritten.functions.get(name, ()))
    has_library = any(module.startswith(("torch", "mpi4py")) for module in rewritten.imports)
    is_rank_function = bool(parameters & _RANK_PARAMETERS) or {"send", "recv"} <= parameters
    dtype: np.dtype[Any] = np.dtype(np.float64)
    if rewritten.uses_torch:
        dtype = np.dtype(np.float32)
    elements = max(1, parse_bytes(nbytes) // dtype.itemsize)
    # Collectives of blocks need as many elements for each rank.
    if collective_name in IN_PARTS:
        elements = -(-elements // ranks) * ranks
    make = functools.cache(functools.partial(make_input, elements=elements, dtype=dtype))
    is_single = not has_library and not is_rank_function
    plan = StartPlan(rewritten, name, ranks, is_single, make, elements, dtype, arguments, collective_name)
    total = ranks * elements * dtype.itemsize
    if plan.takes_array and total > MAX_MEMORY:
        message = "nbytes={nbytes} on {ranks} ranks is {total} of arrays; {most} is the most, so give a smaller nbytes"
        texts = {"total": format_bytes(total), "most": format_bytes(MAX_MEMORY)}
        raise CollsimError(message, nbytes=nbytes, ranks=ranks, **texts)
    return plan


def expect_collective(plan: StartPlan, collective: str) -> Callable[[int], object]:
    """The results that a collective should give, by rank.

    Args:
        plan: the program and its inputs.
        collective: its name.

    Returns:
        A function of the rank.

    Raises:
        CollsimError: for a collective whose results are not known here.
    """
    expectation = build_expectation(collective, plan.ranks, plan.make_input)
    if plan.is_single:  # one process returns the arrays of all ranks
        return lambda rank: [expectation(other) for other in range(plan.ranks)]
    return expectation


def find_eager_limit(rewritten: RewrittenProgram, eager_limit: ByteSize | None) -> float:
    """Up to how many bytes a message is buffered.

    Args:
        rewritten: the program, whose imports say which library it uses.
        eager_limit: what was asked for, or None.

    Returns:
        Bytes; -1 where every send waits for its receive, as with gloo.
    """
    if eager_limit is not None:
        return parse_bytes(eager_limit, "eager_limit")
    if rewritten.library == "mpi4py":
        return MPICH_EAGER_LIMIT
    return -1
