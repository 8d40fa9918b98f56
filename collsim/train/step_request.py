"""Entry point of `training_step`: check the request, build the TrainingStep, time it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from itertools import islice
from numbers import Integral
from typing import Any, Literal, TypeAlias, TypedDict, get_args
from weakref import WeakKeyDictionary

import numpy as np

from ..dtypes import Floats
from ..errors import CollsimError, Sentence, describe_unknown, join_words, require_flags, require_word
from ..errors.arguments import check_arguments
from ..rank_engine.garbage_collection import pause_collection
from ..simulate.conditions import Background
from ..topology import Topology
from ..topology.machine_builder import Machine
from ..topology.parts.rank_selection import select_ranks
from ..topology.parts.shared_gpus import refuse_shared_gpus
from ..topology_names import TopologyLike, resolve_topology
from ..units import ByteSize, RankSelection, format_bytes, format_time, parse_bytes, parse_count
from .compute.compute_costs import (
    EAGER,
    FUSED,
    Compute,
    ComputeCosts,
    add_kernels,
    estimate_compute_costs,
    resolve_interference,
)
from .compute.eager_memory import add_eager_memory
from .compute.eager_speed import EagerSpeed
from .compute.gpu_speeds import find_step_dtype
from .memory import MEMORY_KINDS
from .model_families import model as model_named
from .parallel.strategy import OPTIMIZERS, Optimizer, ParallelStrategy, Workload
from .parallel.strategy_parser import parse_strategy
from .step_trace import StepTrace
from .timing.isolated_timing import time_alone
from .workload.collective_model import CollectiveModel, CollectiveSource
from .workload.model import Model
from .workload.step_graph import TrainingStep
from .workload.transformer import RECOMPUTE, Recompute

#: How collectives are timed: each by itself, or all on links that they share.
CollectiveTiming: TypeAlias = Literal["alone", "shared"]
NETWORKS: tuple[CollectiveTiming, ...] = get_args(CollectiveTiming)
#: A step from which on nothing changes any more, whatever the options (static_graph rebuilds after the second).
STEADY_STEP = 3


class TrainingStepSettings(TypedDict, total=False):
    """Options of `training_step` that have one meaning in every function that times steps."""

    micro_batch: int | None
    network: CollectiveTiming
    compute: Compute
    optimizer: Optimizer
    interference: float | None
    ranks: RankSelection | int | None
    collectives: CollectiveSource
    memory: ByteSize | None
    step: int
    background: Background | None
    recompute: Recompute
    slow: Mapping[int, float] | None
    eager: bool


class TrainingStepOptions(TrainingStepSettings, total=False):
    """The same with the batch, for functions that have `dtype` and `algorithm` of their own."""

    batch: int | None


class ScalingOptions(TrainingStepSettings, total=False):
    """The same with types and algorithms, for a study that says the batch itself."""

    dtype: str
    algorithm: str | None


@dataclass(frozen=True, eq=False, kw_only=True)
class StepArguments:
    """The arguments of `training_step`, as they were given.

    Attributes:
        model: a Model, or a name of `cs.models()`.
        machine: a Topology, or the name of a machine.
        parallel: how the step is split over GPUs, or its text.
        batch: samples of the step over all GPUs and microbatches; None: it follows from `micro_batch`.
        micro_batch: samples of a replica of the model at a time; None: it follows from `batch`, and is 1 in a pipeline.
        network: `alone` times each collective by itself; `shared` runs all of them on the event engine.
        compute: how fast GPUs compute; None: as the machine's GPU.
        dtype: float32, float16 or bfloat16: what is computed in.
        optimizer: adam, momentum, sgd or none.
        interference: share of its speed that a GPU loses while it communicates, 0 to 1; None: the GPU's own.
        ranks: which GPUs take part, or how many; None: all.
        collectives: `nccl`: as long as NCCL takes; `links`: what the links alone take.
        algorithm: of allreduces, on links; None: the library's choice.
        memory: of a GPU, bytes or text; None: the GPU's own.
        step: which step of the run, from 1.
        background: other traffic, with `network="shared"`; None: there is none.
        recompute: activations that are computed again in the backward pass: none, selective, full or alternate.
        slow: rank -> how many times as long it computes; None: no rank is slow.
        eager: with `network="shared"`, a send waits only until the bytes before it have left.
    """

    model: Model | str
    machine: TopologyLike
    parallel: ParallelStrategy | str
    batch: int | None = None
    micro_batch: int | None = None
    network: CollectiveTiming = "alone"
    compute: Compute = None
    dtype: str = "float32"
    optimizer: Optimizer = "adam"
    interference: float | None = None
    ranks: RankSelection | int | None = None
    collectives: CollectiveSource = "nccl"
    algorithm: str | None = None
    memory: ByteSize | None = None
    step: int = STEADY_STEP
    background: Background | None = None
    recompute: Recompute = "none"
    slow: Mapping[int, float] | None = None
    eager: bool = False


@dataclass(frozen=True, eq=False, kw_only=True)
class StepRequest(StepArguments):
    """Checked arguments of `training_step`, with what was left out filled in; the other fields are as in
    `StepArguments`.

    Attributes:
        model: the model, also where its name was given.
        topology: the machine.
        parallel: how the step is split over GPUs, also where its text was given.
        batch: samples of the step over all GPUs and microbatches.
        micro_batch: samples of a replica of the model at a time.
        accumulate: microbatches of the step.
        ranks: the topology's ranks that take part.
        slow: rank -> how many times as long it computes; empty where no rank is slow.
        rank_selection: `ranks` as it was given, which another machine may read otherwise.
    """

    model: Model
    topology: Topology
    parallel: ParallelStrategy
    batch: int
    micro_batch: int
    accumulate: int
    ranks: tuple[int, ...]
    slow: Mapping[int, float]
    rank_selection: RankSelection | int | None


@check_arguments
def training_step(
    model: Model | str,
    machine: TopologyLike,
    *,
    parallel: ParallelStrategy | str,
    batch: int | None = None,
    micro_batch: int | None = None,
    network: CollectiveTiming = "alone",
    compute: Compute = None,
    dtype: str = "float32",
    optimizer: Optimizer = "adam",
    interference: float | None = None,
    ranks: RankSelection | int | None = None,
    collectives: CollectiveSource = "nccl",
    algorithm: str | None = None,
    memory: ByteSize | None = None,
    step: int = STEADY_STEP,
    background: Background | None = None,
    recompute: Recompute = "none",
    slow: Mapping[int, float] | None = None,
    eager: bool = False,
) -> StepTrace:
    """Time one step of training.

    Args:
        model: a Model, or a name of `cs.models()`.
        machine: a Topology, or the name of a machine.
        parallel: `ddp(...)`, `zero(...)`, `fsdp(...)`, a product of one of these with `tensor(t)`, `context(c)`,
            `expert(e)` and `pipeline(p)`, `data_parallel()` or `parameter_server(...)`; or the same as text, such as
            `"ddp"` or `"tensor(8) * ddp()"`.
        batch: samples of the step over all GPUs and microbatches. It or `micro_batch` is required.
        micro_batch: samples of a replica of the model (of a GPU, where GPUs do not share one) at a time. Each follows
            from the other and the number of microbatches; in a pipeline it is 1 unless given. Accumulation of
            gradients is an option of the strategy: `ddp(accumulate=4)`.
        network: `"alone"` times each collective by itself, once; `"shared"` runs all of them on the event engine, so
            that what is under way at the same time shares links.
        compute: how fast GPUs compute, see `collsim.train.compute.compute_costs`: None (the machine's GPU),
            `"fused"` (with the fused kernels of published runs), `"eager"` (in eager PyTorch, as a lone H100, H200 or
            H800 unless this says another), `"A100"`, `"A100 eager"`, measured seconds of a microbatch (`"97ms"`),
            seconds of layers, or a PyTorch profiler's trace.
        dtype: float32, float16 or bfloat16: what is computed in; gradients stay in the model's own type.
        optimizer: adam, momentum, sgd or none.
        interference: share of its speed that a GPU loses while it communicates, 0 to 1; the GPU's own unless
            given, 0 where overlap is to be free.
        ranks: which GPUs take part; all unless given. A list of ranks, or their number where that fills all nodes
            alike.
        collectives: `"nccl"`: on machines as long as NCCL takes; `"links"`: what the links alone take.
        algorithm: of allreduces, on links.
        memory: of a GPU, bytes or text such as `"40GiB"`; the GPU's own unless given.
        step: which step of the run, from 1; the steady state unless given.
        background: with `network="shared"`, other traffic: rows (src rank, dst rank, nbytes) or (..., start in s).
        recompute: activations that are not kept but computed again in the backward pass: none, selective (the scores of
            attention), full (of a block all but its input) or alternate (that of every second block, as PyTorch's
            selective checkpointing does: torchtitan/distributed/activation_checkpoint.py).
        slow: stragglers: rank to how many times as long it computes (in `simulate` `slow` is a factor on cables). GPUs
            of its lane wait for it, so all of the lane takes as long: that is the replica that the others wait for.
        eager: how messages are sent, not PyTorch's eager mode: with `network="shared"`, True lets a send wait until the
            bytes before it have left, as in `simulate`.

    Returns:
        When every task of the step runs, with its time, what GPUs wait for, and the memory that they need.

    Raises:
        CollsimError: For what does not fit: the batch on the GPUs, the model in their memory, ranks on nodes.

    Examples:
        >>> import collsim as cs
        >>> cs.training_step("resnet18", "dgx-a100", parallel=cs.ddp(), batch=256)  # doctest: +ELLIPSIS
        <StepTrace resnet18, ddp() on dgx-a100: ... ms>
    """
    return _time_request(parse_request(StepArguments(**locals())), None)


def parse_request(arguments: StepArguments) -> StepRequest:
    """Check the arguments of `training_step`.

    Args:
        arguments: The arguments as they were given.

    Returns:
        The request, with what was left out filled in.

    Raises:
        CollsimError: An argument is wrong, or does not go with another.
    """
    model, topology, parallel = _require_parts(arguments)
    require_word("network of a training step", arguments.network, NETWORKS)
    require_word("optimizer", arguments.optimizer, OPTIMIZERS)
    # The strategy is built for this recomputation, which changes its units.
    parallel = parallel.select_builder(require_word("recompute", arguments.recompute, RECOMPUTE))
    if arguments.background is not None and arguments.network != "shared":
        raise CollsimError("background traffic shares links with collectives: it needs network='shared'")
    ranks = _parse_ranks(arguments.ranks, topology)
    replicas, micro_batch = parallel.count_replicas(len(ranks)), arguments.micro_batch
    # With one microbatch a pipeline has no overlap at all, which nobody means by leaving it out.
    if micro_batch is None and parallel.stage_count > 1 and not parallel.accumulate:
        micro_batch = 1  # as many microbatches as there can be: with one, stages would work one at a time
    batch, micro, accumulate = _resolve_batch(arguments.batch, micro_batch, parallel.accumulate, replicas)
    checked = {
        "model": model,
        "parallel": parallel,
        "batch": batch,
        "micro_batch": micro,
        "ranks": ranks,
        "dtype": find_step_dtype(arguments.dtype),
        "step": parse_count(arguments.step, "step"),
        "slow": _parse_stragglers(arguments.slow, ranks),
        "eager": _parse_eager(arguments.eager, arguments.network),
    }
    selection = arguments.ranks
    return StepRequest(
        **{**vars(arguments), **checked}, topology=topology, accumulate=accumulate, rank_selection=selection
    )


def _require_parts(arguments: StepArguments) -> tuple[Model, Topology, ParallelStrategy]:
    """The model, the machine and the strategy, found by their names; refuse what is none."""
    model, topology, parallel = arguments.model, arguments.machine, arguments.parallel
    if isinstance(model, str):
        model = model_named(model)
    if isinstance(topology, str | Machine):
        topology = resolve_topology(topology, "training_step")
    if isinstance(parallel, str):
        parallel = parse_strategy(parallel)
    for what, value, kind, constructor in (
        ("model", model, Model, "model('resnet50')"),
        ("machine", topology, Topology, "machine('dgx-a100', nodes=2)"),
        ("parallel", parallel, ParallelStrategy, "ddp()"),
    ):
        if not isinstance(value, kind):
            message = "training_step: {what}={value!r} is no {kind}; make one with {way}"
            raise CollsimError(message, what=what, value=value, kind=kind.__name__, way=constructor)
    return model, topology, parallel


def _parse_eager(value: object, network: str) -> bool:
    """Check `eager`, a rule of sending of the event engine."""
    require_flags(eager=value)
    if value and network != "shared":
        raise CollsimError("eager=True is a rule of the event engine, so it needs network='shared'")
    return bool(value)


def _parse_ranks(wanted: Any, topology: Topology) -> tuple[int, ...]:
    n = topology.ranks
    if wanted is None:
        return tuple(range(n))
    if isinstance(wanted, Integral) and not isinstance(wanted, bool):
        return tuple(select_ranks(topology, int(wanted)).tolist())
    try:
        # `islice` keeps an endless iterator from being read to its end.
        items = tuple(islice(wanted, n + 1))
    except TypeError:
        items = (None,)
    if not all(isinstance(r, Integral) and not isinstance(r, bool) for r in items):
        raise CollsimError("ranks={value!r} must be a list of ranks, or their number", value=wanted)
    listed = tuple(map(int, items))
    if len(listed) <= n:
        refuse_shared_gpus(topology, listed)
    if not listed or len(listed) > n or not all(0 <= r < n for r in listed):
        message = "ranks={value!r} must be different ranks of {name}, which has 0 to {last}"
        raise CollsimError(message, value=wanted, name=topology.name, last=n - 1)
    return listed


def _resolve_batch(batch: int | None, micro: int | None, accumulate: int | None, ranks: int) -> tuple[int, int, int]:
    """Samples of the step, of a microbatch, and how many microbatches; any that was not given follows from the
    others."""
    many = accumulate or 1
    if batch is None and micro is None:
        raise CollsimError("say how many samples: batch=256 (over all GPUs), or micro_batch=32 (of one)")
    if batch is None:
        size = parse_count(micro, "micro_batch")
        return size * ranks * many, size, many
    total = parse_count(batch, "batch")
    if micro is not None:
        size = parse_count(micro, "micro_batch")
        # Both were given, so they must agree; the message has the next number that does.
        if total % (size * ranks) or (accumulate is not None and total != size * ranks * accumulate):
            wanted = Sentence("{size} × {ranks} GPUs", size=size, ranks=ranks)
            if accumulate:
                wanted += Sentence(" × accumulate={accumulate}", accumulate=accumulate)
            message = "batch={total} is not micro_batch={wanted}; the next that is: {next}"
            raise CollsimError(message, total=total, wanted=wanted, next=_round_up_batch(total, size * ranks * many))
        return total, size, total // (size * ranks)
    if total % (ranks * many):
        gpu_count = Sentence("{ranks} GPUs", ranks=ranks)
        if many > 1:
            gpu_count += Sentence(" × accumulate={many}", many=many)
        message = "batch={total} cannot be shared evenly by {each}; the next that can is {next}"
        raise CollsimError(message, total=total, each=gpu_count, next=_round_up_batch(total, ranks * many))
    return total, total // (ranks * many), many


def _round_up_batch(total: int, unit: int) -> int:
    return -(-total // unit) * unit


# ---- running --------------------------------------------------------------------------------------------------------


def build_requested_step(request: StepRequest) -> TrainingStep:
    """Build the TrainingStep of a request.

    Args:
        request: The request.

    Returns:
        The step.

    Raises:
        CollsimError: It would have too many tasks.
    """
    return replace(request.parallel.build_step(build_workload(request)), optimizer=request.optimizer)


def build_workload(request: StepRequest) -> Workload:
    """Collect what the step is built for.

    Args:
        request: The request.

    Returns:
        Model, GPUs, samples and types of the step.
    """
    q = request
    nodes = q.topology.devices.node[q.topology.endpoint_device[list(q.ranks)]]
    sizes = len(np.unique(nodes)), q.batch, q.micro_batch, q.accumulate
    return Workload(q.model, q.ranks, *sizes, q.dtype, q.optimizer, q.step, q.recompute)


def get_collective_model(request: StepRequest) -> CollectiveModel:
    """Get what times the collectives of a request. What was computed for a topology is stored as long as that lives.

    Args:
        request: The request.

    Returns:
        Times and schedules of collectives on its topology.
    """
    known = _NETWORKS.setdefault(request.topology, {})
    choice = request.collectives, request.algorithm
    key = repr(choice)  # whatever was given: Collectives checks it
    if key not in known:
        known[key] = CollectiveModel(replace(request.topology), *choice)  # a copy: what is kept must not hold the key
    return known[key]


_NETWORKS: WeakKeyDictionary[Topology, dict[str, CollectiveModel]] = WeakKeyDictionary()


@pause_collection()  # a step is millions of small objects that all stay
def _time_request(request: StepRequest, previous: StepTrace | None) -> StepTrace:
    step = build_requested_step(request)
    cost = estimate_compute_costs(step, request.topology, request.compute)
    if isinstance(cost.speed, EagerSpeed):
        step = add_eager_memory(step, cost.speed)
    slower = resolve_interference(cost.speed, request.interference)
    network = get_collective_model(request)
    # A straggler slows the computing of its lane; collectives then wait for it by themselves.
    if request.slow:
        cost = replace(cost, seconds=cost.seconds * _compute_slowdowns(step, request.slow))
    seconds = cost.seconds + network.time_collectives(step)
    more: dict[str, Any] = {"previous": previous, "notes": _write_notes(request, network, cost, step)}
    if request.network == "alone":
        begin, end = time_alone(step, seconds, slower)
    else:
        # The shared timing brings the event engine and its compiler, which alone-timing does not need.
        from .timing.shared_timing import RunningStep, time_shared

        timing = time_shared([RunningStep(step, seconds, slower)], network, request.background, request.eager)[0]
        begin, end, more["link_bytes"] = timing.begin, timing.end, timing.link_bytes
    trace = StepTrace(step, request.topology, begin, end, cost, slower, request, **more)
    _require_memory(trace)
    return trace


def _parse_stragglers(factors: Mapping[int, float] | None, ranks: tuple[int, ...]) -> dict[int, float]:
    """Stragglers, checked. Raises CollsimError for ranks that take no part, and for factors below 1."""
    out: dict[int, float] = {}
    if factors is None:
        return out
    if not isinstance(factors, Mapping):
        message = (
            "slow={slow!r} must be a dict of ranks and how many times as long each computes, for example {{0: 1.5}}"
        )
        raise CollsimError(message, slow=factors)
    for rank, factor in factors.items():
        # A numpy number is a number as well; a bool is not.
        is_valid = isinstance(factor, int | float | np.integer) and not isinstance(factor, bool) and 1 <= factor < 1e6
        if isinstance(rank, bool) or rank not in ranks or not is_valid:
            raise CollsimError(
                "slow={{{rank!r}: {factor!r}}}: name a rank that takes part, and how many times as long it computes "
                "(1.5)",
                rank=rank,
                factor=factor,
            )
        out[int(rank)] = float(factor)
    return out


def _compute_slowdowns(step: TrainingStep, slow: Mapping[int, float]) -> Floats:
    """(tasks,) how many times as long each computes: as long as the slowest GPU of its lanes."""
    lanes = [max([1.0, *(slow[rank] for rank in slow if rank in ranks)]) for ranks in step.lanes]
    boxes = step.tasks.boxes
    return step.tasks.spread([max(lanes[lane] for lane in box.lanes) if box.is_compute else 1.0 for box in boxes])


def _write_notes(
    request: StepRequest, network: CollectiveModel, cost: ComputeCosts, step: TrainingStep
) -> tuple[str, ...]:
    if not step.collectives:
        return ()
    taken = "collectives take what the links alone take: no launch, no protocol"
    if any(network.is_predicted(step.get_ranks(task), task) for task in network.list_distinct(step)):
        taken = "collectives take what NCCL's model says of this machine"
    if not cost.wait_time:
        return (taken,)
    lost = f"a pass loses {format_time(cost.wait_time)} at each collective that it waits for, beside what that takes"
    return taken, lost


def _require_memory(trace: StepTrace) -> None:
    """Refuse a step that no GPU could hold, and say what would fit."""
    # Without the GPU's capacity nothing can be refused.
    request, fast = trace.request, trace.costs.speed
    if request.memory is not None:
        capacity: float = parse_bytes(request.memory, "memory")
    elif fast is not None:
        capacity = fast.capacity
    else:
        return
    if trace.memory.bound() <= capacity:
        return
    peak_bytes = trace.memory.peak()
    need = sum(peak_bytes.values())
    if need <= capacity:
        return
    listed = join_words(
        Sentence("{kind} {size}", kind=MEMORY_KINDS[kind], size=format_bytes(size))
        for kind, size in sorted(peak_bytes.items(), key=lambda item: -item[1])
        if size
    )
    if not request.parallel.holds_model:
        remedy = _describe_nearest_fit(request, capacity)
    elif most := _find_fitting_micro_batch(trace, capacity):
        # Fewer samples at a time is the cheapest remedy; splitting the model comes after it.
        remedy = Sentence("micro_batch={most} would fit", most=most)
    else:
        remedy = Sentence(
            "even without activations it does not fit: the model has to be split over GPUs; {split}",
            split=_describe_nearest_fit(request, capacity),
        )
    raise CollsimError(
        "{name} does not fit: {need} on a GPU of {memory} ({listed}); {way}",
        name=request.model.name,
        need=format_bytes(need),
        memory=_format_capacity(capacity),
        listed=listed,
        way=remedy,
    )


def _format_capacity(size: float) -> str:
    """Bytes of a GPU, also as its maker counts them: "80 GB = 74.5 GiB"."""
    text = format_bytes(size)
    if size >= 1e9 and size % 1e8 == 0:
        return f"{size / 1e9:g} GB = {text}"
    return text


def _find_fitting_micro_batch(trace: StepTrace, capacity: float) -> int:
    """A microbatch that fits, by what activations leave at the fullest moment, which may then be another; 0 where none
    does."""
    request = trace.request
    peak_bytes, micro = trace.memory.peak(), request.micro_batch
    while (need := sum(peak_bytes.values())) > capacity:
        moving = sum(size for kind, size in peak_bytes.items() if kind in ("activations", "inputs and outputs"))
        if not moving or (fits := int(micro * (capacity - (need - moving)) / moving)) < 1:
            return 0
        micro = min(fits, micro - 1)
        batch = micro * (request.batch // request.micro_batch)
        smaller = replace(request, micro_batch=micro, batch=batch, network="alone", background=None, memory=2**60)
        peak_bytes = _time_request(smaller, None).memory.peak()
    return micro


def _describe_nearest_fit(request: StepRequest, capacity: float) -> Sentence:
    """The nearest split that fits, in words; a search where the GPU is known."""
    from .split_search import find_nearest_fit

    nearest = find_nearest_fit(request, capacity)
    if nearest is None:
        return Sentence("no split over {count} GPUs fits: use more of them", count=len(request.ranks))
    return Sentence(
        "the nearest split that fits is {parallel} with micro_batch={micro_batch} and recompute={recompute!r} "
        "({memory} by estimate)",
        parallel=nearest["parallel"],
        micro_batch=nearest["micro_batch"],
        recompute=nearest["recompute"],
        memory=format_bytes(nearest["memory"]),
    )


# ---- what if --------------------------------------------------------------------------------------------------------


def change_step(trace: StepTrace, changes: Mapping[str, Any]) -> StepTrace:
    """Time the step of a trace with something changed; see `StepTrace.what_if`.

    Args:
        trace: The step as it ran.
        changes: New values by name.

    Returns:
        The changed step, which knows the one before.

    Raises:
        CollsimError: Nothing is changed, or something that cannot be.
    """
    was, now = time_by_one_model(trace, _time_changed(trace, changes))
    return replace(now, previous=was)


def _time_changed(trace: StepTrace, changes: Mapping[str, Any]) -> StepTrace:
    """The changed step as its own arguments say."""
    request = trace.request
    arguments: dict[str, Any] = {f.name: getattr(request, f.name) for f in fields(StepArguments)}
    arguments |= {"machine": request.topology, "ranks": request.rank_selection}
    if not changes:
        raise CollsimError(
            "what_if wants something to change, for example what_if(overlap=False) or what_if(network=2)"
        )
    options = request.parallel.list_options()
    # Where the caller fixed batch and microbatch, one of them must give way to a change of the other.
    follow = not request.parallel.holds_model or request.accumulate != (request.parallel.accumulate or 1)
    changed_options: dict[str, Any] = {}  # `follow`: the number of microbatches follows from the batch and what is one
    for name, value in changes.items():
        if name == "network" and not isinstance(value, str):
            # A number for `network` is a factor on all links; a word chooses how collectives are timed.
            arguments["machine"] = _scale_links(arguments["machine"], _parse_factor(value))
        elif name == "first_step":
            require_flags(first_step=value)
            arguments["step"] = 1 if value else STEADY_STEP
        elif name in options:
            changed_options[name] = value
        elif name in arguments:
            arguments[name] = value
            if name in ("batch", "micro_batch") and not follow:
                arguments["micro_batch" if name == "batch" else "batch"] = None
        else:
            raise CollsimError(
                describe_unknown(
                    Sentence("change of a step with {parallel}", parallel=request.parallel.label),
                    name,
                    [*arguments, *options, "first_step"],
                )
            )
    if changed_options:
        # A strategy is immutable: options that belong to it make another one.
        strategy = arguments["parallel"]
        if isinstance(strategy, str):
            strategy = parse_strategy(strategy)
        arguments["parallel"] = strategy.with_options(**changed_options)
        if "accumulate" in changed_options:
            arguments["batch"] = None
    changed = parse_request(StepArguments(**arguments))
    if (len(changed.ranks) == 1) != (len(request.ranks) == 1):
        # One GPU that becomes many, and many that become one, keep their kernels.
        kernels = EAGER if isinstance(trace.costs.speed, EagerSpeed) else FUSED
        changed = replace(changed, compute=add_kernels(changed.compute, kernels))
    return _time_request(changed, trace)


def time_by_one_model(was: StepTrace, now: StepTrace) -> tuple[StepTrace, StepTrace]:
    """Time two steps that are compared by one model.

    NCCL's model knows launches and protocols, which the links alone do not have. It knows no parameter server, no cable
    that was changed alone and no PCIe of an unknown generation. So where it would time one of the steps and cannot time
    the other, the links time both.

    Args:
        was: A step.
        now: Another.

    Returns:
        The two; as they are where one model has timed both, or where it knows both and `collectives=` differs, as
        somebody compares the models.
    """
    known = [is_timed_by_nccl(trace) for trace in (was, now)]
    if all(known) or (not any(known) and was.request.collectives == now.request.collectives):
        return was, now
    on_links = []
    for trace in (was, now):
        if trace.request.collectives != "links":
            trace = replace(_time_changed(trace, {"collectives": "links"}), previous=trace.previous)
        on_links.append(trace)
    return on_links[0], on_links[1]


def is_known_to_nccl(request: StepRequest) -> bool:
    """Whether NCCL's model knows all collectives of a step.

    Args:
        request: Checked arguments of `training_step`.
    """
    return request.parallel.uses_nccl and request.algorithm is None


def is_timed_by_nccl(trace: StepTrace) -> bool:
    """Whether NCCL's model would time all collectives of a step that NCCL has, on its machine as it is.

    Args:
        trace: The step.
    """
    network = get_collective_model(replace(trace.request, collectives="nccl"))
    return is_known_to_nccl(trace.request) and network.predicts_all(trace.step)


def _scale_links(topology: Topology, factor: float) -> Topology:
    """All links so many times as fast; the same Topology for the same question, whose collectives are known then."""
    known = _SCALED_TOPOLOGIES.setdefault(topology, {})
    if factor not in known:
        known[factor] = topology.scaled(by=factor)
    return known[factor]


_SCALED_TOPOLOGIES: WeakKeyDictionary[Topology, dict[float, Topology]] = WeakKeyDictionary()


def _parse_factor(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer) or not 1e-6 < value < 1e6:
        message = "network={value!r} must be a factor above 0 (2: twice as fast), or one of {networks}"
        raise CollsimError(message, value=value, networks=", ".join(NETWORKS))
    return float(value)
