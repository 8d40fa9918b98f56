"""Seconds of the compute tasks of a step: modelled, or what was measured."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from ...errors import CollsimError, describe_unknown
from ...topology import Topology
from ...topology.parts.gpus import find_gpu_name
from ...units import Duration, parse_time
from ..workload.model import Model
from ..workload.step_graph import StepTask, TrainingStep
from .eager_speed import EagerSpeed, get_eager_speed
from .gpu_speeds import HOPPER, GpuSpeed, get_gpu_speed, list_gpus
from .torch_profile import TorchProfile, read_profile

Floats = npt.NDArray[np.float64]
#: Measured time of a layer or a pass: forward and backward, or the forward alone.
LayerTime: TypeAlias = Duration | Sequence[Duration]
#: How fast GPUs compute, or how long it took; see `estimate_compute_costs`.
Compute: TypeAlias = (
    Duration | GpuSpeed | TorchProfile | os.PathLike[str] | Mapping[str, LayerTime] | Sequence[LayerTime] | None
)
Given = TypeVar("Given", bound=Compute)
#: What `compute` says, alone or behind a GPU's name: the kernels of eager PyTorch, or the fused ones of published runs.
EAGER, FUSED = "eager", "fused"
PASSES = ("forward", "backward", "optimizer")
#: What counts as each of them: a backward pass may come in halves.
_KINDS = {"forward": ("forward",), "backward": ("backward", "dgrad", "wgrad"), "optimizer": ("optimizer",)}


@dataclass(frozen=True, eq=False)
class ComputeCosts:
    """How long the passes of a step compute.

    Attributes:
        seconds: (tasks,) s of each task with nothing beside it; 0 for collectives.
        speed: the GPU that they are for; None where that is not known.
        label: where the times come from, in words.
        wait_time: s in them for each collective that a pass waits for; 0 where there is none, or where they were
            measured.
        has_measured_passes: was a microbatch measured as a whole, whatever is computed in it?
    """

    seconds: Floats
    speed: GpuSpeed | None
    label: str
    wait_time: float = 0.0
    has_measured_passes: bool = False


def estimate_compute_costs(step: TrainingStep, topology: Topology, compute: Compute = None) -> ComputeCosts:
    """Estimate how long the compute tasks of a step take.

    Args:
        step: The step, which says what each task computes.
        topology: Topology that it runs on; a machine says which GPU it has.
        compute: None: the machine's GPU. `"fused"`: it has the fused kernels and the clocks of long runs that published
            steps had (Megatron-LM, torchtitan, MPT); `"eager"`: it runs eager PyTorch. Where nothing says which, a lone
            H100, H200 or H800 runs eager PyTorch, as it was measured; others have fused kernels. A GPU's name
            (`"A100"`, `"A100 eager"`), or a GpuSpeed. A time (a number in s, `"97ms"`): measured seconds of forward,
            backward and optimizer of one microbatch on one GPU, shared over layers as the model has it; the same by
            pass: {"forward": "40ms", "backward": "80ms"}, also "optimizer"; a list with an entry per layer, or
            {layer: entry}, in which an entry is (forward, backward) or the forward alone, with half of its backward;
            the path of a PyTorch profiler's trace, or a TorchProfile. Layers that a mapping leaves out are modelled,
            and so is the optimizer.

    Returns:
        Seconds of each task, and where they come from.

    Raises:
        CollsimError: A layer or a GPU is unknown, or nothing says how fast the GPU is.
    """
    fast = find_gpu_speed(topology, step.dtype, compute, is_alone=step.ranks == 1)
    measured = _parse_measured(compute, step.model)
    modelled = _estimate_task_seconds(step, fast)
    if measured is None or isinstance(measured, GpuSpeed):
        if fast is None:
            raise create_unknown_speed_error(topology)
        # Equal ones share one tuple of work.
        boxes = {id(box.layer_work): box.layer_work for box in step.tasks.boxes}.values()
        waited = any(work.wait_count for box in boxes for work in box)
        return ComputeCosts(modelled, fast, fast.label, fast.wait_time * waited)
    if isinstance(measured, float):
        return ComputeCosts(
            _scale_seconds(step, modelled, fast, PASSES, measured),
            fast,
            f"{measured:.6g} s, as measured",
            has_measured_passes=True,
        )
    if isinstance(measured, dict) and not set(measured) - set(PASSES):
        seconds = modelled
        for kind, (spent, _) in measured.items():
            seconds = _scale_seconds(step, seconds, fast, (kind,), spent)
        return ComputeCosts(seconds, fast, "seconds of passes, as measured", has_measured_passes=True)
    if isinstance(measured, list):
        layer_times = dict(zip([layer.name for layer in step.model.layers], measured, strict=True))
    else:
        layer_times = measured
    return ComputeCosts(_apply_layer_times(step, modelled, fast, layer_times), fast, "seconds of layers, as measured")


def create_unknown_speed_error(topology: Topology) -> CollsimError:
    """Say why nothing is known of how fast the GPUs of a machine compute, and what to give instead.

    Args:
        topology: The machine.

    Returns:
        The error to raise.
    """
    gpu = str(getattr(topology.facts.machine, "gpu", ""))
    if gpu:
        message = (
            "how fast {gpu} computes is not in the catalogue ({known}); give compute='A100' for the speed of another, "
            "or measured seconds: '97ms'"
        )
        return CollsimError(message, gpu=gpu, known=", ".join(list_gpus()))
    message = "{name} does not say which GPU it has; give compute='A100', or measured seconds: '97ms'"
    return CollsimError(message, name=topology.name)


def find_gpu_speed(
    topology: Topology, dtype: str, compute: Compute = None, *, is_alone: bool = False
) -> GpuSpeed | None:
    """Find the speed of the GPU that computes.

    Args:
        topology: The machine.
        dtype: Type that is computed in.
        compute: What `training_step` was given.
        is_alone: Whether the step runs on one GPU.

    Returns:
        The speed; None where nothing says which GPU it is.
    """
    if isinstance(compute, GpuSpeed):
        return compute
    named, kernels = parse_gpu(compute) or GpuWords("", FUSED)
    name = named or str(getattr(topology.facts.machine, "gpu", ""))
    if name and name not in list_gpus():  # machines have the names of `topology.parts.gpus`: A6000, MI300
        name = next((known for known in list_gpus() if find_gpu_name(known) == name), "")
    if not name:
        return None
    if kernels == EAGER or (not kernels and is_alone and name in HOPPER):
        return get_eager_speed(name, dtype)
    return get_gpu_speed(name, dtype)


class GpuWords(NamedTuple):
    """What a text says of the GPU that computes.

    Attributes:
        name: Its name; "" is the machine's own.
        kernels: `EAGER`, `FUSED`, or "" where nothing is said.
    """

    name: str
    kernels: str


def parse_gpu(compute: object) -> GpuWords | None:
    """Parse text that says which GPU computes, with which kernels.

    Args:
        compute: What `training_step` was given.

    Returns:
        What it says; None for what is no such text.

    Examples:
        >>> parse_gpu("A100 eager")
        GpuWords(name='A100', kernels='eager')
        >>> parse_gpu("97ms")
    """
    if compute is None:
        return GpuWords("", "")
    if not isinstance(compute, str):
        return None
    words = compute.split(" ")
    kernels = words.pop() if words[-1] in (EAGER, FUSED) else ""
    name = " ".join(words)
    return GpuWords(name, kernels) if name in list_gpus() or (kernels and not words) else None


def add_kernels(compute: Given, kernels: str = FUSED) -> Given | str:
    """Say which kernels a GPU has where nothing says it.

    Args:
        compute: What `training_step` was given.
        kernels: `EAGER` or `FUSED`.

    Returns:
        The same with the kernels.

    Examples:
        >>> add_kernels("A100"), add_kernels("97ms")
        ('A100 fused', '97ms')
    """
    gpu = parse_gpu(compute)
    return compute if gpu is None or gpu.kernels else f"{gpu.name} {kernels}".strip()


def _parse_measured(compute: Compute, model: Model) -> Any:
    """None, a Speed, a float, a list or a mapping of pairs."""
    if isinstance(compute, GpuSpeed) or parse_gpu(compute):
        return None
    if isinstance(compute, os.PathLike) or (isinstance(compute, str) and compute.endswith((".json", ".json.gz"))):
        compute = read_profile(compute, [layer.name for layer in model.layers])
    if isinstance(compute, TorchProfile):
        # A trace with every layer annotated gives times a layer; the backward pass takes twice the forward one unless
        # known.
        if len(compute.layer_seconds) == len(model.layers):
            return {k: (v, 2 * v) for k, v in compute.layer_seconds.items()}
        return compute.seconds
    if isinstance(compute, Mapping):
        return {str(k): _parse_layer_times(str(k), v) for k, v in compute.items()}
    if isinstance(compute, Sequence) and not isinstance(compute, str):
        if len(compute) != len(model.layers):
            message = "compute has {entries} entries for the {layers} layers of {name}; give one each"
            raise CollsimError(message, entries=len(compute), layers=len(model.layers), name=model.name)
        return [_parse_layer_times(layer.name, value) for layer, value in zip(model.layers, compute, strict=True)]
    # A word that is neither a GPU nor a file is likelier a misspelt GPU than a time.
    if isinstance(compute, str) and compute[:1].isalpha():
        raise CollsimError(
            "compute: {unknown}, or give a time such as '97ms'", unknown=describe_unknown("GPU", compute, list_gpus())
        )
    return parse_time(compute, "compute")


def _parse_layer_times(name: str, value: LayerTime) -> tuple[float, float]:
    """Forward and backward in s."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        if len(value) != 2:
            message = "compute[{name!r}]={value!r} must be (forward, backward), or the forward alone"
            raise CollsimError(message, name=name, value=value)
        return parse_time(value[0], f"compute[{name!r}]"), parse_time(value[1], f"compute[{name!r}]")
    forward = parse_time(value, f"compute[{name!r}]")
    return forward, 2 * forward


def _estimate_task_seconds(step: TrainingStep, fast: GpuSpeed | None) -> Floats:
    """Seconds by the catalogue; 0 where there is none."""
    if fast is None:
        return np.zeros(len(step.tasks))
    if isinstance(fast, EagerSpeed):
        seconds = _estimate_eager_seconds(step, fast)
    else:
        seconds = _estimate_fused_seconds(step, fast)
    # What a task waits for does not belong to its box, and few boxes can be joins.
    joins = [box.kind == "copy" and not box.ops for box in step.tasks.boxes]
    for number, box in enumerate(step.tasks.box):
        if joins[box] and is_join(step, step.tasks[number]):
            seconds[number] = fast.join_time * (step.ranks > 1)
    return seconds


def _estimate_fused_seconds(step: TrainingStep, fast: GpuSpeed) -> Floats:
    """(tasks,) s, each by itself."""
    layers, known = step.model.layers, dict[int, float]()

    def estimate_box(task: StepTask) -> float:
        if task.layer_work:  # equal boxes share one tuple of work, which lives as long as the step
            # The same tuple of work is shared by many tasks of a step; its identity is the cheapest key.
            if id(task.layer_work) not in known:
                known[id(task.layer_work)] = fast.estimate_box_seconds(task.layer_work, layers)
            return known[id(task.layer_work)]
        if task.layer >= 0:
            layer_kind = (layers[task.layer].kind, layers[task.layer].width)
        else:
            layer_kind = (task.kind, 0)
        return fast.estimate_seconds(task.flops, task.memory_bytes, task.ops, *layer_kind, task.kind != "forward")

    return step.tasks.spread([estimate_box(box) for box in step.tasks.boxes])


def _estimate_eager_seconds(step: TrainingStep, speed: EagerSpeed) -> Floats:
    """(tasks,) s. The host launches the operations of a step ahead of the GPU, from its first layer to the optimizer: a
    layer begins when it is launched and the GPU is free, and ends no earlier than its last operation is launched. What
    more GPUs add (copies into buckets) is not among them: a pass takes as long on one GPU as on each of many."""
    boxes = [(box, *_estimate_eager_box(step, box, speed)) for box in step.tasks.boxes]
    seconds = step.tasks.spread([gpu for _, gpu, _ in boxes])
    clocks: dict[tuple[int, ...], tuple[float, float]] = {}  # s of host and GPU, which wait for each other at the begin
    for number, (box, gpu, host) in enumerate(boxes[i] for i in step.tasks.box):
        if box.is_compute and box.kind != "copy":
            launched, ended = clocks.get(box.lanes, (0.0, 0.0))
            end = max(max(launched, ended) + gpu, launched + host)
            seconds[number] = end - ended
            clocks[box.lanes] = launched + host, end
    return seconds


def _estimate_eager_box(step: TrainingStep, box: StepTask, speed: EagerSpeed) -> tuple[float, float]:
    """s of the GPU, and s of the host that launches its operations."""
    if not box.is_compute:
        return 0.0, 0.0
    layers = step.model.layers
    if box.layer_work:
        return speed.estimate_works(box.layer_work, layers)
    if box.layer >= 0:
        is_backward = box.kind != "forward"
        return speed.estimate_pass_seconds(layers[box.layer], box.flops, box.memory_bytes, box.ops, is_backward)
    if box.kind == "optimizer":
        return speed.estimate_optimizer_times(box.memory_bytes, step.optimizer, step.model)
    return speed.estimate_seconds(box.flops, box.memory_bytes, box.ops, box.kind, 0, True), 0.0


def is_join(step: TrainingStep, task: StepTask) -> bool:
    """Whether a task does nothing but wait for the allreduces of a backward pass."""
    works = task.ops or task.memory_bytes or task.flops
    return task.kind == "copy" and not works and any(step.tasks[i].kind == "allreduce" for i in task.dependencies)


def _scale_seconds(
    step: TrainingStep, modelled: Floats, fast: GpuSpeed | None, kinds: Sequence[str], total: float
) -> Floats:
    """All tasks of some kinds by one factor, so that those of one microbatch on one GPU take `total`; others stay."""
    counted = [timed for kind in kinds for timed in _KINDS[kind]]
    is_counted = np.array([t.kind in counted for t in step.tasks])
    lane = step.tasks[next(i for i, t in enumerate(step.tasks) if t.kind == "forward")].lanes
    # One microbatch on one GPU; in a pipeline it is on all stages, one after another.
    first_passes = [t.microbatch == 0 and (step.is_pipelined or t.lanes == lane) for t in step.tasks]
    timed = [i for i, is_first_pass in enumerate(first_passes) if is_counted[i] and is_first_pass]
    shape = modelled
    if fast is None:
        shape = np.array([t.flops for t in step.tasks])
    shape_total = float(shape[timed].sum())
    if not shape_total:  # a model without figures: every task takes as long
        shape, shape_total = is_counted.astype(float), float(max(1, len(timed)))
    return np.where(is_counted, shape * (total / shape_total), modelled)


def _apply_layer_times(
    step: TrainingStep, modelled: Floats, fast: GpuSpeed | None, layer_times: Mapping[str, tuple[float, float]]
) -> Floats:
    names = [layer.name for layer in step.model.layers]
    for name in layer_times:
        if name not in (*names, "optimizer"):
            raise CollsimError("compute: {unknown}", unknown=describe_unknown("layer", name, (*names, "optimizer")))
    missing = [name for name in names if name not in layer_times]
    if missing and fast is None:
        message = "compute leaves out layer {missing!r} ({count} in all), and the GPU is not known; give all"
        raise CollsimError(message, missing=missing[0], count=len(missing))
    seconds = modelled.copy()
    for i, task in enumerate(step.tasks):
        if task.layer_work:
            # A box of several layers is summed layer by layer, because only some of them may be measured.
            seconds[i] = _sum_box_seconds(step, task, fast, layer_times, names)
            continue
        name = ""
        if task.kind == "optimizer":
            name = "optimizer"
        elif task.layer >= 0:
            name = task.name
        times = layer_times.get(name)
        if times is not None:
            seconds[i] = times[task.kind == "backward"]
    return seconds


def _sum_box_seconds(
    step: TrainingStep,
    task: StepTask,
    fast: GpuSpeed | None,
    layer_times: Mapping[str, tuple[float, float]],
    names: list[str],
) -> float:
    """Of a box of several layers: of each what it takes on one GPU by itself, by its part of the layer's FLOPs (all of
    it where it has none); half of a backward pass is half of its time, a forward pass within one is that."""
    total, halves = 0.0, {"forward": 0.0, "backward": 2.0, "dgrad": 1.0, "wgrad": 1.0}[task.kind]
    seen: dict[int, int] = {}
    for w in task.layer_work:
        seen[w.layer] = seen.get(w.layer, 0) + 1
    # In units of the forward pass: a whole backward pass is two, one of its halves one.
    first: set[int] = set()
    for w in task.layer_work:
        layer = step.model.layers[w.layer]
        again = task.kind == "forward" or (seen[w.layer] > 1 and w.layer not in first)  # computed again comes first
        first.add(w.layer)
        if names[w.layer] not in layer_times:
            assert fast is not None
            total += fast.estimate_box_seconds((w,), step.model.layers)
            continue
        forward, backward = layer_times[names[w.layer]]
        layer_flops, spent = layer.flops * step.micro_batch, forward
        if not again:
            layer_flops, spent = layer_flops * halves, backward * halves / 2
        share = 1.0
        if layer_flops:
            share = w.flops / layer_flops
        total += share * spent
    return total


def resolve_interference(fast: GpuSpeed | None, interference: float | None) -> float:
    """Choose how much slower a GPU computes while it communicates.

    Args:
        fast: The GPU; None where it is not known.
        interference: Share of its speed that it loses, 0 to 1; None for the GPU's own, 0 where that is not known.

    Returns:
        The share.

    Raises:
        CollsimError: The share is no number from 0 to 1.
    """
    if interference is None:
        if fast is not None:
            return fast.interference
        return 0.0
    if isinstance(interference, bool) or not isinstance(interference, int | float) or not 0 <= interference <= 1:
        message = "interference={interference!r} must be from 0 (overlap is free) to 1 (overlap gains nothing)"
        raise CollsimError(message, interference=interference)
    return float(interference)
