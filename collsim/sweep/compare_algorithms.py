"""`compare`: algorithms on one machine, each at its best over a small search that is named."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Unpack, overload

from ..analysis.ranking import sort_table
from ..collective import collectives, translate_collective
from ..errors import CollsimError, describe_unknown, require_flags
from ..errors.arguments import check_arguments
from ..registry import Algorithm, algorithms, get_algorithm
from ..schedule import Schedule
from ..simulate import Trace
from ..simulate.variants import VariantSearch
from ..topology_names import TopologyLike, resolve_topology
from ..units import ByteSize
from .compare_splits import compare_splits
from .scenario import EngineEntry, OneOrMany, StrategyEntry
from .sweep_runner import Progress, sweep
from .synthesized_algorithm import SYNTHESIZED

if TYPE_CHECKING:
    from concurrent.futures import Executor

    import pandas as pd

    from ..train import Model
    from ..train.step_request import TrainingStepOptions

#: Columns of the table of algorithms.
COLUMNS = ("nbytes", "algorithm", "channels", "chunks", "time", "algbw", "busbw", "bound", "gap", "tried", "error")


@overload
def compare(
    collective: str,
    topology: TopologyLike,
    nbytes: OneOrMany[ByteSize] = ...,
    *,
    algorithm: Sequence[str | Algorithm | Schedule] | None = ...,
    channels: int | None = ...,
    chunks: int | None = ...,
    dtype: str = ...,
    engine: OneOrMany[EngineEntry] = ...,
    switches: bool = ...,
    executor: Executor | None = ...,
    progress: Progress | bool | None = ...,
) -> pd.DataFrame: ...


@overload
def compare(
    collective: Model | str,
    topology: TopologyLike,
    *,
    parallel: OneOrMany[StrategyEntry] | None = ...,
    algorithm: str | None = ...,
    dtype: str = ...,
    executor: Executor | None = ...,
    progress: Progress | bool | None = ...,
    **step: Unpack[TrainingStepOptions],
) -> pd.DataFrame: ...


@check_arguments
def compare(
    collective: Model | str,
    topology: TopologyLike,
    nbytes: OneOrMany[ByteSize] = "64MiB",
    *,
    algorithm: str | Sequence[str | Algorithm | Schedule] | None = None,
    channels: int | None = None,
    chunks: int | None = None,
    dtype: str = "float32",
    engine: OneOrMany[EngineEntry] = "lockstep",
    switches: bool = True,
    executor: Executor | None = None,
    progress: Progress | bool | None = None,
    parallel: OneOrMany[StrategyEntry] | None = None,
    **step: Unpack[TrainingStepOptions],
) -> pd.DataFrame:
    """Compare the algorithms of a collective, `compare("allreduce", machine, "64MiB")`, or ways of splitting a model.

    Each is taken at its best: an algorithm over channels and chunks; a way of splitting, as in
    `compare("resnet50", machine, batch=4096)`, over sizes of buckets, and one or many servers. Two runs are compared by
    `cs.analysis.compare_runs`, two steps of training by `cs.train.compare_steps`.

    Args:
        collective: the name of a collective; or a model, or its name.
        topology: a Topology, or the name of one.
        nbytes: one size or a list of them.
        algorithm: only these, names, Algorithms or Schedules; all of the collective unless given. `"synthesized"` is
            the schedule that `synthesize` finds for the machine and each size. Of a model: the one that runs its
            allreduces, with `collectives="links"`.
        channels: pins them; unless given each algorithm that has such options runs with one channel and one chunk, and
            with all channels that the topology offers and each of `PIPELINES` chunks, and the fastest counts.
        chunks: pins them, likewise.
        dtype: type of an element.
        engine: as `sweep` takes it.
        switches: of `"synthesized"`, as `synthesize` has it.
        executor: as `sweep` takes it.
        progress: as `sweep` takes it.
        parallel: of a model: how a step is split, as `sweep` takes it; of an option with several values the fastest
            counts.
        step: of a model: what `training_step` takes.

    Returns:
        A DataFrame. Of a collective: `COLUMNS`, a row for each size and algorithm, the fastest of a size first and of
        equals the first by name: the channels and chunks it chose, seconds, bytes per second, and how many were tried;
        `attrs["search"]` says among which, as `1 × 1, 8 × {1, 4, 16}` (channels × chunks). What cannot run has its
        reason in `error`. Of a model: a row for each way, the fastest first: its call, the figures of its step, and how
        many were tried.

    Raises:
        CollsimError: for anything else, unknown names and bad counts.

    Examples:
        >>> import collsim as cs
        >>> table = cs.compare("broadcast", "switch(4)", "1MiB", algorithm=["broadcast_chain", "broadcast_binomial"])
        >>> table[["algorithm", "channels", "chunks"]]
                    algorithm  channels  chunks
        0     broadcast_chain         1       4
        1  broadcast_binomial         1       1
    """
    require_flags(switches=switches)
    if isinstance(collective, str):
        collective = translate_collective(collective)
    # Options of one of the two kinds of comparison are refused in the other, instead of being ignored.
    if not switches and not (isinstance(collective, str) and collective in collectives()):
        raise CollsimError("switches= is for collectives: compare('allreduce', machine, switches=False)")
    # A run in place of a topology is a common slip: simulate's arguments are the other way round.
    _require_no_runs(collective, topology)
    if isinstance(collective, list | tuple | set):
        message = "compare takes one collective, got {value!r}; algorithms are named by algorithm=: {call}"
        call = "compare('allreduce', machine, '64MiB', algorithm=['allreduce_ring', 'allreduce_tree'])"
        raise CollsimError(message, value=collective, call=call)
    topology = resolve_topology(topology, "compare")
    if not isinstance(collective, str) or _is_model(collective):
        options = {"dtype": dtype, "algorithm": algorithm, **step}
        return compare_splits(collective, topology, parallel, options, executor=executor, progress=progress)
    if parallel is not None or step:
        if collective not in collectives():
            raise CollsimError(
                describe_unknown("model or collective", collective, [*_list_model_names(), *collectives()])
            )
        option = "parallel"
        if parallel is None:
            option = next(iter(step))
        message = "{what}= is for the ways of splitting a model: compare('resnet50', machine, batch=4096)"
        raise CollsimError(message, what=option)
    names = _list_entries(collective, algorithm)
    search = VariantSearch.for_topology(topology, channels, chunks)
    variants = list_variants(names, search, switches)
    frame = sweep(collective, variants, topology, nbytes, dtype, engine, executor=executor, progress=progress)
    return rank_algorithms(frame, search)


def _require_no_runs(*arguments: object) -> None:
    """Refuse two runs, or two steps of training, which have functions of their own."""
    if any(isinstance(value, Trace) for value in arguments):
        raise CollsimError("compare takes a collective or a model; two runs: cs.analysis.compare_runs(a, b)")
    if "collsim.train" in sys.modules:  # otherwise there is no step; importing the package takes a while
        from ..train import StepTrace

        if any(isinstance(value, StepTrace) for value in arguments):
            raise CollsimError("compare takes a collective or a model; two steps: cs.train.compare_steps(a, b)")


def _is_model(name: str) -> bool:
    """Whether it is the name of a model."""
    return name not in collectives() and name in _list_model_names()  # training is imported only where it has to be


def _list_model_names() -> list[str]:
    from ..train import models

    return list(models())


def _list_entries(
    collective: str, algorithm: str | Sequence[str | Algorithm | Schedule] | None
) -> list[Algorithm | Schedule | str]:
    """What `compare` compares: all of the collective, or what is named."""
    if algorithm is None:
        return list(algorithms(collective).values())
    if isinstance(algorithm, str) or not isinstance(algorithm, Sequence):
        message = "algorithm={value!r} must be a list of names, for example ['allreduce_ring', 'allreduce_tree']"
        raise CollsimError(message, value=algorithm)
    entries: list[Algorithm | Schedule | str] = []
    for entry in algorithm:
        if isinstance(entry, Algorithm | Schedule) or entry == SYNTHESIZED:
            entries.append(entry)
        else:
            entries.append(get_algorithm(entry))
    return entries


def list_variants(
    entries: Sequence[Algorithm | Schedule | str], search: VariantSearch, switches: bool = True
) -> list[tuple[Algorithm | Schedule | str, dict[str, object]]]:
    """List every algorithm with every choice of options to try.

    Args:
        entries: algorithms; a finished schedule or what is synthesized has one choice.
        search: the channels and chunks to try.
        switches: may what is synthesized use switches that reduce?

    Returns:
        (algorithm, options), as `sweep` takes them.
    """
    variants: list[tuple[Algorithm | Schedule | str, dict[str, object]]] = []
    for entry in entries:
        if isinstance(entry, Algorithm):
            variants += [(entry, dict(options)) for options in search.list_variants(entry)]
        elif entry == SYNTHESIZED and not switches:
            variants.append((entry, {"switches": False}))
        else:
            variants.append((entry, {}))
    return variants


def select_fastest(frame: pd.DataFrame) -> pd.DataFrame:
    """Select the fastest row for each algorithm and size.

    Args:
        frame: of `sweep`.

    Returns:
        These rows, with columns `channels`, `chunks` and `tried`, how many there were.
    """
    parsed = [json.loads(options) for options in frame["options"]]
    variants = frame.assign(
        channels=[options.get("channels", 1) for options in parsed],
        chunks=[options.get("chunks", 1) for options in parsed],
        tried=frame.groupby(["algorithm", "nbytes"])["algorithm"].transform("size"),
    )
    if "time" in variants:  # otherwise nothing could run: every row has its reason
        variants = sort_table(variants, "time")
    first = variants.drop_duplicates(["algorithm", "nbytes"]).index
    return variants.loc[sorted(first)].reset_index(drop=True)


def rank_algorithms(frame: pd.DataFrame, search: VariantSearch) -> pd.DataFrame:
    """Build the table that `compare` returns.

    Args:
        frame: of `sweep`.
        search: what was tried.

    Returns:
        The fastest of each algorithm, with `COLUMNS`.
    """
    best = select_fastest(frame)
    by = [name for name in ("nbytes", "time", "algorithm") if "time" in best or name == "nbytes"]
    table = sort_table(best, *by).reset_index(drop=True).reindex(columns=list(COLUMNS))
    table.attrs["search"] = str(search)
    return table
