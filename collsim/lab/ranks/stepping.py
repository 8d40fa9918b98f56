"""The process of one rank of a training step: computing is a sleep, and collectives are sent over its network card.

Every task begins when those it waits for on this rank have ended: computing and each communicator are streams, as on a
GPU. A collective has ended on a rank when all that it receives is written and all that it sent has arrived. What
other ranks have to do first is known by what comes from them, and by nothing else. Computing goes by its own clock, as
a GPU goes on while the process that gives it work sleeps: it begins when what it waits for has ended, and takes what it
was told to. What is sent waits for the process.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ...dtypes import Floats
from .emulated_network import ImitatedNetwork
from .exchange import Exchange, Moments
from .nic import RankNic, wait_until
from .rank_process import PreparedRun, RankTask, compare_slots, connect_peers, fill_slots, serve
from .wire import PeerWire


class StepMoments(NamedTuple):
    """When the tasks of a step ran on one rank; nan for a task that it takes no part in.

    Attributes:
        begin: (tasks,) s at which each began.
        sent: (tasks,) s at which it sent its first byte; nan where it sends nothing, too.
        end: (tasks,) s at which each had ended.
    """

    begin: Floats
    sent: Floats
    end: Floats


class StepOutcome(NamedTuple):
    """What became of a step on one rank.

    Attributes:
        moments: when its tasks ran.
        checked: elements that were compared.
        wrong: how many of them are not what they must be.
    """

    moments: StepMoments
    checked: int
    wrong: int


class StepBox(NamedTuple):
    """A task of a training step as one rank sees it.

    Attributes:
        task: its number in the step.
        before: boxes of this rank that it waits for, by position.
        seconds: s to sleep, as its computing takes; 0 for collectives.
        collectives: numbers of its collectives in `RankStep.parts`, one behind another.
    """

    task: int
    before: tuple[int, ...]
    seconds: float = 0.0
    collectives: tuple[int, ...] = ()


@dataclass(frozen=True)
class StepPart:
    """What a rank does of one collective.

    Attributes:
        task: its program and data.
        places: (endpoints of the program,) process of each.
        first_row: number that its rows are counted from.
    """

    task: RankTask
    places: tuple[int, ...]
    first_row: int

    @property
    def peers(self) -> set[int]:
        """The processes that it exchanges anything with."""
        return {self.places[peer] for peer in self.task.program.peers}


@dataclass(frozen=True)
class RankStep:
    """All that a rank has to know of a training step.

    Attributes:
        endpoint: number of its process.
        network: what is imitated.
        token: secret by which the processes of a run recognize each other.
        boxes: its tasks.
        parts: what it does of each collective that it takes part in.
        tasks: number of tasks of the whole step.
        on: what carries the messages.
    """

    endpoint: int
    network: ImitatedNetwork
    token: bytes
    boxes: tuple[StepBox, ...]
    parts: tuple[StepPart, ...]
    tasks: int
    on: str = "here"
    module: ClassVar[str] = "stepping"

    @property
    def peers(self) -> set[int]:
        """The ranks that it exchanges anything with."""
        return {peer for part in self.parts for peer in part.peers}


class StepRun:
    """One run of a step on one rank."""

    def __init__(self, task: RankStep, wires: Mapping[int, PeerWire]):
        """Prepare one run of a rank's part of a training step.

        Args:
            task: Its boxes, and the programs of its collectives.
            wires: To each peer, by its number.
        """
        self.task, self.nic = task, RankNic(task.endpoint, wires, task.network)
        self.slots = [fill_slots(part.task) for part in task.parts]
        self.running: list[Callable[[], None]] = [_do_nothing] * len(task.parts)  # what the end of each sets off
        self.exchanges = [self._exchange(number, part) for number, part in enumerate(task.parts)]
        self.waits = [len(box.before) for box in task.boxes]
        self.followers: list[list[int]] = [[] for _ in task.boxes]
        for number, box in enumerate(task.boxes):
            for other in box.before:
                self.followers[other].append(number)
        self.ready = [0.0] * len(task.boxes)  # when what it waits for has ended
        self.begun: deque[int] = deque()
        self.left = len(task.boxes)
        self.moments = StepMoments(*(np.full(task.tasks, np.nan) for _ in range(3)))

    def _exchange(self, number: int, part: StepPart) -> Exchange:
        nic, program = self.nic, part.task.program
        wires = {peer: nic.wires[part.places[peer]] for peer in program.peers}
        combine: np.ufunc = getattr(np, part.task.combine)
        return Exchange(
            program, self.slots[number], nic, combine, wires, part.first_row, lambda: self.running[number]()
        )

    def run(self, start: float) -> StepMoments:
        """Run the boxes in the order in which what they wait for ends.

        Args:
            start: s on the clock of `time.perf_counter`, in the future.
        """
        start += self.task.network.late.get(self.task.endpoint, 0.0)
        wait_until(start)
        for number, waits in enumerate(self.waits):
            if not waits:
                self.ready[number] = start
                self.begun.append(number)
        self._begin()
        self.nic.run(lambda: self.left > 0)
        return self.moments

    def _begin(self) -> None:
        """Begin all that waits for nothing more."""
        while self.begun:
            number = self.begun.popleft()
            box = self.task.boxes[number]
            if box.collectives:
                self.moments.begin[box.task] = time.perf_counter()
                self._communicate(number, box.collectives)
                continue
            begin = self.moments.begin[box.task] = self.ready[number]
            if box.seconds:
                self.nic.call_at(begin + box.seconds, partial(self._slept, number))
            else:
                self._end(number, begin)

    def _slept(self, number: int, moment: float) -> None:
        self._end(number, moment)
        self._begin()

    def _communicate(self, number: int, collectives: tuple[int, ...]) -> None:
        """The first of these, and behind it the others."""
        first, rest = collectives[0], collectives[1:]
        exchange = self.exchanges[first]
        self.running[first] = lambda: self.nic.call_at(exchange.there_at, partial(self._communicated, number, rest))
        exchange.start()

    def _communicated(self, number: int, rest: tuple[int, ...], _: float) -> None:
        """All has come and is written, and what it sent is there."""
        if rest:
            self._communicate(number, rest)
            return
        self._end(number, time.perf_counter())
        self._begin()

    def _end(self, number: int, moment: float) -> None:
        """A box has ended; what waits for nothing else begins."""
        self.left -= 1
        box = self.task.boxes[number]
        self.moments.end[box.task] = moment
        if box.collectives and len(began := self.exchanges[box.collectives[0]].moments.began):
            self.moments.sent[box.task] = began.min()
        for other in self.followers[number]:
            self.waits[other] -= 1
            self.ready[other] = max(self.ready[other], moment)
            if not self.waits[other]:
                self.begun.append(other)

    def compare(self, moments: StepMoments) -> StepOutcome:
        """Compare what came out of every collective with what must come out, bit for bit."""
        outcomes = [
            compare_slots(part.task, slots, Moments.allocate(part.task.program))
            for part, slots in zip(self.task.parts, self.slots, strict=True)
        ]
        return StepOutcome(
            moments, sum(outcome.checked for outcome in outcomes), sum(outcome.wrong for outcome in outcomes)
        )


def _do_nothing() -> None:
    """It has not begun, so it cannot end."""


def main() -> None:
    """Serve runs of a step until stdin ends."""
    serve(_prepare)


def _prepare(task: RankStep, ports: dict[int, int], listening: Any) -> Callable[[], PreparedRun]:
    wires = connect_peers(task.endpoint, task.peers, ports, listening, task.token, task.network)

    def prepare_run() -> PreparedRun:
        run = StepRun(task, wires)
        return PreparedRun(run.run, run.compare)

    return prepare_run
