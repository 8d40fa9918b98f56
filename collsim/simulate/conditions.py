"""Under which conditions the event engine runs: how links are shared, overheads and faults."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, TypeAlias, TypedDict, get_args

import numpy as np
import numpy.typing as npt

from ..dtypes import Floats, Longs
from ..errors import CollsimError, describe_unknown, require_short_range, require_word
from ..topology import Topology
from ..topology.cable_figures import parse_cable_alpha, parse_cable_bandwidth
from ..units import Bandwidth, ByteSize, Duration, RankSelection, parse_bytes, parse_count, parse_time

#: How a run is timed: with a barrier after each step, or without.
Engine = Literal["lockstep", "event"]
ENGINES: tuple[Engine, ...] = get_args(Engine)
#: How flows share a link: max-min fair rates, first come first served, or not at all.
Sharing = Literal["none", "fair", "fifo"]
SHARING: tuple[Sharing, ...] = get_args(Sharing)
_LONGEST = 1e9  # s, 32 years
#: A factor beyond it is a mistake, and would make times that numbers cannot hold.
_SLOWEST = 1e9

#: Plain flows of a range of ranks: more would not fit into memory.
_MAX_FLOWS = 2**26
#: Called with (transfers done, transfers in all) while a run goes on; raise from it to stop the run.
Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class Flows:
    """Plain flows, one entry each.

    Attributes:
        src: ranks that send.
        dst: ranks that receive.
        nbytes: bytes of each flow.
        start: s at which each begins.

    Examples:
        >>> import collsim as cs
        >>> import numpy as np
        >>> flows = Flows(np.array([0, 1]), np.array([2, 2]), np.array([10**6, 10**6]), np.zeros(2))
        >>> len(flows)
        2
    """

    src: Longs
    dst: Longs
    nbytes: Longs
    start: Floats

    def __len__(self) -> int:
        return len(self.src)


#: Other traffic: `Flows`, or rows (src rank, dst rank, nbytes) or (src rank, dst rank, nbytes, start).
Background: TypeAlias = Flows | Sequence[tuple[int, int, ByteSize] | tuple[int, int, ByteSize, Duration]]


class _NetworkOptions(TypedDict, total=False):
    """Options of the event engine for everything that moves; `simulate` describes them."""

    overhead: Duration | None
    injection: Bandwidth | None
    slow: Mapping[int, float] | None
    shortcuts: bool | None


class FlowOptions(_NetworkOptions, total=False):
    """Options of the event engine for plain flows; `simulate` describes them."""

    jitter: Duration | None
    seed: int | None


class _CollectiveOptions(_NetworkOptions, total=False):
    """What collectives have beside them, but for chance; `simulate` describes them."""

    sharing: Sharing | None
    gamma: Bandwidth | None
    launch: Duration | None
    late: Mapping[int, Duration] | None
    background: Background | None
    eager: bool | None


class EventOptions(FlowOptions, _CollectiveOptions, total=False):
    """Options of the event engine for collectives; `simulate` describes them."""


class ManyRunOptions(_CollectiveOptions, total=False):
    """Options of the event engine that all runs of `simulate_many` share; `simulate` describes them."""

    ranks: RankSelection | None
    begin: Duration


def build_flows(
    topology: Topology, src: npt.ArrayLike, dst: npt.ArrayLike, nbytes: object, start: object = 0.0
) -> Flows:
    """Flows from anything broadcastable: one entry a flow, or one value for all.

    Args:
        topology: Its ranks are 0 to `topology.ranks - 1`.
        src: Rank or ranks that send.
        dst: Rank or ranks that receive.
        nbytes: Bytes, or texts such as "64MiB".
        start: s, or texts such as "10us": when each flow begins.

    Raises:
        CollsimError: A rank does not exist, a size or time cannot be read, or the lengths do not fit together.
    """
    s, d = (_parse_ranks(name, value, topology) for name, value in (("src", src), ("dst", dst)))
    b, t = np.asarray(_parse_sizes(nbytes)), np.asarray(_parse_times(start))
    try:
        s, d, b, t = np.broadcast_arrays(np.atleast_1d(s), d, b, t)
    except ValueError as error:
        lengths = ", ".join(f"{name} {np.size(v)}" for name, v in (("src", s), ("dst", d), ("nbytes", b), ("start", t)))
        message = "flows need arrays of one length, one entry a flow; got {lengths}"
        raise CollsimError(message, lengths=lengths) from error
    return Flows(
        s.astype(np.int64).ravel(), d.astype(np.int64).ravel(), b.astype(np.int64).ravel(), t.astype(np.float64).ravel()
    )


def _parse_ranks(name: str, value: npt.ArrayLike, topology: Topology) -> Longs:
    require_short_range(name, value, _MAX_FLOWS)
    try:
        array = np.asarray(value)
    except ValueError as error:  # lists of different lengths
        message = "{name}={value!r} must be one rank number or a flat list of them"
        raise CollsimError(message, name=name, value=value) from error
    if array.size and array.dtype.kind not in "iu":
        raise CollsimError("{name} must be rank numbers, got {value!r}", name=name, value=array.ravel()[:1].tolist()[0])
    # An empty array has dtype float; it means no rank, which is right here.
    bad = array
    if array.size:
        bad = array[(array < 0) | (array >= topology.ranks)]
    if bad.size:
        message = "{name}={value} is not a rank of {topology_name}; its ranks are 0 to {last}"
        raise CollsimError(
            message, name=name, value=bad.ravel()[0], topology_name=topology.name, last=topology.ranks - 1
        )
    return array.astype(np.int64)


def _parse_sizes(value: object) -> npt.ArrayLike:
    if isinstance(value, np.ndarray):
        if value.dtype.kind in "iu" and value.size:
            for extreme in (value.min(), value.max()):
                parse_bytes(int(extreme))
            return value
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [parse_bytes(v) for v in value]
    return parse_bytes(value)


def _parse_times(value: object) -> npt.ArrayLike:
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [parse_moment("start", v) for v in value]
    return parse_moment("start", value)


@dataclass(frozen=True)
class Conditions:
    """Options of the event engine, checked and in s and B/s. All costs are zero and all ranks healthy unless given.

    Attributes:
        sharing: how transfers share a link: `fair` (max-min fair rates), `fifo` (store and forward) or `none` (each has
            the whole link).
        gamma: B/s at which a device reduces what has arrived; None: reducing takes no time.
        launch: s before the first transfer of a collective.
        overhead: s that each transfer takes in addition.
        injection: B/s that one endpoint can send over all its links; None: no limit.
        jitter: mean in s of an exponentially distributed extra delay of each transfer.
        seed: start of the random numbers of `jitter`.
        late: rank -> s by which it joins later.
        slow: rank -> factor by which all cables of its device are slower; 2 halves their bandwidth.
        background: other traffic on the same links; None: there is none.
        eager: a send waits until the bytes before it have left, not until they have arrived, and not for its receiver.
        shortcuts: may the engine use symmetry and program order? The times are the same without.
    """

    sharing: str = "fair"
    gamma: float | None = None
    launch: float = 0.0
    overhead: float = 0.0
    injection: float | None = None
    jitter: float = 0.0
    seed: int = 0
    late: Mapping[int, float] = field(default_factory=dict)
    slow: Mapping[int, float] = field(default_factory=dict)
    background: Flows | None = None
    eager: bool = False
    shortcuts: bool = True

    @property
    def is_steady(self) -> bool:
        """Nothing but cables differs between ranks, and reducing is free: what looks alike takes equally long."""
        return not (self.gamma or self.jitter or self.late or self.background or self.eager)


def parse_conditions(topology: Topology, options: Mapping[str, object]) -> Conditions:
    """Read the options of a run.

    Args:
        topology: Ranks named in options are among its ranks.
        options: As `simulate` takes them: numbers, or texts with units. None counts as not given.

    Raises:
        CollsimError: A name is unknown or a value is impossible.
    """
    known = {f.name for f in fields(Conditions)}
    for name in options:
        if name not in known:
            raise CollsimError(describe_unknown("option of engine 'event'", name, known))
    stated = {name: value for name, value in options.items() if value is not None}
    require_word("sharing", stated.get("sharing", "fair"), SHARING)
    _require_switches(stated)
    values: dict[str, Any] = {**stated, **_parse_numbers(stated)}
    return Conditions(**values | _parse_rank_options(stated, topology))


def _parse_numbers(options: Mapping[str, Any]) -> dict[str, Any]:
    """Rates, delays and the seed; a plain number that no hardware has is warned about, as for cables."""
    rates = {name: parse_cable_bandwidth(options[name], name) for name in ("gamma", "injection") if name in options}
    delays = {name: options.get(name, 0.0) for name in ("launch", "overhead", "jitter")}
    moments = {name: parse_moment(name, parse_cable_alpha(value, name)) for name, value in delays.items()}
    seed = {}
    if "seed" in options:
        seed = {"seed": parse_count(options["seed"], "seed", least=0)}
    return {**rates, **moments, **seed}


def _parse_rank_options(options: Mapping[str, object], topology: Topology) -> dict[str, Any]:
    """Which ranks are late or slow, and what other traffic there is."""
    late = {
        r: parse_moment(f"late[{r}]", v) for r, v in _parse_by_rank("late", options.get("late", {}), topology).items()
    }
    slow = {r: _parse_factor(r, v) for r, v in _parse_by_rank("slow", options.get("slow", {}), topology).items()}
    traffic = {}
    if "background" in options:
        traffic = {"background": _parse_background(topology, options["background"])}
    return {"late": late, "slow": slow, **traffic}


def _require_switches(options: Mapping[str, object]) -> None:
    for name in ("shortcuts", "eager"):
        if not isinstance(options.get(name, True), (bool, np.bool_)):
            raise CollsimError("{name}={value!r} must be True or False", name=name, value=options[name])
    if options.get("eager") and (options.get("sharing") == "fifo" or options.get("gamma")):
        raise CollsimError(
            "eager=True needs sharing 'fair' or 'none' and no gamma: only then do bytes leave a latency before they "
            "arrive"
        )


def parse_moment(name: str, value: object) -> float:
    """A time in s, read by `parse_time`, within what a sum of many such times can hold.

    Args:
        name: Of the option, for the message.
        value: s, or a text such as "10us".

    Raises:
        CollsimError: It is no time, or so long that its unit must be a mistake.
    """
    seconds = parse_time(value, name)
    if seconds > _LONGEST:
        message = "{name}={seconds:g} s is longer than {most:g} s; is the unit right? {name}='1us' is a microsecond"
        raise CollsimError(message, name=name, seconds=seconds, most=_LONGEST)
    return seconds


def slow_down(topology: Topology, conditions: Conditions) -> Topology:
    """The topology with the rates that are really there: all cables of a slow rank's device are slower, one between two
    of them by the larger factor.

    Args:
        topology: With nominal rates.
        conditions: `slow` maps a rank to the factor, 2.0 for half the rate; empty gives the topology unchanged.
    """
    if not conditions.slow:
        return topology
    slower, links, of_device = topology, topology.links, np.zeros(len(topology.devices))
    np.maximum.at(of_device, topology.endpoint_device[list(conditions.slow)], list(conditions.slow.values()))
    factors = np.maximum(of_device[links.src], of_device[links.dst])
    ends = np.sort([links.src, links.dst], axis=0)[:, factors > 0]
    for a, b in np.unique(ends, axis=1).T.tolist():
        slower = slower.with_link(a, b, bandwidth=f"x{1 / max(of_device[a], of_device[b])}")
    description = ", ".join(f"rank {rank} {factor:g} times slower" for rank, factor in conditions.slow.items())
    return replace(slower, name=f"{topology.name}, {description}")


def _parse_by_rank(name: str, value: object, topology: Topology) -> dict[int, object]:
    if not isinstance(value, Mapping):
        raise CollsimError("{name}={value!r} must say which rank: {name}={{3: ...}}", name=name, value=value)
    for rank in value:
        if isinstance(rank, bool) or not isinstance(rank, (int, np.integer)) or not 0 <= rank < topology.ranks:
            message = "{name}: {rank!r} is not a rank of {topology_name}; its ranks are 0 to {last}"
            raise CollsimError(message, name=name, rank=rank, topology_name=topology.name, last=topology.ranks - 1)
    return {int(rank): v for rank, v in value.items()}


def _parse_factor(rank: int, value: object) -> float:
    try:
        factor = float(value)  # type: ignore[arg-type]  # whatever it is
    except (TypeError, ValueError) as error:
        message = "slow[{rank}]={value!r} is not a number; slow={{{rank}: 2}} makes rank {rank} half as fast"
        raise CollsimError(message, rank=rank, value=value) from error
    # The bounds keep products and quotients of rates far from overflow.
    if not 1 / _SLOWEST < factor < _SLOWEST:
        raise CollsimError(
            "slow[{rank}]={value!r} must be more than 0 and less than {most:g}; slow={{{rank}: 2}} makes rank "
            "{rank} half as fast",
            rank=rank,
            value=value,
            most=_SLOWEST,
        )
    return factor


def _parse_background(topology: Topology, value: object) -> Flows:
    """From `Flows`, or rows `(src, dst, nbytes)` or `(src, dst, nbytes, start)`."""
    if isinstance(value, Flows):
        traffic = build_flows(topology, value.src, value.dst, value.nbytes, value.start)
    else:
        traffic = _parse_flow_rows(topology, value)
    if (same := np.flatnonzero(traffic.src == traffic.dst)).size:
        message = "background: flow {flow} goes from rank {src} to itself and crosses no link; leave it out"
        raise CollsimError(message, flow=same[0], src=traffic.src[same[0]])
    return traffic


def _parse_flow_rows(topology: Topology, value: object) -> Flows:
    try:
        rows = [tuple(row) for row in value]  # type: ignore[attr-defined]  # whatever it is
    except TypeError:
        rows = []
    if not rows or any(len(row) not in (3, 4) for row in rows):
        raise CollsimError(
            "background={value!r}: background is a list of (src, dst, nbytes) or (src, dst, nbytes, start), at "
            "least one",
            value=value,
        )
    src, dst, nbytes, start = zip(*(row if len(row) == 4 else (*row, 0.0) for row in rows), strict=True)
    return build_flows(topology, list(src), list(dst), list(nbytes), list(start))
