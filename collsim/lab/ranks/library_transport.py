"""The same programs over a library's own messages: MPI by mpi4py, or Gloo by torch. Nothing is paced.

Step after step, as such programs are written: receives are posted, sends begun, what came is put in its place in the
order of rows, and the sends are waited for.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from importlib import import_module
from itertools import groupby
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from .endpoint_program import REDUCE, Move, RankProgram
from .exchange import Moments
from .nic import wait_until

Bytes = npt.NDArray[np.uint8]
_MAX_TAG = 30_000  # MPI promises tags up to 32,767; messages of one pair stay in order anyway


class Carrier(Protocol):
    """What a library must do: begin to send or receive bytes, and return what waits for the end of it; and its own
    allreduce of an array, in place."""

    def send(self, data: Bytes, peer: int, tag: int) -> Callable[[], object]:
        """Begin to send; what is returned waits until `data` may change.

        Args:
            data: Not copied.
            peer: Rank that receives.
            tag: Of the message; sends and receives of one tag meet.
        """

    def receive(self, into: Bytes, peer: int, tag: int) -> Callable[[], object]:
        """Begin to receive; what is returned waits until `into` is filled.

        Args:
            into: As long as what comes.
            peer: Rank that sends.
            tag: Of the message.
        """

    def allreduce(self, array: npt.NDArray[np.generic]) -> None:
        """Sum an array over all ranks by the library's own algorithm.

        Args:
            array: Changed in place.
        """


class MessageExchange:
    """One run of one rank. `slots` are the arrays of this endpoint, changed in place."""

    def __init__(
        self, program: RankProgram, slots: list[npt.NDArray[np.generic]], carrier: Carrier, combine: np.ufunc = np.add
    ):
        """One run of a rank's program over a library's messages.

        Args:
            program: The rank's sends and receives.
            slots: Its buffer, an array a slot; changed in place.
            carrier: The library.
            combine: What a reduce does with two arrays.
        """
        self.program, self.slots, self.carrier, self.combine = program, slots, carrier, combine
        moves = [(m.step, True, i) for i, m in enumerate(program.sends)]
        moves += [(m.step, False, i) for i, m in enumerate(program.receives)]
        self.steps = [list(group) for _, group in groupby(sorted(moves), key=lambda move: move[0])]
        self.moments = Moments.allocate(program)

    def run(self, start: float) -> Moments:
        """Run step after step.

        Args:
            start: s on the clock of `time.perf_counter`, in the future.
        """
        wait_until(start)
        for step in self.steps:
            self._step([i for _, is_send, i in step if is_send], [i for _, is_send, i in step if not is_send])
        return self.moments

    def _step(self, sends: list[int], receives: list[int]) -> None:
        # What is sent is copied first: a receive of the same step may write into it.
        data = {i: self.slots[self.program.sends[i].slot].copy() for i in sends}
        data_of_row = {self.program.sends[i].row: data[i] for i in sends}
        came, waits = {}, {}
        for i in receives:
            move = self.program.receives[i]
            is_local = move.peer == self.program.endpoint
            came[i] = data_of_row[move.row] if is_local else np.empty_like(self.slots[move.slot])
            if not is_local and came[i].nbytes:
                waits[i] = self.carrier.receive(came[i].view(np.uint8), move.peer, move.row % _MAX_TAG)
        # Receives are posted before any send starts, so that no two ranks wait for each other.
        waits_for_sends = [self._send(i, data[i]) for i in sends]
        for i in receives:
            if i in waits:
                waits[i]()
            self.moments.came[i] = self.moments.arrived[i] = time.perf_counter()
            self._write(self.program.receives[i], came[i])
        for wait in waits_for_sends:
            wait()

    def _send(self, index: int, data: npt.NDArray[np.generic]) -> Callable[[], object]:
        self.moments.began[index] = time.perf_counter()
        move = self.program.sends[index]
        if move.peer == self.program.endpoint or not data.nbytes:
            return lambda: None
        return self.carrier.send(data.view(np.uint8), move.peer, move.row % _MAX_TAG)

    def _write(self, move: Move, data: npt.NDArray[np.generic]) -> None:
        array = self.slots[move.slot]
        array[:] = self.combine(array, data) if move.kind == REDUCE else data


class OwnAllreduce:
    """One run of the library's own allreduce of the whole buffer: all that is known is when it ended."""

    def __init__(self, slots: list[npt.NDArray[np.generic]], carrier: Carrier):
        """Prepare one run.

        Args:
            slots: The rank's buffer, an array a slot; changed in place.
            carrier: The library.
        """
        self.slots, self.carrier = slots, carrier

    def run(self, start: float) -> Moments:
        """Run the allreduce once.

        Args:
            start: s on the clock of `time.perf_counter`, in the future.
        """
        buffer = np.concatenate(self.slots)
        wait_until(start)
        began = time.perf_counter()
        self.carrier.allreduce(buffer)
        ended = np.array([time.perf_counter()])
        for slot, part in zip(self.slots, np.split(buffer, np.cumsum([len(s) for s in self.slots])[:-1]), strict=True):
            slot[:] = part
        return Moments(np.array([began]), ended, ended)


class Gloo:
    """torch.distributed with its gloo back end, over the loopback device alone."""

    def __init__(self, rank: int, count: int, port: int):
        """Join the process group.

        Args:
            rank: Of this process.
            count: Ranks in all.
            port: On this computer, where rank 0 keeps the store that all meet at.
        """
        torch: Any = import_module("torch")
        dist: Any = import_module("torch.distributed")
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
        torch.set_num_threads(1)
        self.torch, self.dist = torch, dist
        store = dist.TCPStore("127.0.0.1", port, count, rank == 0)
        dist.init_process_group("gloo", store=store, rank=rank, world_size=count)

    def send(self, data: Bytes, peer: int, tag: int) -> Callable[[], Any]:
        """As `Carrier.send`."""
        wait: Callable[[], Any] = self.dist.isend(self.torch.from_numpy(data), peer, tag=tag).wait
        return wait

    def receive(self, into: Bytes, peer: int, tag: int) -> Callable[[], Any]:
        """As `Carrier.receive`."""
        wait: Callable[[], Any] = self.dist.irecv(self.torch.from_numpy(into), peer, tag=tag).wait
        return wait

    def allreduce(self, array: npt.NDArray[Any]) -> None:
        """As `Carrier.allreduce`."""
        self.dist.all_reduce(self.torch.from_numpy(array))


class Mpi:
    """MPI, by mpi4py."""

    def __init__(self) -> None:
        from mpi4py import MPI

        self.mpi, self.comm = MPI, MPI.COMM_WORLD

    def send(self, data: Bytes, peer: int, tag: int) -> Callable[[], object]:
        """As `Carrier.send`."""
        wait: Callable[[], object] = self.comm.Isend([data, self.mpi.BYTE], peer, tag).Wait
        return wait

    def receive(self, into: Bytes, peer: int, tag: int) -> Callable[[], object]:
        """As `Carrier.receive`."""
        wait: Callable[[], object] = self.comm.Irecv([into, self.mpi.BYTE], peer, tag).Wait
        return wait

    def allreduce(self, array: npt.NDArray[np.generic]) -> None:
        """As `Carrier.allreduce`."""
        self.comm.Allreduce(self.mpi.IN_PLACE, array)
