"""Every legal way to split a step over GPUs: how long it takes, what it holds, and why the others are worse.

All are estimated (`estimate`); the best are then run as `training_step` runs them. Legal is what Megatron-LM accepts:
tensor parallelism stays inside a node and divides the matrices, stages divide blocks evenly, replicas divide the batch,
interleaved stages take microbatches in rounds of as many as there are stages. ZeRO's first stage is Megatron's
distributed optimizer; FSDP is tried where there is no pipeline. Context parallelism is tried where asked for, expert
parallelism of mixtures.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from itertools import groupby
from operator import mul
from typing import Any, TypeAlias

from ..errors import CollsimError, require_list
from ..errors.dependencies import pandas as pd
from ..units import ByteSize, format_bytes, parse_bytes, parse_count
from .compute.compute_costs import Compute, create_unknown_speed_error, find_gpu_speed
from .parallel.combined_split import Split, as_split
from .parallel.ddp_strategy import ddp
from .parallel.model_parallel import context, expert, pipeline, tensor
from .parallel.sharded_parallel import fsdp, zero
from .parallel.sharded_units import LayerPartition, build_units
from .parallel.strategy import ParallelStrategy, Workload
from .step_estimate import StepEstimator
from .step_request import StepArguments, StepRequest, build_workload, get_collective_model, parse_request, training_step
from .workload.model import Model
from .workload.transformer import RECOMPUTE, Recompute

#: The figures of a split by the names of their columns.
SplitRow: TypeAlias = dict[str, Any]
#: A split, samples of a microbatch, and what is recomputed.
Candidate = tuple[Split, int, Recompute]
#: Microbatches of more samples than this are not tried: they hold more, and gain nothing that smaller ones do not.
_MAX_SAMPLES = 16
#: What Megatron-LM has words for.
_RECOMPUTE: tuple[Recompute, ...] = ("none", "selective", "full")
_PARTS = {
    "computing": "computing",
    "layers": "tensor, context and expert collectives",
    "bubble": "the pipeline's bubble",
}
_PARTS["data"] = "gradients and weights on the network"


def build_search_request(first: SplitRow, compute: Compute) -> StepRequest:
    """Check what a search is asked, on one split that is always legal to ask for.

    Args:
        first: Arguments of `training_step` that all splits share, with the batch.
        compute: `compute` of `training_step`.

    Returns:
        The request.

    Raises:
        CollsimError: An argument is wrong.
    """
    batch = parse_count(first["batch"], "batch")
    arguments = StepArguments(**{"parallel": ddp(), **first, "compute": compute, "batch": None, "micro_batch": 1})
    return replace(parse_request(arguments), batch=batch)


def parse_sizes(name: str, values: Sequence[int]) -> tuple[int, ...]:
    """GPUs along a way, as they are to be tried. Raises CollsimError for what is no list of numbers from 1 on."""
    require_list(name, values, "(1, 2, 4)")
    return tuple(dict.fromkeys(parse_count(value, name) for value in values)) or (1,)


def list_expert_sizes(request: StepRequest) -> tuple[int, ...]:
    """List the sizes of expert parallelism that a search tries unless it is told which.

    Args:
        request: The request of the search.

    Returns:
        1; of a mixture also the sizes that divide its experts and fill nodes, and the largest within a node.
    """
    experts = math.gcd(*(layer.experts for layer in request.model.layers if layer.experts))
    if not experts:
        return (1,)
    count, per = math.gcd(experts, len(request.ranks)), len(request.ranks) // request.topology.facts.nodes
    return tuple(sorted({1, math.gcd(experts, per), *(size for size in _list_divisors(count) if size % per == 0)}))


def get_memory_limit(request: StepRequest, memory: ByteSize | None) -> float:
    """Get the memory that a GPU may use.

    Args:
        request: The request of the search.
        memory: Bytes (`"80GB"`); None for the GPU's own.

    Returns:
        Bytes.

    Raises:
        CollsimError: Neither is known.
    """
    if memory is not None:
        return float(parse_bytes(memory, "memory"))
    fast = find_gpu_speed(request.topology, request.dtype, request.compute)
    if fast is None:
        raise create_unknown_speed_error(request.topology)
    return fast.capacity


# ---- what is legal --------------------------------------------------------------------------------------------------


def list_legal_splits(request: StepRequest, contexts: tuple[int, ...], experts: tuple[int, ...]) -> list[Candidate]:
    """List all legal splits.

    Args:
        request: The request of the search.
        contexts: GPUs along context parallelism that are tried.
        experts: GPUs along expert parallelism that are tried.

    Returns:
        Splits, samples of a microbatch and recomputation.

    Raises:
        CollsimError: There is none.
    """
    listed = list(iterate_legal_splits(request, contexts, experts))
    if not listed and (contexts, experts) != ((1,), (1,)):
        raise CollsimError(
            "no split of {ranks} GPUs with context_sizes={contexts} and expert_sizes={experts} gives all replicas of "
            "batch={batch} as many samples; the sizes have to divide the GPUs, and the replicas the batch",
            ranks=len(request.ranks),
            contexts=contexts,
            experts=experts,
            batch=request.batch,
        )
    if not listed:
        raise CollsimError(
            "batch={batch}: no split of {ranks} GPUs gives all replicas as many samples",
            batch=request.batch,
            ranks=len(request.ranks),
        )
    return listed


def estimate_candidates(request: StepRequest, listed: Sequence[Candidate]) -> list[dict[str, float]]:
    """Estimate splits.

    Args:
        request: The request of the search.
        listed: The splits.

    Returns:
        Of each: time and its parts (s), and memory (bytes).

    Raises:
        CollsimError: The GPU is not known.
    """
    estimator = _create_estimator(request)
    if estimator is None:
        raise create_unknown_speed_error(request.topology)
    workload = build_workload(request)
    return [_estimate(estimator, workload, candidate) for candidate in listed]


def _create_estimator(request: StepRequest) -> StepEstimator | None:
    """What estimates splits of a request, each faster than the one before; None where the GPU is unknown."""
    is_alone = len(request.ranks) == 1
    fast = find_gpu_speed(request.topology, request.dtype, request.compute, is_alone=is_alone)
    if fast is None:
        return None
    return StepEstimator(get_collective_model(request), fast)


def _estimate(estimator: StepEstimator, workload: Workload, candidate: Candidate) -> dict[str, float]:
    """Estimate a split of what a search is for."""
    split, micro, recompute = candidate
    accumulate = workload.batch // split.count_replicas(len(workload.ranks)) // micro
    estimate = estimator.estimate(
        split, replace(workload, micro_batch=micro, accumulate=accumulate, recompute=recompute)
    )
    return {
        "time": estimate.time,
        "memory": estimate.memory_bytes,
        "computing": estimate.computing,
        "layers": estimate.layer_collectives,
        "bubble": estimate.bubble,
        "data": estimate.data_collectives,
    }


def iterate_legal_splits(
    request: StepRequest, contexts: tuple[int, ...] = (1,), experts: tuple[int, ...] = (1,)
) -> Iterator[Candidate]:
    """Iterate over every legal split.

    Args:
        request: The request of the search.
        contexts: GPUs along context parallelism that are tried.
        experts: GPUs along expert parallelism that are tried.

    Returns:
        Splits, samples of a microbatch and recomputation.
    """
    n, model = len(request.ranks), request.model
    # Tensor parallelism stays within a node: over the network its allreduces would never pay.
    per = n // request.topology.facts.nodes
    blocks = sum(unit.is_block for unit in build_units(model, LayerPartition()))
    for t in _list_divisors(per):
        if not _has_divisible_layers(model, t):
            continue
        for c in contexts:
            if n % (t * c):
                continue
            # Stages get equally many blocks, or the fullest one would set the time of all.
            for p in _list_divisors(n // (t * c)):
                if p > 1 and blocks % p:
                    continue
                dp = n // (t * c * p)
                if request.batch % dp == 0:
                    yield from _iterate_variants(request, (t, c, p, dp), blocks, experts)


def _iterate_variants(
    request: StepRequest, sizes: tuple[int, int, int, int], blocks: int, experts: tuple[int, ...]
) -> Iterator[Candidate]:
    """What can be chosen freely: experts, how replicas keep together, samples, interleaving, recomputation."""
    t, c, p, dp = sizes
    data: list[ParallelStrategy | None] = [None]  # one replica is kept together by nothing
    if dp * c > 1:
        # How replicas keep together is tried in the three ways that frameworks offer; FSDP only without a pipeline.
        data = [ddp(), zero(1, reduce_dtype="float32")]
        if p == 1:
            data.append(fsdp())
    for e in experts:
        if dp * c % e:
            continue
        samples_per_replica = request.batch // dp
        for micro in [k for k in range(1, _MAX_SAMPLES + 1) if samples_per_replica % k == 0]:
            many = samples_per_replica // micro
            # Interleaving needs a number of microbatches that the stages divide (Megatron-LM).
            for v in [1] + [k for k in _list_divisors(blocks // p) if k > 1 and p > 1 and many % p == 0]:
                for data_strategy in data:
                    parts: list[Any] = (
                        [tensor(t, sequence=t > 1)] * (t > 1) + [context(c)] * (c > 1) + [expert(e)] * (e > 1)
                    )
                    parts += [pipeline(p, interleave=v)] * (p > 1) + [data_strategy] * (data_strategy is not None)
                    split: Split = reduce(mul, parts) if len(parts) > 1 else Split(tuple(parts) or (ddp(),))
                    for recompute in _RECOMPUTE:
                        yield split, micro, recompute


def _list_divisors(n: int) -> list[int]:
    return [k for k in range(1, n + 1) if n % k == 0]


def _has_divisible_layers(model: Model, t: int) -> bool:
    """Do so many GPUs divide what layers are cut along, heads too?"""
    cut = [layer for layer in model.layers if layer.partition in ("column", "row", "heads")]
    return t == 1 or (bool(cut) and all(n % t == 0 for layer in cut for n in (*layer.tensors[:1], layer.heads)))


# ---- rows -----------------------------------------------------------------------------------------------------------


def build_row(request: StepRequest, candidate: Candidate, estimate: dict[str, float]) -> SplitRow:
    """Build the row of a split.

    Args:
        request: The request of the search.
        candidate: The split, samples of a microbatch and recomputation.
        estimate: What was estimated of it, see `estimate_candidates`.

    Returns:
        The row, by column.
    """
    split, micro, recompute = candidate
    names = {"parallel": split.label, **split.sizes, "dp": split.count_replicas(len(request.ranks))}
    data_label = ""
    if split.data_strategy is not None:
        data_label = split.data_strategy.label
    rest = {
        "data_parallel": data_label,
        "micro_batch": micro,
        "recompute": recompute,
        "time": estimate["time"],
        "timed": False,
    }
    return {**names, **rest, "estimate": estimate["time"], **{k: v for k, v in estimate.items() if k != "time"},
            "split": split}  # fmt: skip


def time_candidate(request: StepRequest, candidate: Candidate) -> float:
    """Seconds of a split's step, run."""
    split, micro, recompute = candidate
    return training_step(
        request.model,
        request.topology,
        parallel=split,
        batch=request.batch,
        micro_batch=micro,
        recompute=recompute,
        dtype=request.dtype,
        optimizer=request.optimizer,
        compute=request.compute,
        memory=2**60,
    ).time


def rank_rows(
    rows: list[SplitRow],
    request: StepRequest,
    capacity: float,
    count: int,
    run: Callable[[list[SplitRow]], list[float]],
) -> list[SplitRow]:
    """Put rows in order: those that fit, those that were run, by time; each with its reason.

    Args:
        rows: Rows with estimates, which get the columns fits, timed and reason.
        request: The request of the search.
        capacity: Bytes of a GPU.
        count: How many of those that fit are run; 0 for all.
        run: Gives the seconds of rows.

    Returns:
        The rows.

    Raises:
        CollsimError: Nothing fits.
    """
    for row in rows:
        row["fits"] = row["memory"] <= capacity
    rows.sort(key=lambda row: (not row["fits"], row["time"]))
    if not rows[0]["fits"]:
        raise _build_misfit_error(request, rows, capacity)
    best = [row for row in rows if row["fits"]][: count or None]
    for row, seconds in zip(best, run(best), strict=True):
        row["time"], row["timed"] = seconds, True
    rows.sort(key=lambda row: (not row["fits"], not row["timed"], row["time"]))
    for row in rows:
        row["reason"] = _explain_rank(row, rows[0], capacity)
    return rows


def _explain_rank(row: SplitRow, best: SplitRow, capacity: float) -> str:
    """Why a row is not the best."""
    if row is best:
        return "the fastest that fits"
    if not row["fits"]:
        return f"needs {format_bytes(row['memory'])} of {format_bytes(capacity)}"
    part = max(_PARTS, key=lambda name: row[name] - best[name])
    return f"{row['time'] / best['time'] - 1:+.1%}: most of it {_PARTS[part]}"


def find_nearest_fit(request: StepRequest, capacity: float) -> SplitRow | None:
    """Find the split that fits and is nearest to the one that was asked for: fewest doublings along all axes; of those
    as near as each other the fastest.

    Args:
        request: The request that does not fit.
        capacity: Bytes of a GPU.

    Returns:
        Its row; None where nothing fits or the GPU is not known.
    """
    if (estimator := _create_estimator(request)) is None:
        return None
    workload = build_workload(request)
    by_distance = sorted(iterate_legal_splits(request), key=lambda candidate: _measure_distance(candidate, request))
    for _, near in groupby(by_distance, key=lambda candidate: _measure_distance(candidate, request)):
        rows = [build_row(request, candidate, _estimate(estimator, workload, candidate)) for candidate in near]
        if fitting := [row for row in rows if row["memory"] <= capacity]:
            return min(fitting, key=lambda row: float(row["time"]))
    return None


def _measure_distance(candidate: Candidate, request: StepRequest) -> float:
    split, micro, recompute = candidate
    now = as_split(request.parallel)
    steps = sum(abs(math.log2(split.sizes[name] / size)) for name, size in now.sizes.items())
    steps += abs(math.log2(micro / request.micro_batch))
    other = type(now.data_strategy) is not type(split.data_strategy)
    return steps + other + abs(RECOMPUTE.index(recompute) - RECOMPUTE.index(request.recompute))


def _build_misfit_error(request: StepRequest, rows: list[SplitRow], capacity: float) -> CollsimError:
    least = min(rows, key=lambda row: row["memory"])
    return CollsimError(
        "{name} fits on {ranks} GPUs of {memory} in none of {ways} ways; the one that needs least, {split} with "
        "micro_batch={micro} and recompute={recompute!r}, needs {needed}: use more GPUs",
        name=request.model.name,
        ranks=len(request.ranks),
        memory=format_bytes(capacity),
        ways=len(rows),
        split=least["parallel"],
        micro=least["micro_batch"],
        recompute=least["recompute"],
        needed=format_bytes(least["memory"]),
    )


def build_frame(rows: list[SplitRow], most: int | None) -> pd.DataFrame:
    """Build a table of rows, with those that none beats in both time and memory marked.

    Args:
        rows: Rows in order.
        most: Rows of the table; None for all.

    Returns:
        The table.
    """
    least = math.inf
    for row in sorted((row for row in rows if row["fits"]), key=lambda row: (row["time"], row["memory"])):
        row["pareto"] = row["memory"] < least
        least = min(least, row["memory"])
    frame = pd.DataFrame(rows[:most])
    frame["pareto"] = frame["pareto"].fillna(False).astype(bool)
    order = [name for name in frame if name not in ("reason", "split")]
    return frame[[*order, "reason", "split"]]
