"""Gates: groups of transfers that others wait for, and what opens when they are done."""

# mypy: disable-error-code="no-any-return"

from __future__ import annotations

import numpy as np

from ...dtypes import Ints
from .kernel_records import (
    ONE_GATE,
    Gates,
    Parts,
    Rows,
    allocate_aligned,
    compile_inlined,
    compile_inner,
    compile_kernel,
    fetch,
)

#: Columns of the table of gates, a line of it to each row: the first row that reads what its group wrote, and the next
#: reader in the list that it is in; its groups of writes, sends and receives begin at the others.
READERS, NEXT_READER, WRITES, SENDS, RECEIVES = 0, 1, 2, 4, 6
BEHIND, LEFT, COLUMNS = 0, 1, 2  # columns of a group: see `build`
#: What BEHIND holds: of a lead, the lead of the next group, or this; of any other row of a group, -2 less its lead.
_NONE_BEHIND = -1
ROWS, WAITED, FIRST, FOLLOW = 0, 1, 2, 3  # columns of a job, where jobs wait for others: see `finish_job`


def build_table(rows: int, last: int) -> Gates:
    """A table of gates, aligned so that a line of the cache holds two rows with all of their columns.

    Args:
        rows: Transfers in all.
        last: Column at which the last of the groups begins: SENDS, RECEIVES or WRITES.
    """
    columns = last + COLUMNS
    return allocate_aligned(rows * columns, np.int32).reshape(rows, columns)


@compile_inlined
def find_lead(gates: Gates, column: int, row: int) -> int:
    """The first row of a row's group, which stands for it."""
    behind = gates[row, column + BEHIND]
    return row if behind >= _NONE_BEHIND else _NONE_BEHIND - 1 - behind


@compile_inner
def join(gates: Gates, column: int, row: int, begin: int, key: int, newest: Ints, before: Ints) -> int:
    """Put a row in the newest group of its queue, or open one behind it; the group it has to wait for, -1 for none.

    The queue is `key`; `newest[key]` is the lead of its newest group and `before[key]` of the one before, -1 for none.
    `begin` is the first row of the step: a lead before it belongs to an earlier step.
    """
    lead = newest[key]
    # The lead is the newest row before this step, so this row opens a group.
    if lead < begin:
        before[key] = lead
        newest[key] = row
        gates[row, column + BEHIND] = _NONE_BEHIND
        gates[row, column + LEFT] = 1 if lead < 0 else -1
        if lead >= 0:
            gates[lead, column + BEHIND] = row
        return lead
    # A member points at its lead; the encoding leaves -1 and positive numbers for leads.
    gates[row, column + BEHIND] = _NONE_BEHIND - 1 - lead
    if before[key] < 0:
        gates[lead, column + LEFT] += 1
    else:
        gates[row, column + LEFT] = gates[lead, column + LEFT]
        gates[lead, column + LEFT] = row
    return before[key]


@compile_kernel
def build(
    part: Parts,
    shift: int,
    modulus: int,
    first: int,
    last: int,
    row: int,
    rows: Rows,
    gates: Gates,
    queues: Gates,
    newest_write: Ints,
    free: Ints,
    n: int,
) -> int:
    """Hang repetitions first..last-1 of a pattern behind the gates they wait for.

    A group is the rows of one step in one queue (sends of an endpoint on a channel, receives, writes of a slot); its
    first row, the lead, stands for it. BEHIND is the lead of the group behind, -1 for none; of the others -2 - their
    lead. LEFT of a lead is how many rows are not done; of sends and receives that wait for a group before them, none
    of which has begun, it is the first of the others instead, LEFT of that one the next, and so on to -1 (`open_gate`
    counts them). READERS of a lead of writes is the first row that reads what they wrote, NEXT_READER of that row the
    next reader.

    `queues`: newest send group, the one before, receives alike, largest send group, how large the newest is. Explicit
    dependencies: there are no columns of sends and receives. Eager: none of receives. `newest_write`: of each slot, the
    lead of the group that wrote it last. Rows that wait for no gate are put behind the first n of `free`; how many are
    there then.
    """
    m = len(part)
    for k in range(first, last):
        by = k * shift % modulus
        for i in range(m):
            p, me, waits = part[i], row + i, 0
            offset = p["read_offset"] + by
            if offset >= modulus:
                offset -= modulus
            # A row waits for the newest write of what it reads; rows of one step do not see one another's writes.
            source = newest_write[p["read"] + offset]
            gates[me, READERS], gates[me, NEXT_READER] = -1, -1
            if source >= 0:
                waits += 1
                gates[me, NEXT_READER] = gates[source, READERS]
                gates[source, READERS] = me
            if gates.shape[1] > SENDS:
                key = p["send"]
                waits += join(gates, SENDS, me, row, key, queues[0], queues[1]) >= 0
                if gates.shape[1] > RECEIVES:
                    waits += join(gates, RECEIVES, me, row, p["receive"], queues[2], queues[3]) >= 0
                # The largest send group says how many seats an endpoint can need at once.
                queues[5, key] = queues[5, key] + 1 if queues[0, key] != me else 1
                queues[4, key] = max(queues[4, key], queues[5, key])
            rows[me]["waits"] += ONE_GATE * waits
            if waits == 0:
                free[n] = me
                n += 1
        for i in range(m):  # after all reads of the step: they see what was there before it
            p, me = part[i], row + i
            offset = p["write_offset"] + by
            if offset >= modulus:
                offset -= modulus
            slot = p["write"] + offset
            lead = newest_write[slot]
            if lead >= row:
                gates[me, WRITES + BEHIND] = _NONE_BEHIND - 1 - lead
                gates[lead, WRITES + LEFT] += 1
                continue
            newest_write[slot] = me
            gates[me, WRITES + LEFT] = 1
            gates[me, WRITES + BEHIND] = _NONE_BEHIND
            if lead >= 0:
                gates[lead, WRITES + BEHIND] = me
                gates[me, WRITES + LEFT] += 1
        row += m
    return n


@compile_inlined
def pass_gate(rows: Rows, row: int, ready: Ints, n: int) -> int:
    """One of the gates that a row waits for is open; after the last of them it is the n-th that is ready."""
    me = rows[row]
    me["waits"] -= ONE_GATE
    if me["waits"] < ONE_GATE:
        ready[n] = row
        n += 1
    return n


@compile_inlined
def fetch_behind(gates: Gates, row: int, rows: Rows) -> None:
    """Fetch what the end of a row will open: nobody was there since it was made, and it comes from afar."""
    if gates.shape[1] > SENDS:
        fetch(gates, gates[row, SENDS + BEHIND])
        fetch(rows, gates[row, SENDS + BEHIND])
    fetch(gates, gates[row, WRITES + BEHIND])
    fetch(gates, gates[row, READERS])
    fetch(rows, gates[row, READERS])


@compile_inlined
def open_gate(gates: Gates, column: int, row: int, ready: Ints, n: int, rows: Rows) -> int:
    """One row of a group is done; after the last of them, rows of the group behind that wait for nothing else are
    ready."""
    lead = find_lead(gates, column, row)
    gates[lead, column + LEFT] -= 1
    if gates[lead, column + LEFT] == 0:
        behind = gates[lead, column + BEHIND]
        member, many = behind, 0
        while member >= 0:
            n = pass_gate(rows, member, ready, n)
            member = gates[member, column + LEFT]
            many += 1
        if behind >= 0:
            gates[behind, column + LEFT] = many
    return n


@compile_inlined
def note_data(rows: Rows, row: int, t: float) -> None:
    """Note when an eager row waits for its queue alone: its start is no longer negative then (see `queue._set_off`)."""
    if rows[row]["start"] >= 0.0:
        rows[row]["start"] = t


@compile_inlined
def open_writes(gates: Gates, row: int, ready: Ints, n: int, rows: Rows, t: float) -> int:
    """What a group of writers wrote may be read when they and all writers before them are done."""
    group = find_lead(gates, WRITES, row)
    gates[group, WRITES + LEFT] -= 1
    while group >= 0 and gates[group, WRITES + LEFT] == 0:
        reader = gates[group, READERS]
        while reader >= 0:
            note_data(rows, reader, t)
            n = pass_gate(rows, reader, ready, n)
            reader = gates[reader, NEXT_READER]
        group = gates[group, WRITES + BEHIND]
        if group >= 0:
            gates[group, WRITES + LEFT] -= 1
    return n


@compile_inner
def finish_job(row: int, jobs: Gates, of_row: Gates, follows: Gates, ready: Ints, n: int, rows: Rows, t: float) -> int:
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
    # The list of followers is linked through `follows`; each is released when its last predecessor has ended.
    entry = jobs[job, FOLLOW]
    while entry >= 0:
        behind = follows[entry, 0]
        entry = follows[entry, 1]
        jobs[behind, WAITED] -= 1
        if jobs[behind, WAITED] == 0:
            first = jobs[behind, FIRST]
            while first >= 0:
                note_data(rows, first, t)
                n = pass_gate(rows, first, ready, n)
                first = of_row[first, 1]
    return n
