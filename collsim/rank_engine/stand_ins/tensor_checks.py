"""What torch and gloo require of the tensors of a collective before anything is sent, and how gloo reads them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .tensors import Tensor

#: Element types that gloo sends in a collective; a message may have any.
_TYPES = dict.fromkeys(map(np.dtype, ("bool", "float16", "float32", "float64", "int8", "uint8", "int32", "int64")))


def require_tensor(tensor: object, call: str) -> None:
    """Refuse what is no tensor.

    Args:
        tensor: An argument.
        call: The word of the library.

    Raises:
        TypeError: It is none.
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(f"{call} wants a tensor, not {type(tensor).__name__}")


def require_types(call: str, tensors: Sequence[object]) -> None:
    """Refuse tensors of several types, and of one that gloo does not send.

    Args:
        call: The word of the library.
        tensors: Tensors, and lists of them.

    Raises:
        TypeError: One of them is no tensor, and no list of tensors.
        ValueError: Their types differ.
        RuntimeError: gloo sends no tensors of this type in a collective.
    """
    flat: list[Any] = []
    for tensor in tensors:
        if isinstance(tensor, tuple) or not isinstance(tensor, list | np.ndarray):
            raise TypeError(f"{call} wants a tensor or a list of tensors, not {type(tensor).__name__}")
        flat += tensor if isinstance(tensor, list) else [tensor]
    for part in flat:
        require_tensor(part, call)
    types = dict.fromkeys(part.dtype for part in flat)
    if len(types) > 1:
        raise ValueError(f"{call}: tensors of different types: {', '.join(map(str, types))}")
    if types.keys() - _TYPES.keys():
        raise RuntimeError(f"{call}: invalid scalar type {next(iter(types))}: gloo sends {', '.join(map(str, _TYPES))}")


def require_parts(call: str, tensor: np.ndarray, parts: Any, size: int) -> None:
    """Refuse a list that has not a tensor of one shape for each rank, and a tensor that cannot be cut into them.

    Args:
        call: The word of the library.
        tensor: The part of one rank.
        parts: The list, or the tensor that holds all parts one after another along its first dimension.
        size: The number of ranks.

    Raises:
        RuntimeError: It does not fit.
    """
    if isinstance(parts, np.ndarray):
        if not tensor.ndim or parts.shape != (size * tensor.shape[0], *tensor.shape[1:]):
            text = f"{call}: a tensor of shape {parts.shape} does not hold {size} of shape {tensor.shape} one after"
            raise RuntimeError(f"{text} another along the first dimension, as gloo wants it")
        return
    if len(parts) != size:
        raise RuntimeError(f"{call}: the list has {len(parts)} tensors, and there are {size} ranks")
    for position, part in enumerate(parts):
        if part.shape != tensor.shape:
            raise RuntimeError(
                f"{call}: tensor {position} of the list is of shape {part.shape}, another one {tensor.shape}"
            )


def cut_tensor(call: str, tensor: np.ndarray, sizes: Sequence[int] | None, ranks: int) -> list[np.ndarray]:
    """The parts of `all_to_all_single`.

    Args:
        call: The word of the library.
        tensor: What is cut along its first dimension.
        sizes: Lengths of the parts; None or empty for equal ones.
        ranks: How many parts there are.

    Returns:
        Views.

    Raises:
        RuntimeError: The tensor cannot be cut so.
    """
    if not sizes:
        if tensor.size % ranks:
            raise RuntimeError(f"{call}: {tensor.size} elements cannot be cut into {ranks} equal parts")
        return np.split(tensor.reshape(-1), ranks)
    if len(sizes) != ranks or sum(sizes) != tensor.shape[0]:
        text = f"{call}: the sizes {list(sizes)} are not {ranks} parts of {tensor.shape[0]} rows together"
        raise RuntimeError(text)
    return np.split(tensor, np.cumsum(sizes)[:-1])


def view_memory(tensor: np.ndarray) -> np.ndarray:
    """What gloo reads and fills: as many elements as a tensor has from its first one on, wherever the tensor has them.

    Args:
        tensor: Any.

    Returns:
        A flat view for a tensor whose elements do not lie one after another, else the tensor.
    """
    # Steps back and elements that lie on one another would lead out of the memory of the tensor.
    if tensor.flags.c_contiguous or min(tensor.strides) <= 0 or _measure_span(tensor) < tensor.size:
        return tensor
    return np.lib.stride_tricks.as_strided(tensor, (tensor.size,), (tensor.itemsize,))


def has_gaps(tensor: np.ndarray) -> bool:
    """Whether other elements lie between those of a tensor, such as in a column of a matrix.

    Args:
        tensor: Any.
    """
    return not tensor.flags.c_contiguous and _measure_span(tensor) > tensor.size


def _measure_span(tensor: np.ndarray) -> int:
    """The elements from the first to the last one of a tensor in memory."""
    steps = zip(tensor.shape, tensor.strides, strict=True)
    nbytes: int = sum((length - 1) * abs(stride) for length, stride in steps)
    return nbytes // tensor.itemsize + 1
