"""Laws that hold for every algorithm of the registry, on any network, however links are shared."""

from dataclasses import replace

import numpy as np
import pytest
from event_cases import ANY, CASES, SHARING, irregular, network, on_six, run
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import sample

import collsim as cs
from collsim.registry import algorithms
from collsim.schedule import freeze
from collsim.simulate import simulate_flows
from collsim.steps import copy

close = pytest.approx


def build_schedule(name, n):
    try:
        return cs.schedule(name, ranks=n)
    except cs.CollsimError:
        return None


EVERY = [(name, n) for name in sorted(algorithms()) for n in (2, 5, 8) if build_schedule(name, n) is not None]


def carried(t):
    """Bytes over each link, from the routes of the transfers alone."""
    rows = t.schedule.transfers
    routes = t.topology.routes(t.placement[rows["src"]], t.placement[rows["dst"]])
    total = np.zeros(len(t.topology.links), np.int64)
    np.add.at(total, routes.link, np.repeat(t.slot_bytes[rows["chunk"]], routes.hops))
    return total


@pytest.mark.parametrize(("name", "n"), sample(EVERY, 60))
def test_every_way_of_computing_gives_the_same(name, n):
    """Symmetry or program order against the queue of events; and both carry over each link what its routes say, as
    lockstep does."""
    s, topo = build_schedule(name, n), network("switch", n, reduces=True)
    for nbytes in (4 * 840 * n, 1_000_003):
        barrier = cs.simulate(s, topo, nbytes)
        assert np.array_equal(barrier.link_bytes, carried(barrier))
        for sharing in ("fair", "fifo", "none"):
            a, b = (run(s, topo, nbytes, sharing=sharing, shortcuts=way) for way in (True, False))
            assert b.how == "events"
            assert np.allclose(a.finish, b.finish, rtol=1e-9, atol=0)
            assert np.array_equal(a.link_bytes, barrier.link_bytes)
            assert np.array_equal(b.link_bytes, barrier.link_bytes)
        if run(s, topo, nbytes).how == "symmetry":
            assert np.allclose(run(s, topo, nbytes, shortcuts=False).finish, barrier.finish, rtol=1e-9, atol=0)


def test_symmetry_is_used_where_it_should_be():
    switch = network("switch", 8, reduces=True)
    used = {name for name, n in EVERY if n == 8 and run(build_schedule(name, 8), switch, 4 * 840 * 8).how == "symmetry"}
    assert {"allreduce_ring", "allreduce_recursive_doubling", "allreduce_halving_doubling"} <= used
    assert "allreduce_tree" not in used


@settings(max_examples=60, deadline=None)
@given(**ANY, sharing=SHARING)
def test_shortcuts_change_nothing(name, seed, nbytes, sharing):
    s = on_six(name)
    for topo in (irregular(seed), network("switch", 6), network("ring", 6)):
        a, b = (run(s, topo, nbytes, sharing=sharing, shortcuts=way) for way in (True, False))
        assert np.allclose(a.start, b.start, rtol=1e-9, atol=0)
        assert np.allclose(a.finish, b.finish, rtol=1e-9, atol=0)
        assert np.allclose(a.timing.step_end, b.timing.step_end, rtol=1e-9, atol=0)
        assert np.array_equal(a.link_bytes, b.link_bytes)


@settings(max_examples=60, deadline=None)
@given(**ANY)
def test_contention_never_helps_and_nothing_beats_the_bound(name, seed, nbytes):
    s, topo = on_six(name), irregular(seed)
    none, fair = (run(s, topo, nbytes, sharing=sharing) for sharing in ("none", "fair"))
    assert (none.finish <= fair.finish * (1 + 1e-9)).all()
    assert fair.time >= fair.bound.time * (1 - 1e-9)
    assert run(s, topo, nbytes, sharing="fifo").time >= fair.bound.time * (1 - 1e-9)


@settings(max_examples=40, deadline=None)
@given(**ANY, sharing=st.sampled_from(["fair", "fifo"]))
def test_no_link_ever_carries_more_than_it_can_and_every_byte_is_carried(name, seed, nbytes, sharing):
    topo = irregular(seed)
    t = run(on_six(name), topo, nbytes, sharing=sharing)
    for link in range(len(topo.links)):
        usage = t.usage(link)
        assert (usage.rate <= topo.links.bandwidth[link] * (1 + 1e-9)).all()
        assert usage.nbytes == close(t.link_bytes[link], rel=1e-6, abs=1e-3)
        assert usage.busy <= t.time * (1 + 1e-9)


@settings(max_examples=40, deadline=None)
@given(**ANY, factor=st.floats(1, 10), sharing=SHARING)
def test_more_of_all_bandwidth_or_less_of_all_latency_is_never_slower_without_contention(
    name, seed, nbytes, factor, sharing
):
    """Without contention each transfer only gets shorter. With it, all bandwidths and latencies together by one factor
    is a change of clock: everything takes 1/factor of the time."""
    s, topo = on_six(name), irregular(seed)
    links = topo.links
    wide = replace(topo, links=replace(links, bandwidth=links.bandwidth * factor))
    fast = replace(wide, links=replace(wide.links, alpha=links.alpha / factor))
    before = run(s, topo, nbytes, sharing=sharing)
    if sharing == "none":
        assert run(s, wide, nbytes, sharing=sharing).time <= before.time * (1 + 1e-9)
    assert run(s, fast, nbytes, sharing=sharing).time == close(before.time / factor, rel=1e-9)


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 1000),
    name=st.sampled_from(CASES),
    nbytes=st.integers(0, 1_000_000),
    sharing=st.sampled_from(["fair", "none"]),
)
def test_relabelling_ranks_on_a_symmetric_network_changes_nothing(seed, name, nbytes, sharing):
    order = np.random.default_rng(seed).permutation(6)
    s, topo = on_six(name), network("switch", 6)
    assert run(s, topo, nbytes, sharing=sharing, ranks=order).time == close(
        run(s, topo, nbytes, sharing=sharing).time, rel=1e-9
    )


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), n=st.integers(1, 40), sharing=SHARING)
def test_flows_are_finite_deterministic_and_no_faster_than_alone(seed, n, sharing):
    rng = np.random.default_rng(seed)
    topo = irregular(seed % 7)
    flows = rng.integers(0, 6, n), rng.integers(0, 6, n), rng.integers(0, 10**7, n), rng.uniform(0, 1e-3, n)
    a, b = (simulate_flows(topo, *flows, sharing=sharing) for _ in range(2))
    assert np.array_equal(a.finish, b.finish)
    alone = simulate_flows(topo, *flows, sharing="none")
    assert np.isfinite(a.finish).all()
    assert (a.finish >= alone.finish * (1 - 1e-9)).all()


@settings(max_examples=40, deadline=None)
@given(
    **ANY,
    sharing=st.sampled_from(["fair", "fifo"]),
    jitter=st.sampled_from([0, "2us"]),
    gamma=st.sampled_from([None, "30GB/s"]),
)
def test_no_link_carries_more_than_it_can_at_any_moment_whatever_the_trouble(
    name, seed, nbytes, sharing, jitter, gamma
):
    """From the stretches at one rate themselves: at the middle of every interval between two changes, the rates on a
    link are summed."""
    topo = irregular(seed)
    t = run(
        on_six(name),
        topo,
        nbytes,
        sharing=sharing,
        jitter=jitter,
        gamma=gamma,
        seed=seed,
        background=[(0, 5, "1MB"), (3, 2, "2MB", 1e-5)],
    )
    rows = t.schedule.transfers
    parts = [
        (t.segments, topo.routes(rows["src"], rows["dst"])),
        (t.background.segments, topo.routes(t.background.src, t.background.dst)),
    ]
    when = np.unique(np.concatenate([np.concatenate([s.begin, s.end]) for s, _ in parts]))
    middle = (when[1:] + when[:-1]) / 2
    wide = np.diff(when) > 1e-9 * when[-1] if len(when) else np.zeros(0, bool)
    for link in range(len(topo.links)):
        rate, moved = np.zeros(len(middle)), 0.0
        for s, routes in parts:
            owner = np.repeat(np.arange(len(routes)), routes.hops)
            crossing = np.isin(s.row, owner[routes.link == link]) if (s.link < 0).all() else s.link == link
            for begin, end, speed in zip(s.begin[crossing], s.end[crossing], s.rate[crossing], strict=True):
                rate += speed * ((begin < middle) & (middle < end))
                moved += speed * (end - begin)
        assert (rate[wide] <= topo.links.bandwidth[link] * (1 + 1e-9)).all()
        assert moved == pytest.approx(t.link_bytes[link] + t.background.link_bytes[link], rel=1e-6, abs=1e-2)


@settings(max_examples=40, deadline=None)
@given(**ANY, sharing=SHARING, seeds=st.tuples(st.integers(0, 99), st.integers(100, 199)))
def test_the_same_seed_gives_the_same_run_to_the_last_bit(name, seed, nbytes, sharing, seeds):
    s, topo = on_six(name), irregular(seed)
    for shortcuts in (True, False):
        first, again, other = (
            run(s, topo, nbytes, sharing=sharing, jitter="1us", seed=x, shortcuts=shortcuts)
            for x in (seeds[0], seeds[0], seeds[1])
        )
        assert np.array_equal(first.finish, again.finish)
        assert np.array_equal(first.start, again.start)
        assert not np.array_equal(first.finish, other.finish)


@settings(max_examples=40, deadline=None)
@given(**ANY, link=st.integers(0, 20), factor=st.floats(1, 10))
def test_one_faster_cable_or_a_shorter_latency_never_slows_a_run_without_contention(name, seed, nbytes, link, factor):
    """With contention it can: see test_a_faster_cable_can_make_a_run_slower."""
    s, topo = on_six(name), irregular(seed)
    links, one = topo.links, np.where(np.arange(len(topo.links)) == link % len(topo.links), factor, 1.0)
    before = run(s, topo, nbytes, sharing="none").time
    for better in (replace(links, bandwidth=links.bandwidth * one), replace(links, alpha=links.alpha / one)):
        assert run(s, replace(topo, links=better), nbytes, sharing="none").time <= before * (1 + 1e-12)


@settings(max_examples=60, deadline=None)
@given(n=st.integers(1, 30), seed=st.integers(0, 10_000), sharing=SHARING, shortcuts=st.booleans())
def test_explicit_dependencies_are_kept(n, seed, sharing, shortcuts):
    """Any graph without a circle, in any order of rows: nothing starts before all that it waits for has arrived, and
    then at once."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(n)
    waits = [[] for _ in range(n)]
    for place in range(1, n):
        waits[order[place]] = sorted(order[rng.integers(0, place, rng.integers(0, 4))].tolist())
    src = rng.integers(0, 6, n)
    dst = (src + rng.integers(1, 6, n)) % 6
    s = freeze("given", "allreduce", 6, [copy(src, dst, np.arange(n))], chunks=n)
    start = np.concatenate([[0], np.cumsum([len(w) for w in waits])])
    s = replace(s, depends=(start, np.array([row for w in waits for row in w], np.int64)))
    t = run(s, irregular(seed), 1000 * n, sharing=sharing, shortcuts=shortcuts)
    for row, before in enumerate(waits):
        assert t.start[row] == max((t.finish[i] for i in before), default=0.0)


def test_a_circle_says_which_transfer_waits_for_which():
    s = freeze("given", "allreduce", 4, [copy([0, 1, 2, 3], [1, 2, 3, 0], 0)], chunks=1)
    s = replace(s, depends=(np.array([0, 0, 1, 2, 3]), np.array([3, 1, 2])))
    with pytest.raises(cs.ScheduleError) as caught:
        run(s, network("ring", 4), 1000)
    text = str(caught.value)
    assert "cannot end" in text
    for row, (src, dst) in {1: (1, 2), 2: (2, 3), 3: (3, 0)}.items():
        assert f"transfer {row} (step 1, {src} to {dst}, chunk 0)" in text
    assert "transfer 0" not in text


def test_dependencies_that_a_file_carries_are_kept(tmp_path):
    """MSCCL's XML says for every thread block what it waits for; saved as JSON the schedule still does."""
    s, topo = cs.schedule("allreduce_ring", 4), network("ring", 4)
    cs.save(s, tmp_path / "s.xml")
    imported = cs.load(tmp_path / "s.xml")
    cs.save(imported, tmp_path / "s.json")
    again = cs.load(tmp_path / "s.json")
    assert s.depends is None
    for made in (imported, again):
        start, rows = made.depends
        t = run(made, topo, 4_000_000)
        for row in range(len(made)):
            assert all(t.finish[before] <= t.start[row] for before in rows[start[row] : start[row + 1]])
        assert t.time == pytest.approx(run(s, topo, 4_000_000).time, rel=1e-9)
