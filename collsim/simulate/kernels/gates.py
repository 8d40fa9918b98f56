"""Gates: groups of transfers that others wait for, and what opens when they are done."""

# mypy: disable-error-code="no-any-return"

from __future__ import annotations

from .tables import Gates, Ints, Parts, Rows, compiled, inner

LEAD, NEXT_ROW, LEFT, BEHIND, READERS, NEXT_READER = 0, 1, 2, 3, 4, 5  # columns of a gate: see `build`
ROWS, WAITED, FIRST, FOLLOW = 0, 1, 2, 3  # columns of a job, where jobs wait for others: see `end_of_job`


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
