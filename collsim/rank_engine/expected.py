"""What a collective should leave in the buffer of each rank, for programs that are functions of two arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from ..errors import require_word

#: A collective that a program may claim, also as torch writes it.
ProgramCollective: TypeAlias = Literal[
    "allreduce", "reduce", "broadcast", "allgather", "gather", "scatter", "reduce_scatter", "alltoall",
    "all_reduce", "all_gather", "all_to_all",
]  # fmt: skip
#: Numbers of any type, as a program may choose it.
Array: TypeAlias = npt.NDArray[np.generic]
Arrays: TypeAlias = Sequence[Array]
#: What each rank should have, from rank 0 on.
Results: TypeAlias = Sequence[Array | None]


def make_input(rank: int, elements: int, dtype: npt.DTypeLike) -> Array:
    """What a rank starts with: numbers that tell ranks and elements apart, exact in float32.

    Args:
        rank: from 0 on.
        elements: how many numbers it has.
        dtype: their type.

    Returns:
        An array; the value of element i is (rank + 1) (1 + i mod 7).
    """
    return ((rank + 1) * (1 + np.arange(elements) % 7)).astype(dtype)


def _add(inputs: Arrays) -> Array:
    """The sum of the arrays, in the order of ranks and in their own type."""
    return functools.reduce(np.add, inputs)


def _all_to_all(inputs: Arrays) -> Results:
    parts = [np.split(array, len(inputs)) for array in inputs]
    return [np.concatenate([part[rank] for part in parts]) for rank in range(len(inputs))]


#: Results by collective, to and from rank 0; None: whatever a rank holds is right.
RESULTS: dict[ProgramCollective, Callable[[Arrays], Results]] = {
    "allreduce": lambda inputs: [_add(inputs)] * len(inputs),
    "reduce": lambda inputs: [_add(inputs), *[None] * (len(inputs) - 1)],
    "broadcast": lambda inputs: [inputs[0]] * len(inputs),
    "allgather": lambda inputs: [np.concatenate(inputs)] * len(inputs),
    "gather": lambda inputs: [np.concatenate(inputs), *[None] * (len(inputs) - 1)],
    "scatter": lambda inputs: np.split(inputs[0], len(inputs)),
    "reduce_scatter": lambda inputs: np.split(_add(inputs), len(inputs)),
    "alltoall": _all_to_all,
}
#: Collectives whose arrays are cut into a part for each rank.
IN_PARTS = ("scatter", "reduce_scatter", "alltoall")


def require_program_collective(collective: str) -> ProgramCollective:
    """Find a collective that a program may claim.

    Args:
        collective: `allreduce`, `reduce_scatter`.

    Returns:
        Its name among `RESULTS`.

    Raises:
        CollsimError: for a collective whose results are not known here.
    """
    return cast(ProgramCollective, require_word("collective", collective, RESULTS))


def count_output(collective: ProgramCollective | None, elements: int, ranks: int) -> int:
    """How many numbers the array has that a rank fills.

    Args:
        collective: a name among `RESULTS`; None: any, whose array is as long as the other.
        elements: of the array that it sends.
        ranks: how many ranks there are.

    Returns:
        The length.
    """
    if collective in ("allgather", "gather"):
        return elements * ranks
    if collective in ("scatter", "reduce_scatter"):
        return elements // ranks
    return elements


def build_expectation(collective: str, ranks: int, find_input: Callable[[int], Array]) -> Callable[[int], Array | None]:
    """The result of each rank, computed when it is first asked for: a program that does not end has none to compare.

    Args:
        collective: its name.
        ranks: how many there are.
        find_input: what a rank starts with.

    Returns:
        A function of the rank; None where anything is right.

    Raises:
        CollsimError: for a collective whose results are not known here.
    """
    compute_results = RESULTS[require_program_collective(collective)]

    @functools.cache
    def list_results() -> Results:
        return compute_results([find_input(rank) for rank in range(ranks)])

    return lambda rank: list_results()[rank]


def is_close(result: object, expected: object) -> bool:
    """Whether a result is what was expected: numbers to six digits, all else exactly.

    Args:
        result: what a rank left.
        expected: what it should be; None: anything.

    Returns:
        Whether it is.
    """
    if expected is None:
        return True
    try:
        values, reference = np.asarray(result, float), np.asarray(expected, float)
    except (TypeError, ValueError):  # no numbers
        return bool(np.array_equal(np.asarray(result, object), np.asarray(expected, object)))
    return values.shape == reference.shape and bool(
        np.allclose(values, reference, rtol=1e-6, atol=1e-9, equal_nan=True)
    )
