"""A schedule that is wrong is played, and its first wrong cell is named: where, since when, by which transfer, in two
languages."""

import numpy as np
import pytest

import collsim as cs
from collsim.errors import ScheduleError
from collsim.schedule import freeze
from collsim.viz.timeline.mistake import find_mistake
from collsim.viz.timeline.timeline_document import build_timeline, dump_json

REDUCE = [cs.reduce(1, 0, 0), cs.reduce(2, 0, 0)]

CASES = {
    "twice": (
        "reduce",
        [*REDUCE, cs.reduce(1, 0, 0)],
        (0, 0),
        2,
        "rank 0 holds r1 twice in chunk 0; reduce wants each rank once",
        "r1 加了两次",
    ),
    "missing": ("reduce", REDUCE[:1], (0, 0), None, "rank 0 lacks r2 in chunk 0", "缺少 r2"),
    "nothing": (
        "broadcast",
        [cs.copy(0, 1, 0)],
        (2, 0),
        None,
        "rank 2 holds nothing in chunk 0; broadcast wants r0. No step",
        "chunk 0 是空的",
    ),
    "empty": (
        "broadcast",
        [cs.copy(1, 2, 0)],
        (1, 0),
        0,
        "In step 1 rank 1 sends chunk 0 to rank 2, but holds nothing",
        "第 1 步",
    ),
}


def build_schedule(collective, steps, ranks=3, **more):
    return freeze("mine", collective, ranks, steps, **more)


@pytest.mark.parametrize("case", list(CASES))
def test_the_wrong_cell_is_named(case):
    collective, steps, cell, step, en, zh = CASES[case]
    found = find_mistake(build_schedule(collective, steps))
    assert (found.kind, (found.rank, found.chunk), found.step) == (case, cell, step)
    assert en in found.text[0]
    assert zh in found.text[1]


def test_a_contribution_that_does_not_belong_is_told_from_one_too_many():
    steps = [
        cs.copy([0, 0], [1, 2], 0),
        cs.copy([1, 1], [0, 2], 1),
        cs.copy([2, 2], [0, 1], 2),
        cs.copy(2, 1, 2, into=0),
    ]
    found = find_mistake(build_schedule("allgather", steps))
    assert (found.kind, found.rank, found.chunk, found.step) == ("foreign", 1, 0, 3)
    assert (
        "rank 1 holds r2 of chunk 2 in chunk 0; allgather wants r0. It begins in step 4: rank 1 gets the wrong data into chunk 0."
        in found.text[0]
    )


def test_adding_to_a_cell_that_holds_nothing_asks_for_a_copy():
    found = find_mistake(build_schedule("broadcast", [cs.reduce(0, 1, 0)], ranks=2))
    assert (found.kind, found.rank, found.step) == ("empty", 1, 0)
    assert "must be a copy" in found.text[0]


@pytest.mark.parametrize(
    ("times", "often", "often_zh"),
    [(20, f"up to {2**20} times", f"最多 {2**20} 次"), (64, "more than 2^63 times", "超过 2^63 次")],
)
def test_a_value_that_is_doubled_in_every_step_is_counted(times, often, often_zh):
    found = find_mistake(build_schedule("allreduce", [cs.reduce([0, 1], [1, 0], 0)] * (times + 1), ranks=2))
    assert found.kind == "twice"
    assert f"rank 0 holds r0 and r1 {often} in chunk 0" in found.text[0]
    assert often_zh in found.text[1]


@pytest.mark.slow
def test_more_than_can_be_counted_is_told_as_such():
    src, dst = np.nonzero(~np.eye(64, dtype=bool))
    found = find_mistake(build_schedule("allreduce", [cs.reduce(src, dst, 0)] * 400, ranks=64))
    assert (found.kind, found.rank, found.chunk) == ("unclear", 0, 0)
    assert "too many contributions" in found.text[0]
    assert "累加的贡献太多" in found.text[1]


def test_many_ranks_are_shortened():
    assert "r1, r2, r3, r4, r5 and 34 more" in find_mistake(build_schedule("reduce", [], ranks=40, chunks=1)).text[0]


@pytest.mark.parametrize("how", ["lose", "swap", "oversize", "repeat"])
def test_every_broken_run_is_played_with_its_mistake_and_the_transfer_that_does_it(how):
    from collsim.teach.breaking import break_it

    for seed in range(4):
        broken = break_it(cs.simulate(cs.schedule("allreduce_ring", ranks=4), cs.topology.switch(4), "1MiB"), how, seed)
        at = build_timeline(broken.trace)["mistake"]
        if not isinstance(broken.error, ScheduleError):
            assert at is None
            continue
        assert (at["rank"], at["chunk"]) == (broken.error.rank, broken.error.chunk)
        shown = build_timeline(broken.trace)
        dump_json(shown)
        if at["transfer"] is not None:
            x, i = shown["transfers"], at["transfer"]
            assert x["step"][i] == at["step"]
            assert (at["rank"], at["chunk"]) in {(x["dst"][i], x["into"][i]), (x["src"][i], x["chunk"][i])}


def test_a_right_schedule_has_no_mistake():
    assert (
        build_timeline(cs.simulate(cs.schedule("allreduce_ring", ranks=4), cs.topology.switch(4), "1MiB"))["mistake"]
        is None
    )
