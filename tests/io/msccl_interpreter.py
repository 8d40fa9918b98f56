"""A second MSCCL interpreter, on real numbers and in random order; it shares no line with the one in collsim.

It reads the XML with the standard library and moves integers. Thread blocks are tried in a random order, one
instruction at a time, and a connection holds at most `depth` messages.
"""

import random
import xml.etree.ElementTree as ET
from collections import defaultdict

import numpy as np

NEEDS_MESSAGE = {"r", "rcs", "rrs", "rrc", "rrcs"}
SENDS = {"s", "rcs", "rrs", "rrcs"}


def memory(root, data):
    """Three dictionaries (gpu, offset) -> number; in place, input and output are one."""
    n, total, coll = int(root.get("ngpus")), int(root.get("nchunksperloop")), root.get("coll")
    inplace = root.get("inplace") == "1"
    i, s = {}, {}
    o = i if inplace else {}
    per = total // n
    for g in range(n):
        for c in range(total):
            if coll == "allgather" and c // per != g:
                continue
            if coll == "broadcast" and g != int(root.get("root", 0)):
                continue
            at = c if inplace or coll != "allgather" else c - g * per
            i[g, at] = int(data[g, c])
    return {"i": i, "o": o, "s": s}


def shift(root, buffer, g):
    """In place, one rank's block lies inside the whole array."""
    if root.get("inplace") != "1":
        return 0
    per = int(root.get("nchunksperloop")) // int(root.get("ngpus"))
    coll = root.get("coll")
    return g * per if (coll, buffer) in {("allgather", "i"), ("reduce_scatter", "o")} else 0


def run(path, data, seed=0, depth=4):
    """Results: (gpu, offset) -> number of the output buffer. Raises AssertionError where a program gets stuck or reads
    nothing."""
    root = ET.parse(path).getroot()
    mem = memory(root, data)
    programs = {(int(g.get("id")), int(tb.get("id"))): (tb, list(tb)) for g in root for tb in g}
    done = defaultdict(int)
    wires = defaultdict(list)
    rng = random.Random(seed)
    while True:
        keys = [k for k, (_, steps) in programs.items() if done[k] < len(steps)]
        if not keys:
            break
        rng.shuffle(keys)
        assert any(one(root, mem, programs, done, wires, key, depth) for key in keys), f"stuck at {keys}"
    assert not any(wires.values()), "messages left"
    per = int(root.get("nchunksperloop")) // int(root.get("ngpus"))
    if root.get("coll") == "reduce_scatter" and root.get("inplace") == "1":
        return {(g, c - g * per): v for (g, c), v in mem["o"].items() if c // per == g}
    return mem["o"]


def one(root, mem, programs, done, wires, key, depth):
    g = key[0]
    tb, steps = programs[key]
    st = steps[done[key]]
    kind, count, chan = st.get("type"), int(st.get("cnt")), tb.get("chan")
    if int(st.get("depid")) >= 0 and done[g, int(st.get("depid"))] <= int(st.get("deps")):
        return False
    inbox, outbox = wires[int(tb.get("recv")), g, chan], wires[g, int(tb.get("send")), chan]
    if (kind in NEEDS_MESSAGE and not inbox) or (kind in SENDS and len(outbox) >= depth):
        return False
    message = inbox.pop(0) if kind in NEEDS_MESSAGE else None
    cells = {}
    for side in ("src", "dst"):
        buffer = st.get(side + "buf")
        cells[side] = [
            (mem[buffer], (g, int(st.get(side + "off")) + shift(root, buffer, g) + k)) for k in range(max(count, 0))
        ]
    if message is not None:
        assert len(message) == count
    values = message
    if kind in {"s", "cpy", "re", "rrs", "rrc", "rrcs"}:
        local = [m[at] for m, at in cells["src"]]
        values = local if message is None else [a + b for a, b in zip(message, local, strict=True)]
    if kind == "re":
        values = [a + m[at] for a, (m, at) in zip(values, cells["dst"], strict=True)]
    if kind in {"r", "rcs", "rrc", "rrcs", "cpy", "re"}:
        for (m, at), value in zip(cells["dst"], values, strict=True):
            m[at] = value
    if kind in SENDS:
        outbox.append(values)
    done[key] += 1
    return True


def expected(coll, data, root=0):
    """(gpu, offset) -> number, what the collective promises; straight from numpy."""
    n, total = data.shape
    per = total // n
    everything = data.sum(axis=0)
    want = {
        "allreduce": lambda g: everything,
        "reduce": lambda g: everything if g == root else [],
        "broadcast": lambda g: data[root],
        "allgather": lambda g: np.concatenate([data[r, r * per : (r + 1) * per] for r in range(n)]),
        "reduce_scatter": lambda g: everything[g * per : (g + 1) * per],
        "alltoall": lambda g: np.concatenate([data[r, g * per : (g + 1) * per] for r in range(n)]),
    }[coll]
    return {(g, c): int(v) for g in range(n) for c, v in enumerate(want(g))}
