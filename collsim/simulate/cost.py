"""How much work a run of the event engine will be, counted from its routes before it starts.

What is counted: rows, distinct routes, and for max-min sharing *visits*: flows and links that are looked at when rates are worked out
anew (`Timing.visits` says how many there were). Transfers of one step that are joined over shared links form a part; whenever one of
them begins or ends, all of its part that still flows is looked at, half of it in the mean. Those that cannot be told apart (equal latency,
equal share, equal bytes) begin and end together.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..schedule import Step
from ..topology import Routes, Topology
from .conditions import Conditions
from .paths import Slots, by_pairs
from .plan import Job

Floats = npt.NDArray[np.float64]
Longs = npt.NDArray[np.int64]


class Effort(NamedTuple):
    """Distinct routes, visits, visits times the links of a route, and whether transfers of a step ever share a link."""

    routes: int
    visits: float
    crossings: float
    shares: bool


def effort(job: Job, topology: Topology, given: Conditions) -> Effort:
    """What a job's steps ask of the engine, each step by itself."""
    routes, visits, crossings, shares = 0, 0.0, 0.0, False
    slots, patterns = Slots(job.slot_bytes), job.singles
    for group in by_pairs(patterns):
        first = patterns[group[0]]
        src, dst = job.place[first.src], job.place[first.dst]
        if given.background is not None:
            src, dst = np.concatenate([src, given.background.src]), np.concatenate([dst, given.background.dst])
        found = topology.routes(src, dst)
        routes += len(np.unique(src * topology.endpoints + dst))
        if given.sharing == "none":
            continue
        part = _parts(found, len(topology.links))
        shares = shares or len(np.unique(part[found.hops > 0])) < (found.hops > 0).sum()
        if given.sharing == "fifo":
            continue
        for number in group:
            step = patterns[number]
            seen = _visits(found, part, _bytes(step, slots, given), topology, given, len(step))
            visits += seen * step.times
            crossings += seen * step.times * float(found.hops.mean())
    return Effort(routes, visits, crossings, shares)


def _bytes(step: Step, slots: Slots, given: Conditions) -> Floats:
    """Bytes of each row of a step, and of background flows behind them."""
    own = np.broadcast_to(slots.moved(step), len(step)).astype(np.float64)
    return own if given.background is None else np.concatenate([own, given.background.nbytes.astype(np.float64)])


def _parts(routes: Routes, links: int) -> Longs:
    """For each route the lowest number of a route that it is joined to over shared links."""
    owner = np.repeat(np.arange(len(routes)), routes.hops)
    part = np.arange(len(routes))
    while True:
        least = np.full(links, len(routes))
        np.minimum.at(least, routes.link, part[owner])
        new = part.copy()
        np.minimum.at(new, owner, least[routes.link])
        new = new[new]
        if np.array_equal(new, part):
            return part
        part = new


def _visits(routes: Routes, part: Longs, nbytes: Floats, topology: Topology, given: Conditions, own: int) -> float:
    """Visits of one step; of its flows the first `own` begin and end in it, the others flow on."""
    owner = np.repeat(np.arange(len(routes)), routes.hops)
    moving = (nbytes > 0) & (routes.hops > 0)
    links, n = topology.links, len(routes)
    load = np.bincount(routes.link, weights=nbytes[owner], minlength=len(links))
    share = np.zeros(n)
    np.maximum.at(share, owner, (load / links.bandwidth)[routes.link])
    latency: Floats = np.bincount(owner, weights=links.alpha[routes.link], minlength=n).astype(np.float64)
    flows = np.bincount(part[moving], minlength=n)
    cables = np.bincount(np.unique(part[owner] * len(links) + routes.link) // len(links), minlength=n)
    mine = np.flatnonzero(moving[:own])
    if given.jitter:
        moments = 2.0 * np.bincount(part[mine], minlength=n)
        alive = share.max() / (share.max() + given.jitter)  # the longer a flow takes beside its jitter, the more are under way with it
    else:
        moments = _different(part[mine], latency[mine], n) + _different(part[mine], latency[mine] + share[mine], n)
        alive = 1.0
    together = flows > 1
    return float((moments * alive * (flows + cables) / 2)[together].sum())


def _different(part: npt.NDArray[Any], value: Floats, parts: int) -> Floats:
    """How many different values there are in each part, to nine digits."""
    scale = np.abs(value).max(initial=0.0) or 1.0
    keys = np.unique(np.stack([part, np.rint(value / scale * 1e9).astype(np.int64)]), axis=1)
    return np.bincount(keys[0], minlength=parts).astype(np.float64)
