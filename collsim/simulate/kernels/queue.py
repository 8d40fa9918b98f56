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
#: Counters: length of the queue, rows done, free seats, dirty links, visits, length of the log, flows and links visited
#: in this slice; and how many bits of a node are its hop.
SIZE, DONE, SPARE, DIRTY, ROUND, LOGGED, VISITED, BITS = 0, 1, 2, 3, 4, 5, 6, 7
_VISITS = (
    5  # so many a transfer, and a slice is over: where thousands of flows share, a transfer changes the rates of all
)
#: Rows of the work space.
FREE_SEATS, BATCH, ARRIVED, READY, JOINED_FLOWS, JOINED_LINKS, FOUND, DIRTY_LINKS = 0, 1, 2, 3, 4, 5, 6, 7
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
def soil(links: Links, work: Gates, counters: Longs, floor: Floats, link: int, level: float) -> None:
    """Flows over this link need new rates, as far as they are not below `level`."""
    floor[0] = min(floor[0], level)
    if not links[link]["dirty"]:
        links[link]["dirty"] = 1
        work[DIRTY_LINKS, counters[DIRTY]] = link
        counters[DIRTY] += 1


@inner
def attach(
    seat: int, seats: Seats, route_link: Ints, links: Links, nodes: Nodes, work: Gates, counters: Longs, floor: Floats
) -> bool:
    """Put a flow on its links; is it alone on all of them? If not, its neighbours need new rates, and so does it."""
    first, last = seats[seat]["first"], seats[seat]["last"]
    node = seat << counters[BITS]
    alone = True
    for hop in range(first, last):
        link = links[route_link[hop]]
        head = link["head"]
        nodes[node]["after"] = head
        nodes[node]["back"] = -1
        if head >= 0:
            nodes[head]["back"] = node
            alone = False
        link["head"] = node
        link["count"] += 1
        node += 1
    if not alone:
        for hop in range(first, last):
            link = links[route_link[hop]]
            soil(links, work, counters, floor, route_link[hop], link["bandwidth"] / link["count"])
    return alone


@inner
def detach(
    seat: int, seats: Seats, route_link: Ints, links: Links, nodes: Nodes, work: Gates, counters: Longs, floor: Floats
) -> None:
    """Take a flow off its links; those that shared one with it need new rates."""
    s = seats[seat]
    node = seat << counters[BITS]
    for hop in range(s["first"], s["last"]):
        link = links[route_link[hop]]
        after, back = nodes[node]["after"], nodes[node]["back"]
        if back >= 0:
            nodes[back]["after"] = after
        else:
            link["head"] = after
        if after >= 0:
            nodes[after]["back"] = back
        link["count"] -= 1
        if link["count"]:
            soil(links, work, counters, floor, route_link[hop], s["rate"])
        node += 1


# ---- max-min fairness
# --------------------------------------------------------------------------------------------------------


@inner
def visit(
    route_link: Ints,
    links: Links,
    nodes: Nodes,
    seats: Seats,
    work: Gates,
    counters: Longs,
    level: float,
    found: Ints,
) -> None:
    """Find the flows that dirty links are joined to, and their links: JOINED_FLOWS, JOINED_LINKS, and how many of each
    in `found`.

    Rates below `level` stay: filling all links together, nothing that changed is full before. A flow that ended held
    its rate from its fullest link, and a link that one more flow is on is not full before all its flows have
    bandwidth/count. So flows below are not visited; what they take is taken from their links' room.
    """
    counters[ROUND] += 1
    now = counters[ROUND]
    bits = counters[BITS]
    cables, joined = work[JOINED_LINKS], work[JOINED_FLOWS]
    many = flows = 0
    for d in range(counters[DIRTY]):
        link = links[work[DIRTY_LINKS, d]]
        link["dirty"] = 0
        if link["count"]:
            link["seen"] = now
            cables[many] = work[DIRTY_LINKS, d]
            many += 1
    at = 0
    while at < many:
        here = links[cables[at]]
        at += 1
        room, open_ = here["bandwidth"], 0
        node = here["head"]
        while node >= 0:
            s = seats[node >> bits]
            if 0.0 < s["rate"] < level:
                room -= s["rate"]
            else:
                open_ += 1
                if s["seen"] != 2 * now:
                    s["seen"] = 2 * now
                    joined[flows] = node >> bits
                    flows += 1
                    for hop in range(s["first"], s["last"]):
                        link = links[route_link[hop]]
                        if link["seen"] != now:
                            link["seen"] = now
                            cables[many] = route_link[hop]
                            many += 1
            node = nodes[node]["after"]
        here["room"] = room
        here["open"] = open_
    found[0] = many
    found[1] = flows


@inner
def heap_sink(heap: Heap, n: int, i: int, key: float, link: int) -> None:
    """Put a link in place i and let it sink to where it belongs."""
    while True:
        down = 2 * i + 1
        if down >= n:
            break
        if down + 1 < n and heap[down + 1]["key"] < heap[down]["key"]:
            down += 1
        below = heap[down]
        if below["key"] >= key:
            break
        heap[i]["key"] = below["key"]
        heap[i]["link"] = below["link"]
        i = down
    heap[i]["key"] = key
    heap[i]["link"] = link


@inner
def share_out(
    many: int,
    level: float,
    route_link: Ints,
    links: Links,
    nodes: Nodes,
    seats: Seats,
    heap: Heap,
    work: Gates,
    counters: Longs,
) -> None:
    """Max-min fair rates (Bertsekas & Gallager 1992, section 6.5.2) over the first `many` of JOINED_LINKS: the link
    with the least for each of its flows sets their rate, then the next. What a link has for each only grows as others
    get their rates, so a heap with old keys is good enough."""
    now, bits = counters[ROUND], counters[BITS]
    n = 0
    for i in range(many):
        link = links[work[JOINED_LINKS, i]]
        if link["open"]:
            heap[n]["key"] = link["room"] / link["open"]
            heap[n]["link"] = work[JOINED_LINKS, i]
            n += 1
    for i in range((n >> 1) - 1, -1, -1):
        heap_sink(heap, n, i, heap[i]["key"], heap[i]["link"])
    while n > 0:
        here = heap[0]["link"]
        link = links[here]
        if link["open"] > 0:
            share = max(level, link["room"] / link["open"])
            if share > heap[0]["key"] * (1 + 1e-14):
                heap_sink(heap, n, 0, share, here)
                if heap[0]["link"] != here:
                    continue
            level = share
            node = link["head"]
            while node >= 0:
                s = seats[node >> bits]
                if s["seen"] == 2 * now:
                    s["seen"] = 2 * now + 1
                    s["wanted"] = share
                    for hop in range(s["first"], s["last"]):
                        crossed = links[route_link[hop]]
                        crossed["room"] -= share
                        crossed["open"] -= 1
                node = nodes[node]["after"]
        n -= 1
        if n > 0:
            heap_sink(heap, n, 0, heap[n]["key"], heap[n]["link"])


@inner
def set_rates(flows: int, t: float, queue: Queue, seats: Seats, work: Gates, counters: Longs, log: Log) -> None:
    """Give the first `flows` of JOINED_FLOWS their new rates, and the queue their new ends: one by one, or where they
    are many all at once."""
    many = 8 * flows > counters[SIZE]
    for i in range(flows):
        seat = work[JOINED_FLOWS, i]
        s = seats[seat]
        old, new = s["rate"], s["wanted"]
        if abs(new - old) <= 1e-13 * old:
            continue
        s["left"] = max(0.0, s["left"] - old * (t - s["since"]))
        s["since"] = t
        s["rate"] = new
        s["end"] = t + s["left"] / new
        note(log, counters, s["row"], t, new)
        if not many:
            push(queue, seats, counters, s["end"], seat)
            continue
        if s["place"] < 0:
            s["place"] = counters[SIZE]
            queue[counters[SIZE]]["seat"] = seat
            counters[SIZE] += 1
        queue[s["place"]]["time"] = s["end"]
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
    floor: Floats,
    log: Log,
) -> int:
    """All events of this moment are over: end the flows that end with them (how many; put into ARRIVED after the first
    `done`), or else give new rates to all that are joined to a dirty link."""
    level = floor[0] * (1 - 1e-9)
    found = work[FOUND]
    visit(route_link, links, nodes, seats, work, counters, level, found)
    floor[0] = np.inf
    counters[DIRTY] = 0
    counters[VISITED] += found[0] + found[1]
    ended = 0
    for i in range(found[1]):
        seat = work[JOINED_FLOWS, i]
        if seats[seat]["end"] <= t * (1 + TOGETHER):
            work[ARRIVED, done + ended] = seat
            ended += 1
    if ended == 0:
        share_out(found[0], level, route_link, links, nodes, seats, heap, work, counters)
        set_rates(found[1], t, queue, seats, work, counters, log)
        return 0
    for i in range(found[0]):  # they are still dirty
        soil(links, work, counters, floor, work[JOINED_LINKS, i], level)
    for i in range(done, done + ended):
        seat = work[ARRIVED, i]
        drop(queue, seats, counters, seat)
        detach(seat, seats, route_link, links, nodes, work, counters, floor)
        note(log, counters, seats[seat]["row"], t, 0.0)
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
    work: Gates,
    counters: Longs,
    floor: Floats,
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
            detach(seat, seats, route_link, links, nodes, work, counters, floor)
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
            s["end"] = np.inf
            if attach(seat, seats, route_link, links, nodes, work, counters, floor):
                s["rate"] = routes[row["route"]]["narrow"]
                s["end"] = t + row["nbytes"] / s["rate"]
                push(queue, seats, counters, s["end"], seat)
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
    floor: Floats,
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
            work,
            counters,
            floor,
            log,
        )
        while True:
            if (
                gamma > 0.0
            ):  # first everything that ends in this moment, so that devices can take it in the order of rows
                if counters[DIRTY] and (counters[SIZE] == 0 or queue[0]["time"] > t):
                    done += settle(done, t, route_link, links, nodes, seats, queue, heap, work, counters, floor, log)
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
            done = settle(0, t, route_link, links, nodes, seats, queue, heap, work, counters, floor, log)
            if done == 0:
                break
    return False
