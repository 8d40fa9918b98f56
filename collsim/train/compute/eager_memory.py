"""What eager PyTorch holds on a GPU beside the tensors of a step, and when it holds copies of weights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

from ...dtypes import find_itemsize
from ..workload.step_graph import Allocation, StepTask, TrainingStep
from .eager_speed import EagerSpeed

#: Bytes of a cuBLAS workspace on Hopper, which PyTorch takes from its own allocator (aten/src/ATen/cuda/
#: CublasHandlePool.cpp, `parseChosenWorkspaceSize`: 4,096 KiB, 8 times).
_CUBLAS_WORKSPACE = 32 * 2**20
#: Each thread that launches products has a handle, which has a workspace for its stream: the thread of the forward pass
#: and that of the backward pass (torch/csrc/autograd/engine.cpp has one for each GPU).
_CUBLAS_HANDLES = 2


def add_eager_memory(step: TrainingStep, speed: EagerSpeed) -> TrainingStep:
    """Add to a step what eager PyTorch holds beside its tensors: workspaces of cuBLAS; during AdamW with foreach
    kernels the square roots of all second moments, as these are written before the first is used (torch/optim/adam.py,
    `_multi_tensor_adam`). On one GPU copies of weights in 16 bits are those of torch.autocast, which last from the
    forward to the backward pass of their layer.

    Args:
        step: The step.
        speed: How PyTorch runs it.

    Returns:
        The step with this memory.
    """
    allocations = list(step.allocations)
    if step.optimizer == "adam" and speed.optimizer_kernels == "foreach":
        for number, task in enumerate(step.tasks):
            if task.kind == "optimizer":
                states = ((lane, step.resident_bytes[lane].get("optimizer", 0)) for lane in task.lanes)
                allocations += [(lane, "optimizer", nbytes / 2, number, number) for lane, nbytes in states]
    copies: dict[int, int] = {}
    if step.ranks == 1:
        copies = _list_copies(step)
        allocations += _list_cast_weights(step, speed, copies)
    resident_bytes = tuple(
        {**kinds, "workspaces": _CUBLAS_HANDLES * _CUBLAS_WORKSPACE} for kinds in step.resident_bytes
    )
    if copies:  # one GPU, and its only lane
        whole = resident_bytes[0]["parameters"]
        resident_bytes = ({**resident_bytes[0], "parameters": whole - sum(copies.values())},)
    return replace(step, resident_bytes=resident_bytes, allocations=tuple(allocations))


def _list_copies(step: TrainingStep) -> dict[int, int]:
    """Bytes of the copy of each layer's weights that is narrower than these, by the layer's number."""
    itemsize = find_itemsize(step.dtype)
    layers = enumerate(step.model.layers)
    return {i: itemsize * layer.parameters for i, layer in layers if itemsize < find_itemsize(layer.dtype)}


def _list_cast_weights(step: TrainingStep, speed: EagerSpeed, copies: Mapping[int, int]) -> Iterator[Allocation]:
    """Weights of products that autocast casts: the backward pass needs them, and nothing after it."""
    copies = {i: n for i, n in copies.items() if speed.casts_weights(step.model.layers[i])}
    last = len(step.model.layers) - 1
    if last in copies and not copies[last]:  # a head without a matrix of its own casts that of the embedding
        copies[last] = find_itemsize(step.dtype) * step.model.layers[0].tensors[0]
    forward: dict[tuple[int, int], int] = {}
    for number, task in enumerate(step.tasks):
        if task.kind == "forward":
            forward.update({(task.microbatch, layer): number for layer in _list_layers(task)})
        elif task.kind == "backward":
            spans: Counter[int] = Counter()
            for layer in _list_layers(task):
                spans[forward[task.microbatch, layer]] += copies.get(layer, 0)
            for first, nbytes in spans.items():
                yield task.lanes[0], "parameters", float(nbytes), first, number


def _list_layers(task: StepTask) -> list[int]:
    """Numbers of the layers that a task computes, each once."""
    return list(dict.fromkeys(work.layer for work in task.layer_work)) or [task.layer]
