"""Program order: one walk over the transfers, which gives up where that order is not provably the order of events."""

# mypy: disable-error-code="no-any-return"

from __future__ import annotations

from ...dtypes import Floats, Ints, Longs
from .kernel_records import FAIR, FIFO, Links, Parts, Routes, Rows, Units, compile_inner, compile_kernel


@compile_kernel
def lay_out(
    part: Parts, shift: int, modulus: int, times: int, row: int, sizes: Floats, start: float, delay: Floats, rows: Rows
) -> None:
    """Write all `times` repetitions of a pattern into the table of rows; `sizes` are the bytes of each slot.

    `start`, and the extra delay of each row as its `finish`, are where the queue of events begins (see
    `queue._set_off`).
    """
    for k in range(times):
        by = k * shift % modulus
        for i in range(len(part)):
            p, r = part[i], rows[row]
            offset = p["read_offset"] + by
            if offset >= modulus:
                offset -= modulus
            r["start"] = start
            r["finish"] = delay[row] if len(delay) else 0.0
            r["nbytes"] = sizes[p["block"] + offset]
            r["route"] = p["route"]
            r["waits"] = p["reduce"]
            row += 1


@compile_kernel
def sum_up(
    rows: Rows, steps: Longs, last: int, routes: Routes, route_link: Ints, begin: Floats, end: Floats, carried: Floats
) -> None:
    """When each step of a job begins and ends, into `begin` and `end` (steps,) s; its rows go from `steps[s]` to the
    next (the last one's to `last`). The bytes that they put on each link are added to `carried`."""
    for s in range(len(steps)):
        first, behind = steps[s], steps[s + 1] if s + 1 < len(steps) else last
        starts, ends = rows[first]["start"], rows[first]["finish"]
        for row in range(first, behind):
            r = rows[row]
            starts = min(starts, r["start"])
            ends = max(ends, r["finish"])
            route = routes[r["route"]]
            for hop in range(route["first"], route["last"]):
                carried[route_link[hop]] += r["nbytes"]
        begin[s], end[s] = starts, ends


@compile_inner
def _cross_in_order(
    time: float,
    size: float,
    extra: float,
    overhead: float,
    sharing: int,
    route: int,
    routes: Routes,
    route_link: Ints,
    links: Links,
) -> float:
    """When a transfer that starts at `time` has arrived; -1 where an earlier row may still come between."""
    route_links = routes[route]
    first, last = route_links["first"], route_links["last"]
    if first == last:  # a local copy
        return time
    if sharing == FIFO:
        time += overhead + extra
        for hop in range(first, last):
            link = links[route_link[hop]]
            if time <= link["last"]:  # of those that come at one moment, what set them off decides: the queue knows it
                return -1.0
            link["last"] = time
            time = max(time, link["free"]) + size / link["bandwidth"]
            link["free"] = time
            time += link["alpha"]
        return time
    time += route_links["latency"] + extra
    if size == 0.0:
        return time
    end = time + size / route_links["narrow"]
    if sharing == FAIR:
        for hop in range(first, last):
            # Somebody is still on the link: the two would share it, and at which rates only the queue of events can
            # tell.
            if time < links[route_link[hop]]["free"]:
                return -1.0
        for hop in range(first, last):
            links[route_link[hop]]["free"] = end
    return end


@compile_inner
def _reduce_in_order(time: float, size: float, gamma: float, unit: int, units: Units) -> float:
    """When the device has added what arrived at `time`; -1 where an earlier row may still come between."""
    device = units[unit]
    if time < device["last"]:
        return -1.0
    device["last"] = time
    time = max(time, device["free"]) + size / gamma
    device["free"] = time
    return time


@compile_kernel
def walk_in_order(
    part: Parts,
    shift: int,
    modulus: int,
    first: int,
    last: int,
    row: int,
    sharing: int,
    gamma: float,
    overhead: float,
    rows: Rows,
    delay: Floats,
    routes: Routes,
    route_link: Ints,
    links: Links,
    units: Units,
    sent: Floats,
    received: Floats,
    written: Floats,
    before_start: Longs,
    before: Ints,
) -> bool:
    """Times of repetitions first..last-1 of a pattern; False where program order is not the order of events.

    `sent`, `received`, `written`: when all rows so far of each send queue, receive queue and slot are done. Where
    dependencies are explicit, row r waits for `before[a:b]`, a and b its and the next entry of `before_start`; else
    both are empty.
    """
    m, explicit = len(part), len(before_start) > 0
    for k in range(first, last):
        by = k * shift % modulus
        # All transfers of a step look at what was there before it; a shift wraps within blocks of `modulus`.
        for i in range(m):
            p, me = part[i], rows[row + i]
            offset = p["read_offset"] + by
            if offset >= modulus:
                offset -= modulus
            time = written[p["read"] + offset]
            if explicit:
                for e in range(before_start[row + i], before_start[row + i + 1]):
                    time = max(time, rows[before[e]]["finish"])
            else:
                time = max(time, sent[p["send"]], received[p["receive"]])
            route = p["route"]
            time = max(time, routes[route]["ready"])
            me["start"] = time
            extra = delay[row + i] if len(delay) else 0.0
            # Negative: a link was requested out of order of time, and the caller falls back on the event queue.
            end = _cross_in_order(time, me["nbytes"], extra, overhead, sharing, route, routes, route_link, links)
            if end >= 0.0 and gamma > 0.0 and p["reduce"]:
                end = _reduce_in_order(end, me["nbytes"], gamma, routes[route]["unit"], units)
            if end < 0.0:
                return False
            me["finish"] = end
        for i in range(m):
            p, end = part[i], rows[row + i]["finish"]
            offset = p["write_offset"] + by
            if offset >= modulus:
                offset -= modulus
            slot = p["write"] + offset
            written[slot] = max(written[slot], end)
            if not explicit:
                sent[p["send"]] = max(sent[p["send"]], end)
                received[p["receive"]] = max(received[p["receive"]], end)
        row += m
    return True
