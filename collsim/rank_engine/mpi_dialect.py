"""`mpi4py.MPI` for one rank of an engine: lower-case calls send objects, upper-case calls send buffers."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from types import ModuleType, SimpleNamespace
from typing import Literal

import numpy as np

from ..errors import describe_unknown
from ..package_data import read_toml
from .calls import poll, wait_for
from .engine import ANY, Blocking, CollectivePost, Engine, MessagePost, PostedCall, require_tag
from .mpi_collectives import IN_PLACE, OPERATIONS, Buffer, CollectiveArguments, Value, find_array, install_collectives
from .stand_ins.objects import copy_object
from .stand_ins.tensors import KnownModule

#: Bytes of a pickle that `irecv` takes without a buffer (mpi4py 4.1, `msgpickle.pxi`).
IRECV_BYTES = 32_768
#: The numbers that MPICH has.
PROC_NULL, ANY_SOURCE, ANY_TAG, UNDEFINED, COMM_TYPE_SHARED = -1, -2, -1, -32_766, 1


_WORDS = read_toml(__file__, "mpi_dialect.toml")
#: What is not simulated, and what to use instead.
SUBSTITUTES: dict[str, str] = _WORDS["substitutes"]


class MPIModule(KnownModule):
    """`mpi4py.MPI`: what is not simulated is named with what to use instead."""

    def __getattr__(self, name: str) -> object:
        if name in SUBSTITUTES:
            raise AttributeError(f"MPI.{name} is not known here: {SUBSTITUTES[name]}")
        return super().__getattr__(name)


class Status:
    """Source, tag and size of a message that was received."""

    def __init__(self) -> None:
        self.source, self.tag, self.nbytes = ANY_SOURCE, ANY_TAG, 0

    def Get_source(self) -> int:
        """The sender."""
        return self.source

    def Get_tag(self) -> int:
        """The tag."""
        return self.tag

    def Get_count(self, datatype: type[np.generic] | None = None) -> int:
        """The number of elements, of bytes without a type."""
        return self.nbytes // np.dtype(datatype or np.uint8).itemsize

    def fill(self, source: int, tag: int, nbytes: int) -> None:
        """Take the facts of a message.

        Args:
            source: The sender, by its number in the communicator.
            tag: Its tag.
            nbytes: Its bytes.
        """
        self.source, self.tag, self.nbytes = source, tag, nbytes


class Request:
    """The handle of a non-blocking call."""

    def __init__(
        self, operation: PostedCall, finish: Callable[[], Value] | None = None, members: tuple[int, ...] = ()
    ) -> None:
        """The handle of a call that was posted.

        Args:
            operation: What was posted.
            finish: What `wait` returns the result of; None for calls without one.
            members: Of a receive, the ranks of its communicator.
        """
        self.operation, self._finish, self._members = operation, finish, members
        self._is_null = False  # MPI makes a request null once its call has ended: nothing is waited for again

    def wait(self, status: Status | None = None) -> Blocking:
        """Wait for the call.

        Args:
            status: Gets source, tag and size of a message that was received; None where nobody asks.

        Returns:
            The object of a lower-case receive, else None.
        """
        if self._is_null:
            return None
        yield from wait_for(self.operation)
        self._is_null = True
        self._fill_status(status)
        if self._finish is None:
            return None
        return self._finish()

    Wait = wait

    def test(self, status: Status | None = None) -> Blocking:
        """`(done, object)`; asking lets other ranks run.

        Args:
            status: As in `wait`.
        """
        yield from poll()
        if not self._is_null and not self.operation.settle():
            return (False, None)
        return (True, (yield from self.wait(status)))

    def Test(self, status: Status | None = None) -> Blocking:
        """Whether it is done; asking lets other ranks run.

        Args:
            status: filled in for a message that has come.
        """
        return (yield from self.test(status))[0]

    def _fill_status(self, status: Status | None) -> None:
        post = self.operation
        if status is not None and self._members and isinstance(post, MessagePost) and post.match is not None:
            status.fill(self._members.index(post.source), post.tag, post.match.nbytes)

    def Free(self) -> None:
        """Nothing is held."""

    def __getattr__(self, name: str) -> Value:
        raise AttributeError(_describe_missing("a request", name, Request))

    @staticmethod
    def testall(requests: Sequence[Request], statuses: Sequence[Status] | None = None) -> Blocking:
        """`(whether all are done, their objects)`; asking lets other ranks run.

        Args:
            requests: handles.
            statuses: filled in where all are done.
        """
        yield from poll()
        done = [request.operation.settle() for request in requests]  # each, as all of them may come now
        if not all(done):
            return (False, None)
        return (True, (yield from Request.waitall(requests, statuses)))

    @staticmethod
    def Testall(requests: Sequence[Request], statuses: Sequence[Status] | None = None) -> Blocking:
        """Whether all are done."""
        return (yield from Request.testall(requests, statuses))[0]

    @staticmethod
    def testany(requests: Sequence[Request], status: Status | None = None) -> Blocking:
        """`(index, whether one is done, its object)`; asking lets other ranks run.

        Args:
            requests: handles.
            status: filled in for a message that has come.
        """
        yield from poll()
        active = [k for k, request in enumerate(requests) if not request._is_null]
        if not active:
            return (UNDEFINED, True, None)
        for index in active:
            if requests[index].operation.settle():
                return (index, True, (yield from requests[index].wait(status)))
        return (UNDEFINED, False, None)

    @staticmethod
    def Testany(requests: Sequence[Request], status: Status | None = None) -> Blocking:
        """`(index, whether one is done)`."""
        return (yield from Request.testany(requests, status))[:2]

    @staticmethod
    def waitall(requests: Sequence[Request], statuses: Sequence[Status] | None = None) -> Blocking:
        """Wait for all calls.

        Args:
            requests: Of this rank.
            statuses: Filled in, one for each.

        Returns:
            Their objects, in order.
        """
        results = []
        for number, request in enumerate(requests):
            status = None
            if statuses is not None:
                status = statuses[number]
            results.append((yield from request.wait(status)))
        return results

    Waitall = waitall

    @staticmethod
    def waitany(requests: Sequence[Request], status: Status | None = None) -> Blocking:
        """Wait for any of the calls.

        Args:
            requests: Of this rank.
            status: As in `wait`, for the one that is complete.

        Returns:
            Its index and its object; `UNDEFINED` and None where all have ended before.
        """
        positions = yield from _wait_for_any(requests, "waitany")
        if positions is None:
            return UNDEFINED, None
        return positions[0], (yield from requests[positions[0]].wait(status))

    @staticmethod
    def Waitany(requests: Sequence[Request], status: Status | None = None) -> Blocking:
        """Wait for any: its index."""
        return (yield from Request.waitany(requests, status))[0]

    @staticmethod
    def waitsome(requests: Sequence[Request], statuses: Sequence[Status] | None = None) -> Blocking:
        """Wait until at least one of the calls is complete.

        Args:
            requests: Of this rank.
            statuses: The first are filled in, one for each call that is complete.

        Returns:
            The indices of those that are complete and their objects; None twice where all have ended before.
        """
        positions = yield from _wait_for_any(requests, "waitsome")
        if positions is None:
            return None, None
        results = []
        for number, index in enumerate(positions):
            status = None
            if statuses is not None:
                status = statuses[number]
            results.append((yield from requests[index].wait(status)))
        return positions, results

    @staticmethod
    def Waitsome(requests: Sequence[Request], statuses: Sequence[Status] | None = None) -> Blocking:
        """Wait until at least one is complete: the indices of those that are."""
        return (yield from Request.waitsome(requests, statuses))[0]


def _wait_for_any(requests: Sequence[Request], call: Literal["waitany", "waitsome"]) -> Blocking:
    """Wait until calls have ended: their indices, or None where all have ended before."""
    active = [k for k, request in enumerate(requests) if not request._is_null]
    if not active:
        return None
    operations = tuple(requests[k].operation for k in active)
    peers = tuple(dict.fromkeys(peer for operation in operations for peer in operation.peers))
    wait = PostedCall(operations[0].rank, call, operations[0].line, peers, is_any=True, alternatives=operations)
    wait.takes_several = call == "waitsome"
    yield wait
    return [active[position] for position in wait.result]


class PersistentRequest(Request):
    """The handle of `Send_init` or `Recv_init`: a call that can be started again and again.

    Args:
        start: posts the call.
        members: of a receive, the ranks of its communicator.
    """

    def __init__(self, start: Callable[[], PostedCall], members: tuple[int, ...] = ()) -> None:
        self._start, self._members = start, members
        self._is_null = True  # nothing is waited for before it is started

    def Start(self) -> None:
        """Post the call once more."""
        super().__init__(self._start(), members=self._members)

    @staticmethod
    def Startall(requests: Sequence[PersistentRequest]) -> None:
        """Start several."""
        for request in requests:
            request.Start()


class RankGroup:
    """A group of ranks, as `Get_group` gives it.

    Args:
        members: their numbers among all, in order.
        rank: this rank among all.
    """

    def __init__(self, members: tuple[int, ...], rank: int) -> None:
        self.members, self._rank = members, rank

    @property
    def size(self) -> int:
        """The number of ranks."""
        return len(self.members)

    @property
    def rank(self) -> int:
        """This rank's number in it."""
        if self._rank not in self.members:
            return UNDEFINED
        return self.members.index(self._rank)

    def Get_size(self) -> int:
        """The number of ranks."""
        return self.size

    def Get_rank(self) -> int:
        """This rank's number in it."""
        return self.rank

    def Incl(self, ranks: Sequence[int]) -> RankGroup:
        """The group of these of its ranks."""
        return RankGroup(tuple(self.members[rank] for rank in ranks), self._rank)

    def Excl(self, ranks: Sequence[int]) -> RankGroup:
        """The group without these of its ranks."""
        return RankGroup(tuple(m for number, m in enumerate(self.members) if number not in ranks), self._rank)

    @staticmethod
    def Union(group1: RankGroup, group2: RankGroup) -> RankGroup:
        """The ranks of a group, and those of another one behind them."""
        return RankGroup(tuple(dict.fromkeys((*group1.members, *group2.members))), group1._rank)

    @staticmethod
    def Intersection(group1: RankGroup, group2: RankGroup) -> RankGroup:
        """The ranks of a group that are in another one, too."""
        return group1._select(lambda member: member in group2.members)

    @staticmethod
    def Difference(group1: RankGroup, group2: RankGroup) -> RankGroup:
        """The ranks of a group that are not in another one."""
        return group1._select(lambda member: member not in group2.members)

    def _select(self, is_in: Callable[[int], bool]) -> RankGroup:
        return RankGroup(tuple(filter(is_in, self.members)), self._rank)

    def Translate_ranks(self, ranks: Sequence[int] | None = None, group: RankGroup | None = None) -> list[int]:
        """The numbers that some of its ranks have in another one.

        Args:
            ranks: Their numbers in this one; None for all.
            group: The other one, where a rank that is not in it is UNDEFINED; None for the group of all ranks.
        """
        members = [self.members[rank] for rank in (range(self.size) if ranks is None else ranks)]
        if group is None:
            return members
        return [group.members.index(member) if member in group.members else UNDEFINED for member in members]

    def Free(self) -> None:
        """Nothing is held."""


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
        self, call: str, dest: int, tag: int, buffer: Value, payload: object, waits: bool = False
    ) -> PostedCall:
        # PROC_NULL is nobody: MPI completes such calls at once.
        if dest == PROC_NULL:
            return PostedCall(self._world_rank, call, self.engine.line_of_call(), is_complete=True)
        if tag == ANY_TAG:
            raise ValueError(f"{call}: a message has a tag; ANY_TAG is for receives")
        target, me = self._find_world_rank(dest), self._world_rank
        post = MessagePost(me, call, self.engine.line_of_call(), (target,), source=me, target=target, buffer=buffer)
        post.tag, post.communicator, post.is_synchronous = require_tag(tag), self.name, waits
        if buffer is None:  # an object travels as its pickle
            post.payload, post.nbytes = copy_object(payload)
        else:
            post.nbytes = buffer.nbytes
        return self.engine.post_send(post)

    def _post_receive(self, call: str, source: int, tag: int, buffer: Value, room: int = -1) -> PostedCall:
        if source == PROC_NULL:
            return PostedCall(self._world_rank, call, self.engine.line_of_call(), is_complete=True)
        sender, me = self._find_sender(source), self._world_rank
        post = MessagePost(me, call, self.engine.line_of_call(), (sender,), source=sender, target=me, buffer=buffer)
        post.tag, post.communicator, post.nbytes = require_tag(tag), self.name, room
        if buffer is not None:
            post.nbytes = buffer.nbytes
        if source == ANY_SOURCE:
            # From anybody: every other member may be the one that is waited for.
            post.is_any, post.peers = True, tuple(rank for rank in self.members if rank != me)
        return self.engine.post_receive(post)

    def _find_sender(self, source: int) -> int:
        if source == ANY_SOURCE:
            return ANY
        return self._find_world_rank(source)

    def _find_world_rank(self, rank: int) -> int:
        if isinstance(rank, bool) or not isinstance(rank, int | np.integer):
            raise TypeError(f"rank {rank!r} is no whole number")
        if not 0 <= rank < self.size:
            raise ValueError(f"MPI_ERR_RANK: invalid rank {rank!r}, the communicator has {self.size}")
        return self.members[int(rank)]

    def send(self, obj: object, dest: int, tag: int = 0) -> Blocking:
        """Send an object."""
        yield from wait_for(self._post_send("send", dest, tag, None, obj))

    def ssend(self, obj: object, dest: int, tag: int = 0) -> Blocking:
        """Send an object; complete when the receive has begun."""
        yield from wait_for(self._post_send("ssend", dest, tag, None, obj, waits=True))

    def recv(
        self, buf: Buffer = None, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None
    ) -> Blocking:
        """Receive an object."""
        # Without a buffer it asks for the size of the message first; `irecv` cannot.
        post = self._post_receive("recv", source, tag, None, _find_room(buf, -1))
        request = Request(post, lambda: getattr(post, "payload", None), self.members)
        return (yield from request.wait(status))

    def isend(self, obj: object, dest: int, tag: int = 0) -> Request:
        """Begin to send an object."""
        return Request(self._post_send("isend", dest, tag, None, obj))

    def issend(self, obj: object, dest: int, tag: int = 0) -> Request:
        """Begin to send an object; complete when the receive has begun."""
        return Request(self._post_send("issend", dest, tag, None, obj, waits=True))

    def irecv(self, buf: Buffer = None, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> Request:
        """Begin to receive an object."""
        post = self._post_receive("irecv", source, tag, None, _find_room(buf, IRECV_BYTES))
        return Request(post, lambda: getattr(post, "payload", None), self.members)

    def Send(self, buf: Buffer, dest: int, tag: int = 0) -> Blocking:
        """Send a buffer."""
        yield from wait_for(self._post_send("Send", dest, tag, find_array(buf), None))

    def Ssend(self, buf: Buffer, dest: int, tag: int = 0) -> Blocking:
        """Send a buffer; complete when the receive has begun."""
        yield from wait_for(self._post_send("Ssend", dest, tag, find_array(buf), None, waits=True))

    def Recv(self, buf: Buffer, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> Blocking:
        """Receive into a buffer."""
        request = self.Irecv(buf, source, tag)
        request.operation.call = "Recv"
        yield from request.wait(status)

    def Isend(self, buf: Buffer, dest: int, tag: int = 0) -> Request:
        """Begin to send a buffer."""
        return Request(self._post_send("Isend", dest, tag, find_array(buf), None))

    def Issend(self, buf: Buffer, dest: int, tag: int = 0) -> Request:
        """Begin to send a buffer; complete when the receive has begun."""
        return Request(self._post_send("Issend", dest, tag, find_array(buf), None, waits=True))

    def Irecv(self, buf: Buffer, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> Request:
        """Begin to receive into a buffer."""
        return Request(self._post_receive("Irecv", source, tag, find_array(buf)), members=self.members)

    def sendrecv(
        self,
        sendobj: object,
        dest: int,
        sendtag: int = 0,
        recvbuf: Buffer = None,
        source: int = ANY_SOURCE,
        recvtag: int = ANY_TAG,
        status: Status | None = None,
    ) -> Blocking:
        """Send and receive an object at the same time."""
        receive = self.irecv(recvbuf if recvbuf is not None else 2**31, source, recvtag)
        send = self.isend(sendobj, dest, sendtag)
        return (yield from _exchange("sendrecv", receive, send, status))

    def Sendrecv(
        self,
        sendbuf: Buffer,
        dest: int,
        sendtag: int = 0,
        recvbuf: Buffer = None,
        source: int = ANY_SOURCE,
        recvtag: int = ANY_TAG,
        status: Status | None = None,
    ) -> Blocking:
        """Send and receive a buffer at the same time."""
        receive, send = self.Irecv(recvbuf, source, recvtag), self.Isend(sendbuf, dest, sendtag)
        yield from _exchange("Sendrecv", receive, send, status)

    bsend, rsend, Bsend, Rsend = send, send, Send, Send  # a buffer of the user's and a receive that is posted: no less

    def Send_init(self, buf: Buffer, dest: int, tag: int = 0) -> PersistentRequest:
        """A send that can be started again and again."""
        return PersistentRequest(lambda: self._post_send("Send_init", dest, tag, find_array(buf), None))

    def Recv_init(self, buf: Buffer, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> PersistentRequest:
        """A receive that can be started again and again."""
        return PersistentRequest(lambda: self._post_receive("Recv_init", source, tag, find_array(buf)), self.members)

    def Sendrecv_replace(
        self,
        buf: Buffer,
        dest: int,
        sendtag: int = 0,
        source: int = ANY_SOURCE,
        recvtag: int = ANY_TAG,
        status: Status | None = None,
    ) -> Blocking:
        """Send a buffer and receive into it."""
        outgoing = find_array(buf).copy()
        yield from self.Sendrecv(outgoing, dest, sendtag, buf, source, recvtag, status)

    def iprobe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> Blocking:
        """Whether a message could be received; asking lets other ranks run."""
        yield from poll()
        sender = self._find_sender(source)
        post = self.engine.find_message(self._world_rank, sender, tag, self.name)
        if post is not None and status is not None:
            status.fill(self.members.index(post.source), post.tag, post.nbytes)
        return post is not None

    Iprobe = iprobe

    def probe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> Blocking:
        """Wait until a message could be received."""
        while not (yield from self.iprobe(source, tag, status)):
            pass
        return True

    Probe = probe

    # ---- collectives: `mpi_collectives` has what each of them does

    def start_collective(self, call: str, arguments: CollectiveArguments, root: int) -> Request:
        """Post a collective.

        Args:
            call: the word of the library.
            arguments: what this rank puts in, and what becomes of the values of all.
            root: the rank that sends to all or receives from all, or -1.

        Returns:
            Its handle.
        """
        word = call.removeprefix("I").lower()
        line = self.engine.line_of_call()
        post = CollectivePost(self._world_rank, call, line, communicator=self.name, value=arguments.value, root=root)
        post.signature, post.unchecked, post.extent = (word.removesuffix("v"),), arguments.unchecked, arguments.extent
        self.engine.post_collective(post, self.members)
        return Request(post, lambda: arguments.finish(post.result))

    def send_from_root(self, call: str, values: Value, root: int) -> Blocking:
        """A rooted collective of small objects as MPI libraries do it: the root sends and goes on at once.

        Args:
            call: the word of the library.
            values: at the root, an object for each rank.
            root: which rank that is.

        Returns:
            This rank's object.
        """
        line = self.engine.line_of_call()
        if self.rank == root:
            for rank in range(self.size):
                if rank != root:
                    self._post_internal(call, line, rank, values[rank])
            return copy_object(values[root])[0]
        return (yield from self._receive_internal(call, line, root))

    def collect_at_root(self, call: str, value: object, root: int) -> Blocking:
        """The objects of all ranks at the root; the others go on at once, as small messages are buffered.

        Args:
            call: the word of the library.
            value: this rank's object.
            root: which rank collects.

        Returns:
            All objects at the root, nothing elsewhere.
        """
        line = self.engine.line_of_call()
        if self.rank != root:
            self._post_internal(call, line, root, value)
            return []
        values = []
        for rank in range(self.size):
            if rank != root:
                values.append((yield from self._receive_internal(call, line, rank)))
            else:
                values.append(copy_object(value)[0])
        return values

    def _post_internal(self, call: str, line: int, rank: int, value: object) -> None:
        post = MessagePost(self._world_rank, call, line, source=self._world_rank, target=self.members[rank])
        post.communicator, post.is_internal = (self.name, call), True
        post.payload, post.nbytes = copy_object(value)
        self.engine.post_send(post)

    def _receive_internal(self, call: str, line: int, rank: int) -> Blocking:
        sender, me = self.members[rank], self._world_rank
        post = MessagePost(me, call, line, (sender,), source=sender, target=me, communicator=(self.name, call))
        post.nbytes = -1
        yield from wait_for(self.engine.post_receive(post))
        return post.payload

    # ---- more communicators

    def _gather_values(self, call: str, value: object) -> Blocking:
        """The values of all ranks, for calls that make communicators."""
        arguments = CollectiveArguments("", value, list)
        return (yield from self.start_collective(call, arguments, -1).wait())

    def Split(self, color: int = 0, key: int = 0) -> Blocking:
        """A communicator of the ranks with the same color, in the order of their keys.

        Args:
            color: the same number for those that stay together; UNDEFINED for none.
            key: the order of ranks in it.
        """
        self._children += 1
        if not all(isinstance(number, int | np.integer) for number in (color, key)):
            raise TypeError(f"Split: color={color!r} and key={key!r} are whole numbers")
        values = yield from self._gather_values("Split", (color, key, self._world_rank))
        members = [(k, rank) for c, k, rank in values if c == color]
        if color == UNDEFINED:
            return None
        name = (self.name, self._children, color)
        ordered = tuple(rank for _, rank in sorted(members, key=lambda member: member[0]))
        return RankCommunicator(self.engine, self._world_rank, name, ordered)

    def Split_type(self, split_type: int, key: int = 0, info: object = None) -> Blocking:
        """A communicator of the ranks of a node; all ranks are on one.

        Args:
            split_type: COMM_TYPE_SHARED; UNDEFINED for none.
            key: The order of ranks in it.
            info: Not used.
        """
        return (yield from self.Split(UNDEFINED if split_type == UNDEFINED else 0, key))

    def Dup(self, info: object = None) -> Blocking:
        """A communicator of the same ranks, whose messages meet no others.

        Args:
            info: Not used.
        """
        return (yield from self.Split(0, self.rank))

    def Clone(self) -> Blocking:
        """As `Dup`."""
        return self.Dup()

    def Get_group(self) -> RankGroup:
        """The ranks of the communicator."""
        return RankGroup(self.members, self._world_rank)

    def Create(self, group: RankGroup) -> Blocking:
        """A communicator of the ranks of a group; every rank of this one has to call it.

        Args:
            group: of `Get_group`, the same on all ranks.
        """
        self._children += 1
        yield from self._gather_values("Create", None)
        if self._world_rank not in group.members:
            return None
        return RankCommunicator(self.engine, self._world_rank, (self.name, self._children, "group"), group.members)

    def Create_cart(
        self, dims: Sequence[int], periods: Sequence[bool] | bool | None = None, reorder: bool = False
    ) -> Blocking:
        """A communicator whose ranks are points of a grid.

        Args:
            dims: points in each dimension.
            periods: whether a dimension is a ring; one value for all, or one for each.
            reorder: not used: ranks keep their order, as with MPICH.
        """
        self._children += 1
        yield from self._gather_values("Create_cart", tuple(dims))
        count = math.prod(dims)
        if count > self.size:
            raise ValueError(f"a grid of {count} points needs as many ranks, and there are {self.size}")
        if self.rank >= count:
            return None
        rings = np.broadcast_to(np.asarray(periods, bool), len(dims)).tolist()
        name = (self.name, self._children, "cart")
        return CartesianCommunicator(self.engine, self._world_rank, name, self.members[:count], tuple(dims), rings)

    def Abort(self, errorcode: int = 0) -> None:
        """End the program of all ranks."""
        raise RuntimeError(f"application called MPI_Abort(MPI_COMM_WORLD, {errorcode})")

    def Free(self) -> None:
        """Nothing is held."""

    def __getattr__(self, name: str) -> Value:
        raise AttributeError(_describe_missing("a communicator", name, type(self)))


install_collectives(RankCommunicator)


class CartesianCommunicator(RankCommunicator):
    """A communicator whose ranks are points of a grid, the last dimension running fastest.

    Args:
        engine: the ranks of the run.
        rank: this rank among all.
        name: the same for all members.
        members: all ranks of the communicator, by their numbers in it.
        dims: points in each dimension.
        periods: whether a dimension is a ring.
    """

    def __init__(
        self,
        engine: Engine,
        rank: int,
        name: Hashable,
        members: tuple[int, ...],
        dims: tuple[int, ...],
        periods: Sequence[bool],
    ) -> None:
        super().__init__(engine, rank, name, members)
        self.dims, self.periods = dims, tuple(bool(ring) for ring in periods)

    def Get_coords(self, rank: int) -> list[int]:
        """The point of a rank."""
        return [int(index) for index in np.unravel_index(rank, self.dims)]

    @property
    def coords(self) -> list[int]:
        """This rank's point."""
        return self.Get_coords(self.rank)

    def Get_cart_rank(self, coords: Sequence[int]) -> int:
        """The rank of a point; a ring goes round."""
        wrapped = [c % n if ring else c for c, n, ring in zip(coords, self.dims, self.periods, strict=True)]
        return int(np.ravel_multi_index(tuple(wrapped), self.dims))

    def Get_dim(self) -> int:
        """The number of dimensions."""
        return len(self.dims)

    @property
    def dim(self) -> int:
        """The number of dimensions."""
        return len(self.dims)

    ndim = dim

    def Get_topo(self) -> tuple[list[int], list[int], list[int]]:
        """Points, rings and this rank's point."""
        return list(self.dims), [int(ring) for ring in self.periods], self.coords

    def Shift(self, direction: int, disp: int) -> tuple[int, int]:
        """The ranks to receive from and to send to, `disp` points away; PROC_NULL beyond the edge."""
        return self._find_neighbour(direction, -disp), self._find_neighbour(direction, disp)

    def _find_neighbour(self, direction: int, disp: int) -> int:
        coords = self.coords
        coords[direction] += disp
        if not self.periods[direction] and not 0 <= coords[direction] < self.dims[direction]:
            return PROC_NULL
        return self.Get_cart_rank(coords)

    def Sub(self, remain_dims: Sequence[bool]) -> Blocking:
        """A communicator for each line or plane of the grid.

        Args:
            remain_dims: for each dimension whether the parts keep it.
        """
        fixed = [c for c, stays in zip(self.coords, remain_dims, strict=True) if not stays]
        free = [n for n, stays in zip(self.dims, remain_dims, strict=True) if stays]
        rings = [ring for ring, stays in zip(self.periods, remain_dims, strict=True) if stays]
        color = sum(c * 1_000**k for k, c in enumerate(fixed))
        part = yield from self.Split(color, self.rank)
        return (yield from part.Create_cart(free, rings))


def compute_dims(nnodes: int, dims: int | Sequence[int]) -> list[int]:
    """`MPI.Compute_dims`: as equal numbers of points as can be, the largest first; those that are not 0 stay.

    Args:
        nnodes: how many points there are.
        dims: how many dimensions, or a number for each.

    Returns:
        Points in each dimension.
    """
    sizes = np.array(dims).tolist()
    if isinstance(dims, int):
        sizes = [0] * dims
    rest = nnodes // max(1, math.prod(size for size in sizes if size))
    factors: list[int] = []
    divisor = 2
    while rest > 1:
        while rest % divisor == 0:
            factors.append(divisor)
            rest //= divisor
        divisor += 1
    chosen = [1] * sizes.count(0)
    for factor in reversed(factors):
        chosen[chosen.index(min(chosen))] *= factor
    chosen.sort()
    return [size or chosen.pop() for size in sizes]


def _describe_missing(owner: str, name: str, kind: type) -> str:
    known = [word for word in dir(kind) if not word.startswith("_")]
    if substitute := SUBSTITUTES.get(name):
        return f"{owner} has no {name} here: {substitute}"
    return f"{owner} has no {name} here; " + str(describe_unknown("word", name, known))


def _find_room(buffer: Value, default: int) -> int:
    """The bytes of a pickle that fit: those of a buffer, or a number of them; a default without either."""
    if buffer is None:
        return default
    if isinstance(buffer, int):
        return buffer
    return memoryview(buffer).nbytes


def _exchange(call: str, receive: Request, send: Request, status: Status | None) -> Blocking:
    """Wait for a receive and a send that one call has begun; returns what was received."""
    receive.operation.call = send.operation.call = call
    received = yield from receive.wait(status)
    yield from send.wait()
    return received


def build_mpi_modules(engine: Engine, rank: int) -> dict[str, ModuleType]:
    """The modules `mpi4py` and `mpi4py.MPI` of one rank.

    Args:
        engine: the ranks of the run.
        rank: this rank.

    Returns:
        Modules by name.
    """
    mpi = MPIModule("mpi4py.MPI")
    vars(mpi).update({name: name for name in OPERATIONS})
    vars(mpi).update({name: getattr(np, kind) for name, kind in _WORDS["types"].items()})
    vars(mpi).update(
        COMM_WORLD=RankCommunicator(engine, rank, "world", tuple(range(engine.size))),
        Status=Status,
        Request=Request,
        Prequest=PersistentRequest,
        Comm=RankCommunicator,
        Group=RankGroup,
        COMM_NULL=None,
        COMM_SELF=RankCommunicator(engine, rank, ("self", rank), (rank,)),
        UNDEFINED=UNDEFINED,
        COMM_TYPE_SHARED=COMM_TYPE_SHARED,
        Compute_dims=compute_dims,
        ANY_SOURCE=ANY_SOURCE,
        ANY_TAG=ANY_TAG,
        PROC_NULL=PROC_NULL,
        IN_PLACE=IN_PLACE,
        Wtime=lambda: 0.0,
        Get_processor_name=lambda: "node0",
        Init=lambda: None,
        Finalize=lambda: None,
        Is_initialized=lambda: True,
        Is_finalized=lambda: False,
        Get_version=lambda: (4, 1),
        Wtick=lambda: 1e-9,
    )
    mpi4py = ModuleType("mpi4py")
    mpi4py.MPI = mpi  # type: ignore[attr-defined]
    mpi4py.rc = SimpleNamespace()  # type: ignore[attr-defined]
    return {"mpi4py": mpi4py, "mpi4py.MPI": mpi}
