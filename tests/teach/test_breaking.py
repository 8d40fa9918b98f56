"""Break it: what goes wrong is named, and only what goes wrong."""

import re

import numpy as np
import pytest
from sampling import cross

import collsim as cs
from collsim.collective import get_collective
from collsim.teach import break_it
from collsim.teach.breaking import BREAKAGES
from collsim.viz.timeline.timeline_document import build_timeline

RING = cs.simulate(
    cs.schedule("allreduce_ring", ranks=4), cs.topology.ring(4, bandwidth="25GB/s", alpha="1us"), "64MiB"
)
NAMES = (
    "allreduce_ring",
    "allreduce_tree",
    "allgather_ring",
    "reduce_scatter_ring",
    "broadcast_binomial",
    "alltoall_pairwise",
    "allreduce_halving_doubling",
)


def is_right(schedule):
    """Contributions moved as sets and counts, by hand."""
    kind = get_collective(schedule.collective)
    held = kind.mark_initial_slots(schedule.ranks, schedule.chunks, schedule.root)
    state = np.zeros((schedule.endpoints, schedule.slots, schedule.ranks, schedule.slots), int)
    for r, c in np.argwhere(held):
        state[r, c, r, c] = 1
    for k in range(schedule.steps):
        before = state.copy()
        for row in schedule.by_step(k):
            if not row["reduce"]:
                state[row["dst"], row["into"]] = 0
        for row in schedule.by_step(k):
            state[row["dst"], row["into"]] += before[row["src"], row["chunk"]]
    contributor, chunk = kind.find_expected_contributions(schedule.ranks, schedule.chunks, schedule.root)
    for r, c in np.argwhere(contributor != -2):
        want = np.zeros(state.shape[2:], int)
        want[slice(None) if contributor[r, c] == -1 else contributor[r, c], chunk[r, c]] = 1
        if (state[r, c] != want).any():
            return False
    return True


@pytest.mark.parametrize("how", ["lose", "swap", "oversize", "repeat"])
@pytest.mark.parametrize("name", NAMES)
def test_a_broken_schedule_is_called_broken_exactly_when_it_is(name, how):
    trace = cs.simulate(cs.schedule(name, ranks=4), cs.topology.switch(4, reduces=True), "1MiB")
    caught = 0
    for seed in range(12):
        made = break_it(trace, how, seed)
        if made.trace is not None:
            assert is_right(made.trace.schedule) == (made.error is None), made
        caught += made.error is not None
    adds = get_collective(trace.schedule.collective).reduces
    assert (caught >= 1) == (how != "repeat" or adds), "to copy something twice does no harm; all else does"


def changed(before, after):
    """The first step in which two tables of transfers differ, and who receives there what the other does not have."""
    columns = ("src", "dst", "chunk", "into", "reduce")
    mine, theirs = (
        [sorted(row.tolist() for row in s.by_step(k)[list(columns)]) for k in range(s.steps)] for s in (after, before)
    )
    at = next(k for k in range(len(theirs) + 1) if mine[k : k + 1] != theirs[k : k + 1])
    here, there = (one[at] if at < len(one) else [] for one in (mine, theirs))
    return at, {row[1] for row in [*here, *there] if here.count(row) != there.count(row)}


@pytest.mark.parametrize(("name", "how"), cross(sorted(cs.algorithms()), ["lose", "swap", "oversize", "repeat"]))
def test_the_place_that_is_told_is_the_place_that_was_broken(name, how):
    trace = cs.simulate(cs.schedule(name, ranks=4), cs.topology.switch(4, reduces=True), "1MiB")
    for seed in range(2):
        made = break_it(trace, how, seed)
        if made.error is None:
            continue
        broken = int(re.search(r"[sS]tep (\d+)", made.what)[1]) - (
            how != "repeat"
        )  # what happens twice is one step later
        assert made.error.step == broken, made
        if made.trace is None:
            continue
        step, receivers = changed(trace.schedule, made.trace.schedule)
        assert (step, made.error.rank in receivers) == (broken, True), made
        at = build_timeline(made.trace)["mistake"]
        assert (at["rank"], at["chunk"]) == (made.error.rank, made.error.chunk)
        assert at["step"] == (broken if broken < made.trace.schedule.steps else None)
        assert f"tep {broken + 1}" in at["text"]["en"], at
        assert f"第 {broken + 1} 步" in at["text"]["zh"], at


@pytest.mark.parametrize("channels", [1, 2, 8])
def test_a_lost_send_is_shown_where_it_is_missing_with_any_number_of_channels(channels):
    trace = cs.simulate(cs.schedule("allreduce_ring", ranks=8, channels=channels), cs.machine("dgx-a100"), "64MiB")
    for seed in range(6):
        made = break_it(trace, "lose", seed)
        step, chunk, receiver = re.search(
            r"step (\d+) the send of chunk (\d+) from rank \d+ to rank (\d+)", made.what
        ).groups()
        at = build_timeline(made.trace)["mistake"]
        assert (at["step"] + 1, at["chunk"], at["rank"]) == (int(step), int(chunk), int(receiver))
        assert at["transfer"] is None


def test_a_lost_send_in_a_ring_is_always_noticed_with_its_place():
    for seed in range(24):
        made = break_it(RING, "lose", seed)
        assert made.error is not None
        assert "is lost" in made.what
        assert made.error.rank is not None
        assert len(made.trace.schedule) == len(RING.schedule) - 1


def test_a_repeated_reduce_is_a_doubled_contribution():
    made = break_it(RING, "repeat", 3)
    assert "2·r" in made.verdict
    assert made.trace.time > RING.time


def test_a_cut_cable_costs_time_or_cuts_ranks_off():
    made = break_it(RING, "cut", 1)
    assert made.error is None
    assert made.trace.time > RING.time
    star = cs.simulate(cs.schedule("allreduce_ring", ranks=4), cs.topology.switch(4), "64MiB")
    lost = break_it(star, "cut", 1)
    assert lost.trace is None
    assert isinstance(lost.error, cs.TopologyError)


def test_a_slow_rank_holds_up_everybody():
    made = break_it(RING, "slow", 2)
    # in lockstep every step waits for the slowest: 16 MiB at 12.5 instead of 25 GB/s, and 1 us
    step = 16 * 2**20 / 12.5e9 + 1e-6
    assert made.trace.time == pytest.approx(6 * step)
    assert made.error is None


@pytest.mark.parametrize("how", BREAKAGES)
def test_every_way_is_told_in_both_languages_and_the_same_for_the_same_seed(how):
    one, again, zh = break_it(RING, how, 5), break_it(RING, how, 5), break_it(RING, how, 5, "zh")
    assert str(one) == str(again)
    assert any("\u4e00" <= c <= "\u9fff" for c in zh.what)
    assert zh.trace is None or zh.trace.time == one.trace.time


def test_what_cannot_be_broken_is_said():
    with pytest.raises(cs.CollsimError, match="unknown way"):
        break_it(RING, "hammer")
    alone = cs.simulate(cs.schedule("allreduce_ring", ranks=1), cs.topology.switch(1), "1MiB")
    with pytest.raises(cs.CollsimError, match="cannot be broken"):
        break_it(alone)


def test_a_break_that_costs_nothing_says_so():
    push = cs.simulate(cs.schedule("allreduce_parameter_server", ranks=4), cs.topology.switch(4), "64MiB")
    for language, words in (("en", "still takes"), ("zh", "耗时仍是")):
        made = break_it(push, "slow", 2, language)  # four share the server's cable, so each needs a quarter of its own
        assert made.trace.time == pytest.approx(push.time)
        assert words in made.verdict


def test_a_cut_cable_has_the_names_of_the_picture():
    two = cs.machine("dgx-a100", nodes=2)
    trace = cs.simulate(cs.schedule("allreduce_ring", topology=two), two, "1MiB")
    english, chinese = (break_it(trace, "cut", language=language).what for language in ("en", "zh"))
    assert re.search(r"between (NIC \d+|the switch|switch) and (NIC \d+|the switch|switch) is cut", english), english
    assert "网卡" in chinese
    assert "node" not in english + chinese
