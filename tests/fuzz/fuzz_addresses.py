"""Addresses that nobody wrote in good faith: `python tests/fuzz/fuzz_addresses.py SECONDS [FIRST SEED]`.

All go through what reads addresses and builds the place that they ask for, without Streamlit; one in `OPENED` is opened
as a page. What breaks is kept in `addresses.jsonl`.
"""

from __future__ import annotations

import json
import random
import sys
from functools import cache
from pathlib import Path

from fuzz_mutants import WORDS as NASTY
from fuzz_mutants import mutant
from watch import main, watched

HERE = Path(__file__).parent
KEPT = HERE / "addresses.jsonl"
OPENED = 200
PAGE_SECONDS = 30  # the first look of a page, which draws and may wait for a worker
OURS = ("collsim itself", "自身出错")


@cache
def words():
    """Every word that some page reads, and what each may be in good faith."""
    import collsim as cs
    from collsim.app.main import PAGES
    from collsim.app.pages.race import lineup
    from collsim.app.pages.whatif import run_edits
    from collsim.app.scenario import choice
    from collsim.dtypes import list_dtypes
    from collsim.topology.fabrics import FABRICS

    known = {word.name: () for page in PAGES.values() for word in page.words}
    known |= dict.fromkeys(("lang", "start", "place", *(f"runner{n}" for n in range(1, 6))), ())
    known |= dict.fromkeys((f"option_{n}" for n in ("root", "chunks")), ())
    for algorithm in cs.algorithms().values():
        known |= dict.fromkeys(
            (choice.name_option_key(name) for name in algorithm.options), ("1", "2", "3", "8", "1024", "ring", "on")
        )
    known |= dict.fromkeys(("then_gdr", "then_p2p"), run_edits.SWITCH_POSITIONS)
    known["factor"] = tuple(run_edits.FACTORS)
    known |= {
        "do": tuple(run_edits.CABLE_CHANGES),
        "how": tuple(run_edits.STRAGGLERS),
        "traffic": tuple(run_edits.TRAFFIC),
    }
    known["algorithm"] = known["start"] = tuple(cs.algorithms())
    known["collective"] = tuple(cs.collectives())
    known["machine"] = known["place"] = (*cs.machines(), "own")
    known["network"] = tuple(cs.topology.NETWORKS)
    known["fabric"] = tuple(FABRICS)
    known["dtype"] = tuple(list_dtypes())
    known["engine"], known["sharing"], known["lang"] = ("lockstep", "event"), ("fair", "fifo", "none"), ("en", "zh")
    known["nodes"] = known["ranks"] = ("1", "2", "3", "4", "8", "16", "32", "100", "256")
    known["nbytes"] = ("0", "1", "1KiB", "256MiB", "1EiB", "9007199254740993", "3")
    known["sizes"] = ("0", "0:0", "1:8", "1KiB:1GiB:2", "1MiB", "0:1KiB", "1:1:2", "1KiB:1MiB:1.5")
    known["shape"] = ("4x4", "2x2x2", "1", "4", "2x4x2", "100x100", "x".join(["2"] * 20), "50x50x50")
    known["break"] = tuple(
        f"{way}-{n}" for way in ("lose", "swap", "oversize", "repeat", "cut", "slow") for n in (0, 1, 99)
    )
    known["race"] = tuple(lineup.READY)
    known["run"] = ("own", "published", "1", "nccl")
    return known


def address(seed):
    """(page, query) of one address."""
    from collsim.app.scenario import custom_machine

    rng = random.Random(seed)
    page = rng.choice(["explore", "compare", "whatif", "race", "machines", "lessons", "measured", "class"])
    query = {}
    for name in rng.sample(list(words()), rng.randrange(1, 9)):
        query[name] = _value(rng, name)
    if rng.random() < 0.3:
        text = rng.choice(TEXTS)
        if rng.random() < 0.5:
            text = next(d for k, d in map(mutant, range(rng.randrange(10**9), 10**10)) if k == "topology").decode(
                "utf-8", "replace"
            )
        query |= {"own": custom_machine.pack_text(text[:20_000]) or "x", "machine": "own"}
    return page, query


TEXTS = [
    "collsim: 1\nmachine: dgx-a100\noptions: {nodes: '2097152'}\n",
    "collsim: 1\nmachine: dgx-a100\noptions: {nodes: 2, fabric: dragonfly, switches: 4000, cables: 4000}\n",
    "collsim: 1\nmachine: dgx-h100\noptions: {nodes: 3, fabric: rail, oversubscription: 0.00001}\n",
    "collsim: 1\nnetwork: switch(4, helpers=30000)\n",
    "collsim: 1\nnetwork: torus(2,2,2)\n",
    "collsim: 1\nmachine: dgx-1v\noptions: {nodes: 2}\nedits: [{scaled: {kind: nvlink, by: 2}}]\n",
]


def _value(rng, name):
    good = words()[name]
    if name.startswith("runner"):
        parts = [
            f"{word}:{_value(rng, word)}"
            for word in rng.sample(["algorithm", "machine", "nodes", "network", "ranks", "own"], 3)
        ]
        return ";".join(parts)
    if good and rng.random() < 0.7:
        return rng.choice(good)
    return rng.choice(
        [rng.choice(NASTY), str(rng.randrange(-5, 300)), str(10 ** rng.randrange(30)), rng.choice(list(words()))]
    )


def attempt(case):
    """Read it as every page would, build what it asks for; now and then open it."""
    page, query = case
    with watched():
        _read(query)
    if sum(map(len, query.values())) % OPENED == 0:
        _open(page, query)


def _read(query):
    import collsim as cs
    from collsim.app.main import PAGES
    from collsim.app.pages.machines import pair
    from collsim.app.scenario import outcome
    from collsim.app.scenario.choice import to_query

    for page in PAGES.values():
        value, _ = page.address.read(dict(query))
        page.address.write(value)
    choice, _ = outcome.read_choice(query)
    again, complaints = outcome.read_choice(to_query(choice))
    assert not complaints, f"the address that was written is complained of: {complaints[0]}"
    assert to_query(again) == to_query(choice), "the address that was written reads otherwise"
    for build in (lambda: outcome.build_topology(choice), lambda: pair.build(pair.ADDRESS.read(dict(query))[0])):
        try:
            build()
        except cs.CollsimError:
            continue


def _open(page, query):
    from streamlit.testing.v1 import AppTest

    with watched(PAGE_SECONDS):
        at = AppTest.from_string(
            f"from collsim.app.main import main\nmain(first={page!r})", default_timeout=PAGE_SECONDS
        )
        for name, text in query.items():
            at.query_params[name] = text
        at.run()
    said = " ".join(element.proto.body for element in at.get("html"))
    assert not at.exception, f"{page} shows {at.exception[0].value}"
    assert not any(ours in said for ours in OURS), (
        f"{page} says that it is our mistake: {said[said.index('alert') :][:300]}"
    )
    assert len(said) > 200, f"{page} is blank"


def keep(seed, case, why):
    """A line for each way to break."""
    known = [json.loads(line)["why"][:60] for line in KEPT.read_text().splitlines()] if KEPT.exists() else []
    if why[:60] not in known:
        with KEPT.open("a") as file:
            file.write(json.dumps({"seed": seed, "why": why, "case": case}) + "\n")


def warm():
    """What is loaded once a process, before memory is counted."""
    for page in ("explore", "compare", "whatif", "race", "machines", "measured"):
        _open(page, {"nbytes": "1MiB", "engine": "event"})


if __name__ == "__main__":
    main(__file__, address, attempt, keep, warm, sys.argv[1:])
