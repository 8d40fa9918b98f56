"""A step of training for real: every rank is a process whose computing is a sleep and whose collectives are sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from ..display.progress import open_progress
from ..errors import CollsimError, format_value
from ..errors.arguments import check_arguments
from ..topology import Topology
from ..train import ParallelStrategy, StepTrace, ddp, training_step
from ..train.compute.compute_costs import Compute
from ..train.workload.model import Layer, Model
from ..units import Bandwidth, ByteSize, Duration, format_bytes, parse_bandwidth, parse_bytes, parse_count, parse_time
from .launch import lead_runs
from .prediction import build_imitated_topology
from .rank_steps import StepPlan
from .ranks.emulated_network import ImitatedNetwork
from .ranks.stepping import StepOutcome
from .real_run import (
    ALPHA,
    BANDWIDTH,
    MAX_RANKS,
    TIME_LIMIT,
    count_processors,
    parse_repeat,
    require_correct,
    require_real_size,
    require_time_limit,
)
from .real_step import RealStep

_COMPUTE, _ITEM = "20ms", 4
#: Equal layers of a model that is made up: far more than a real step of a minute sends one by one.
MAX_LAYERS = 1000


@check_arguments
def training_step_for_real(
    model: Model | str,
    ranks: int = 4,
    *,
    parallel: ParallelStrategy | None = None,
    batch: int | None = None,
    compute: Compute = _COMPUTE,
    alpha: Duration = ALPHA,
    bandwidth: Bandwidth | None = BANDWIDTH,
    algorithm: str = "allreduce_ring",
    step: int = 2,
    slow: Mapping[int, float] | None = None,
    repeat: int = 1,
    time_limit: Duration = TIME_LIMIT,
    progress: Callable[..., None] | bool | None = None,
) -> RealStep:
    """Run one step of training on processes of this computer: computing sleeps, and every collective is sent.

    Args:
        model: a Model, or a name of the catalogue; at most 64 MiB of parameters.
        ranks: processes, a GPU each.
        parallel: `ddp(...)` unless given; `fsdp(...)`, `zero(...)`, `pipeline(...)` and products of them,
            `data_parallel()`, a synchronous `parameter_server(...)`: whatever waits for what other ranks do by a
            message alone.
        batch: samples over all ranks and microbatches; one for each rank and microbatch unless given.
        compute: as in `training_step`: how long computing takes; each rank sleeps for as long.
        alpha: s from the last byte to the arrival, as in `run_for_real`.
        bandwidth: B/s of each rank's cable, as in `run_for_real`.
        algorithm: of the allreduces.
        step: which step of the run, from 1: the first of ddp has one bucket.
        slow: {rank: factor} by which one computes (sleeps) longer.
        repeat: so many runs after one to warm up; the columns are those of the median run.
        time_limit: s for all of it.
        progress: True for a bar, or a function of (runs done, in all).

    Returns:
        A RealStep: the predicted StepTrace, all runs, and the measured StepTrace. What comes out of every collective of
        every run is compared with `replay`, bit for bit.

    Raises:
        CollsimError: For what cannot be run, a rank that fails or is killed, a time limit, or a wrong number.

    Examples:
        >>> import collsim as cs
        >>> layers = tuple(cs.train.Layer(name, tensors=(1000,)) for name in ("first", "second"))
        >>> step = cs.lab.training_step_for_real(cs.train.Model("small", layers), ranks=2, compute="1ms")
        >>> step.checked > 0
        True
    """
    strategy = ddp() if parallel is None else parallel
    predicted = predict_step(model, ranks, strategy, compute, alpha, bandwidth, algorithm, step, slow, batch)
    network = ImitatedNetwork(parse_time(alpha), parse_bandwidth(bandwidth))
    limit = parse_time(time_limit, "time_limit")
    plan = _require_feasible(StepPlan(predicted, network, algorithm, parse_repeat(repeat, limit), limit))
    with open_progress(progress, "runs", "runs done", "in all") as report_progress:
        runs: list[list[StepOutcome]] = lead_runs(plan.build_rank_steps(), plan.repeat, limit, report_progress)
    require_correct("step", runs)
    ran = [[outcome.moments for outcome in outcomes[: predicted.step.ranks]] for outcomes in runs]
    begin, sent, end = (np.array([[moments[k] for moments in run] for run in ran]) for k in range(3))
    return RealStep(predicted, begin, sent, end, network, count_processors(), _count_checked(runs))


def _count_checked(runs: list[list[StepOutcome]]) -> int:
    return sum(outcome.checked for outcomes in runs for outcome in outcomes)


def build_equal_layers(count: int | str, nbytes: ByteSize, activations: ByteSize = 0) -> Model:
    """A model of so many equal blocks: bytes of gradients of each, and bytes that it hands on for a sample, float32.

    Args:
        count: At most `MAX_LAYERS`.
        nbytes: Gradients of each block, in bytes or as a text.
        activations: Bytes that a block hands on for each sample, or a text.

    Raises:
        CollsimError: For no layer or more than `MAX_LAYERS`, and for bytes that are no whole number of elements.
    """
    count = parse_count(count, "layers")
    if count > MAX_LAYERS:
        template = "{what}={value} is too large; {what} is at most {most:,}"
        raise CollsimError(template, what="layers", value=format_value(count), most=MAX_LAYERS)
    sizes = parse_bytes(nbytes), parse_bytes(activations, "activations")
    for size in sizes:
        require_real_size(size)
    parameters, handed = (size // _ITEM for size in sizes)
    return Model(
        f"{count} layers of {format_bytes(sizes[0])}",
        tuple(Layer(f"layers.{i}.linear", (parameters,), outputs=handed) for i in range(count)),
    )


def predict_step(
    model: Model | str,
    ranks: int,
    parallel: ParallelStrategy,
    compute: Compute,
    alpha: Duration = ALPHA,
    bandwidth: Bandwidth | None = BANDWIDTH,
    algorithm: str = "allreduce_ring",
    step: int = 2,
    slow: Mapping[int, float] | None = None,
    batch: int | None = None,
) -> StepTrace:
    """Predict a step on the network that the ranks imitate, where collectives that are under way at the same time share
    cables.

    Args:
        model: A Model or its name.
        ranks: Processes.
        parallel: How the step is split; one whose workers wait for nobody is refused.
        compute: As in `training_step`: s, a text, or what computes it.
        alpha: s between two ranks, or a text.
        bandwidth: B/s of a rank's cable, or a text; None where nothing is paced.
        algorithm: Of all collectives.
        step: Which step of the training: the second one has buckets in the order of the first.
        slow: By rank, how many times slower it computes.
        batch: Samples in all; None for one a rank and accumulated pass.

    Raises:
        CollsimError: Something in it cannot be run for real.
    """
    # Workers that never wait have no step that ends: there is nothing to compare.
    if not getattr(parallel, "synchronous", True):
        raise CollsimError("{says}: workers that wait for nobody are not run for real", says=parallel.label)
    return training_step(
        model,
        _build_network(ranks, alpha, bandwidth),
        parallel=parallel,
        batch=ranks * (getattr(parallel, "accumulate", None) or 1) if batch is None else batch,
        network="shared",
        eager=True,
        compute=compute,
        collectives="links",
        algorithm=algorithm,
        optimizer="none",
        interference=0.0,
        step=step,
        slow=slow,
    )


def _build_network(ranks: int, alpha: Duration, bandwidth: Bandwidth | None) -> Topology:
    if isinstance(ranks, bool) or not isinstance(ranks, int) or not 2 <= ranks <= MAX_RANKS:
        raise CollsimError("ranks={ranks!r} must be from 2 to {most}", ranks=ranks, most=MAX_RANKS)
    if bandwidth is None:
        raise CollsimError("a step of training is paced: give bandwidth='10MB/s'")
    return build_imitated_topology(ranks, parse_time(alpha), parse_bandwidth(bandwidth))


def _require_feasible(plan: StepPlan) -> StepPlan:
    """Raises CollsimError where it is more than a computer bears, or than the time allows."""
    model = plan.step.model
    require_real_size(int(model.nbytes), item=1)
    if not plan.parts:
        raise CollsimError("{name}: nothing would be sent in this step", name=model.name)
    plan.require_memory()
    require_time_limit(plan.predicted.time, plan.repeat, plan.time_limit)
    return plan
