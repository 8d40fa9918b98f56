"""The collectives of mpi4py as a table: what a rank puts in, what has to agree, and what becomes of the values of all.

Each has a form for objects (`bcast`), one for buffers (`Bcast`, with `v` where parts are of several sizes), and a
non-blocking one (`Ibcast`).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from .engine import Blocking

if TYPE_CHECKING:
    from .mpi_dialect import RankCommunicator

Value: TypeAlias = Any  # whatever a program sends
Buffer = object  # an array, `[array, type]`, `[array, counts, displacements, type]`; anything else is refused
IN_PLACE = "MPI.IN_PLACE"
Values = Sequence[Value]
Finish = Callable[[Values], Value]
Arguments = Mapping[str, Value]  # of a call, by name
Reduction = Callable[[Value, Value], Value]


def _by_kind(of_arrays: Reduction, of_objects: Reduction) -> Reduction:
    """A reduction that Python has for objects and numpy for arrays."""

    def reduce(first: Value, second: Value) -> Value:
        if isinstance(first, np.ndarray):
            return of_arrays(first, second)
        return of_objects(first, second)

    return reduce


#: Reductions of two values.
OPERATIONS: dict[str, Reduction] = {
    "SUM": operator.add,
    "PROD": operator.mul,
    "MAX": _by_kind(np.maximum, max),
    "MIN": _by_kind(np.minimum, min),
    "LAND": _by_kind(np.logical_and, lambda a, b: bool(a and b)),
    "LOR": _by_kind(np.logical_or, lambda a, b: bool(a or b)),
    "LXOR": _by_kind(np.logical_xor, lambda a, b: bool(a) != bool(b)),
    "BAND": operator.and_,
    "BOR": operator.or_,
    "BXOR": operator.xor,
    "MAXLOC": lambda a, b: max(a, b, key=lambda pair: (pair[0], -pair[1])),
    "MINLOC": min,
}


@dataclass(frozen=True)
class CollectiveArguments:
    """A rank's part of a collective.

    Attributes:
        signature: what has to agree, else the ranks wait for one another.
        value: what this rank puts in.
        finish: the result of this rank, of the values of all.
        extent: bytes and type, which have to agree, too.
    """

    signature: tuple[Hashable, ...]
    value: object
    finish: Finish
    extent: tuple[int, str] = (0, "")


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
        return buffer
    if isinstance(buffer, list | tuple) and buffer and isinstance(buffer[0], np.ndarray):
        counts = [part for part in buffer[1:] if isinstance(part, int)]
        if counts:
            return buffer[0].reshape(-1)[: counts[0]]
        return buffer[0]
    raise TypeError(f"a buffer is an array of numpy, not {type(buffer).__name__}")


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
    return _Parts(buffer[0], *lists[:2])


def _reduce(values: Values, op: str) -> Value:
    total = values[0]
    for value in values[1:]:
        total = OPERATIONS[op](total, value)
    return total


def _store(buffer: Buffer, values: np.ndarray) -> None:
    """Put numbers into a receive buffer, which may be larger."""
    target = find_array(buffer)
    numbers = np.asarray(values).reshape(-1)
    if numbers.size > target.size:
        raise RuntimeError(f"message truncated: {numbers.size} elements, the buffer has {target.size}")
    if numbers.size == target.size:
        target[...] = numbers.reshape(target.shape)
    else:
        target.reshape(-1)[: numbers.size] = numbers


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


def _build_finish(comm: RankCommunicator, word: str, arguments: Arguments) -> Finish:
    reduce = partial(_reduce, op=arguments.get("op", "SUM"))
    return lambda values: find_result(word, values, comm.rank, arguments.get("root", -1), reduce)


# ---- objects and buffers -------------------------------------------------------------------------------------------


def _share_objects(comm: RankCommunicator, word: str, arguments: Arguments) -> CollectiveArguments:
    """Collectives of objects, by their words."""
    value = arguments.get("sendobj")
    if word == "alltoall":
        value = list(arguments["sendobj"])
    extent = (0, _describe_root(arguments))
    return CollectiveArguments(_list_reductions(arguments), value, _build_finish(comm, word, arguments), extent)


def _share_buffers(comm: RankCommunicator, word: str, arguments: Arguments) -> CollectiveArguments:
    """Collectives of buffers, by their words in lower case and without `v`."""
    send, receive = arguments.get("sendbuf", arguments.get("buf")), arguments.get("recvbuf", arguments.get("buf"))
    find, size, extent = _build_finish(comm, word, arguments), comm.size, (0, _describe_root(arguments))
    value: object = None
    # IN_PLACE: what is sent lies in the receive buffer already.
    source = send
    if send is IN_PLACE:
        source = receive
    if word == "scatter":
        if comm.rank == arguments["root"]:
            value = [part.copy() for part in _find_parts(send).cut(size)]
    elif word in ("alltoall", "reduce_scatter", "reduce_scatter_block"):
        cut = _find_parts(source)
        if (counts := arguments.get("recvcounts")) is not None:
            cut = _Parts(find_array(source), tuple(counts))
        value = [part.copy() for part in cut.cut(size)]
        # Sizes must agree between ranks only for a reduction; parts of an alltoall may differ.
        if word != "alltoall":
            extent = find_array(source).nbytes, str(find_array(source).dtype)
    else:
        if send is IN_PLACE and word in ("gather", "allgather"):
            source = _find_parts(receive).cut(size)[comm.rank]
        array = find_array(source)
        value = array.copy()
        if word not in ("gather", "allgather"):  # parts may be of several sizes; the receiver's buffer decides
            extent = (array.nbytes, f"{array.dtype} {_describe_root(arguments)}".rstrip())

    def finish(values: Values) -> None:
        result = find(values)
        if isinstance(result, list):
            _fill(receive, result)
        elif result is not None and receive is not IN_PLACE:
            _store(receive, result)

    return CollectiveArguments(_list_reductions(arguments), value, finish, extent)


def _list_reductions(arguments: Arguments) -> tuple[Hashable, ...]:
    return tuple(arguments[name] for name in ("op",) if name in arguments)


def _describe_root(arguments: Arguments) -> str:
    """The root in words: where roots differ, MPICH goes on with wrong data."""
    if "root" not in arguments:
        return ""
    return f"root {arguments['root']}"


def _fill(receive: Buffer, values: Sequence[np.ndarray]) -> None:
    """Put the parts of all ranks where a receive buffer wants them."""
    target = _find_parts(receive)
    if target.counts is None:
        _store(receive, np.concatenate([np.asarray(value).reshape(-1) for value in values]))
        return
    for part, value in zip(target.cut(len(values)), values, strict=True):
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
    if arguments.get("op", "SUM") not in OPERATIONS:
        raise ValueError(f"{call}: op={arguments['op']!r} is no reduction; known are {', '.join(OPERATIONS)}")
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
