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

from ...dtypes import find_itemsize
from ...errors import CollsimError
from ...keywords import check_keywords
from ...units import parse_count
from ..workload.step_graph import StepBuilder, StepTask, TaskOptions, TrainingStep
from .buckets import assign_buckets
from .strategy import ParallelStrategy, Workload, add_backward, add_forward, add_optimizer, count_resident_bytes

PIECE = 10 * 2**20  # bytes (torch/nn/parallel/comm.py, broadcast_coalesced and reduce_add_coalesced)


@dataclass(frozen=True)
class DataParallel(ParallelStrategy):
    """PyTorch's DataParallel; `data_parallel(...)` makes one."""

    nccl: bool = True
    accumulate: int | None = None

    @property
    def label(self) -> str:
        """The call."""
        given = [] if self.nccl else ["nccl=False"]
        return f"data_parallel({', '.join(given + [f'accumulate={self.accumulate}'] * (self.accumulate is not None))})"

    def build_step(self, asked: Workload) -> TrainingStep:
        """The step; GPU 0 is lane 0, all others share lane 1. Raises CollsimError for more than one node."""
        if asked.nodes > 1:
            why = "data_parallel is one process on one node, and these GPUs are on {nodes}; use nodes=1, or ddp()"
            raise CollsimError(why, nodes=asked.nodes)
        return _Writing(self, asked).step()


@check_keywords
def data_parallel(nccl: bool = True, *, accumulate: int | None = None) -> DataParallel:
    """DataParallel as PyTorch 2.13 does it.

    Args:
        nccl: copies between GPUs go by NCCL's broadcast and reduce; False: n−1 copies from GPU 0 and as many back.
        accumulate: microbatches of a step; each of them broadcasts and reduces.
    """
    if not isinstance(nccl, bool):
        raise CollsimError("nccl={nccl!r} must be True or False", nccl=nccl)
    return DataParallel(nccl, None if accumulate is None else parse_count(accumulate, "accumulate"))


def cut_pieces(sizes: Sequence[int]) -> list[int]:
    """Bytes of the pieces in which tensors are sent together: one closes as soon as it holds 10 MiB
    (torch/csrc/utils/tensor_flatten.cpp, take_tensors)."""
    return [sum(sizes[i] for i in piece) for piece in assign_buckets(sizes, ["float32"] * len(sizes), (PIECE,))]


class _Writing:
    def __init__(self, parallel: DataParallel, asked: Workload):
        self.parallel, self.asked, self.out = parallel, asked, StepBuilder()
        self.lanes: tuple[tuple[int, ...], ...] = (
            (asked.ranks[:1], asked.ranks[1:]) if len(asked.ranks) > 1 else (asked.ranks,)
        )
        self.all = tuple(range(len(self.lanes)))
        item = find_itemsize(asked.dtype)
        self.inputs = asked.model.input_bytes * asked.micro_batch * len(asked.ranks)
        self.outputs = round(asked.model.layers[-1].outputs * item * asked.micro_batch * len(asked.ranks))

    def step(self) -> TrainingStep:
        asked = self.asked
        done = [self.micro(micro) for micro in range(asked.accumulate)]
        last = add_optimizer(self.out, asked, 0)
        self.out.add_allocation(0, "gradients", asked.model.nbytes, done[0], last)
        held: tuple[dict[str, int], ...] = (count_resident_bytes(asked),)
        if len(self.lanes) > 1:
            held += ({"replica": asked.model.nbytes + asked.model.buffer_bytes},)
        what = asked.batch, asked.micro_batch, asked.dtype, held, tuple(self.out.allocations)
        return TrainingStep(asked.model, self.parallel.label, self.lanes, tuple(self.out.tasks), *what)

    def moved(self, kind: str, name: str, nbytes: int, algorithm: str, micro: int) -> int:
        """A collective of all GPUs with GPU 0 as its root, behind all computing so far."""
        waits = (
            tuple(max(i for i, t in enumerate(self.out.tasks) if lane in t.lanes) for lane in self.all)
            if self.out.tasks
            else ()
        )
        more: TaskOptions = {
            "dependencies": tuple(set(waits)),
            "nbytes": nbytes,
            "algorithm": algorithm,
            "microbatch": micro,
            "ranks": self.asked.ranks,
        }
        return self.out.add_task(name, kind, self.all, **more)

    def many(self, kind: str, name: str, sizes: Sequence[int], micro: int) -> tuple[int, ...]:
        """The same in pieces; the last of them, none where there is nothing to send."""
        algorithm = "" if self.parallel.nccl else f"{kind}_flat"
        sent = [self.moved(kind, f"{name} {i}", size, algorithm, micro) for i, size in enumerate(cut_pieces(sizes))][
            -1:
        ]
        return tuple(sent)

    def micro(self, micro: int) -> int:
        """One forward and backward pass; the number of the first reduction."""
        asked, out = self.asked, self.out
        first = self.moved("scatter", "inputs", self.inputs, "scatter_flat", micro)
        waits = self.many("broadcast", "parameters", [size for size, _ in asked.model.tensors], micro) or (first,)
        if buffers := [4 * n for layer in asked.model.layers for n in layer.buffers]:
            waits = self.many("broadcast", "buffers", buffers, micro)
        passed = [add_forward(out, asked, lane, micro, waits, len(asked.ranks)) for lane in self.all]
        self.moved("gather", "outputs", self.outputs, "gather_flat", micro)
        back = self.moved("scatter", "gradients of outputs", self.outputs, "scatter_flat", micro)
        for lane in self.all:
            out.tasks.append(_waiting(lane, back, micro))
        backs = [add_backward(out, asked, lane, micro, passed[lane]) for lane in self.all]
        reduced = len(out.tasks)
        last = (
            self.many("reduce", "gradients", [size for size, _ in reversed(asked.model.tensors)], micro) or (back,)
        )[0]
        out.tasks.append(_waiting(0, last, micro))
        out.add_allocation(0, "inputs and outputs", self.inputs + 2 * self.outputs, first, backs[0][-1])
        for lane in self.all:
            for i, number in enumerate(backs[lane]):
                out.add_allocation(lane, "replica's gradients", asked.model.layers[-1 - i].nbytes, number, last)
        return reduced


def _waiting(lane: int, after: int, micro: int) -> StepTask:
    return StepTask("wait", "copy", (lane,), dependencies=(after,), microbatch=micro)
