"""The records that the kernels work on, and how a kernel is compiled."""

# mypy: disable-error-code="no-any-return"

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Kernel: TypeAlias = Callable[..., Any]

try:
    import numba

    COMPILED = True
except ImportError:  # a browser: the same source, slower
    COMPILED = False

NONE, FAIR, FIFO = 0, 1, 2  # how links are shared
TOGETHER = 1e-12  # ends that are this close, relative to the clock, are one moment

#: A transfer: s, s, bytes, its route, and 1 where it reduces.
ROW = np.dtype([("start", "f8"), ("finish", "f8"), ("nbytes", "f8"), ("route", "i4"), ("reduce", "i4")])

#: A route: its links are `route_link[first:last]`; s, B/s of its slowest link, when its endpoints have joined, the
#: device that reduces.
ROUTE = np.dtype(
    [("first", "i8"), ("last", "i8"), ("latency", "f8"), ("narrow", "f8"), ("ready", "f8"), ("unit", "i8")]
)

#: A link: B/s, s; when it is free and when somebody last came to it (fifo, program order). For max-min fairness: B/s
#: that flows leave which other links hold back, B/s of each of its own flows (inf: it is not full), no flow held back
#: has more than this; the first flow held back, the first of its own, flows in all, of its own, and its place among the
#: links that wait (-1: none).
LINK = np.dtype(
    [
        ("bandwidth", "f8"),
        ("alpha", "f8"),
        ("free", "f8"),
        ("last", "f8"),
        ("room", "f8"),
        ("level", "f8"),
        ("top", "f8"),
        ("head", "i4"),
        ("first", "i4"),
        ("count", "i4"),
        ("open", "i4"),
        ("place", "i8"),
    ]
)

#: A device that reduces: when it is free, and when something last arrived.
UNIT = np.dtype([("free", "f8"), ("last", "f8")])

#: A row of a pattern: the slots that it reads and writes, in turns: repetition k of a pattern goes `k * shift` on,
#: modulo `modulus`. `read` and `write` are where the turn begins among all slots, `block` where it begins among those
#: of an endpoint, `turn` and `into` how far in it the first repetition is. Its queues, its route, and 1 where it
#: reduces.
PART = np.dtype(
    [
        ("read", "i8"),
        ("write", "i8"),
        ("block", "i4"),
        ("turn", "i4"),
        ("into", "i4"),
        ("route", "i4"),
        ("send", "i4"),
        ("receive", "i4"),
        ("reduce", "i4"),
    ]
)

#: A transfer under way: bytes left, B/s, since when, B/s to come; its row; whether its rate is as it was; what comes
#: next; place in the queue (-1: none); its links are `route_link[first:last]` (fifo: those still to cross), and the one
#: that sets its rate is `route_link[hop]` (-1: it is alone on them). 64 bytes, and no need to look up its route: the
#: max-min solution does little else than read seats.
SEAT = np.dtype(
    [
        ("left", "f8"),
        ("rate", "f8"),
        ("since", "f8"),
        ("wanted", "f8"),
        ("row", "i8"),
        ("state", "i4"),
        ("next", "i4"),
        ("place", "i4"),
        ("first", "i4"),
        ("last", "i4"),
        ("hop", "i4"),
    ]
)

#: The flows over a link, two doubly linked lists of nodes `seat << bits | hop`, with bits enough for the longest route.
NODE = np.dtype([("after", "i4"), ("back", "i4")])
QUEUE = np.dtype([("time", "f8"), ("seat", "i8")])
HEAP = np.dtype([("key", "f8"), ("link", "i8")])

#: Changes of rate: s, B/s (fifo: the link), row.
LOG = np.dtype([("time", "f8"), ("value", "f8"), ("row", "i8")])

# What kernels take, by the names in their annotations.
Parts: TypeAlias = npt.NDArray[Any]
Rows: TypeAlias = npt.NDArray[Any]
Routes: TypeAlias = npt.NDArray[Any]
Links: TypeAlias = npt.NDArray[Any]
Units: TypeAlias = npt.NDArray[Any]
Seats: TypeAlias = npt.NDArray[Any]
Nodes: TypeAlias = npt.NDArray[Any]
Queue: TypeAlias = npt.NDArray[Any]
Heap: TypeAlias = npt.NDArray[Any]
Log: TypeAlias = npt.NDArray[Any]
Gates: TypeAlias = npt.NDArray[np.int32]  # a row each, columns in `queue`
Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int32]
Longs: TypeAlias = npt.NDArray[np.int64]


def _types() -> dict[str, Any]:
    """numba's type for each annotation."""
    records = {
        "Parts": PART,
        "Rows": ROW,
        "Routes": ROUTE,
        "Links": LINK,
        "Units": UNIT,
        "Seats": SEAT,
        "Nodes": NODE,
        "Queue": QUEUE,
        "Heap": HEAP,
        "Log": LOG,
    }
    types: dict[str, Any] = {name: numba.from_dtype(record)[::1] for name, record in records.items()}
    types |= {"int": numba.int64, "float": numba.float64, "bool": numba.boolean, "None": numba.void}
    types |= {
        "Gates": numba.int32[:, ::1],
        "Floats": numba.float64[::1],
        "Ints": numba.int32[::1],
        "Longs": numba.int64[::1],
    }
    return types


_TYPES = _types() if COMPILED else {}


def compiled(function: Kernel) -> Kernel:
    """A kernel that Python calls: compiled when its module is imported, for the types that its annotations say, and
    kept on disk where some directory can be written.

    Left to itself numba compiles a function again for each mixture of int32, int64 and constants that it is called
    with. Without its reference counts (`_nrt`): no kernel makes an array, and counting, atomically at every call, took
    two thirds of the time.
    """
    return _made(function, no_cfunc_wrapper=True)


def inner(function: Kernel) -> Kernel:
    """A kernel that only kernels call: it needs no entry from Python, a good part of what there is to compile."""
    return _made(function, no_cfunc_wrapper=True, no_cpython_wrapper=True)


def _made(function: Kernel, **options: bool) -> Kernel:
    if not COMPILED:
        return function
    names = dict(function.__annotations__)
    result = _TYPES[names.pop("return")]
    signature = result(*(_TYPES[name] for name in names.values()))
    compiled: Any = partial(numba.njit, signature, nogil=True, _nrt=False, **options)
    try:
        made: Kernel = compiled(cache=True)(function)
    except RuntimeError:  # no directory for the cache
        made = compiled()(function)
    return made
