"""The process of one rank: told over stdin what to do, it answers over stdout. Both ends are ours, so pickle is safe.

It is told a `RankTask`, answers with its port, is told the ports of the others, and says when it is connected.
Then it runs whenever it is told to, from a moment on, says when it has ended, and, told that all have, answers with an
`RankOutcome`. When its stdin ends, its parent
has gone or wants no more of it, and it goes at once, whatever it is doing.
"""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, BinaryIO, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from ...dtypes import Longs
from ...errors import CollsimError
from .emulated_network import ImitatedNetwork
from .endpoint_program import RankProgram
from .exchange import Exchange, Moments
from .library_transport import Carrier, Gloo, MessageExchange, OwnAllreduce
from .nic import RankNic
from .wire import PeerWire, accept_ranks, connect_rank, open_listener

#: So long a rank waits for those that are to call it; they may still be importing numpy.
CONNECT_SECONDS = 30.0
Run = Exchange | MessageExchange | OwnAllreduce


class PreparedRun(NamedTuple):
    """One run that is ready to start.

    Attributes:
        run: Runs from a moment on.
        compare: Judges what became of it, when all ranks have ended.
    """

    run: Callable[[float], Any]
    compare: Callable[[Any], Any]


Prepare = Callable[[Any, dict[int, int], Any], Callable[[], PreparedRun]]


@dataclass(frozen=True)
class RankTask:
    """All that a rank has to know.

    Attributes:
        program: its sends and receives.
        network: what is imitated.
        token: secret by which the processes of a run recognize each other.
        values: (slots, elements) what its slots hold at the start, repeated as often as the slot is long.
        sizes: (slots,) elements of each slot.
        combine: name of numpy's operator.
        expected: slots that must hold these values, repeated alike, at the end; with `give` they are handed back.
        give: hand the slots of `expected` back.
        on: what carries it: `here`, `gloo` or `mpi`.
        use_library_allreduce: run the library's own allreduce in place of the program.
        count: how many ranks there are.
    """

    program: RankProgram
    network: ImitatedNetwork
    token: bytes
    values: npt.NDArray[np.generic]
    sizes: Longs
    combine: str
    expected: dict[int, npt.NDArray[np.generic]]
    give: bool = False
    on: str = "here"
    use_library_allreduce: bool = False
    count: int = 0
    module: ClassVar[str] = "rank_process"

    @property
    def endpoint(self) -> int:
        """Its number."""
        return self.program.endpoint


class RankOutcome(NamedTuple):
    """What became of a run at one endpoint.

    Attributes:
        moments: when its transfers took place.
        checked: elements that were compared.
        wrong: how many of them are not what they must be.
        slots: slot -> its elements at the end, if they are wanted; else empty.
    """

    moments: Moments
    checked: int
    wrong: int
    slots: dict[int, npt.NDArray[Any]]


def fill_slots(task: RankTask) -> list[npt.NDArray[Any]]:
    """The slots as they are before the first step."""
    return [np.resize(values, size) for values, size in zip(task.values, task.sizes.tolist(), strict=True)]


def compare_slots(task: RankTask, slots: list[npt.NDArray[Any]], moments: Moments) -> RankOutcome:
    """Compare what came out with what must come out, bit for bit."""
    wrong = sum(
        _count_differing(np.resize(want, len(slots[slot])), slots[slot]) for slot, want in task.expected.items()
    )
    checked = sum(len(slots[slot]) for slot in task.expected)
    return RankOutcome(moments, checked, wrong, {slot: slots[slot] for slot in task.expected} if task.give else {})


def _count_differing(want: npt.NDArray[np.generic], got: npt.NDArray[np.generic]) -> int:
    """Elements that differ in any bit."""
    bits = (array.view(np.uint8).reshape(len(array), array.itemsize) for array in (want, got))
    return int(np.any(next(bits) != next(bits), axis=1).sum())


def connect_peers(
    me: int, peers: set[int], ports: dict[int, int], listening: Any, token: bytes, network: ImitatedNetwork
) -> dict[int, PeerWire]:
    """Connect with all peers: the lower number calls.

    Args:
        me: Endpoint of this process.
        peers: Endpoints that it exchanges data with.
        ports: On which each endpoint listens.
        listening: This process's own socket; closed afterwards.
        token: Of the run, which all of its processes know.
        network: Says how much a socket buffers.
    """
    buffer = network.find_buffer_bytes(me)
    socks = {peer: connect_rank(ports[peer], me, token, buffer) for peer in sorted(peers) if peer > me}
    socks |= accept_ranks(listening, {peer for peer in peers if peer < me}, token, CONNECT_SECONDS, buffer)
    listening.close()
    return {peer: PeerWire(peer, sock) for peer, sock in socks.items()}


def main() -> None:
    """Serve runs of a schedule until stdin ends."""
    serve(_prepare)


def serve(prepare: Prepare) -> None:
    """Be told a task, connect, and run it whenever told to, until stdin ends.

    Args:
        prepare: Builds what is run from a task and its connections.
    """
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not stand between the answers
    gc.disable()  # its pauses would be measured, and nothing here goes round in circles
    messages: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(requests, messages), daemon=True).start()
    try:
        _serve_runs(messages, answers, prepare)
    except CollsimError as error:
        _answer(answers, ("failed", error))
    except MemoryError:
        _answer(answers, ("failed", CollsimError("a rank has not enough memory; use fewer bytes or ranks")))


def _listen(requests: BinaryIO, messages: queue.SimpleQueue[object]) -> None:
    with contextlib.suppress(EOFError, OSError, pickle.UnpicklingError):
        while True:
            messages.put(pickle.load(requests))
    os._exit(0)  # nobody is there any more who could want the rest


def _answer(answers: BinaryIO, message: tuple[str, object]) -> None:
    pickle.dump(message, answers, pickle.HIGHEST_PROTOCOL)
    answers.flush()


def _serve_runs(messages: queue.SimpleQueue[Any], answers: BinaryIO, prepare: Prepare) -> None:
    task = messages.get()
    listening = open_listener(task.network.find_buffer_bytes(task.endpoint))
    port = listening.getsockname()[1]
    _answer(answers, ("port", port))
    ports: dict[int, int] = messages.get()
    prepared = prepare(task, ports, listening)
    _answer(answers, ("connected", None))
    while True:
        start = messages.get()
        once = prepared()
        moments = once.run(start)
        _answer(answers, ("ran", None))
        messages.get()  # until all have ended: comparing takes a processor from those that still run
        _answer(answers, ("done", once.compare(moments)))


def _prepare(task: RankTask, ports: dict[int, int], listening: Any) -> Callable[[], PreparedRun]:
    """Connected with the others; what makes a run."""
    carried = _choose_carrier(task, ports, listening)

    def prepare_run() -> PreparedRun:
        slots = fill_slots(task)
        return PreparedRun(carried(slots).run, lambda moments: compare_slots(task, slots, moments))

    return prepare_run


def _choose_carrier(task: RankTask, ports: dict[int, int], listening: Any) -> Callable[[list[npt.NDArray[Any]]], Run]:
    """What makes a run of the slots."""
    combine = getattr(np, task.combine)
    if task.on == "gloo":
        listening.close()
        return partial(build_message_run, task, Gloo(task.program.endpoint, task.count, ports[0]))
    wires = connect_peers(task.program.endpoint, task.program.peers, ports, listening, task.token, task.network)
    return lambda slots: Exchange(task.program, slots, RankNic(task.program.endpoint, wires, task.network), combine)


def build_message_run(task: RankTask, carrier: Carrier, slots: list[npt.NDArray[np.generic]]) -> Run:
    """A run over a library's messages, or of its own allreduce."""
    if task.use_library_allreduce:
        return OwnAllreduce(slots, carrier)
    return MessageExchange(task.program, slots, carrier, getattr(np, task.combine))
