"""Max-min fair rates of flows on links.

Between two moments every flow has its rate from one link, its bottleneck, which is full and gives as much to no flow
as to this one (Bertsekas & Gallager 1992, section 6.5.2). A link keeps lists: `first` and `rest`, the flows that have
their rate from it (all have the same, its `level`), and `head`, those that other links hold below that; `residual` is
what the latter leave. When flows begin and end, the filling is gone through again from the lowest rate at which
something is different, and only where it is: a link that is touched waits for the rate at which its flows may notice.
What a link has for each, residual/open, is never more than what it ends up with, so a link that waits too early waits
once more.

A link with a single flow on it that is no narrower than this flow's bottleneck cannot matter: it is quiet, and nobody
keeps it up to date. A flow all of whose other links are quiet is in `rest`, and follows the level of its link without
anybody looking at it. (An incast is that: thousands of flows, each alone on all links but one.)
"""

# mypy: disable-error-code="no-any-return"

from __future__ import annotations

import numpy as np

from ...dtypes import Ints, Longs
from .groups import change, enter, leave
from .heap import drop, push
from .kernel_records import (
    BITS,
    DIRTY,
    JOINED_FLOWS,
    SAME,
    TOUCHED,
    VISITED,
    Gates,
    Heap,
    Links,
    Nodes,
    Seats,
    compile_inlined,
    compile_inner,
    fetch,
)

UNCHANGED, OPEN, FIXED = 0, 1, 2  # the rate of a flow under way: as it was, not known, known anew
HELD, NOTICED, ALONE = 0, 1, 2  # the lists of a link: `head`, `first`, `rest`
_SPILT = 1e-12  # a link carries too much only where it is more than this, relative to its bandwidth
_ABOVE = 1 + 1e-12  # a flow is above a rate only where it has so many times as much
_NEAR = 1 + 1e-14  # sums of rates are the same up to this


# ---- the lists of a link -------------------------------------------------------------------------------------------


@compile_inner
def _link_out(node: int, which: int, link: int, links: Links, nodes: Nodes) -> None:
    """Take a flow out of a list of a link that it is in."""
    after, back = nodes[node]["after"], nodes[node]["back"]
    if back >= 0:
        nodes[back]["after"] = after
    elif which == NOTICED:
        links[link]["first"] = after
    elif which == HELD:
        links[link]["head"] = after
    else:
        links[link]["rest"] = after
    if after >= 0:
        nodes[after]["back"] = back


@compile_inner
def _link_in(node: int, which: int, link: int, links: Links, nodes: Nodes) -> None:
    """Put a flow in a list of a link."""
    here = links[link]
    if which == NOTICED:
        head = here["first"]
        here["first"] = node
    elif which == HELD:
        head = here["head"]
        here["head"] = node
    else:
        head = here["rest"]
        here["rest"] = node
    nodes[node]["after"] = head
    nodes[node]["back"] = -1
    if head >= 0:
        nodes[head]["back"] = node


@compile_inner
def move_in_lists(
    seat: int, hop: int, before: int, now: int, link: int, links: Links, nodes: Nodes, seats: Seats, bits: int
) -> None:
    """A flow whose rate a link sets goes from one list of it to another, `before` to `now` (HELD, NOTICED, ALONE).

    The link is at `hop` of `route_link`. The lowest `bits` bits of a node say which hop of its route it is.
    """
    node = (seat << bits) + hop - seats[seat]["first"]
    _link_out(node, before, link, links, nodes)
    _link_in(node, now, link, links, nodes)


@compile_inner
def _clear_link(link: int, links: Links) -> None:
    """Nothing on a link is noted any longer."""
    here = links[link]
    here["residual"] = here["bandwidth"]
    here["level"] = np.inf
    here["top"] = 0.0


# ---- who waits -----------------------------------------------------------------------------------------------------


@compile_inner
def _find_least_share(link: int, links: Links) -> float:
    """What a link has for each of its flows at least: held back are those that it held back until now, or none."""
    here = links[link]
    # residual / open > bandwidth / count without a division: what other links hold back leaves more than an even
    # share.
    if here["residual"] * here["count"] > here["bandwidth"] * here["open"] and here["open"]:
        return here["residual"] / here["open"]
    return here["bandwidth"] / here["count"]


@compile_inner
def _mark_dirty(link: int, links: Links, heap: Heap, counters: Longs) -> None:
    """What a link has for its flows has changed: it waits for the lowest rate at which they may notice."""
    here = links[link]
    # No flow has its rate from this link, so it matters only where the flows held by others carry more than it has.
    # Sums of rounded rates may be above its bandwidth by as little as _SPILT without that.
    if here["open"] == 0:
        here["level"] = np.inf
        if here["residual"] >= -_SPILT * here["bandwidth"]:
            return
    key = min(here["level"], _find_least_share(link, links))
    if heap[link]["position"] < 0 or key < heap[heap[link]["position"]]["key"]:
        push(heap, counters, DIRTY, key, link)


@compile_inner
def _silence(node: int, link: int, links: Links, nodes: Nodes, heap: Heap, counters: Longs) -> None:
    """A link has one flow, whose bottleneck is no wider: it cannot matter as long as that is so."""
    here = links[link]
    here["quiet"] = 1
    here["open"] = here["loose"] = 0
    here["first"] = -1
    here["head"] = node
    nodes[node]["after"] = nodes[node]["back"] = -1
    _clear_link(link, links)
    if heap[link]["position"] >= 0:
        counters[VISITED] += 1
        drop(heap, counters, DIRTY, link)


# ---- flows come and go ---------------------------------------------------------------------------------------------


@compile_inner
def _give_company(seat: int, seats: Seats, route_link: Ints, links: Links, nodes: Nodes, counters: Longs) -> None:
    """A flow that was alone on its links, with nothing noted there, gets company: its narrowest link is its bottleneck,
    and those that nobody else came to are quiet."""
    s = seats[seat]
    narrow = s["first"]
    for hop in range(s["first"], s["last"]):
        if links[route_link[hop]]["bandwidth"] < links[route_link[narrow]]["bandwidth"]:
            narrow = hop
    s["hop"] = narrow - s["first"]
    # While it was alone `wanted` was the moment since when it flows; from here on it is a rate.
    began, s["next_rate"] = s["next_rate"], s["rate"]
    s["seen"] = 0
    node = seat << counters[BITS]
    for hop in range(s["first"], s["last"]):
        link = links[route_link[hop]]
        if hop != narrow:
            if link["count"] == 1:
                link["quiet"] = 1
            else:
                s["seen"] += 1
                link["residual"] = link["bandwidth"] - s["rate"]
                link["top"] = s["rate"]
        node += 1
    here = route_link[narrow]
    link = links[here]
    link["head"] = -1
    _link_in((seat << counters[BITS]) + narrow - s["first"], NOTICED if s["seen"] else ALONE, here, links, nodes)
    link["open"] = 1
    link["level"] = link["rate"] = s["rate"]
    link["served"], link["since"] = 0.0, began
    link["front"] = link["queued"] = seat
    s["child"] = s["right"] = s["before"] = -1


@compile_inner
def _note_flow(link: int, seats: Seats, route_link: Ints, links: Links, nodes: Nodes, counters: Longs) -> None:
    """A quiet link gets another flow: note what the one that is there takes of it."""
    here, bits = links[link], counters[BITS]
    seat = here["head"] >> bits
    s = seats[seat]
    hop = s["first"] + s["hop"]
    # Nobody kept the rate of a flow that no other link noticed: it was the level of its own link all along.
    if s["seen"] == 0:
        s["next_rate"] = links[route_link[hop]]["level"]
        move_in_lists(seat, hop, ALONE, NOTICED, route_link[hop], links, nodes, seats, bits)
    s["seen"] += 1
    here["quiet"] = 0
    here["residual"] = here["bandwidth"] - s["next_rate"]
    here["top"] = s["next_rate"]


@compile_inner
def _silence_last(
    link: int, seats: Seats, route_link: Ints, links: Links, nodes: Nodes, heap: Heap, counters: Longs
) -> None:
    """A single flow is left on a link, and has its rate from another: hush this one if the other is no wider."""
    bits, node = counters[BITS], links[link]["head"]
    if node < 0:
        return
    seat = node >> bits
    s = seats[seat]
    hop = s["first"] + s["hop"]
    if links[link]["bandwidth"] < links[route_link[hop]]["bandwidth"]:
        return
    _silence(node, link, links, nodes, heap, counters)
    s["seen"] -= 1
    if s["seen"] == 0:
        move_in_lists(seat, hop, NOTICED, ALONE, route_link[hop], links, nodes, seats, bits)


@compile_inner
def _open_up(seat: int, seats: Seats, work: Gates, counters: Longs) -> None:
    """A flow has no rate for now, and gets one in this moment."""
    s = seats[seat]
    if s["state"] == UNCHANGED:
        work[JOINED_FLOWS, counters[TOUCHED]] = seat
        counters[TOUCHED] += 1
    s["state"] = OPEN


@compile_inner
def _join_others(
    seat: int, seats: Seats, route_link: Ints, links: Links, nodes: Nodes, heap: Heap, work: Gates, counters: Longs
) -> None:
    """A flow comes to links where others are."""
    s, bits = seats[seat], counters[BITS]
    first, last = s["first"], s["last"]
    for hop in range(first, last):
        head = links[route_link[hop]]["head"]
        if head >= 0 and seats[head >> bits]["hop"] < 0:
            _give_company(head >> bits, seats, route_link, links, nodes, counters)
        # Until now nobody shared the other flow's links, so it stood in no list there.
        if links[route_link[hop]]["quiet"]:
            _note_flow(route_link[hop], seats, route_link, links, nodes, counters)
    _open_up(seat, seats, work, counters)
    node = seat << bits
    for hop in range(first, last):
        _link_in(node, NOTICED, route_link[hop], links, nodes)
        links[route_link[hop]]["open"] += 1
        node += 1
    # Rates change only after all links know the flow; else a link would be computed twice.
    for hop in range(first, last):
        _mark_dirty(route_link[hop], links, heap, counters)


@compile_inlined
def attach(
    seat: int, seats: Seats, route_link: Ints, links: Links, nodes: Nodes, heap: Heap, work: Gates, counters: Longs
) -> bool:
    """Put a flow on its links; is it alone on all of them? If not, its neighbours need new rates, and so does it."""
    s = seats[seat]
    s["hop"] = -1
    s["state"] = UNCHANGED
    alone = True
    for hop in range(s["first"], s["last"]):
        link = links[route_link[hop]]
        alone = alone and link["count"] == 0
        link["count"] += 1
    # Most transfers of a collective have their links to themselves. They are only put where others will find them, and
    # the search for max-min rates is not entered for them.
    if alone:
        node = seat << counters[BITS]
        for hop in range(s["first"], s["last"]):
            nodes[node]["after"] = nodes[node]["back"] = -1
            links[route_link[hop]]["head"] = node
            node += 1
    else:
        _join_others(seat, seats, route_link, links, nodes, heap, work, counters)
    return alone


@compile_inner
def _leave_others(
    seat: int, seats: Seats, route_link: Ints, links: Links, nodes: Nodes, heap: Heap, counters: Longs
) -> None:
    """A flow leaves links where others are, or were."""
    s = seats[seat]
    node = seat << counters[BITS]
    for hop in range(s["last"] - s["first"]):
        here = route_link[s["first"] + hop]
        link = links[here]
        link["count"] -= 1
        # A quiet link knows of one flow only, the one that leaves.
        if link["quiet"]:
            link["head"] = -1
            link["quiet"] = 0
        elif hop == s["hop"]:
            _link_out(node, NOTICED if s["seen"] else ALONE, here, links, nodes)
            link["open"] -= 1
        else:
            # The flow took its rate from another link: that rate is free here now.
            _link_out(node, HELD, here, links, nodes)
            link["residual"] += s["next_rate"]
        if link["count"] == 0:
            _clear_link(here, links)
        else:
            _mark_dirty(here, links, heap, counters)
            if link["count"] == 1 and link["open"] == 0:
                _silence_last(here, seats, route_link, links, nodes, heap, counters)
        node += 1


@compile_inlined
def detach(seat: int, seats: Seats, route_link: Ints, links: Links, nodes: Nodes, heap: Heap, counters: Longs) -> None:
    """Take a flow off its links; those that shared one with it need new rates."""
    s = seats[seat]
    if s["hop"] < 0:
        for hop in range(s["first"], s["last"]):
            links[route_link[hop]]["head"] = -1
            links[route_link[hop]]["count"] = 0
    else:
        _leave_others(seat, seats, route_link, links, nodes, heap, counters)


# ---- filling -------------------------------------------------------------------------------------------------------


@compile_inner
def _release(
    here: int, route_link: Ints, links: Links, nodes: Nodes, seats: Seats, heap: Heap, work: Gates, counters: Longs
) -> None:
    """A link has more for its flows than it had: none of them holds its old rate any longer, on any link. They stay in
    the lists where they are: nearly all get their new rate from the same link."""
    node = links[here]["first"]
    bits = counters[BITS]
    links[here]["level"] = np.inf
    while node >= 0:
        # The next entry is read before this one moves to another list.
        seat, after = node >> bits, nodes[node]["after"]
        s = seats[seat]
        fetch(seats, after >> bits)
        if s["state"] == UNCHANGED:
            for hop in range(s["first"], s["last"]):
                fetch(links, route_link[hop])
                fetch(heap, route_link[hop])
            _open_up(seat, seats, work, counters)
            other = seat << bits
            for hop in range(s["first"], s["last"]):
                link = links[route_link[hop]]
                # The link that gives more already counts the flow as its own; the others have to forget its old rate.
                if other != node and link["quiet"] == 0:
                    link["residual"] += s["next_rate"]
                    link["open"] += 1
                    link["loose"] += 1
                    _mark_dirty(route_link[hop], links, heap, counters)
                other += 1
        node = after


@compile_inner
def hold(
    node: int,
    noticed: bool,
    unchanged: bool,
    here: int,
    share: float,
    before: float,
    links: Links,
    nodes: Nodes,
    heap: Heap,
    counters: Longs,
) -> None:
    """A flow on this link has its rate, `share`, from another; until now it was one of its own, or had `before` B/s, or
    was loose.

    `noticed`: it moves from the link's own flows, or from being alone, to those held back. `unchanged`: the link still
    counts it with the rate `before`.
    """
    link = links[here]
    link["top"] = max(link["top"], share)
    if noticed:
        _link_out(node, NOTICED, here, links, nodes)
        _link_in(node, HELD, here, links, nodes)
    elif unchanged:
        link["residual"] += before - share
    else:
        link["loose"] -= 1
    if noticed or not unchanged:
        link["open"] -= 1
        link["residual"] -= share
    if unchanged:
        _mark_dirty(here, links, heap, counters)
    elif link["open"] == 0 and link["residual"] >= 0.0 and heap[here]["position"] >= 0:  # nobody there waits for a rate
        # A link without flows of its own needs no level; it leaves the queue of links to compute.
        link["level"] = np.inf
        counters[VISITED] += 1
        drop(heap, counters, DIRTY, here)


@compile_inner
def fix(
    seat: int,
    node: int,
    t: float,
    share: float,
    route_link: Ints,
    links: Links,
    nodes: Nodes,
    seats: Seats,
    queue: Heap,
    heap: Heap,
    work: Gates,
    counters: Longs,
) -> None:
    """A flow has its rate from the link where it is this node; on its others it leaves the rest."""
    s, bits = seats[seat], counters[BITS]
    unchanged, first, before = s["state"] == UNCHANGED, s["first"], s["hop"]
    now = node & ((1 << bits) - 1)
    here = route_link[first + now]
    for i in range(first, s["last"]):
        fetch(links, route_link[i])
        fetch(heap, route_link[i])
    width, seen = links[here]["bandwidth"], 0
    other = seat << bits
    for i in range(s["last"] - first):
        there = route_link[first + i]
        link = links[there]
        if i == now or link["quiet"]:
            pass
        elif link["count"] == 1 and link["bandwidth"] >= width:
            _silence(other, there, links, nodes, heap, counters)
        else:
            hold(
                other, before < 0 or i == before, unchanged, there, share, s["next_rate"], links, nodes, heap, counters
            )
            seen += 1
        other += 1
    if before >= 0 and before != now:
        _link_out(node, HELD, here, links, nodes)
        if unchanged:
            links[here]["residual"] += s["next_rate"]
            links[here]["open"] += 1
        else:
            links[here]["loose"] -= 1
        _link_in(node, NOTICED if seen else ALONE, here, links, nodes)
    elif seen == 0:
        move_in_lists(seat, first + now, NOTICED, ALONE, here, links, nodes, seats, bits)
    if before != now:
        # A new flow's mark is its bytes; of one that had a rate, only its group knows how many are left.
        left = s["mark"]
        if before >= 0:
            left = leave(seat, route_link[first + before], t, links, seats, queue, work, counters)
        enter(seat, here, left, t, links, seats, work, counters)
    if unchanged:
        _open_up(seat, seats, work, counters)
    s["state"] = FIXED
    s["next_rate"] = share
    s["hop"] = now
    s["seen"] = seen


@compile_inner
def _find_exact_share(here: int, share: float, links: Links, nodes: Nodes, seats: Seats, counters: Longs) -> float:
    """What a link has for each of its flows where those with an old rate above that are held to it: never less than
    `share`, and found from below."""
    link = links[here]
    while True:
        residual, many, top = link["residual"], link["open"], 0.0
        node = link["head"]
        while node >= 0:
            s = seats[node >> counters[BITS]]
            node = nodes[node]["after"]
            fetch(seats, node >> counters[BITS])
            if s["state"] != OPEN:
                top = max(top, s["next_rate"])
            # A flow whose old rate is above the share counts as open. Taking it in raises the share, since it gives
            # back more than it gets, so the loop ends.
            if s["state"] == UNCHANGED and s["next_rate"] > share * _ABOVE:
                residual += s["next_rate"]
                many += 1
        link["top"] = top
        if residual <= share * many * _NEAR:
            return share
        share = residual / many


@compile_inner
def fill(
    here: int,
    t: float,
    share: float,
    route_link: Ints,
    links: Links,
    nodes: Nodes,
    seats: Seats,
    queue: Heap,
    heap: Heap,
    work: Gates,
    counters: Longs,
) -> None:
    """A link is full: all its flows without a rate, and those with an old one above `share`, have this one."""
    link, bits = links[here], counters[BITS]
    # Where the level is as it was, flows that have it already are not touched: there may be thousands of them.
    same = abs(share - link["level"]) <= SAME * share
    if link["loose"] or link["top"] > share * _ABOVE:
        node = link["head"]
        while node >= 0:
            seat, after = node >> bits, nodes[node]["after"]
            fetch(seats, after >> bits)
            state = seats[seat]["state"]
            if state == OPEN or (state == UNCHANGED and seats[seat]["next_rate"] > share * _ABOVE):
                fix(seat, node, t, share, route_link, links, nodes, seats, queue, heap, work, counters)
            node = after
    node = link["first"]
    while node >= 0:
        seat, after = node >> bits, nodes[node]["after"]
        fetch(seats, after >> bits)
        state = seats[seat]["state"]
        if state == OPEN or (state == UNCHANGED and not same):
            fix(seat, node, t, share, route_link, links, nodes, seats, queue, heap, work, counters)
        node = after
    if not same:
        link["level"] = share
        change(here, t, links, work, counters)


@compile_inner
def share_out(
    t: float,
    route_link: Ints,
    links: Links,
    nodes: Nodes,
    seats: Seats,
    queue: Heap,
    heap: Heap,
    work: Gates,
    counters: Longs,
) -> None:
    """Go through the links that wait, the lowest rate first, until every flow has its max-min fair rate."""
    level = 0.0
    while counters[DIRTY] > 0:
        here, key = heap[0]["item"], heap[0]["key"]
        link = links[here]
        counters[VISITED] += 1
        if link["open"] == 0:
            link["level"] = np.inf
            if link["count"] == 0 or link["residual"] >= -_SPILT * link["bandwidth"]:
                drop(heap, counters, DIRTY, here)
                continue
        # Rates are given from below: what is given now cannot be less than what was given before. Rounding must not
        # turn that round, or a link would never stop waiting.
        level = max(level, key)
        share = max(level, _find_least_share(here, links))
        if min(link["level"], share) <= key * _NEAR and link["top"] > share * _ABOVE:
            share = _find_exact_share(here, share, links, nodes, seats, counters)
        if min(link["level"], share) > key * _NEAR:  # not yet
            push(heap, counters, DIRTY, min(link["level"], share), here)
        # Flows that have the old level here may have more now, and whether they can is for all their links to say.
        elif share > link["level"] * (1 + SAME):
            _release(here, route_link, links, nodes, seats, heap, work, counters)
        else:
            drop(heap, counters, DIRTY, here)
            fill(here, t, share, route_link, links, nodes, seats, queue, heap, work, counters)
    for i in range(counters[TOUCHED]):
        seats[work[JOINED_FLOWS, i]]["state"] = UNCHANGED
    counters[VISITED] += counters[TOUCHED]
    counters[TOUCHED] = 0
