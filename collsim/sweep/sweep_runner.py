"""Run scenarios on any `concurrent.futures` executor, keep each result as it comes, and return the table."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Unpack

from ..analysis.rank_orders import reorder_ranks
from ..display.progress import open_progress, require_progress
from ..errors import CollsimError
from ..errors.arguments import check_arguments
from ..faults import require_right
from ..registry import Algorithm, get_algorithm
from ..registry import schedule as make_schedule
from ..schedule import Schedule
from ..simulate import Engine, simulate
from ..simulate.waiting import defer_interrupt
from ..topology import Topology
from ..units import ByteSize, DataType
from .nccl_library import NCCL, predict_row
from .orphans import begin_worker
from .scenario import AlgorithmEntry, EngineEntry, OneOrMany, StrategyEntry, TopologyEntry, Work, list_scenarios
from .step_sweep import StepWork, SweptStepOptions, list_steps, refuse_collective_options, refuse_step_options
from .synthesized_algorithm import SYNTHESIZED, time_synthesized

if TYPE_CHECKING:
    from concurrent import futures

    import pandas as pd

    from ..train import Model
    from .store import Row, Store

Progress = Callable[[int, int, float], None]
_COUNTED = "scenarios done", "in all", "seconds"

#: Seconds of processor time in this thread before processes are started: a small sweep is done sooner than they are.
#: What other threads compute does not count: while they import or compile, a process that is forked may never end.
_ALONE = 1.0


@check_arguments
def sweep(
    collective: OneOrMany[str] = "allreduce",
    algorithm: OneOrMany[AlgorithmEntry] | None = None,
    topology: OneOrMany[TopologyEntry] = (),
    nbytes: OneOrMany[ByteSize] = "64MiB",
    dtype: OneOrMany[DataType] = "float32",
    engine: OneOrMany[EngineEntry] = "lockstep",
    *,
    order: OneOrMany[str | Sequence[int]] | None = None,
    model: OneOrMany[str | Model] | None = None,
    parallel: OneOrMany[StrategyEntry] | None = None,
    prices: Mapping[str, float] | None = None,
    where: Callable[[dict[str, Any]], bool] | None = None,
    executor: futures.Executor | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: Progress | bool | None = None,
    **step: Unpack[SweptStepOptions],
) -> pd.DataFrame:
    """Simulate every combination; a row each, in SI units. Every argument is one value or a list of them.

    With `model=` it is steps of training that are timed: `sweep(model="resnet50", topology=..., batch=[1024, 4096])`.

    Args:
        collective: names of `cs.collectives()`.
        algorithm: names, Algorithms, Schedules, or `(name, {option: value or list})` pairs; None for all there are.
            `"nccl"` is what NCCL itself would choose and take (`nccl.predict`); its options are NCCL's settings:
            `("nccl", {"NCCL_PROTO": ["LL", "Simple"]})`; such rows have the engine `nccl`.
            `"synthesized"` is found for each machine and size; its options are effort, method, pieces, root.
        topology: Topologies, or words for them: `"switch(64)"`, `"dgx-a100"`,
            `{"machine": "dgx-a100", "nodes": [1, 2, 4], "p2p": [True, False], "scaled": {"infiniband": 2}}`.
        nbytes: nccl-tests' sizes, bytes or texts such as `"64MiB"`; `cs.size_range("1KiB:1GiB:4")` makes a list.
        dtype: types of elements, names of `collsim.dtypes.list_dtypes()`; of models what is computed in: float32,
            float16 or bfloat16.
        engine: `"lockstep"` (a barrier after each step) or `"event"` (none), or a pair of the name and options of
            `simulate`: `("event", {"jitter": "1us", "sharing": "fair"})`.
        order: rank orders: `"given"` (what is meant unless another is named), `"reversed"`, `"random:7"` (7 is the
            seed), or permutations of the ranks.
        model: names of `cs.models()`, or Models; then it is steps of training that are timed.
        parallel: of models: how a step is split: `ddp(...)`, products (as text too), names, or pairs as
            `("ddp", {"bucket": ["1MiB", "25MiB"]})`; ddp unless given.
        prices: money by part (`"nic"`) or change (`"nic=roce-100"`), as `upgrades` takes it: in any currency, for the
            whole machine. The first topology is the machine as it is. Rows get the columns change, saved (s less than
            the same work takes there), share, price and per_thousand (s saved for 1,000 units of money).
        where: keeps a scenario if it returns true for its inputs, a dict with the columns of the table.
        executor: any PEP 3148 executor (processes here when None); one piece of work per schedule and topology.
        out: `x.sqlite`, `x.parquet`, `x.csv` or `x.json`: results are on disk as they come, and a sweep that was killed
            goes on where it was when it is called again.
        progress: True for a bar in a notebook or terminal, or a function of (scenarios done, in all, seconds).
        step: of models: options of `training_step` as it describes them: `batch` (samples of all GPUs) or
            `micro_batch` (of one), `network` (`"alone"`, `"shared"`), `collectives` (`"nccl"`, `"links"`), `optimizer`
            (adam, momentum, sgd, none), `recompute` (none, selective, alternate, full), `memory` (bytes or text),
            `ranks` (counts of GPUs), `step`, `interference`, `eager`: each one value or several; `compute`,
            `background` and `slow`: one.

    Returns:
        Columns: scenario (hash of its inputs and of the model's version), the inputs, the figures (`Trace.row`),
        `channels` (all that a machine offers unless an option says another number), and `error`; `options` and
        `engine_options` are JSON texts, so that rows can be compared and written to Parquet. What cannot run or is no
        correct schedule (`verify`) is a row with its reason in `error` and no figures; it does not end the sweep.

    Raises:
        CollsimError: for unknown names and bad sizes, before anything runs.

    Examples:
        >>> import collsim as cs
        >>> table = cs.sweep("allreduce", ["allreduce_ring", "allreduce_tree"], "switch(4)", ["1KiB", "1MiB"])
        >>> table[["algorithm", "nbytes", "steps"]]
                algorithm   nbytes  steps
        0  allreduce_ring     1024      6
        1  allreduce_ring  1048576      6
        2  allreduce_tree     1024      4
        3  allreduce_tree  1048576      4
    """
    if executor is not None and not callable(getattr(executor, "submit", None)):
        message = "executor={executor!r} has no submit; give an executor of concurrent.futures, or None"
        raise CollsimError(message, executor=executor)
    require_progress(progress, *_COUNTED)
    money: Mapping[str, float] = {}
    if prices is not None:
        from ..purchases.part_prices import parse_prices  # brings the steps of training

        money = parse_prices(prices)
    work: Sequence[Work | StepWork]
    if model is None:
        refuse_step_options({"parallel": parallel, **step})
        work = list_scenarios(collective, algorithm, topology, order, nbytes, dtype, engine, where)
    else:
        refuse_collective_options({"collective": collective, "nbytes": nbytes, "engine": engine, "order": order})
        work = list_steps(model, topology, parallel, {"algorithm": algorithm, "dtype": dtype, **step}, where)
    return _run_and_store(work, money, executor, out, progress)


def _run_and_store(
    work: Sequence[Work | StepWork],
    prices: Mapping[str, float],
    executor: futures.Executor | None,
    out: str | os.PathLike[str] | None,
    progress: Progress | bool | None,
) -> pd.DataFrame:
    """Run what a store does not have yet; the table of all."""
    from .store import Store  # brings a data base

    keys = [key for piece in work for key in piece.keys]
    store = Store(out)
    try:
        known = store.list_done()
        todo = [rest for piece in work if (rest := _drop_stored(piece, known)) is not None]
        with open_progress(progress, "scenarios", *_COUNTED) as tell:
            _run(todo, store, executor, _build_counter(tell, len(keys) - sum(len(w.keys) for w in todo), len(keys)))
        frame = store.build_frame(keys)
        if prices and work:
            from .part_costs import add_cost_columns

            # Money is no input of a scenario: other prices leave the stored rows as they are.
            frame = add_cost_columns(frame, work, prices)
        store.finish(frame)
    finally:
        store.close()
    return frame


def _drop_stored(work: Work | StepWork, known: set[str]) -> Work | StepWork | None:
    """What of a piece of work is not done yet."""
    rest = [i for i, key in enumerate(work.keys) if key not in known]
    if not rest:
        return None
    keys, inputs = tuple(work.keys[i] for i in rest), tuple(work.inputs[i] for i in rest)
    if isinstance(work, StepWork):  # the same twice: mypy checks the fields of `replace` for one type at a time
        return replace(work, cases=tuple(work.cases[i] for i in rest), keys=keys, inputs=inputs)
    return replace(work, cases=tuple(work.cases[i] for i in rest), keys=keys, inputs=inputs)


def _build_counter(progress: Callable[..., None] | None, done: int, total: int) -> Callable[[int], None]:
    began = time.monotonic()

    def count(more: int) -> None:
        nonlocal done
        done += more
        if progress is not None:
            progress(done, total, time.monotonic() - began)

    count(0)
    return count


def _run(
    work: list[Work | StepWork], store: Store, executor: futures.Executor | None, count: Callable[[int], None]
) -> None:
    if executor is not None:
        _run_on_executor(work, store, executor, count, width=64)
        return
    began = time.thread_time()
    while work and time.thread_time() - began < _ALONE:
        piece, *work = work
        store.add(run_scenarios(piece))
        count(len(piece.keys))
    while work:
        with _open_workers() as (pool, width):
            work = _run_on_executor(work, store, pool, count, width)


@contextmanager
def _open_workers() -> Iterator[tuple[futures.Executor, int]]:
    """Worker processes, forked where the system can: they need not import the caller's script again.

    They do not hear Ctrl-C, which a terminal sends to all; it ends them in the middle of their work from here. They end
    with this process, also where that is killed.
    """
    import multiprocessing  # brings sockets and pipes with it, for which nobody asks who only imports collsim
    from concurrent import futures

    # Forked workers start in milliseconds; without fork each would import the caller's script again.
    method = None
    if "fork" in multiprocessing.get_all_start_methods():
        method = "fork"
    width = os.cpu_count() or 1
    others = multiprocessing.active_children()
    with futures.ProcessPoolExecutor(width, multiprocessing.get_context(method), begin_worker, (os.getpid(),)) as pool:
        # One job starts the processes now, while an interrupt is held back.
        try:
            with defer_interrupt():  # a Ctrl-C that comes while processes fork would be lost
                pool.submit(int)
            yield pool, 2 * width
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            # Workers of the pool only: other children belong to the caller.
            for worker in set(multiprocessing.active_children()) - set(others):
                worker.terminate()
            raise


def _run_on_executor(
    work: list[Work | StepWork], store: Store, executor: futures.Executor, count: Callable[[int], None], width: int
) -> list[Work | StepWork]:
    """Keep `width` pieces in flight, and the results as they come. Returns what a dying pool left undone.

    When the workers die, the pieces in flight are suspects: run one at a time (a width of 1) the guilty one is found
    and reported.
    """
    from concurrent import futures

    waiting = list(reversed(work))
    flying: dict[futures.Future[list[tuple[str, Row]]], Work | StepWork] = {}
    while waiting or flying:
        try:
            # A few pieces more than workers keep all of them busy without filling the queue.
            while waiting and len(flying) < width:
                piece = _make_portable(waiting[-1])
                flying[executor.submit(run_scenarios, piece)] = piece
                waiting.pop()
        except futures.BrokenExecutor:
            # A worker that died takes its pool along; who killed it is found by running the pieces one by one.
            return _rerun_suspects(waiting, list(flying.values()), store, count)
        done, _ = futures.wait(flying, return_when=futures.FIRST_COMPLETED)
        for future in done:
            piece = flying.pop(future)
            try:
                rows = future.result()
            except futures.BrokenExecutor:
                return _rerun_suspects(waiting, [piece, *flying.values()], store, count)
            except Exception as error:  # whatever a foreign executor raises is the fate of this piece only
                rows = _build_failed_rows(piece, f"{type(error).__name__}: {error}")
            store.add(rows)
            count(len(piece.keys))
    return []


def _make_portable(work: Work | StepWork) -> Work | StepWork:
    """An algorithm from a notebook cell is not there in another process: its schedule travels instead (or why there is
    none)."""
    if isinstance(work, StepWork) or not isinstance(work.algorithm, Algorithm):
        return work
    try:
        return replace(work, algorithm=make_schedule(work.algorithm, topology=work.topology, **work.options))
    except CollsimError as error:
        return replace(work, algorithm=error)


def _rerun_suspects(
    waiting: list[Work | StepWork], suspects: list[Work | StepWork], store: Store, count: Callable[[int], None]
) -> list[Work | StepWork]:
    """After the workers died: try each suspect in a process of its own, so that only the guilty one fails."""
    from concurrent import futures

    for piece in suspects:
        with _open_workers() as (pool, _):
            try:
                store.add(pool.submit(run_scenarios, piece).result())
            except futures.BrokenExecutor:
                store.add(_build_failed_rows(piece, "its worker process died; out of memory?"))
        count(len(piece.keys))
    return list(reversed(waiting))


def _build_failed_rows(work: Work | StepWork, message: str) -> list[tuple[str, Row]]:
    return [(key, {**inputs, "error": message}) for key, inputs in zip(work.keys, work.inputs, strict=True)]


def run_scenarios(work: Work | StepWork) -> list[tuple[str, Row]]:
    """Run the scenarios of a piece of work, in a worker.

    Args:
        work: What to run.

    Returns:
        (scenario id, row) of each; what cannot run has its reason in `error`.
    """
    try:
        figures_of = _choose_runner(work)
    except CollsimError as error:
        return _build_failed_rows(work, str(error))
    rows = []
    for key, case, inputs in zip(work.keys, work.cases, work.inputs, strict=True):
        try:
            figures = figures_of(*case)
            known = {**inputs, "error": None}
            rows.append((key, {**inputs, **{k: v for k, v in figures.items() if k not in known}, "error": None}))
        except CollsimError as error:
            rows.append((key, {**inputs, "error": str(error)}))
        except Exception as error:  # a failing scenario is a row, not the end
            rows.append((key, {**inputs, "error": f"{type(error).__name__}: {error}"}))
    return rows


def _choose_runner(work: Work | StepWork) -> Callable[..., Row]:
    """What gives the figures of each case of a piece of work: (nbytes, dtype, engine, engine options), or those of
    StepWork."""
    if isinstance(work, StepWork):
        return work.figures
    if work.algorithm == NCCL:
        return lambda nbytes, *_: predict_row(work.collective, work.topology, nbytes, work.options)
    network = work.topology
    if work.order is not None:
        network = reorder_ranks(work.topology, work.order)
    if work.algorithm == SYNTHESIZED:
        return lambda nbytes, dtype, engine, options: _time_synthesized(work, network, nbytes, dtype, engine, options)
    plan = _build_schedule(work)
    require_right(plan)
    channels = {"channels": plan.channels}
    return lambda nbytes, dtype, engine, options: (
        simulate(plan, network, nbytes, dtype, engine, **options).row() | channels
    )


def _time_synthesized(work: Work, network: Topology, nbytes: int, dtype: str, engine: Engine, conditions: Row) -> Row:
    """The figures of what is synthesized for one size."""
    trace = time_synthesized(
        work.collective, network, nbytes, dtype, engine, options=work.options, conditions=conditions
    )
    return trace.row() | {"channels": 1}


def _build_schedule(work: Work) -> Schedule:
    if isinstance(work.algorithm, Schedule):
        if work.algorithm.ranks != work.topology.ranks:
            message = "{label} is for {ranks} ranks, {name} has {count}"
            values = {"label": work.algorithm.label, "ranks": work.algorithm.ranks}
            raise CollsimError(message, **values, name=work.topology.name, count=work.topology.ranks)
        return work.algorithm
    if isinstance(work.algorithm, CollsimError):
        raise work.algorithm
    return _build_by_algorithm(work, work.algorithm)


def _build_by_algorithm(work: Work, algorithm: Algorithm | str) -> Schedule:
    """By an algorithm; one that knows only the number of ranks is made once for all networks."""
    if isinstance(algorithm, Algorithm):
        return make_schedule(algorithm, topology=work.topology, **work.options)
    entry = get_algorithm(algorithm)
    if "topology" in entry.options:
        return make_schedule(entry, topology=work.topology, **work.options)
    return _build_shared(entry.name, work.topology.ranks, tuple(sorted(work.options.items())))


@lru_cache(maxsize=64)
def _build_shared(name: str, ranks: int, options: tuple[tuple[str, Any], ...]) -> Schedule:
    """A schedule that does not look at the topology is the same on all of them."""
    return make_schedule(name, ranks=ranks, **dict(options))
