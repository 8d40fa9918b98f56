"""The interface of measured runs: run a schedule on processes of this computer, check its numbers, compare times."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ..collective import NOTHING, get_collective
from ..display.progress import open_progress
from ..dtypes import Bools, Longs, find_dtype_name
from ..errors import CollsimError, require_word
from ..errors.arguments import check_arguments
from ..registry import schedule as registered
from ..replay import (
    OPERATORS,
    Combine,
    apply_schedule,
    mark_initial_slots,
    parse_buffers,
    replay_with,
    require_schedule,
)
from ..schedule import Schedule
from ..simulate import Trace
from ..simulate.conditions import parse_conditions
from ..simulate.run import compute_slot_bytes
from ..units import (
    Bandwidth,
    ByteSize,
    DataType,
    Duration,
    format_bytes,
    format_time,
    parse_bandwidth,
    parse_bytes,
    parse_count,
    parse_time,
)
from .launch import ReportProgress, measure_runs
from .mpiexec import require_library
from .prediction import MessageCost, build_imitated_topology, predict_run
from .ranks.emulated_network import ImitatedNetwork
from .ranks.endpoint_program import build_programs
from .ranks.rank_process import RankOutcome, RankTask
from .ranks.stepping import StepOutcome
from .ranks.wire import new_token
from .real_trace import ENGINE, Measurement, RealTrace, build_timing

#: Processes, bytes of a rank's buffer, bytes of all slots together, s, and runs: what a computer bears while somebody
#: else works on it.
MAX_RANKS, MAX_BYTES, MAX_MEMORY, MAX_SECONDS, MAX_RUNS = 16, 64 * 2**20, 4 * 2**30, 600.0, 100
ALPHA, BANDWIDTH, TIME_LIMIT = "10ms", "10MB/s", 60.0
BACK_ENDS = ("here", "mpi", "gloo")
_PERIOD = 1009  # elements after which the numbers of a slot repeat; prime, so that no chunk begins as another
_SMALL = 100  # whole numbers up to this, so that sums of them fit every type but the smallest
Outcome = TypeVar("Outcome", RankOutcome, StepOutcome)
_UFUNCS = {"sum": "add", "avg": "add", "prod": "multiply", "max": "maximum", "min": "minimum"}


@dataclass(frozen=True)
class RealRun:
    """A run on processes, checked before any is started.

    Attributes:
        schedule: what the processes do, one for each endpoint.
        nbytes: nccl-tests' size in bytes.
        dtype: type of an element.
        op: what a reduction does, as in `replay`.
        network: latency and cables to imitate, and who is late or slow.
        repeat: number of runs that count; one more before them warms up.
        time_limit: s for all of it, starting the processes included.
        on: what carries the messages: `here` (paced sockets), `mpi`, `gloo`, or `hosts` for traces that other computers
            wrote.
    """

    schedule: Schedule
    nbytes: int
    dtype: np.dtype[np.generic]
    op: str
    network: ImitatedNetwork
    repeat: int
    time_limit: float
    on: str

    @property
    def sizes(self) -> Longs:
        """(slots,) elements of each slot, as many slots as the collective's condition speaks of."""
        slots = max(self.schedule.slots, get_collective(self.schedule.collective).slots(self.schedule.chunks))
        return np.resize(
            compute_slot_bytes(self.schedule, self.nbytes, self.dtype.itemsize) // self.dtype.itemsize, slots
        )


@check_arguments
def run_for_real(
    schedule: Schedule,
    nbytes: ByteSize | None = None,
    *,
    alpha: Duration | None = ALPHA,
    bandwidth: Bandwidth | None = BANDWIDTH,
    on: str = "here",
    repeat: int = 1,
    dtype: DataType = "float32",
    op: str = "sum",
    eager: bool = True,
    late: Mapping[int, Duration] | None = None,
    slow: Mapping[int, float] | None = None,
    buffers: npt.ArrayLike | None = None,
    layout: str | None = None,
    time_limit: Duration = TIME_LIMIT,
    calibrate: bool = False,
    progress: Callable[..., None] | bool | None = None,
) -> RealTrace:
    """Run a schedule on processes of this computer, a process for each rank and helper, and measure every transfer.

    Args:
        schedule: any Schedule; a process is started for each of its endpoints.
        nbytes: as in `simulate`; whole elements. At most 64 MiB.
        alpha: of the network that is imitated: s from the last byte to the arrival.
        bandwidth: B/s of the one cable that each rank has in each direction to a switch. None: nothing is paced, the
            computer is as fast as it is; what a message costs is measured first, and the prediction is made of that.
        on: `"here"`: paced sockets on 127.0.0.1. `"mpi"` (mpi4py) and `"gloo"` (torch): these libraries' own
            messages, which nothing paces; alpha and bandwidth are then those of the prediction.
        repeat: so many runs after one to warm up; the columns are those of the median run.
        dtype: of an element, as in `replay`.
        op: what a reduction does, as in `replay`.
        eager: a rank sends when it has the data and its earlier sends have left. False: when they have arrived, and the
            receiver has got all that was to come before; rule (b) of the event engine.
        late: {rank: s} by which one joins later.
        slow: {rank: factor} by which its cables are slower.
        buffers: data of your own, as in `replay`; then `out` of the result is what came of them.
        layout: how they lie in memory, as in `replay`.
        time_limit: s for all of it, starting the processes included.
        calibrate: measure beside it what a message and a byte cost here, with as many processes and the same pacing.
        progress: True for a bar, or a function of (runs done, in all).

    Returns:
        A RealTrace: a Trace whose columns are measured, with all runs and the prediction. Every run's numbers are
        compared with `replay`, bit for bit.

    Raises:
        CollsimError: For what cannot be run, a rank that fails or is killed, a time limit, or a wrong number.

    Examples:
        >>> import collsim as cs
        >>> trace = cs.run_for_real(cs.schedule("allreduce_ring", ranks=2), "4KiB")
        >>> trace.time > 0 and len(trace.schedule) == 4
        True
    """
    plan, network = require_schedule(schedule), (alpha, bandwidth, eager, late, slow)
    data = None if buffers is None else parse_buffers(buffers)
    if data is not None:
        nbytes, dtype = _find_nbytes(plan, data, layout), data.dtype
    request = _imitate_network(check_request(plan, nbytes, dtype, op, on, repeat, time_limit), network)
    cost = None
    # Without a given bandwidth the network is this computer's own, which has to be measured first.
    if calibrate or request.network.bandwidth is None:
        cost = measure_message_cost(plan.ranks, request.network, on)
    predicted = _predict(request, cost)
    # A run that cannot end in time is refused before any process starts.
    require_time_limit(predicted.time, request.repeat, request.time_limit)
    with open_progress(progress, "runs", "runs done", "in all") as report_progress:
        if data is None:
            runs = _run_processes(request, *draw_numbers(request), give=False, report_progress=report_progress)
            outcomes, out = require_correct(request.schedule.label, runs), None
        else:
            outcomes, out = _run_on_buffers(request, data, layout, report_progress)
    return replace(build_trace(request, predicted, outcomes, out), calibrated=cost)


def _imitate_network(request: RealRun, network: tuple[Any, ...]) -> RealRun:
    """The same on its network; nothing paces a library's own messages. Raises CollsimError without that library."""
    require_library(request.on)
    if request.on != "here":
        network = (None, None, *network[2:])
    return replace(request, network=_parse_network(request.schedule.ranks, *network))


def measure_message_cost(ranks: int, network: ImitatedNetwork, on: str = "here") -> MessageCost:
    """What one message and one byte take, with so many processes: blocks go around the ring, at two sizes.

    Args:
        ranks: Processes, 2 or more.
        network: Late and slow ranks in it are ignored.
        on: Back end: "here", "mpi" or "gloo".

    Raises:
        CollsimError: For a single rank.
    """
    if ranks < 2:
        raise CollsimError("one rank sends no message, so there is nothing to measure; use two or more")
    around, steady = registered("allgather_ring", ranks=ranks), replace(network, late={}, slow={})
    times = [
        measure_best_time(around, size * ranks, steady, MessageCost.RUNS, on)
        for size in MessageCost.choose_sizes(steady)
    ]
    return MessageCost.fit(steady, [time / (ranks - 1) for time in times])


def measure_best_time(schedule: Schedule, nbytes: int, network: ImitatedNetwork, runs: int, on: str = "here") -> float:
    """Seconds of the fastest of so many runs, checked as all are."""
    request = RealRun(schedule, nbytes, np.dtype("float32"), "sum", network, runs, MAX_SECONDS, on)
    outcomes_of_runs = require_correct(
        request.schedule.label, _run_processes(request, *draw_numbers(request), give=False, report_progress=None)
    )
    return min(
        max(float(outcome.moments.arrived.max(initial=0.0)) for outcome in outcomes) for outcomes in outcomes_of_runs
    )


def _find_nbytes(schedule: Schedule, data: npt.NDArray[np.generic], layout: str | None) -> int:
    kind = get_collective(schedule.collective)
    if data.ndim != 2:
        raise CollsimError("buffers have shape {shape}; they are (ranks, elements)", shape=data.shape)
    is_own_part = (layout == "out-of-place" or kind.has_separate_result) and kind.before == "own"
    return int(data.shape[1] * data.itemsize * (schedule.ranks if is_own_part else 1))


def check_request(
    schedule: Schedule,
    nbytes: ByteSize | None,
    dtype: DataType = "float32",
    op: str = "sum",
    on: str = "here",
    repeat: int = 1,
    time_limit: Duration = TIME_LIMIT,
) -> RealRun:
    """What was requested, within the limits; nothing is started.

    Args:
        schedule: At most `MAX_RANKS` endpoints.
        nbytes: Size of the collective, a whole number of elements; None is refused with an example.
        dtype: Of the elements.
        op: Of the reduction: "sum", "prod", "min", "max".
        on: Back end: "here", "mpi" or "gloo".
        repeat: Measured runs.
        time_limit: s for all of them.

    Raises:
        CollsimError: Something is beyond the limits or does not exist.
    """
    # All limits are tested before anything is allocated or started.
    require_few_processes(schedule.label, schedule.endpoints)
    if nbytes is None:
        raise CollsimError("say how many bytes: run_for_real(schedule, '1MiB')")
    size, limit = parse_bytes(nbytes), parse_time(time_limit, "time_limit")
    runs = parse_repeat(repeat, limit)
    kind = parse_dtype(dtype)
    require_real_size(size, kind.name, kind.itemsize)
    word = require_word("reduction op", op, OPERATORS)
    request = RealRun(
        schedule, size, kind, word, ImitatedNetwork(), runs, limit, require_word("back end", on, BACK_ENDS)
    )
    require_memory(schedule.label, int(request.sizes.sum()) * kind.itemsize * schedule.endpoints)
    return request


def require_real_size(size: int, dtype: str = "float32", item: int = 4) -> None:
    """Raise CollsimError for bytes that are too many, or no whole number of elements: a simulation could cut anywhere.

    Args:
        size: Bytes.
        dtype: Name of the type of the elements.
        item: Bytes of an element.
    """
    if size > MAX_BYTES:
        template = "{size} is more than {most}, the most that is run for real here"
        raise CollsimError(template, size=format_bytes(size), most=format_bytes(MAX_BYTES))
    if size % item:
        template = "{size} bytes are no whole number of {dtype}, {item} bytes each; real data has whole elements"
        raise CollsimError(template, size=size, dtype=dtype, item=item)


def require_few_processes(label: str, count: int) -> None:
    """Raise CollsimError for more processes than a computer bears.

    Args:
        label: Of what would run.
        count: Its processes.
    """
    if count > MAX_RANKS:
        template = "{label} would start {count} processes; {most} is the most here, so use fewer ranks"
        raise CollsimError(template, label=label, count=count, most=MAX_RANKS)


def require_memory(label: str, nbytes: int) -> None:
    """Raise CollsimError for more bytes in all processes than a computer bears.

    Args:
        label: Of what would run.
        nbytes: Bytes that its processes hold.
    """
    if nbytes > MAX_MEMORY:
        template = "{label} would hold {memory} in its processes; {most} is the most here, so use fewer bytes or ranks"
        raise CollsimError(template, label=label, memory=format_bytes(nbytes), most=format_bytes(MAX_MEMORY))


def parse_repeat(repeat: object, limit: float) -> int:
    """How many runs.

    Args:
        repeat: A whole number.
        limit: s for all of them.

    Raises:
        CollsimError: They are too many, or the time for all is too long or not positive.
    """
    if not 0 < limit <= MAX_SECONDS:
        raise CollsimError(
            "time_limit={limit:g} s must be more than 0 and at most {most:g} s", limit=limit, most=MAX_SECONDS
        )
    runs = parse_count(repeat, "repeat")
    if runs > MAX_RUNS:
        raise CollsimError("repeat={runs} is more than {most}, the most at a time", runs=runs, most=MAX_RUNS)
    return runs


def parse_dtype(dtype: DataType) -> np.dtype[np.generic]:
    """The numpy type of the elements; small floats as ml_dtypes has them.

    Args:
        dtype: As in `collsim.dtypes.find_dtype_name`.

    Raises:
        CollsimError: It is unknown.
    """
    name = find_dtype_name(dtype)
    import ml_dtypes

    small = {"bfloat16": "bfloat16", "float8_e4m3": "float8_e4m3fn", "float8_e5m2": "float8_e5m2"}
    return np.dtype(getattr(ml_dtypes, small[name]) if name in small else name)


def _parse_network(
    ranks: int,
    alpha: Duration | None,
    bandwidth: Bandwidth | None,
    eager: bool,
    late: Mapping[int, Duration] | None,
    slow: Mapping[int, float] | None,
) -> ImitatedNetwork:
    """The network to imitate. Raises CollsimError for what none can be."""
    seconds = 0.0 if alpha is None else parse_time(alpha)
    rate = None if bandwidth is None else parse_bandwidth(bandwidth)
    wrong = {name: value for name, value in (("late", late), ("slow", slow), ("eager", eager)) if value}
    conditions = parse_conditions(build_imitated_topology(ranks, seconds, rate), wrong)
    return ImitatedNetwork(seconds, rate, conditions.eager, dict(conditions.late), dict(conditions.slow))


def _predict(request: RealRun, cost: MessageCost | None) -> Trace:
    """The prediction: of the network that is imitated, or where nothing is paced of what a message costs here."""
    network = request.network
    alpha, rate = network.alpha, network.bandwidth
    if rate is None and cost is not None:
        alpha, rate = cost.alpha, cost.bandwidth
    wrong: dict[str, Any] = {"late": network.late, "slow": network.slow, "eager": network.eager}
    return predict_run(request.schedule, request.nbytes, request.dtype.name, alpha, rate, **wrong)


def require_time_limit(seconds_per_run: float, repeat: int, limit: float) -> None:
    """Raise CollsimError where `repeat` runs, and one to warm up, would take longer than `limit` seconds."""
    seconds = seconds_per_run * (repeat + 1)
    if seconds > limit:
        raise CollsimError(
            "{runs} runs and one to warm up would take {seconds}, more than time_limit={limit:g} s; use fewer bytes or "
            "runs, a faster network, or a longer time_limit",
            runs=repeat,
            seconds=format_time(seconds),
            limit=limit,
        )


# ---- numbers


def draw_numbers(
    request: RealRun, seed: int = 0
) -> tuple[npt.NDArray[np.generic], Bools, dict[int, dict[int, npt.NDArray[np.generic]]]]:
    """Draw what all slots hold at the start, and what the collective promises of it.

    Only one period of each slot is drawn: it repeats through the slot, so that large arrays need no memory here.

    Args:
        request: Its type of elements and its operator: whole numbers that are multiplied are 1 or 2.
        seed: Of the random numbers.

    Returns:
        (endpoints, slots, period) values; (endpoints, slots) bool, which slots hold any; by rank and slot (period,)
            what `replay` makes of it.
    """
    schedule, has_data = request.schedule, mark_initial_slots(request.schedule)
    # Numbers repeat after a period: checking is as sharp, and megabytes of random numbers are saved.
    period = int(min(_PERIOD, max(1, request.sizes.max(initial=1))))
    random, values = np.random.default_rng(seed), np.zeros((*has_data.shape, period), request.dtype)
    shape = (int(has_data.sum()), period)
    is_integer = request.dtype.kind in "iu"
    drawn = (
        # Small whole numbers keep products and sums within the type.
        random.integers(1, 3 if request.op == "prod" else _SMALL, shape) if is_integer else random.normal(size=shape)
    )
    values[has_data] = drawn.astype(request.dtype)
    end, full = values.copy(), has_data.copy()
    # What must come out is computed by the replay, which knows nothing of processes.
    apply_schedule(schedule, end, full, _find_operator(request))
    final_contributions, _ = get_collective(schedule.collective).find_expected_contributions(
        schedule.ranks, schedule.chunks, schedule.root
    )
    expected = {
        rank: {int(slot): end[rank, slot] for slot in np.flatnonzero(final_contributions[rank] != NOTHING)}
        for rank in range(schedule.ranks)
    }
    return values, has_data, expected


def _find_operator(request: RealRun) -> Combine:
    return OPERATORS[request.op] if get_collective(request.schedule.collective).reduces else np.add


def _run_processes(
    request: RealRun,
    values: npt.NDArray[np.generic],
    has_data: Bools,
    expected: dict[int, dict[int, npt.NDArray[np.generic]]],
    give: bool,
    report_progress: ReportProgress | None,
    use_library_allreduce: bool = False,
) -> list[list[RankOutcome]]:
    """Hand each process its part, and run them."""
    count = request.schedule.endpoints
    token, name = new_token(), _UFUNCS[request.op] if get_collective(request.schedule.collective).reduces else "add"
    tasks = [
        RankTask(
            program,
            request.network,
            token,
            values[e],
            request.sizes,
            name,
            expected.get(e, {}),
            give,
            request.on,
            use_library_allreduce,
            count,
        )
        for e, program in enumerate(build_programs(request.schedule, has_data))
    ]
    return measure_runs(tasks, request.repeat, request.time_limit, report_progress)


def require_correct(label: str, runs: list[list[Outcome]]) -> list[list[Outcome]]:
    """The outcomes of runs. Raises CollsimError for elements that are other than the replay has them.

    Args:
        label: of what was run.
        runs: of each the outcome of each rank.
    """
    for number, outcomes in enumerate(runs):
        for rank, outcome in enumerate(outcomes):
            if outcome.wrong:
                template = "{label}: run {number} left {count:,} elements of rank {rank} other than replay has them"
                raise CollsimError(template, label=label, number=number + 1, count=outcome.wrong, rank=rank)
    return runs


def _run_on_buffers(
    request: RealRun, data: npt.NDArray[np.generic], layout: str | None, report_progress: ReportProgress | None
) -> tuple[list[list[RankOutcome]], npt.NDArray[np.generic]]:
    """The same on somebody's data: processes move it in the place of replay, and replay's result is what it must be."""
    runs: list[list[RankOutcome]] = []

    def by_processes(schedule: Schedule, values: npt.NDArray[np.generic], has_data: Bools, combine: Combine) -> None:
        # The replay's own result is what the processes must reach, slot by slot.
        end, full = values.copy(), has_data.copy()
        apply_schedule(schedule, end, full, combine)
        slots = {rank: dict(enumerate(end[rank])) for rank in range(schedule.ranks)}
        runs.extend(
            require_correct(
                request.schedule.label,
                _run_processes(request, values, has_data, slots, give=True, report_progress=report_progress),
            )
        )
        for rank, outcome in enumerate(runs[-1][: schedule.ranks]):
            for slot, array in outcome.slots.items():
                values[rank, slot, : len(array)] = array

    out = replay_with(request.schedule, data, request.op, layout, by_processes)
    return runs, out


# ---- the trace


def build_trace(
    request: RealRun, predicted: Trace, runs: list[list[RankOutcome]], out: npt.NDArray[np.generic] | None
) -> RealTrace:
    """The RealTrace of what the ranks measured.

    Args:
        request: What was run.
        predicted: The prediction of the same schedule and size.
        runs: Of each run the outcome of each endpoint, moments in s from its start.
        out: What the collective left at each rank; None where it was not collected.
    """
    start, came, finish = (np.zeros((len(runs), len(request.schedule))) for _ in range(3))
    # Each endpoint measured its own sends and receives; rows of the schedule bring them together.
    for run_number, outcomes in enumerate(runs):
        for endpoint, outcome in enumerate(outcomes):
            sends, receives = _find_rows(request.schedule, endpoint)
            start[run_number, sends] = outcome.moments.began
            came[run_number, receives] = outcome.moments.came
            finish[run_number, receives] = outcome.moments.arrived
    elements = sum(outcome.checked for outcomes in runs for outcome in outcomes)
    measurement = Measurement(start, came, finish, request.on, count_processors(), elements)
    return RealTrace(
        request.schedule,
        predicted.topology,
        request.nbytes,
        request.dtype.name,
        ENGINE,
        predicted.slot_bytes,
        predicted.placement,
        build_timing(predicted, measurement),
        conditions=predicted.conditions,
        measured=measurement,
        predicted=predicted,
        network=request.network,
        out=out,
    )


def _find_rows(schedule: Schedule, endpoint: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    table = schedule.transfers
    return np.flatnonzero(table["src"] == endpoint), np.flatnonzero(table["dst"] == endpoint)


def count_processors() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
