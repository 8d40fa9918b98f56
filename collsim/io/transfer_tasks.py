"""Transfers as tasks of their endpoints, each behind those it has to wait for: what GOAL and Chakra write."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from typing import NamedTuple

from ..errors import CollsimError
from ..files import MAX_ELEMENTS
from ..schedule import Schedule
from ..simulate.run import compute_slot_bytes
from ..units import parse_bytes


class Transfer(NamedTuple):
    """One transfer of a step.

    Attributes:
        src: Endpoint that sends.
        dst: Endpoint that receives.
        chunk: Slot of the sender that is read.
        into: Slot of the receiver that is written.
        adds: Is the sent value added to the slot? It replaces what is there otherwise.
    """

    src: int
    dst: int
    chunk: int
    into: int
    adds: bool


def compute_task_sizes(schedule: Schedule, nbytes: object, itemsize: int, what: str) -> list[int]:
    """Bytes of each slot of a schedule that is written as tasks.

    Args:
        schedule: what is written.
        nbytes: nccl-tests' size.
        itemsize: bytes of an element; chunks are cut between elements.
        what: name of the format.

    Raises:
        CollsimError: without a size, or for more than two million transfers.
    """
    if nbytes is None:
        raise CollsimError("{what} counts bytes: say how many, for example nbytes='64MiB'", what=what)
    if len(schedule) > MAX_ELEMENTS:
        message = "{label} has {transfers:,} transfers; {what} is written for at most {most:,}"
        raise CollsimError(message, label=schedule.label, transfers=len(schedule), what=what, most=MAX_ELEMENTS)
    sizes: list[int] = compute_slot_bytes(schedule, parse_bytes(nbytes), itemsize).tolist()
    return sizes


class TransferTasks(ABC):
    """Sends, receives and computing of every endpoint; what sends a chunk waits for what wrote it.

    Tasks are known by numbers that their writer gives; each waits for tasks of its own endpoint.
    """

    def __init__(self) -> None:
        """Nothing is written or read yet."""
        self._wrote: dict[tuple[int, int], list[int]] = {}  # of a slot the task that wrote it
        self._read: dict[tuple[int, int], list[int]] = defaultdict(list)  # and those that have read it since

    @abstractmethod
    def add_send(self, transfer: Transfer, step: int, after: list[int]) -> int:
        """A task that sends, at the sender; its number.

        Args:
            transfer: what is sent.
            step: number of the step.
            after: tasks that must have ended.
        """

    @abstractmethod
    def add_receive(self, transfer: Transfer, step: int, after: list[int]) -> int:
        """A task that receives, at the receiver; its number.

        Args:
            transfer: what is sent.
            step: number of the step.
            after: tasks that must have ended.
        """

    @abstractmethod
    def add_computing(self, transfer: Transfer, after: list[int]) -> int:
        """A task that adds what came, or copies in place, at the receiver; its number.

        Args:
            transfer: what is added or copied.
            after: tasks that must have ended.
        """

    def add_schedule(self, schedule: Schedule) -> None:
        """Add the tasks of all transfers.

        Args:
            schedule: whose transfers.
        """
        for number, step in enumerate(schedule.each_step()):
            columns = (step.src, step.dst, step.chunk, step.into, step.reduce)
            rows = zip(*(column.tolist() for column in columns), strict=True)
            self._add_step([Transfer(*row) for row in rows], number)

    def _add_step(self, transfers: list[Transfer], number: int) -> None:
        # All of a step read what was there when it began, so who wrote that is looked up before the step writes.
        sources = [self._wrote.get((transfer.src, transfer.chunk), []) for transfer in transfers]
        for transfer, source in zip(transfers, sources, strict=True):
            if transfer.src != transfer.dst:
                self._read[transfer.src, transfer.chunk].append(self.add_send(transfer, number, source))
        written: dict[tuple[int, int], list[int]] = {}
        for transfer, source in zip(transfers, sources, strict=True):
            slot, is_local = (transfer.dst, transfer.into), transfer.src == transfer.dst
            # A write waits for all reads of what it overwrites, and a local one for what it copies as well.
            after = list(self._read[slot])
            if is_local:
                after += source
            else:
                after = [self.add_receive(transfer, number, after)]
            if transfer.adds:
                # Additions into one slot follow one another: floating-point sums depend on their order.
                after += written.get(slot, self._wrote.get(slot, []))
            if is_local or transfer.adds:
                after = [self.add_computing(transfer, after)]
            written[slot] = after
        for slot, last in written.items():
            self._wrote[slot], self._read[slot] = last, []
