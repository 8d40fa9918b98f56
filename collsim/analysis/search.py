"""The best choice: algorithm, chunks, channels and rank order for a machine and a size; crossovers; the cheapest
machine in time."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, TypeAlias, Unpack

from ..collective import get_collective
from ..errors import CollsimError, Sentence, Words
from ..errors.arguments import check_arguments
from ..errors.dependencies import pandas as pd
from ..faults import find_fault, require_right
from ..registry import Algorithm, algorithms, get_algorithm
from ..registry import schedule as make_schedule
from ..schedule import Schedule
from ..simulate import Engine, Trace, simulate
from ..simulate.conditions import EventOptions
from ..topology import Topology
from ..topology.network import count_offered_channels
from ..topology_names import TopologyLike, resolve_topology
from ..units import ByteSize, Duration, format_bytes, parse_bytes, parse_count, parse_time
from .differences import require_one_collective
from .rank_orders import improve_order, reorder_ranks
from .ranking import get_sort_key, round_time, sort_table

#: Chunk counts tried for pipelined algorithms; the best is then refined between its neighbours.
_CHUNKS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
_CHANNELS = (1, 2, 4, 8)
_MAX_ORDERS = 100_000  # minutes on a small machine


@dataclass(frozen=True, eq=False)
class Best:
    """What a search found.

    Attributes:
        trace: the fastest run.
        tried: all that was tried, the fastest first; what is wrong comes last, with the reason in `error`.
        order: rank r sits where rank order[r] of the topology would; None as it is.

    Examples:
        >>> import collsim as cs
        >>> best = cs.best("allreduce", cs.topology.switch(8), "64MiB")
        >>> best.trace.schedule.label
        'allreduce_direct_two_shot(8)'
        >>> best.tried.columns[:2].tolist()
        ['algorithm', 'options']
    """

    trace: Trace
    tried: pd.DataFrame
    order: tuple[int, ...] | None = None

    @property
    def options(self) -> dict[str, Any]:
        """Options of the algorithm in the fastest run."""
        return dict(self.trace.schedule.options)

    def __str__(self) -> str:
        return f"{self.trace.schedule.label} is the fastest of {len(self.tried)} tried: {self.trace!r}"


@check_arguments
def best(
    collective: str,
    topology: TopologyLike,
    nbytes: ByteSize,
    *,
    algorithm: Sequence[str] | None = None,
    orders: int = 0,
    engine: Engine = "lockstep",
    **simulation: Unpack[EventOptions],
) -> Best:
    """Find the fastest algorithm with its best chunk and channel count, and rank order.

    Tries every algorithm of the collective that runs on this topology; `channels` up to what the topology offers, then
    with the best of them `chunks` by doubling, then between the neighbours of the best; and for the fastest of all
    `orders` rank orders: a tour along the shortest ways, then exchanges. What does not do what the collective promises
    is never the best: its row of `tried` has the reason in `error`, and no time.

    Args:
        collective: its name.
        topology: a Topology, or the name of one.
        nbytes: nccl-tests' size, bytes or text.
        algorithm: names of those to try; all of the collective unless given.
        orders: how many rank orders to try.
        engine: `lockstep` or `event`.
        simulation: other options of `simulate`.

    Returns:
        The fastest run, and all that was tried.

    Raises:
        CollsimError: if none runs, or for an algorithm of another collective.

    Examples:
        >>> import collsim as cs
        >>> fastest = cs.best("allreduce", "switch(8)", "1KiB", algorithm=["allreduce_ring", "allreduce_tree"])
        >>> fastest.trace.schedule.name
        'allreduce_tree'
    """
    topology = resolve_topology(topology, "best")
    orders = parse_count(orders, "orders", least=0)
    if orders > _MAX_ORDERS:
        message = "orders={orders:,}: each order is a simulation; give at most {most:,}"
        raise CollsimError(message, orders=orders, most=_MAX_ORDERS)
    size, kind = parse_bytes(nbytes), get_collective(collective).name
    runs = list(_run_all(kind, _list_names(kind, algorithm), topology, size, engine, simulation))
    # Equal times up to rounding are ordered by name, so that the winner does not depend on the platform.
    fastest = min((run.trace for run in runs if run.trace is not None), key=_get_key)
    rows = [run.row() for run in runs]
    chosen = None
    for order, trace in _try_orders(fastest, orders, engine, simulation):
        rows.append({**_Run(trace.schedule, trace).row(), "order": ",".join(map(str, order))})
        # Only a real gain replaces the plain order, which is the simpler answer.
        if round_time(trace.time) < round_time(fastest.time):
            fastest, chosen = trace, order
    table = sort_table(pd.DataFrame(rows), "time", "algorithm").reset_index(drop=True)
    return Best(fastest, table, chosen)


@dataclass(frozen=True, eq=False)
class _Run:
    """A variant that was tried: its run, or why it is not ranked."""

    schedule: Schedule
    trace: Trace | None
    error: Sentence | None = None

    @property
    def time(self) -> float:
        """Seconds, to the digits that count; infinite where it is not ranked."""
        if self.trace is None:
            return math.inf
        return round_time(self.trace.time)

    def row(self) -> dict[str, object]:
        """A row of `Best.tried`."""
        row: dict[str, object] = {
            "algorithm": self.schedule.name,
            "options": json.dumps(dict(self.schedule.options)),
            "order": "given",
            "time": math.nan,
            "busbw": math.nan,
            "error": self.error and str(self.error),
        }
        if self.trace is not None:
            row |= {"time": self.trace.time, "busbw": self.trace.busbw}
        return row


def _list_names(kind: str, algorithm: Sequence[str] | None) -> list[str]:
    """The algorithms to try: those that are named, or all of the collective."""
    if algorithm is None:
        return list(algorithms(kind))
    if isinstance(algorithm, str) or not isinstance(algorithm, Sequence):
        message = "algorithm={algorithm!r} must be a list of names, for example ['allreduce_ring', 'allreduce_tree']"
        raise CollsimError(message, algorithm=algorithm)
    entries = [get_algorithm(name) for name in algorithm]
    if other := next((entry for entry in entries if entry.collective != kind), None):
        message = "{name} is an algorithm for {its}, not for {kind}"
        raise CollsimError(message, name=other.name, its=other.collective, kind=kind)
    return [entry.name for entry in entries]


def _run_all(
    kind: str, names: Sequence[str], topology: Topology, nbytes: int, engine: Engine, simulation: EventOptions
) -> Iterator[_Run]:
    """Every variant of every algorithm that can run here. Raises CollsimError where none of them is right and runs."""
    is_any_ranked = False
    message: Words = ""
    for name in names:
        try:
            for run in _run_variants(name, topology, nbytes, engine, simulation):
                is_any_ranked = is_any_ranked or run.trace is not None
                message = run.error or message
                yield run
        except CollsimError as error:
            message = error.sentence
    if not is_any_ranked:
        raise CollsimError(
            "no algorithm for {collective} runs on {name}; the last one said: {reason}",
            collective=kind,
            name=topology.name,
            reason=message,
        )


def _get_key(trace: Trace) -> tuple[float, str]:
    return get_sort_key(trace.time, trace.schedule.name)


def _try_orders(
    fastest: Trace, tries: int, engine: Engine, simulation: EventOptions
) -> Iterator[tuple[tuple[int, ...], Trace]]:
    """The same algorithm and options with its ranks in other places."""
    traces: dict[tuple[int, ...], Trace] = {}

    def time(order: tuple[int, ...]) -> float:
        network = reorder_ranks(fastest.topology, order)
        plan = make_schedule(fastest.schedule.name, topology=network, **fastest.schedule.options)
        traces[order] = simulate(plan, network, fastest.nbytes, engine=engine, **simulation)
        return traces[order].time

    for order, _ in improve_order(fastest.topology, time, tries, fastest.time):
        yield order, traces.pop(order)


def _run_variants(name: str, topology: Topology, nbytes: int, engine: Engine, simulation: EventOptions) -> list[_Run]:
    """An algorithm with every number of channels, then with every number of chunks that is tried."""

    def run(**options: Any) -> _Run:
        plan = make_schedule(name, topology=topology, **options)
        if (fault := find_fault(plan)) is not None:
            return _Run(plan, None, fault)
        return _Run(plan, simulate(plan, topology, nbytes, engine=engine, **simulation))

    options = get_algorithm(name).options
    if "channels" in options:
        runs = [run(channels=c) for c in _list_channel_counts(topology)]
    else:
        runs = [run()]
    if "chunks" in options:
        # Chunks are searched with the channels that were best without them: the two hardly depend on one another
        # here.
        settled = dict(min(runs, key=lambda run: run.time).schedule.options)
        coarse = [run(**settled, chunks=c) for c in _CHUNKS]
        top = min(range(len(coarse)), key=lambda i: coarse[i].time)
        low, high = _CHUNKS[max(top - 1, 0)], _CHUNKS[min(top + 1, len(_CHUNKS) - 1)]
        # The time has one valley over the number of chunks, so only the neighbourhood of the best power of two is
        # refined.
        between = sorted({low + (high - low) * k // 6 for k in range(1, 6)} - set(_CHUNKS))
        runs += [*coarse, *(run(**settled, chunks=c) for c in between)]
    return runs


def _list_channel_counts(topology: Topology) -> list[int]:
    offered = count_offered_channels(topology)
    return sorted({c for c in _CHANNELS if c <= offered} | {offered})


class CrossoverSize(int):
    """The size in bytes from which another algorithm is the faster of two: an int that knows who wins on either side.

    Attributes:
        below: label of the algorithm that is faster for smaller sizes, as `allreduce_recursive_doubling(8)`.
        above: label of the algorithm that is faster from this size on.
    """

    below: str
    above: str

    def __new__(cls, nbytes: int, below: str, above: str) -> CrossoverSize:
        size = super().__new__(cls, nbytes)
        size.below, size.above = below, above
        return size

    def __reduce__(self) -> tuple[type[CrossoverSize], tuple[int, str, str]]:
        return CrossoverSize, (int(self), self.below, self.above)

    @property
    def summary(self) -> Sentence:
        """Who wins on either side, in a sentence."""
        sides = {"below": self.below, "above": self.above}
        return Sentence("up to {size} {below} is faster, from there on {above}", size=format_bytes(self), **sides)

    def __str__(self) -> str:
        return int.__repr__(self)

    def __repr__(self) -> str:
        return f"<CrossoverSize {int(self)} B: {self.summary}>"


AlgorithmChoice: TypeAlias = str | Algorithm | tuple[str | Algorithm, Mapping[str, Any]]


@check_arguments
def crossover(
    a: AlgorithmChoice,
    b: AlgorithmChoice,
    topology: TopologyLike,
    *,
    first: ByteSize = "1KiB",
    last: ByteSize = "1GiB",
    engine: Engine = "lockstep",
) -> CrossoverSize | None:
    """Find the smallest size from which the other of two algorithms is faster, by bisection (to a part in 1,000).

    Each time is a growing function of the size, and one crossing is assumed.

    Args:
        a: an algorithm, by name or as `(name, {option: value})`.
        b: another algorithm of the same collective.
        topology: where both run.
        first: smallest size, bytes or text.
        last: largest size, bytes or text.
        engine: `lockstep` or `event`, as `simulate` has them.

    Returns:
        A `CrossoverSize`: an int of bytes that names who wins on either side; None if one wins at both ends.

    Raises:
        CollsimError: for algorithms of different collectives, unknown names, and sizes in the wrong order.
        ScheduleError: for an algorithm that does not do what its collective promises.

    Examples:
        >>> import collsim as cs
        >>> size = cs.crossover("allreduce_recursive_doubling", "allreduce_ring", cs.topology.switch(8))
        >>> print(size.summary)
        up to 430 KiB allreduce_recursive_doubling(8) is faster, from there on allreduce_ring(8)
    """
    topology = resolve_topology(topology, "crossover")
    low, high = parse_bytes(first, "first"), parse_bytes(last, "last")
    if low >= high:
        message = "first={first!r} is not below last={last!r}; give the smallest size and the largest"
        raise CollsimError(message, first=first, last=last)
    plans = [make_schedule(name, topology=topology, **options) for name, options in map(_split_choice, (a, b))]
    require_one_collective("crossover", [(plan.label, plan.collective) for plan in plans])
    for plan in plans:
        require_right(plan)

    def is_first_faster(size: int) -> bool:
        time, other = (simulate(plan, topology, size, engine=engine).time for plan in plans)
        # A tie counts for the first, or rounding would make the crossing jump.
        return round_time(time) <= round_time(other)

    at_first = is_first_faster(low)
    if is_first_faster(high) == at_first:
        return None
    # The bisection relies on one crossing; the docstring says so.
    size = _bisect(lambda nbytes: is_first_faster(nbytes) == at_first, low, high)
    if not at_first:
        plans.reverse()
    winner, other = plans
    return CrossoverSize(size, winner.label, other.label)


def _bisect(is_below: Callable[[int], bool], low: int, high: int) -> int:
    """The size, to a part in 1,000, from which on a predicate that is true at `low` is false, as it is at `high`."""
    while high - low > max(1, low // 1000):
        middle = (low + high) // 2
        if is_below(middle):
            low = middle
        else:
            high = middle
    return high


def _split_choice(choice: AlgorithmChoice) -> tuple[str | Algorithm, dict[str, Any]]:
    if isinstance(choice, (str, Algorithm)):
        return choice, {}
    if isinstance(choice, (tuple, list)) and len(choice) == 2 and isinstance(choice[1], Mapping):
        return choice[0], dict(choice[1])
    raise CollsimError("algorithm {choice!r} is neither a name nor a (name, {{option: value}}) pair", choice=choice)


@check_arguments
def cheapest(
    prices: Mapping[str, float],
    machines: Mapping[str, Topology],
    collective: str,
    nbytes: ByteSize,
    within: Duration,
    *,
    engine: Engine = "lockstep",
) -> pd.DataFrame:
    """List machines by price, with the best time on each and whether it is within a target; the cheapest that is comes
    first.

    Args:
        prices: a price per name, in any one currency.
        machines: a topology per name.
        collective: its name.
        nbytes: nccl-tests' size.
        within: the target time, seconds or a text such as `"5ms"`.
        engine: `lockstep` or `event`.

    Returns:
        Columns: machine, price, time (s), algorithm, within.

    Raises:
        CollsimError: for a machine without a price, and as `best`.

    Examples:
        >>> import collsim as cs
        >>> networks = {"slow": cs.topology.switch(4, bandwidth="10GB/s"), "fast": cs.topology.switch(4)}
        >>> cs.analysis.cheapest({"slow": 1, "fast": 2}, networks, "broadcast", "1MiB", "90us")["machine"].tolist()
        ['fast', 'slow']
    """
    target = parse_time(within, "within")
    _require_prices(prices, machines)
    rows = []
    for name, topology in machines.items():
        fastest = best(collective, topology, nbytes, engine=engine).trace
        rows.append(
            {
                "machine": name,
                "price": prices[name],
                "time": fastest.time,
                "algorithm": fastest.schedule.label,
                "within": fastest.time <= target,
            }
        )
    # A stable sort keeps machines of one price in the caller's order.
    return (
        pd.DataFrame(rows)
        .sort_values(["within", "price"], ascending=[False, True], kind="stable")
        .reset_index(drop=True)
    )


def _require_prices(prices: Mapping[str, float], machines: Mapping[str, Topology]) -> None:
    """Check that every machine has a price, a number of 0 or more."""
    for what, mapping in {"prices": prices, "machines": machines}.items():
        if not isinstance(mapping, Mapping) or not mapping:
            raise CollsimError("{what}={value!r} must map names, for example {{'a': ...}}", what=what, value=mapping)
    missing = set(machines) - set(prices)
    if missing:
        raise CollsimError("no price for {missing}", missing=", ".join(sorted(map(str, missing))))
    for name, price in prices.items():
        if isinstance(price, bool) or not isinstance(price, Real) or not 0 <= price < math.inf:
            raise CollsimError("the price of {name} is {price!r}; give a number, 0 or more", name=name, price=price)
