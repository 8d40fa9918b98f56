"""The queue of events: gates that open, and rates that change."""

# mypy: disable-error-code="no-any-return"

from __future__ import annotations

import numpy as np

from .tables import (
    FIFO,
    NONE,
    TOGETHER,
    Floats,
    Gates,
    Heap,
    Ints,
    Links,
    Log,
    Longs,
    Nodes,
    Parts,
    Queue,
    Routes,
    Rows,
    Seats,
    Units,
    compiled,
    inner,
)

WAITS, BEGINS, FLOWS, ARRIVES, REDUCES = 1, 2, 3, 4, 5  # what the next event of a seat is
KEPT, OPEN, FIXED = 0, 1, 2  # the rate of a flow under way: as it was, not known, known anew
_SAME = 1e-13  # rates that differ by less, relative to them, are one
_SPILT = 1e-12  # a link carries too much only where it is more than this, relative to its bandwidth
_ABOVE = 1 + 1e-12  # a flow is above a rate only where it has so many times as much
#: Counters: length of the queue, rows done, free seats, links that wait, flows whose rates may change, length of the
#: log, flows and links visited in this slice; and how many bits of a node are its hop.
SIZE, DONE, SPARE, DIRTY, TOUCHED, LOGGED, VISITED, BITS = 0, 1, 2, 3, 4, 5, 6, 7
_VISITS = (
    5  # so many a transfer, and a slice is over: where thousands of flows share, a transfer changes the rates of all
)
#: Rows of the work space.
FREE_SEATS, BATCH, ARRIVED, READY, JOINED_FLOWS = 0, 1, 2, 3, 4
LEAD, NEXT_ROW, LEFT, BEHIND, READERS, NEXT_READER = 0, 1, 2, 3, 4, 5  # columns of a gate: see `build`
ROWS, WAITED, FIRST, FOLLOW = 0, 1, 2, 3  # columns of a job, where jobs wait for others: see `end_of_job`


# ---- gates
# -------------------------------------------------------------------------------------------------------------------


@inner
def join(gate: Gates, row: int, begin: int, key: int, newest: Ints, before: Ints) -> int:
    """Put a row in the newest group of its queue, or open one behind it; the group it has to wait for, -1 for none."""
    lead = newest[key]
    if lead < begin:  # no row of this step yet
        before[key] = lead
        newest[key] = row
        gate[row, LEAD] = row
        gate[row, NEXT_ROW] = -1
        gate[row, LEFT] = 1
        gate[row, BEHIND] = -1
        if lead >= 0:
            gate[lead, BEHIND] = row
        return lead
    gate[row, LEAD] = lead
    gate[row, NEXT_ROW] = gate[lead, NEXT_ROW]
    gate[lead, NEXT_ROW] = row
    gate[lead, LEFT] += 1
    return before[key]


@compiled
def build(
    part: Parts,
    shift: int,
    modulus: int,
    first: int,
    last: int,
    row: int,
    pending: Ints,
    sends: Gates,
    receives: Gates,
    writes: Gates,
    queues: Gates,
    newest_write: Ints,
) -> None:
    """Hang repetitions first..last-1 of a pattern behind the gates they wait for.

    A group is the rows of one step in one queue (sends of an endpoint on a channel, receives, writes of a slot); its
    first row stands for it. Columns: LEAD the first row of the row's group; of that row, NEXT_ROW the next in the
    group, LEFT how many are not done, BEHIND the group behind; for writes READERS the first row that reads what they
    wrote, NEXT_READER of that row the next reader. `pending` counts the gates of each row. `queues`: newest send group,
    the one before, receives alike, largest send group. Explicit dependencies: `sends` is empty. Eager: `receives` is.
    """
    m = len(part)
    for k in range(first, last):
        by = k * shift % modulus
        for i in range(m):
            p, me = part[i], row + i
            turn = p["turn"] + by
            if turn >= modulus:
                turn -= modulus
            waits = 0
            source = newest_write[p["read"] + turn]
            writes[me, READERS] = -1
            writes[me, NEXT_READER] = -1
            if source >= 0:
                waits += 1
                writes[me, NEXT_READER] = writes[source, READERS]
                writes[source, READERS] = me
            if len(sends):
                key = p["send"]
                waits += join(sends, me, row, key, queues[0], queues[1]) >= 0
                if len(receives):
                    waits += join(receives, me, row, p["receive"], queues[2], queues[3]) >= 0
                queues[4, key] = max(queues[4, key], sends[sends[me, LEAD], LEFT])
            pending[me] = waits
        for i in range(m):
            p, me = part[i], row + i
            turn = p["into"] + by
            if turn >= modulus:
                turn -= modulus
            slot = p["write"] + turn
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


@inner
def open_gate(gate: Gates, row: int, pending: Ints, ready: Ints, n: int) -> int:
    """One row of a group is done; after the last of them, rows of the group behind that wait for nothing else are
    ready."""
    lead = gate[row, LEAD]
    gate[lead, LEFT] -= 1
    if gate[lead, LEFT] == 0:
        member = gate[lead, BEHIND]
        while member >= 0:
            pending[member] -= 1
            if pending[member] == 0:
                ready[n] = member
                n += 1
            member = gate[member, NEXT_ROW]
    return n


@inner
def has_data(rows: Rows, row: int, t: float) -> None:
    """Note when an eager row got all but its turn: its start is no longer negative then (see `set_off`)."""
    if rows[row]["start"] >= 0.0:
        rows[row]["start"] = t


@inner
def open_writes(writes: Gates, row: int, pending: Ints, ready: Ints, n: int, rows: Rows, t: float) -> int:
    """What a group of writers wrote may be read when they and all writers before them are done."""
    group = writes[row, LEAD]
    writes[group, LEFT] -= 1
    while group >= 0 and writes[group, LEFT] == 0:
        reader = writes[group, READERS]
        while reader >= 0:
            has_data(rows, reader, t)
            pending[reader] -= 1
            if pending[reader] == 0:
                ready[n] = reader
                n += 1
            reader = writes[reader, NEXT_READER]
        group = writes[group, BEHIND]
        if group >= 0:
            writes[group, LEFT] -= 1
    return n


@inner
def end_of_job(
    row: int,
    jobs: Gates,
    of_row: Gates,
    follows: Gates,
    pending: Ints,
    ready: Ints,
    n: int,
    rows: Rows,
    t: float,
) -> int:
    """One row of a job is done; after the last of them, the jobs that waited for this one alone begin: their rows that
    wait for nothing else are ready.

    Columns of `jobs`: ROWS that are not done, WAITED the jobs before it that have not ended, FIRST of its rows that
    begin with it, FOLLOW its first entry in `follows`: (job that waits for it, next entry). `of_row`: (job, the next
    row that begins with it).
    """
    job = of_row[row, 0]
    jobs[job, ROWS] -= 1
    if jobs[job, ROWS] > 0:
        return n
    entry = jobs[job, FOLLOW]
    while entry >= 0:
        behind = follows[entry, 0]
        entry = follows[entry, 1]
        jobs[behind, WAITED] -= 1
        if jobs[behind, WAITED] == 0:
            first = jobs[behind, FIRST]
            while first >= 0:
                has_data(rows, first, t)
                pending[first] -= 1
                if pending[first] == 0:
                    ready[n] = first
                    n += 1
                first = of_row[first, 1]
    return n


# ---- the queue of events: a heap of seats by the time of their next event; four below each, which lie in one line of
# the cache -------


@inner
def put(queue: Queue, seats: Seats, i: int, time: float, seat: int) -> None:
    place = queue[i]
    place["time"] = time
    place["seat"] = seat
    seats[seat]["place"] = i


@inner
def rise(queue: Queue, seats: Seats, i: int, time: float, seat: int) -> None:
    while i > 0:
        up = (i - 1) >> 2
        above = queue[up]
        if above["time"] <= time:
            break
        put(queue, seats, i, above["time"], above["seat"])
        i = up
    put(queue, seats, i, time, seat)


@inner
def sink(queue: Queue, seats: Seats, n: int, i: int, time: float, seat: int) -> None:
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
        put(queue, seats, i, least, queue[down]["seat"])
        i = down
    put(queue, seats, i, time, seat)


@inner
def push(queue: Queue, seats: Seats, counters: Longs, time: float, seat: int) -> None:
    """Set the time of a seat's next event."""
    i = seats[seat]["place"]
    if i < 0:
        i = counters[SIZE]
        counters[SIZE] += 1
    elif time >= queue[i]["time"]:
        sink(queue, seats, counters[SIZE], i, time, seat)
        return
    rise(queue, seats, i, time, seat)


@inner
def drop(queue: Queue, seats: Seats, counters: Longs, seat: int) -> None:
    """Take a seat out of the queue, wherever it is."""
    i = seats[seat]["place"]
    if i < 0:
        return
    seats[seat]["place"] = -1
    counters[SIZE] -= 1
    n = counters[SIZE]
    if i < n:
        end = queue[n]
        if i > 0 and queue[(i - 1) >> 2]["time"] > end["time"]:
            rise(queue, seats, i, end["time"], end["seat"])
        else:
            sink(queue, seats, n, i, end["time"], end["seat"])


@inner
def by_row(batch: Ints, n: int, seats: Seats) -> None:
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


# ---- flows on links
# ----------------------------------------------------------------------------------------------------------


@inner
def note(log: Log, counters: Longs, row: int, t: float, value: float) -> None:
    if len(log):
        change = log[counters[LOGGED]]
        change["row"] = row
        change["time"] = t
        change["value"] = value
        counters[LOGGED] += 1


@inner
def unlink(node: int, opened: bool, link: int, links: Links, nodes: Nodes) -> None:
    """Take a flow out of the list of a link that it is in: of those that wait for its rate, or of the others."""
    after, back = nodes[node]["after"], nodes[node]["back"]
    if back >= 0:
        nodes[back]["after"] = after
    elif opened:
        links[link]["first"] = after
    else:
        links[link]["head"] = after
    if after >= 0:
        nodes[after]["back"] = back


@inner
def list_open(node: int, link: int, links: Links, nodes: Nodes) -> None:
    """Put a flow in the list of those that have what the link has for each."""
    head = links[link]["first"]
    nodes[node]["after"] = head
    nodes[node]["back"] = -1
    if head >= 0:
        nodes[head]["back"] = node
    links[link]["first"] = node
    links[link]["open"] += 1


@inner
def list_held(node: int, link: int, links: Links, nodes: Nodes) -> None:
    """Put a flow in the list of those whose rate another link sets."""
    head = links[link]["head"]
    nodes[node]["after"] = head
    nodes[node]["back"] = -1
    if head >= 0:
        nodes[head]["back"] = node
    links[link]["head"] = node


@inner
def link_rise(heap: Heap, links: Links, i: int, key: float, link: int) -> None:
    """Put a link in place i of the links that wait, and let it rise to where it belongs."""
    while i > 0:
        up = (i - 1) >> 2
        if heap[up]["key"] <= key:
            break
        heap[i]["key"] = heap[up]["key"]
        heap[i]["link"] = heap[up]["link"]
        links[heap[i]["link"]]["place"] = i
        i = up
    heap[i]["key"] = key
    heap[i]["link"] = link
    links[link]["place"] = i


@inner
def link_sink(heap: Heap, links: Links, n: int, i: int, key: float, link: int) -> None:
    """Put a link in place i of the links that wait, and let it sink to where it belongs."""
    while True:
        first = 4 * i + 1
        if first >= n:
            break
        down, least = first, heap[first]["key"]
        for other in range(first + 1, min(first + 4, n)):
            if heap[other]["key"] < least:
                down, least = other, heap[other]["key"]
        if least >= key:
            break
        heap[i]["key"] = least
        heap[i]["link"] = heap[down]["link"]
        links[heap[i]["link"]]["place"] = i
        i = down
    heap[i]["key"] = key
    heap[i]["link"] = link
    links[link]["place"] = i


@inner
def link_take(i: int, heap: Heap, links: Links, counters: Longs) -> None:
    """The link in place i waits no longer."""
    links[heap[i]["link"]]["place"] = -1
    counters[DIRTY] -= 1
    n = counters[DIRTY]
    if i < n:
        end = heap[n]
        if i > 0 and heap[(i - 1) >> 2]["key"] > end["key"]:
            link_rise(heap, links, i, end["key"], end["link"])
        else:
            link_sink(heap, links, n, i, end["key"], end["link"])


@inner
def least_share(link: int, links: Links) -> float:
    """What a link has for each of its flows at least: held back are those that it held back until now, or none."""
    here = links[link]
    share = here["bandwidth"] / here["count"]
    if here["open"]:
        share = max(share, here["room"] / here["open"])
    return share


@inner
def soil(link: int, links: Links, heap: Heap, counters: Longs) -> None:
    """What a link has for its flows has changed: it waits for the lowest rate at which they may notice."""
    here = links[link]
    if here["open"] == 0:
        here["level"] = np.inf
        if here["room"] >= -_SPILT * here["bandwidth"]:
            return
    key = min(here["level"], least_share(link, links))
    i = here["place"]
    if i < 0:
        counters[DIRTY] += 1
        link_rise(heap, links, counters[DIRTY] - 1, key, link)
    elif key < heap[i]["key"]:
        link_rise(heap, links, i, key, link)


@inner
def meet(seat: int, seats: Seats, route_link: Ints, links: Links, nodes: Nodes, counters: Longs) -> None:
    """A flow that was alone on its links, with nothing noted there, gets company: note what it takes of them."""
    s = seats[seat]
    node = seat << counters[BITS]
    for hop in range(s["first"], s["last"]):
        if s["hop"] < 0 or links[route_link[hop]]["bandwidth"] < links[route_link[s["hop"]]]["bandwidth"]:
            s["hop"] = hop
    s["wanted"] = s["rate"]
    for hop in range(s["first"], s["last"]):
        link = links[route_link[hop]]
        if hop == s["hop"]:
            link["head"] = -1
            list_open(node, route_link[hop], links, nodes)
            link["level"] = s["rate"]
        else:
            link["room"] = link["bandwidth"] - s["rate"]
            link["top"] = s["rate"]
        node += 1


@inner
def open_up(seat: int, seats: Seats, work: Gates, counters: Longs) -> None:
    """A flow has no rate for now, and gets one in this moment."""
    s = seats[seat]
    if s["state"] == KEPT:
        work[JOINED_FLOWS, counters[TOUCHED]] = seat
        counters[TOUCHED] += 1
    s["state"] = OPEN


@inner
def attach(
    seat: int, seats: Seats, route_link: Ints, links: Links, nodes: Nodes, heap: Heap, work: Gates, counters: Longs
) -> bool:
    """Put a flow on its links; is it alone on all of them? If not, its neighbours need new rates, and so does it."""
    s = seats[seat]
    first, last = s["first"], s["last"]
    node = seat << counters[BITS]
    s["hop"] = -1
    alone = True
    for hop in range(first, last):
        link = links[route_link[hop]]
        alone = alone and link["count"] == 0
        link["count"] += 1
    if alone:
        s["state"] = KEPT
        for hop in range(first, last):
            list_held(node, route_link[hop], links, nodes)
            node += 1
        return True
    for hop in range(first, last):
        head = links[route_link[hop]]["head"]
        if head >= 0 and seats[head >> counters[BITS]]["hop"] < 0:
            meet(head >> counters[BITS], seats, route_link, links, nodes, counters)
    open_up(seat, seats, work, counters)
    for hop in range(first, last):
        list_open(node, route_link[hop], links, nodes)
        node += 1
    for hop in range(first, last):
        soil(route_link[hop], links, heap, counters)
    return False


@inner
def detach(seat: int, seats: Seats, route_link: Ints, links: Links, nodes: Nodes, heap: Heap, counters: Longs) -> None:
    """Take a flow off its links; those that shared one with it need new rates."""
    s = seats[seat]
    node = seat << counters[BITS]
    if s["hop"] < 0:  # it was alone
        for hop in range(s["first"], s["last"]):
            links[route_link[hop]]["head"] = -1
            links[route_link[hop]]["count"] = 0
        return
    for hop in range(s["first"], s["last"]):
        link = links[route_link[hop]]
        unlink(node, hop == s["hop"], route_link[hop], links, nodes)
        link["count"] -= 1
        if hop == s["hop"]:
            link["open"] -= 1
        else:
            link["room"] += s["wanted"]
        if link["count"]:
            soil(route_link[hop], links, heap, counters)
        else:
            link["room"] = link["bandwidth"]
            link["level"] = np.inf
            link["top"] = 0.0
        node += 1


# ---- max-min fairness
# --------------------------------------------------------------------------------------------------------
#
# Between two moments every flow has its rate from one link, its bottleneck, which is full and gives as much to no flow
# as to this one (Bertsekas & Gallager 1992, section 6.5.2). A link keeps two lists: `first`, the flows that have their
# rate from it (all have the same, its `level`), and `head`, those that other links hold below that; `room` is what the
# latter leave. When flows begin and end, the filling is gone through again from the lowest rate at which something is
# different, and only where it is: a link that is touched waits for the rate at which its flows may notice. What a link
# has for each, room/open, is never more than what it ends up with, so a link that waits too early waits once more.


@inner
def release(
    here: int,
    route_link: Ints,
    links: Links,
    nodes: Nodes,
    seats: Seats,
    heap: Heap,
    work: Gates,
    counters: Longs,
) -> None:
    """A link has more for its flows than it had: none of them holds its old rate any longer, on any link."""
    node = links[here]["first"]
    bits = counters[BITS]
    links[here]["level"] = np.inf
    while node >= 0:
        seat, after = node >> bits, nodes[node]["after"]
        s = seats[seat]
        if s["state"] == KEPT:
            open_up(seat, seats, work, counters)
            other = seat << bits
            for hop in range(s["first"], s["last"]):
                if hop != s["hop"]:
                    unlink(other, False, route_link[hop], links, nodes)
                    links[route_link[hop]]["room"] += s["wanted"]
                    list_open(other, route_link[hop], links, nodes)
                    soil(route_link[hop], links, heap, counters)
                other += 1
        node = after


@inner
def fix(
    seat: int,
    bottleneck: int,
    share: float,
    route_link: Ints,
    links: Links,
    nodes: Nodes,
    seats: Seats,
    heap: Heap,
    work: Gates,
    counters: Longs,
) -> None:
    """A flow has its rate from the link at this hop; on its others it leaves the rest."""
    s = seats[seat]
    kept = s["state"] == KEPT
    node = seat << counters[BITS]
    for hop in range(s["first"], s["last"]):
        link = links[route_link[hop]]
        opened = not kept or hop == s["hop"]
        if opened != (hop == bottleneck):
            unlink(node, opened, route_link[hop], links, nodes)
            if opened:
                link["open"] -= 1
                link["room"] -= share
                list_held(node, route_link[hop], links, nodes)
            else:
                link["room"] += s["wanted"]
                list_open(node, route_link[hop], links, nodes)
        elif not opened:
            link["room"] += s["wanted"] - share
        if hop != bottleneck:
            link["top"] = max(link["top"], share)
            if kept:
                soil(route_link[hop], links, heap, counters)
            elif link["open"] == 0 and link["place"] >= 0 and link["room"] >= 0.0:  # nobody there waits for a rate
                link["level"] = np.inf
                counters[VISITED] += 1
                link_take(link["place"], heap, links, counters)
        node += 1
    if kept:
        open_up(seat, seats, work, counters)
    s["state"] = FIXED
    s["wanted"] = share
    s["hop"] = bottleneck


@inner
def exact_share(here: int, share: float, links: Links, nodes: Nodes, seats: Seats, counters: Longs) -> float:
    """What a link has for each of its flows where those with an old rate above that are held to it: never less than
    `share`, and found from below."""
    link = links[here]
    while True:
        room, many, top = link["room"], link["open"], 0.0
        node = link["head"]
        while node >= 0:
            s = seats[node >> counters[BITS]]
            top = max(top, s["wanted"])
            if s["state"] == KEPT and s["wanted"] > share * _ABOVE:
                room += s["wanted"]
                many += 1
            node = nodes[node]["after"]
        link["top"] = top
        if room <= share * many * (1 + 1e-14):
            return share
        share = room / many


@inner
def fill(
    here: int,
    share: float,
    route_link: Ints,
    links: Links,
    nodes: Nodes,
    seats: Seats,
    heap: Heap,
    work: Gates,
    counters: Longs,
) -> None:
    """A link is full: all its flows without a rate, and those with an old one above `share`, have this one."""
    link, bits = links[here], counters[BITS]
    same = abs(share - link["level"]) <= _SAME * share
    last = (1 << bits) - 1
    if link["top"] > share * _ABOVE:
        node = link["head"]
        while node >= 0:
            seat, hop, after = node >> bits, seats[node >> bits]["first"] + (node & last), nodes[node]["after"]
            if seats[seat]["state"] == KEPT and seats[seat]["wanted"] > share * _ABOVE:
                fix(seat, hop, share, route_link, links, nodes, seats, heap, work, counters)
            node = after
    node = link["first"]
    while node >= 0:
        seat, hop, after = node >> bits, seats[node >> bits]["first"] + (node & last), nodes[node]["after"]
        state = seats[seat]["state"]
        if state == OPEN or (state == KEPT and not same):
            fix(seat, hop, share, route_link, links, nodes, seats, heap, work, counters)
        node = after
    if not same:
        link["level"] = share


@inner
def share_out(
    route_link: Ints,
    links: Links,
    nodes: Nodes,
    seats: Seats,
    heap: Heap,
    work: Gates,
    counters: Longs,
) -> None:
    """Go through the links that wait, the lowest rate first, until every flow has its max-min fair rate."""
    level = 0.0
    while counters[DIRTY] > 0:
        here, key = heap[0]["link"], heap[0]["key"]
        link = links[here]
        counters[VISITED] += 1
        if link["open"] == 0:
            link["level"] = np.inf
            if link["count"] == 0 or link["room"] >= -_SPILT * link["bandwidth"]:
                link_take(0, heap, links, counters)
                continue
        level = max(level, key)
        share = max(level, least_share(here, links))
        if min(link["level"], share) <= key * (1 + 1e-14) and link["top"] > share * _ABOVE:
            share = exact_share(here, share, links, nodes, seats, counters)
        if min(link["level"], share) > key * (1 + 1e-14):  # not yet
            link_sink(heap, links, counters[DIRTY], 0, min(link["level"], share), here)
        elif share > link["level"] * (1 + _SAME):
            release(here, route_link, links, nodes, seats, heap, work, counters)
        else:
            link_take(0, heap, links, counters)
            fill(here, share, route_link, links, nodes, seats, heap, work, counters)


@inner
def set_rates(t: float, queue: Queue, seats: Seats, work: Gates, counters: Longs, log: Log) -> None:
    """Give the flows of JOINED_FLOWS their new rates, and the queue their new ends: one by one, or where they are many
    all at once."""
    flows = counters[TOUCHED]
    many = 8 * flows > counters[SIZE]
    for i in range(flows):
        seat = work[JOINED_FLOWS, i]
        s = seats[seat]
        s["state"] = KEPT
        old, new = s["rate"], s["wanted"]
        if abs(new - old) <= _SAME * old:
            continue
        s["left"] = max(0.0, s["left"] - old * (t - s["since"]))
        s["since"] = t
        s["rate"] = new
        end = t + s["left"] / new
        note(log, counters, s["row"], t, new)
        if not many:
            push(queue, seats, counters, end, seat)
            continue
        if s["place"] < 0:
            s["place"] = counters[SIZE]
            queue[counters[SIZE]]["seat"] = seat
            counters[SIZE] += 1
        queue[s["place"]]["time"] = end
    if many:
        n = counters[SIZE]
        for i in range((n - 2) >> 2, -1, -1):
            sink(queue, seats, n, i, queue[i]["time"], queue[i]["seat"])


@inner
def settle(
    done: int,
    t: float,
    route_link: Ints,
    links: Links,
    nodes: Nodes,
    seats: Seats,
    queue: Queue,
    heap: Heap,
    work: Gates,
    counters: Longs,
    log: Log,
) -> int:
    """All events of this moment are over: end the flows that end with them (how many; put into ARRIVED after the first
    `done`), or else give new rates to all that they change."""
    ended = 0
    while counters[SIZE] > 0 and queue[0]["time"] <= t * (1 + TOGETHER):
        seat = queue[0]["seat"]
        if seats[seat]["next"] != FLOWS:
            break
        drop(queue, seats, counters, seat)
        detach(seat, seats, route_link, links, nodes, heap, counters)
        note(log, counters, seats[seat]["row"], t, 0.0)
        work[ARRIVED, done + ended] = seat
        ended += 1
    if ended == 0:
        share_out(route_link, links, nodes, seats, heap, work, counters)
        counters[VISITED] += counters[TOUCHED]
        set_rates(t, queue, seats, work, counters, log)
        counters[TOUCHED] = 0
    return ended


# ---- a moment
# ----------------------------------------------------------------------------------------------------------------


@inner
def set_off(
    seat: int,
    t: float,
    sharing: int,
    overhead: float,
    rows: Rows,
    delay: Floats,
    routes: Routes,
    seats: Seats,
    queue: Queue,
    counters: Longs,
) -> None:
    """A transfer starts: its latency first (fifo: the overhead), then its bytes.

    An eager one (its start is when it got its data, not negative) waited for the bytes before it to leave; they did so
    a latency before they arrived, so its own latency, which begins at the earliest with its data, is over by then.
    """
    s = seats[seat]
    row = rows[s["row"]]
    route = routes[row["route"]]
    data = row["start"]
    row["start"] = t
    s["first"], s["last"] = route["first"], route["last"]
    s["next"] = BEGINS
    extra = delay[s["row"]] if len(delay) else 0.0
    at = t
    if s["first"] == s["last"]:  # a local copy, or a pause
        at += route["latency"]
        s["next"] = ARRIVES
    elif sharing == FIFO:
        at += overhead + extra
    else:
        at += route["latency"] + extra
        if data >= 0.0:
            at = max(t, max(data, route["ready"]) + route["latency"] + extra)
            row["start"] = at - route["latency"] - extra
        if row["nbytes"] == 0.0:
            s["next"] = ARRIVES
    push(queue, seats, counters, at, seat)


@inner
def happen(
    n: int,
    t: float,
    sharing: int,
    overhead: float,
    rows: Rows,
    delay: Floats,
    routes: Routes,
    route_link: Ints,
    links: Links,
    nodes: Nodes,
    seats: Seats,
    queue: Queue,
    heap: Heap,
    work: Gates,
    counters: Longs,
    log: Log,
) -> int:
    """Handle the n seats of BATCH, whose moment it is; how many have arrived, or been reduced (they are in ARRIVED)."""
    arrived = 0
    for b in range(n):
        seat = work[BATCH, b]
        s = seats[seat]
        row = rows[s["row"]]
        what = s["next"]
        if what == WAITS:
            set_off(seat, t, sharing, overhead, rows, delay, routes, seats, queue, counters)
        elif what >= ARRIVES:
            work[ARRIVED, arrived] = seat
            arrived += 1
        elif what == FLOWS:
            detach(seat, seats, route_link, links, nodes, heap, counters)
            note(log, counters, s["row"], t, 0.0)
            s["next"] = ARRIVES
            work[ARRIVED, arrived] = seat
            arrived += 1
        elif sharing == FIFO:
            link = links[route_link[s["first"]]]
            begin = max(t, link["free"])
            link["free"] = begin + row["nbytes"] / link["bandwidth"]
            if row["nbytes"] > 0.0:
                note(log, counters, s["row"], begin, route_link[s["first"]])
            s["first"] += 1
            if s["first"] == s["last"]:
                s["next"] = ARRIVES
            push(queue, seats, counters, link["free"] + link["alpha"], seat)
        elif sharing == NONE:
            s["next"] = ARRIVES
            push(queue, seats, counters, t + row["nbytes"] / routes[row["route"]]["narrow"], seat)
        else:
            s["next"] = FLOWS
            s["left"] = row["nbytes"]
            s["since"] = t
            s["rate"] = 0.0
            if attach(seat, seats, route_link, links, nodes, heap, work, counters):
                s["rate"] = routes[row["route"]]["narrow"]
                push(queue, seats, counters, t + row["nbytes"] / s["rate"], seat)
                note(log, counters, s["row"], t, s["rate"])
    return arrived


@inner
def reduce_first(
    arrived: int,
    t: float,
    gamma: float,
    rows: Rows,
    routes: Routes,
    units: Units,
    seats: Seats,
    queue: Queue,
    work: Gates,
    counters: Longs,
) -> int:
    """Where reducing takes time, the device takes what arrives one after another; how many of ARRIVED are done now."""
    by_row(work[ARRIVED], arrived, seats)
    done = 0
    for i in range(arrived):
        seat = work[ARRIVED, i]
        s = seats[seat]
        row = rows[s["row"]]
        if row["reduce"] == 0 or s["next"] == REDUCES:
            work[ARRIVED, done] = seat
            done += 1
            continue
        unit = units[routes[row["route"]]["unit"]]
        unit["free"] = max(t, unit["free"]) + row["nbytes"] / gamma
        s["next"] = REDUCES
        push(queue, seats, counters, unit["free"], seat)
    return done


@inner
def finish(
    done: int,
    t: float,
    rows: Rows,
    pending: Ints,
    sends: Gates,
    receives: Gates,
    writes: Gates,
    after_start: Longs,
    after: Ints,
    jobs: Gates,
    of_row: Gates,
    follows: Gates,
    seats: Seats,
    work: Gates,
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
            if len(receives):
                n = open_gate(receives, row, pending, ready, n)
        n = open_writes(writes, row, pending, ready, n, rows, t)
        if len(jobs):
            n = end_of_job(row, jobs, of_row, follows, pending, ready, n, rows, t)
    counters[DONE] += done
    return n


@inner
def seat_ready(
    n: int,
    t: float,
    sharing: int,
    overhead: float,
    rows: Rows,
    delay: Floats,
    routes: Routes,
    seats: Seats,
    queue: Queue,
    work: Gates,
    counters: Longs,
) -> None:
    """The rows in READY start, or wait until their endpoints have joined."""
    for i in range(n):
        counters[SPARE] -= 1
        seat = work[FREE_SEATS, counters[SPARE]]
        s = seats[seat]
        s["row"] = work[READY, i]
        joined = routes[rows[s["row"]]["route"]]["ready"]
        if joined > t:
            s["next"] = WAITS
            push(queue, seats, counters, joined, seat)
        else:
            set_off(seat, t, sharing, overhead, rows, delay, routes, seats, queue, counters)


@compiled
def advance(
    most: int,
    fresh: int,
    sharing: int,
    gamma: float,
    overhead: float,
    rows: Rows,
    delay: Floats,
    routes: Routes,
    route_link: Ints,
    links: Links,
    units: Units,
    pending: Ints,
    sends: Gates,
    receives: Gates,
    writes: Gates,
    after_start: Longs,
    after: Ints,
    jobs: Gates,
    of_row: Gates,
    follows: Gates,
    nodes: Nodes,
    seats: Seats,
    queue: Queue,
    heap: Heap,
    work: Gates,
    counters: Longs,
    log: Log,
) -> bool:
    """Run until `most` more transfers are done, rates were as much work, nothing is left, or the log is full; True
    while there is more to do. First the `fresh` rows in READY set off, at 0 s."""
    seat_ready(fresh, 0.0, sharing, overhead, rows, delay, routes, seats, queue, work, counters)
    goal = counters[DONE] + most
    counters[VISITED] = 0
    batch = work[BATCH]
    while counters[SIZE] > 0:
        if (
            counters[DONE] >= goal
            or counters[VISITED] >= _VISITS * most
            or (len(log) and len(log) - counters[LOGGED] < 3 * len(seats))
        ):
            return True
        t = queue[0]["time"]
        n = 0
        while counters[SIZE] > 0 and queue[0]["time"] <= t:
            batch[n] = queue[0]["seat"]
            drop(queue, seats, counters, batch[n])
            n += 1
        if sharing == FIFO:
            by_row(batch, n, seats)
        done = happen(
            n,
            t,
            sharing,
            overhead,
            rows,
            delay,
            routes,
            route_link,
            links,
            nodes,
            seats,
            queue,
            heap,
            work,
            counters,
            log,
        )
        while True:
            if (
                gamma > 0.0
            ):  # first everything that ends in this moment, so that devices can take it in the order of rows
                if counters[DIRTY] and (counters[SIZE] == 0 or queue[0]["time"] > t):
                    done += settle(done, t, route_link, links, nodes, seats, queue, heap, work, counters, log)
                done = reduce_first(done, t, gamma, rows, routes, units, seats, queue, work, counters)
            n = finish(
                done,
                t,
                rows,
                pending,
                sends,
                receives,
                writes,
                after_start,
                after,
                jobs,
                of_row,
                follows,
                seats,
                work,
                counters,
            )
            seat_ready(n, t, sharing, overhead, rows, delay, routes, seats, queue, work, counters)
            if counters[DIRTY] == 0 or (counters[SIZE] > 0 and queue[0]["time"] <= t):
                break
            done = settle(0, t, route_link, links, nodes, seats, queue, heap, work, counters, log)
            if done == 0:
                break
    return False
