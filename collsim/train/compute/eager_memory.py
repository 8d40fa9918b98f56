"""What eager PyTorch holds on a GPU beside the tensors of a step, and when it holds copies of weights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

from ...dtypes import find_itemsize
from ..workload.step_graph import Allocation, LayerWork, StepTask, TrainingStep
from .eager_speed import EagerSpeed, compute_samples, count_inputs

#: Bytes of a cuBLAS workspace on Hopper, which PyTorch takes from its own allocator (aten/src/ATen/cuda/
#: CublasHandlePool.cpp, `parseChosenWorkspaceSize`: 4,096 KiB, 8 times).
_CUBLAS_WORKSPACE = 32 * 2**20
#: Each thread that launches products has a handle, which has a workspace for its stream: the thread of the forward pass
#: and that of the backward pass (torch/csrc/autograd/engine.cpp has one for each GPU).
_CUBLAS_HANDLES = 2
#: Bytes of an element in which losses, and sums over many rows, are computed.
_FLOAT32 = 4
#: Threads that all multiprocessors of an H100 or H200 run at once (132 of 2,048), and what a block of PyTorch's sum
#: over the rows of a matrix has (aten/src/ATen/native/cuda/Reduce.cuh, `setReduceConfig`): threads in a row and rows of
#: them, columns that a thread sums at once, rows from which on several blocks share a column, and the fewest a block.
_GPU_THREADS = 132 * 2048
_SUM_WIDTH, _SUM_HEIGHT, _SUM_VECTOR, _SUM_SHARED, _SUM_LEAST = 32, 4, 4, 256, 16


def add_eager_memory(step: TrainingStep, speed: EagerSpeed) -> TrainingStep:
    """Add to a step what eager PyTorch holds beside its tensors: samples, and workspaces of cuBLAS; in the backward
    pass gradients of activations; during AdamW with foreach kernels the square roots of all second moments, as these
    are written before the first is used (torch/optim/adam.py, `_multi_tensor_adam`). On one GPU copies of weights in
    16 bits are those of torch.autocast, which last from the forward to the backward pass of their layer.

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
        allocations += _list_spans(step, "parameters", _count_cast_weights(step, speed, copies))
        allocations += _list_spans(step, "activations", _count_stored_scores(step))
    allocations += _list_gradients(step, speed)
    inputs = {"inputs and outputs": _count_input_bytes(step), "workspaces": _CUBLAS_HANDLES * _CUBLAS_WORKSPACE}
    resident_bytes = tuple({**kinds, **inputs} for kinds in step.resident_bytes)
    if copies:  # one GPU, and its only lane
        whole = resident_bytes[0]["parameters"]
        resident_bytes = ({**resident_bytes[0], "parameters": whole - sum(copies.values())},)
    return replace(step, resident_bytes=resident_bytes, allocations=tuple(allocations))


def _list_copies(step: TrainingStep) -> dict[int, int]:
    """Bytes of the copy of each layer's weights that is narrower than these, by the layer's number."""
    itemsize = find_itemsize(step.dtype)
    layers = enumerate(step.model.layers)
    return {i: itemsize * layer.parameters for i, layer in layers if itemsize < find_itemsize(layer.dtype)}


def _count_cast_weights(step: TrainingStep, speed: EagerSpeed, copies: Mapping[int, int]) -> dict[int, int]:
    """Bytes of the weights of products that autocast casts, by the layer's number."""
    copies = {i: n for i, n in copies.items() if speed.casts_weights(step.model.layers[i])}
    if 0 in copies and step.model.layers[0].kind == "convolution":  # the images are cast, too
        copies[0] += step.model.input_bytes * step.micro_batch * find_itemsize(step.dtype) // _FLOAT32
    last = len(step.model.layers) - 1
    if last in copies and not copies[last]:  # a head without a matrix of its own casts that of the embedding
        copies[last] = find_itemsize(step.dtype) * step.model.layers[0].tensors[0]
    return copies


def _count_stored_scores(step: TrainingStep) -> dict[int, int]:
    """Bytes of the softmax that scaled_dot_product_attention stores in float32 where there are fewer heads of keys than
    of queries, by the layer's number. Flash kernels take 16 bits only, and the memory-efficient one took as many heads
    of both in PyTorch 2.11, which was measured (aten/src/ATen/native/transformers/cuda/sdp_utils.cpp; later versions
    let it share heads of keys). The plain one is left, with a softmax of all pairs of tokens."""
    if step.dtype != "float32":
        return {}
    grouped = [(i, x) for i, x in enumerate(step.model.layers) if x.kind == "flash" and x.kv_size < 2 * x.outputs]
    return {i: _FLOAT32 * x.heads * step.model.tokens**2 * step.micro_batch for i, x in grouped}


def _list_spans(step: TrainingStep, kind: str, layer_bytes: Mapping[int, int]) -> Iterator[Allocation]:
    """What the backward pass of a layer needs of its forward pass, and nothing after it."""
    forward: dict[tuple[int, int], int] = {}
    for number, task in enumerate(step.tasks):
        if task.kind == "forward":
            forward.update({(task.microbatch, layer): number for layer in _list_layers(task)})
        elif task.kind == "backward":
            spans: Counter[int] = Counter()
            for layer in _list_layers(task):
                spans[forward[task.microbatch, layer]] += layer_bytes.get(layer, 0)
            for first, nbytes in spans.items():
                yield task.lanes[0], kind, float(nbytes), first, number


def _count_input_bytes(step: TrainingStep) -> int:
    """Bytes of the samples; of blocks without an embedding, whose samples are activations, those of their gradient."""
    first = step.model.layers[0]
    if first.kind == "norm":
        return round(first.outputs * step.micro_batch * find_itemsize(first.dtype))
    if first.kind == "convolution":  # images have the type of the weights
        return step.model.input_bytes * step.micro_batch * find_itemsize(first.dtype) // _FLOAT32
    return step.model.input_bytes * step.micro_batch


def _list_gradients(step: TrainingStep, speed: EagerSpeed) -> Iterator[Allocation]:
    """What is there while a layer runs and goes with it: in the backward pass the gradients of activations, and in the
    forward pass of the last layer what its loss reads. torch frees a gradient as soon as the function that receives it
    has run (torch/csrc/autograd/engine.cpp)."""
    last = len(step.model.layers) - 1
    for number, task in enumerate(step.tasks):
        if task.kind == "backward":
            works = task.layer_work or (LayerWork(task.layer, task.flops, 0.0, 0.0, is_backward=True),)
            counted = [work for work in works if work.is_backward and work.layer >= 0]
            nbytes = max((_count_gradient_bytes(step, speed, work) for work in counted), default=0.0)
            yield task.lanes[0], "activations", nbytes, number, number
        elif task.kind == "forward" and last in _list_layers(task) and step.model.layers[last].partition != "vocab":
            # A head counts its logits; every other model ends with outputs and a copy of them in float32.
            itemsize = find_itemsize(step.dtype) + _FLOAT32
            nbytes = step.model.layers[last].outputs * step.micro_batch * itemsize
            yield task.lanes[0], "activations", nbytes, number, number


def _count_gradient_bytes(step: TrainingStep, speed: EagerSpeed, work: LayerWork) -> float:
    """Bytes of the gradients of activations while the backward pass of a layer runs: of its output, of its input, of
    the residual beside it, and what the sum over all tokens takes that is the gradient of its bias."""
    layers = step.model.layers
    layer, samples = layers[work.layer], float(step.micro_batch)
    share = 1.0  # of a layer that several GPUs have parts of
    if layer.flops:
        share = compute_samples(layer, work.flops, is_backward=True) / samples
    end = work.layer  # the last layer of its block, which gives the residual
    while layer.block and end + 1 < len(layers) and layers[end + 1].block == layer.block:
        end += 1
    residual = layers[end].outputs * bool(layer.block)
    outputs, inputs = layer.outputs, layer.outputs
    if layer.partition == "vocab":
        outputs, inputs = 0.0, layer.outputs
        if work.layer:
            inputs = count_inputs(layer)
    elif layer.kind == "gemm":
        inputs = count_inputs(layer)
    elif layer.kind != "norm":
        inputs = layers[work.layer - 1].outputs * (work.layer > 0)
    # A gated activation has read two matrices: both get a gradient.
    if layer.partition == "row" and layer.activations + layer.wide_activations > 2 * inputs:
        inputs *= 2
    if layer.partition in ("column", "heads"):
        outputs *= share
    if layer.partition in ("row", "heads"):
        inputs *= share
    if end == work.layer:
        outputs -= residual  # the same tensor
    nbytes = (residual + outputs + inputs) * samples * speed.get_itemsize(layer)
    if layer.kind == "gemm" and len(layer.tensors) > 1:
        columns = layer.tensors[1] * (share if layer.partition == "column" else 1.0)
        nbytes += count_sum_bytes(round(layer.outputs * samples / layer.tensors[1]), round(columns))
    return nbytes


def count_sum_bytes(rows: int, columns: int) -> int:
    """Count the bytes that PyTorch's sum over the rows of a matrix takes beside its result, where several blocks of
    threads share a column: a partial sum for each thread, as many times as it has columns (Reduce.cuh,
    `global_memory_size`).

    Args:
        rows: Rows of the matrix.
        columns: Its columns.

    Returns:
        Bytes; 0 where one block has enough to do.

    Examples:
        >>> count_sum_bytes(2048, 18_432) / 2**20
        135.0
    """
    values = -(-rows // _SUM_HEIGHT)
    grid = -(-columns // (_SUM_WIDTH * _SUM_VECTOR))
    target = _GPU_THREADS // (_SUM_WIDTH * _SUM_HEIGHT)
    if values < _SUM_SHARED or grid > target:
        return 0
    blocks = max(min(-(-target // grid), -(-values // _SUM_LEAST)), -(-values // _SUM_SHARED))
    if blocks == 1:
        return 0
    return _FLOAT32 * columns * blocks * _SUM_WIDTH * _SUM_VECTOR


def _list_layers(task: StepTask) -> list[int]:
    """Numbers of the layers that a task computes, each once."""
    return list(dict.fromkeys(work.layer for work in task.layer_work)) or [task.layer]
