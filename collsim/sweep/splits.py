"""The search over splits of a training step: pieces of it on any executor, each kept as it comes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent import futures
from typing import TYPE_CHECKING, Any

from ..bar import open_progress, require_progress
from ..errors import CollsimError
from ..keywords import check_keywords
from ..units import parse_count
from .networks import fingerprint
from .scenario import _MODEL, key_of, model_version
from .store import Store

if TYPE_CHECKING:
    import pandas as pd

    from ..topology import Topology
    from ..train import Model
    from ..train.split_search import Candidate
    from ..train.step_request import StepRequest

#: What is kept of an estimate.
_FIGURES = ("time", "memory", "computing", "layers", "bubble", "data")
_COUNTED = "splits", "done", "in all"
#: Splits of a piece: what is alike in several is worked out once in a piece.
_PIECE = 256


@check_keywords
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
    executor: futures.Executor | None = None,
    out: str | os.PathLike[str] | None = None,
) -> pd.DataFrame:
    """The best ways to split a step of a model over a machine, one a row, the fastest that fits first: those that were
    timed, then those estimated.

    Columns: parallel (the call), tp, cp, ep, pp, interleave, dp, data_parallel, micro_batch, recompute, time (s: of the
    `top` best as `training_step` says, of the others estimated; `timed` says which), estimate (s), memory (bytes on the
    fullest GPU, estimated), fits, pareto (none takes less time and less memory), its parts computing, layers, bubble
    and data (s, estimated), reason (why it is worse than the best), and split, the value that `training_step` takes.

    Args:
        batch: samples of the step. memory: bytes of a GPU; the GPU's own unless given. top: rows to return; 0 for all.
        context_sizes, expert_sizes: what to try beside 1. progress: True for a bar, or a function of (done, in all).
        every: all rows, the worst too; `top` of them are timed.
        executor: any PEP 3148 executor; this process when None. out: `x.sqlite`, `x.parquet`, `x.csv` or `x.json`, as
            of `sweep`: what is done is on disk as it comes, and a search that was killed goes on where it was.

    Raises CollsimError where nothing is legal or nothing fits, with the nearest.
    """
    from ..train.split_search import (
        build_frame,
        build_row,
        build_search_request,
        get_memory_limit,
        list_legal_splits,
        parse_sizes,
        rank_rows,
    )

    if executor is not None and not callable(getattr(executor, "submit", None)):
        wanted = "executor={executor!r} has no submit; give an executor of concurrent.futures, or None"
        raise CollsimError(wanted, executor=executor)
    require_progress(progress, *_COUNTED[1:])
    contexts, experts = parse_sizes("context_sizes", context_sizes), parse_sizes("expert_sizes", expert_sizes)
    first = {"model": model, "machine": machine, "batch": batch, "dtype": dtype, "optimizer": optimizer}
    request = build_search_request(first, compute)
    room, count = get_memory_limit(request, memory), parse_count(top, "top", least=0)
    listed = list_legal_splits(request, contexts, experts)
    store = Store(out)
    try:
        kept = _Kept(store, request, executor)
        with open_progress(progress, *_COUNTED) as tell:
            found = kept.estimates(listed, tell)
        rows = [build_row(request, one, figures) for one, figures in zip(listed, found, strict=True)]
        rows = rank_rows(rows, request, room, count, kept.seconds)
        whole = build_frame(rows, None)
        store.finish(whole.drop(columns="split"))
    finally:
        store.close()
    return whole if every or not count else whole[:count]


class _Kept:
    """Figures of splits that a store has, or that are worked out and put there."""

    def __init__(self, store: Store, request: StepRequest, executor: futures.Executor | None):
        self.store, self.request, self.executor = store, request, executor
        about = [model_version((*_MODEL, "train")), fingerprint(request.topology), repr(request.model.layers)]
        self.about = [*about, request.batch, request.dtype, request.optimizer, repr(request.compute)]

    def key(self, what: str, one: Candidate) -> str:
        """The id of a split's estimate, or of its step."""
        split, micro, recompute = one
        return key_of([*self.about, what, repr(split), micro, recompute])

    def estimates(self, listed: Sequence[Candidate], tell: Callable[..., None] | None) -> list[dict[str, float]]:
        """Of each split what was estimated."""
        keys = [self.key("estimate", one) for one in listed]
        known = self.store.known()
        todo = [(key, one) for key, one in zip(keys, listed, strict=True) if key not in known]
        done = len(listed) - len(todo)
        pieces = [todo[i : i + _PIECE] for i in range(0, len(todo), _PIECE)]
        for piece, figures in self.each(_estimated, [[one for _, one in piece] for piece in pieces], pieces):
            self.store.add((key, row) for (key, _), row in zip(piece, figures, strict=True))
            done += len(piece)
            if tell is not None:
                tell(done, len(listed))
        return [{k: v for k, v in row.items() if k != "scenario"} for row in self.store.rows(keys, _FIGURES)]

    def seconds(self, rows: list[dict[str, Any]]) -> list[float]:
        """Of each of these rows the seconds of its step, run."""
        listed = [(row["split"], row["micro_batch"], row["recompute"]) for row in rows]
        keys = [self.key("step", one) for one in listed]
        known = self.store.known()
        todo = [(key, one) for key, one in zip(keys, listed, strict=True) if key not in known]
        for key, time in self.each(_timed, [one for _, one in todo], [key for key, _ in todo]):
            self.store.add([(key, {"time": time})])
        return [row["time"] for row in self.store.rows(keys, ("time",))]

    def each(self, work: Callable[..., Any], arguments: list[Any], names: list[Any]) -> Iterator[tuple[Any, Any]]:
        """(name, result) of each piece of work, as they come."""
        if self.executor is None:
            for name, one in zip(names, arguments, strict=True):
                yield name, work(self.request, one)
            return
        flying = {self.executor.submit(work, self.request, one): i for i, one in enumerate(arguments)}
        try:
            for future in futures.as_completed(flying):
                yield names[flying[future]], future.result()
        finally:
            for future in flying:
                future.cancel()


def _estimated(request: StepRequest, listed: Sequence[Candidate]) -> list[dict[str, float]]:
    """A piece of the search; runs in a worker."""
    from ..train.split_search import estimate_candidates

    return estimate_candidates(request, listed)


def _timed(request: StepRequest, one: Candidate) -> float:
    """A split's step; runs in a worker."""
    from ..train.split_search import time_candidate

    return time_candidate(request, one)
