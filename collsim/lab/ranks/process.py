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

from ...errors import CollsimError
from .exchange import Exchange, Moments
from .messages import Carrier, Gloo, MessageExchange, OwnAllreduce
from .network import ImitatedNetwork
from .nic import RankNic
from .program import RankProgram
from .wire import PeerWire, accepted, connected, listener

CONNECT_SECONDS = 30.0
Run = Exchange | MessageExchange | OwnAllreduce


class Once(NamedTuple):
    """One run that is ready to start: from a moment on, and what became of it, judged when all have ended."""

    run: Callable[[float], Any]
    judged: Callable[[Any], Any]


Prepare = Callable[[Any, dict[int, int], Any], Callable[[], Once]]


@dataclass(frozen=True)
class RankTask:
    """All that a rank has to know.

    Attributes:
        values: (slots, elements) what its slots hold at the start, repeated as often as the slot is long.
        sizes: (slots,) elements of each slot.
        combine: name of numpy's operator.
        on: what carries it: `here`, `gloo` or `mpi`.
        own: run the library's own allreduce in place of the program.
        count: how many ranks there are.
        expected: slots that must hold these values, repeated alike, at the end; with `give` they are handed back.
    """

    program: RankProgram
    network: ImitatedNetwork
    token: bytes
    values: npt.NDArray[Any]
    sizes: npt.NDArray[np.int64]
    combine: str
    expected: dict[int, npt.NDArray[Any]]
    give: bool = False
    on: str = "here"
    own: bool = False
    count: int = 0
    module: ClassVar[str] = "process"

    @property
    def endpoint(self) -> int:
        """Its number."""
        return self.program.endpoint


class RankOutcome(NamedTuple):
    """What became of a run: its moments, elements that were compared, how many of them are not what they must be, and
    the slots if they are wanted."""

    moments: Moments
    checked: int
    wrong: int
    slots: dict[int, npt.NDArray[Any]]


def filled(task: RankTask) -> list[npt.NDArray[Any]]:
    """The slots as they are before the first step."""
    return [np.resize(values, size) for values, size in zip(task.values, task.sizes.tolist(), strict=True)]


def judged(task: RankTask, slots: list[npt.NDArray[Any]], moments: Moments) -> RankOutcome:
    """Compare what came out with what must come out, bit for bit."""
    wrong = sum(_differing(np.resize(want, len(slots[slot])), slots[slot]) for slot, want in task.expected.items())
    checked = sum(len(slots[slot]) for slot in task.expected)
    return RankOutcome(moments, checked, wrong, {slot: slots[slot] for slot in task.expected} if task.give else {})


def _differing(want: npt.NDArray[Any], got: npt.NDArray[Any]) -> int:
    """Elements that differ in any bit."""
    bits = (array.view(np.uint8).reshape(len(array), array.itemsize) for array in (want, got))
    return int(np.any(next(bits) != next(bits), axis=1).sum())


def wired(
    me: int, peers: set[int], ports: dict[int, int], listening: Any, token: bytes, network: ImitatedNetwork
) -> dict[int, PeerWire]:
    """A wire to each peer: the lower number calls."""
    buffer = network.buffer(me)
    socks = {peer: connected(ports[peer], me, token, buffer) for peer in sorted(peers) if peer > me}
    socks |= accepted(listening, {peer for peer in peers if peer < me}, token, CONNECT_SECONDS, buffer)
    listening.close()
    return {peer: PeerWire(peer, sock) for peer, sock in socks.items()}


def main() -> None:
    """Serve runs of a schedule until stdin ends."""
    serve(_prepared)


def serve(prepare: Prepare) -> None:
    """Be told a task, connect, and run it whenever told to, until stdin ends."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not stand between the answers
    gc.disable()  # its pauses would be measured, and nothing here goes round in circles
    told: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(requests, told), daemon=True).start()
    try:
        _serve(told, answers, prepare)
    except CollsimError as error:
        _say(answers, ("failed", error))
    except MemoryError:
        _say(answers, ("failed", CollsimError("a rank has not enough memory; use fewer bytes or ranks")))


def _listen(requests: BinaryIO, told: queue.SimpleQueue[Any]) -> None:
    with contextlib.suppress(EOFError, OSError, pickle.UnpicklingError):
        while True:
            told.put(pickle.load(requests))
    os._exit(0)  # nobody is there any more who could want the rest


def _say(answers: BinaryIO, message: tuple[str, Any]) -> None:
    pickle.dump(message, answers, pickle.HIGHEST_PROTOCOL)
    answers.flush()


def _serve(told: queue.SimpleQueue[Any], answers: BinaryIO, prepare: Prepare) -> None:
    task = told.get()
    listening = listener(task.network.buffer(task.endpoint))
    port = listening.getsockname()[1]
    _say(answers, ("port", port))
    ports: dict[int, int] = told.get()
    prepared = prepare(task, ports, listening)
    _say(answers, ("connected", None))
    while True:
        start = told.get()
        once = prepared()
        moments = once.run(start)
        _say(answers, ("ran", None))
        told.get()  # until all have ended: comparing takes a processor from those that still run
        _say(answers, ("done", once.judged(moments)))


def _prepared(task: RankTask, ports: dict[int, int], listening: Any) -> Callable[[], Once]:
    """Connected with the others; what makes a run."""
    carried = _carried(task, ports, listening)

    def once() -> Once:
        slots = filled(task)
        return Once(carried(slots).run, lambda moments: judged(task, slots, moments))

    return once


def _carried(task: RankTask, ports: dict[int, int], listening: Any) -> Callable[[list[npt.NDArray[Any]]], Run]:
    """What makes a run of the slots."""
    combine = getattr(np, task.combine)
    if task.on == "gloo":
        listening.close()
        return partial(by_messages, task, Gloo(task.program.endpoint, task.count, ports[0]))
    wires = wired(task.program.endpoint, task.program.peers, ports, listening, task.token, task.network)
    return lambda slots: Exchange(task.program, slots, RankNic(task.program.endpoint, wires, task.network), combine)


def by_messages(task: RankTask, carrier: Carrier, slots: list[npt.NDArray[Any]]) -> Run:
    """A run over a library's messages, or of its own allreduce."""
    if task.own:
        return OwnAllreduce(slots, carrier)
    return MessageExchange(task.program, slots, carrier, getattr(np, task.combine))
