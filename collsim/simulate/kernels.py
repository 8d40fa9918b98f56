"""The loops of the event engine: numba compiles them where it is there, plain Python runs the same source where it is not.

Not imported before the event engine first runs. All of them are in this one file because numba's cache looks at the age of one
file only, and a stale kernel would be worse than a long file. Their rules are in the docstring of `event`.

Two ways through a schedule:

- `in_order` walks the transfers in program order, once, and stops where that order is not provably the order of events.
- `build` and `advance` run a queue of events over gates: a gate is a group of transfers that others wait for.

A row is a transfer in program order; a route is a pair of endpoints; a seat is the place of a transfer under way. Everything is in
arrays of records, few enough to be handed around: a compiled function pays for each array it is given.
"""

# mypy: disable-error-code="no-any-return"

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

F = TypeVar("F", bound=Callable[..., Any])
Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]

try:
    import numba

    COMPILED = True
except ImportError:  # a browser: the same source, slower
    COMPILED = False


def compiled(function: F) -> F:
    """numba's compilation, cached on disk where some directory can be written.

    Without numba's reference counts (`_nrt`): no kernel makes an array, and counting, atomically at every call, took two thirds of
    the time.
    """
    if not COMPILED:
        return function
    try:
        made: Any = numba.njit(cache=True, nogil=True, _nrt=False)(function)  # type: ignore[call-overload]
    except RuntimeError:  # no directory for the cache
        made = numba.njit(nogil=True, _nrt=False)(function)  # type: ignore[call-overload]
    return made  # type: ignore[no-any-return]


NONE, FAIR, FIFO = 0, 1, 2  # how links are shared
TOGETHER = 1e-12  # ends that are this close, relative to the clock, are one moment

#: A transfer: s, s, bytes, its route, and 1 where it reduces.
ROW = np.dtype([("start", "f8"), ("finish", "f8"), ("nbytes", "f8"), ("route", "i4"), ("reduce", "i4")])

#: A route: its links are `route_link[first:last]`; s, B/s of its slowest link, when its endpoints have joined, the device that reduces.
ROUTE = np.dtype([("first", "i8"), ("last", "i8"), ("latency", "f8"), ("narrow", "f8"), ("ready", "f8"), ("unit", "i8")])

#: A link: B/s, s; when it is free and when somebody last came to it (fifo, program order); B/s left and flows without a rate
#: (max-min solution); the round of its last visit; its first flow and how many there are; whether its flows need new rates.
LINK = np.dtype(
    [
        ("bandwidth", "f8"),
        ("alpha", "f8"),
        ("free", "f8"),
        ("last", "f8"),
        ("room", "f8"),
        ("seen", "i8"),
        ("head", "i4"),
        ("count", "i4"),
        ("open", "i4"),
        ("dirty", "i4"),
    ]
)

#: A device that reduces: when it is free, and when something last arrived.
UNIT = np.dtype([("free", "f8"), ("last", "f8")])

#: A row of a pattern: its route, queues, the places of its endpoints' slots, slots read and written, and 1 where it reduces.
PART = np.dtype(
    [
        ("home", "i8"),
        ("goal", "i8"),
        ("route", "i4"),
        ("send", "i4"),
        ("receive", "i4"),
        ("chunk", "i4"),
        ("into", "i4"),
        ("reduce", "i4"),
    ]
)

#: A transfer under way: bytes left, B/s, since when, planned end, rate to come; twice the round of its last visit, and one more when it
#: has its rate; row; what comes next; place in the queue (-1: none); its links are `route_link[first:last]` (fifo: those still to
#: cross). 64 bytes, and no need to look up its route: the max-min solution does little else than read seats.
SEAT = np.dtype(
    [
        ("left", "f8"),
        ("rate", "f8"),
        ("since", "f8"),
        ("end", "f8"),
        ("wanted", "f8"),
        ("seen", "i4"),
        ("row", "i4"),
        ("next", "i4"),
        ("place", "i4"),
        ("first", "i4"),
        ("last", "i4"),
    ]
)
WAITS, BEGINS, FLOWS, ARRIVES, REDUCES = 1, 2, 3, 4, 5  # what the next event of a seat is

#: The flows over a link, a doubly linked list of nodes `seat * most hops + hop`.
NODE = np.dtype([("after", "i4"), ("back", "i4")])
QUEUE = np.dtype([("time", "f8"), ("seat", "i8")])
HEAP = np.dtype([("key", "f8"), ("link", "i8")])

#: Changes of rate: s, B/s (fifo: the link), row.
LOG = np.dtype([("time", "f8"), ("value", "f8"), ("row", "i8")])

#: Counters: length of the queue, rows done, free seats, dirty links, visits, length of the log, flows and links visited in this slice.
SIZE, DONE, SPARE, DIRTY, ROUND, LOGGED, VISITED = 0, 1, 2, 3, 4, 5, 6
_VISITS = 5  # so many a transfer, and a slice is over: where thousands of flows share, a transfer changes the rates of all
FREE_SEATS, BATCH, ARRIVED, READY, COMPANY, CABLES, FOUND, SOILED = 0, 1, 2, 3, 4, 5, 6, 7  # rows of the work space
LEAD, MATE, LEFT, BEHIND, READERS, FELLOW = 0, 1, 2, 3, 4, 5  # columns of a gate: see `build`


@compiled
def shifted(slot: int, k: int, shift: int, modulus: int) -> int:
    """Slot of repetition k of a pattern (schedule.Step.at)."""
    if shift == 0:
        return slot
    offset = slot % modulus
    return slot - offset + (offset + k * shift) % modulus


@compiled
def lay_out(part: Array, shift: int, modulus: int, times: int, row: int, sizes: Floats, rows: Array) -> None:
    """Write all repetitions of a pattern into the table of rows."""
    for k in range(times):
        for i in range(len(part)):
            rows[row]["route"] = part[i]["route"]
            rows[row]["nbytes"] = sizes[shifted(part[i]["chunk"], k, shift, modulus)]
            rows[row]["reduce"] = part[i]["reduce"]
            row += 1


@compiled
def carried(rows: Array, first: int, last: int, routes: Array, route_link: Ints, out: Floats) -> None:
    """Add the bytes that rows first..last-1 put on each link to `out`."""
    for row in range(first, last):
        route = rows[row]["route"]
        for hop in range(routes[route]["first"], routes[route]["last"]):
            out[route_link[hop]] += rows[row]["nbytes"]


# ---- program order -----------------------------------------------------------------------------------------------------------


@compiled
def cross_in_order(
    at: float, size: float, extra: float, overhead: float, sharing: int, route: int, routes: Array, route_link: Ints, links: Array
) -> float:
    """When a transfer that starts at `at` has arrived; -1 where an earlier row may still come between."""
    first, last = routes[route]["first"], routes[route]["last"]
    if first == last:  # a local copy
        return at
    if sharing == FIFO:
        at += overhead + extra
        for hop in range(first, last):
            link = route_link[hop]
            if at < links[link]["last"]:
                return -1.0
            links[link]["last"] = at
            at = max(at, links[link]["free"]) + size / links[link]["bandwidth"]
            links[link]["free"] = at
            at += links[link]["alpha"]
        return at
    at += routes[route]["latency"] + extra
    if size == 0.0:
        return at
    end = at + size / routes[route]["narrow"]
    if sharing == FAIR:
        for hop in range(first, last):
            if at < links[route_link[hop]]["free"]:
                return -1.0
        for hop in range(first, last):
            links[route_link[hop]]["free"] = end
    return end


@compiled
def reduce_in_order(at: float, size: float, gamma: float, unit: int, units: Array) -> float:
    """When the device has added what arrived at `at`; -1 where an earlier row may still come between."""
    if at < units[unit]["last"]:
        return -1.0
    units[unit]["last"] = at
    at = max(at, units[unit]["free"]) + size / gamma
    units[unit]["free"] = at
    return at


@compiled
def in_order(
    part: Array,
    shift: int,
    modulus: int,
    first: int,
    last: int,
    row: int,
    sharing: int,
    gamma: float,
    overhead: float,
    rows: Array,
    delay: Floats,
    routes: Array,
    route_link: Ints,
    links: Array,
    units: Array,
    sent: Floats,
    received: Floats,
    written: Floats,
    before_start: Longs,
    before: Ints,
) -> bool:
    """Times of repetitions first..last-1 of a pattern; False where program order is not the order of events.

    `sent`, `received`, `written`: when all rows so far of each send queue, receive queue and slot are done.
    """
    m = len(part)
    explicit = len(before_start) > 0
    for k in range(first, last):
        for i in range(m):  # all transfers of a step look at what was there before it
            me = row + i
            at = written[part[i]["home"] + shifted(part[i]["chunk"], k, shift, modulus)]
            if explicit:
                for e in range(before_start[me], before_start[me + 1]):
                    at = max(at, rows[before[e]]["finish"])
            else:
                at = max(at, sent[part[i]["send"]], received[part[i]["receive"]])
            route = part[i]["route"]
            at = max(at, routes[route]["ready"])
            rows[me]["start"] = at
            size = rows[me]["nbytes"]
            extra = delay[me] if len(delay) else 0.0
            end = cross_in_order(at, size, extra, overhead, sharing, route, routes, route_link, links)
            if end >= 0.0 and gamma > 0.0 and part[i]["reduce"]:
                end = reduce_in_order(end, size, gamma, routes[route]["unit"], units)
            if end < 0.0:
                return False
            rows[me]["finish"] = end
        for i in range(m):
            end = rows[row + i]["finish"]
            slot = part[i]["goal"] + shifted(part[i]["into"], k, shift, modulus)
            written[slot] = max(written[slot], end)
            if not explicit:
                sent[part[i]["send"]] = max(sent[part[i]["send"]], end)
                received[part[i]["receive"]] = max(received[part[i]["receive"]], end)
        row += m
    return True


# ---- gates -------------------------------------------------------------------------------------------------------------------


@compiled
def join(gate: Ints, row: int, begin: int, key: int, newest: Ints, before: Ints) -> int:
    """Put a row in the newest group of its queue, or open one behind it; the group it has to wait for, -1 for none."""
    lead = newest[key]
    if lead < begin:  # no row of this step yet
        before[key] = lead
        newest[key] = row
        gate[row, LEAD] = row
        gate[row, MATE] = -1
        gate[row, LEFT] = 1
        gate[row, BEHIND] = -1
        if lead >= 0:
            gate[lead, BEHIND] = row
        return lead
    gate[row, LEAD] = lead
    gate[row, MATE] = gate[lead, MATE]
    gate[lead, MATE] = row
    gate[lead, LEFT] += 1
    return before[key]


@compiled
def build(
    part: Array,
    shift: int,
    modulus: int,
    first: int,
    last: int,
    row: int,
    pending: Ints,
    sends: Ints,
    receives: Ints,
    writes: Ints,
    queues: Ints,
    newest_write: Ints,
) -> None:
    """Hang repetitions first..last-1 of a pattern behind the gates they wait for.

    A group is the rows of one step in one queue (sends of an endpoint on a channel, receives, writes of a slot); its first row stands
    for it. Columns: LEAD the first row of the row's group; of that row, MATE the next in the group, LEFT how many are not done,
    BEHIND the group behind; for writes READERS the first row that reads what they wrote, FELLOW of that row the next reader.
    `pending` counts the gates of each row. `queues`: newest send group, the one before, receives alike, largest send group.
    Explicit dependencies: `sends` is empty.
    """
    m = len(part)
    for k in range(first, last):
        for i in range(m):
            me = row + i
            waits = 0
            source = newest_write[part[i]["home"] + shifted(part[i]["chunk"], k, shift, modulus)]
            writes[me, READERS] = -1
            writes[me, FELLOW] = -1
            if source >= 0:
                waits += 1
                writes[me, FELLOW] = writes[source, READERS]
                writes[source, READERS] = me
            if len(sends):
                key = part[i]["send"]
                waits += join(sends, me, row, key, queues[0], queues[1]) >= 0
                waits += join(receives, me, row, part[i]["receive"], queues[2], queues[3]) >= 0
                queues[4, key] = max(queues[4, key], sends[sends[me, LEAD], LEFT])
            pending[me] = waits
        for i in range(m):
            me = row + i
            slot = part[i]["goal"] + shifted(part[i]["into"], k, shift, modulus)
            lead = newest_write[slot]
            if lead >= row:
                writes[me, LEAD] = lead
                writes[lead, LEFT] += 1
                continue
            newest_write[slot] = me
            writes[me, LEAD] = me
            writes[me, LEFT] = 1
            writes[me, BEHIND] = -1
            if lead >= 0:
                writes[lead, BEHIND] = me
                writes[me, LEFT] += 1
        row += m


@compiled
def open_gate(gate: Ints, row: int, pending: Ints, ready: Ints, n: int) -> int:
    """One row of a group is done; after the last of them, rows of the group behind that wait for nothing else are ready."""
    lead = gate[row, LEAD]
    gate[lead, LEFT] -= 1
    if gate[lead, LEFT] == 0:
        member = gate[lead, BEHIND]
        while member >= 0:
            pending[member] -= 1
            if pending[member] == 0:
                ready[n] = member
                n += 1
            member = gate[member, MATE]
    return n


@compiled
def open_writes(writes: Ints, row: int, pending: Ints, ready: Ints, n: int) -> int:
    """What a group of writers wrote may be read when they and all writers before them are done."""
    group = writes[row, LEAD]
    writes[group, LEFT] -= 1
    while group >= 0 and writes[group, LEFT] == 0:
        reader = writes[group, READERS]
        while reader >= 0:
            pending[reader] -= 1
            if pending[reader] == 0:
                ready[n] = reader
                n += 1
            reader = writes[reader, FELLOW]
        group = writes[group, BEHIND]
        if group >= 0:
            writes[group, LEFT] -= 1
    return n


# ---- the queue of events: a heap of seats by the time of their next event; four below each, which lie in one line of the cache -------


@compiled
def rise(queue: Array, seats: Array, i: int, time: float, seat: int) -> None:
    while i > 0:
        up = (i - 1) >> 2
        if queue[up]["time"] <= time:
            break
        queue[i]["time"] = queue[up]["time"]
        moved = queue[up]["seat"]
        queue[i]["seat"] = moved
        seats[moved]["place"] = i
        i = up
    queue[i]["time"] = time
    queue[i]["seat"] = seat
    seats[seat]["place"] = i


@compiled
def sink(queue: Array, seats: Array, n: int, i: int, time: float, seat: int) -> None:
    while True:
        first = 4 * i + 1
        if first >= n:
            break
        down, least = first, queue[first]["time"]
        for other in range(first + 1, min(first + 4, n)):
            if queue[other]["time"] < least:
                down, least = other, queue[other]["time"]
        if least >= time:
            break
        queue[i]["time"] = least
        moved = queue[down]["seat"]
        queue[i]["seat"] = moved
        seats[moved]["place"] = i
        i = down
    queue[i]["time"] = time
    queue[i]["seat"] = seat
    seats[seat]["place"] = i


@compiled
def push(queue: Array, seats: Array, counters: Longs, time: float, seat: int) -> None:
    """Set the time of a seat's next event."""
    i = seats[seat]["place"]
    if i < 0:
        i = counters[SIZE]
        counters[SIZE] += 1
        rise(queue, seats, i, time, seat)
    elif time < queue[i]["time"]:
        rise(queue, seats, i, time, seat)
    else:
        sink(queue, seats, counters[SIZE], i, time, seat)


@compiled
def drop(queue: Array, seats: Array, counters: Longs, seat: int) -> None:
    """Take a seat out of the queue, wherever it is."""
    i = seats[seat]["place"]
    if i < 0:
        return
    seats[seat]["place"] = -1
    counters[SIZE] -= 1
    n = counters[SIZE]
    if i < n:
        time, moved = queue[n]["time"], queue[n]["seat"]
        if i > 0 and queue[(i - 1) >> 2]["time"] > time:
            rise(queue, seats, i, time, moved)
        else:
            sink(queue, seats, n, i, time, moved)


@compiled
def by_row(batch: Ints, n: int, seats: Array) -> None:
    """Put events of one moment in the order of their rows (Shell sort)."""
    gap = 1
    while gap < n:
        gap = gap * 9 // 4 + 1
    while gap > 0:
        for i in range(gap, n):
            seat = batch[i]
            row = seats[seat]["row"]
            j = i
            while j >= gap and seats[batch[j - gap]]["row"] > row:
                batch[j] = batch[j - gap]
                j -= gap
            batch[j] = seat
        gap = gap * 4 // 9


# ---- flows on links ----------------------------------------------------------------------------------------------------------


@compiled
def note(log: Array, counters: Longs, row: int, t: float, value: float) -> None:
    if len(log):
        i = counters[LOGGED]
        log[i]["row"] = row
        log[i]["time"] = t
        log[i]["value"] = value
        counters[LOGGED] = i + 1


@compiled
def soil(links: Array, work: Ints, counters: Longs, floor: Floats, link: int, level: float) -> None:
    """Flows over this link need new rates, as far as they are not below `level`."""
    floor[0] = min(floor[0], level)
    if not links[link]["dirty"]:
        links[link]["dirty"] = 1
        work[SOILED, counters[DIRTY]] = link
        counters[DIRTY] += 1


@compiled
def attach(seat: int, seats: Array, route_link: Ints, links: Array, nodes: Array, work: Ints, counters: Longs, floor: Floats) -> bool:
    """Put a flow on its links; is it alone on all of them? If not, its neighbours need new rates, and so does it."""
    hops = nodes.shape[1]
    first, last = seats[seat]["first"], seats[seat]["last"]
    alone = True
    for hop in range(last - first):
        link = route_link[first + hop]
        node = seat * hops + hop
        head = links[link]["head"]
        nodes[seat, hop]["after"] = head
        nodes[seat, hop]["back"] = -1
        if head >= 0:
            nodes[head // hops, head % hops]["back"] = node
        links[link]["head"] = node
        if links[link]["count"]:
            alone = False
        links[link]["count"] += 1
    if not alone:
        for hop in range(first, last):
            link = route_link[hop]
            soil(links, work, counters, floor, link, links[link]["bandwidth"] / links[link]["count"])
    return alone


@compiled
def detach(seat: int, seats: Array, route_link: Ints, links: Array, nodes: Array, work: Ints, counters: Longs, floor: Floats) -> None:
    """Take a flow off its links; those that shared one with it need new rates."""
    hops = nodes.shape[1]
    first, last = seats[seat]["first"], seats[seat]["last"]
    for hop in range(last - first):
        link = route_link[first + hop]
        after, back = nodes[seat, hop]["after"], nodes[seat, hop]["back"]
        if back >= 0:
            nodes[back // hops, back % hops]["after"] = after
        else:
            links[link]["head"] = after
        if after >= 0:
            nodes[after // hops, after % hops]["back"] = back
        links[link]["count"] -= 1
        if links[link]["count"]:
            soil(links, work, counters, floor, link, seats[seat]["rate"])


# ---- max-min fairness --------------------------------------------------------------------------------------------------------


@compiled
def visit(
    route_link: Ints,
    links: Array,
    nodes: Array,
    seats: Array,
    work: Ints,
    counters: Longs,
    level: float,
    found: Ints,
) -> None:
    """Find the flows that dirty links are joined to, and their links: COMPANY, CABLES, and how many of each in `found`.

    Rates below `level` stay: filling all links together, nothing that changed is full before. A flow that ended held its rate from its
    fullest link, and a link that one more flow is on is not full before all its flows have bandwidth/count. So flows below are
    not visited; what they take is taken from their links' room.
    """
    counters[ROUND] += 1
    now = counters[ROUND]
    hops = nodes.shape[1]
    cables, company = work[CABLES], work[COMPANY]
    many = flows = 0
    for d in range(counters[DIRTY]):
        link = work[SOILED, d]
        links[link]["dirty"] = 0
        if links[link]["count"]:
            links[link]["seen"] = now
            cables[many] = link
            many += 1
    at = 0
    while at < many:
        here = cables[at]
        at += 1
        room, open_ = links[here]["bandwidth"], 0
        node = links[here]["head"]
        while node >= 0:
            seat = node // hops
            node = nodes[seat, node % hops]["after"]
            rate = seats[seat]["rate"]
            if 0.0 < rate < level:
                room -= rate
                continue
            open_ += 1
            if seats[seat]["seen"] == 2 * now:
                continue
            seats[seat]["seen"] = 2 * now
            company[flows] = seat
            flows += 1
            for hop in range(seats[seat]["first"], seats[seat]["last"]):
                link = route_link[hop]
                if links[link]["seen"] != now:
                    links[link]["seen"] = now
                    cables[many] = link
                    many += 1
        links[here]["room"] = room
        links[here]["open"] = open_
    found[0] = many
    found[1] = flows


@compiled
def heap_sink(heap: Array, n: int, i: int, key: float, link: int) -> None:
    """Put a link in place i and let it sink to where it belongs."""
    while True:
        down = 2 * i + 1
        if down >= n:
            break
        if down + 1 < n and heap[down + 1]["key"] < heap[down]["key"]:
            down += 1
        if heap[down]["key"] >= key:
            break
        heap[i]["key"] = heap[down]["key"]
        heap[i]["link"] = heap[down]["link"]
        i = down
    heap[i]["key"] = key
    heap[i]["link"] = link


@compiled
def share_out(
    cables: Ints,
    now: int,
    least: float,
    route_link: Ints,
    links: Array,
    nodes: Array,
    seats: Array,
    heap: Array,
) -> None:
    """Max-min fair rates (Bertsekas & Gallager 1992, section 6.5.2): the link with the least for each of its flows sets their rate,
    then the next. What a link has for each only grows as others get their rates, so a heap with old keys is good enough."""
    hops = nodes.shape[1]
    n = 0
    for i in range(len(cables)):
        link = cables[i]
        if links[link]["open"]:
            heap[n]["key"] = links[link]["room"] / links[link]["open"]
            heap[n]["link"] = link
            n += 1
    for i in range(n // 2 - 1, -1, -1):
        heap_sink(heap, n, i, heap[i]["key"], heap[i]["link"])
    level = least
    while n > 0:
        link = heap[0]["link"]
        if links[link]["open"] > 0:
            share = max(level, links[link]["room"] / links[link]["open"])
            if share > heap[0]["key"] * (1 + 1e-14):
                heap_sink(heap, n, 0, share, link)
                if heap[0]["link"] != link:
                    continue
            level = share
            node = links[link]["head"]
            while node >= 0:
                seat = node // hops
                node = nodes[seat, node % hops]["after"]
                if seats[seat]["seen"] != 2 * now:
                    continue
                seats[seat]["seen"] = 2 * now + 1
                seats[seat]["wanted"] = share
                for hop in range(seats[seat]["first"], seats[seat]["last"]):
                    links[route_link[hop]]["room"] -= share
                    links[route_link[hop]]["open"] -= 1
        n -= 1
        if n > 0:
            heap_sink(heap, n, 0, heap[n]["key"], heap[n]["link"])


@compiled
def set_rates(flows: Ints, t: float, queue: Array, seats: Array, counters: Longs, log: Array) -> None:
    """Give flows their new rates, and the queue their new ends: one by one, or where they are many all at once."""
    many = 8 * len(flows) > counters[SIZE]
    for seat in flows:
        old, new = seats[seat]["rate"], seats[seat]["wanted"]
        if abs(new - old) <= 1e-13 * old:
            continue
        left = max(0.0, seats[seat]["left"] - old * (t - seats[seat]["since"]))
        seats[seat]["left"] = left
        seats[seat]["since"] = t
        seats[seat]["rate"] = new
        end = t + left / new
        seats[seat]["end"] = end
        note(log, counters, seats[seat]["row"], t, new)
        if not many:
            push(queue, seats, counters, end, seat)
            continue
        if seats[seat]["place"] < 0:
            seats[seat]["place"] = counters[SIZE]
            queue[counters[SIZE]]["seat"] = seat
            counters[SIZE] += 1
        queue[seats[seat]["place"]]["time"] = end
    if many:
        n = counters[SIZE]
        for i in range((n - 2) >> 2, -1, -1):
            sink(queue, seats, n, i, queue[i]["time"], queue[i]["seat"])


@compiled
def settle(
    done: int,
    t: float,
    route_link: Ints,
    links: Array,
    nodes: Array,
    seats: Array,
    queue: Array,
    heap: Array,
    work: Ints,
    counters: Longs,
    floor: Floats,
    log: Array,
) -> int:
    """All events of this moment are over: end the flows that end with them (how many; put into ARRIVED after the first `done`), or
    else give new rates to all that are joined to a dirty link."""
    level = floor[0] * (1 - 1e-9)
    found = work[FOUND]
    visit(route_link, links, nodes, seats, work, counters, level, found)
    floor[0] = np.inf
    counters[DIRTY] = 0
    counters[VISITED] += found[0] + found[1]
    company = work[COMPANY]
    ended = 0
    for i in range(found[1]):
        if seats[company[i]]["end"] <= t * (1 + TOGETHER):
            work[ARRIVED, done + ended] = company[i]
            ended += 1
    if ended == 0:
        share_out(work[CABLES, : found[0]], counters[ROUND], level, route_link, links, nodes, seats, heap)
        set_rates(company[: found[1]], t, queue, seats, counters, log)
        return 0
    for i in range(found[0]):  # they are still dirty
        soil(links, work, counters, floor, work[CABLES, i], level)
    for i in range(done, done + ended):
        seat = work[ARRIVED, i]
        drop(queue, seats, counters, seat)
        detach(seat, seats, route_link, links, nodes, work, counters, floor)
        note(log, counters, seats[seat]["row"], t, 0.0)
    return ended


# ---- a moment ----------------------------------------------------------------------------------------------------------------


@compiled
def happen(
    n: int,
    t: float,
    sharing: int,
    overhead: float,
    rows: Array,
    delay: Floats,
    routes: Array,
    route_link: Ints,
    links: Array,
    nodes: Array,
    seats: Array,
    queue: Array,
    work: Ints,
    counters: Longs,
    floor: Floats,
    log: Array,
) -> int:
    """Handle the n seats of BATCH, whose moment it is; how many have arrived, or been reduced (they are in ARRIVED)."""
    arrived = 0
    for b in range(n):
        seat = work[BATCH, b]
        what = seats[seat]["next"]
        row = seats[seat]["row"]
        if what == WAITS:
            set_off(seat, t, sharing, overhead, rows, delay, routes, seats, queue, counters)
        elif what >= ARRIVES:
            work[ARRIVED, arrived] = seat
            arrived += 1
        elif what == FLOWS:
            detach(seat, seats, route_link, links, nodes, work, counters, floor)
            note(log, counters, row, t, 0.0)
            seats[seat]["next"] = ARRIVES
            work[ARRIVED, arrived] = seat
            arrived += 1
        elif sharing == FIFO:
            link = route_link[seats[seat]["first"]]
            begin = max(t, links[link]["free"])
            end = begin + rows[row]["nbytes"] / links[link]["bandwidth"]
            links[link]["free"] = end
            if rows[row]["nbytes"] > 0.0:
                note(log, counters, row, begin, link)
            seats[seat]["first"] += 1
            if seats[seat]["first"] == seats[seat]["last"]:
                seats[seat]["next"] = ARRIVES
            push(queue, seats, counters, end + links[link]["alpha"], seat)
        elif sharing == NONE:
            seats[seat]["next"] = ARRIVES
            push(queue, seats, counters, t + rows[row]["nbytes"] / routes[rows[row]["route"]]["narrow"], seat)
        else:
            seats[seat]["next"] = FLOWS
            seats[seat]["left"] = rows[row]["nbytes"]
            seats[seat]["since"] = t
            seats[seat]["rate"] = 0.0
            seats[seat]["end"] = np.inf
            if attach(seat, seats, route_link, links, nodes, work, counters, floor):
                rate = routes[rows[row]["route"]]["narrow"]
                seats[seat]["rate"] = rate
                seats[seat]["end"] = t + rows[row]["nbytes"] / rate
                push(queue, seats, counters, seats[seat]["end"], seat)
                note(log, counters, row, t, rate)
    return arrived


@compiled
def set_off(
    seat: int,
    t: float,
    sharing: int,
    overhead: float,
    rows: Array,
    delay: Floats,
    routes: Array,
    seats: Array,
    queue: Array,
    counters: Longs,
) -> None:
    """A transfer starts: its latency first (fifo: the overhead), then its bytes."""
    row = seats[seat]["row"]
    route = rows[row]["route"]
    rows[row]["start"] = t
    seats[seat]["first"], seats[seat]["last"] = routes[route]["first"], routes[route]["last"]
    seats[seat]["next"] = BEGINS
    extra = delay[row] if len(delay) else 0.0
    at = t
    if routes[route]["first"] == routes[route]["last"]:  # a local copy
        seats[seat]["next"] = ARRIVES
    elif sharing == FIFO:
        at += overhead + extra
    else:
        at += routes[route]["latency"] + extra
        if rows[row]["nbytes"] == 0.0:
            seats[seat]["next"] = ARRIVES
    push(queue, seats, counters, at, seat)


@compiled
def reduce_first(
    arrived: int, t: float, gamma: float, rows: Array, routes: Array, units: Array, seats: Array, queue: Array, work: Ints, counters: Longs
) -> int:
    """Where reducing takes time, the device takes what arrives one after another; how many of ARRIVED are done now."""
    by_row(work[ARRIVED], arrived, seats)
    done = 0
    for i in range(arrived):
        seat = work[ARRIVED, i]
        row = seats[seat]["row"]
        if rows[row]["reduce"] == 0 or seats[seat]["next"] == REDUCES:
            work[ARRIVED, done] = seat
            done += 1
            continue
        unit = routes[rows[row]["route"]]["unit"]
        units[unit]["free"] = max(t, units[unit]["free"]) + rows[row]["nbytes"] / gamma
        seats[seat]["next"] = REDUCES
        push(queue, seats, counters, units[unit]["free"], seat)
    return done


@compiled
def finish(
    done: int,
    t: float,
    rows: Array,
    pending: Ints,
    sends: Ints,
    receives: Ints,
    writes: Ints,
    after_start: Longs,
    after: Ints,
    seats: Array,
    work: Ints,
    counters: Longs,
) -> int:
    """The transfers in ARRIVED are done: free their seats and open gates; how many rows are READY now."""
    ready = work[READY]
    n = 0
    for i in range(done):
        seat = work[ARRIVED, i]
        row = seats[seat]["row"]
        rows[row]["finish"] = t
        work[FREE_SEATS, counters[SPARE]] = seat
        counters[SPARE] += 1
        if len(after_start):
            for e in range(after_start[row], after_start[row + 1]):
                pending[after[e]] -= 1
                if pending[after[e]] == 0:
                    ready[n] = after[e]
                    n += 1
        else:
            n = open_gate(sends, row, pending, ready, n)
            n = open_gate(receives, row, pending, ready, n)
        n = open_writes(writes, row, pending, ready, n)
    counters[DONE] += done
    return n


@compiled
def seat_ready(
    n: int,
    t: float,
    sharing: int,
    overhead: float,
    rows: Array,
    delay: Floats,
    routes: Array,
    seats: Array,
    queue: Array,
    work: Ints,
    counters: Longs,
) -> None:
    """The rows in READY start, or wait until their endpoints have joined."""
    for i in range(n):
        counters[SPARE] -= 1
        seat = work[FREE_SEATS, counters[SPARE]]
        seats[seat]["row"] = work[READY, i]
        joined = routes[rows[work[READY, i]]["route"]]["ready"]
        if joined > t:
            seats[seat]["next"] = WAITS
            push(queue, seats, counters, joined, seat)
        else:
            set_off(seat, t, sharing, overhead, rows, delay, routes, seats, queue, counters)


@compiled
def begin(
    sharing: int,
    overhead: float,
    rows: Array,
    delay: Floats,
    routes: Array,
    pending: Ints,
    seats: Array,
    queue: Array,
    work: Ints,
    counters: Longs,
) -> None:
    """Everything that waits for nothing sets off at 0 s."""
    n = 0
    for row in range(len(rows)):
        if pending[row] == 0:
            work[READY, n] = row
            n += 1
    seat_ready(n, 0.0, sharing, overhead, rows, delay, routes, seats, queue, work, counters)


@compiled
def advance(
    most: int,
    sharing: int,
    gamma: float,
    overhead: float,
    rows: Array,
    delay: Floats,
    routes: Array,
    route_link: Ints,
    links: Array,
    units: Array,
    pending: Ints,
    sends: Ints,
    receives: Ints,
    writes: Ints,
    after_start: Longs,
    after: Ints,
    nodes: Array,
    seats: Array,
    queue: Array,
    heap: Array,
    work: Ints,
    counters: Longs,
    floor: Floats,
    log: Array,
) -> bool:
    """Run until `most` more transfers are done, rates were as much work, nothing is left, or the log is full; True while there is more
    to do."""
    goal = counters[DONE] + most
    counters[VISITED] = 0
    batch = work[BATCH]
    while counters[SIZE] > 0:
        if counters[DONE] >= goal or counters[VISITED] >= _VISITS * most or (len(log) and len(log) - counters[LOGGED] < 3 * len(seats)):
            return True
        t = queue[0]["time"]
        n = 0
        while counters[SIZE] > 0 and queue[0]["time"] <= t:
            batch[n] = queue[0]["seat"]
            drop(queue, seats, counters, batch[n])
            n += 1
        if sharing == FIFO:
            by_row(batch, n, seats)
        done = happen(n, t, sharing, overhead, rows, delay, routes, route_link, links, nodes, seats, queue, work, counters, floor, log)
        while True:
            if gamma > 0.0:  # first everything that ends in this moment, so that devices can take it in the order of rows
                if counters[DIRTY] and (counters[SIZE] == 0 or queue[0]["time"] > t):
                    done += settle(done, t, route_link, links, nodes, seats, queue, heap, work, counters, floor, log)
                done = reduce_first(done, t, gamma, rows, routes, units, seats, queue, work, counters)
            n = finish(done, t, rows, pending, sends, receives, writes, after_start, after, seats, work, counters)
            seat_ready(n, t, sharing, overhead, rows, delay, routes, seats, queue, work, counters)
            if counters[DIRTY] == 0 or (counters[SIZE] > 0 and queue[0]["time"] <= t):
                break
            done = settle(0, t, route_link, links, nodes, seats, queue, heap, work, counters, floor, log)
            if done == 0:
                break
    return False
