"""The event engine: no barrier; every transfer starts as soon as what it needs is there.

Semantics
- A transfer starts when (a) every transfer of earlier steps that writes the slot it reads has arrived, (b) on its
  channel the transfers of earlier steps are done: sends after sends at its source, receives after receives at its
  destination, and (c) both its endpoints have joined (launch, late ranks). Transfers of one step do not wait for one
  another.
- `eager` changes (b): a send waits until the bytes of those before it have left, not until they have arrived, and
  no send waits for its receiver. The bytes leave a latency before they arrive, so for a send that had its data in time
  the latency has passed while it queued. That is what a program does whose messages are buffered: MPI below the
  library's eager limit, NCCL while its FIFO has room, `run_for_real`; a message above the limit (rendezvous), and Gloo,
  wait for the receiver (docs/real.md).
- Where a schedule carries explicit dependencies (`Schedule.depends`) they replace (b). Nothing holds back a slot that
  is still being read: what arrives waits in the receiver's buffers, as in NCCL's FIFOs.
- Latency first: the sum of alpha over the route, the overhead per transfer, and its jitter; they load no link. Then the
  bytes flow over all links of the route at once, and the transfer has arrived when the last byte has. A transfer
  without bytes costs its latency; a local copy costs nothing.
- `sharing="fair"`: at every moment the rates of all flows are max-min fair over whole routes (Bertsekas & Gallager
  1992, section 6.5.2; SimGrid's network model without its corrections for TCP).
- `sharing="fifo"`: store and forward. Each link serves one transfer at a time, in the order of arrival (at the same
  moment in the order of the schedule's rows, and then what those set off); it takes bytes/bandwidth, and alpha later
  the transfer is at the next link (ASTRA-sim's congestion-aware backend,
  extern/network_backend/analytical/congestion_aware/network/Link.cpp).
- `sharing="none"`: cut-through without contention: latency, then bytes over the slowest link of the route. Links then
  carry more than they can, so such a run may stay below the lower bound of a real network.
- Reducing takes bytes/gamma on the receiving device, after arrival, one transfer after another; nothing where gamma is
  not given.
- An injection limit is one more link at the start of every route, shared by all that its endpoint sends.
- A job that names others (`Job.after`) begins when they have ended: none of its transfers starts before. A delay is a
  job of one row that takes its time and crosses no link.
- Links are full duplex; devices forward at line rate; there are no packets, no protocol and no loss.

How a run is computed (`Timing.how`); each gives the same times, the cheaper is tried first:
- `symmetry`: where every step lasts equally long for all its transfers and none of them can start before the step, the
  lockstep engine's times are exact, and a repeated pattern is worked out once.
- `program order`: one walk over the transfers; given up where one comes to a link before an earlier row is through with
  it, or with `fifo` at the same moment.
- `events`: a queue of events; rates are worked out anew only for flows joined, over shared links, to one that began or
  ended.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from ..dtypes import Bools, Floats, Ints
from ..errors import CollsimError, ScheduleError, Sentence, Words, join_words
from ..limits import find_memory_limit
from ..topology import Topology
from .conditions import SHARING, Conditions, Progress
from .event_layout import (
    Edges,
    Job,
    NumberedJobs,
    build_edges,
    build_network,
    build_orders,
    build_parts,
    get_repetition,
    number_jobs,
)
from .lockstep import Segments, Timing, build_no_segments
from .symmetry import time_by_symmetry
from .waiting import defer_interrupt

if TYPE_CHECKING:
    from .kernels.kernel_records import Records

_SLICE = 200_000  # transfers between two calls of progress
_ENDLESS = 2**62  # what is simulated may fill the machine, unless `limits.within` says otherwise
_ROW_BYTES, _GATE_BYTES = 32, 64  # per transfer: tables.ROW; the tables of `gates.build` and what they need
_QUEUE_BYTES = 40  # per endpoint and channel: its clocks, and its newest rows in `gates.build`


def run_events(
    jobs: Sequence[Job], topology: Topology, conditions: Conditions, progress: Progress | None = None
) -> list[Timing]:
    """Run jobs side by side; the timing of each.

    Args:
        jobs: Each with its schedule, sizes in bytes, ranks and start times. They share the links; a job with `after`
            waits for others.
        topology: With its helpers placed (`HelperPlacement`).
        conditions: How links are shared, extra delays, launch and overhead in s.
        progress: Called with (transfers done, transfers in all) a few times a second; None for no calls.

    Returns:
        One timing a job, in their order, in s from the beginning of the run.

    Raises:
        TopologyError: Where endpoints cannot reach each other.
        ScheduleError: Where explicit dependencies form a circle.
        CollsimError: Where there are more transfers than memory holds.
    """
    if (
        conditions.shortcuts
        and len(jobs) == 1
        and conditions.is_steady
        and (timing := time_by_symmetry(jobs[0], topology, conditions)) is not None
    ):
        return [timing]
    run, how = _run_jobs(jobs, topology, conditions, progress)
    return [_build_timing(run, number, how) for number in range(len(jobs))]


def find_spans(jobs: Sequence[Job], topology: Topology, conditions: Conditions) -> tuple[Floats, Floats]:
    """When each job begins and ends, without the timing of its transfers.

    Args:
        jobs: As in `run_events`.
        topology: As in `run_events`.
        conditions: As in `run_events`.

    Returns:
        (jobs,) s, start of each job's first transfer, and (jobs,) s, arrival of its last; 0 for jobs without transfers.

    Raises:
        CollsimError: As `run_events`.
    """
    run, _ = _run_jobs(jobs, topology, conditions)
    many = np.array([job.rows for job in jobs], np.int64)
    first = np.array([base.row for base in run.plan.bases], np.int64)[many > 0]
    out = np.zeros((2, len(jobs)))
    if len(first):
        out[0, many > 0] = np.minimum.reduceat(run.rows["start"], first)
        out[1, many > 0] = np.maximum.reduceat(run.rows["finish"], first)
    return out[0], out[1]


def _run_jobs(
    jobs: Sequence[Job], topology: Topology, conditions: Conditions, progress: Progress | None = None
) -> tuple[_Run, str]:
    """Jobs, run; and the way in which."""
    _require_memory(jobs, _ROW_BYTES)
    plan = number_jobs(jobs)
    if progress is not None:
        progress(0, plan.rows)
    # Compiling is long and cannot be interrupted safely.
    with defer_interrupt():
        from .kernels import walk  # noqa: F401  (brings the compiler, and compiles)
    run = _Run(plan, topology, conditions, progress)
    how = "program order"
    # One pass in program order is many times faster than the event queue; where it finds that order wrong, the queue
    # starts anew.
    if not (conditions.shortcuts and run.walk_in_order()):
        how = "events"
        _require_memory(jobs, _ROW_BYTES + _GATE_BYTES)
        run.run_queue()
    run.progress = None
    return run, how


def _require_memory(jobs: Sequence[Job], row_bytes: int) -> None:
    """Refuse what this machine cannot hold, with a sentence, before it is killed for trying."""
    rows, slots = sum(job.rows for job in jobs), sum(job.endpoints * job.slot_stride for job in jobs)
    queues = sum(job.endpoints * job.channels for job in jobs)
    need = rows * row_bytes + slots * 8 + queues * _QUEUE_BYTES
    if rows >= 2**31 or need > (have := min(_read_memory(), find_memory_limit(_ENDLESS))):
        demand = Sentence("{rows:,} transfers would take {need:.3g} GiB", rows=rows, need=need / 2**30)
        if rows >= 2**31:
            limit = Sentence("more than 2,147,483,647 do not fit its tables")
        else:
            limit = Sentence("there is {have:.3g} GiB", have=have / 2**30)
        message = "engine 'event': {wanted}, and {limit}; use fewer ranks or chunks, or engine='lockstep'"
        raise CollsimError(message, wanted=demand, limit=limit)


def _read_memory() -> float:
    """Bytes of memory of this machine; endless where it does not say."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):  # not on every system
        return float("inf")


class _Run:
    """The arrays of one run, and the two ways through them. The kernels are imported where they are needed: that may
    compile them."""

    def __init__(self, plan: NumberedJobs, topology: Topology, conditions: Conditions, progress: Progress | None):
        # Imported late: it brings the compiler, which costs a second that lockstep runs do not need.
        from .kernels.kernel_records import ROW

        self.plan, self.conditions, self.progress, self.visits = plan, conditions, progress, 0
        self.net = build_network(plan, topology, conditions)
        self.edges = build_edges(plan)
        self.parts = build_parts(plan)
        random = np.random.default_rng(conditions.seed)
        if conditions.jitter:
            self.extra_delay = random.exponential(conditions.jitter, plan.rows)
        else:
            self.extra_delay = np.zeros(0)
        self.sharing, self.gamma = SHARING.index(conditions.sharing), conditions.gamma or 0.0
        self.units = int(self.net.routes["unit"].max(initial=-1)) + 1
        self.rows = np.empty(plan.rows, ROW)

    def lay_out(self) -> None:
        """Write a row for each transfer of all jobs, nothing timed yet."""
        from .kernels import walk

        rows, start = self.rows, 0.0 if self.conditions.eager else -1.0
        for job, base, listed in zip(self.plan.jobs, self.plan.bases, self.parts, strict=True):
            row = base.row
            # A pause or a plain flow has no chunks: its bytes are written straight into the rows below.
            if job.schedule is not None:
                sizes = job.slot_bytes.astype(np.float64)
            else:
                sizes = np.zeros(1)
            for p, part in zip(job.singles, listed, strict=True):
                walk.lay_out(part, *get_repetition(p), p.times, row, sizes, start, self.extra_delay, rows)
                row += p.times * len(p)
            if job.schedule is None:
                rows["nbytes"][base.row : row] = job.slot_bytes

    def tell(self, done: int) -> None:
        if self.progress is not None:
            self.progress(done, self.plan.rows)

    def walk_in_order(self) -> bool:
        """Walk the rows once in program order; False where that cannot be right."""
        from .kernels import kernel_records, walk

        plan = self.plan
        if self.conditions.eager or any(job.after for job in plan.jobs) or _has_later_dependencies(self.edges):
            return False
        self.lay_out()
        clocks = np.zeros(plan.queues), np.zeros(plan.queues), np.zeros(plan.slots)
        links = self.net.links.copy()
        # Keep `links["last"]` below any time, or a first transfer at 0 s would look like one that came out of order.
        links["last"] = -1.0
        network = self.net.routes, self.net.route_link, links, np.zeros(self.units, kernel_records.UNIT)
        rules = self.sharing, self.gamma, self.conditions.overhead
        after = *network, *clocks, *self.edges
        for part, rotated, first, last, row in self._iterate_slices():
            if not walk.walk_in_order(part, *rotated, first, last, row, *rules, self.rows, self.extra_delay, *after):
                return False
            self.tell(row + (last - first) * len(part))
        return True

    def _iterate_slices(self) -> Iterator[tuple[Records, tuple[int, int], int, int, int]]:
        """(part, (shift, modulus), first repetition, last, row) in bites between which progress is told."""
        for job, base, listed in zip(self.plan.jobs, self.plan.bases, self.parts, strict=True):
            row = base.row
            for p, part in zip(job.singles, listed, strict=True):
                bite = max(1, _SLICE // len(p))
                for first in range(0, p.times, bite):
                    last = min(p.times, first + bite)
                    yield part, get_repetition(p), first, last, row
                    row += (last - first) * len(p)

    def run_queue(self, log: bool = False) -> Records:
        """Run the queue of events; the changes of rates, none without `log`."""
        with defer_interrupt():
            from .kernels import heap, kernel_records, queue

        self.lay_out()
        gates, width, free = self._build_gates()
        waits = self.rows["waits"]
        order = build_orders(self.plan, waits)
        net, links = self.net, kernel_records.allocate_aligned(len(self.net.links), kernel_records.LINK)
        links[:] = net.links
        hops = max(1, int((net.routes["last"] - net.routes["first"]).max(initial=1)))
        # Where a flow is in the list of a link is one whole number: its seat, and in the lowest bits the hop of its
        # route.
        bits = (hops - 1).bit_length()
        nodes, seats = (
            np.zeros(width << bits, kernel_records.NODE),
            kernel_records.allocate_aligned(width, kernel_records.SEAT),
        )
        agenda, waiting = heap.build_heap(width), heap.build_heap(len(links))
        work = np.zeros((kernel_records.SPACES, max(width, len(links), 2)), np.int32)
        fresh = free[waits[free] < kernel_records.ONE_GATE]
        work[kernel_records.FREE_SEATS, :width] = np.arange(width)[::-1]
        work[kernel_records.BATCH, : len(fresh)] = np.arange(len(fresh))
        seats["row"][: len(fresh)], seats["next"][: len(fresh)] = fresh, kernel_records.WAITS
        counters = np.zeros(kernel_records.COUNTERS, np.int64)
        counters[kernel_records.SPARE], counters[kernel_records.BITS] = width - len(fresh), bits
        changes = np.zeros(max(_SLICE, 6 * width) if log else 0, kernel_records.LOG)
        rules = self.sharing, self.gamma, self.conditions.overhead
        network = self.rows, net.routes, net.route_link, links, np.zeros(self.units, kernel_records.UNIT)
        space = nodes, seats, agenda, waiting, work, counters, changes
        written = []
        more, begin = True, len(fresh)
        while more:
            more = queue.run_until(
                _SLICE, begin, *rules, *network, gates, *_reverse_edges(self.edges, self.plan.rows), *order, *space
            )
            begin = 0
            self.visits += 0 if log else int(counters[kernel_records.VISITED])
            self.tell(int(counters[kernel_records.DONE]))
            if log:
                written.append(changes[: counters[kernel_records.LOGGED]].copy())
                counters[kernel_records.LOGGED] = 0
        if counters[kernel_records.DONE] < self.plan.rows:
            raise _explain_circle(self.plan, self.edges, waits >= kernel_records.ONE_GATE)
        if log:
            return np.concatenate(written)
        return changes

    @cached_property
    def changes(self) -> Records:
        """All changes of rates, by row: the run once more, with a log."""
        log = self.run_queue(log=True)
        return log[np.argsort(log["row"], kind="stable")]

    def _build_gates(self) -> tuple[Ints, int, Ints]:
        """The gates of each row (`kernels.gates`), how many transfers can be under way at once, and the rows that wait
        for none of the gates that are counted row by row."""
        from .kernels import gates, kernel_records

        n, explicit = self.plan.rows, len(self.edges.start) > 0
        # A row has a column for each gate that it may open. Explicit dependencies replace the order of sends and
        # receives, and an eager sender does not wait for receivers, so those columns are left out.
        last_gates = gates.RECEIVES
        if explicit:
            last_gates = gates.WRITES
        elif self.conditions.eager:
            last_gates = gates.SENDS
        table = gates.build_table(n, last_gates)
        # Of each queue the newest rows (`gates.build`); the last two lines are counts, which begin at 0.
        newest = np.full((6, self.plan.queues), -1, np.int32)
        newest[4:] = 0
        newest_write = np.full(self.plan.slots, -1, np.int32)
        free, count = np.empty(n, np.int32), 0
        for part, rotated, first, last, row in self._iterate_slices():
            count = gates.build(part, *rotated, first, last, row, self.rows, table, newest, newest_write, free, count)
        if explicit:
            self.rows["waits"] += kernel_records.ONE_GATE * np.diff(self.edges.start).astype(np.int32)
        # Groups of a queue run one after another, so no more transfers are under way at once than the largest group of
        # each queue has.
        return table, n if explicit else max(1, int(newest[4].sum())), free[:count]


def _has_later_dependencies(before: Edges) -> bool:
    """Does a row wait for one that stands below it?"""
    counts = np.diff(before.start)
    return bool((before.row >= np.repeat(np.arange(len(counts)), counts)).any())


def _reverse_edges(edges: Edges, rows: int) -> Edges:
    """Those that wait for each row, from those that each row waits for."""
    if not len(edges.start):
        return edges
    owner = np.repeat(np.arange(rows, dtype=np.int32), np.diff(edges.start))
    start = np.concatenate([[0], np.cumsum(np.bincount(edges.row, minlength=rows))]).astype(np.int64)
    return Edges(start, owner[np.argsort(edges.row, kind="stable")])


def _explain_circle(plan: NumberedJobs, edges: Edges, pending: Bools) -> ScheduleError:
    """The circle in which transfers wait for one another."""
    row = int(np.argmax(pending))
    # Following any unfinished predecessor must come back to a transfer that was seen: the rest would have ended.
    seen: dict[int, int] = {}
    while row not in seen:
        seen[row] = len(seen)
        before = edges.row[edges.start[row] : edges.start[row + 1]]
        waiting = before[pending[before]]
        if not len(waiting):
            break
        row = int(waiting[0])
    circle = list(seen)[seen[row] :]
    number = max(i for i, base in enumerate(plan.bases) if base.row <= row)
    schedule = plan.jobs[number].schedule
    assert schedule is not None
    names: list[Words] = []
    # Six are enough to find the mistake in a schedule; a circle may have thousands.
    for r in circle[:6]:
        t = schedule.transfers[r - plan.bases[number].row]
        names.append(
            Sentence(
                "transfer {transfer} (step {step}, {src} to {dst}, chunk {chunk})",
                transfer=r - plan.bases[number].row,
                **{name: int(t[name]) + (name == "step") for name in ("step", "src", "dst", "chunk")},
            )
        )
    more: Words = ""
    if len(circle) > 6:
        more = Sentence(", and {more} more", more=len(circle) - 6)
    first = schedule.transfers[circle[0] - plan.bases[number].row]
    return ScheduleError(
        "{label} cannot end: {names}{more}, which waits for the first of them",
        label=schedule.label,
        names=join_words(names, "{first} waits for {then}"),
        more=more,
        step=int(first["step"]),
        rank=int(first["src"]),
        chunk=int(first["chunk"]),
    )


def _build_timing(run: _Run, number: int, how: str) -> Timing:
    """The part of one job."""
    job, base, net = run.plan.jobs[number], run.plan.bases[number], run.net
    rows = run.rows[base.row : base.row + job.rows]
    transfers = partial(_read_times, rows)
    if job.rows == 0:
        return Timing(np.zeros(0), np.zeros(0), np.zeros(net.first_links), transfers, how, build_no_segments)
    from .kernels import walk

    begin, end, loads = np.empty(len(job.step_rows)), np.empty(len(job.step_rows)), np.zeros(len(net.links))
    steps = base.row + job.step_rows
    walk.sum_up(run.rows, steps, base.row + job.rows, net.routes, net.route_link, begin, end, loads)
    flows, crossing = partial(_find_segments, run, number, how), partial(_find_link_segments, run, number, how)
    return Timing(begin, end, loads[: net.first_links], transfers, how, flows, crossing, run.visits)


def _find_link_segments(run: _Run, number: int, how: str) -> Segments:
    """When and how fast bytes flow over each link of the topology: a stretch on a route is one on each of its links."""
    flows, net = _find_segments(run, number, how), run.net
    if run.conditions.sharing != "fifo":
        route = net.routes[run.rows["route"][run.plan.bases[number].row + flows.row]]
        hops = route["last"] - route["first"]
        before = np.concatenate([[0], np.cumsum(hops)])[:-1]
        link = net.route_link[np.arange(hops.sum()) + np.repeat(route["first"] - before, hops)].astype(np.int64)
        flows = flows.select(np.repeat(np.arange(len(hops)), hops))._replace(link=link)
    return flows.select(np.flatnonzero(flows.link < net.first_links))


def _read_times(rows: Records) -> tuple[Floats, Floats]:
    return np.array(rows["start"]), np.array(rows["finish"])


def _find_segments(run: _Run, number: int, how: str) -> Segments:
    """When and how fast bytes flow. Rates that changed, and the hops of fifo, are found by running again with a log."""
    base = run.plan.bases[number].row
    last = base + run.plan.jobs[number].rows
    if run.conditions.sharing == "fifo" or (how == "events" and run.conditions.sharing == "fair"):
        return _read_logged_segments(run, base, last)
    return _build_even_segments(run, base, last)


def _read_logged_segments(run: _Run, base: int, last: int) -> Segments:
    """Of rows from base to last, as the log has them: hops of fifo, or every change of a rate."""
    changes = run.changes[(run.changes["row"] >= base) & (run.changes["row"] < last)]
    row, begin, value = (np.array(changes[name]) for name in ("row", "time", "value"))
    if run.conditions.sharing == "fifo":
        link = value.astype(np.int64)
        rate = run.net.links["bandwidth"][link]
        return Segments(row - base, link, begin, begin + run.rows["nbytes"][row] / rate, rate)
    on = np.flatnonzero(value > 0)
    # Entries of a row follow one another, and its last one is a rate of 0, so a stretch ends where the next entry
    # begins.
    return Segments(row[on] - base, np.full(len(on), -1), begin[on], begin[on + 1], value[on])


def _build_even_segments(run: _Run, base: int, last: int) -> Segments:
    """Of rows from base to last that keep one rate from their first byte to the last."""
    row = np.arange(base, last)
    row = row[(run.rows["nbytes"][row] > 0) & np.isfinite(run.net.routes["narrow"][run.rows["route"][row]])]
    route = run.net.routes[run.rows["route"][row]]
    extra = 0.0
    if len(run.extra_delay):
        extra = run.extra_delay[row]
    begin = run.rows["start"][row] + (route["latency"] + extra)
    end = begin + run.rows["nbytes"][row] / route["narrow"]
    return Segments(row - base, np.full(len(row), -1), begin, end, route["narrow"])
