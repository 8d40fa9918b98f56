"""DataParallel: one process, GPU 0 as hub.

Sources: torch/nn/parallel/data_parallel.py, replicate.py, comm.py; torch/csrc/cuda/comm.cpp (torch 2.13). Each forward
pass scatters the inputs, broadcasts parameters and buffers in pieces of 10 MiB and gathers the outputs on GPU 0, where
the loss is; the backward pass ends with one reduction to GPU 0, because all parameters hang on one autograd node; GPU 0
alone runs the optimizer. The replicas' forward passes are threads of one process under one lock of Python (the GIL):
what the host takes to launch them adds up; backward passes run in C++.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ...dtypes import find_itemsize
from ...errors import CollsimError, require_flags
from ...errors.arguments import check_arguments
from ..workload.step_graph import TaskOptions, TrainingStep
from .buckets import assign_buckets
from .strategy import WholeModelStep, WholeModelStrategy, Workload, parse_accumulate, register_strategy

PIECE = 10 * 2**20  # bytes (torch/nn/parallel/comm.py, broadcast_coalesced and reduce_add_coalesced)


@dataclass(frozen=True)
class DataParallel(WholeModelStrategy):
    """PyTorch's DataParallel; `data_parallel(...)` makes one.

    Attributes:
        nccl: copies between GPUs go by NCCL.
        accumulate: microbatches of a step; None: as many as the batch asks for.

    Examples:
        >>> import collsim as cs
        >>> cs.train.DataParallel(nccl=False) == cs.data_parallel(nccl=False)
        True
    """

    name: ClassVar[str] = "data_parallel"
    nccl: bool = True
    accumulate: int | None = None

    @property
    def torch_module(self) -> str:
        """Its name in torch.nn."""
        return "DataParallel"

    @property
    def is_one_process(self) -> bool:
        """Always, on one node."""
        return True

    @property
    def uses_nccl(self) -> bool:
        """Copies from GPU to GPU are none of its collectives."""
        return self.nccl

    def build_step(self, workload: Workload) -> TrainingStep:
        """Build the step; GPU 0 is lane 0, all others share lane 1.

        Args:
            workload: Model, GPUs, samples and types of the step.

        Returns:
            The step.

        Raises:
            CollsimError: The GPUs are on more than one node.
        """
        if workload.nodes > 1:
            message = "data_parallel is one process on one node, and these GPUs are on {nodes}; use nodes=1, or ddp()"
            raise CollsimError(message, nodes=workload.nodes)
        return _Step(self, workload).write_step()


@register_strategy
@check_arguments
def data_parallel(nccl: bool = True, *, accumulate: int | None = None) -> DataParallel:
    """DataParallel as PyTorch 2.13 does it.

    Args:
        nccl: copies between GPUs go by NCCL's broadcast and reduce; False: n−1 copies from GPU 0 and as many back.
        accumulate: microbatches of a step; each of them broadcasts and reduces.

    Returns:
        A strategy.

    Raises:
        CollsimError: For a number of microbatches below 1.

    Examples:
        >>> import collsim as cs
        >>> strategies = cs.data_parallel(), cs.ddp()
        >>> steps = [cs.training_step("resnet18", "dgx-a100", parallel=strategy, batch=256) for strategy in strategies]
        >>> steps[0].time > 2 * steps[1].time
        True
    """
    require_flags(nccl=nccl)
    return DataParallel(nccl, parse_accumulate(accumulate))


def cut_pieces(sizes: Sequence[int]) -> list[int]:
    """Cut tensors into the pieces in which they are sent together: one closes as soon as it holds 10 MiB
    (torch/csrc/utils/tensor_flatten.cpp, take_tensors).

    Args:
        sizes: Bytes of each tensor, in the order of sending.

    Returns:
        Bytes of each piece.
    """
    return [sum(sizes[i] for i in piece) for piece in assign_buckets(sizes, ["float32"] * len(sizes), (PIECE,))]


class _Step(WholeModelStep):
    def __init__(self, parallel: DataParallel, workload: Workload):
        super().__init__(workload)
        self.parallel = parallel
        self.lanes: tuple[tuple[int, ...], ...] = (
            (workload.ranks[:1], workload.ranks[1:]) if len(workload.ranks) > 1 else (workload.ranks,)
        )
        self.every_lane = tuple(range(len(self.lanes)))
        item = find_itemsize(workload.dtype)
        self.inputs = workload.model.input_bytes * workload.micro_batch * len(workload.ranks)
        self.outputs = round(workload.model.layers[-1].outputs * item * workload.micro_batch * len(workload.ranks))

    def write_step(self) -> TrainingStep:
        workload = self.workload
        if len(self.lanes) == 1:
            return self._write_plain_step()
        done = [self.add_microbatch(micro) for micro in range(workload.accumulate)]
        self.add_allocation(0, "gradients", workload.model.nbytes, done[0], self.add_optimizer())
        replica = {"replica": workload.model.nbytes + workload.model.buffer_bytes}
        return self.finish(self.parallel.label, self.lanes, self.count_resident_bytes(), replica)

    def _write_plain_step(self) -> TrainingStep:
        """One GPU calls the model itself: nothing is scattered, copied or gathered (torch/nn/parallel/
        data_parallel.py)."""
        backwards: list[int] = []
        for micro in range(self.workload.accumulate):
            numbers = self.add_backward(0, micro, self.add_forward(0, micro))
            backwards = backwards or numbers
        self.add_gradient_allocations(backwards, self.add_optimizer())
        return self.finish(self.parallel.label, self.lanes, self.count_resident_bytes())

    def add_collective(self, kind: str, name: str, nbytes: int, algorithm: str, micro: int) -> int:
        """A collective of all GPUs with GPU 0 as its root, behind all computing so far."""
        waits = (
            tuple(max(i for i, t in enumerate(self.tasks) if lane in t.lanes) for lane in self.every_lane)
            if self.tasks
            else ()
        )
        more: TaskOptions = {
            "dependencies": tuple(set(waits)),
            "nbytes": nbytes,
            "algorithm": algorithm,
            "microbatch": micro,
            "ranks": self.workload.ranks,
        }
        return self.add_task(name, kind, self.every_lane, **more)

    def add_collective_pieces(self, kind: str, name: str, sizes: Sequence[int], micro: int) -> tuple[int, ...]:
        """The same in pieces; the last of them, none where there is nothing to send."""
        algorithm = ""
        if not self.parallel.nccl:
            algorithm = f"{kind}_flat"
        sent = [
            self.add_collective(kind, f"{name} {i}", size, algorithm, micro) for i, size in enumerate(cut_pieces(sizes))
        ][-1:]
        return tuple(sent)

    def add_microbatch(self, micro: int) -> int:
        """One forward and backward pass; the number of the first reduction."""
        workload = self.workload
        first = self.add_collective("scatter", "inputs", self.inputs, "scatter_flat", micro)
        waits = self.add_collective_pieces(
            "broadcast", "parameters", [size for size, _ in workload.model.tensors], micro
        ) or (first,)
        if buffers := [4 * n for layer in workload.model.layers for n in layer.buffers]:
            waits = self.add_collective_pieces("broadcast", "buffers", buffers, micro)
        passed = [self.add_forward(lane, micro, waits, len(workload.ranks)) for lane in self.every_lane]
        self.add_collective("gather", "outputs", self.outputs, "gather_flat", micro)
        back = self.add_collective("scatter", "gradients of outputs", self.outputs, "scatter_flat", micro)
        for lane in self.every_lane:
            self.add_wait(lane, back, micro)
        backs = [self.add_backward(lane, micro, passed[lane]) for lane in self.every_lane]
        reduced = len(self.tasks)
        last = (
            self.add_collective_pieces(
                "reduce", "gradients", [size for size, _ in reversed(workload.model.tensors)], micro
            )
            or (back,)
        )[0]
        self.add_wait(0, last, micro)
        self.add_allocation(0, "inputs and outputs", self.inputs + 2 * self.outputs, first, backs[0][-1])
        for lane in self.every_lane:
            for i, number in enumerate(backs[lane]):
                self.add_allocation(lane, "replica's gradients", workload.model.layers[-1 - i].nbytes, number, last)
        return reduced

    def add_wait(self, lane: int, after: int, micro: int) -> None:
        """A lane waits for a collective."""
        self.add_task("wait", "copy", (lane,), dependencies=(after,), microbatch=micro)
