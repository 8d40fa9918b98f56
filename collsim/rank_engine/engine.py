"""N ranks in one thread: who may go on, which message meets which receive, and who waits for whom when nobody can.

A rank is a generator (see `rewrite`). It suspends with a `PostedCall` that is not complete; completing it makes the
rank runnable again. Ranks take turns in the order of their numbers, so a run is the same every time. When no rank is
runnable, choices that depend on timing are made, one at a time: which message a receive from any source takes, and
whether the members of a new group agree. When there is none to make, the ranks that have not ended are deadlocked.

Semantics (docs/programs.md has the sources): messages match by source, tag and communicator in the order of their posts
and do not overtake; a send above the eager limit completes when its receive takes it; a receive is posted when it is
called; collectives match by their order in a communicator.
"""

from __future__ import annotations

import contextvars
import functools
import itertools
import sys
import types
from collections import deque
from collections.abc import Callable, Generator, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from traceback import walk_tb
from typing import Any, Literal, NamedTuple, NoReturn, Protocol

import numpy as np

from .stand_ins.objects import Anything, copy_object

ANY = -1  # any source, any tag
MAIN = -1  # the number of the process that starts threads, which is no rank
#: Of one run; what a class or a page waits for.
MAX_MESSAGES, MAX_BYTES, MAX_POLLS, MAX_ENGINE_STEPS = 20_000, 2**30, 2_000, 2_000_000
MAX_STEPS = 10_000_000  # of one rank: about a second of loops that only add
MAX_CALLS, MAX_THREADS = 100_000, 10_000  # sends, receives, collectives, puts and gets; threads and coroutines

_PACKAGE = __name__.partition(".")[0]
_MAX_LOOKS = 1_000  # waits that are ended to look ahead
#: Calls that wait for what they receive before they return.
_BLOCKING_RECEIVES = frozenset(("recv", "Recv", "sendrecv", "Sendrecv"))

#: A call that may suspend its rank.
Blocking = Generator[Any, Any, Any]
Task = Generator["PostedCall | None", object, object]


#: What stops a run that reaches it: steps of one rank; messages or bytes, calls of a library, threads and turns of all
#: ranks together; time.
Limit = Literal["steps", "messages", "calls", "threads", "turns", "time"]

#: What an execution keeps besides results and messages.
Kept = Literal["events", "payloads", "results"]

EventKind = Literal["send", "receive", "collective", "wait", "sleep"]

#: What a library does not notice: nobody keeps the handle of a message; ranks reduce otherwise, or elements of other
#: types; a tensor has its elements elsewhere than a collective reads them.
FaultKind = Literal["dropped", "mismatch", "gaps"]


@dataclass(frozen=True)
class RunMode:
    """How what MPI and torch leave open is decided.

    Attributes:
        eager_limit: messages up to so many bytes complete at once and are copied when they are sent; -1: none.
        is_late: bytes of other messages are read when sender or receiver waits, and not when they are sent; the
            receiver's buffer is filled when the receiver waits.
        choices: which of the sources that have sent, from the lowest on, each receive from any source takes that has
            more than one; the lowest beyond the end.
        looks_ahead: where all hang, a wait for a queue, a lock or an event ends without what it waits for, so that it
            shows who would use these later.
    """

    eager_limit: float = -1
    is_late: bool = False
    choices: tuple[int, ...] = ()
    looks_ahead: bool = False


class Stop(BaseException):
    """The run is stopped; not an Exception, so that few programs catch it, and `Engine.stopped` says it where one
    does."""


@dataclass(frozen=True)
class StoppedRank:
    """Where a run was stopped.

    Attributes:
        rank: which was running.
        line: of the program, where it was.
        limit: which was reached: `steps`, `messages`, `calls`, `threads`, `turns` or `time`.
    """

    rank: int
    line: int
    limit: Limit


@dataclass(frozen=True)
class StackFrame:
    """A function of the program that a rank is in: its name and its line."""

    function: str
    line: int


class RankEvent(NamedTuple):
    """What a rank did. Positions are those in the list of all events of an execution.

    Attributes:
        rank: who.
        kind: `send`, `receive` and `collective` are posted; `wait` waits for one of these; `sleep` takes time.
        call: the word of the library.
        line: the line of the call, or where it waits.
        other: of a send or a receive the position of its other end, of a wait that of what it waits for; -1: none.
        peer: the other rank of a message, the root of a collective; -1: any, or none.
        tag: of a message.
        nbytes: of a message, or of a rank's buffer in a collective.
        dtype: of the elements; empty for objects.
        group: of a collective: the position of its members in `Execution.groups`; -1 otherwise.
        is_eager: whether a send does not wait for its receive.
        is_internal: part of a collective, and no message of the program's own.
        seconds: of a sleep.
        is_complete: whether a call that was posted has ended: its message was taken, or all members came.
    """

    rank: int
    kind: EventKind
    call: str
    line: int
    other: int = -1
    peer: int = -1
    tag: int = 0
    nbytes: int = 0
    dtype: str = ""
    group: int = -1
    is_eager: bool = False
    is_internal: bool = False
    seconds: float = 0.0
    is_complete: bool = False


class SilentFault(NamedTuple):
    """What a library does not notice, so that a message is lost or numbers are wrong.

    Attributes:
        kind: which fault.
        rank: whose call it is.
        call: the word of the library.
        line: of the call.
        detail: of a mismatch, what the call reduces with, its type and its root.
    """

    kind: FaultKind
    rank: int
    call: str
    line: int
    detail: str = ""


class SharedUse(NamedTuple):
    """What a thread does with a queue, a lock, an event or a barrier.

    Attributes:
        number: of the shared object, in the order in which the program made them.
        action: `put`, `get`, `release`, `set`, `wait` or `notify`.
    """

    number: int
    action: str


@dataclass(eq=False, slots=True)
class PostedCall:
    """What a rank has called and may wait for.

    Attributes:
        rank: who called it.
        call: the word of the library, `isend` or `all_reduce`.
        line: the line of the program.
        peers: the ranks that have to do something before it completes, as far as they are known.
        is_any: one of `peers` is enough.
        is_complete: it is done, and its `wait` returns at once.
        result: what its `wait` returns.
        error: what its `wait` ends in; None where it succeeds.
        waiting: ranks that are suspended until it completes.
        on_wait: moves its bytes when its rank waits for it, where that happens as late as possible; None otherwise.
        alternatives: of a wait for any of several operations, these; empty for other calls.
        takes_several: of a wait for any of several operations: it may take all that have ended (MPI's Waitsome).
        is_collective: whether all members of a communicator have to make the same call.
        needs: the use of a shared object that ends the wait; who makes it is known only where somebody does. None for
            messages and collectives.
        is_awaited: whether its rank has waited for it, or asked whether it is complete.
        deadline: the moment in s, from the begin of the run, at which its wait ends without what it waits for; None:
            never.
        has_expired: whether it did.
    """

    rank: int
    call: str
    line: int
    peers: tuple[int, ...] = ()
    is_any: bool = False
    is_complete: bool = False
    result: Any = None
    error: Exception | None = None
    waiting: list[Rank] = field(default_factory=list)
    on_wait: Callable[[], None] | None = None
    alternatives: tuple[PostedCall, ...] = ()
    takes_several: bool = False
    is_collective: bool = False
    needs: SharedUse | None = None
    is_awaited: bool = False
    deadline: float | None = None
    has_expired: bool = False

    def settle(self) -> bool:
        """Move the bytes that are moved as late as possible: its rank asks now. Returns whether it is complete."""
        self.is_awaited = True
        if self.on_wait is not None and not self.is_complete:
            self.on_wait()
        return self.is_complete


@dataclass(eq=False, slots=True)
class MessagePost(PostedCall):
    """A send or a receive.

    Attributes:
        source: the sender; `ANY` for a receive from anybody.
        target: the receiver.
        tag: exact, or `ANY` for a receive.
        communicator: messages of different communicators never meet.
        buffer: the array that is sent, or filled; None for objects, and for a copy that nobody reads again.
        payload: what is received where there is no buffer.
        nbytes: bytes of the message, or of the receiver's buffer; -1: the receiver takes any size.
        dtype: of the elements; empty for objects.
        is_buffered: whether the bytes were copied at the call.
        is_synchronous: a send that waits for its receive at every size.
        is_internal: part of a collective, and no message of the program's own.
        needs_handle: whether the library forgets it with its handle, as gloo does.
        position: of this post among all of the run.
        match: the post at the other end; None until they have met.
        is_moved: of a send: its bytes are in the receiver's buffer.
        source_buffer: of a send whose bytes were copied at the call: the array that the program may change before they
            arrive.
    """

    source: int = 0
    target: int = 0
    tag: int = 0
    communicator: Hashable = 0
    buffer: np.ndarray | None = None
    payload: object = None
    nbytes: int = 0
    dtype: str = ""
    is_buffered: bool = False
    is_synchronous: bool = False
    is_internal: bool = False
    needs_handle: bool = False
    position: int = 0
    match: MessagePost | None = None
    is_moved: bool = False
    source_buffer: np.ndarray | None = None

    def get_payload(self) -> object:
        """What the message holds: its array, or its object."""
        if self.buffer is None:
            return self.payload
        return self.buffer


class Message(NamedTuple):
    """A message that was sent: where from, where to, by which lines, and when in the order of all posts.

    Attributes:
        src: the sender.
        dst: the receiver.
        tag: its tag.
        nbytes: its bytes.
        posted: the position of the send among all posts of the run.
        matched: the position of the receive, or None for a message that nobody received.
        send_line: the line of the send.
        recv_line: the line of the receive, or None.
    """

    src: int
    dst: int
    tag: int
    nbytes: int
    posted: int
    matched: int | None
    send_line: int
    recv_line: int | None


@dataclass(eq=False, slots=True)
class CollectivePost(PostedCall):
    """One rank's call of a collective: all members of the communicator call the same, in the same order.

    Attributes:
        communicator: whose members take part.
        signature: what has to agree, else the ranks wait for one another: the operation, and what libraries compare.
        extent: what has to agree, else the call ends in an error: bytes.
        unchecked: what has to agree, and no library compares: reduction, element type, root.
        value: what this rank puts in.
        root: the position in the communicator of the rank that sends to all or receives from all, or -1.
        nbytes: bytes of this rank's buffer.
        dtype: of its elements; empty for objects.
        is_collective: True.
    """

    communicator: Hashable = 0
    signature: tuple[Hashable, ...] = ()
    extent: int = 0
    unchecked: str = ""
    value: object = None
    root: int = -1
    nbytes: int = 0
    dtype: str = ""
    is_collective: bool = True


class Contributions(list[Any]):
    """What all ranks put into a collective, in their order. Each rank asks for the same sum of it."""

    def __init__(self, values: Sequence[object]) -> None:
        """Nothing is computed yet.

        Args:
            values: One of each rank.
        """
        super().__init__(values)
        self._results: dict[str, Any] = {}

    def compute_once(self, op: str, compute: Callable[[], Any]) -> Any:
        """The result of a reduction, which the first rank that asks computes.

        Args:
            op: The reduction.
            compute: Computes it.

        Returns:
            The result, which no rank may change.
        """
        if op not in self._results:
            self._results[op] = compute()
        return self._results[op]


class Rank:
    """A rank, or a thread of a program that makes its own, and its generator."""

    def __init__(self, number: int, task: Task) -> None:
        """A rank that has not started.

        Args:
            number: 0 to the number of ranks - 1.
            task: The rank's generator: it yields calls that block.
        """
        self.number, self.task = number, task
        self.context = contextvars.copy_context()  # what is set for one rank, such as whether gradients are recorded
        self.wait: PostedCall | None = None
        self.end = PostedCall(number, "join", 0, (number,))  # complete when the rank has ended
        self.result: object = None
        self.error: BaseException | None = None
        self.error_line = 0
        self.has_ended = False
        self.is_daemon = False  # a thread that ends with the others
        self.polls = 0

    def list_frames(self, codes: frozenset[types.CodeType]) -> list[StackFrame]:
        """The functions of the program that a suspended rank is in, outermost first.

        Args:
            codes: Code objects of the program's functions; frames of the engine's own are left out.
        """
        frames: list[StackFrame] = []
        # A suspended generator has no Python stack: each hangs at the one that it waits for with `yield from`.
        task: object = self.task
        while task is not None:
            frame = getattr(task, "gi_frame", None)
            if frame is not None and frame.f_code in codes:
                frames.append(StackFrame(frame.f_code.co_name, frame.f_lineno))
            task = getattr(task, "gi_yieldfrom", None)
        return frames


class SharedQueue(Protocol):
    """A queue from which whoever waits takes what came first."""

    def serve(self) -> bool:
        """Give one item to one that waits; False where nobody does, or there is no item."""


class Engine:
    """The ranks of one run, their messages and collectives.

    Args:
        ranks: how many ranks there are.
        mode: how open choices are made.
        codes: the code objects of the program, for lines.
        keeps: what to keep of the run: what the ranks do, for `list_events`, what messages hold, or neither.
    """

    def __init__(self, ranks: int, mode: RunMode, codes: frozenset[types.CodeType], keeps: Kept = "events") -> None:
        self.size, self.mode, self.codes, self.keeps = ranks, mode, codes, keeps
        self.ranks: list[Rank] = []
        self.current: Rank | None = None
        self.sends: list[MessagePost] = []
        self._runnable: deque[Rank] = deque()
        self._unexpected: dict[int, list[MessagePost]] = {}
        self._posted: dict[int, list[MessagePost]] = {}
        self._collectives: dict[Hashable, dict[int, list[CollectivePost]]] = {}
        self._groups: dict[Hashable, list[tuple[PostedCall, tuple[int, ...]]]] = {}
        # Each is for several operations, one of which is chosen when no rank can go on.
        self._waits_for_any: list[PostedCall] = []
        self._posts = 0
        self.nbytes = 0
        self.stopped: StoppedRank | None = None
        self.uses: dict[SharedUse, set[int]] = {}  # of shared objects, with the threads that made them
        self.holders: dict[int, list[int]] = {}  # the threads that hold a lock, by the number of the lock
        self._shared_objects = 0
        self._calls = self._looks = 0
        self._exhaust: list[Callable[[], None]] = []  # of the step counters
        self.queues: list[SharedQueue] = []  # whose items come in an order that depends on timing
        self.options: list[int] = []  # how many sources there were at each choice
        self.groups: dict[Hashable, tuple[int, ...]] = {}  # members of communicators that had a collective
        self.time = 0.0  # s, which passes only where nothing else can happen, up to the deadline of a wait
        self._has_changed_buffer = False  # of a send, between its call and its receive
        self.step = 0  # how often a rank began to run; -1 when the run is over
        self.faults: dict[SilentFault, None] = {}  # each once
        self._events: list[tuple[PostedCall, EventKind, int] | RankEvent] = []
        self._positions: dict[int, int] = {}  # of what was posted, among the events

    # ---- ranks

    def start(self, task: Task, number: int | None = None) -> Rank:
        """Add a rank; it runs when it is its turn.

        Args:
            task: its generator.
            number: its number; the next one if not given.

        Returns:
            The rank.
        """
        if number is None:
            number = sum(rank.number >= 0 for rank in self.ranks)
        rank = Rank(number, task)
        self.ranks.append(rank)
        if len(self.ranks) > MAX_THREADS:
            self.stop("threads")
        self._runnable.append(rank)
        return rank

    def run(self) -> None:
        """Let ranks take turns until all have ended, none can go on, or one is stopped."""
        idle_polls = 0
        while self.stopped is None and (self._runnable or self._decide()):
            rank = self._runnable.popleft()
            polls = rank.polls
            self.step += 1
            self._step(rank)
            idle_polls += 1
            if rank.polls <= polls:
                idle_polls = 0
            # All that run have polled in vain once around: only a choice that depends on timing can bring them on.
            if self.stopped is None and idle_polls > len(self._runnable) and self._decide():
                idle_polls = 0
            if self.step > MAX_ENGINE_STEPS and self.stopped is None:
                self.stopped = StoppedRank(rank.number, self._find_line(rank), "turns")
        self.step = -1

    def _step(self, rank: Rank) -> None:
        """Run a rank until it waits, yields its turn or ends."""
        self.current, rank.wait = rank, None
        try:
            while True:
                operation = rank.context.run(rank.task.send, None)
                if operation is None:  # a poll: others run first
                    rank.polls += 1
                    if rank.polls > MAX_POLLS:
                        rank.wait = PostedCall(rank.number, "polling", self._find_line(rank))
                        return
                    self._runnable.append(rank)
                    return
                # Calls that are no events (joining a thread) have no position.
                if id(operation) in self._positions:
                    self._note(operation, "wait", self._find_line(rank))
                # A call that is complete already does not suspend: the loop sends its rank on at once.
                if not operation.settle():
                    rank.wait = operation
                    operation.waiting.append(rank)
                    if operation.alternatives:
                        self._waits_for_any.append(operation)
                    return
        except StopIteration as end:
            rank.result, rank.has_ended = end.value, True
        except Stop as stop:
            if self.stopped is None:  # a signal raised it
                self.stopped = StoppedRank(rank.number, self._find_error_line(stop), "time")
        except BaseException as error:
            # An exception that is no `Exception` may be the program's own; one of collsim ends the whole run.
            if not isinstance(error, Exception) and type(error).__module__.startswith(_PACKAGE):
                raise
            rank.error, rank.has_ended = error, True
            rank.error_line = self._find_error_line(error)
        if rank.has_ended:
            for post in itertools.chain.from_iterable(self._unexpected.values()):
                if post.rank == rank.number and post.needs_handle:  # its process is gone
                    self.note_dropped(post, self.step)
            self.complete(rank.end, rank.result)

    def _find_line(self, rank: Rank) -> int:
        """The line of the innermost function of the program that a suspended rank is in."""
        line = 0
        task: Any = rank.task
        while isinstance(task, types.GeneratorType):
            frame = task.gi_frame
            if frame is not None and frame.f_code in self.codes:
                line = frame.f_lineno
            task = task.gi_yieldfrom
        return line

    def _find_error_line(self, error: BaseException) -> int:
        """The innermost line of the program in a traceback."""
        # Lines of libraries and of the engine are below those of the program; the program's last one is what is shown.
        line = 0
        for frame, number in walk_tb(error.__traceback__):
            if frame.f_code in self.codes:
                line = number
        if not line and error.__cause__ is not None:  # Python makes a RuntimeError of a StopIteration
            return self._find_error_line(error.__cause__)
        return line

    def line_of_call(self) -> int:
        """The line of the program that is running."""
        frame: types.FrameType | None = sys._getframe(1)
        while frame is not None:
            if frame.f_code in self.codes:
                return frame.f_lineno
            frame = frame.f_back
        return 0

    def make_step_counter(self) -> Callable[[int], bool]:
        """A function that counts the steps of one process of the program, and stops the run after `MAX_STEPS`."""
        left = MAX_STEPS

        def count_steps(steps: int) -> bool:
            nonlocal left
            left -= steps
            if left < 0:
                self.stop("steps")
            return True

        def exhaust() -> None:
            nonlocal left
            left = -1

        self._exhaust.append(exhaust)
        return count_steps

    def count_call(self) -> None:
        """Count a call of a library; the run is stopped after `MAX_CALLS`."""
        self._calls += 1
        if self._calls > MAX_CALLS:
            self.stop("calls")

    def stop(self, limit: Limit) -> NoReturn:
        """Stop the run: a limit is reached.

        Args:
            limit: Which one.

        Raises:
            Stop: Always.
        """
        if self.stopped is None:
            assert self.current is not None
            self.stopped = StoppedRank(self.current.number, self.line_of_call(), limit)
            for exhaust in self._exhaust:  # a program may catch it: its loops and functions raise it again
                exhaust()
        raise Stop

    def complete(self, operation: PostedCall, result: object = None) -> None:
        """Mark an operation as done and let its waiting ranks run.

        Args:
            operation: what is done.
            result: what its `wait` returns.
        """
        if operation.is_complete:
            return
        operation.is_complete = True
        if result is not None:
            operation.result = result
        for rank in operation.waiting:
            if rank.wait is operation:
                rank.wait, rank.polls = None, 0
                self._runnable.append(rank)
        operation.waiting.clear()

    # ---- what threads share

    def number_shared_object(self) -> int:
        """The number of a new queue, lock, event or barrier."""
        self._shared_objects += 1
        return self._shared_objects - 1

    def note_use(self, use: SharedUse) -> None:
        """Note that the running thread uses a shared object.

        Args:
            use: What it does with it.
        """
        if self.current is not None:
            self.uses.setdefault(use, set()).add(self.current.number)

    # ---- faults that a library does not notice

    def note_fault(self, kind: FaultKind, post: PostedCall, detail: str = "") -> None:
        """Note a fault, once for each line of a rank.

        Args:
            kind: Which fault.
            post: The call.
            detail: What tells it from calls of other ranks.
        """
        self.faults[SilentFault(kind, post.rank, post.call, post.line, detail)] = None

    def note_dropped(self, post: PostedCall, step: int) -> None:
        """Note that a rank keeps a message no longer for which it has not waited, unless that has certainly arrived.

        Args:
            post: The message.
            step: When it was posted. What came in the same step may come later in another run.
        """
        if self.step >= 0 and (step == self.step or not post.is_complete):
            self.note_fault("dropped", post)

    # ---- messages

    def post_send(self, post: MessagePost) -> MessagePost:
        """Post a send; an eager one is complete at once.

        Args:
            post: source, target, tag, communicator and buffer or payload.

        Returns:
            The same post.

        Raises:
            Stop: for more messages or bytes than one run may have.
        """
        self.sends.append(post)
        self._number(post)
        self._note(post, "send", post.line)
        self.nbytes += post.nbytes
        if len(self.sends) > MAX_MESSAGES or self.nbytes > MAX_BYTES:
            self.stop("messages")
        # An eager sender may change its buffer at once, so the bytes are copied now; late ones are read in a wait.
        is_eager = self._is_eager(post)
        if post.buffer is not None and (is_eager or not self.mode.is_late):
            if not is_eager:
                post.source_buffer = post.buffer
            post.buffer, post.is_buffered = post.buffer.copy(), True
        # The first that fits, in the order of the posts: messages of one source and tag do not overtake (MPI 4.1, 3.5).
        # Receives from any source are left out: which message they take is decided when no rank can go on.
        for receive in self._posted.get(post.target, ()):
            if not receive.is_any and _fits(post, receive):
                self._posted[post.target].remove(receive)
                self._match(post, receive)
                break
        else:
            self._unexpected.setdefault(post.target, []).append(post)
        if is_eager:
            self.complete(post)
        return post

    def post_receive(self, post: MessagePost) -> MessagePost:
        """Post a receive; one from any source is matched when no rank can go on otherwise.

        Args:
            post: source, target, tag, communicator and buffer.

        Returns:
            The same post.
        """
        self._number(post)
        self._note(post, "receive", post.line)
        if not post.is_any:
            for send in self._unexpected.get(post.target, ()):
                if _fits(send, post):
                    self._unexpected[post.target].remove(send)
                    self._match(send, post)
                    return post
        self._posted.setdefault(post.target, []).append(post)
        return post

    def _is_eager(self, post: MessagePost) -> bool:
        """Whether a send is complete without its receive."""
        return post.nbytes <= self.mode.eager_limit and not post.is_synchronous

    def _number(self, post: MessagePost) -> None:
        self.count_call()
        post.position, post.dtype = self._posts, describe_dtype(post.buffer)
        self._posts += 1

    def find_message(self, target: int, source: int, tag: int, communicator: Hashable) -> MessagePost | None:
        """The first message that a receive would take now: what a probe sees.

        Args:
            target: the receiver.
            source: the sender, or `ANY`.
            tag: the tag, or `ANY`.
            communicator: the communicator.

        Returns:
            The send, or None.
        """
        probe = MessagePost(target, "probe", 0, source=source, target=target, tag=tag, communicator=communicator)
        return next((p for p in self._unexpected.get(target, []) if _fits(p, probe)), None)

    def _match(self, send: MessagePost, receive: MessagePost) -> None:
        send.match, receive.match = receive, send
        if not self.mode.is_late or send.buffer is None or receive.buffer is None:
            self._move(send, receive)
            return
        # The sender's buffer may be read until the sender waits, the receiver's may be filled until the receiver does.
        send.on_wait, receive.on_wait = lambda: self._take(send), lambda: self._move(send, receive)
        if send.waiting:
            self._take(send)
        if receive.waiting:
            self._move(send, receive)

    def _take(self, send: MessagePost) -> None:
        """Read the bytes of a send that its sender waits for; its receive gets them when that is waited for."""
        if send.buffer is not None and not send.is_buffered:
            send.buffer, send.is_buffered = send.buffer.copy(), True
        self.complete(send)

    def _move(self, send: MessagePost, receive: MessagePost) -> None:
        """Copy the bytes of a message into the receiver's buffer."""
        if send.is_moved:
            return
        send.is_moved = True
        # A size of -1 says that the receiver takes any.
        if send.nbytes > receive.nbytes >= 0:
            self._fail(receive, send)
            return
        if (send.buffer is None) != (receive.buffer is None):
            self._fail_mixed(receive, send)
            return
        if receive.buffer is not None and send.buffer is not None:
            if send.source_buffer is not None and send.source_buffer.tobytes() != send.buffer.tobytes():
                self._has_changed_buffer = True
            send.source_buffer = None
            copy_bytes(send.buffer, receive.buffer)
        if send.is_buffered and self.keeps != "payloads":
            send.buffer = None  # a copy that nobody reads again: 20,000 messages would keep 1 GiB of them
        receive.payload, receive.source, receive.tag = send.payload, send.source, send.tag
        self.complete(receive)
        self.complete(send)

    def _fail(self, receive: MessagePost, send: MessagePost) -> None:
        """A message is longer than the buffer: the receiver's call ends in an error."""
        message = (
            f"message truncated: rank {send.source} sent {send.nbytes:,} bytes (line {send.line}), "
            f"the buffer has {receive.nbytes:,}"
        )
        receive.error = RuntimeError(message)
        self.complete(receive)
        self.complete(send)

    def _fail_mixed(self, receive: MessagePost, send: MessagePost) -> None:
        """One end sends or takes an object, as its pickle, the other one a buffer: neither can read it."""
        sent, taken = ("an object", "a buffer") if send.buffer is None else ("a buffer", "an object")
        receive.error = RuntimeError(
            f"{receive.call} takes {taken}, and rank {send.source} sent {sent} with {send.call} (line {send.line}); "
            "use both words in lower case or both in upper case"
        )
        self.complete(receive)
        self.complete(send)

    # ---- collectives and groups

    def post_collective(self, post: CollectivePost, members: Sequence[int]) -> CollectivePost:
        """Post a rank's call of a collective; it completes when all members have called the same.

        Args:
            post: the call.
            members: the ranks of the communicator.

        Returns:
            The same post.
        """
        self.count_call()
        calls = self._collectives.setdefault(post.communicator, {rank: [] for rank in members})
        post.nbytes, post.dtype = count_bytes(post.value), describe_dtype(post.value)
        calls[post.rank].append(post)
        self.groups.setdefault(post.communicator, tuple(members))
        self._note(post, "collective", post.line)
        position = len(calls[post.rank]) - 1
        # Collectives match by their order: the k-th call of each member belongs together, whatever it is.
        round_of_calls = [calls[rank][position] for rank in members if len(calls[rank]) > position]
        for call in round_of_calls:
            # Whoever called something else is waited for, although it came: it will never make this call in this round.
            agreeing = {other.rank for other in round_of_calls if other.signature == call.signature}
            call.peers = tuple(rank for rank in members if rank not in agreeing)
        if len(round_of_calls) == len(members) and not post.peers:
            _set_errors(round_of_calls)
            for call in round_of_calls:
                if call.unchecked != post.unchecked:
                    self.note_fault("mismatch", call, call.unchecked)
                    self.note_fault("mismatch", post, post.unchecked)
            values = Contributions([call.value for call in round_of_calls])
            for call in round_of_calls:
                self.complete(call, values)
        return post

    def post_group(self, post: PostedCall, name: Hashable, members: tuple[int, ...]) -> PostedCall:
        """Post a rank's call that makes a group; its members have to agree who they are.

        Args:
            post: the call.
            name: the name under which the members meet.
            members: the ranks of the group as this rank sees them.

        Returns:
            The same post.
        """
        self.count_call()
        self._groups.setdefault(name, []).append((post, members))
        return post

    # ---- what depends on timing

    def _decide(self) -> bool:
        """Make one choice that depends on timing; False where there is none to make."""
        if self._form_group():
            return True
        # What ends first, a receive from any source or a wait for any call, decides what the other may choose from.
        services = [self._serve_any, self._end_wait_for_any]
        if self._can_serve_any() and self._can_end_wait_for_any() and self.choose((0, 1)):
            services.reverse()
        if any(serve() for serve in services) or any(queue.serve() for queue in self.queues):
            return True
        return self._expire_wait() or (self.mode.looks_ahead and self._end_shared_wait())

    def _expire_wait(self) -> bool:
        """End the wait with the first deadline, as nothing else can happen; False where there is none."""
        deadlines = [
            (rank.wait.deadline, position)
            for position, rank in enumerate(self.ranks)
            if rank.wait is not None and rank.wait.deadline is not None and rank.polls < MAX_POLLS
        ]
        if not deadlines:
            return False
        self.time, position = min(deadlines)
        rank = self.ranks[position]
        wait, polls = rank.wait, rank.polls
        assert wait is not None
        wait.has_expired = True
        if wait.alternatives:
            self._waits_for_any.remove(wait)
        self.complete(wait)
        rank.polls = polls + 1  # a loop that tries again and again is no progress
        self._runnable.rotate(1)  # it runs next, before others can complete what it no longer waits for
        return True

    def _end_shared_wait(self) -> bool:
        """End the wait of the first thread that waits for a shared object, with an item that can be anything."""
        for rank in self.ranks:
            if rank.wait is not None and rank.wait.needs is not None:
                self._looks += 1
                self.complete(rank.wait, (Anything(),))
                return self._looks < _MAX_LOOKS
        return False

    def _form_group(self) -> bool:
        for name, calls in list(self._groups.items()):
            views = {members for _, members in calls}
            posts = {post.rank: post for post, _ in calls}
            for post, members in calls:
                others = [rank for rank in members if rank not in posts]
                differing = [other.rank for other, view in calls if view != members]
                # Members that have not called yet are waited for first; once all have, those who see another group.
                post.peers = tuple(dict.fromkeys(others or differing))
            if len(views) == 1 and set(posts) >= set(next(iter(views))):
                del self._groups[name]
                for post in posts.values():
                    self.complete(post)
                return True
        return False

    def _can_serve_any(self) -> bool:
        return any(
            receive.is_any and any(_fits(send, receive) for send in self._unexpected.get(target, ()))
            for target, receives in self._posted.items()
            for receive in receives
        )

    def _can_end_wait_for_any(self) -> bool:
        return any(_list_ended(wait) for wait in self._waits_for_any)

    def _end_wait_for_any(self) -> bool:
        """End one wait for any of several operations: with each of those that have ended alone, or with all of them."""
        for wait in self._waits_for_any:
            if not (ended := _list_ended(wait)):
                continue
            variants: list[tuple[int, ...]] = [(position,) for position in ended]
            if wait.takes_several and len(ended) > 1:
                variants.insert(0, tuple(ended))
            chosen = variants[self.choose(range(len(variants)))]
            self._waits_for_any.remove(wait)
            for position in chosen:
                wait.alternatives[position].settle()
            self.complete(wait, chosen)
            return True
        return False

    def _serve_any(self) -> bool:
        """Let one receive from any source take its message: of the lowest or highest source that has sent."""
        for target in sorted(self._posted):
            for receive in self._posted[target]:
                if not receive.is_any:
                    continue
                sends = [p for p in self._unexpected.get(target, []) if _fits(p, receive)]
                if not sends:
                    continue
                # A choice is between sources and not between messages, since those of one source keep their order.
                source = self.choose(sorted({p.source for p in sends}))
                send = next(p for p in sends if p.source == source)
                self._posted[target].remove(receive)
                self._unexpected[target].remove(send)
                self._match(send, receive)
                # The receive may have been posted without anybody waiting for it yet (irecv): then the next choice is
                # made.
                return bool(self._runnable) or self._serve_any()
        return False

    def choose(self, sources: Sequence[int]) -> int:
        """The source that a receive from any source takes, or the number of another choice that timing makes.

        Args:
            sources: Those that have sent, from the lowest on, or all numbers.
        """
        if len(sources) == 1:
            return sources[0]
        # `options` tells the caller what it could have chosen, so that it can run the other choices, one after another.
        number = len(self.options)
        self.options.append(len(sources))
        if number < len(self.mode.choices):
            # "All choices otherwise" is a guess from another run, which may have had more to choose from here.
            return sources[min(self.mode.choices[number], len(sources) - 1)]
        return sources[0]

    # ---- what came of it

    def _note(self, operation: PostedCall, kind: EventKind, line: int) -> None:
        """Note what a rank does; `list_events` makes events of it, as much is not known before the end."""
        if self.keeps != "events":
            return
        if kind != "wait":
            self._positions[id(operation)] = len(self._events)
        self._events.append((operation, kind, line))

    def sleep(self, seconds: float) -> None:
        """Note that the running rank sleeps.

        Args:
            seconds: how long, 0 or more.
        """
        rank = self.current
        if rank is None or not 0 <= rank.number < self.size or self.keeps != "events":  # no rank: a program's thread
            return
        self._events.append(RankEvent(rank.number, "sleep", "sleep", self._find_line(rank), seconds=seconds))

    def depends_on_reads(self) -> bool:
        """Whether the run may end otherwise where bytes are read as late as they may be (`RunMode.is_late`).

        It cannot where no sender's buffer had changed when its message met a receive, and each rank waited for what it
        received in the call itself: then both modes read and fill the same bytes.
        """
        return self._has_changed_buffer or any(
            send.match is not None and send.match.buffer is not None and send.match.call not in _BLOCKING_RECEIVES
            for send in self.sends
        )

    def list_unawaited(self) -> list[tuple[str, int]]:
        """The calls that return at once and for which no rank has waited: their words and lines."""
        receives = [receive for posted in self._posted.values() for receive in posted]
        receives += [send.match for send in self.sends if send.match is not None]
        # A blocking call waits for its own post, so only calls that return at once are left.
        messages = [post for post in (*self.sends, *receives) if not post.is_internal]
        collectives = [call for calls in self._collectives.values() for rank in calls.values() for call in rank]
        unawaited = {(post.call, post.line) for post in (*messages, *collectives) if not post.is_awaited}
        return sorted(unawaited, key=lambda call: call[1])

    def list_events(self) -> Iterator[RankEvent]:
        """What all ranks did, in the order of the execution.

        Yields:
            An event.
        """
        # Events name operations and groups by position, because objects do not travel out of the sandbox.
        groups = {name: position for position, name in enumerate(self.groups)}
        for event in self._events:
            if isinstance(event, RankEvent):
                yield event
                continue
            operation, kind, line = event
            if kind == "wait":
                yield RankEvent(operation.rank, kind, operation.call, line, self._positions[id(operation)])
            elif isinstance(operation, CollectivePost):
                yield RankEvent(
                    operation.rank,
                    kind,
                    operation.call,
                    line,
                    peer=operation.root,
                    nbytes=operation.nbytes,
                    dtype=operation.dtype,
                    group=groups[operation.communicator],
                    is_complete=operation.is_complete and operation.error is None,
                )
            elif isinstance(operation, MessagePost):
                yield self._build_message_event(operation, kind, line)

    def _build_message_event(self, post: MessagePost, kind: EventKind, line: int) -> RankEvent:
        """The event of a send or a receive with its other end."""
        other, peer = -1, post.source
        if post.match is not None:
            other = self._positions[id(post.match)]
        if kind == "send":
            peer = post.target
        is_eager = kind == "send" and self._is_eager(post)
        return RankEvent(
            post.rank,
            kind,
            post.call,
            line,
            other,
            peer,
            post.tag,
            max(post.nbytes, 0),
            post.dtype,
            is_eager=is_eager,
            is_internal=post.is_internal,
            is_complete=post.is_complete and post.error is None,
        )

    def list_messages(self) -> Iterator[Message]:
        """The messages of the run in the order of their sends.

        Yields:
            A message; one that nobody received has no line at its end.
        """
        for send in self.sends:
            if send.is_internal:
                continue
            matched = recv_line = None
            if send.match is not None:
                matched, recv_line = send.match.position, send.match.line
            posted = send.position
            yield Message(send.source, send.target, send.tag, send.nbytes, posted, matched, send.line, recv_line)

    def release(self) -> None:
        """Let go of results and of what messages hold: ranks, their modules and both ends of a message refer to one
        another, and would keep these arrays in memory until the garbage collector runs."""
        for rank in self.ranks:
            rank.result = rank.end.result = None
        for send in self.sends:
            if send.match is not None:
                send.match.match = send.match.on_wait = None
            send.match = send.on_wait = None
        for posts in (self.sends, self._posted, self._unexpected, self._collectives, self._events):
            posts.clear()


class ConnectionClosed(RuntimeError):
    """What a rank gets whose partner has ended in an error of its own."""


def _set_errors(calls: Sequence[CollectivePost]) -> None:
    """Where sizes or types of a collective differ, libraries end: gloo and MPICH on the rank whose buffer is too small.

    Args:
        calls: one of each member.
    """
    largest = max(calls, key=lambda call: call.extent)
    if largest.call == "broadcast":  # of torch: what is longer than the root's message stays as it is
        sender = calls[largest.root]
        calls = [call for call in calls if call.extent <= sender.extent or call is sender]
        largest = sender
    if all(call.extent == largest.extent for call in calls):
        return
    for call in calls:
        if call.extent < largest.extent:
            call.error = RuntimeError(
                f"{call.call} of {call.extent:,} bytes ({call.unchecked}) does not match that of rank {largest.rank}: "
                f"{largest.extent:,} bytes ({largest.unchecked}, line {largest.line})"
            )
        else:
            call.error = ConnectionClosed(f"{call.call}: connection closed by a rank whose buffer does not match")


def require_tag(tag: object) -> int:
    """Refuse a tag that no library takes.

    Args:
        tag: of a message.

    Returns:
        The tag.

    Raises:
        TypeError: it is no whole number.
        ValueError: it is not from 0 to 2,147,483,647, or `ANY`.
    """
    if type(tag) is not int and (isinstance(tag, bool) or not isinstance(tag, int | np.integer)):
        raise TypeError(f"tag={tag!r} is no whole number")
    if not ANY <= tag < 2**31:
        raise ValueError(f"tag={tag} is not from 0 to {2**31 - 1:,}")
    return int(tag)


def describe_dtype(value: object) -> str:
    """The element type of an array.

    Args:
        value: an array, a list of arrays, or anything else.

    Returns:
        Its name, such as `float32`; empty for what is no array.
    """
    if isinstance(value, list) and value:
        value = value[0]
    if isinstance(value, np.ndarray):
        return _name_dtype(value.dtype)
    return ""


@functools.cache
def _name_dtype(dtype: np.dtype) -> str:
    return str(dtype.name)  # numpy puts the name together anew each time


def count_bytes(value: object) -> int:
    """The bytes that a rank puts into a collective.

    Args:
        value: an array, a list of arrays, or an object, which travels as its pickle.

    Returns:
        Their number; 0 for None.
    """
    if value is None:
        return 0
    if isinstance(value, np.ndarray):
        return value.nbytes
    if isinstance(value, list) and value and all(isinstance(part, np.ndarray) for part in value):
        return sum(part.nbytes for part in value)
    return copy_object(value)[1]


def _list_ended(wait: PostedCall) -> list[int]:
    """The positions of the alternatives that have ended, or whose bytes only have to be moved."""
    return [k for k, waited in enumerate(wait.alternatives) if waited.is_complete or waited.on_wait is not None]


def _fits(send: MessagePost, receive: MessagePost) -> bool:
    """Whether a receive may take a message."""
    return (
        (receive.source == send.source or receive.source == ANY)
        and (receive.tag == send.tag or receive.tag == ANY)
        and send.communicator == receive.communicator
    )


def copy_bytes(source: np.ndarray, target: np.ndarray) -> None:
    """Copy an array into another as a network does: bytes in order, whatever their types and shapes.

    Args:
        source: What is sent.
        target: What is filled; it has at least as many bytes.
    """
    target = np.asarray(target)  # a network records no gradients
    if source.dtype == target.dtype and source.shape == target.shape:
        target[...] = source
        return
    data = np.frombuffer(np.ascontiguousarray(source).tobytes(), np.uint8)
    # Bytes beyond a shorter message keep what they were.
    content = np.frombuffer(bytearray(np.ascontiguousarray(target).tobytes()), np.uint8).copy()
    content[: data.size] = data
    target[...] = np.frombuffer(content.tobytes(), target.dtype).reshape(target.shape)
