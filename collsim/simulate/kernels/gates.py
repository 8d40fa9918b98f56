"""Gates: groups of transfers that others wait for, and what opens when they are done."""

# mypy: disable-error-code="no-any-return"

from __future__ import annotations

import numpy as np

from .tables import Gates, Ints, Parts, Rows, compiled, fetch, inlined, inner, lined_up

#: Columns of the table of gates, a line of it to each row: how many gates the row waits for; the first row that reads
#: what its group wrote, and of that row the next reader; its groups of writes, sends and receives begin at the others.
PENDING, READERS, NEXT_READER, WRITES, SENDS, RECEIVES = 0, 1, 2, 4, 8, 12
LEAD, NEXT_ROW, LEFT, BEHIND, COLUMNS = 0, 1, 2, 3, 4  # columns of a group: see `build`
ROWS, WAITED, FIRST, FOLLOW = 0, 1, 2, 3  # columns of a job, where jobs wait for others: see `end_of_job`


def table(rows: int, last: int) -> Gates:
    """Gates of so many rows, the groups at `last` the last of them. A row of all of them is one line of the cache."""
    columns = last + COLUMNS
    return lined_up(rows * columns, np.int32).reshape(rows, columns)


@inner
def join(gates: Gates, at: int, row: int, begin: int, key: int, newest: Ints, before: Ints) -> int:
    """Put a row in the newest group of its queue, or open one behind it; the group it has to wait for, -1 for none."""
    lead = newest[key]
    if lead < begin:  # no row of this step yet
        before[key] = lead
        newest[key] = row
        gates[row, at + LEAD] = row
        gates[row, at + NEXT_ROW] = -1
        gates[row, at + LEFT] = 1
        gates[row, at + BEHIND] = -1
        if lead >= 0:
            gates[lead, at + BEHIND] = row
        return lead
    gates[row, at + LEAD] = lead
    gates[row, at + NEXT_ROW] = gates[lead, at + NEXT_ROW]
    gates[lead, at + NEXT_ROW] = row
    gates[lead, at + LEFT] += 1
    return before[key]


@compiled
def build(
    part: Parts,
    shift: int,
    modulus: int,
    first: int,
    last: int,
    row: int,
    gates: Gates,
    queues: Gates,
    newest_write: Ints,
    free: Ints,
    n: int,
) -> int:
    """Hang repetitions first..last-1 of a pattern behind the gates they wait for.

    A group is the rows of one step in one queue (sends of an endpoint on a channel, receives, writes of a slot); its
    first row stands for it. Columns: LEAD the first row of the row's group; of that row, NEXT_ROW the next in the
    group, LEFT how many are not done, BEHIND the group behind; READERS of a group of writes the first row that reads
    what they wrote, NEXT_READER of that row the next reader. PENDING counts the gates of each row. `queues`: newest
    send group, the one before, receives alike, largest send group. Explicit dependencies: there are no columns of sends
    and receives. Eager: none of receives. Rows that wait for no gate are put behind the first n of `free`; how many are
    there then.
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
            gates[me, READERS] = -1
            gates[me, NEXT_READER] = -1
            if source >= 0:
                waits += 1
                gates[me, NEXT_READER] = gates[source, READERS]
                gates[source, READERS] = me
            if gates.shape[1] > SENDS:
                key = p["send"]
                waits += join(gates, SENDS, me, row, key, queues[0], queues[1]) >= 0
                if gates.shape[1] > RECEIVES:
                    waits += join(gates, RECEIVES, me, row, p["receive"], queues[2], queues[3]) >= 0
                queues[4, key] = max(queues[4, key], gates[gates[me, SENDS + LEAD], SENDS + LEFT])
            gates[me, PENDING] = waits
            if waits == 0:
                free[n] = me
                n += 1
        for i in range(m):
            p, me = part[i], row + i
            turn = p["into"] + by
            if turn >= modulus:
                turn -= modulus
            slot = p["write"] + turn
            lead = newest_write[slot]
            if lead >= row:
                gates[me, WRITES + LEAD] = lead
                gates[lead, WRITES + LEFT] += 1
                continue
            newest_write[slot] = me
            gates[me, WRITES + LEAD] = me
            gates[me, WRITES + LEFT] = 1
            gates[me, WRITES + BEHIND] = -1
            if lead >= 0:
                gates[lead, WRITES + BEHIND] = me
                gates[me, WRITES + LEFT] += 1
        row += m
    return n


@inlined
def pass_gate(gates: Gates, row: int, ready: Ints, n: int) -> int:
    """One of the gates that a row waits for is open; after the last of them it is the n-th that is ready."""
    gates[row, PENDING] -= 1
    if gates[row, PENDING] == 0:
        ready[n] = row
        n += 1
    return n


@inlined
def fetch_behind(gates: Gates, row: int, rows: Rows) -> None:
    """Fetch what the end of a row will open: nobody was there since it was made, and it comes from afar."""
    if gates.shape[1] > SENDS and gates[row, SENDS + LEAD] == row:
        fetch(gates, gates[row, SENDS + BEHIND])
        fetch(rows, gates[row, SENDS + BEHIND])
    if gates[row, WRITES + LEAD] == row:
        fetch(gates, gates[row, WRITES + BEHIND])
        fetch(gates, gates[row, READERS])
        fetch(rows, gates[row, READERS])


@inlined
def open_gate(gates: Gates, at: int, row: int, ready: Ints, n: int) -> int:
    """One row of a group is done; after the last of them, rows of the group behind that wait for nothing else are
    ready."""
    lead = gates[row, at + LEAD]
    gates[lead, at + LEFT] -= 1
    if gates[lead, at + LEFT] == 0:
        member = gates[lead, at + BEHIND]
        while member >= 0:
            n = pass_gate(gates, member, ready, n)
            member = gates[member, at + NEXT_ROW]
    return n


@inlined
def has_data(rows: Rows, row: int, t: float) -> None:
    """Note when an eager row got all but its turn: its start is no longer negative then (see `set_off`)."""
    if rows[row]["start"] >= 0.0:
        rows[row]["start"] = t


@inlined
def open_writes(gates: Gates, row: int, ready: Ints, n: int, rows: Rows, t: float) -> int:
    """What a group of writers wrote may be read when they and all writers before them are done."""
    group = gates[row, WRITES + LEAD]
    gates[group, WRITES + LEFT] -= 1
    while group >= 0 and gates[group, WRITES + LEFT] == 0:
        reader = gates[group, READERS]
        while reader >= 0:
            has_data(rows, reader, t)
            n = pass_gate(gates, reader, ready, n)
            reader = gates[reader, NEXT_READER]
        group = gates[group, WRITES + BEHIND]
        if group >= 0:
            gates[group, WRITES + LEFT] -= 1
    return n


@inner
def end_of_job(
    row: int,
    jobs: Gates,
    of_row: Gates,
    follows: Gates,
    gates: Gates,
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
                n = pass_gate(gates, first, ready, n)
                first = of_row[first, 1]
    return n
