"""`mpi4py.MPI` for one rank of an engine: lower-case calls send objects, upper-case calls send buffers."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Hashable, Iterable, Sequence
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from .calls import poll, wait_for
from .engine import ANY, Blocking, CollectivePost, Engine, MessagePost, PostedCall

Buffer = object  # an array, `[array, type]` or `(array, count, type)`; anything else is refused with a TypeError
PROC_NULL = -2
IN_PLACE = "MPI.IN_PLACE"
_OPS: dict[str, Callable[[Any, Any], Any]] = {
    "SUM": lambda a, b: a + b,
    "PROD": lambda a, b: a * b,
    "MAX": lambda a, b: np.maximum(a, b) if isinstance(a, np.ndarray) else max(a, b),
    "MIN": lambda a, b: np.minimum(a, b) if isinstance(a, np.ndarray) else min(a, b),
    "LAND": lambda a, b: bool(a and b),
    "LOR": lambda a, b: bool(a or b),
    "BAND": lambda a, b: a & b,
    "BOR": lambda a, b: a | b,
}


class Status:
    """Source, tag and size of a message that was received."""

    def __init__(self) -> None:
        self.source, self.tag, self.nbytes = ANY, ANY, 0

    def Get_source(self) -> int:
        """The sender."""
        return self.source

    def Get_tag(self) -> int:
        """The tag."""
        return self.tag

    def Get_count(self, datatype: type[np.generic] | None = None) -> int:
        """The number of elements, of bytes without a type."""
        return self.nbytes // np.dtype(datatype or np.uint8).itemsize

    def fill(self, post: MessagePost) -> None:
        """Take the facts of a receive."""
        self.source, self.tag = post.source, post.tag
        if post.match is not None:
            self.nbytes = post.match.nbytes


class Request:
    """The handle of a non-blocking call."""

    def __init__(self, operation: PostedCall, finish: Callable[[], Any] | None = None) -> None:
        """The handle of a call that was posted.

        Args:
            operation: What was posted.
            finish: What `wait` returns the result of; None for calls without one.
        """
        self.operation, self._finish = operation, finish

    def wait(self, status: Status | None = None) -> Blocking:
        """Wait for the call.

        Args:
            status: Gets source, tag and size of a message that was received; None where nobody asks.

        Returns:
            The object of a lower-case receive, else None.
        """
        yield from wait_for(self.operation)
        if isinstance(self.operation, MessagePost) and status is not None:
            status.fill(self.operation)
        if self._finish is None:
            return None
        return self._finish()

    Wait = wait

    def test(self) -> Blocking:
        """`(done, object)`; asking lets other ranks run."""
        yield from poll()
        if not self.operation.is_complete:
            return (False, None)
        return (True, (yield from self.wait()))

    def Test(self) -> Blocking:
        """Whether it is done; asking lets other ranks run."""
        return (yield from self.test())[0]

    @staticmethod
    def waitall(requests: Sequence[Request], statuses: object = None) -> Blocking:
        """Wait for all calls.

        Args:
            requests: Of this rank.
            statuses: Not used.

        Returns:
            Their objects, in order.
        """
        results = []
        for request in requests:
            results.append((yield from request.wait()))
        return results

    Waitall = waitall

    @staticmethod
    def waitany(requests: Sequence[Request], status: Status | None = None) -> Blocking:
        """Wait for any of the calls.

        Args:
            requests: Of this rank.
            status: As in `wait`, for the one that is complete.

        Returns:
            Its index and its object.
        """
        operations = tuple(request.operation for request in requests)
        if not any(operation.is_complete for operation in operations):
            peers = tuple(dict.fromkeys(peer for operation in operations for peer in operation.peers))
            first = operations[0]
            yield PostedCall(first.rank, "waitany", first.line, peers, is_any=True, alternatives=operations)
        index = next(k for k, operation in enumerate(operations) if operation.is_complete)
        return index, (yield from requests[index].wait(status))

    @staticmethod
    def Waitany(requests: Sequence[Request], status: Status | None = None) -> Blocking:
        """Wait for any: its index."""
        return (yield from Request.waitany(requests, status))[0]


class RankCommunicator:
    """A communicator of one rank.

    Args:
        engine: the ranks of the run.
        rank: this rank among all.
        name: the same for all members.
        members: all ranks of the communicator, by their numbers in it.

    Shared parameters:
        sendbuf, recvbuf: Arrays, or lists as mpi4py takes them, `[array, MPI.FLOAT]`; what is received is written in
            place. A reduction takes its contribution from `recvbuf` where `sendbuf` is `IN_PLACE`. Ranks that send or
            receive nothing give None.
        obj: An object of any kind.
        sendobj: On the root an object for each rank, else None.
        source: Rank in the communicator, or `ANY`.
        tag: Of the message, or `ANY`.
        root: Rank in the communicator.
        op: Reduction.
        status: Gets source, tag and size of the message; None where nobody asks.
    """

    def __init__(self, engine: Engine, rank: int, name: Hashable, members: tuple[int, ...]) -> None:
        self.engine, self.name, self.members = engine, name, members
        self._world_rank = rank
        self.rank, self.size = members.index(rank), len(members)
        self._children = 0

    def Get_rank(self) -> int:
        """This rank's number."""
        return self.rank

    def Get_size(self) -> int:
        """The number of ranks."""
        return self.size

    # ---- messages

    def _post_send(
        self, call: str, dest: int, tag: int, buffer: Any, payload: object, waits: bool = False
    ) -> PostedCall:
        if dest == PROC_NULL:
            return PostedCall(self._world_rank, call, self.engine.line_of_call(), is_complete=True)
        if buffer is None:  # an object travels as its pickle
            pickled = pickle.dumps(payload, protocol=5)
            payload, nbytes = pickle.loads(pickled), len(pickled)
        else:
            nbytes = buffer.nbytes
        post = MessagePost(
            self._world_rank,
            call,
            self.engine.line_of_call(),
            (self._find_world_rank(dest),),
            source=self._world_rank,
            target=self._find_world_rank(dest),
            tag=tag,
            communicator=self.name,
            buffer=buffer,
            payload=payload,
            nbytes=nbytes,
            is_synchronous=waits,
        )
        return self.engine.post_send(post)

    def _post_receive(self, call: str, source: int, tag: int, buffer: Any) -> PostedCall:
        if source == PROC_NULL:
            return PostedCall(self._world_rank, call, self.engine.line_of_call(), is_complete=True)
        peers = tuple(rank for rank in self.members if rank != self._world_rank)
        sender = self._find_sender(source)
        if source != ANY:
            peers = (sender,)
        post = MessagePost(
            self._world_rank,
            call,
            self.engine.line_of_call(),
            peers,
            is_any=source == ANY,
            source=sender,
            target=self._world_rank,
            tag=tag,
            communicator=self.name,
            buffer=buffer,
            nbytes=-1 if buffer is None else buffer.nbytes,
        )
        return self.engine.post_receive(post)

    def _find_sender(self, source: int) -> int:
        if source == ANY:
            return ANY
        return self._find_world_rank(source)

    def _find_world_rank(self, rank: int) -> int:
        if isinstance(rank, bool) or not 0 <= int(rank) < self.size:
            raise ValueError(f"MPI_ERR_RANK: invalid rank {rank!r}, the communicator has {self.size}")
        return self.members[int(rank)]

    def send(self, obj: object, dest: int, tag: int = 0) -> Blocking:
        """Send an object."""
        yield from wait_for(self._post_send("send", dest, tag, None, obj))

    def ssend(self, obj: object, dest: int, tag: int = 0) -> Blocking:
        """Send an object; complete when the receive has begun."""
        yield from wait_for(self._post_send("ssend", dest, tag, None, obj, waits=True))

    def recv(self, buf: Buffer = None, source: int = ANY, tag: int = ANY, status: Status | None = None) -> Blocking:
        """Receive an object."""
        request = self.irecv(buf, source, tag)
        request.operation.call = "recv"
        return (yield from request.wait(status))

    def isend(self, obj: object, dest: int, tag: int = 0) -> Request:
        """Begin to send an object."""
        return Request(self._post_send("isend", dest, tag, None, obj))

    def irecv(self, buf: Buffer = None, source: int = ANY, tag: int = ANY) -> Request:
        """Begin to receive an object."""
        post = self._post_receive("irecv", source, tag, None)
        return Request(post, lambda: getattr(post, "payload", None))

    def Send(self, buf: Buffer, dest: int, tag: int = 0) -> Blocking:
        """Send a buffer."""
        yield from wait_for(self._post_send("Send", dest, tag, _find_array(buf), None))

    def Ssend(self, buf: Buffer, dest: int, tag: int = 0) -> Blocking:
        """Send a buffer; complete when the receive has begun."""
        yield from wait_for(self._post_send("Ssend", dest, tag, _find_array(buf), None, waits=True))

    def Recv(self, buf: Buffer, source: int = ANY, tag: int = ANY, status: Status | None = None) -> Blocking:
        """Receive into a buffer."""
        request = self.Irecv(buf, source, tag)
        request.operation.call = "Recv"
        yield from request.wait(status)

    def Isend(self, buf: Buffer, dest: int, tag: int = 0) -> Request:
        """Begin to send a buffer."""
        return Request(self._post_send("Isend", dest, tag, _find_array(buf), None))

    def Irecv(self, buf: Buffer, source: int = ANY, tag: int = ANY) -> Request:
        """Begin to receive into a buffer."""
        return Request(self._post_receive("Irecv", source, tag, _find_array(buf)))

    def sendrecv(
        self,
        sendobj: object,
        dest: int,
        sendtag: int = 0,
        recvbuf: Buffer = None,
        source: int = ANY,
        recvtag: int = ANY,
        status: Status | None = None,
    ) -> Blocking:
        """Send and receive an object at the same time."""
        receive, send = self.irecv(None, source, recvtag), self.isend(sendobj, dest, sendtag)
        return (yield from _exchange("sendrecv", receive, send, status))

    def Sendrecv(
        self,
        sendbuf: Buffer,
        dest: int,
        sendtag: int = 0,
        recvbuf: Buffer = None,
        source: int = ANY,
        recvtag: int = ANY,
        status: Status | None = None,
    ) -> Blocking:
        """Send and receive a buffer at the same time."""
        receive, send = self.Irecv(recvbuf, source, recvtag), self.Isend(sendbuf, dest, sendtag)
        yield from _exchange("Sendrecv", receive, send, status)

    def iprobe(self, source: int = ANY, tag: int = ANY, status: Status | None = None) -> Blocking:
        """Whether a message could be received; asking lets other ranks run."""
        yield from poll()
        sender = self._find_sender(source)
        post = self.engine.find_message(self._world_rank, sender, tag, self.name)
        if post is not None and status is not None:
            status.source, status.tag, status.nbytes = post.source, post.tag, post.nbytes
        return post is not None

    Iprobe = iprobe

    def probe(self, source: int = ANY, tag: int = ANY, status: Status | None = None) -> Blocking:
        """Wait until a message could be received."""
        while not (yield from self.iprobe(source, tag, status)):
            pass
        return True

    Probe = probe

    # ---- collectives

    def _collective(self, call: str, signature: tuple[Hashable, ...], value: object, root: int = -1) -> Blocking:
        """Post a collective, wait for it, and return the values of all ranks."""
        post = CollectivePost(
            self._world_rank,
            call,
            self.engine.line_of_call(),
            communicator=self.name,
            signature=(call.lower(), *signature),
            value=value,
            root=root,
        )
        self.engine.post_collective(post, self.members)
        return (yield from wait_for(post))

    def _send_from_root(self, call: str, values: Any, root: int) -> Blocking:
        """A rooted collective of small objects as MPI libraries do it: the root sends and goes on at once."""
        line = self.engine.line_of_call()
        if self.rank == root:
            for rank in range(self.size):
                if rank != root:
                    self._post_internal(call, line, rank, values[rank])
            return values[root]
        return (yield from self._receive_internal(call, line, root))

    def _collect_at_root(self, call: str, signature: tuple[Hashable, ...], value: object, root: int) -> Blocking:
        """The values of all ranks at the root; where small messages are buffered, the others go on at once."""
        if self.engine.mode.eager_limit < 0:
            return (yield from self._collective(call, signature, value, root))
        line = self.engine.line_of_call()
        if self.rank != root:
            self._post_internal(call, line, root, value)
            return []
        values = []
        for rank in range(self.size):
            values.append(value if rank == root else (yield from self._receive_internal(call, line, rank)))
        return values

    def _post_internal(self, call: str, line: int, rank: int, value: object) -> None:
        target, pickled = self.members[rank], pickle.dumps(value, protocol=5)
        self.engine.post_send(
            MessagePost(
                self._world_rank,
                call,
                line,
                source=self._world_rank,
                target=target,
                communicator=(self.name, call),
                payload=pickle.loads(pickled),
                nbytes=len(pickled),
                is_internal=True,
            )
        )

    def _receive_internal(self, call: str, line: int, rank: int) -> Blocking:
        sender = self.members[rank]
        post = MessagePost(
            self._world_rank,
            call,
            line,
            (sender,),
            source=sender,
            target=self._world_rank,
            communicator=(self.name, call),
            nbytes=-1,
        )
        yield from wait_for(self.engine.post_receive(post))
        return post.payload

    def barrier(self) -> Blocking:
        """Wait for all ranks."""
        yield from self._collective("barrier", (), None)

    Barrier = barrier

    def bcast(self, obj: object, root: int = 0) -> Blocking:
        """Every rank gets the root's object."""
        if self.engine.mode.eager_limit >= 0:
            return (yield from self._send_from_root("bcast", [obj] * self.size, root))
        values = yield from self._collective("bcast", (root,), obj, root)
        return values[root]

    def gather(self, sendobj: object, root: int = 0) -> Blocking:
        """The root gets the objects of all."""
        values = yield from self._collect_at_root("gather", (root,), sendobj, root)
        return list(values) if self.rank == root else None

    def scatter(self, sendobj: Sequence[Any], root: int = 0) -> Blocking:
        """Every rank gets one of the root's objects."""
        if self.rank == root and len(sendobj) != self.size:
            raise ValueError(f"expecting {self.size} items, got {len(sendobj)}")
        if self.engine.mode.eager_limit >= 0:
            return (yield from self._send_from_root("scatter", sendobj, root))
        values = yield from self._collective("scatter", (root,), sendobj, root)
        return values[root][self.rank]

    def allgather(self, sendobj: object) -> Blocking:
        """Every rank gets the objects of all."""
        return list((yield from self._collective("allgather", (), sendobj)))

    def alltoall(self, sendobj: Iterable[Any]) -> Blocking:
        """Every rank gets one object of each."""
        values = yield from self._collective("alltoall", (), list(sendobj))
        return [parts[self.rank] for parts in values]

    def reduce(self, sendobj: object, op: str = "SUM", root: int = 0) -> Blocking:
        """The root gets the reduction of all objects."""
        values = yield from self._collect_at_root("reduce", (op, root), sendobj, root)
        return _reduce(values, op) if self.rank == root else None

    def allreduce(self, sendobj: object, op: str = "SUM") -> Blocking:
        """Every rank gets the reduction of all objects."""
        return _reduce((yield from self._collective("allreduce", (op,), sendobj)), op)

    def scan(self, sendobj: object, op: str = "SUM") -> Blocking:
        """Every rank gets the reduction of the objects up to its own."""
        values = yield from self._collective("scan", (op,), sendobj)
        return _reduce(values[: self.rank + 1], op)

    def Bcast(self, buf: Buffer, root: int = 0) -> Blocking:
        """Every rank gets the root's buffer."""
        array = _find_array(buf)
        values = yield from self._collective("Bcast", (root, array.nbytes), array.copy(), root)
        array[...] = values[root].reshape(array.shape)

    def Reduce(self, sendbuf: Buffer, recvbuf: Buffer, op: str = "SUM", root: int = 0) -> Blocking:
        """The root's buffer gets the reduction of all."""
        array = _find_array(recvbuf if sendbuf is IN_PLACE else sendbuf)
        values = yield from self._collective("Reduce", (op, root, array.nbytes), array.copy(), root)
        if self.rank == root:
            target = _find_array(recvbuf)
            target[...] = _reduce(values, op).reshape(target.shape)

    def Allreduce(self, sendbuf: Buffer, recvbuf: Buffer, op: str = "SUM") -> Blocking:
        """Every rank's buffer gets the reduction of all."""
        array = _find_array(recvbuf if sendbuf is IN_PLACE else sendbuf)
        values = yield from self._collective("Allreduce", (op, array.nbytes), array.copy())
        target = _find_array(recvbuf)
        target[...] = _reduce(values, op).reshape(target.shape)

    def Gather(self, sendbuf: Buffer, recvbuf: Buffer, root: int = 0) -> Blocking:
        """The root's buffer gets the buffers of all."""
        array = _find_array(sendbuf)
        values = yield from self._collective("Gather", (root, array.nbytes), array.copy(), root)
        if self.rank == root:
            target = _find_array(recvbuf)
            target[...] = np.concatenate([value.reshape(-1) for value in values]).reshape(target.shape)

    def Allgather(self, sendbuf: Buffer, recvbuf: Buffer) -> Blocking:
        """Every rank's buffer gets the buffers of all."""
        array = _find_array(sendbuf)
        values = yield from self._collective("Allgather", (array.nbytes,), array.copy())
        target = _find_array(recvbuf)
        target[...] = np.concatenate([value.reshape(-1) for value in values]).reshape(target.shape)

    def Scatter(self, sendbuf: Buffer, recvbuf: Buffer, root: int = 0) -> Blocking:
        """Every rank's buffer gets a part of the root's."""
        target = _find_array(recvbuf)
        value = None if sendbuf is None else _find_array(sendbuf).copy()
        values = yield from self._collective("Scatter", (root, target.nbytes), value, root)
        target[...] = np.split(values[root].reshape(-1), self.size)[self.rank].reshape(target.shape)

    def Alltoall(self, sendbuf: Buffer, recvbuf: Buffer) -> Blocking:
        """Every rank's buffer gets a part of each."""
        array, target = _find_array(sendbuf), _find_array(recvbuf)
        values = yield from self._collective("Alltoall", (array.nbytes,), array.copy())
        parts = [np.split(value.reshape(-1), self.size)[self.rank] for value in values]
        target[...] = np.concatenate(parts).reshape(target.shape)

    # ---- more communicators

    def Split(self, color: int = 0, key: int = 0) -> Blocking:
        """A communicator of the ranks with the same color, in the order of their keys.

        Args:
            color: Every rank of this communicator gives one.
            key: Equal keys keep the order of ranks.
        """
        self._children += 1
        values = yield from self._collective("Split", (), (color, key, self._world_rank))
        members = [(k, rank) for c, k, rank in values if c == color]
        name = (self.name, self._children, color)
        ordered = tuple(rank for _, rank in sorted(members, key=lambda member: member[0]))
        return RankCommunicator(self.engine, self._world_rank, name, ordered)

    def Dup(self) -> Blocking:
        """A communicator of the same ranks, whose messages meet no others."""
        return (yield from self.Split(0, self.rank))

    def Free(self) -> None:
        """Nothing is held."""


def _exchange(call: str, receive: Request, send: Request, status: Status | None) -> Blocking:
    """Wait for a receive and a send that one call has begun; returns what was received."""
    receive.operation.call = send.operation.call = call
    received = yield from receive.wait(status)
    yield from send.wait()
    return received


def _find_array(buffer: Any) -> np.ndarray:
    """The array of a buffer: the array itself, `[array, type]`, or `(array, count, type)`."""
    if isinstance(buffer, np.ndarray):
        return buffer
    if isinstance(buffer, list | tuple) and buffer and isinstance(buffer[0], np.ndarray):
        counts = [part for part in buffer[1:] if isinstance(part, int)]
        return buffer[0].reshape(-1)[: counts[0]] if counts else buffer[0]
    raise TypeError(f"a buffer is an array of numpy, not {type(buffer).__name__}")


def _reduce(values: Sequence[Any], op: str) -> Any:
    total = values[0]
    for value in values[1:]:
        total = _OPS[op](total, value)
    return total


def build_mpi_modules(engine: Engine, rank: int) -> dict[str, ModuleType]:
    """The modules `mpi4py` and `mpi4py.MPI` of one rank.

    Args:
        engine: the ranks of the run.
        rank: this rank.

    Returns:
        Modules by name.
    """
    mpi = ModuleType("mpi4py.MPI")
    vars(mpi).update({name: name for name in _OPS})
    vars(mpi).update(
        COMM_WORLD=RankCommunicator(engine, rank, "world", tuple(range(engine.size))),
        Status=Status,
        Request=Request,
        ANY_SOURCE=ANY,
        ANY_TAG=ANY,
        PROC_NULL=PROC_NULL,
        IN_PLACE=IN_PLACE,
        DOUBLE=np.float64,
        FLOAT=np.float32,
        INT=np.int32,
        LONG=np.int64,
        BYTE=np.uint8,
        CHAR=np.uint8,
        Wtime=lambda: 0.0,
        Get_processor_name=lambda: "node0",
        Finalize=lambda: None,
    )
    mpi4py = ModuleType("mpi4py")
    mpi4py.MPI = mpi  # type: ignore[attr-defined]
    mpi4py.rc = SimpleNamespace()  # type: ignore[attr-defined]
    return {"mpi4py": mpi4py, "mpi4py.MPI": mpi}
