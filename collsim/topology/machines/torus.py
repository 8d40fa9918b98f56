"""Slices of TPU pods that are whole tori: their links and rings. For larger ones use `torus(8, 8, 8,
bandwidth="50GB/s")`."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Places: TypeAlias = npt.NDArray[np.int_]


def list_torus_links(dims: tuple[int, ...]) -> Iterator[tuple[str, str]]:
    """List the links of a torus: a ring along each dimension.

    Args:
        dims: sizes; chips are numbered with the last dimension fastest.

    Yields:
        The devices at both ends.
    """
    chips = prod(dims)
    for chip in range(chips):
        stride = chips
        for size in dims:
            stride //= size
            here = chip // stride % size
            yield f"gpu{chip}", f"gpu{chip + ((here + 1) % size - here) * stride}"


def order_snake(dims: tuple[int, ...]) -> tuple[int, ...]:
    """Order all chips so that the next is a neighbour, and the last one of the first: every row there and the next one
    back.

    Args:
        dims: sizes of the torus.
    """
    walk: Places = np.arange(dims[0])[:, None]
    for size in dims[1:]:
        walk = _append_rows(walk, size)
    return tuple(np.ravel_multi_index(tuple(walk.T), dims).tolist())


def _append_rows(outer: Places, size: int) -> Places:
    """Each place of the outer walk becomes a row, walked forwards and backwards in turn."""
    rows = [np.arange(size) if i % 2 == 0 else np.arange(size)[::-1] for i in range(len(outer))]
    return np.column_stack([np.repeat(outer, size, axis=0), np.concatenate(rows)])
