"""Schedules broken on purpose: every break is caught, with a sentence that names rank, chunk and step.

A mutant that still keeps the promise is no break. An independent count (by_hand.is_right) decides, and only the mutants
of HARMLESS may be so, each for the reason given there.
"""

import re
from functools import cache

import numpy as np
import pytest
from by_hand import is_right, sizes
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import cross

import collsim as cs
from collsim.schedule import TRANSFER, freeze
from collsim.steps import Step

ALGORITHMS = cs.algorithms()
MAX_MUTANTS = 6  # mutants of one kind per schedule, spread evenly over its transfers: up to 18 per algorithm and kind


def rebuilt(s, table):
    """A schedule with another table of transfers; raises ScheduleError where steps cannot be."""
    table = table[np.argsort(table["step"], kind="stable")]
    columns = [np.ascontiguousarray(table[name]) for name in ("src", "dst", "chunk", "into", "reduce", "channel")]
    cuts = np.flatnonzero(np.diff(table["step"])) + 1
    steps = [Step(*part) for part in zip(*(np.split(c, cuts) for c in columns), strict=True)]
    helpers = s.endpoints - s.ranks
    return freeze(
        s.name,
        s.collective,
        s.ranks,
        steps,
        chunks=s.chunks,
        slots=s.slots,
        helpers=helpers,
        root=s.root,
        helpers_on=s.helpers_on,
    )


def spread(rows):
    rows = np.asarray(rows)
    return (
        rows.astype(int) if len(rows) <= MAX_MUTANTS else rows[np.linspace(0, len(rows) - 1, MAX_MUTANTS).astype(int)]
    )


def drop(t):
    """A transfer never happens."""
    for i in spread(np.arange(len(t))):
        yield np.delete(t, i)


def swap(t):
    """Two transfers of different messages carry each other's chunk."""
    for i in spread(np.arange(len(t))):
        other = (t["chunk"] != t["chunk"][i]) & ~(
            (t["src"] == t["src"][i]) & (t["dst"] == t["dst"][i]) & (t["step"] == t["step"][i])
        )
        if other.any():
            j = int(np.argmax(np.roll(other, -i))) + i
            new = t.copy()
            new["chunk"][[i, j % len(t)]] = t["chunk"][[j % len(t), i]]
            yield new


def copy_for_reduce(t):
    """A receiver replaces where it should add."""
    for i in spread(np.flatnonzero(t["reduce"])):
        new = t.copy()
        new["reduce"][i] = False
        yield new


def reduce_for_copy(t):
    """A receiver adds where it should replace."""
    for i in spread(np.flatnonzero(~t["reduce"])):
        new = t.copy()
        new["reduce"][i] = True
        yield new


def add_twice(t):
    """The same contribution is added twice."""
    for i in spread(np.flatnonzero(t["reduce"])):
        yield np.insert(t, i, t[i])


def send_early(t):
    """A chunk is sent in the very step in which it arrives, before it is there."""

    def arrivals(i):
        return t["step"][(t["dst"] == t["src"][i]) & (t["into"] == t["chunk"][i]) & (t["step"] < t["step"][i])]

    for i in spread([i for i in range(len(t)) if len(arrivals(i))]):
        new = t.copy()
        new["step"][i] = arrivals(i).max()
        yield new


BREAKS = (drop, swap, copy_for_reduce, reduce_for_copy, add_twice, send_early)

FIRST_AT_A_HELPER = "a helper's slot is empty, so the first contribution is the same whether copied or added"
ALREADY_THERE = "the allgather also hands blocks to ranks that have them from the scatter"
SWITCH_KEEPS_IT = (
    "the switch still holds the sum that it handed to the head, so the head's answer brings it nothing new"
)
HARMLESS = {
    ("allreduce_nvls", drop): SWITCH_KEEPS_IT,
    ("allreduce_nvls", send_early): SWITCH_KEEPS_IT,
    ("allreduce_nvls_tree", drop): "the head has the sum already when its switch multicasts it",
    ("allreduce_nvls_tree", copy_for_reduce): FIRST_AT_A_HELPER,
    ("allgather_nvls", reduce_for_copy): FIRST_AT_A_HELPER,
    ("broadcast_multicast", reduce_for_copy): FIRST_AT_A_HELPER,
    ("broadcast_scatter_allgather_ring", drop): ALREADY_THERE,
    ("broadcast_scatter_allgather_ring", send_early): ALREADY_THERE,
    ("broadcast_scatter_allgather_recursive_doubling", drop): ALREADY_THERE,
    ("broadcast_scatter_allgather_recursive_doubling", send_early): ALREADY_THERE,
}


def judged(s, table):
    """The error that building or verifying the broken schedule ends in, or None; and whether it is right all the
    same."""
    try:
        broken = rebuilt(s, table)
    except cs.ScheduleError as error:
        return error, False
    try:
        cs.verify(broken)
    except cs.ScheduleError as error:
        return error, is_right(broken)
    return None, is_right(broken)


@cache
def subjects(name):
    entry = ALGORITHMS[name]
    options = {"chunks": 3} if "chunks" in entry.options else {}
    options |= {"per_node": 2} if "per_node" in entry.options else {}
    return [entry(n, **options) for n in sizes(entry, 6, 4)]


@pytest.mark.parametrize(("name", "break_"), cross(ALGORITHMS, BREAKS))
def test_every_break_is_caught_with_rank_chunk_and_step(name, break_):
    harmless = 0
    for s in subjects(name):
        for table in break_(s.transfers):
            assert table.dtype == TRANSFER
            error, right = judged(s, table)
            if right:
                assert error is None, f"a right schedule was refused: {error}"
                harmless += 1
                continue
            assert error is not None, f"{s}: {break_.__doc__} Nobody noticed."
            assert None not in (error.rank, error.chunk, error.step)
            said = str(error)
            where = s.name_endpoint(error.rank)
            assert re.search(rf"{where}\b", said), said
            assert re.search(rf"(chunk|slot) {error.chunk}\b", said), said
            assert re.search(r"[sS]tep \d+|No step|never replaced", said), said
    assert not harmless or (name, break_) in HARMLESS, f"{harmless} mutants are harmless, and no reason is given"


@pytest.mark.parametrize("name", ALGORITHMS)
def test_there_are_breaks_of_every_kind_that_can_be(name):
    """So that no suite above is empty by mistake."""
    s = subjects(name)[-1]
    t = s.transfers
    made = {break_.__name__: sum(1 for _ in break_(t)) for break_ in BREAKS}
    assert made["drop"]
    assert bool(made["swap"]) == (len(set(t["chunk"].tolist())) > 1)  # one chunk cannot be taken for another
    assert bool(made["copy_for_reduce"]) == bool(made["add_twice"]) == bool(t["reduce"].any())
    assert bool(made["reduce_for_copy"]) == bool((~t["reduce"]).any())
    if s.steps > 1 and "flat" not in name and not name.endswith("_pairwise"):
        assert made["send_early"]  # in the excepted ones everybody sends only what it had from the beginning


def test_every_excuse_is_needed():
    """An entry of HARMLESS that no mutant uses would hide a break to come."""
    for (name, break_), reason in HARMLESS.items():
        tables = [(s, table) for s in subjects(name) for table in break_(s.transfers)]
        assert any(judged(s, table)[1] for s, table in tables), (name, break_.__name__, reason)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_verify_and_the_independent_count_never_disagree(data):
    """One field of one transfer changed at random; the verdict of both must be the same, whichever it is."""
    name = data.draw(st.sampled_from(sorted(ALGORITHMS)))
    s = data.draw(st.sampled_from(subjects(name)))
    table = s.transfers.copy()
    row = data.draw(st.integers(0, len(table) - 1))
    field = data.draw(st.sampled_from(["step", "src", "dst", "chunk", "into", "reduce"]))
    ends = {"step": s.steps, "src": s.endpoints, "dst": s.endpoints, "chunk": s.slots, "into": s.slots, "reduce": 2}
    table[field][row] = data.draw(st.integers(0, ends[field] - 1))
    error, right = judged(s, table)
    assert (error is None) == right


def test_the_checker_of_the_tests_can_say_no():
    s = cs.schedule("allreduce_ring", ranks=4)
    assert is_right(s)
    assert not is_right(rebuilt(s, s.transfers[:-1]))
