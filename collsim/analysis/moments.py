"""What happens in each step, counted: who sends, how many contributions move, which links they wait for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..collective import get_collective
from ..dtypes import Floats, Longs
from ..schedule import Schedule
from ..steps import Step
from ..topology.network import Routes
from ..verify import CountedReplay, Counts

if TYPE_CHECKING:
    from ..simulate import Trace


@dataclass(frozen=True, eq=False)
class Moment:
    """One step of a run.

    Attributes:
        number: of the step, from 0.
        step: its transfers.
        sent_contributions: (transfers,) contributions in each chunk that is sent.
        had: (transfers,) contributions in each slot written, before the step.
        has: (transfers,) the same after the step.
        finished: (endpoints,) finished chunks of every endpoint after the step.
        nbytes: (transfers,) bytes.
        seconds: (transfers,) s from the start of each to its arrival.
        limit: (transfers,) the link that needs longest for its load in this step, or -1.
        crowd: (transfers,) how many transfers of this step share that link.
        load: (transfers,) s that link needs for all of them.
    """

    number: int
    step: Step
    sent_contributions: Counts
    had: Counts
    has: Counts
    finished: Longs
    nbytes: Longs
    seconds: Floats
    limit: Longs
    crowd: Longs
    load: Floats


def count_goal(schedule: Schedule) -> int:
    """Contributions of a finished cell.

    Args:
        schedule: The schedule.
    """
    if get_collective(schedule.collective).reduces:
        return schedule.ranks
    return 1


def list_moments(trace: Trace, replay: CountedReplay) -> tuple[Moment, ...]:
    """The steps of a run.

    Args:
        trace: The run.
        replay: Of its schedule; the steps are taken from it, so that it knows afterwards whether the schedule is right.
    """
    schedule, bandwidth = trace.schedule, trace.topology.links.bandwidth
    full, row = count_goal(schedule), 0
    route_cache: dict[bytes, Routes] = {}
    limits: dict[bytes, tuple[Longs, Longs, Floats]] = {}
    moments = []
    for number, counts in enumerate(replay):
        step = counts.step
        rows = slice(row, row + len(step))
        row += len(step)
        nbytes = trace.slot_bytes[step.chunk]
        # Steps are the same when they join the same pairs with the same bytes, so both are the key.
        pairs = step.src.tobytes() + step.dst.tobytes()
        if (pattern := pairs + nbytes.tobytes()) not in limits:  # most steps of a schedule repeat another one's
            limits[pattern] = _find_limits(_get_routes(trace, step, pairs, route_cache), nbytes, bandwidth)
        moments.append(
            Moment(
                number,
                step,
                counts.sent,
                counts.before,
                counts.after,
                (counts.table[:, : schedule.chunks] >= full).sum(axis=1),
                nbytes,
                trace.finish[rows] - trace.start[rows],
                *limits[pattern],
            )
        )
    return tuple(moments)


def _get_routes(trace: Trace, step: Step, key: bytes, route_cache: dict[bytes, Routes]) -> Routes:
    if key not in route_cache:
        if len(route_cache) > 64:
            route_cache.clear()
        route_cache[key] = trace.topology.routes(trace.placement[step.src], trace.placement[step.dst])
    return route_cache[key]


def _find_limits(routes: Routes, nbytes: Longs, bandwidth: Floats) -> tuple[Longs, Longs, Floats]:
    """For each transfer the link of its route that needs longest for what it carries in this step, its transfers, its
    seconds."""
    hops = routes.hops
    limit, crowd, load = np.full(len(hops), -1), np.zeros(len(hops), np.int64), np.zeros(len(hops))
    if not len(routes.link):
        return limit, crowd, load
    links, link_number = np.unique(routes.link, return_inverse=True)
    link_number = link_number.ravel()
    carried = np.bincount(link_number, weights=np.repeat(nbytes, hops))
    times = carried / bandwidth[links]
    owner = np.repeat(np.arange(len(hops)), hops)
    # lexsort puts the slowest link of each transfer last; among equals the slower cable, then the later hop
    order = np.lexsort((np.arange(len(link_number)), -bandwidth[links][link_number], times[link_number], owner))
    last = np.append(owner[order][1:] != owner[order][:-1], True)
    worst = link_number[order[last]]
    moved = owner[order[last]]
    pairs = np.bincount(link_number)
    limit[moved], crowd[moved], load[moved] = links[worst], pairs[worst], times[worst]
    return limit, crowd, load
