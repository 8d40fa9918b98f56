"""Flows that have their rate from one link: a group.

All of them have the same rate, so each gets as many bytes as the others in any time: `served` counts them, and a flow
ends when `served` is at its `mark`. A new rate then changes one number of the link, not thousands of flows, and not
their order (the virtual time of fair queueing: Parekh & Gallager, IEEE/ACM Transactions on Networking 1(3), 1993).
The flow that ends first is the `front` of the group, and alone of it in the queue of events.

The marks of a group are a pairing heap (Fredman, Sedgewick, Sleator & Tarjan, Algorithmica 1, 1986): a seat knows its
`child`, the next to its `right` and who is `before` it, the one to its left or, of the first child, its parent.
"""

# mypy: disable-error-code="no-any-return"

from __future__ import annotations

from ...dtypes import Ints, Longs
from .heap import drop, push
from .kernel_records import (
    BITS,
    CHANGED,
    CHANGES,
    FLOWS,
    SAME,
    SIZE,
    Gates,
    Heap,
    Links,
    Log,
    Nodes,
    Seats,
    compile_inlined,
    compile_inner,
    note,
)


@compile_inner
def _merge_heaps(a: int, b: int, seats: Seats) -> int:
    """One heap of two; its first."""
    if a < 0:
        return b
    if b < 0:
        return a
    if seats[b]["mark"] < seats[a]["mark"]:
        a, b = b, a
    child = seats[a]["child"]
    seats[b]["right"] = child
    seats[b]["before"] = a
    if child >= 0:
        seats[child]["before"] = b
    seats[a]["child"] = b
    return a


@compile_inner
def _merge_all(first: int, seats: Seats) -> int:
    """One heap of a row of heaps: two by two from the left, then one after another from the right."""
    # The two passes, pairs first, are what makes a removal logarithmic (amortised).
    pairs = -1
    while first >= 0:
        second = seats[first]["right"]
        rest = seats[second]["right"] if second >= 0 else -1
        seats[first]["right"] = -1
        if second >= 0:
            seats[second]["right"] = -1
        pair = _merge_heaps(first, second, seats)
        seats[pair]["right"] = pairs
        pairs = pair
        first = rest
    heap = -1
    while pairs >= 0:
        left = seats[pairs]["right"]
        seats[pairs]["right"] = -1
        heap = _merge_heaps(heap, pairs, seats)
        pairs = left
    if heap >= 0:
        seats[heap]["before"] = -1
    return heap


@compile_inner
def _remove_seat(front: int, seat: int, seats: Seats) -> int:
    """The heap without one of its seats."""
    s = seats[seat]
    below = _merge_all(s["child"], seats)
    if seat != front:
        before, right = s["before"], s["right"]
        if seats[before]["child"] == seat:
            seats[before]["child"] = right
        else:
            seats[before]["right"] = right
        if right >= 0:
            seats[right]["before"] = before
        below = _merge_heaps(front, below, seats)
    s["child"] = s["right"] = s["before"] = -1
    return below


@compile_inner
def change(here: int, t: float, links: Links, work: Gates, counters: Longs) -> None:
    """Something of a link's group is about to change: count what it has served until now."""
    link = links[here]
    if link["changes"] == 0:
        link["changes"] = 1
        work[CHANGED, counters[CHANGES]] = here
        counters[CHANGES] += 1
    link["served"] += link["rate"] * (t - link["since"])
    link["since"] = t


@compile_inner
def enter(
    seat: int, here: int, left: float, t: float, links: Links, seats: Seats, work: Gates, counters: Longs
) -> None:
    """A flow with `left` bytes to go has its rate from this link from now on."""
    change(here, t, links, work, counters)
    link, s = links[here], seats[seat]
    s["mark"] = link["served"] + left
    s["child"] = s["right"] = s["before"] = -1
    link["front"] = _merge_heaps(link["front"], seat, seats)


@compile_inner
def leave(
    seat: int, here: int, t: float, links: Links, seats: Seats, queue: Heap, work: Gates, counters: Longs
) -> float:
    """A flow has its rate from this link no longer; how many bytes it has left."""
    change(here, t, links, work, counters)
    link = links[here]
    left = max(0.0, seats[seat]["mark"] - link["served"])
    if link["queued"] == seat:
        drop(queue, counters, SIZE, seat)
        link["queued"] = -1
    link["front"] = _remove_seat(link["front"], seat, seats)
    # An empty group counts from 0 again: over a long run `served` would grow until small marks drown in it.
    if link["front"] < 0:
        link["served"] = link["rate"] = 0.0
    return left


@compile_inner
def _advance_front(seat: int, t: float, here: int, links: Links, seats: Seats, queue: Heap, counters: Longs) -> None:
    """The front of a link's group ends."""
    link = links[here]
    front = _remove_seat(link["front"], seat, seats)
    link["front"] = link["queued"] = front
    if front < 0:
        link["served"] = link["rate"] = 0.0
        return
    end = link["since"] + (seats[front]["mark"] - link["served"]) / link["rate"]
    push(queue, counters, SIZE, max(t, end), front)


@compile_inlined
def end_front(seat: int, t: float, route_link: Ints, links: Links, seats: Seats, queue: Heap, counters: Longs) -> None:
    """A flow that comes out of the queue ends: if it is the front of a group, the next of the group is."""
    s = seats[seat]
    if s["next"] == FLOWS and s["hop"] >= 0:
        here = route_link[s["first"] + s["hop"]]
        if links[here]["front"] == seat:
            _advance_front(seat, t, here, links, seats, queue, counters)


@compile_inner
def _note_rates(first: int, t: float, rate: float, nodes: Nodes, seats: Seats, counters: Longs, log: Log) -> None:
    """Write down the new rate of all flows of a list that had another."""
    node = first
    while node >= 0:
        s = seats[node >> counters[BITS]]
        if abs(rate - s["rate"]) > SAME * s["rate"]:
            s["rate"] = rate
            note(log, counters, s["row"], t, rate)
        node = nodes[node]["after"]


@compile_inner
def set_ends(
    t: float, links: Links, nodes: Nodes, seats: Seats, queue: Heap, work: Gates, counters: Longs, log: Log
) -> None:
    """Give the groups that changed their new rates, and the queue their next ends."""
    for i in range(counters[CHANGES]):
        link = links[work[CHANGED, i]]
        link["changes"] = 0
        front, queued, new = link["front"], link["queued"], link["level"]
        if queued >= 0 and queued != front:
            drop(queue, counters, SIZE, queued)
        link["queued"] = front
        if front < 0:
            continue
        # A new rate moves the end of the front flow; an unchanged one leaves its entry in the queue.
        if queued != front or abs(new - link["rate"]) > SAME * link["rate"]:
            link["rate"] = new
            # `mark` and `served` count bytes: what is left of the front flow, at the new rate, is when it ends.
            push(queue, counters, SIZE, t + max(0.0, seats[front]["mark"] - link["served"]) / new, front)
        if len(log):
            _note_rates(link["first"], t, link["rate"], nodes, seats, counters, log)
            _note_rates(link["rest"], t, link["rate"], nodes, seats, counters, log)
    counters[CHANGES] = 0
