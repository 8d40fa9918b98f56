"""The door: run a schedule on the processes of this computer, check its numbers, and put it beside its prediction."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..bar import told
from ..collective import NOTHING, collective
from ..dtypes import itemsize
from ..errors import CollsimError, require_word
from ..registry import schedule as registered
from ..replay import OPERATORS, moved, require_schedule, run, starting
from ..schedule import Schedule
from ..simulate import Trace
from ..simulate.run import chunk_bytes
from ..units import format_bytes, format_time, parse_bandwidth, parse_bytes, parse_count, parse_time
from .launch import measured, new_token
from .prediction import MessageCost, predict
from .ranks.network import Network
from .ranks.process import Outcome, Task
from .ranks.program import programs
from .trace import ENGINE, Measurement, RealTrace, timing_of

#: Processes, bytes of a rank's buffer, bytes of all slots together, s, and runs: what a computer bears while somebody
#: else works on it.
MOST_RANKS, MOST_BYTES, MOST_MEMORY, MOST_SECONDS, MOST_RUNS = 16, 64 * 2**20, 4 * 2**30, 600.0, 100
ALPHA, BANDWIDTH, TIME_LIMIT = "10ms", "10MB/s", 60.0
WAYS = ("here", "mpi", "gloo")
_PERIOD = 1009  # elements after which the numbers of a slot repeat; prime, so that no chunk begins as another
_SMALL = 100  # whole numbers up to this, so that sums of them fit every type but the smallest
_UFUNCS = {"sum": "add", "avg": "add", "prod": "multiply", "max": "maximum", "min": "minimum"}


@dataclass(frozen=True)
class Asked:
    """What is to be run, checked: the schedule, bytes, type, operator, the network to imitate, how often, how long."""

    schedule: Schedule
    nbytes: int
    dtype: np.dtype[Any]
    op: str
    network: Network
    repeat: int
    time_limit: float
    on: str

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """(slots,) elements of each slot, as many slots as the collective's condition speaks of."""
        slots = max(self.schedule.slots, collective(self.schedule.collective).slots(self.schedule.chunks))
        return np.resize(chunk_bytes(self.schedule, self.nbytes, self.dtype.itemsize) // self.dtype.itemsize, slots)


def run_for_real(
    schedule: Schedule,
    nbytes: Any = None,
    *,
    alpha: Any = ALPHA,
    bandwidth: Any = BANDWIDTH,
    on: str = "here",
    repeat: int = 1,
    dtype: Any = "float32",
    op: str = "sum",
    eager: bool = True,
    late: Mapping[int, Any] | None = None,
    slow: Mapping[int, Any] | None = None,
    buffers: npt.ArrayLike | None = None,
    layout: str | None = None,
    time_limit: Any = TIME_LIMIT,
    calibrate: bool = False,
    progress: Any = None,
) -> RealTrace:
    """Run a schedule on processes of this computer, a process for each rank and helper, and measure every transfer.

    Args:
        nbytes: as in `simulate`; whole elements. At most 64 MiB.
        alpha, bandwidth: of the network that is imitated: s from the last byte to the arrival, B/s of the one cable
            that each rank has in each direction to a switch. None: nothing is paced, the computer is as fast as it is.
        on: `"here"`: paced sockets on 127.0.0.1. `"mpi"` (mpi4py) and `"gloo"` (torch): these libraries' own
            messages, which nothing paces; alpha and bandwidth are then those of the prediction.
        repeat: so many runs after one to warm up; the columns are those of the median run.
        dtype, op: as in `replay`.
        eager: a rank sends when it has the data and its earlier sends have left. False: when they have arrived, and the
            receiver has got all that was to come before; rule (b) of the event engine.
        late, slow: {rank: s} by which one joins later, {rank: factor} by which its cables are slower.
        buffers, layout: data of your own, as in `replay`; then `out` of the result is what came of them.
        time_limit: s for all of it, starting the processes included.
        calibrate: measure beside it what a message and a byte cost here, with as many processes and the same pacing.
        progress: True for a bar, or a function of (runs done, in all).

    Returns:
        A RealTrace: a Trace whose columns are measured, with all runs and the prediction. Every run's numbers are
        compared with `replay`, bit for bit.

    Raises:
        CollsimError for what cannot be run, a rank that fails or is killed, a time limit, or a wrong number.
    """
    given = None if buffers is None else np.asarray(buffers)
    plan = require_schedule(schedule)
    if given is not None:
        nbytes, dtype = _size_of(plan, given, layout), given.dtype
    asked = _asked(plan, nbytes, dtype, op, on, repeat, time_limit)
    predicted, network = _network(asked, alpha, bandwidth, eager, late, slow)
    asked = replace(asked, network=network)
    _require_time(asked, predicted)
    with told(progress, "runs", "runs done", "in all") as tell:
        if given is None:
            found, out = _checked(asked, _carry(asked, *_numbers(asked), give=False, tell=tell)), None
        else:
            found, out = _on_buffers(asked, given, layout, tell)
    trace = _trace(asked, predicted, found, out)
    return replace(trace, calibrated=_message_cost(trace)) if calibrate else trace


def _message_cost(trace: RealTrace) -> MessageCost:
    """What one message and one byte of it take: a shift of all ranks at two sizes, the best of five each."""
    shift, times = sendrecv(trace.schedule.ranks), []
    network = replace(trace.network, late={}, slow={})
    for size in MessageCost.sizes(network):
        asked = Asked(shift, size, np.dtype("float32"), "sum", network, MessageCost.RUNS, MOST_SECONDS, trace.measured.on)
        predicted = predict(shift, size, "float32", network.alpha, network.bandwidth)
        times.append(_trace(asked, predicted, _checked(asked, _carry(asked, *_numbers(asked), give=False, tell=None)), None).best)
    return MessageCost.of(network, times)


def sendrecv(ranks: int) -> Schedule:
    """Every rank sends all it has to the next: one step."""
    return registered("sendrecv_direct", ranks=ranks)


def _size_of(schedule: Schedule, given: npt.NDArray[Any], layout: str | None) -> int:
    kind = collective(schedule.collective)
    if given.ndim != 2:
        raise CollsimError("buffers have shape {shape}; they are (ranks, elements)", shape=given.shape)
    own = (layout == "out-of-place" or kind.apart) and kind.before == "own"
    return int(given.shape[1] * given.itemsize * (schedule.ranks if own else 1))


def _asked(
    schedule: Schedule, nbytes: Any, dtype: Any, op: str, on: str, repeat: int, time_limit: Any
) -> Asked:
    """What was asked for, within the limits. Raises CollsimError."""
    if schedule.endpoints > MOST_RANKS:
        why = "{label} would start {count} processes; {most} is the most here, so use fewer ranks"
        raise CollsimError(why, label=schedule.label, count=schedule.endpoints, most=MOST_RANKS)
    if nbytes is None:
        raise CollsimError("say how many bytes: run_for_real(schedule, '1MiB')")
    size, limit = parse_bytes(nbytes), parse_time(time_limit, "time_limit")
    if size > MOST_BYTES:
        why = "{size} is more than {most}, the most that is run for real here"
        raise CollsimError(why, size=format_bytes(size), most=format_bytes(MOST_BYTES))
    if not 0 < limit <= MOST_SECONDS:
        raise CollsimError("time_limit={limit:g} s must be more than 0 and at most {most:g} s", limit=limit, most=MOST_SECONDS)
    kind = _dtype(dtype)
    if size % kind.itemsize:
        why = "{size} bytes are no whole number of {dtype}, {item} bytes each; real data has whole elements"
        raise CollsimError(why, size=size, dtype=kind.name, item=kind.itemsize)
    runs = parse_count(repeat, "repeat")
    if runs > MOST_RUNS:
        raise CollsimError("repeat={runs} is more than {most}, the most at a time", runs=runs, most=MOST_RUNS)
    word = require_word("reduction op", op, OPERATORS)
    asked = Asked(schedule, size, kind, word, Network(), runs, limit, require_word("on", on, WAYS))
    memory = int(asked.sizes.sum()) * kind.itemsize * schedule.endpoints
    if memory > MOST_MEMORY:
        why = "{label} would hold {memory} in its processes; {most} is the most here, so use fewer bytes or ranks"
        raise CollsimError(why, label=schedule.label, memory=format_bytes(memory), most=format_bytes(MOST_MEMORY))
    return asked


def _dtype(dtype: Any) -> np.dtype[Any]:
    """The type of the elements; small floats as ml_dtypes has them. Raises CollsimError."""
    itemsize(dtype)
    name = str(getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or dtype)
    import ml_dtypes

    small = {"bfloat16": "bfloat16", "float8_e4m3": "float8_e4m3fn", "float8_e5m2": "float8_e5m2"}
    return np.dtype(getattr(ml_dtypes, small[name]) if name in small else name)


def _network(
    asked: Asked, alpha: Any, bandwidth: Any, eager: bool, late: Any, slow: Any
) -> tuple[Trace, Network]:
    """The prediction, and the network that it is of."""
    seconds = 0.0 if alpha is None else parse_time(alpha)
    rate = None if bandwidth is None else parse_bandwidth(bandwidth)
    predicted = predict(asked.schedule, asked.nbytes, asked.dtype.name, seconds, rate, late=late, slow=slow, eager=eager)
    given = predicted.conditions
    assert given is not None
    return predicted, Network(seconds, rate, given.eager, dict(given.late), dict(given.slow))


def _require_time(asked: Asked, predicted: Trace) -> None:
    seconds = predicted.time * (asked.repeat + 1)
    if seconds > asked.time_limit:
        raise CollsimError(
            "{runs} runs and one to warm up would take {seconds}, more than time_limit={limit:g} s; use fewer bytes or "
            "runs, a faster network, or a longer time_limit",
            runs=asked.repeat,
            seconds=format_time(seconds),
            limit=asked.time_limit,
        )


# ---- numbers


def _numbers(asked: Asked) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_], dict[int, dict[int, npt.NDArray[Any]]]]:
    """What all slots hold at the start, one period of it; which hold anything; and by endpoint and slot what the
    collective promises, as replay has it."""
    schedule, held = asked.schedule, starting(asked.schedule)
    period = int(min(_PERIOD, max(1, asked.sizes.max(initial=1))))
    random, values = np.random.default_rng(0), np.zeros((*held.shape, period), asked.dtype)
    shape = (int(held.sum()), period)
    whole = asked.dtype.kind in "iu"
    drawn = random.integers(1, 3 if asked.op == "prod" else _SMALL, shape) if whole else random.normal(size=shape)
    values[held] = drawn.astype(asked.dtype)
    end, full = values.copy(), held.copy()
    run(schedule, end, full, _combine(asked))
    wanted, _ = collective(schedule.collective).wanted(schedule.ranks, schedule.chunks, schedule.root)
    expected = {
        rank: {int(slot): end[rank, slot] for slot in np.flatnonzero(wanted[rank] != NOTHING)}
        for rank in range(schedule.ranks)
    }
    return values, held, expected


def _combine(asked: Asked) -> Any:
    return OPERATORS[asked.op] if collective(asked.schedule.collective).reduces else np.add


def _carry(
    asked: Asked,
    values: npt.NDArray[Any],
    held: npt.NDArray[np.bool_],
    expected: dict[int, dict[int, npt.NDArray[Any]]],
    give: bool,
    tell: Any,
) -> list[list[Outcome]]:
    """Hand each process its part, and run them."""
    token, name = new_token(), _UFUNCS[asked.op] if collective(asked.schedule.collective).reduces else "add"
    tasks = [
        Task(program, asked.network, token, values[e], asked.sizes, name, expected.get(e, {}), give)
        for e, program in enumerate(programs(asked.schedule, held))
    ]
    return measured(tasks, asked.repeat, asked.time_limit, tell)


def _checked(asked: Asked, found: list[list[Outcome]]) -> list[list[Outcome]]:
    """Raises CollsimError where any element is not what replay says."""
    for number, outcomes in enumerate(found):
        for rank, outcome in enumerate(outcomes):
            if outcome.wrong:
                why = "{label}: run {number} left {count:,} elements of rank {rank} other than replay has them"
                raise CollsimError(why, label=asked.schedule.label, number=number + 1, count=outcome.wrong, rank=rank)
    return found


def _on_buffers(
    asked: Asked, given: npt.NDArray[Any], layout: str | None, tell: Any
) -> tuple[list[list[Outcome]], npt.NDArray[Any]]:
    """The same on somebody's data: processes move it in the place of replay, and replay's result is what it must be."""
    found: list[list[Outcome]] = []

    def by_processes(schedule: Schedule, values: Any, held: Any, combine: Any) -> None:
        end, full = values.copy(), held.copy()
        run(schedule, end, full, combine)
        slots = {rank: dict(enumerate(end[rank])) for rank in range(schedule.ranks)}
        found.extend(_checked(asked, _carry(asked, values, held, slots, give=True, tell=tell)))
        for rank, outcome in enumerate(found[-1][: schedule.ranks]):
            for slot, array in outcome.slots.items():
                values[rank, slot, : len(array)] = array

    out = moved(asked.schedule, given, asked.op, layout, by_processes)
    return found, out


# ---- the trace


def _trace(
    asked: Asked, predicted: Trace, found: list[list[Outcome]], out: npt.NDArray[Any] | None
) -> RealTrace:
    start, came, finish = (np.zeros((len(found), len(asked.schedule))) for _ in range(3))
    for run_number, outcomes in enumerate(found):
        for endpoint, outcome in enumerate(outcomes):
            sends, receives = _rows(asked.schedule, endpoint)
            start[run_number, sends] = outcome.moments.began
            came[run_number, receives] = outcome.moments.came
            finish[run_number, receives] = outcome.moments.arrived
    elements = sum(outcome.checked for outcomes in found for outcome in outcomes)
    measurement = Measurement(start, came, finish, asked.on, processors(), elements)
    return RealTrace(
        asked.schedule,
        predicted.topology,
        asked.nbytes,
        asked.dtype.name,
        ENGINE,
        predicted.slot_bytes,
        predicted.place,
        timing_of(predicted, measurement),
        conditions=predicted.conditions,
        measured=measurement,
        predicted=predicted,
        network=asked.network,
        out=out,
    )


def _rows(schedule: Schedule, endpoint: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    table = schedule.transfers
    return np.flatnonzero(table["src"] == endpoint), np.flatnonzero(table["dst"] == endpoint)


def processors() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
