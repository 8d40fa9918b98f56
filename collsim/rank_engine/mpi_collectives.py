"""The collectives of mpi4py as a table: what a rank puts in, what has to agree, and what becomes of the values of all.

Each has a form for objects (`bcast`), one for buffers (`Bcast`, with `v` where parts are of several sizes), and a
non-blocking one (`Ibcast`).
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import GeneratorType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from .engine import Blocking, copy_bytes
from .stand_ins.objects import copy_object

if TYPE_CHECKING:
    from .mpi_dialect import RankCommunicator

Value: TypeAlias = Any  # whatever a program sends
Buffer = object  # an array, `[array, type]`, `[array, counts, displacements, type]`; anything else is refused
IN_PLACE = "MPI.IN_PLACE"
Values = Sequence[Value]
Finish = Callable[[Values], Value]
Arguments = Mapping[str, Value]  # of a call, by name
Reduction = Callable[[Value, Value], Value]


#: Reductions of two objects, also where these are arrays: `allreduce` of arrays with MAX fails in mpi4py as well.
OPERATIONS: dict[str, Reduction] = {
    "SUM": operator.add,
    "PROD": operator.mul,
    "MAX": max,
    "MIN": min,
    "LAND": lambda a, b: bool(a) & bool(b),
    "LOR": lambda a, b: bool(a) | bool(b),
    "LXOR": lambda a, b: bool(a) ^ bool(b),
    "BAND": operator.and_,
    "BOR": operator.or_,
    "BXOR": operator.xor,
    "MAXLOC": lambda a, b: max(a, b, key=lambda pair: (pair[0], -pair[1])),
    "MINLOC": min,
}
#: Reductions of two buffers.
_BUFFER_OPERATIONS: dict[str, Reduction] = {
    **OPERATIONS,
    "MAX": np.maximum,
    "MIN": np.minimum,
    "LAND": lambda a, b: np.logical_and(a, b).astype(a.dtype),
    "LOR": lambda a, b: np.logical_or(a, b).astype(a.dtype),
    "LXOR": lambda a, b: np.logical_xor(a, b).astype(a.dtype),
}


@dataclass(frozen=True)
class CollectiveArguments:
    """A rank's part of a collective.

    Attributes:
        unchecked: reduction, type and root, which have to agree, and which MPI does not compare.
        value: what this rank puts in.
        finish: the result of this rank, of the values of all.
        extent: bytes, which have to agree, too.
    """

    unchecked: str
    value: object
    finish: Finish
    extent: int = 0


@dataclass(frozen=True)
class _Parts:
    """A buffer that is cut into a part for each rank: counts and first elements."""

    array: np.ndarray
    counts: tuple[int, ...] | None = None
    displacements: tuple[int, ...] | None = None

    def cut(self, size: int) -> list[np.ndarray]:
        """The parts, as views of the flat array."""
        flat = self.array.reshape(-1)
        counts = self.counts or (flat.size // size,) * size
        starts = self.displacements or tuple(int(start) for start in np.cumsum([0, *counts[:-1]]))
        return [flat[start : start + count] for start, count in zip(starts, counts, strict=True)]


def find_array(buffer: Value) -> np.ndarray:
    """The array of a buffer.

    Args:
        buffer: the array itself, `[array, type]`, or `(array, count, type)`.

    Returns:
        The array, or its first `count` elements.

    Raises:
        TypeError: for anything else.
    """
    if isinstance(buffer, np.ndarray):
        if not buffer.flags.forc:
            raise BufferError("the array is not contiguous; send a copy: np.ascontiguousarray(x)")
        return buffer if buffer.flags.c_contiguous else buffer.T  # as its elements lie in memory
    if isinstance(buffer, list | tuple) and buffer and isinstance(buffer[0], np.ndarray):
        array = _view_as_type(find_array(buffer[0]), buffer)
        counts = [part for part in buffer[1:] if isinstance(part, int)]
        if counts:
            if counts[0] > array.size:
                raise ValueError(f"message: the buffer has {array.size} elements, and its count is {counts[0]}")
            return array.reshape(-1)[: counts[0]]
        return array
    raise TypeError(f"a buffer is an array of numpy, not {type(buffer).__name__}")


def _view_as_type(array: np.ndarray, buffer: Sequence[Value]) -> np.ndarray:
    """The memory of an array as the type that a buffer names, such as `[array, MPI.FLOAT]` or `[array, "f"]`."""
    types = [part for part in buffer[1:] if isinstance(part, type | str)]
    if not types or array.dtype == np.dtype(types[0]):
        return array
    return array.reshape(-1).view(np.dtype(types[0]))


def _find_parts(buffer: Value) -> _Parts:
    """A buffer of a v-form: `[array, counts]`, `[array, counts, displacements, type]`, `[array, (counts, displs)]`."""
    if not isinstance(buffer, list | tuple) or not buffer or not isinstance(buffer[0], np.ndarray):
        return _Parts(find_array(buffer))
    lists: list[tuple[int, ...]] = []
    for part in buffer[1:]:
        if (
            isinstance(part, tuple | list)
            and part
            and all(isinstance(item, tuple | list | np.ndarray) for item in part)
        ):
            lists += [tuple(int(n) for n in item) for item in part]
        elif isinstance(part, tuple | list | np.ndarray):
            lists.append(tuple(int(n) for n in part))
    return _Parts(_view_as_type(find_array(buffer[0]), buffer), *lists[:2])


def _store(buffer: Buffer, values: np.ndarray) -> None:
    """Put numbers into a receive buffer, which may be larger: bytes, as MPI compares no types."""
    target, numbers = find_array(buffer), np.asarray(values)
    if numbers.nbytes > target.nbytes:
        raise RuntimeError(f"message truncated: {numbers.nbytes} bytes, the buffer has {target.nbytes}")
    if numbers.size == target.size:
        numbers = numbers.reshape(target.shape)
    copy_bytes(numbers, target)


def find_result(word: str, values: Values, rank: int, root: int, reduce: Callable[[Values], Value]) -> Value:
    """What a collective gives a rank, of the values of all; None for nothing.

    Args:
        word: of mpi4py in lower case and without `v`.
        values: in the order of ranks.
        rank: its position.
        root: that of the rank that sends to all or receives from all.
        reduce: makes one value of several.
    """
    if word in ("gather", "reduce") and rank != root:
        return None
    if word in ("gather", "allgather"):
        return list(values)
    if word in ("reduce", "allreduce"):
        return reduce(values)
    if word == "bcast":
        return values[root]
    if word == "scatter":
        return values[root][rank]
    # Prefix sums need the values of lower ranks only, which the order of `values` gives.
    if word == "scan":
        return reduce(values[: rank + 1])
    if word == "exscan" and rank:
        return reduce(values[:rank])
    if word in ("alltoall", "reduce_scatter", "reduce_scatter_block"):
        parts = [value[rank] for value in values]
        return parts if word == "alltoall" else reduce(parts)
    return None


def _build_finish(
    comm: RankCommunicator, word: str, arguments: Arguments, operations: Mapping[str, Reduction]
) -> Finish:
    op = arguments.get("op", "SUM")
    reduce = functools.partial(functools.reduce, _call_function(op) if callable(op) else operations[op])
    return lambda values: find_result(word, values, comm.rank, arguments.get("root", -1), reduce)


def _call_function(function: Reduction) -> Reduction:
    """A reduction of two objects by a function, which the program may define; there it cannot wait."""

    def reduce(first: Value, second: Value) -> Value:
        result = function(first, second)
        if not isinstance(result, GeneratorType):
            return result
        try:
            next(result)
        except StopIteration as end:
            return end.value
        raise RuntimeError("the function of a reduction waits; it may only compute")

    return reduce


# ---- objects and buffers -------------------------------------------------------------------------------------------


def _share_objects(comm: RankCommunicator, word: str, arguments: Arguments) -> CollectiveArguments:
    """Collectives of objects, by their words."""
    value = arguments.get("sendobj")
    if word == "alltoall":
        value = list(arguments["sendobj"])
    find = _build_finish(comm, word, arguments, OPERATIONS)
    # Objects travel as pickles: each rank has copies of its own.
    return CollectiveArguments(
        _describe_unchecked(arguments), copy_object(value)[0], lambda values: copy_object(find(values))[0]
    )


def _share_buffers(comm: RankCommunicator, word: str, arguments: Arguments) -> CollectiveArguments:
    """Collectives of buffers, by their words in lower case and without `v`."""
    send, receive = arguments.get("sendbuf", arguments.get("buf")), arguments.get("recvbuf", arguments.get("buf"))
    find, size, extent = _build_finish(comm, word, arguments, _BUFFER_OPERATIONS), comm.size, 0
    value: object = None
    dtype = ""
    is_root = comm.rank == arguments.get("root", comm.rank)
    if word in ("reduce", "allreduce", "scan", "exscan") and send is not IN_PLACE and is_root:
        _require_alike(send, receive)
    # IN_PLACE: what is sent lies in the receive buffer already.
    source = send
    if send is IN_PLACE:
        source = receive
    if word == "scatter":
        if is_root:
            value = [part.copy() for part in _find_parts(send).cut(size)]
        dtype = find_array(_find_parts(send).array if is_root else receive).dtype.name
    elif word in ("alltoall", "reduce_scatter", "reduce_scatter_block"):
        cut = _find_parts(source)
        if (counts := arguments.get("recvcounts")) is not None:
            cut = _Parts(find_array(source), tuple(counts))
        value, dtype = [part.copy() for part in cut.cut(size)], cut.array.dtype.name
        # Sizes must agree between ranks only for a reduction; parts of an alltoall may differ.
        if word != "alltoall":
            extent = find_array(source).nbytes
    else:
        if send is IN_PLACE and word in ("gather", "allgather"):
            source = _find_parts(receive).cut(size)[comm.rank]
        array = find_array(source)
        value, dtype = array.copy(), array.dtype.name
        if word not in ("gather", "allgather"):  # parts may be of several sizes; the receiver's buffer decides
            extent = array.nbytes

    def finish(values: Values) -> None:
        result = find(values)
        if isinstance(result, list):
            _fill(receive, result)
        elif result is not None and receive is not IN_PLACE:
            _store(receive, result)

    return CollectiveArguments(_describe_unchecked(arguments, dtype), value, finish, extent)


def _require_alike(send: Buffer, receive: Buffer) -> None:
    """Refuse buffers of a reduction that differ, as mpi4py does."""
    sent, filled = find_array(send), find_array(receive)
    if sent.dtype != filled.dtype:
        raise ValueError(f"mismatch in send and receive MPI datatypes: {sent.dtype.name} and {filled.dtype.name}")
    if sent.size != filled.size:
        raise ValueError(f"mismatch in send count {sent.size} and receive count {filled.size}")


def _describe_unchecked(arguments: Arguments, dtype: str = "") -> str:
    """What has to agree: where it differs, MPICH goes on with wrong data."""
    root = f"root {arguments['root']}" if "root" in arguments else ""
    op = arguments.get("op")
    return " ".join(filter(None, ("a function" if callable(op) else op, dtype, root)))


def _fill(receive: Buffer, values: Sequence[np.ndarray]) -> None:
    """Put the parts of all ranks where a receive buffer wants them."""
    for part, value in zip(_find_parts(receive).cut(len(values)), values, strict=True):
        _store(part, value)


# ---- the table -----------------------------------------------------------------------------------------------------

#: Parameters of each collective: of its form for objects, and of that for buffers; empty where there is no such form.
_FORMS: dict[str, tuple[str, str]] = {
    "barrier": ("", ""),
    "bcast": ("obj, root=0", "buf, root=0"),
    "gather": ("sendobj, root=0", "sendbuf, recvbuf, root=0"),
    "scatter": ("sendobj, root=0", "sendbuf, recvbuf, root=0"),
    "allgather": ("sendobj", "sendbuf, recvbuf"),
    "alltoall": ("sendobj", "sendbuf, recvbuf"),
    "reduce": ("sendobj, op='SUM', root=0", "sendbuf, recvbuf, op='SUM', root=0"),
    "allreduce": ("sendobj, op='SUM'", "sendbuf, recvbuf, op='SUM'"),
    "scan": ("sendobj, op='SUM'", "sendbuf, recvbuf, op='SUM'"),
    "exscan": ("sendobj, op='SUM'", "sendbuf, recvbuf, op='SUM'"),
    "reduce_scatter": ("", "sendbuf, recvbuf, recvcounts=None, op='SUM'"),
    "reduce_scatter_block": ("", "sendbuf, recvbuf, op='SUM'"),
}
_VARYING = ("gather", "scatter", "allgather", "alltoall")
_Share = Callable[["RankCommunicator", str, Arguments], CollectiveArguments]


def install_collectives(kind: type[RankCommunicator]) -> None:
    """Give a communicator its collectives.

    Args:
        kind: the class.
    """
    for word, (objects, buffers) in _FORMS.items():
        if objects or word == "barrier":
            setattr(kind, word, _make_blocking(word, word, objects, _share_objects))
        name = word.capitalize()
        shares: _Share = _share_buffers
        if word == "barrier":
            shares = _share_objects
        names = [name]
        if word in _VARYING:
            names.append(f"{name}v")
        for spelling in names:
            setattr(kind, spelling, _make_blocking(spelling, word, buffers, shares))
            setattr(kind, f"I{spelling.lower()}", _make_nonblocking(f"I{spelling.lower()}", word, buffers, shares))


def make_binder(call: str, parameters: str) -> Callable[..., dict[str, Value]]:
    """A function that returns its arguments by name, and refuses wrong ones as the library's call does.

    Args:
        call: its name in errors.
        parameters: as in a `def` of Python.
    """
    # `inspect.Signature.bind` takes several times as long, and programs make many calls.
    bind: Callable[..., dict[str, Value]] = eval(f"lambda {parameters}: locals()")
    bind.__name__ = bind.__qualname__ = call
    return bind


def _check_arguments(call: str, size: int, arguments: dict[str, Value]) -> Arguments:
    """The arguments, whose root and reduction are known."""
    if not 0 <= arguments.get("root", 0) < size:
        raise ValueError(f"MPI_ERR_ROOT: {call} has root={arguments['root']!r}, the communicator has {size} ranks")
    op = arguments.get("op", "SUM")
    if op not in OPERATIONS and not (callable(op) and call.islower()):
        raise ValueError(f"{call}: op={op!r} is no reduction; known are {', '.join(OPERATIONS)}")
    if "obj" in arguments:
        arguments["sendobj"] = arguments.pop("obj")
    return arguments


def _make_blocking(call: str, word: str, parameters: str, share: _Share) -> Callable[..., Blocking]:
    bind = make_binder(call, parameters)

    def collective(self: RankCommunicator, *args: object, **kwargs: object) -> Blocking:
        arguments = _check_arguments(call, self.size, bind(*args, **kwargs))
        root = arguments.get("root", -1)
        # As mpi4py does: the root must have one item for each rank, before anything is sent.
        if call == "scatter" and self.rank == root and len(arguments["sendobj"]) != self.size:
            raise ValueError(f"expecting {self.size} items, got {len(arguments['sendobj'])}")
        if self.engine.mode.eager_limit >= 0:  # MPI libraries let the root, or the others, of small objects go on
            if call in ("bcast", "scatter"):
                values = arguments["sendobj"]
                if call == "bcast":
                    values = [values] * self.size
                return (yield from self.send_from_root(call, values, root))
            if call in ("gather", "reduce"):
                values = yield from self.collect_at_root(call, arguments["sendobj"], root)
                return share(self, word, arguments).finish(values)
        return (yield from self.start_collective(call, share(self, word, arguments), root).wait())

    collective.__name__ = call
    collective.__doc__ = f"`{call}({parameters})` of mpi4py."
    return collective


def _make_nonblocking(call: str, word: str, parameters: str, share: _Share) -> Callable[..., object]:
    bind = make_binder(call, parameters)

    def collective(self: RankCommunicator, *args: object, **kwargs: object) -> object:
        arguments = _check_arguments(call, self.size, bind(*args, **kwargs))
        return self.start_collective(call, share(self, word, arguments), arguments.get("root", -1))

    collective.__name__ = call
    collective.__doc__ = f"`{call}({parameters})` of mpi4py."
    return collective
