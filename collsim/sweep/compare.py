"""What `compare` compares: two runs, or algorithms on one machine, each at its best over a small search that is
named."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, overload

from ..analysis.differences import Comparison
from ..analysis.differences import compare as compare_runs
from ..analysis.standing import in_order
from ..collective import collectives
from ..errors import CollsimError, describe_unknown
from ..keywords import check_keywords
from ..registry import Algorithm, algorithms, find
from ..schedule import Schedule
from ..simulate import Trace
from ..simulate.variants import Search
from ..topology import Topology
from ..topology.plan import Machine
from ..topology_names import TopologyLike, resolve_topology
from .run import Progress, sweep
from .synthesized import SYNTHESIZED
from .ways import compare_ways

if TYPE_CHECKING:
    from concurrent.futures import Executor

    import pandas as pd

    from ..train import Model, StepTrace
    from ..train.step_differences import StepComparison

#: Columns of the table of algorithms.
COLUMNS = ("nbytes", "algorithm", "channels", "chunks", "time", "algbw", "busbw", "bound", "gap", "tried", "error")


@overload
def compare(a: Trace, b: Trace) -> Comparison: ...


@overload
def compare(a: StepTrace, b: StepTrace) -> StepComparison: ...


@overload
def compare(a: Model | str, b: TopologyLike, *, parallel: Any = ..., **step: Any) -> pd.DataFrame: ...


@overload
def compare(
    a: str,
    b: TopologyLike,
    nbytes: Any = ...,
    *,
    algorithm: Sequence[str | Algorithm | Schedule] | None = ...,
    channels: int | None = ...,
    chunks: int | None = ...,
    dtype: str = ...,
    engine: Any = ...,
    switches: bool = ...,
    executor: Executor | None = ...,
    progress: Progress | bool | None = ...,
) -> pd.DataFrame: ...


@check_keywords
def compare(
    a: Any,
    b: Any = None,
    nbytes: Any = "64MiB",
    *,
    algorithm: Sequence[str | Algorithm | Schedule] | None = None,
    channels: int | None = None,
    chunks: int | None = None,
    dtype: str = "float32",
    engine: Any = "lockstep",
    switches: bool = True,
    executor: Executor | None = None,
    progress: Progress | bool | None = None,
    parallel: Any = None,
    **step: Any,
) -> Any:
    """Two runs, `compare(trace, other)`; or the algorithms of a collective, `compare("allreduce", machine, "64MiB")`.

    Training as collectives: two steps, `compare(step, other)`; or the ways of splitting a model,
    `compare("resnet50", machine, batch=4096)`, each at its best: of the sizes of buckets, and of one or many servers.

    Args:
        a, b: two Traces, of which `a` is the base and which may differ in anything; or the name of a collective and a
        Topology. The rest is for algorithms.
        nbytes: one size or a list of them.
        algorithm: only these, names, Algorithms or Schedules; all of the collective unless given. `"synthesized"` is
            the schedule that `synthesize` finds for the machine and each size.
        channels, chunks: pin them; unless given each algorithm that has such options runs with one channel and one
        chunk, and with all channels that the topology offers and each of `PIPELINES` chunks, and the fastest counts.
        dtype, engine, executor, progress: as `sweep` takes them. switches: of `"synthesized"`, as `synthesize` has it.
        parallel: of a model: ways of splitting as `sweep` takes them; of an option with several values the fastest
            counts. step: what `training_step` takes.

    Returns:
        A `Comparison` of two runs; or a DataFrame with `COLUMNS`, a row for each size and algorithm, the fastest of a
        size first and of equals the first by name: the channels and chunks it chose, seconds, bytes per second, and how
        many were tried; `attrs["search"]` says among which, as `1 × 1, 8 × {1, 4, 16}` (channels × chunks). What cannot
        run has its reason in `error`. Of two steps a `StepComparison`; of a model a DataFrame with a row for each way,
        the fastest first: its call, the figures of its step, and how many were tried.

    Raises CollsimError for anything else, unknown names and bad counts.
    """
    if not switches and not (isinstance(a, str) and a in collectives()):
        raise CollsimError("switches= is for collectives: compare('allreduce', machine, switches=False)")
    if isinstance(b, str | Machine) and not isinstance(a, Trace):
        b = resolve_topology(b, "compare")
    if isinstance(b, Topology) and _is_model(a):
        options = {"dtype": dtype, **step}
        return compare_ways(a, b, parallel, options, executor=executor, progress=progress)
    if parallel is not None or step:
        if isinstance(b, Topology) and isinstance(a, str) and a not in collectives():
            raise CollsimError(describe_unknown("model or collective", a, [*_model_names(), *collectives()]))
        what = "parallel" if parallel is not None else next(iter(step))
        why = "{what}= is for the ways of splitting a model: compare('resnet50', machine, batch=4096)"
        raise CollsimError(why, what=what)
    if isinstance(b, Topology) and isinstance(a, str):
        names = _named(a, algorithm)
        search = Search.on(b, channels, chunks)
        frame = sweep(a, pairs(names, search, switches), b, nbytes, dtype, engine, executor=executor, progress=progress)
        return ranked(frame, search)
    return _two(a, b)


def _is_model(given: Any) -> bool:
    """A Model, or the name of one."""
    if isinstance(given, Trace) or (isinstance(given, str) and given in collectives()):
        return False  # the room of training stays closed
    from ..train import Model

    return isinstance(given, Model) or (isinstance(given, str) and given in _model_names())


def _model_names() -> list[str]:
    from ..train import models

    return list(models())


def _two(a: Any, b: Any) -> Comparison | StepComparison:
    """Two runs, or two steps of training."""
    if isinstance(a, Trace) and isinstance(b, Trace):
        return compare_runs(a, b)
    from ..train import StepTrace
    from ..train.step_differences import compare_steps

    return compare_steps(a, b) if isinstance(a, StepTrace) or isinstance(b, StepTrace) else compare_runs(a, b)


def _named(collective: str, given: Sequence[str | Algorithm | Schedule] | None) -> list[Algorithm | Schedule | str]:
    if given is None:
        return list(algorithms(collective).values())
    if isinstance(given, str) or not isinstance(given, Sequence):
        why = "algorithm={given!r} must be a list of names, for example ['allreduce_ring', 'allreduce_tree']"
        raise CollsimError(why, given=given)
    return [
        entry if isinstance(entry, Algorithm | Schedule) or entry == SYNTHESIZED else find(entry) for entry in given
    ]


def pairs(
    entries: Sequence[Algorithm | Schedule | str], search: Search, switches: bool = True
) -> list[tuple[Algorithm | Schedule | str, dict[str, Any]]]:
    """Every algorithm with every choice of options to try, as `sweep` takes them.

    Args:
        entries: algorithms; a finished schedule or what is synthesized has one choice.
        search: the channels and chunks to try.
        switches: may what is synthesized use switches that reduce?
    """
    variants: list[tuple[Algorithm | Schedule | str, dict[str, Any]]] = []
    for entry in entries:
        if isinstance(entry, Algorithm):
            variants += [(entry, options) for options in search.of(entry)]
        else:
            variants.append((entry, {"switches": False} if entry == SYNTHESIZED and not switches else {}))
    return variants


def fastest(frame: pd.DataFrame) -> pd.DataFrame:
    """The fastest row of `sweep` for each algorithm and size, with columns `channels`, `chunks` and `tried`."""
    parsed = [json.loads(options) for options in frame["options"]]
    found = frame.assign(
        channels=[options.get("channels", 1) for options in parsed],
        chunks=[options.get("chunks", 1) for options in parsed],
        tried=frame.groupby(["algorithm", "nbytes"])["algorithm"].transform("size"),
    )
    if "time" in found:  # otherwise nothing could run: every row has its reason
        found = in_order(found, "time")
    first = found.drop_duplicates(["algorithm", "nbytes"]).index
    return found.loc[sorted(first)].reset_index(drop=True)


def ranked(frame: pd.DataFrame, search: Search) -> pd.DataFrame:
    """The fastest of each algorithm as the table that `compare` returns."""
    best = fastest(frame)
    by = ("nbytes", "time", "algorithm") if "time" in best else ("nbytes",)
    table = in_order(best, *by).reset_index(drop=True).reindex(columns=list(COLUMNS))
    table.attrs["search"] = str(search)
    return table
