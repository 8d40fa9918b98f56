"""What the module ``simple.js`` needs of a run: its timeline, the bytes that each GPU sends as factors, its cards."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ...analysis.run_facts import RunFacts
from ...simulate import Trace
from ...topology.network import DEVICE_KINDS
from ..timeline import timeline_document
from ..timeline.timeline_types import EncodedTimeline

_MAX_PARTS = 4096  # a fraction of more parts than that is no factor to read


@dataclass(frozen=True)
class SimpleRun:
    """One run, as plain data.

    Attributes:
        time: s.
        timeline: as the player takes it.
        channels: copies of the pattern.
        cards: cards of a node through which bytes leave it, 0 on one node.
        sent: bytes that every rank sends; None where they differ.
        most: bytes that the busiest rank sends.
        factors: `sent` as whole number, numerator, denominator, bytes; None where it is no such product.
    """

    time: float
    timeline: EncodedTimeline
    channels: int
    cards: int
    sent: int | None
    most: int
    factors: tuple[int, int, int, int] | None


def build_simple_run(facts: RunFacts) -> SimpleRun:
    """What is shown of a run.

    Args:
        facts: Of the run.

    Raises:
        CollsimError: For more transfers than the player shows.
    """
    trace = facts.trace
    ranks = trace.sent_bytes[: trace.schedule.ranks]
    even = bool(len(ranks)) and bool(np.all(ranks == ranks[0]))
    sent = None
    if even:
        sent = int(ranks[0])
    return SimpleRun(
        time=trace.time,
        timeline=timeline_document.build_encoded_timeline(facts),
        channels=trace.schedule.channels,
        cards=count_cards(trace),
        sent=sent,
        most=int(ranks.max(initial=0)),
        factors=None if sent is None else factor_bytes(sent, int(trace.nbytes), trace.schedule.ranks),
    )


def count_cards(trace: Trace) -> int:
    """Cards of a node through which bytes leave it; 0 where there is only one node.

    Args:
        trace: The run.
    """
    topology = trace.topology
    node, kind = topology.devices.node, topology.devices.kind
    nodes = int(node.max(initial=0)) + 1
    src, dst = topology.links.src, topology.links.dst
    leaving = (trace.link_bytes > 0) & (kind[src] == DEVICE_KINDS.index("nic")) & (node[src] != node[dst])
    if nodes < 2:
        return 0
    return round(len(np.unique(src[leaving])) / nodes)


def factor_bytes(sent: int, nbytes: int, ranks: int) -> tuple[int, int, int, int] | None:
    """Bytes as whole x (n - 1)/n x buffer, with the largest whole number that leaves such a fraction.

    480 MiB of a buffer of 256 MiB on 16 ranks are 2 x 15/16 x 256 MiB.

    Args:
        sent: Bytes that a rank sends.
        nbytes: Bytes of the buffer.
        ranks: Number of ranks.
    """
    if ranks < 2 or not sent or not nbytes:
        return None
    share = Fraction(sent, nbytes) / Fraction(ranks - 1, ranks)
    if share.denominator != 1 or share > _MAX_PARTS:
        return None
    return int(share), ranks - 1, ranks, nbytes
