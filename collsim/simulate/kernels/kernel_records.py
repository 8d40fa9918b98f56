"""The records that the kernels work on, and how a kernel is compiled."""

# mypy: disable-error-code="no-any-return"

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ...dtypes import Ints, Longs

Kernel: TypeAlias = Callable[..., Any]
#: Something of numba, which has no types.
Numba: TypeAlias = Any

try:
    import numba

    COMPILED = not getattr(numba.config, "DISABLE_JIT", 0)
except ImportError:  # a browser: the same source, slower
    COMPILED = False

NONE, FAIR, FIFO = 0, 1, 2  # how links are shared
_LINE = 64  # bytes in a line of the cache
TOGETHER = 1e-12  # ends that are this close, relative to the clock, are one moment
SAME = 1e-13  # rates that differ by less, relative to them, are one
WAITS, BEGINS, FLOWS, ARRIVES, REDUCES = 1, 2, 3, 4, 5  # what the next event of a seat is
#: Counters: seats in the queue, rows done, free seats, links that wait, flows whose rates may change, length of log,
#: flows and links visited in this slice, how many bits of a node are its hop, links whose groups change.
SIZE, DONE, SPARE, DIRTY, TOUCHED, LOGGED, VISITED, BITS, CHANGES, COUNTERS = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
ONE_GATE = 2  # what a gate that a row waits for adds to its `waits`
#: Rows of the work space.
FREE_SEATS, BATCH, ARRIVED, READY, JOINED_FLOWS, CHANGED, SPACES = 0, 1, 2, 3, 4, 5, 6


def _build_record(*groups: tuple[str, str]) -> np.dtype[np.void]:
    """Fields one after the other, the names of each group with the type before them."""
    return np.dtype([(name, kind) for kind, names in groups for name in names.split()])


#: A transfer: s, s, bytes, its route, and ONE_GATE for each gate that it waits for, 1 more where it reduces.
ROW = _build_record(("f8", "start finish nbytes"), ("i4", "route waits"))

#: A route: its links are `route_link[first:last]`; s, B/s of its slowest link, when its endpoints have joined, the
#: device that reduces.
ROUTE = _build_record(("i8", "first last"), ("f8", "latency narrow ready"), ("i8", "unit"))

#: A link. For max-min fairness, in one line of the cache: B/s; B/s that flows leave which other links hold back; B/s of
#: each of its own flows (inf: it is not full); no flow held back has more than `top`; the first flow held back, the
#: first of its own that other links notice, the first of those that no other does; flows in all; its own, those held
#: back that have no rate in this moment (`loose`) among them; 1 where it cannot matter (see `rates._silence`); 1 where
#: its group changes in this moment. Of the group of its own flows (see `groups`): the one that ends first and the one
#: in the queue (-1: none), B/s of each until now, bytes that each has got, when that was counted. For fifo and program
#: order: s; when it is free and when somebody last came to it.
LINK = _build_record(
    ("f8", "bandwidth residual level top"),
    ("i4", "head first rest count open loose quiet changes front queued"),
    ("f8", "rate served since alpha free last spare"),
)

#: A device that reduces: when it is free, and when something last arrived.
UNIT = np.dtype([("free", "f8"), ("last", "f8")])

#: A row of a pattern: the slots that it reads and writes, in a cycle: repetition k of a pattern goes `k * shift` on,
#: modulo `modulus`. `read` and `write` are where the cycle begins among all slots, `block` where it begins among those
#: of an endpoint, `read_offset` and `write_offset` how far in it the first repetition is. Its queues, its route, and 1
#: where it reduces.
PART = _build_record(("i8", "read write"), ("i4", "block read_offset write_offset route send receive reduce"))

#: A transfer under way, a line of the cache: its bytes, or how much its group has served when it ends; B/s (in a group
#: for the log); B/s to come (alone: since when it flows); its row; what comes next; whether its rate is as it was; its
#: links are `route_link[first:last]` (fifo: those still to cross), the one that sets its rate is number `hop` of them
#: (-1: it is alone on them), and so many others notice it; its place in its group. No need to look up its route: the
#: max-min solution does little else than read seats.
SEAT = _build_record(("f8", "mark rate next_rate"), ("i4", "row next state first last hop seen child right before"))

#: The flows over a link, doubly linked lists of nodes `seat << bits | hop`, with bits enough for the longest route.
NODE = np.dtype([("after", "i4"), ("back", "i4")])

#: An entry of a heap: its key, and the same 64 bits as an integer (what is not negative, and -1 among it, has the same
#: order as both, and integers are compared in a quarter of the time); and where the item is whose number the entry's
#: index is: see `heap`.
HEAP = np.dtype(
    {"names": ["key", "bits", "item", "position"], "formats": ["f8", "i8", "i4", "i4"], "offsets": [0, 0, 8, 12]}
)

#: Changes of rate: s, B/s (fifo: the link), row.
LOG = np.dtype([("time", "f8"), ("value", "f8"), ("row", "i8")])

# What kernels take, by the names in their annotations.
Records: TypeAlias = npt.NDArray[Any]  # which numpy's types cannot tell apart
Parts: TypeAlias = Records
Rows: TypeAlias = Records
Routes: TypeAlias = Records
Links: TypeAlias = Records
Units: TypeAlias = Records
Seats: TypeAlias = Records
Nodes: TypeAlias = Records
Heap: TypeAlias = Records
Log: TypeAlias = Records
Gates: TypeAlias = Ints  # a row each, columns in `queue`


def _map_types() -> dict[str, Numba]:
    """numba's type for each annotation."""
    records = {
        "Parts": PART,
        "Rows": ROW,
        "Routes": ROUTE,
        "Links": LINK,
        "Units": UNIT,
        "Seats": SEAT,
        "Nodes": NODE,
        "Heap": HEAP,
        "Log": LOG,
    }
    types: dict[str, Numba] = {name: numba.from_dtype(record)[::1] for name, record in records.items()}
    types |= {"int": numba.int64, "float": numba.float64, "bool": numba.boolean, "None": numba.void}
    types |= {
        "Gates": numba.int32[:, ::1],
        "Floats": numba.float64[::1],
        "Ints": numba.int32[::1],
        "Longs": numba.int64[::1],
    }
    return types


_TYPES = _map_types() if COMPILED else {}


def compile_kernel(function: Kernel) -> Kernel:
    """A kernel that Python calls: compiled when its module is imported, for the types that its annotations say, and
    kept on disk where some directory can be written.

    Left to itself numba compiles a function again for each mixture of int32, int64 and constants that it is called
    with. Without its reference counts (`_nrt`): no kernel makes an array, and counting, atomically at every call, took
    two thirds of the time.

    Args:
        function: Its annotations are names of `_map_types`, all arrays contiguous.

    Returns:
        The compiled kernel, or the same function without numba.
    """
    return _compile(function, no_cfunc_wrapper=True)


def compile_inner(function: Kernel) -> Kernel:
    """A kernel that only kernels call: it needs no entry from Python, a good part of what there is to compile."""
    return _compile(function, no_cfunc_wrapper=True, no_cpython_wrapper=True)


def compile_inlined(function: Kernel) -> Kernel:
    """A kernel that stands in the midst of those that call it, for what every transfer needs: each array that is handed
    over is seven words, and handing them over took longer than what was done with them.

    Args:
        function: As in `compile_kernel`.
    """
    return _compile(function, no_cfunc_wrapper=True, no_cpython_wrapper=True, forceinline=True)


def _compile(function: Kernel, **options: bool) -> Kernel:
    if not COMPILED:
        return function
    names = dict(function.__annotations__)
    result = _TYPES[names.pop("return")]
    signature = result(*(_TYPES[name] for name in names.values()))
    kernel: Numba = partial(numba.njit, nogil=True, _nrt=False, **options)
    try:
        kernel = kernel(cache=True)(function)
        # numba's stamp is the time of one file; a kernel depends on all files of this folder, so their digest
        # replaces it.
        kernel._cache._cache_file._source_stamp = _digest_sources(str(Path(function.__code__.co_filename).parent))
    except RuntimeError:  # no directory for the cache
        kernel = kernel()(function)
    with _index_from_front():
        kernel.compile(signature)
    kernel.disable_compile()
    return kernel  # type: ignore[no-any-return]


@contextmanager
def _index_from_front() -> Iterator[None]:
    """What is compiled inside takes each index as it is. numba would ask at every access whether an index is negative
    and counts from the end; no kernel does that, to ask took a quarter of the time, and there is no option for it."""
    from numba.core import types
    from numba.core.compiler_lock import global_compiler_lock

    arrays: Numba = import_module("numba.np.arrayobj")

    def as_it_is(context: Numba, builder: Numba, kind: Numba, index: Numba, size: Numba) -> Numba:
        return context.cast(builder, index, kind, types.intp)

    with global_compiler_lock:  # nobody else compiles meanwhile
        # Where a numba has no such function, kernels ask in every index whether it is negative.
        fix_integer_index = getattr(arrays, "fix_integer_index", None)
        arrays.fix_integer_index = as_it_is
        try:
            yield
        finally:
            arrays.fix_integer_index = fix_integer_index


def _build_fetch() -> Kernel:
    """A kernel that brings entry i of a table into the cache, while others still work; of one that is not there, no
    more than nothing comes."""
    if not COMPILED:
        return lambda table, i: None
    from numba.core import types
    from numba.extending import intrinsic

    cgutils: Numba = import_module("numba.core.cgutils")

    def generated(context: Numba, builder: Numba, signature: Numba, arguments: Numba) -> Numba:
        kind = signature.args[0]
        table = context.make_array(kind)(context, builder, arguments[0])
        zeros = [context.get_constant(types.intp, 0)] * (kind.ndim - 1)
        where = cgutils.get_item_pointer(context, builder, kind, table, [arguments[1], *zeros], wraparound=False)
        word = cgutils.int32_t
        shape = cgutils.ir.FunctionType(cgutils.ir.VoidType(), [cgutils.voidptr_t, word, word, word])
        prefetch = cgutils.get_or_insert_function(builder.module, shape, "llvm.prefetch.p0i8")
        # for writing, into all levels of the cache, data
        builder.call(prefetch, [builder.bitcast(where, cgutils.voidptr_t), word(1), word(3), word(1)])
        return context.get_dummy_value()

    def fetch(context: Numba, table: Numba, i: Numba) -> Numba:
        return types.none(table, types.intp), generated

    kernel: Kernel = intrinsic(fetch)
    return kernel


fetch = _build_fetch()


@cache
def _digest_sources(folder: str) -> str:
    """What stands in all files of kernels together. A kernel holds those that it calls, also from other files, but
    numba asks only whether a kernel's own file is as it was, and would keep stale copies of the others."""
    digest = sha256()
    for path in sorted(Path(folder).glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def allocate_aligned(many: int, record: npt.DTypeLike) -> Records:
    """Room for so many records, the first at the begin of a line of the cache: what is used of each is scattered, and
    fetching a line takes longer than working with it.

    Args:
        many: Records.
        record: A dtype of this module, or that of a column.

    Returns:
        (many,) zeros, contiguous, at an address that is a multiple of 64 bytes.
    """
    kind = np.dtype(record)
    memory = np.zeros(many * kind.itemsize + _LINE, np.uint8)
    begin = -memory.ctypes.data % _LINE
    return memory[begin : begin + many * kind.itemsize].view(kind)


@compile_inner
def note(log: Log, counters: Longs, row: int, t: float, value: float) -> None:
    """Log that a transfer's rate is `value` B/s from now on (fifo: the link it is on), where somebody wants to know."""
    if len(log):
        change = log[counters[LOGGED]]
        change["row"] = row
        change["time"] = t
        change["value"] = value
        counters[LOGGED] += 1
