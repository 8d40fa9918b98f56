"""Element types of NCCL (nccl.h ncclDataType_t) and their sizes in bytes."""

from __future__ import annotations

from .errors import require_word

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


def dtypes() -> tuple[str, ...]:
    """All known names."""
    return tuple(_ITEMSIZE)


def name_of(dtype: object) -> str:
    """The name of a dtype, or of a numpy dtype. Raises CollsimError with suggestions."""
    name = getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or dtype
    return require_word("dtype", name, _ITEMSIZE)


def itemsize(dtype: object) -> int:
    """Bytes per element of a dtype's name (or of a numpy dtype). Raises CollsimError with suggestions."""
    return _ITEMSIZE[name_of(dtype)]
