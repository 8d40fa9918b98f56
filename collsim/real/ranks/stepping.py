"""The process of one rank of a training step: one thread computes, which here is to sleep, the other communicates.

That is how PyTorch does it: the thread of the backward pass hands a bucket over as it fills and goes on, and the
collectives of a communicator run one behind another on a stream of their own.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from .exchange import Exchange, Moments, sleep_until
from .network import ImitatedNetwork
from .process import Once, RankTask, filled, judged, serve, wired
from .wire import PeerWire

_TURN = 0.001  # s after which a thread of Python lets the other have its turn
Floats = npt.NDArray[np.float64]


class StepMoments(NamedTuple):
    """(tasks,) s at which each task of a step began and had ended on this rank."""

    begin: Floats
    end: Floats


class StepOutcome(NamedTuple):
    """What became of a step: its moments, elements that were compared, and how many are not what they must be."""

    moments: StepMoments
    checked: int
    wrong: int


class StepBox(NamedTuple):
    """A task as a rank sees it: the tasks it waits for, and s to sleep, or the number of its collective (-1: none)."""

    before: tuple[int, ...]
    seconds: float
    collective: int = -1


@dataclass(frozen=True)
class RankStep:
    """All that a rank has to know of a training step.

    Attributes:
        boxes: the step's tasks. collectives: of those that communicate, in their order; their rows are counted through
            all of them, and `beyond[k]` is the first row behind those of collective k.
    """

    endpoint: int
    network: ImitatedNetwork
    token: bytes
    boxes: tuple[StepBox, ...]
    collectives: tuple[RankTask, ...]
    beyond: tuple[int, ...]
    on: str = "here"
    module: ClassVar[str] = "stepping"

    @property
    def peers(self) -> set[int]:
        """The ranks that it exchanges anything with."""
        return {peer for task in self.collectives for peer in task.program.peers}


class StepRun:
    """One run of a step on one rank."""

    def __init__(self, task: RankStep, wires: Mapping[int, PeerWire]):
        self.task, self.wires = task, wires
        self.slots = [filled(part) for part in task.collectives]
        self.ended = [threading.Event() for _ in task.boxes]
        self.moments = StepMoments(np.zeros(len(task.boxes)), np.zeros(len(task.boxes)))
        self.cables = task.network.cables(task.endpoint)

    def run(self, start: float) -> StepMoments:
        """From the moment `start` to the end."""
        start += self.task.network.late.get(self.task.endpoint, 0.0)
        computing = threading.Thread(target=self._boxes, args=(start, False, self._sleep), daemon=True)
        computing.start()
        self._boxes(start, True, self._communicate)
        computing.join()
        return self.moments

    def _boxes(self, start: float, communicates: bool, work: Callable[[StepBox], None]) -> None:
        """The tasks of one of the two streams, each when what it waits for has ended."""
        sleep_until(start)
        for number, box in enumerate(self.task.boxes):
            if (box.collective >= 0) != communicates:
                continue
            for other in box.before:
                self.ended[other].wait()
            self.moments.begin[number] = time.perf_counter()
            work(box)
            self.moments.end[number] = time.perf_counter()
            self.ended[number].set()

    def _sleep(self, box: StepBox) -> None:
        if box.seconds:
            sleep_until(time.perf_counter() + box.seconds)

    def _communicate(self, box: StepBox) -> None:
        at = box.collective
        part, beyond = self.task.collectives[at], self.task.beyond[at]
        combine = getattr(np, part.combine)
        wires = {peer: self.wires[peer] for peer in part.program.peers}
        carried = Exchange(part.program, self.slots[at], wires, self.task.network, combine, self.cables, beyond)
        carried.run(0.0)  # at once

    def judged(self, moments: StepMoments) -> StepOutcome:
        """Compare what came out of every collective with what must come out, bit for bit."""
        found = [
            judged(part, slots, Moments.of(part.program))
            for part, slots in zip(self.task.collectives, self.slots, strict=True)
        ]
        return StepOutcome(moments, sum(one.checked for one in found), sum(one.wrong for one in found))


def main() -> None:
    """Serve runs of a step until stdin ends."""
    sys.setswitchinterval(_TURN)
    serve(_prepared)


def _prepared(task: RankStep, ports: dict[int, int], listening: Any) -> Callable[[], Once]:
    wires = wired(task.endpoint, task.peers, ports, listening, task.token)

    def once() -> Once:
        run = StepRun(task, wires)
        return Once(run.run, run.judged)

    return once
