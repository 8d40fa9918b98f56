"""The search over splits of a training step: pieces of it on any executor, each kept as it comes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent import futures
from typing import TYPE_CHECKING, Any

from ..display.progress import open_progress, require_progress
from ..errors import CollsimError, require_flags
from ..errors.arguments import check_arguments
from ..topology_names import TopologyLike
from ..units import ByteSize, parse_count
from .scenario import MODEL_SOURCES, hash_parts, read_model_version
from .scenario_networks import fingerprint
from .store import Store

if TYPE_CHECKING:
    import pandas as pd

    from ..train import Model
    from ..train.compute.compute_costs import Compute
    from ..train.parallel.strategy import Optimizer
    from ..train.split_search import Candidate
    from ..train.step_request import StepRequest

#: What is kept of an estimate.
_FIGURES = ("time", "memory", "computing", "layers", "bubble", "data")
_COUNTED = "splits", "done", "in all"
#: Splits of a piece: what is alike in several is worked out once in a piece.
_PIECE = 256


@check_arguments
def best_parallel(
    model: Model | str,
    machine: TopologyLike,
    *,
    batch: int,
    memory: ByteSize | None = None,
    top: int = 10,
    dtype: str = "bfloat16",
    context_sizes: Sequence[int] = (1,),
    expert_sizes: Sequence[int] | None = None,
    optimizer: Optimizer = "adam",
    compute: Compute = None,
    progress: Callable[..., None] | bool | None = None,
    every: bool = False,
    executor: futures.Executor | None = None,
    out: str | os.PathLike[str] | None = None,
) -> pd.DataFrame:
    """Find the best splits of a step of a model over a machine, one a row, the fastest that fits first: those that were
    timed, then those estimated.

    Columns: parallel (the call), tp, cp, ep, pp, interleave, dp, data_parallel, micro_batch, recompute, time (s: of the
    `top` best as `training_step` says, of the others estimated; `timed` says which), estimate (s), memory (bytes on the
    fullest GPU, estimated), fits, pareto (none takes less time and less memory), its parts computing, layers, bubble
    and data (s, estimated), reason (why it is worse than the best), and split, the value that `training_step` takes.

    Args:
        model: a Model, or the name of one.
        machine: a Topology, or the name of one.
        batch: samples of the step, over all GPUs.
        memory: bytes of a GPU; the GPU's own unless given.
        top: rows to return, each of them timed; 0 for all.
        dtype: type of weights and activations.
        context_sizes: sizes of context parallelism to try.
        expert_sizes: sizes of expert parallelism to try; None: of a mixture 1 and those that fit its experts to nodes.
        optimizer: adam, momentum, sgd or none.
        compute: as `training_step` takes it.
        progress: True for a bar, or a function of (done, in all).
        every: return all rows, the worst too; `top` of them are timed.
        executor: any PEP 3148 executor; this process when None.
        out: `x.sqlite`, `x.parquet`, `x.csv` or `x.json`, as of `sweep`: what is done is on disk as it comes, and a
            search that was killed resumes.

    Returns:
        The table; `split` holds what `training_step(parallel=)` takes.

    Raises:
        CollsimError: where nothing is legal or nothing fits, with the nearest.

    Examples:
        >>> import collsim as cs
        >>> cs.best_parallel("gpt2", "dgx-a100", batch=64, top=1)["parallel"].tolist()
        ['fsdp()']
    """
    from ..train.split_search import (
        build_frame,
        build_row,
        build_search_request,
        get_memory_limit,
        list_expert_sizes,
        list_legal_splits,
        parse_sizes,
        rank_rows,
    )

    if executor is not None and not callable(getattr(executor, "submit", None)):
        message = "executor={executor!r} has no submit; give an executor of concurrent.futures, or None"
        raise CollsimError(message, executor=executor)
    require_flags(every=every)
    require_progress(progress, *_COUNTED[1:])
    first = {"model": model, "machine": machine, "batch": batch, "dtype": dtype, "optimizer": optimizer}
    request = build_search_request(first, compute)
    contexts, experts = parse_sizes("context_sizes", context_sizes), list_expert_sizes(request)
    if expert_sizes is not None:
        experts = parse_sizes("expert_sizes", expert_sizes)
    limit, count = get_memory_limit(request, memory), parse_count(top, "top", least=0)
    listed = list_legal_splits(request, contexts, experts)
    # Estimates of splits are stored: the same search with a larger `top` starts from them.
    store = Store(out)
    try:
        stored = _StoredFigures(store, request, executor)
        with open_progress(progress, *_COUNTED) as tell:
            estimates = stored.estimate(listed, tell)
        rows = [build_row(request, split, figures) for split, figures in zip(listed, estimates, strict=True)]
        rows = rank_rows(rows, request, limit, count, stored.time)
        table = build_frame(rows, None)
        store.finish(table.drop(columns="split"))
    finally:
        store.close()
    if every or not count:
        return table
    return table[:count]


class _StoredFigures:
    """Figures of splits that a store has, or that are computed and put there."""

    def __init__(self, store: Store, request: StepRequest, executor: futures.Executor | None):
        self.store, self.request, self.executor = store, request, executor
        about = [
            read_model_version((*MODEL_SOURCES, "train")),
            fingerprint(request.topology),
            repr(request.model.layers),
        ]
        # The layers of a large model are a long text, which every key would read again.
        self.about = hash_parts([*about, request.batch, request.dtype, request.optimizer, repr(request.compute)])

    def _build_key(self, what: str, candidate: Candidate) -> str:
        """The id of a split's estimate, or of its step."""
        split, micro, recompute = candidate
        return hash_parts([self.about, what, repr(split), micro, recompute])

    def estimate(self, listed: Sequence[Candidate], tell: Callable[..., None] | None) -> list[dict[str, float]]:
        """Of each split what was estimated."""
        keys = [self._build_key("estimate", candidate) for candidate in listed]
        known = self.store.list_done()
        todo = [(key, candidate) for key, candidate in zip(keys, listed, strict=True) if key not in known]
        done = len(listed) - len(todo)
        pieces = [todo[i : i + _PIECE] for i in range(0, len(todo), _PIECE)]
        for piece, figures in self._run(
            _estimate_candidates, [[candidate for _, candidate in piece] for piece in pieces], pieces
        ):
            self.store.add((key, row) for (key, _), row in zip(piece, figures, strict=True))
            done += len(piece)
            if tell is not None:
                tell(done, len(listed))
        return [{k: v for k, v in row.items() if k != "scenario"} for row in self.store.rows(keys, _FIGURES)]

    def time(self, rows: list[dict[str, Any]]) -> list[float]:
        """Of each of these rows the seconds of its step, run."""
        listed = [(row["split"], row["micro_batch"], row["recompute"]) for row in rows]
        keys = [self._build_key("step", candidate) for candidate in listed]
        known = self.store.list_done()
        todo = [(key, candidate) for key, candidate in zip(keys, listed, strict=True) if key not in known]
        for key, time in self._run(_time_candidate, [candidate for _, candidate in todo], [key for key, _ in todo]):
            self.store.add([(key, {"time": time})])
        return [row["time"] for row in self.store.rows(keys, ("time",))]

    def _run(self, work: Callable[..., object], arguments: list[object], names: list[Any]) -> Iterator[tuple[Any, Any]]:
        """(name, result) of each piece of work, as they come."""
        if self.executor is None:
            for name, argument in zip(names, arguments, strict=True):
                yield name, work(self.request, argument)
            return
        flying = {self.executor.submit(work, self.request, argument): i for i, argument in enumerate(arguments)}
        try:
            for future in futures.as_completed(flying):
                yield names[flying[future]], future.result()
        finally:
            for future in flying:
                future.cancel()


def _estimate_candidates(request: StepRequest, listed: Sequence[Candidate]) -> list[dict[str, float]]:
    """A piece of the search; runs in a worker."""
    from ..train.split_search import estimate_candidates

    return estimate_candidates(request, listed)


def _time_candidate(request: StepRequest, candidate: Candidate) -> float:
    """A split's step; runs in a worker."""
    from ..train.split_search import time_candidate

    return time_candidate(request, candidate)
