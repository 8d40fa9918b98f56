"""What the tests hold algorithms against, written without collsim's own rules: plain dictionaries, one transfer at a
time.

`is_right` says whether a schedule keeps its promise, `seconds` what it costs on a switch with one full-duplex port per
rank, and `options_to_try` which options an algorithm is called with.
"""

from itertools import groupby

import numpy as np

NOT_TRIED = {
    "topology": "needs a machine: see test_shapes.py",
    "dims": "must multiply to n: see test_shapes.py",
    "amounts": "as many as ranks: see test_alltoallv.py",
}
COUNTS = {
    "chunks": [2, 3, 8],
    "channels": [2, 3],
    "per_node": [1, 2, 4],
    "servers": [1, 2],
    "arity": [3, 4],
    "aggregation": [1, 2, 4],
    "radix": [2, 3],
    "base": [3, 4],
    "local_experts": [8, 16],
    "top_k": [1, 4],
}


def options_to_try(entry, n):
    """The defaults, every option changed on its own, and all of them changed at once."""
    changed = {}
    for name, option in entry.options.items():
        if option.kind == "root":
            changed[name] = sorted({n // 2, n - 1} - {0})
        elif option.kind in ("choice", "flag"):
            changed[name] = [c for c in option.choices if c != option.default]
        elif name not in NOT_TRIED:
            changed[name] = [c for c in COUNTS.get(name, [2, 3]) if c <= n or name != "servers"]
    one_by_one = [{name: value} for name, values in changed.items() for value in values]
    at_once = {name: values[-1] for name, values in changed.items() if values}
    return [{}, *one_by_one, *([at_once] if len(at_once) > 1 else [])]


def sizes(entry, largest, smallest=1):
    """Numbers of ranks that the algorithm accepts."""
    return [n for n in range(smallest, largest + 1) if entry.ranks is None or entry.ranks(n) is None]


def wanted(s):
    """(rank, slot) -> {(rank, chunk): times} that must lie there at the end."""
    n, chunks, per = s.ranks, s.chunks, s.chunks // s.ranks
    ranks, slots = range(n), range(chunks)
    if s.collective == "allreduce":
        return {(r, c): {(i, c): 1 for i in ranks} for r in ranks for c in slots}
    if s.collective == "reduce":
        return {(s.root, c): {(i, c): 1 for i in ranks} for c in slots}
    if s.collective == "broadcast":
        return {(r, c): {(s.root, c): 1} for r in ranks for c in slots}
    if s.collective == "allgather":
        return {(r, c): {(c // per, c): 1} for r in ranks for c in slots}
    if s.collective == "reduce_scatter":
        return {(c // per, c): {(i, c): 1 for i in ranks} for c in slots}
    if s.collective == "gather":
        return {(s.root, c): {(c // per, c): 1} for c in slots}
    if s.collective == "scatter":
        return {(c // per, c): {(s.root, c): 1} for c in slots}
    if s.collective == "alltoall":
        return {(r, chunks + c): {(c // per, r * per + c % per): 1} for r in ranks for c in slots}
    if s.collective == "alltoallv":  # chunk s n + d begins on rank s, and rank d wants it
        return {(c % n, c): {(c // n, c): 1} for c in slots}
    if s.collective == "dispatch":  # chunk (s n + d)(g + 1) + w: for w ranks of the node of d, from d on and around
        w, g = chunks // n**2, chunks // n**2 - 1
        ends = {c: [c // w % n // g * g + (c // w + i) % g for i in range(c % w)] for c in slots}
        return {(r, c): {(c // per, c): 1} for c in slots for r in ends[c]}
    assert s.collective == "sendrecv"
    return {(r, chunks + c): {((r - 1) % n, c): 1} for r in ranks for c in slots}


def start(s):
    """(rank, slot) -> {(rank, chunk): times} before the first step."""
    per = s.chunks // s.ranks
    has = {
        "allgather": lambda r, c: c // per == r,
        "gather": lambda r, c: c // per == r,
        "alltoallv": lambda r, c: c // per == r,
        "dispatch": lambda r, c: c // per == r,
        "broadcast": lambda r, c: r == s.root,
        "scatter": lambda r, c: r == s.root,
    }.get(s.collective, lambda r, c: True)
    return {(r, c): {(r, c): 1} for r in range(s.ranks) for c in range(s.chunks) if has(r, c)}


def rows_by_step(s):
    return [list(rows) for _, rows in groupby(s.transfers.tolist(), key=lambda row: row[0])]


def is_right(s):
    """Does it keep its promise? Sending what is not there, or reducing into a rank's empty slot, is wrong."""
    holds = start(s)
    for rows in rows_by_step(s):
        before = dict(holds)  # what lies in a slot is replaced below, never changed in its place
        for _, src, dst, chunk, into, is_reduce, _ in rows:
            if (src, chunk) not in before:
                return False
            if is_reduce and (dst, into) not in before and dst < s.ranks:
                return False
            arriving = before[src, chunk]
            holds[dst, into] = added(holds.get((dst, into), {}), arriving) if is_reduce else arriving
    return all(holds.get(key, {}) == value for key, value in wanted(s).items())


def added(one, other):
    """The contributions of both."""
    both = dict(one)
    for key, times in other.items():
        both[key] = both.get(key, 0) + times
    return both


def sent_by_busiest(s):
    """Bytes that the busiest endpoint sends, in buffers; local copies are free."""
    t = s.transfers[s.transfers["src"] != s.transfers["dst"]]
    return np.bincount(t["src"], weights(s)[t["chunk"]]).max() if len(t) else 0.0


def weights(s):
    """(slots,) the share of each slot in the buffer; scratch is as large as the chunks."""
    return np.resize(s.shares or np.full(s.chunks, 1 / s.chunks), s.slots)


def seconds(s, nbytes, alpha, beta):
    """Step by step: alpha, and beta for each byte of the busiest port; a switch that reduces is a part of the network,
    no port."""
    total = 0.0
    for step in s.each_step():
        away = step.src != step.dst
        ports = s.ranks if s.helpers_on != "host" else s.endpoints
        if away.any():
            moved = weights(s)[step.chunk[away]] * step.width
            out = np.bincount(step.src[away], moved, s.endpoints)[:ports]
            into = np.bincount(step.dst[away], moved, s.endpoints)[:ports]
            total += alpha + max(out.max(), into.max()) * nbytes * beta
    return total
