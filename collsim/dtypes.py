"""Element types of NCCL (nccl.h ncclDataType_t) and their sizes in bytes; names of the arrays that hold figures, and
when two of them are equal."""

from __future__ import annotations

from dataclasses import fields
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from .errors import require_word
from .errors.arguments import check_arguments

Bools: TypeAlias = npt.NDArray[np.bool_]
Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int32]
Longs: TypeAlias = npt.NDArray[np.int64]


@check_arguments
def are_equal(first: object, second: object) -> bool:
    """Whether two values are equal: arrays by their entries, also those in tuples.

    Args:
        first: a value.
        second: another.

    Returns:
        True where they are.

    Examples:
        >>> import numpy as np
        >>> are_equal((np.arange(2), "a"), (np.array([0, 1]), "a")), are_equal(np.arange(2), None)
        (True, False)
    """
    if isinstance(first, np.ndarray) or isinstance(second, np.ndarray):
        return first is not None and second is not None and np.array_equal(first, second)  # type: ignore[arg-type]
    if isinstance(first, tuple) and isinstance(second, tuple):
        return len(first) == len(second) and all(map(are_equal, first, second))
    if isinstance(first, tuple) or isinstance(second, tuple):
        return False  # numpy and pandas would take it for a row
    return first is second or bool(first == second)


class ComparedByFields:
    """A dataclass with arrays: two are equal where their fields are, but for those with `compare=False`.

    Examples:
        >>> import numpy as np
        >>> from dataclasses import dataclass
        >>> @dataclass(eq=False)
        ... class Column(ComparedByFields):
        ...     rows: object
        >>> Column(np.arange(2)) == Column(np.arange(2))
        True
    """

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, type(self)):
            return NotImplemented
        compared = [field.name for field in fields(self) if field.compare]  # type: ignore[arg-type]
        return all(are_equal(getattr(self, name), getattr(other, name)) for name in compared)


_ITEMSIZE = {
    "int8": 1,
    "uint8": 1,
    "int32": 4,
    "uint32": 4,
    "int64": 8,
    "uint64": 8,
    "float16": 2,
    "bfloat16": 2,
    "float32": 4,
    "float64": 8,
    "float8_e4m3": 1,
    "float8_e5m2": 1,
}
#: Names of the same types in nccl-tests and PyTorch. `float` is not among them: NumPy's has 64 bits, PyTorch's 32.
OTHER_NAMES = {
    "half": "float16",
    "fp16": "float16",
    "bf16": "bfloat16",
    "fp32": "float32",
    "fp64": "float64",
    "double": "float64",
    "float8_e4m3fn": "float8_e4m3",
}


@check_arguments
def list_dtypes() -> tuple[str, ...]:
    """List the names of the element types.

    Returns:
        The names that `dtype=` takes.

    Examples:
        >>> list_dtypes()[:2]
        ('int8', 'uint8')
    """
    return tuple(_ITEMSIZE)


@check_arguments
def find_dtype_name(dtype: object) -> str:
    """Find the name of an element type.

    Args:
        dtype: a name of `list_dtypes()`, one of nccl-tests or PyTorch (`"bf16"`, `"half"`), or a dtype of numpy or
            torch.

    Returns:
        The name in `list_dtypes()`.

    Raises:
        CollsimError: NCCL has no such type; the message has the nearest names.

    Examples:
        >>> import numpy as np
        >>> find_dtype_name(np.float32), find_dtype_name("bf16"), find_dtype_name("torch.float16")
        ('float32', 'bfloat16', 'float16')
    """
    name = getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or dtype
    word = str(name).lower().removeprefix("torch.").removeprefix("nccl")
    word = OTHER_NAMES.get(word, word)
    if word in _ITEMSIZE:
        return word
    return require_word("dtype", name, _ITEMSIZE)


@check_arguments
def find_itemsize(dtype: object) -> int:
    """Find the size of an element.

    Args:
        dtype: as in `find_dtype_name`.

    Returns:
        Bytes.

    Raises:
        CollsimError: NCCL has no such type.

    Examples:
        >>> find_itemsize("bfloat16")
        2
    """
    return _ITEMSIZE[find_dtype_name(dtype)]
