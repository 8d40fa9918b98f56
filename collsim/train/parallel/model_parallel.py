"""Ways in which several GPUs share one replica of a model: layers (tensor), stages (pipeline), sequences (context),
experts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from ...errors import (
    CollsimError,
    Sentence,
    format_value,
    require_flags,
    require_list,
    require_short_range,
    require_word,
)
from ...errors.arguments import check_arguments
from ...limits import MAX_TASKS, require_few
from ...units import Duration, parse_count, parse_time
from ..pipelines.pass_orders import SCHEDULES, assign_stages, build_orders
from ..pipelines.pass_timing import PipelineTiming, time_passes
from ..pipelines.passes import PassOrder
from ..pipelines.pipeline_formulas import evaluate_formulas
from ..workload.expert_load import OVERLAPS, ExpertLoad, ExpertRouting, Imbalance, OverlapWith, parse_imbalance
from ..workload.model import Model
from .strategy import ParallelStrategy, register_strategy

#: Stages that a rank holds where a schedule says it.
_STAGES = {"gpipe": 1, "1f1b": 1, "zbv": 2, "dualpipe-v": 2}


@dataclass(frozen=True)
class TensorParallel(ParallelStrategy):
    """GPUs share every layer; `tensor(...)` makes one.

    Attributes:
        size: GPUs that share a layer.
        sequence: norms and dropout are cut along the sequence.

    Examples:
        >>> import collsim as cs
        >>> cs.train.TensorParallel(size=8) == cs.tensor(8)
        True
    """

    name: ClassVar[str] = "tensor"
    axis: ClassVar[str] = "tp"
    leading: ClassVar[tuple[str, ...]] = ("size",)
    size: int = 1
    sequence: bool = False

    def list_megatron_options(self) -> list[str]:
        """Where more than one GPU shares a layer."""
        if self.size == 1:
            return []
        return [f"--tensor-model-parallel-size {self.size}" + " --sequence-parallel" * self.sequence]


@dataclass(frozen=True)
class ContextParallel(ParallelStrategy):
    """GPUs share every sequence; `context(...)` makes one.

    Attributes:
        size: GPUs that share a sequence.

    Examples:
        >>> import collsim as cs
        >>> cs.train.ContextParallel(size=2) == cs.context(2)
        True
    """

    name: ClassVar[str] = "context"
    axis: ClassVar[str] = "cp"
    leading: ClassVar[tuple[str, ...]] = ("size",)
    size: int = 1

    def list_megatron_options(self) -> list[str]:
        """Where more than one GPU shares a sequence."""
        return [f"--context-parallel-size {self.size}"] * (self.size > 1)


@dataclass(frozen=True)
class ExpertParallel(ParallelStrategy):
    """GPUs share the experts; `expert(...)` makes one.

    Attributes:
        size: GPUs that share the experts of a layer.
        per_node: GPUs of a node, to which a token goes once; 0: a token goes to each of its experts by itself.
        imbalance: how unevenly tokens choose experts.
        capacity_factor: tokens that an expert takes, over the mean; 0: all that are routed to it.
        padded: whether buffers are filled up to that.
        overlap_with: what computes while tokens travel.
        max_nodes: to which a token goes; 0: to all that have an expert of it.

    Examples:
        >>> import collsim as cs
        >>> cs.train.ExpertParallel(size=8) == cs.expert(8)
        True
    """

    name: ClassVar[str] = "expert"
    axis: ClassVar[str] = "ep"
    leading: ClassVar[tuple[str, ...]] = ("size",)
    size: int = 1
    per_node: int = 0
    imbalance: str | float | tuple[float, ...] = "even"
    capacity_factor: float = 0.0
    padded: bool = False
    overlap_with: OverlapWith = "nothing"
    max_nodes: int = 0

    @property
    def routing(self) -> ExpertRouting:
        """How tokens are routed to experts."""
        nodes = 1
        if self.max_nodes:
            nodes = self.size // self.per_node
        return ExpertRouting(self.imbalance, self.capacity_factor, self.padded, nodes, self.max_nodes)

    def find_load(self, model: Model) -> ExpertLoad | None:
        """Find what each GPU has of the experts of a model.

        Args:
            model: The model; all of its mixtures have as many experts.

        Returns:
            The load of each GPU, and the share of tokens that is dropped; None where no layer has experts.

        Raises:
            CollsimError: The imbalance has counts of another number of experts or GPUs.

        Examples:
            >>> import collsim as cs
            >>> load = cs.expert(4, imbalance="hot").find_load(cs.train.model("mixtral-8x7b"))
            >>> f"{load.busiest:.3f}"  # 4 of 11 and 1 of 11 of the tokens, where 2 of 8 would be even
            '1.818'
        """
        layer = next((layer for layer in model.layers if layer.experts), None)
        if layer is None:
            return None
        return self.routing.find_load(layer.experts, layer.top_k, self.size)

    def format_option(self, name: str, value: object) -> str:
        """Write the value of an option as its call has it; counts as a short text.

        Args:
            name: Name of the option.
            value: Its value.

        Returns:
            The text.
        """
        if isinstance(value, tuple):
            value = ",".join(f"{count:g}" for count in value)
        return super().format_option(name, value)

    def list_megatron_options(self) -> list[str]:
        """Where more than one GPU shares the experts; each is cut by tensor parallelism too, unless told otherwise."""
        options = {
            f"--expert-model-parallel-size {self.size}": self.size > 1,
            f"--moe-expert-capacity-factor {self.capacity_factor:g}": self.capacity_factor > 0,
            "--moe-pad-expert-input-to-capacity": self.padded,
            f"--moe-router-num-groups {self.routing.nodes}": self.max_nodes > 0,
            f"--moe-router-group-topk {self.max_nodes}": self.max_nodes > 0,
            "--moe-shared-expert-overlap": self.overlap_with == "shared",
            "--overlap-moe-expert-parallel-comm": self.overlap_with == "batch",
        }
        return [option for option, is_used in options.items() if is_used]

    def find_missing_megatron_options(self) -> dict[str, bool]:
        """Megatron-LM does not cut a dispatch in parts."""
        return {"overlap_with='experts'": self.overlap_with == "experts"}


@dataclass(frozen=True)
class Pipeline(ParallelStrategy):
    """GPUs are stages; `pipeline(...)` makes one.

    Attributes:
        size: GPUs that are stages.
        schedule: order of the passes, such as `1f1b`.
        interleave: stages that a GPU holds.
        scatter: GPUs that share a layer send a part each between stages.

    Examples:
        >>> import collsim as cs
        >>> cs.pipeline(4, interleave=2).schedule
        'interleaved'
    """

    name: ClassVar[str] = "pipeline"
    axis: ClassVar[str] = "pp"
    leading: ClassVar[tuple[str, ...]] = ("size",)
    size: int = 1
    schedule: str = "1f1b"
    interleave: int = 1
    scatter: bool = False

    def list_changed_options(self) -> dict[str, object]:
        """Options that differ from their defaults; of the stages of a GPU, from those of its schedule."""
        changed = super().list_changed_options() | {"interleave": self.interleave}
        if self.interleave == _STAGES.get(self.schedule):
            del changed["interleave"]
        return {name: changed[name] for name in self.list_options() if name in changed}

    def with_options(self, **options: object) -> ParallelStrategy:
        """The same with other options; another schedule has as many stages as it has by itself.

        Args:
            options: Options to replace, as `pipeline` takes them.
        """
        if "schedule" in options and "interleave" not in options:
            options["interleave"] = None
        return super().with_options(**options)

    def list_megatron_options(self) -> list[str]:
        """Its pipelines are 1F1B and interleaved."""
        if self.size == 1:
            return []
        if self.schedule not in ("1f1b", "interleaved"):
            raise CollsimError("Megatron-LM has no {part}: its pipelines are 1F1B and interleaved", part=self.label)
        thin = ""
        if self.interleave > 1:
            thin = f" --num-virtual-stages-per-pipeline-rank {self.interleave}"
        return [f"--pipeline-model-parallel-size {self.size}{thin}"]

    def find_missing_megatron_options(self) -> dict[str, bool]:
        """It sends the whole between stages."""
        return {"scatter=True": self.scatter}

    def build_orders(self, microbatches: int) -> list[PassOrder]:
        """What every rank runs, in order. Raises CollsimError for numbers that the schedule cannot take.

        Args:
            microbatches: Microbatches that every rank runs in a step.
        """
        return build_orders(self.schedule, self.size, parse_count(microbatches, "microbatches"), self.interleave)

    @property
    def stage_ranks(self) -> list[int]:
        """The rank that holds each stage of the model."""
        return assign_stages(self.schedule, self.size, self.interleave)

    def time_passes(
        self,
        microbatches: int,
        forward: Duration = 1.0,
        backward: Duration = 2.0,
        hop: Duration = 0.0,
        weight: Duration | None = None,
    ) -> PipelineTiming:
        """When its passes run.

        Args:
            microbatches: how many go through the pipeline.
            forward: s of the forward pass of a microbatch on a rank (on all of its stages together).
            backward: s of its backward pass.
            hop: s from one rank to the next.
            weight: s of the backward pass that gives the gradients of weights, where it is split; half unless given.

        Returns:
            When each pass runs, and the bubble.

        Raises:
            CollsimError: For numbers of microbatches that the schedule cannot take.
        """
        m, v = parse_count(microbatches, "microbatches"), self.interleave
        f, b, h = (parse_time(t, name) for t, name in ((forward, "forward"), (backward, "backward"), (hop, "hop")))
        w = b / 2
        if weight is not None:
            w = parse_time(weight, "weight")
        if w > b:
            message = "weight={weight!r} is a part of backward={backward!r}, and longer than it"
            raise CollsimError(message, weight=weight, backward=backward)
        seconds = {"F": f / v, "B": b / v, "I": (b - w) / v, "W": w / v}
        timing = time_passes(self.build_orders(m), self.stage_ranks, seconds, h)
        whole = {kind: v * pass_seconds for kind, pass_seconds in seconds.items()}
        if h:
            return timing
        return replace(timing, formulas=evaluate_formulas(self.schedule, self.size, m, v, whole))


@register_strategy
@check_arguments
def tensor(t: int, sequence: bool = False) -> TensorParallel:
    """Tensor parallelism (Megatron-LM): so many GPUs share every layer.

    Args:
        t: GPUs that share a layer, 1 or more.
        sequence: norms and dropout are cut along the sequence (Korthikanti et al. 2022): as many bytes, less memory.

    Returns:
        A strategy, to be multiplied with others or used alone.

    Raises:
        CollsimError: For a number below 1.

    Examples:
        >>> import collsim as cs
        >>> (cs.tensor(8) * cs.pipeline(4) * cs.zero(1)).label
        'tensor(8) * pipeline(4) * zero(1)'
    """
    require_flags(sequence=sequence)
    return TensorParallel(parse_count(t, "tensor"), sequence)


@register_strategy
@check_arguments
def context(c: int) -> ContextParallel:
    """Context parallelism: so many GPUs share every sequence; keys and values go around a ring.

    Args:
        c: GPUs that share a sequence, 1 or more.

    Returns:
        A strategy, to be multiplied with others or used alone.

    Raises:
        CollsimError: For a number below 1.

    Examples:
        >>> import collsim as cs
        >>> (cs.context(2) * cs.ddp()).label
        'context(2) * ddp()'
    """
    return ContextParallel(parse_count(c, "context"))


@register_strategy
@check_arguments
def expert(
    e: int,
    per_node: int = 0,
    imbalance: Imbalance = "even",
    capacity_factor: float = 0.0,
    padded: bool = False,
    overlap_with: OverlapWith = "nothing",
    max_nodes: int = 0,
) -> ExpertParallel:
    """Expert parallelism: so many data parallel GPUs share the experts of a mixture; tokens go there and back.

    Args:
        e: GPUs that share the experts of a layer, 1 or more.
        per_node: GPUs of a node among them. A token then crosses the network once for each node that has an expert of
            it, and goes on over NVLink, once to each GPU (DeepEP). 0: it is sent once for each expert.
        imbalance: how unevenly tokens choose experts, in the words of alltoallv: `even`; `zipf`: the r-th expert has
            1/r of the first's tokens; `hot`: one has four times as many as each other; a number: the exponent of Zipf's
            law; counts: tokens of each expert, neighbours on one GPU, or of each GPU. Otherwise the busiest expert is
            on the first GPU, the next on the second, and so on in turn. An expert has each token at most once. The
            busiest GPU decides how long experts compute, and how long tokens travel: all wait for it.
        capacity_factor: tokens that an expert takes of each GPU, over the mean; more are dropped (GShard, Megatron-LM).
            0: none is dropped, buffers are as large as the routing asks for.
        padded: whether buffers are filled up to the capacity, so that all messages and matrices are as large.
        overlap_with: what computes while tokens travel. `nothing`; `experts`: tokens travel in four parts, and experts
            compute those that are there (Tutel, FasterMoE); `shared`: the expert that all tokens go through
            (Megatron-LM's moe_shared_expert_overlap); `batch`: a pass of another microbatch in the other direction,
            where the order of passes has one (DualPipe, Megatron-LM's overlap_moe_expert_parallel_comm).
        max_nodes: of its experts a token takes those on so many nodes of `per_node` GPUs at the most (DeepSeek-V3: 4;
            Megatron-LM's moe_router_group_topk). 0: no limit.

    Returns:
        A strategy, to be multiplied with others or used alone.

    Raises:
        CollsimError: For a number below 1, where nodes do not share the GPUs evenly, and for unknown words.

    Examples:
        >>> import collsim as cs
        >>> (cs.expert(8) * cs.ddp()).label
        'expert(8) * ddp()'
    """
    size, local = parse_count(e, "expert"), parse_count(per_node, "per_node", 0)
    if local and size % local:
        message = "expert({e}, per_node={local}): nodes do not have equally many of {e} GPUs"
        raise CollsimError(message, e=size, local=local)
    require_flags(padded=padded)
    factor = _parse_capacity(capacity_factor)
    if padded and not factor:
        raise CollsimError("padded=True fills buffers up to a capacity; give capacity_factor=1.25")
    require_word("overlap_with", overlap_with, OVERLAPS)
    limit = parse_count(max_nodes, "max_nodes", 0)
    if limit and not local:
        raise CollsimError("max_nodes={limit} is a number of nodes; say how many GPUs one has: per_node=8", limit=limit)
    if limit >= size // max(1, local):
        limit = 0  # no token could go to more
    return ExpertParallel(size, local, parse_imbalance(imbalance), factor, padded, overlap_with, limit)


def _parse_capacity(value: object) -> float:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not 0 <= float(value) < math.inf:  # type: ignore[arg-type]
        message = "capacity_factor={value} must be a number of 0 or more: tokens that an expert takes, over the mean"
        raise CollsimError(message, value=format_value(value))
    return float(value)  # type: ignore[arg-type]


@register_strategy
@check_arguments
def pipeline(p: int, schedule: str = "1f1b", interleave: int | None = None, scatter: bool = False) -> Pipeline:
    """Pipeline parallelism: so many GPUs are stages of the model.

    `pipeline(p, ...).time_passes(microbatches, forward=, backward=, hop=)` says when passes run by themselves. With one
    microbatch it is a model split by layers, in which one GPU works at a time.

    Args:
        p: GPUs that are stages, 1 or more.
        schedule: gpipe, 1f1b, interleaved, zero-bubble (torch's ScheduleInterleavedZeroBubble), zbv, dualpipe-v.
        interleave: stages that a GPU holds: 2 unless given where a schedule interleaves.
        scatter: GPUs that share a layer send a part each of what they all have, and gather it on arrival (Narayanan et
            al. 2021, section 4.1; Megatron-LM until 2022; DeepSpeed, deepspeed/runtime/pipe/engine.py,
            is_pipe_partitioned). With sequence parallelism each has a part anyway.

    Returns:
        A strategy, to be multiplied with others or used alone.

    Raises:
        CollsimError: For unknown schedules, and for stages that a schedule does not have.

    Examples:
        >>> import collsim as cs
        >>> timing = cs.pipeline(4).time_passes(microbatches=8, forward=1.0, backward=2.0)
        >>> timing.time, round(timing.bubble, 3)  # (m + p - 1) (F + B), (p - 1) / (m + p - 1)
        (33.0, 0.273)
    """
    require_word("schedule of a pipeline", schedule, SCHEDULES)
    size = parse_count(p, "pipeline")
    stages = None
    if interleave is not None:
        stages = parse_count(interleave, "interleave")
    if schedule == "1f1b" and stages not in (None, 1):
        schedule = "interleaved"
    default_stages = _STAGES.get(schedule)
    many = stages or default_stages or 2
    if default_stages is not None and many != default_stages:
        raise CollsimError(
            "interleave={many}: in {schedule} a GPU holds {stages} of the model",
            many=many,
            schedule=schedule,
            stages=Sentence("{count} stages" if default_stages > 1 else "{count} stage", count=default_stages),
        )
    require_flags(scatter=scatter)
    require_few("stages of a pipeline", size * many, MAX_TASKS, "use fewer GPUs or a smaller interleave")
    return Pipeline(size, schedule, many, scatter)


@check_arguments
def time_schedules(
    p: int,
    microbatches: int,
    forward: Duration = 1.0,
    backward: Duration = 2.0,
    hop: Duration = 0.0,
    *,
    interleave: int = 2,
    schedules: Sequence[str] = SCHEDULES,
) -> dict[str, tuple[Pipeline, PipelineTiming] | CollsimError]:
    """Time several schedules with the same passes.

    Args:
        p: GPUs that are stages.
        microbatches: how many go through the pipeline.
        forward: s of the forward pass of a microbatch on a rank (on all of its stages together).
        backward: s of its backward pass.
        hop: s from one rank to the next.
        interleave: stages of a GPU, where a schedule leaves that open.
        schedules: names of schedules, as `pipeline` takes them.

    Returns:
        For each name the pipeline with its timing, or the error that says why it cannot be.

    Raises:
        CollsimError: Where `schedules` is no list.

    Examples:
        >>> import collsim as cs
        >>> timings = cs.train.time_schedules(4, microbatches=8, schedules=["1f1b", "interleaved"])
        >>> {name: round(timing.bubble, 2) for name, (_, timing) in timings.items()}
        {'1f1b': 0.27, 'interleaved': 0.16}
    """
    require_list("schedules", schedules, "['gpipe', '1f1b']")
    require_short_range("schedules", schedules)
    out: dict[str, tuple[Pipeline, PipelineTiming] | CollsimError] = {}
    for name in schedules:
        try:
            pipe = pipeline(p, name, None if name in _STAGES else interleave)
            out[name] = pipe, pipe.time_passes(microbatches, forward, backward, hop)
        except CollsimError as error:
            out[name] = error
    return out
