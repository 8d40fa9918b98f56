"""The loops of the event engine: numba compiles them where it is there, plain Python runs the same source where it is
not.

Not imported before the event engine first runs. Their rules are in the docstring of `event`. Two ways through a
schedule:

- `walk` takes the transfers in program order, once, and stops where that order is not provably the order of events.
- `queue` runs a queue of events over gates: `gates` are groups of transfers that others wait for, `rates` gives flows
  their max-min fair rates, `groups` keeps flows of one rate together, `heap` keeps seats and links in order.

A row is a transfer in program order; a route is a pair of endpoints; a seat is the place of a transfer under way.
Everything is in arrays of records (`kernel_records`), few enough to be handed around: a compiled function pays for each
array it is given.

Kernels share their parameters, and one name means the same in all of them. Records are described in `tables`, columns
of gates in `gates`, and a kernel's docstring names what only it takes; a test holds that all are named.

Shared parameters:
    rows: (transfers,) ROW records, in program order.
    row: Number of a transfer.
    routes: (pairs,) ROUTE records.
    route_link: Links of all routes, one after the other; a route has `route_link[first:last]`.
    links: (links,) LINK records, an injection limit beyond the topology's links.
    link, here: A link's record; a link's number.
    units: (devices,) UNIT records: devices that reduce.
    seats: (seats,) SEAT records.
    seat: Number of a seat.
    nodes: (seats << bits,) NODE records: the flows over each link as linked lists.
    node: `seat << bits | hop`, a flow on one link of its route.
    gates: (transfers, columns) groups of transfers that others wait for.
    column: First column of a kind of group: WRITES, SENDS or RECEIVES.
    queue: (seats + 1,) HEAP of seats, by the s of their next event.
    heap: (links,) HEAP of links whose rates may change, by B/s.
    work: (SPACES, seats) scratch rows: FREE_SEATS, BATCH, ...
    counters: (COUNTERS,) numbers that kernels hand to each other: SIZE, DONE, ...
    log: LOG records; empty where nobody wants changes of rate.
    jobs, of_row, follows: Jobs that wait for others: see `gates.finish_job`; empty where none does.
    after_start, after: Explicit dependencies, both empty where there are none: the rows that wait for row r are
        `after[after_start[r]:after_start[r + 1]]`.
    part: PART records of one pattern, a record for each of its rows.
    shift, modulus: Repetition k of the pattern is `k * shift` slots on, modulo `modulus`.
    first, last: Repetitions `first` to `last - 1` are meant.
    ready: Rows that wait for nothing else, the first `n` of it in use.
    n: Entries in use; a kernel that adds some returns how many there are then.
    t: s, the moment of the event.
    sharing: NONE, FAIR or FIFO: how flows share a link.
    gamma: B/s that a device reduces; 0.0 where it takes no time.
    overhead: s added to each transfer.
    share: B/s, the rate that a full link gives to each of its flows.
    delay: (transfers,) s, extra latency; empty for none.

A kernel may call kernels of other files: the cache asks for all files of this folder (`tables`), where numba alone
looks at the kernel's own.
"""
