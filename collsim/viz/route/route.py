"""The way from one rank to another, hop by hop: alone, and while a ring runs over all ranks. Beside it the module
``route.js``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ...analysis.device_names import name_device
from ...errors import Sentence
from ...locale import Text, repeat_text
from ...registry import schedule
from ...schedule import freeze
from ...simulate import simulate
from ...steps import copy
from ..timeline.timeline_document import build_timeline, encode
from ..timeline.timeline_types import EncodedTimeline, Timeline

if TYPE_CHECKING:
    from ...simulate import Trace
    from ...topology import Hop, Topology

_BUSY = 0.5  # of its capacity: less than that is no limit


@dataclass(frozen=True)
class RankRoute:
    """One way, as plain data.

    Attributes:
        description: nvidia-smi's and NCCL's words for it, English and Chinese; empty where there are none.
        hops: for each link `from`, `to` (pairs of words), `cable`, `kind`, `bandwidth` (B/s), `alpha` (s), `ring`
            (share of its capacity that the ring uses), `hot` (it is the one that limits the ring).
        alpha: s of latency.
        bandwidth: B/s of the slowest hop.
        limit: cable of the slowest hop.
        alone: s for the buffer with nothing else running.
        ring: s of a ring allreduce of the buffer over all ranks; None where there is no ring to run.
        links: the links crossed, in order.
        timeline: of the transfer alone, for the player.
        marks: for each link `link`, `text` (numbers of the hops that cross it, from 1) and `hot`, for the player.
    """

    description: Text
    hops: list[dict[str, object]]
    alpha: float
    bandwidth: float
    limit: str
    alone: float
    ring: float | None
    links: tuple[int, ...]
    timeline: EncodedTimeline
    marks: list[dict[str, object]]


def list_routes(topologies: list[Topology], src: int, dst: int, nbytes: Any) -> list[RankRoute]:
    """The way from rank src to rank dst on each of several variants of one machine, drawn alike.

    Args:
        topologies: Variants of one machine.
        src: Rank at which the route begins.
        dst: Rank at which the route ends.
        nbytes: Size of the buffer, bytes or a text with a unit.

    Raises:
        CollsimError: Where there is no such rank or no way.
    """
    traces = [simulate(_build_single_transfer(topology, src, dst), topology, nbytes) for topology in topologies]
    rings = [_simulate_ring(topology, nbytes) for topology in topologies]
    have_same_links = len({len(topology.links) for topology in topologies}) == 1
    touched = None
    if have_same_links:
        touched = np.any([t.link_bytes > 0 for t in [*traces, *rings]], axis=0)
    return [_build_route(trace, ring, src, dst, touched) for trace, ring in zip(traces, rings, strict=True)]


def _build_single_transfer(topology: Topology, src: int, dst: int) -> Any:
    """A single transfer."""
    return freeze(
        f"rank {src} to rank {dst}", "sendrecv", topology.ranks, [copy(src, dst, chunk=0, into=1)], chunks=1, slots=2
    )


def _simulate_ring(topology: Topology, nbytes: Any) -> Trace:
    """A ring allreduce over all ranks on as many channels as the machine offers."""
    channels = 1
    if topology.orders is not None:
        channels = len(topology.orders)
    return simulate(schedule("allreduce_ring", topology=topology, channels=channels), topology, nbytes)


def _build_route(trace: Trace, ring: Trace, src: int, dst: int, touched: npt.NDArray[np.bool_] | None) -> RankRoute:
    topology = trace.topology
    route = topology.route(src, dst)
    hops = _describe_hops(trace, ring, route)
    slowest = min(route, key=lambda hop: hop.bandwidth)
    document = build_timeline(trace, touched, inside=False)
    document["mistake"] = None  # one transfer is not meant to be a whole collective
    return RankRoute(
        description=_describe_router(topology, src, dst),
        hops=hops,
        alpha=sum(hop.alpha for hop in route),
        bandwidth=slowest.bandwidth,
        limit=slowest.label,
        alone=trace.time,
        ring=ring.time if ring.time else None,
        links=tuple(hop.link for hop in route),
        timeline=encode(document),
        marks=_number_cables(document, [bool(hop["hot"]) for hop in hops]),
    )


def _describe_hops(trace: Trace, ring: Trace, route: Sequence[Hop]) -> list[dict[str, object]]:
    """The hops of a route, and how much of each the ring uses."""
    links = trace.topology.links
    used = ring.link_busy / ring.time if ring.time else np.zeros(len(links))
    top = max((float(used[hop.link]) for hop in route), default=0.0)
    return [
        {
            "from": name_device(trace, int(links.src[hop.link])),
            "to": name_device(trace, int(links.dst[hop.link])),
            "cable": hop.label,
            "kind": hop.kind,
            "bandwidth": hop.bandwidth,
            "alpha": hop.alpha,
            "ring": min(1.0, float(used[hop.link])),
            # Several hops may be as busy as each other; two percent is rounding of shares.
            "hot": bool(used[hop.link] >= max(_BUSY, 0.98 * top)),
        }
        for hop in route
    ]


def _number_cables(timeline: Timeline, hot: list[bool]) -> list[dict[str, object]]:
    """A number beside every cable of the only route in the picture; none where nodes are folded into boxes."""
    links = timeline["routes"]["link"]
    if len(links) != len(hot):
        return []
    marks: dict[int, dict[str, object]] = {}
    for number, (link, warm) in enumerate(zip(links, hot, strict=True), 1):
        text = f"{marks[link]['text']},{number}" if link in marks else str(number)
        marks[link] = {"link": link, "text": text, "hot": warm}
    return list(marks.values())


def _describe_router(topology: Topology, src: int, dst: int) -> Text:
    """The router's own words."""
    if topology.router is None:
        return repeat_text("")
    ends = (int(topology.endpoint_device[rank]) for rank in (src, dst))
    sentence = Sentence.from_words(topology.router.describe_route(*ends))
    return sentence.capitalize().texts
