"""Every legal way to split a step over GPUs: how long it takes, what it holds, and why the others are worse.

All are estimated (`estimate`); the best are then run as `training_step` runs them. Legal is what Megatron-LM accepts:
tensor parallelism stays inside a node and divides the matrices, stages divide blocks evenly, replicas divide the batch,
interleaved stages take microbatches in rounds of as many as there are stages. ZeRO's first stage is Megatron's
distributed optimizer; FSDP is tried where there is no pipeline. Context and expert parallelism are tried where asked
for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce
from operator import mul
from typing import TYPE_CHECKING, Any

from ..bar import told
from ..errors import CollsimError
from ..topology import Topology
from ..units import format_bytes, parse_bytes, parse_count
from .compute.costs import speed_on
from .estimate import Estimating
from .parallel import Parallel, Split, context, ddp, expert, fsdp, pipeline, tensor, zero
from .parallel.units import LayerCut, units
from .run import Request, asked, network_of, training_step, workload_of
from .workload.model import Model
from .workload.transformer import RECOMPUTE

if TYPE_CHECKING:
    import pandas as pd

#: Microbatches of more samples than this are not tried: they hold more, and gain nothing that smaller ones do not.
_MOST_SAMPLES = 16
_PARTS = {
    "computing": "computing",
    "layers": "tensor, context and expert collectives",
    "bubble": "the pipeline's bubble",
}
_PARTS["data"] = "gradients and weights on the network"


def best_parallel(
    model: Model | str,
    machine: Topology | str,
    *,
    batch: int,
    memory: Any = None,
    top: int = 10,
    dtype: str = "bfloat16",
    context_sizes: Sequence[int] = (1,),
    expert_sizes: Sequence[int] = (1,),
    optimizer: str = "adam",
    compute: Any = None,
    progress: Any = None,
    every: bool = False,
) -> pd.DataFrame:
    """The best ways to split a step of a model over a machine, one a row, the fastest that fits first: those that were
    timed, then those estimated.

    Columns: parallel (the call), tp, cp, ep, pp, interleave, dp, data, micro_batch, recompute, time (s: of the `top`
    best as `training_step` says, of the others estimated; `timed` says which), estimate (s), memory (bytes on the
    fullest GPU, estimated), fits, pareto (none takes less time and less memory), its parts computing, layers, bubble
    and data (s, estimated), reason (why it is worse than the best), and split, the value that `training_step` takes.

    Args:
        batch: samples of the step. memory: bytes of a GPU; the GPU's own unless given. top: rows to return; 0 for all.
        context_sizes, expert_sizes: what to try beside 1. progress: True for a bar, or a function of (done, in all).
        every: all rows, the worst too; `top` of them are timed.

    Raises CollsimError where nothing is legal or nothing fits, with the nearest.
    """
    first = {"model": model, "machine": machine, "batch": batch, "dtype": dtype, "optimizer": optimizer}
    request = _request(first, compute)
    room = _room(request, memory)
    count = parse_count(top, "top", least=0)
    rows = estimated(request, tuple(context_sizes), tuple(expert_sizes), progress)
    for row in rows:
        row["fits"] = row["memory"] <= room
    rows.sort(key=lambda row: (not row["fits"], row["time"]))
    if not rows[0]["fits"]:
        raise _nothing_fits(request, rows, room)
    _timed_best([row for row in rows if row["fits"]][: count or None], request)
    rows.sort(key=lambda row: (not row["fits"], not row["timed"], row["time"]))
    for row in rows:
        row["reason"] = _reason(row, rows[0], room)
    return _frame(rows, None if every or not count else count)


def _request(first: dict[str, Any], compute: Any) -> Request:
    """What was asked, checked, on one split that is always legal to ask for."""
    usual: dict[str, Any] = {"parallel": ddp(), "network": "alone", "compute": compute, "interference": None}
    usual |= {"ranks": None, "collectives": "nccl", "algorithm": None, "memory": None, "step": 3, "background": None}
    batch = parse_count(first["batch"], "batch")
    request = asked({**usual, **first, "recompute": "none", "batch": None, "micro_batch": 1})
    return replace(request, batch=batch)


def _room(request: Request, memory: Any) -> float:
    if memory is not None:
        return float(parse_bytes(memory, "memory"))
    fast = speed_on(request.topology, request.dtype, request.compute)
    if fast is None:
        raise CollsimError("{name} does not say which GPU it has; give compute='A100'", name=request.topology.name)
    return fast.capacity


# ---- what is legal --------------------------------------------------------------------------------------------------


def estimated(
    request: Request, contexts: tuple[int, ...] = (1,), experts: tuple[int, ...] = (1,), progress: Any = None
) -> list[dict[str, Any]]:
    """All legal splits with their estimates."""
    fast = speed_on(request.topology, request.dtype, request.compute)
    if fast is None:
        raise CollsimError("{name} does not say which GPU it has; give compute='A100'", name=request.topology.name)
    estimating = Estimating(network_of(request), fast)
    listed = list(legal(request, contexts, experts))
    if not listed:
        why = "batch={batch}: no split of {ranks} GPUs gives all replicas as many samples"
        raise CollsimError(why, batch=request.batch, ranks=len(request.ranks))
    rows = []
    with told(progress, "splits", "done", "in all") as tell:
        for split, micro, recompute in listed:
            rows.append(_row(estimating, replace(request, parallel=split), split, micro, recompute))
            if tell is not None:
                tell(len(rows), len(listed))
    return rows


def legal(
    request: Request, contexts: tuple[int, ...] = (1,), experts: tuple[int, ...] = (1,)
) -> Iterator[tuple[Split, int, str]]:
    """Every legal split, with samples of a microbatch, and what is recomputed."""
    n, model = len(request.ranks), request.model
    per = n // int(request.topology.facts.get("nodes", 1))
    blocks = sum(unit.block for unit in units(model, LayerCut()))
    for t in _divisors(per):
        if not _cuts(model, t):
            continue
        for c in contexts:
            for p in _divisors(n // (t * c)) if n % (t * c) == 0 else []:
                if p > 1 and blocks % p:
                    continue
                dp = n // (t * c * p)
                if request.batch % dp == 0:
                    yield from _variants(request, (t, c, p, dp), blocks, experts)


def _variants(
    request: Request, sizes: tuple[int, int, int, int], blocks: int, experts: tuple[int, ...]
) -> Iterator[tuple[Split, int, str]]:
    """What can be chosen freely: experts, how replicas keep together, samples, interleaving, recomputation."""
    t, c, p, dp = sizes
    data: list[Parallel] = [ddp(), zero(1, reduce_dtype="float32"), *([fsdp()] if p == 1 else [])]
    for e in experts:
        if dp * c % e:
            continue
        for micro in [k for k in _divisors(request.batch // dp) if k <= _MOST_SAMPLES]:
            many = request.batch // dp // micro
            for v in [1] + [k for k in _divisors(blocks // p) if k > 1 and p > 1 and many % p == 0]:
                for way in data if dp * c > 1 else (None,):
                    parts: list[Any] = (
                        [tensor(t, sequence=t > 1)] * (t > 1) + [context(c)] * (c > 1) + [expert(e)] * (e > 1)
                    )
                    parts += [pipeline(p, interleave=v)] * (p > 1) + [way] * (way is not None)
                    split: Split = reduce(mul, parts) if len(parts) > 1 else Split(tuple(parts) or (ddp(),))
                    for recompute in RECOMPUTE:
                        yield split, micro, recompute


def _divisors(n: int) -> list[int]:
    return [k for k in range(1, n + 1) if n % k == 0]


def _cuts(model: Model, t: int) -> bool:
    """Do so many GPUs divide what layers are cut along?"""
    cut = [layer for layer in model.layers if layer.cut in ("column", "row", "heads")]
    return t == 1 or (bool(cut) and all(n % t == 0 for layer in cut for n in layer.tensors[:1]))


# ---- rows -----------------------------------------------------------------------------------------------------------


def _row(estimating: Estimating, request: Request, split: Split, micro: int, recompute: str) -> dict[str, Any]:
    replicas = split.replicas(len(request.ranks))
    request = replace(request, micro_batch=micro, accumulate=request.batch // replicas // micro, recompute=recompute)
    found = estimating.of(split, workload_of(request))
    names = {"parallel": split.says, **split.sizes, "dp": replicas}
    way = "" if split.data is None else split.data.says
    rest = {"data": way, "micro_batch": micro, "recompute": recompute, "time": found.time, "timed": False}
    parts = {name: getattr(found, name) for name in _PARTS}
    return {**names, **rest, "estimate": found.time, "memory": found.memory, **parts, "split": split}


def _timed_best(rows: list[dict[str, Any]], request: Request) -> None:
    """Run the steps of some rows."""
    for row in rows:
        trace = training_step(
            request.model,
            request.topology,
            parallel=row["split"],
            batch=request.batch,
            micro_batch=row["micro_batch"],
            recompute=row["recompute"],
            dtype=request.dtype,
            optimizer=request.optimizer,
            compute=request.compute,
            memory=2**60,
        )
        row["time"], row["timed"] = trace.time, True


def _reason(row: dict[str, Any], best: dict[str, Any], room: float) -> str:
    """Why a row is not the best."""
    if row is best:
        return "the fastest that fits"
    if not row["fits"]:
        return f"needs {format_bytes(row['memory'])} of {format_bytes(room)}"
    part = max(_PARTS, key=lambda name: row[name] - best[name])
    return f"{row['time'] / best['time'] - 1:+.1%}: most of it {_PARTS[part]}"


def nearest(request: Request, room: float) -> dict[str, Any] | None:
    """Of what fits, the split that is nearest to the one that was asked for: fewest doublings along all ways."""
    if speed_on(request.topology, request.dtype, request.compute) is None or not any(legal(request)):
        return None
    rows = [row for row in estimated(request) if row["memory"] <= room]
    return min(rows, key=lambda row: (_away(row, request), row["time"]), default=None)


def _away(row: dict[str, Any], request: Request) -> float:
    own = request.parallel
    now = own if isinstance(own, Split) else Split((own,))
    wanted = {**now.sizes, "micro_batch": request.micro_batch}
    steps = sum(abs(math.log2(row[name] / wanted[name])) for name in wanted)
    other = type(now.data) is not type(row["split"].data)
    return steps + other + abs(RECOMPUTE.index(row["recompute"]) - RECOMPUTE.index(request.recompute))


def _nothing_fits(request: Request, rows: list[dict[str, Any]], room: float) -> CollsimError:
    least = min(rows, key=lambda row: row["memory"])
    return CollsimError(
        "{name} fits on {ranks} GPUs of {room} in none of {ways} ways; the one that needs least, {split} with "
        "micro_batch={micro} and recompute={recompute!r}, needs {needed}: use more GPUs",
        name=request.model.name,
        ranks=len(request.ranks),
        room=format_bytes(room),
        ways=len(rows),
        split=least["parallel"],
        micro=least["micro_batch"],
        recompute=least["recompute"],
        needed=format_bytes(least["memory"]),
    )


def _frame(rows: list[dict[str, Any]], most: int | None) -> pd.DataFrame:
    """Rows as a table, with those that none beats in both time and memory marked."""
    import pandas as pd

    least = math.inf
    for row in sorted((row for row in rows if row["fits"]), key=lambda row: (row["time"], row["memory"])):
        row["pareto"] = row["memory"] < least
        least = min(least, row["memory"])
    frame = pd.DataFrame(rows[:most])
    frame["pareto"] = frame["pareto"].fillna(False).astype(bool)
    order = [name for name in frame if name not in ("reason", "split")]
    return frame[[*order, "reason", "split"]]
