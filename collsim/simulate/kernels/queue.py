"""The queue of events: moment after moment, what happens in it and what that sets off."""

# mypy: disable-error-code="no-any-return"

from __future__ import annotations

from ...dtypes import Ints, Longs
from .gates import RECEIVES, SENDS, fetch_behind, finish_job, open_gate, open_writes, pass_gate
from .groups import end_front, set_ends
from .heap import drop, find_second, push
from .kernel_records import (
    ARRIVED,
    ARRIVES,
    BATCH,
    BEGINS,
    DIRTY,
    DONE,
    FIFO,
    FLOWS,
    FREE_SEATS,
    LOGGED,
    NONE,
    READY,
    REDUCES,
    SIZE,
    SPARE,
    TOGETHER,
    VISITED,
    WAITS,
    Gates,
    Heap,
    Links,
    Log,
    Nodes,
    Routes,
    Rows,
    Seats,
    Units,
    compile_inlined,
    compile_inner,
    compile_kernel,
    fetch,
    note,
)
from .rates import attach, detach, share_out

#: So many a transfer, and a slice is over: where thousands of flows share, a transfer changes the rates of all.
_VISITS = 5


@compile_inner
def _sort_by_row(batch: Ints, n: int, seats: Seats) -> None:
    """Put events of one moment in the order of their rows (Shell sort)."""
    # In place, since kernels make no array (`tables.compile_kernel`); gaps grow by 9/4 (Tokuda 1992).
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


@compile_inner
def _settle(
    done: int,
    t: float,
    route_link: Ints,
    links: Links,
    nodes: Nodes,
    seats: Seats,
    queue: Heap,
    heap: Heap,
    work: Gates,
    counters: Longs,
    log: Log,
) -> int:
    """All events of this moment are over: end the flows that end with them (how many; put into ARRIVED after the first
    `done`), or else give new rates to all that they change."""
    ended = 0
    # Ends that differ by rounding are one moment. Flows that end in it leave before anybody gets a new rate, which
    # would last for no time.
    while counters[SIZE] > 0 and queue[0]["key"] <= t * (1 + TOGETHER):
        seat = queue[0]["item"]
        if seats[seat]["next"] != FLOWS:
            break
        drop(queue, counters, SIZE, seat)
        end_front(seat, t, route_link, links, seats, queue, counters)
        detach(seat, seats, route_link, links, nodes, heap, counters)
        note(log, counters, seats[seat]["row"], t, 0.0)
        work[ARRIVED, done + ended] = seat
        ended += 1
    if ended == 0:
        share_out(t, route_link, links, nodes, seats, queue, heap, work, counters)
        set_ends(t, links, nodes, seats, queue, work, counters, log)
    return ended


# ---- a moment


@compile_inlined
def _set_off(
    seat: int,
    t: float,
    sharing: int,
    overhead: float,
    rows: Rows,
    gates: Gates,
    routes: Routes,
    seats: Seats,
    queue: Heap,
    counters: Longs,
) -> None:
    """A transfer starts: its latency first (fifo: the overhead), then its bytes; or it waits until its endpoints have
    joined.

    An eager one (its start is when it got its data, not negative) waited for the bytes before it to leave; they did so
    a latency before they arrived, so its own latency, which begins at the earliest with its data, is over by then.
    Until it has finished, `finish` is its extra delay.
    """
    s = seats[seat]
    row = rows[s["row"]]
    route = routes[row["route"]]
    # The route's endpoints have not joined yet: try again when they have.
    if route["ready"] > t:
        push(queue, counters, SIZE, route["ready"], seat)
        return
    data = row["start"]
    row["start"] = t
    s["first"], s["last"] = route["first"], route["last"]
    s["next"] = BEGINS
    extra = row["finish"]
    time = t
    if s["first"] == s["last"]:  # a local copy, or a delay
        time += route["latency"]
        s["next"] = ARRIVES
    elif sharing == FIFO:
        # Store and forward: latency is added at each hop, so here only the overhead passes.
        time += overhead + extra
    else:
        time += route["latency"] + extra
        # Eager: the latency counts from when the data was there, and may already be over.
        if data >= 0.0:
            time = max(t, max(data, route["ready"]) + route["latency"] + extra)
            row["start"] = time - route["latency"] - extra
        if row["nbytes"] == 0.0:
            s["next"] = ARRIVES
    push(queue, counters, SIZE, time, seat)
    fetch_behind(gates, s["row"], rows)


@compile_inlined
def _handle_batch(
    n: int,
    t: float,
    sharing: int,
    overhead: float,
    rows: Rows,
    gates: Gates,
    routes: Routes,
    route_link: Ints,
    links: Links,
    nodes: Nodes,
    seats: Seats,
    queue: Heap,
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
            _set_off(seat, t, sharing, overhead, rows, gates, routes, seats, queue, counters)
        elif what >= ARRIVES:
            work[ARRIVED, arrived] = seat
            arrived += 1
        elif what == FLOWS:
            end_front(seat, t, route_link, links, seats, queue, counters)  # it may have got company in this moment
            detach(seat, seats, route_link, links, nodes, heap, counters)
            note(log, counters, s["row"], t, 0.0)
            s["next"] = ARRIVES
            work[ARRIVED, arrived] = seat
            arrived += 1
        elif sharing == FIFO:
            link = links[route_link[s["first"]]]
            # Store and forward: a transfer comes to its next link when its last byte has left this one.
            begin = max(t, link["free"])
            link["free"] = begin + row["nbytes"] / link["bandwidth"]
            if row["nbytes"] > 0.0:
                note(log, counters, s["row"], begin, route_link[s["first"]])
            s["first"] += 1
            if s["first"] == s["last"]:
                s["next"] = ARRIVES
            push(queue, counters, SIZE, link["free"] + link["alpha"], seat)
        elif sharing == NONE:
            s["next"] = ARRIVES
            push(queue, counters, SIZE, t + row["nbytes"] / routes[row["route"]]["narrow"], seat)
        else:
            s["next"] = FLOWS
            s["mark"] = row["nbytes"]
            s["next_rate"] = t
            s["rate"] = 0.0
            if attach(seat, seats, route_link, links, nodes, heap, work, counters):
                s["rate"] = routes[row["route"]]["narrow"]
                push(queue, counters, SIZE, t + row["nbytes"] / s["rate"], seat)
                note(log, counters, s["row"], t, s["rate"])
    return arrived


@compile_inner
def _reduce_first(
    arrived: int,
    t: float,
    gamma: float,
    rows: Rows,
    routes: Routes,
    units: Units,
    seats: Seats,
    queue: Heap,
    work: Gates,
    counters: Longs,
) -> int:
    """Where reducing takes time, the device takes what arrives one after another; how many of ARRIVED are done now."""
    # Arrivals of one moment are reduced in the order of the program, so that two runs agree.
    _sort_by_row(work[ARRIVED], arrived, seats)
    done = 0
    for i in range(arrived):
        seat = work[ARRIVED, i]
        s = seats[seat]
        row = rows[s["row"]]
        if row["waits"] == 0 or s["next"] == REDUCES:
            work[ARRIVED, done] = seat
            done += 1
            continue
        unit = units[routes[row["route"]]["unit"]]
        unit["free"] = max(t, unit["free"]) + row["nbytes"] / gamma
        s["next"] = REDUCES
        push(queue, counters, SIZE, unit["free"], seat)
    return done


@compile_inlined
def finish(
    done: int,
    t: float,
    rows: Rows,
    gates: Gates,
    after_start: Longs,
    after: Ints,
    jobs: Gates,
    of_row: Gates,
    follows: Gates,
    seats: Seats,
    work: Gates,
    counters: Longs,
) -> int:
    """The first `done` transfers in ARRIVED are done: free their seats and open gates; how many rows wait for nothing
    else now. These have seats, in BATCH."""
    ready = work[READY]
    n = 0
    for i in range(done):
        seat = work[ARRIVED, i]
        row = seats[seat]["row"]
        rows[row]["finish"] = t
        # Last in, first out: the seat that was freed last is still in the cache.
        work[FREE_SEATS, counters[SPARE]] = seat
        counters[SPARE] += 1
        if len(after_start):
            for e in range(after_start[row], after_start[row + 1]):
                n = pass_gate(rows, after[e], ready, n)
        else:
            n = open_gate(gates, SENDS, row, ready, n, rows)
            if gates.shape[1] > RECEIVES:
                n = open_gate(gates, RECEIVES, row, ready, n, rows)
        n = open_writes(gates, row, ready, n, rows, t)
        if len(jobs):
            n = finish_job(row, jobs, of_row, follows, ready, n, rows, t)
    counters[DONE] += done
    for i in range(n):
        counters[SPARE] -= 1
        seat = work[FREE_SEATS, counters[SPARE]]
        work[BATCH, i] = seat
        seats[seat]["row"] = ready[i]
        seats[seat]["next"] = WAITS
    return n


@compile_inlined
def _fetch_next(queue: Heap, then: int, rows: Rows, gates: Gates, route_link: Ints, links: Links, seats: Seats) -> None:
    """Fetch what the next event will look at, and the seats of those that may come after it: where no two events are at
    one moment, it is scattered over all tables."""
    s = seats[queue[then]["item"]]
    for position in range(1, 5):
        fetch(seats, queue[position]["item"])
    fetch(rows, s["row"])
    fetch(gates, s["row"])
    for hop in range(s["first"], s["last"]):
        fetch(links, route_link[hop])


@compile_kernel
def run_until(
    most: int,
    fresh: int,
    sharing: int,
    gamma: float,
    overhead: float,
    rows: Rows,
    routes: Routes,
    route_link: Ints,
    links: Links,
    units: Units,
    gates: Gates,
    after_start: Longs,
    after: Ints,
    jobs: Gates,
    of_row: Gates,
    follows: Gates,
    nodes: Nodes,
    seats: Seats,
    queue: Heap,
    heap: Heap,
    work: Gates,
    counters: Longs,
    log: Log,
) -> bool:
    """Run until `most` more transfers are done, rates were as much work, nothing is left, or the log is full; True
    while there is more to do. First the `fresh` seats in BATCH set off, at 0 s."""
    goal = counters[DONE] + most
    counters[VISITED] = 0
    batch = work[BATCH]
    t, n, done = 0.0, fresh, 0
    while True:
        if n > 0:
            if sharing == FIFO:
                _sort_by_row(batch, n, seats)
            done = _handle_batch(
                n,
                t,
                sharing,
                overhead,
                rows,
                gates,
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
        if gamma > 0.0:  # first everything that ends in this moment, so that devices can take it in the order of rows
            if counters[DIRTY] and (counters[SIZE] == 0 or queue[0]["key"] > t):
                done += _settle(done, t, route_link, links, nodes, seats, queue, heap, work, counters, log)
            done = _reduce_first(done, t, gamma, rows, routes, units, seats, queue, work, counters)
        n = finish(done, t, rows, gates, after_start, after, jobs, of_row, follows, seats, work, counters)
        done = 0
        if n > 0:
            continue
        if counters[SIZE] > 0 and queue[0]["key"] < 0.0:
            drop(queue, counters, SIZE, queue[0]["item"])
        if counters[DIRTY] and (counters[SIZE] == 0 or queue[0]["key"] > t):
            done = _settle(0, t, route_link, links, nodes, seats, queue, heap, work, counters, log)
            if done > 0:
                continue
        if counters[SIZE] == 0:
            return False
        # Slices end between moments: a link that still waits has its new rates at this `t`, which the next slice does
        # not know. The log must have room for all that one moment may change: every flow's rate, and flows that begin
        # and end.
        if counters[DIRTY] == 0 and (
            counters[DONE] >= goal
            or counters[VISITED] >= _VISITS * most
            or (len(log) and len(log) - counters[LOGGED] < 3 * len(seats))
        ):
            return True
        t = queue[0]["key"]
        then = find_second(queue)
        alone = gamma == 0.0 and queue[then]["key"] > t
        if alone:
            _fetch_next(queue, then, rows, gates, route_link, links, seats)
        while n == 0 or (not alone and counters[SIZE] > 0 and queue[0]["key"] <= t):
            seat = queue[0]["item"]
            if alone:  # its place is kept: its next event, or who follows it, may take it
                queue[0]["key"] = -1.0
            else:
                drop(queue, counters, SIZE, seat)
            end_front(seat, t, route_link, links, seats, queue, counters)
            batch[n] = seat
            n += 1
