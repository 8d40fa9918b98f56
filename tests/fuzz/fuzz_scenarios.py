"""Random runs over the whole public face, and the laws that hold for all of them: `python tests/fuzz/fuzz_scenarios.py
SECONDS [FIRST SEED]`.

A scenario is plain data: what was drawn is kept as it is in `scenarios.jsonl` when it breaks a law, so that it stays a
case when the drawing changes.
"""

from __future__ import annotations

import json
import math
import random
import sys
from pathlib import Path

import numpy as np
from watch import main, watched

HERE = Path(__file__).parent
KEPT = HERE / "scenarios.jsonl"
CLOSE = 1e-9
SIZES = [0, 1, 2, 3, 4, 7, 63, 1000, 1024, 65_537, 2**20, 2**26, 2**30 + 1, 2**31 - 1, 2**40, 2**53 + 1, 2**57]
TEXTS = ["1KiB", "1MB", "64MiB", "1.5KiB", "1GB", "3B"]
GENERIC = ["ring", "line", "star", "switch", "fully_connected", "tree", "hypercube"]
SHAPED = [
    "torus(2, 3)",
    "torus(4, 2, 2)",
    "mesh(3, 3)",
    "mesh(2, 2, 2)",
    "fat_tree(2)",
    "fat_tree(4)",
    "dragonfly(1, 2, 1)",
]
FABRICS = ["switch", "leaf-spine", "fat-tree", "rail", "rail-only", "planes", "torus", "mesh", "dragonfly"]


class Broken(AssertionError):
    """A law that does not hold."""


def require(holds, law):
    """Raises Broken unless it holds."""
    if not holds:
        raise Broken(law)


# ---- drawing


def scenario(seed):
    """One run as plain data: algorithm, options, place, edits, size, type, engine, trouble."""
    import collsim as cs

    rng = random.Random(seed)
    name = rng.choice(list(cs.algorithms()))
    ranks = rng.choice([1, 2, 2, 3, 4, 4, 5, 6, 7, 8, 8, 9, 12, 16, 16, 17, 24, 32])
    engine = rng.choice(["lockstep", "event", "event"])
    return {
        "algorithm": name,
        "ranks": ranks,
        "options": _options(rng, cs.algorithms()[name], ranks),
        "place": _place(rng, ranks),
        "edits": [_edit(rng) for _ in range(rng.choice([0, 0, 0, 1, 2]))],
        "nbytes": rng.choice([*SIZES, *TEXTS, rng.randrange(2**24), rng.randrange(4 * ranks + 1)]),
        "dtype": rng.choice(["float32", "int32", "float16", "int8", "float64", "bfloat16"]),
        "engine": engine,
        "trouble": _trouble(rng, ranks) if engine == "event" else {},
    }


def _options(rng, algorithm, ranks):
    drawn = {}
    for option in algorithm.options.values():
        if option.kind == "topology" or rng.random() < 0.6:
            continue
        drawn[option.name] = {
            "count": lambda: rng.choice([1, 2, 3, 4, 5, 8, 16]),
            "root": lambda: rng.randrange(ranks),
            "flag": lambda: rng.random() < 0.5,
            "choice": lambda option=option: rng.choice(option.choices),
            "amounts": lambda: rng.choice([None, [1.0] * ranks, [rank + 1.0 for rank in range(ranks)]]),
            "other": lambda option=option: option.default,
        }[option.kind]()
    return drawn


def _place(rng, ranks):
    kind = rng.random()
    rates = {}
    if rng.random() < 0.5:
        rates = {"bandwidth": rng.choice(["25GB/s", "1GB/s", "3B/s", "400Gbit/s", "1e12"])}
        rates["alpha"] = rng.choice(["0", "1us", "7ns", "2s"])
    said = "".join(f", {key}={value}" for key, value in rates.items())
    if kind < 0.5:
        return f"{rng.choice(GENERIC)}({ranks}{said})"
    if kind < 0.65:
        return rng.choice(SHAPED)[:-1] + f"{said})"
    import collsim as cs

    words = {"nodes": rng.choice([1, 1, 2, 3, 4])}
    if words["nodes"] > 1:
        words["fabric"] = rng.choice(FABRICS)
        words["oversubscription"] = rng.choice([1, 1, 2, 1.5])
    for switch in ("p2p", "gdr"):
        if rng.random() < 0.3:
            words[switch] = False
    words |= {"placement": "round-robin"} if rng.random() < 0.1 else {}
    words |= {"rates": "effective"} if rng.random() < 0.2 else {}
    return {"machine": rng.choice(list(cs.machines())), **words}


def _edit(rng):
    what = rng.choice(["without_link", "with_link", "scaled"])
    return [what, rng.randrange(10**6), rng.choice(["half", "double", "x0.1"]), rng.choice([0.5, 2.0, 4.0])]


def _trouble(rng, ranks):
    drawn = {"sharing": rng.choice(["fair", "fair", "fifo", "none"])}
    for name, values in {
        "gamma": ["10GB/s", "1e6"],
        "launch": ["5us"],
        "overhead": ["1us"],
        "injection": ["10GB/s"],
        "jitter": ["1us", "1ms"],
    }.items():
        if rng.random() < 0.15:
            drawn[name] = rng.choice(values)
    if rng.random() < 0.15:
        drawn["slow"] = [rng.randrange(ranks), rng.choice([0.5, 2, 10])]
    if rng.random() < 0.15:
        drawn["late"] = [rng.randrange(ranks), rng.choice(["1us", "3ms"])]
    if rng.random() < 0.2 and ranks > 1:
        flows = [
            (rng.randrange(ranks), rng.randrange(ranks), rng.choice([0, 1, 5000, "1MiB", "64MiB"])) for _ in range(3)
        ]
        drawn["background"] = [list(flow) for flow in flows if flow[0] != flow[1]] or [[0, 1, 5]]
    return drawn


# ---- running


def built(case):
    """Schedule, topology and keywords of `simulate`, made anew. Raises CollsimError for what cannot be."""
    import collsim as cs
    from collsim.topology.spec import parse_topology

    place = case["place"]
    if isinstance(place, str):
        topology = parse_topology(place, cs.topology.NETWORKS)
    else:
        topology = cs.machine(place["machine"], **{key: value for key, value in place.items() if key != "machine"})
    for what, number, change, by in case["edits"]:
        links = topology.links
        if not len(links):
            break
        link = number % len(links)
        ends = int(links.src[link]), int(links.dst[link])
        if what == "without_link":
            topology = topology.without_link(*ends)
        elif what == "with_link":
            topology = topology.with_link(*ends, bandwidth=change)
        else:
            topology = topology.scaled(links.kind(link), by)
    ranks = min(case["ranks"], topology.ranks)
    schedule = cs.schedule(case["algorithm"], ranks, topology=topology, **case["options"])
    trouble = dict(case["trouble"])
    for name in ("slow", "late"):
        if name in trouble:
            rank, value = trouble[name]
            trouble[name] = {rank % topology.ranks: value}
    return schedule, topology, trouble


def run(case, **changed):
    """The Trace of a scenario, from nothing."""
    import collsim as cs

    schedule, topology, trouble = built(case)
    keywords = {"engine": case["engine"], **trouble, **changed}
    return cs.simulate(schedule, topology, case["nbytes"], case["dtype"], **keywords)


def attempt(case):
    """Run it and hold it against every law that applies to it; each has its own five seconds."""
    with watched():
        trace = run(case)
    for law in LAWS:
        with watched():
            law(case, trace)


# ---- laws


def finite(case, t):
    row = t.row()
    numbers = {key: value for key, value in row.items() if isinstance(value, float)}
    require(all(math.isfinite(value) and value >= 0 for value in numbers.values()), f"finite: {numbers}")
    require(0 <= t.begin <= t.time, "a run ends after it begins")
    if len(t.schedule):
        require((t.start <= t.finish).all() and t.start.min() >= 0, "a transfer ends after it begins")
        require(
            abs(t.finish.max() - t.time) <= CLOSE * t.time, f"the last arrival {t.finish.max()} is the end {t.time}"
        )


def at_least_the_bound(case, t):
    if case["trouble"].get("sharing") != "none":
        require(t.duration >= t.bound.time * (1 - CLOSE), f"time {t.duration} is below the bound {t.bound.time}")


def conserved(case, t):
    """What comes into a device and does not leave it was received there."""
    devices, links = t.topology.devices, t.topology.links
    kept = np.zeros(len(devices), np.int64)
    np.add.at(kept, links.dst, t.link_bytes)
    np.subtract.at(kept, links.src, t.link_bytes)
    place = t.topology.endpoint_device[t.placement]
    np.subtract.at(kept, place, t.received_bytes)
    np.add.at(kept, place, t.sent_bytes)
    require(not kept.any(), f"bytes are lost or made at devices {np.flatnonzero(kept)[:5]}")
    require((t.link_bytes >= 0).all(), "a link carries less than nothing")
    require(sum(t.sent_bytes.tolist()) == _moved(t), "what endpoints send is what the transfers carry")


def _moved(t):
    """Bytes of all transfers between two endpoints, in whole numbers."""
    rows = t.schedule.transfers
    away = rows["src"] != rows["dst"]
    return sum(int(t.slot_bytes[chunk]) for chunk in rows["chunk"][away].tolist())


def twice_the_same(case, t):
    again = run(case)
    require(np.array_equal(again.finish, t.finish), "a second run ends at other times")
    require(np.array_equal(again.link_bytes, t.link_bytes), "a second run carries other bytes")


def shortcuts_change_nothing(case, t):
    if t.engine != "event" or t.how == "events":
        return
    slow = run(case, shortcuts=False)
    apart = np.abs(slow.finish - t.finish).max(initial=0.0)
    require(apart <= CLOSE * max(t.time, 1e-9), f"{t.how} and the queue of events are {apart} s apart")
    require(np.array_equal(slow.link_bytes, t.link_bytes), f"{t.how} and the queue carry other bytes")


def ordered(case, t):
    """Nothing waits for a link without contention, so that is never later, and never later than with a barrier."""
    costly = {"gamma", "launch", "overhead", "injection", "jitter", "late", "background"}
    if t.engine != "event" or costly & case["trouble"].keys():
        return
    alone = t if case["trouble"]["sharing"] == "none" else run(case, sharing="none")
    require((alone.finish <= t.finish * (1 + CLOSE) + 1e-18).all(), "sharing a link makes a transfer earlier")
    slower = run({**case, "trouble": {}, "engine": "lockstep"}) if "slow" not in case["trouble"] else t
    require(
        alone.time <= slower.time * (1 + CLOSE), f"event without contention {alone.time} after lockstep {slower.time}"
    )


def verified(case, t):
    import collsim as cs

    cs.verify(t.schedule)


def explained(case, t):
    import collsim as cs

    if len(t.schedule) > 3_000:
        return
    neck = t.bottleneck
    if neck is not None and case["trouble"].get("sharing") != "none":
        require(0 <= neck.busy_share <= 1 + CLOSE, f"the bottleneck is busy {neck.busy_share} of the run")
    require(len(t.explain()) > 0, "it can be explained")
    cost = cs.simulate.expected_cost(t.schedule, t.topology, case["nbytes"], case["dtype"], case["engine"])
    require(math.isfinite(cost.seconds) and cost.seconds >= 0, "its cost can be told")


LAWS = (finite, conserved, at_least_the_bound, twice_the_same, shortcuts_change_nothing, ordered, verified, explained)


# ---- keeping


def keep(seed, case, why):
    """A line for each way to break."""
    known = [json.loads(line)["why"] for line in KEPT.read_text().splitlines()] if KEPT.exists() else []
    short = "".join(letter for letter in why if not letter.isdigit())[:60]
    if short not in ["".join(letter for letter in w if not letter.isdigit())[:60] for w in known]:
        with KEPT.open("a") as file:
            file.write(json.dumps({"seed": seed, "why": why, "case": case}) + "\n")


def warm():
    """What is loaded and compiled once a process, before memory is counted."""
    case = {
        "algorithm": "allreduce_ring", "ranks": 4, "options": {}, "place": {"machine": "dgx-a100", "nodes": 2}, "edits": [],
        "nbytes": 1000, "dtype": "float32", "engine": "event", "trouble": {"sharing": "fair", "jitter": "1us"},
    }  # fmt: skip
    import collsim.maxflow.kernels
    import collsim.simulate.kernels.walk  # noqa: F401  (both compile when they are imported)

    trace = run(case)
    for law in LAWS:  # unwatched: what is compiled here may take longer than a case
        law(case, trace)


if __name__ == "__main__":
    main(__file__, scenario, attempt, keep, warm, sys.argv[1:])
