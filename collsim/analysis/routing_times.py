"""The same work over many hash seeds: how long it takes where flows collide on the cables between switches.

ECMP sends each flow over the cable that a hash picks (C. Hopps, RFC 2992, 2000), so some cables get several flows and
others none, and a collective waits for the busiest. One seed is one cluster; the distribution over seeds says what to
expect. At the level of flows: each pair of network cards is one flow, and flows share a cable fairly.

The expected maximum load is that of n balls thrown into m bins. Its order for large numbers: M. Raab and A. Steger,
"Balls into bins": a simple and tight analysis (RANDOM 1998); here it is summed exactly.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..display.catalog import Catalog
from ..display.progress import open_progress, require_progress
from ..dtypes import Floats, Longs
from ..errors import CollsimError, TopologyError, format_value, require_short_range
from ..errors.arguments import check_arguments
from ..errors.dependencies import pandas as pd
from ..schedule import Schedule
from ..simulate import Engine, Trace, simulate
from ..simulate.conditions import Progress
from ..simulate.lockstep import iterate_paths
from ..simulate.paths import Paths
from ..steps import Step
from ..topology import Topology
from ..topology.fabrics import ROUTED_FABRICS, ROUTINGS, SEEDED_ROUTINGS
from ..topology.network import DEVICE_KINDS
from ..topology_names import TopologyLike, resolve_topology
from ..units import ByteSize, DataType, RankSelection, parse_count

#: Runs of one call; a distribution shows long before that.
_MAX_SEEDS = 100_000
_COUNTED = "runs done", "in all"
#: Balls and bins whose expected maximum is summed; the sum takes n² steps.
_MAX_BALLS = 4096


@dataclass(frozen=True, eq=False)
class RoutingTimes:
    """The times of one routing over its seeds.

    Attributes:
        routing: as `machine` takes it, `"ecmp"`.
        topology: the network of the first seed.
        seeds: shape (runs,), the hash seed of each run; one run where the routing has no seed.
        times: shape (runs,), s.
        flows: shape (runs,), the most flows that share one cable between switches at once (sprayed flows count as
            their share of a cable); not a number where a function was timed and not a schedule.

    Examples:
        >>> import collsim as cs
        >>> network = cs.machine("dgx-h100", nodes=16, gpus=1, fabric="leaf-spine", radix=8)
        >>> doubling = cs.schedule("allreduce_recursive_doubling", ranks=16)
        >>> ecmp = cs.analysis.compare_routing(doubling, network, "64MiB", seeds=20)["ecmp"]
        >>> len(ecmp.times), bool(ecmp.median <= ecmp.p99)
        (20, True)
    """

    routing: str
    topology: Topology
    seeds: Longs
    times: Floats
    flows: Floats

    @property
    def median(self) -> float:
        """s: half of the seeds take no longer."""
        return self._find_quantile(0.5)

    @property
    def p99(self) -> float:
        """s: 99 % of the seeds take no longer. With fewer than 100 seeds it is the longest time."""
        return self._find_quantile(0.99)

    @property
    def worst_seed(self) -> int:
        """The first of the seeds with the longest time."""
        return int(self.seeds[np.argmax(self.times)])

    def _find_quantile(self, part: float) -> float:
        # Of the times that occurred, so that each quantile is a run that can be opened.
        return float(np.quantile(self.times, part, method="inverted_cdf"))

    def build_topology(self, seed: int) -> Topology:
        """Build the network of a seed, on which the same run can be repeated alone.

        Args:
            seed: one of `seeds`.
        """
        return build_seeded(self.topology, self.routing, seed)

    def row(self) -> dict[str, object]:
        """The figures as one flat record in SI units, for tables."""
        return {
            "routing": self.routing,
            "runs": len(self.times),
            "best": float(self.times.min()),
            "median": self.median,
            "p99": self.p99,
            "worst": float(self.times.max()),
            "worst_seed": self.worst_seed,
            "flows": float(self.flows.mean()),
        }

    def to_frame(self) -> pd.DataFrame:
        """Every run.

        Returns:
            One row for each seed: `seed`, `time` (s), `flows`.
        """
        return pd.DataFrame({"seed": self.seeds, "time": self.times, "flows": self.flows})

    def __repr__(self) -> str:
        times = f"median {self.median:.4g} s, 99 % {self.p99:.4g} s"
        return f"<RoutingTimes {self.routing}: {len(self.times):,} runs, {times}>"


@check_arguments
def compare_routing(
    timed: Schedule | Callable[[Topology], float],
    topology: TopologyLike,
    nbytes: ByteSize | None = None,
    dtype: DataType = "float32",
    engine: Engine | None = None,
    *,
    routings: Sequence[str] = ROUTINGS,
    seeds: int | Sequence[int] = 100,
    ranks: RankSelection | None = None,
    progress: Progress | bool | None = None,
) -> Catalog[RoutingTimes]:
    """Time the same work with each routing of a fabric, and with many seeds where the routing hashes.

    Args:
        timed: a schedule; or a function of a network that returns seconds, such as one that times a step of training.
        topology: a machine with a leaf-spine, fat-tree or rail fabric. Its own routing and seed do not count.
        nbytes: of the schedule, as in `simulate`.
        dtype: as in `simulate`.
        engine: as in `simulate`.
        routings: those to compare, as `machine` takes them.
        seeds: how many, from 0 on, or which.
        ranks: as in `simulate`.
        progress: True for a bar, or a function that is called with (runs done, in all).

    Returns:
        A RoutingTimes for each routing, which together print as a table.

    Raises:
        CollsimError: for bad arguments, and as `simulate`.
        TopologyError: where the network has no such fabric.

    Examples:
        >>> import collsim as cs
        >>> network = cs.machine("dgx-h100", nodes=16, gpus=1, fabric="leaf-spine", radix=8)
        >>> alltoall = cs.schedule("alltoall_pairwise", ranks=16)
        >>> times = cs.analysis.compare_routing(alltoall, network, "64MiB", seeds=20)
        >>> times["d-mod-k"].flows.tolist(), bool(times["ecmp"].median > times["d-mod-k"].median)
        ([1.0], True)
    """
    network = resolve_topology(topology, "compare_routing")
    if network.facts.machine is None or network.facts.fabric not in ROUTED_FABRICS:
        message = "{name} has no fabric with several equal routes; use a machine with {fabrics}"
        fabrics = " or ".join(f"fabric={fabric!r}" for fabric in ROUTED_FABRICS)
        raise TopologyError(message, name=network.name, fabrics=fabrics)
    time_once = _build_timer(timed, nbytes, dtype, engine, ranks)
    plan = _plan_seeds(routings, _parse_seeds(seeds))
    # Built first, so that an unknown word is refused before anything runs.
    networks = {word: build_seeded(network, word, int(chosen[0])) for word, chosen in plan.items()}
    require_progress(progress, *_COUNTED)
    runs = [(word, seed) for word, chosen in plan.items() for seed in chosen.tolist()]
    results: dict[str, list[tuple[float, float]]] = {word: [] for word in plan}
    with open_progress(progress, "runs", *_COUNTED) as tell:
        for done, (word, seed) in enumerate(runs, 1):
            results[word].append(time_once(build_seeded(network, word, seed)))
            if tell is not None:
                tell(done, len(runs))
    compared = {word: RoutingTimes(word, networks[word], plan[word], *np.array(results[word]).T) for word in plan}
    return Catalog(compared, lambda entry: {key: value for key, value in entry.row().items() if key != "routing"})


def _plan_seeds(routings: Sequence[str], seeds: Longs) -> dict[str, Longs]:
    """The seeds of each routing; one run, with seed 0, where it has none."""
    if isinstance(routings, str):
        routings = (routings,)
    words = list(dict.fromkeys(str(routing).lower().replace("_", "-") for routing in routings))
    return {word: seeds if word in SEEDED_ROUTINGS else seeds[:1] * 0 for word in words}


def build_seeded(topology: Topology, routing: str, seed: int) -> Topology:
    """The machine with another routing and seed.

    Args:
        topology: a machine with a fabric that has a choice.
        routing: as `machine` takes it.
        seed: does not count where the routing has none.
    """
    return topology.with_(routing=routing, hash_seed=seed if routing in SEEDED_ROUTINGS else 0)


def _build_timer(
    timed: Schedule | Callable[[Topology], float],
    nbytes: ByteSize | None,
    dtype: DataType,
    engine: Engine | None,
    ranks: RankSelection | None,
) -> Callable[[Topology], tuple[float, float]]:
    """What one run takes: seconds, and the most flows on a cable between switches."""
    if isinstance(timed, Schedule):
        if nbytes is None:
            raise CollsimError("compare_routing wants nbytes= with a schedule, such as nbytes='64MiB'")

        def run(network: Topology) -> tuple[float, float]:
            trace = simulate(timed, network, nbytes, dtype, engine, ranks=ranks)
            return trace.time, float(count_uplink_flows(trace)[1].max(initial=0.0))

        return run
    if not callable(timed):
        message = "compare_routing wants a schedule, or a function of a network that returns seconds, not {timed}"
        raise CollsimError(message, timed=format_value(timed))
    function = timed
    return lambda network: (_require_seconds(function(network)), math.nan)


def _require_seconds(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0 <= value < math.inf:
        message = "the function to compare_routing returned {value}; it must return seconds, such as step.time"
        raise CollsimError(message, value=format_value(value))
    return float(value)


def _parse_seeds(seeds: int | Sequence[int]) -> Longs:
    require_short_range("seeds", seeds, _MAX_SEEDS)
    if isinstance(seeds, Sequence) and not isinstance(seeds, str) and len(seeds):
        numbers = [parse_count(seed, "seeds", least=0) for seed in seeds]
    else:
        numbers = list(range(min(parse_count(seeds, "seeds"), _MAX_SEEDS + 1)))
    if len(numbers) > _MAX_SEEDS:
        message = "seeds={count} is more than {most:,}; a distribution shows long before that"
        raise CollsimError(message, count=format_value(seeds), most=_MAX_SEEDS)
    return np.array(numbers, np.int64)


def find_uplinks(topology: Topology) -> Longs:
    """Numbers of the links between two switches of a fabric, both directions.

    Args:
        topology: a machine.
    """
    is_switch = (topology.devices.kind == DEVICE_KINDS.index("switch")) & (topology.devices.node < 0)
    return np.flatnonzero(is_switch[topology.links.src] & is_switch[topology.links.dst])


@check_arguments
def count_uplink_flows(trace: Trace) -> tuple[Longs, Floats]:
    """Count the flows that share a cable between switches in the step of a run in which most of them meet on one.

    Args:
        trace: a run on a machine.

    Returns:
        Numbers of the links between switches, and the flows on each of them; of a trunk over which packets are
        sprayed, its flows divided by its cables.

    Examples:
        >>> import collsim as cs
        >>> network = cs.machine("dgx-h100", nodes=16, gpus=1, fabric="leaf-spine", radix=8)
        >>> trace = cs.simulate(cs.schedule("alltoall_pairwise", ranks=16), network, "1MiB")
        >>> links, flows = cs.analysis.count_uplink_flows(trace)
        >>> len(links), int(flows.max())  # 4 leaves x 4 spines, both directions
        (32, 1)
    """
    links, uplinks = trace.topology.links, find_uplinks(trace.topology)
    bonded = np.array([cable.width for cable in links.cables])[links.cable[uplinks]]
    most = np.zeros(len(uplinks))
    for group, paths in iterate_paths(trace.schedule, trace.topology, trace.placement):
        counts = np.zeros(len(links))
        counts[paths.used] = _count_pairs(trace.schedule.patterns[group[0]], paths, trace.schedule.endpoints)
        flows = counts[uplinks] / bonded
        if flows.max(initial=0) > most.max(initial=0):
            most = flows
    return uplinks, most


def _count_pairs(step: Step, paths: Paths, endpoints: int) -> npt.NDArray[np.integer]:
    """(used links,) pairs that cross each link: several chunks of one pair are one flow."""
    _, first = np.unique(step.src.astype(np.int64) * endpoints + step.dst, return_index=True)
    if len(first) == len(step):
        return paths.crossings[0]
    is_first = np.zeros(len(step), bool)
    is_first[first] = True
    crossed = [link[is_first if pair is None else is_first[pair]] for pair, link in paths.hops]
    return np.bincount(np.concatenate([*crossed, np.zeros(0, np.int32)]), minlength=len(paths.bandwidth))


@check_arguments
def expected_maximum_load(flows: int, cables: int, switches: int = 1) -> float:
    """Compute the expected number of flows on the busiest cable, where each flow picks one at random.

    Exactly: P(no bin has more than k balls) = n! / m^n [x^n] (sum of x^j / j! over j ≤ k)^m for n balls in m bins; the
    expectation is the sum of 1 - P over k.

    Args:
        flows: that leave each switch, the balls.
        cables: that each switch has, the bins.
        switches: independent switches, of which the busiest cable of all counts.

    Returns:
        Flows, at least `flows / cables`.

    Raises:
        CollsimError: for numbers below 1, and more flows than can be summed.

    Examples:
        >>> import collsim as cs
        >>> cs.analysis.expected_maximum_load(2, 2)  # both on one cable, or one each: equally likely
        1.5
    """
    balls, bins = parse_count(flows, "flows"), parse_count(cables, "cables")
    groups = parse_count(switches, "switches")
    if balls > _MAX_BALLS or bins > _MAX_BALLS:
        message = "flows={flows:,} and cables={cables:,} are too many to sum; at most {most:,} each"
        raise CollsimError(message, flows=balls, cables=bins, most=_MAX_BALLS)
    expected = 0.0
    # No bin has fewer than its share in the mean, so the maximum is at least n / m, rounded up.
    for most in range(balls):
        within = 0.0
        if most * bins >= balls:
            within = _find_chance_within(balls, bins, most)
        expected += 1 - within**groups
        # The chances of more fall faster than by half from here on: what is left out is beyond the twelfth digit.
        if within**groups > 1 - 1e-12:
            break
    return expected


def _find_chance_within(balls: int, bins: int, most: int) -> float:
    """The chance that none of `bins` has more than `most` of `balls`.

    With weights of a Poisson distribution of mean n / m in place of 1 / j!, all numbers stay near 1: the bins are then
    independent, and the chance is that of their sum being n, within the limit and without it.
    """
    mean = balls / bins
    loads = np.arange(min(most, balls) + 1)
    logs = loads * math.log(mean) - mean - np.array([math.lgamma(j + 1) for j in loads])
    power, result, remaining = np.exp(logs), np.ones(1), bins
    while remaining:
        if remaining % 2:
            result = np.convolve(result, power)[: balls + 1]
        remaining //= 2
        if remaining:
            power = np.convolve(power, power)[: balls + 1]
    if len(result) <= balls:
        return 0.0
    all_together = math.exp(balls * math.log(balls) - balls - math.lgamma(balls + 1))
    return min(1.0, float(result[balls]) / all_together)
