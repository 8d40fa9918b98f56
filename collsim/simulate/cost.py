"""How much work a run of the event engine will be, counted from its routes before it starts.

What is counted: rows, distinct routes, and for max-min sharing *visits*: flows and links that are looked at when rates
are computed anew (`Timing.visits` says how many there were). Transfers of one step that are joined over shared links
form a part; whenever one of them begins or ends, all of its part that still flows is looked at, half of it in the mean.
Those that cannot be told apart (equal latency, equal share, equal bytes) begin and end together. Beside each step flow
background traffic and, for as many steps as it has, the largest step of each other schedule. With jitter a flow that
begins or ends changes only rates above its own, so the part is taken between two: joined over the links that each flow
has its rate from, and over all links that anybody has (the geometric mean of both; docs/performance.md). Flows that
meet others on a single link are not looked at: they follow it (`kernels.groups`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..dtypes import Bools, Floats, Longs
from ..steps import Step
from ..topology import Routes, Topology
from .conditions import Conditions
from .event_layout import Job, find_routes
from .paths import Slots, group_by_pairs

_VISITS_PER_MOMENT = 1.0  # of a begin or an end itself, whatever it changes


class Effort(NamedTuple):
    """What the steps of a run ask of the event engine.

    Attributes:
        routes: distinct pairs of endpoints whose route must be found, counted once for each group of steps with the
            same pairs.
        visits: flows whose rates are looked at anew when a transfer begins or ends, over all steps; 0 where rates need
            no solving (`sharing` is `none` or `fifo`).
        crossings: visits times the mean number of links of a route.
        shares: do transfers of a step ever share a link?
    """

    routes: int
    visits: float
    crossings: float
    shares: bool


class _OtherTraffic(NamedTuple):
    """What flows on while steps of a job begin and end: ends, bytes, and in which part of the job's steps."""

    src: Longs
    dst: Longs
    nbytes: Floats
    part: Floats


def estimate_effort(jobs: Sequence[Job], topology: Topology, conditions: Conditions) -> Effort:
    """What the jobs' steps ask of the engine, each step by itself with what flows beside it."""
    efforts = [
        _estimate_job(job, _collect_other_traffic(job, [*jobs[:i], *jobs[i + 1 :]], conditions), topology, conditions)
        for i, job in enumerate(jobs)
    ]
    routes, visits, crossings, shares = zip(*efforts, strict=True)
    return Effort(sum(routes), sum(visits), sum(crossings), any(shares))


def _collect_other_traffic(main: Job, others: Sequence[Job], conditions: Conditions) -> _OtherTraffic:
    """Other traffic, all the time, and the largest step of each other job, for as many steps as that has."""
    nothing = np.zeros(0, np.int64)
    parts = [_OtherTraffic(nothing, nothing, np.zeros(0), np.zeros(0))]
    for job in others:
        if job.singles:
            step, part = max(job.singles, key=len), min(1.0, _count_steps(job) / max(1, _count_steps(main)))
            nbytes = _count_bytes(step, Slots(job.slot_bytes))
            parts.append(
                _OtherTraffic(job.placement[step.src], job.placement[step.dst], nbytes, np.full(len(step), part))
            )
    if (other := conditions.background) is not None:
        parts.append(_OtherTraffic(other.src, other.dst, other.nbytes.astype(np.float64), np.ones(len(other))))
    return _OtherTraffic(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _count_steps(job: Job) -> int:
    return sum(p.times for p in job.patterns)


def _estimate_job(job: Job, traffic: _OtherTraffic, topology: Topology, conditions: Conditions) -> Effort:
    routes, visits, crossings, shares = 0, 0.0, 0.0, False
    slots, patterns = Slots(job.slot_bytes), job.singles
    # Steps that join the same pairs have the same routes: these are found once for the group.
    for group in group_by_pairs(patterns):
        first = patterns[group[0]]
        src = np.concatenate([job.placement[first.src], traffic.src])
        dst = np.concatenate([job.placement[first.dst], traffic.dst])
        found_routes, bandwidth, alpha = find_routes(topology, src, dst, conditions)
        routes += len(np.unique(src * topology.endpoints + dst))
        if conditions.sharing == "none":
            continue
        owner = np.repeat(np.arange(len(src)), found_routes.hops)
        shares = shares or bool(np.bincount(found_routes.link, minlength=1).max() > 1)
        if conditions.sharing == "fifo":
            continue
        for number in group:
            step = patterns[number]
            nbytes = np.concatenate([_count_bytes(step, slots), traffic.nbytes])
            weight = np.concatenate([np.ones(len(step)), traffic.part])
            seen = _estimate_visits(found_routes, owner, nbytes, weight, bandwidth, alpha, conditions, len(step))
            visits += seen * step.times
            crossings += seen * step.times * float(found_routes.hops.mean())
    return Effort(routes, visits, crossings, shares)


def _count_bytes(step: Step, slots: Slots) -> Floats:
    """Bytes of each row of a step."""
    return np.broadcast_to(slots.count_bytes(step), len(step)).astype(np.float64)


def _find_parts(owner: Longs, link: Longs, routes: int, links: int) -> Longs:
    """For each route the lowest number of a route that it is joined to over these links."""
    part = np.arange(routes)
    while True:
        least = np.full(links, routes)
        np.minimum.at(least, link, part[owner])
        new = part.copy()
        np.minimum.at(new, owner, least[link])
        new = new[new]
        if np.array_equal(new, part):
            return part
        part = new


def _estimate_visits(
    routes: Routes,
    owner: Longs,
    nbytes: Floats,
    weight: Floats,
    bandwidth: Floats,
    alpha: Floats,
    conditions: Conditions,
    own_flows: int,
) -> float:
    """Visits of one step; of its flows the first `own_flows` begin and end in it, the others flow on, each in a part
    (`weight`) of such steps."""
    links, n = len(bandwidth), len(routes)
    busy = np.bincount(routes.link, weights=nbytes[owner], minlength=links) / bandwidth
    share = np.zeros(n)
    np.maximum.at(share, owner, busy[routes.link])
    latency: Floats = np.bincount(owner, weights=alpha[routes.link], minlength=n).astype(np.float64)
    moving = (nbytes > 0) & (routes.hops > 0)

    shared = np.bincount(routes.link, minlength=links) > 1
    noticed = np.bincount(owner[shared[routes.link]], minlength=n) > 1  # others follow the one link that they share

    def count_visits(selected: Bools) -> float:
        """Visits where flows change one another's rates over these links of their routes."""
        owners, link = owner[selected], routes.link[selected].astype(np.int64)
        # Flows that share no link never meet, so each part of the traffic that hangs together is counted for itself.
        part = _find_parts(owners, link, n, links)
        is_visited = moving & noticed
        flows, many = np.bincount(part[is_visited], weight[is_visited], n), np.bincount(part[moving], minlength=n)
        is_shared = shared[link]
        cables = np.bincount(np.unique(part[owners[is_shared]] * links + link[is_shared]) // links, minlength=n)
        own_moving = np.flatnonzero(moving[:own_flows])
        # A visit happens when some flow begins or ends; flows of one latency begin together, and those of one share
        # end together.
        if conditions.jitter:
            moments = 2.0 * np.bincount(part[own_moving], minlength=n)
        else:
            moments = _count_different(part[own_moving], latency[own_moving], n) + _count_different(
                part[own_moving], latency[own_moving] + share[own_moving], n
            )
        return float((moments * ((flows + cables) / 2 + _VISITS_PER_MOMENT))[many > 1].sum())

    if not conditions.jitter:
        return count_visits(np.ones(len(owner), np.bool_))
    # The longer a flow takes beside its jitter, the more go with it.
    alive = share.max() / (share.max() + conditions.jitter)
    tight = busy[routes.link] >= share[owner] * (1 - 1e-9)
    least, most = count_visits(tight), count_visits(np.isin(routes.link, routes.link[tight]))
    return float(alive * np.sqrt(least * most))


def _count_different(part: npt.NDArray[Any], value: Floats, parts: int) -> Floats:
    """How many different values there are in each part, to nine digits."""
    scale = np.abs(value).max(initial=0.0) or 1.0
    keys = np.unique(np.stack([part, np.rint(value / scale * 1e9).astype(np.int64)]), axis=1)
    return np.bincount(keys[0], minlength=parts).astype(np.float64)
