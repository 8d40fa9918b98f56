"""What a link carries over time, as an exact step function, and the transfers that make it up."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral

import numpy as np

from ..dtypes import Floats, Longs
from ..errors import CollsimError
from ..schedule import Schedule
from ..topology import Routes, Topology
from .lockstep import Segments


@dataclass(frozen=True, eq=False)
class Usage:
    """A step function: from `time[i]` to `time[i+1]` the link carries `rate[i]` B/s (after the last time, nothing).

    Attributes:
        time: (changes,) s, rising.
        rate: (changes,) B/s, 0 at the end.
        row: (stretches,) the transfer that flows at one rate for a while; a Gantt chart of the link with `begin` and
            `end`.
        begin: (stretches,) s.
        end: (stretches,) s.

    Examples:
        >>> import collsim as cs
        >>> trace = cs.simulate(cs.schedule("allreduce_ring", ranks=4), cs.topology.ring(4), nbytes="4MiB")
        >>> usage = trace.usage(0)
        >>> int(usage.nbytes)  # six chunks of 1 MiB
        6291456
        >>> usage.busy < trace.time
        True
    """

    time: Floats
    rate: Floats
    row: Longs
    begin: Floats
    end: Floats

    @property
    def nbytes(self) -> float:
        """Bytes carried in all: the integral of the rate."""
        if len(self.time):
            return float((np.diff(self.time) * self.rate[:-1]).sum())
        return 0.0

    @property
    def busy(self) -> float:
        """Seconds in which anything flows."""
        if len(self.time):
            return float(np.diff(self.time)[self.rate[:-1] > 0].sum())
        return 0.0


def require_link(link: object, topology: Topology) -> int:
    """Check the number of a link.

    Args:
        link: What a user gave; a boolean is no number.
        topology: Links are 0 to `len(topology.links) - 1`.

    Raises:
        CollsimError: It is anything else.
    """
    if isinstance(link, bool) or not isinstance(link, Integral) or not 0 <= int(link) < len(topology.links):
        message = "there is no link {link!r}; {name} has links 0 to {last}"
        raise CollsimError(message, link=link, name=topology.name, last=len(topology.links) - 1)
    return int(link)


def compute_usage(segments: Segments, link: int, routes: Routes) -> Usage:
    """How much of one link is in use over time.

    Args:
        segments: Stretches of time in which a transfer has one rate, in s and B/s.
        link: Number in the topology.
        routes: Of the transfers, by row.
    """
    crosses = np.bincount(_list_owners(routes)[routes.link == link], minlength=len(routes))
    times = np.where(segments.link < 0, crosses[segments.row], segments.link == link)
    stretches = np.flatnonzero(times)
    row = segments.row[stretches]
    begin = segments.begin[stretches]
    end = segments.end[stretches]
    rate = segments.rate[stretches] * times[stretches]
    when = np.concatenate([begin, end])
    change = np.concatenate([rate, -rate])
    time, index = np.unique(when, return_inverse=True)
    running = np.cumsum(np.bincount(index.ravel(), weights=change, minlength=len(time)))
    active = np.cumsum(np.bincount(index.ravel(), weights=np.sign(change), minlength=len(time)))
    return Usage(time, np.where(np.rint(active) > 0, running, 0.0), row, begin, end)


def _list_owners(routes: Routes) -> Longs:
    return np.repeat(np.arange(len(routes)), routes.hops)


def build_steady_segments(
    schedule: Schedule, topology: Topology, slot_bytes: Longs, placement: Longs, start: Floats, finish: Floats
) -> Segments:
    """Bytes that flow at one rate from the end of the latency to the arrival: the picture that the lockstep engine has
    of a step.

    Args:
        schedule: Its transfers are the rows.
        topology: For routes and alphas.
        slot_bytes: (slots,) bytes.
        placement: (endpoints,) endpoint of the topology for each of the schedule.
        start: (transfers,) s, when each sets off.
        finish: (transfers,) s, when each has arrived.
    """
    t = schedule.transfers
    routes = topology.routes(placement[t["src"]], placement[t["dst"]])
    nbytes = slot_bytes[t["chunk"]]
    latency = np.bincount(_list_owners(routes), weights=topology.links.alpha[routes.link], minlength=len(t))
    row = np.flatnonzero((nbytes > 0) & (routes.hops > 0))
    begin, end = start[row] + latency[row], finish[row]
    return Segments(row, np.full(len(row), -1), begin, end, nbytes[row] / (end - begin))
