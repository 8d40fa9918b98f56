"""The discrete-step engine against closed forms worked by hand, and its invariants."""

import gc
import itertools
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import collsim as cs
from collsim.collective import split_evenly
from collsim.registry import algorithms
from collsim.schedule import freeze
from collsim.simulate import lockstep, paths
from collsim.steps import copy, repeat

ALPHA, RATE = 1e-6, 25e9
close = pytest.approx


def network(name, n, **options):
    return getattr(cs.topology, name)(n, bandwidth=RATE, alpha=ALPHA, **options)


# ---- closed forms
# ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 3, 5, 8, 16, 33])
@pytest.mark.parametrize(("shape", "cables"), [("ring", 1), ("switch", 2), ("fully_connected", 1)])
def test_ring_allreduce_takes_2n_minus_2_steps_of_its_largest_chunk(n, shape, cables):
    """2(n-1) steps; each crosses `cables` cables and carries nbytes/n, which divides here."""
    nbytes = 4 * n * 1000
    t = cs.simulate(cs.schedule("allreduce_ring", n), network(shape, n), nbytes)
    assert t.time == close(2 * (n - 1) * (cables * ALPHA + 4000 / RATE), rel=1e-9)


def test_a_size_that_does_not_divide_costs_its_largest_chunk():
    """1,000,003 bytes of float32 over 7 ranks: 250,001 elements, the last of 3 bytes; 250,001 = 7 * 35,714 + 3, so
    chunks 0-2 hold 35,715 elements and the rest 35,714. In every one of the 12 steps each chunk is under way once, so
    every step lasts as long as 35,715."""
    t = cs.simulate(cs.schedule("allreduce_ring", 7), network("switch", 7), 1_000_003)
    assert t.slot_bytes.tolist() == [142_860] * 3 + [142_856] * 3 + [142_855]
    assert t.time == close(12 * (2 * ALPHA + 142_860 / RATE), rel=1e-9)


def test_a_size_smaller_than_the_ranks_still_pays_every_alpha():
    """8 bytes over 16 ranks are 2 elements: chunks 0 and 1 of 4 bytes, 14 empty ones; in each of 30 steps both are
    under way."""
    t = cs.simulate(cs.schedule("allreduce_ring", 16), network("switch", 16), 8)
    assert t.slot_bytes.tolist() == [4, 4] + [0] * 14
    assert t.time == close(30 * (2 * ALPHA + 4 / RATE), rel=1e-9)
    assert t.sent_bytes.sum() == 30 * 8


def test_no_bytes_cost_only_alphas():
    t = cs.simulate(cs.schedule("allreduce_ring", 4), network("ring", 4), 0)
    assert t.time == close(6 * ALPHA, rel=1e-9)
    assert t.link_bytes.sum() == 0


def test_one_rank_needs_no_time():
    t = cs.simulate(cs.schedule("allreduce_ring", 1), network("switch", 2), "1MiB")
    assert (t.time, t.algbw, t.busbw, t.bottleneck) == (0, 0, 0, None)


def test_transfers_of_a_step_share_a_link_fairly():
    """Three ranks send 1 MB to rank 0 over its one cable: 3 MB at 25 GB/s, and two alphas."""
    s = freeze("incast", "allreduce", 4, [copy([1, 2, 3], 0, [0, 1, 2])], chunks=4)
    t = cs.simulate(s, network("switch", 4), 4_000_000, dtype="int8")
    assert t.time == close(2 * ALPHA + 3e6 / RATE, rel=1e-9)


def test_a_ring_step_that_crosses_three_links_loads_all_three():
    """Rank r sends 1 MB to r+3 round a ring of 8: every link is on three routes, so 3 alphas and 3 MB."""
    r = np.arange(8)
    s = freeze("far", "allreduce", 8, [copy(r, (r + 3) % 8, r)], chunks=8)
    t = cs.simulate(s, network("ring", 8), 8_000_000, dtype="int8")
    assert t.time == close(3 * ALPHA + 3e6 / RATE, rel=1e-9)
    assert t.link_bytes.sum() == 8 * 3 * 1_000_000


def test_a_local_copy_costs_nothing():
    s = freeze("own", "allreduce", 2, [copy([0, 1], [0, 1], 0, into=1)], chunks=2)
    t = cs.simulate(s, network("switch", 2), "1MiB")
    assert t.time == 0
    assert t.sent_bytes.sum() == 0


# ---- conservation and bookkeeping
# --------------------------------------------------------------------------------------------


def names():
    return sorted(algorithms())


def try_schedule(name, n):
    try:
        return cs.schedule(name, ranks=n)
    except cs.CollsimError:
        return None


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from(names()),
    n=st.integers(2, 13),
    nbytes=st.integers(0, 5_000_000),
    shape=st.sampled_from(["switch", "ring"]),
)
def test_bytes_in_are_bytes_out_and_no_run_beats_its_bound(name, n, nbytes, shape):
    s = try_schedule(name, n)
    if s is None:
        return
    t = cs.simulate(s, network("switch", n, reduces=True) if s.endpoints > n else network(shape, n), nbytes)
    away = s.transfers["src"] != s.transfers["dst"]
    moved = t.slot_bytes[s.transfers["chunk"][away]]
    assert t.sent_bytes.sum() == t.received_bytes.sum() == moved.sum()
    hops = t.topology.routes(t.placement[s.transfers["src"]], t.placement[s.transfers["dst"]]).hops
    assert t.link_bytes.sum() == (t.slot_bytes[s.transfers["chunk"]] * hops).sum()
    assert t.time >= t.bound.time * (1 - 1e-9)
    assert np.all(t.finish <= np.repeat(t.timing.step_end, [len(p) for p in s.each_step()]) * (1 + 1e-12))


@settings(max_examples=40, deadline=None)
@given(n=st.integers(2, 12), nbytes=st.integers(0, 100_000), channels=st.integers(1, 3))
def test_repeated_patterns_give_the_times_of_steps_written_out(n, nbytes, channels):
    s = cs.schedule("allreduce_ring", ranks=n, channels=channels)
    written_out = freeze(s.name, s.collective, n, list(s.each_step()), chunks=s.chunks, slots=s.slots)
    topo = network("switch", n)
    a, b = cs.simulate(s, topo, nbytes), cs.simulate(written_out, topo, nbytes)
    assert a.time == close(b.time, rel=1e-12)
    assert np.allclose(a.start, b.start, rtol=1e-12, atol=0)
    assert np.allclose(a.finish, b.finish, rtol=1e-12, atol=0)
    assert np.array_equal(a.link_bytes, b.link_bytes)


def all_written_out(s):
    steps = [p.repetition(k) for p in s.patterns for k in range(p.times)]
    return freeze(s.name, s.collective, s.ranks, steps, chunks=s.chunks, slots=s.slots)


@settings(max_examples=40, deadline=None)
@given(n=st.integers(2, 40), nbytes=st.integers(0, 100_000), shape=st.sampled_from(["ring", "switch"]))
def test_ranges_of_chunks_give_the_times_of_rows_written_out(n, nbytes, shape):
    """On a ring of cables many transfers meet; 3 n + 1 bytes and the like make the chunks of a range differ in size."""
    s, topo = cs.schedule("allreduce_halving_doubling", n), network(shape, n)
    assert max(p.width for p in s.patterns) > 1 or n < 4
    a, b = cs.simulate(s, topo, nbytes), cs.simulate(all_written_out(s), topo, nbytes)
    assert np.allclose(a.start, b.start, rtol=1e-12, atol=0)
    assert np.allclose(a.finish, b.finish, rtol=1e-12, atol=0)
    assert np.array_equal(a.link_bytes, b.link_bytes)
    assert np.array_equal(a.sent_bytes, b.sent_bytes)
    assert np.array_equal(a.received_bytes, b.received_bytes)
    assert np.allclose(a.steps, b.steps, rtol=1e-12, atol=0)


def test_halving_and_doubling_of_many_ranks_is_its_closed_form():
    """2 lg n steps of two alphas and halves of halves: 2 (n-1)/n S in all, here of 2^16 ranks, 8.6 thousand million
    transfers."""
    n = 2**16
    t = cs.simulate(cs.schedule("allreduce_halving_doubling", n), network("switch", n), 4 * n)
    assert len(t.schedule) == 2 * n * (n - 1)
    assert t.time == close(2 * 16 * 2 * ALPHA + 2 * (n - 1) * 4 / RATE, rel=1e-9)


def test_a_pattern_that_repeats_without_a_shift_moves_its_own_chunks():
    """Chunk 1 of 10 bytes in 3 parts (4, 3, 3) goes out four times; chunk 0 never does."""
    s = freeze("again", "allreduce", 2, [repeat(copy(0, 1, 1), times=4, shift=0, modulus=3)], chunks=3)
    t = cs.simulate(s, network("fully_connected", 2), 10, dtype="int8")
    assert t.sent_bytes.tolist() == [4 * split_evenly(10, 3)[1], 0]


# ---- why
# ---------------------------------------------------------------------------------------------------------------------


def test_doubling_the_only_kind_of_cable_halves_the_time_of_a_bandwidth_bound_run():
    t = cs.simulate(cs.schedule("allreduce_ring", 4), cs.topology.switch(4, bandwidth=RATE, alpha=0), "64MiB")
    assert t.bottleneck.savings == {"cable": close(0.5, rel=1e-9)}
    assert t.bottleneck.busy_share == close(1.0, rel=1e-9)
    assert t.bottleneck.latency == 0


def test_latency_is_what_endless_bandwidth_leaves():
    """Half of each step is alpha when nbytes/n/RATE equals the two alphas of the switch: 8 chunks of 50,000 bytes."""
    t = cs.simulate(cs.schedule("allreduce_ring", 8), network("switch", 8), 8 * 50_000)
    assert t.bottleneck.latency == close(0.5, rel=1e-9)
    assert t.bottleneck.savings["cable"] == close(0.25, rel=1e-9)


def test_the_bottleneck_is_the_slowed_cable():
    topo = network("ring", 6).with_link(2, 3, bandwidth=RATE / 10)
    t = cs.simulate(cs.schedule("allreduce_ring", 6), topo, "6MiB")
    assert t.links["link"][t.bottleneck.link] == t.bottleneck.name
    assert t.bottleneck.busy_share == t.links["share"].max()
    assert t.topology.links.bandwidth[t.bottleneck.link] == RATE / 10


def test_no_reason_is_given_where_no_byte_moved():
    assert cs.simulate(cs.schedule("allreduce_ring", 4), network("switch", 4), 0).bottleneck is None


# ---- what is stored between runs
# --------------------------------------------------------------------------------------------------------------------


def test_a_run_after_another_size_topology_or_schedule_is_as_if_it_were_the_first():
    schedules = [cs.schedule(name, 8) for name in ("allreduce_ring", "allreduce_parameter_server", "allreduce_tree")]
    topologies = [network("ring", 8), network("switch", 8), network("ring", 8).with_link(2, 3, bandwidth=RATE / 10)]
    cases = list(itertools.product(schedules, topologies, ("1KiB", "1MiB", 1001)))

    def run(schedule, topology, nbytes):
        trace = cs.simulate(schedule, topology, nbytes)
        return trace.time, trace.bound.time, trace.link_bytes.tolist(), trace.finish.tolist()

    alone = []
    for case in cases:
        lockstep._last_paths = None
        alone.append(run(*case))
    for order in (cases, cases[::-1], sorted(cases, key=lambda case: str(case[2]))):
        assert [run(*case) for case in order] == [alone[cases.index(case)] for case in order]


def test_a_size_more_of_the_same_schedule_finds_no_routes_again_and_counts_no_links(monkeypatch):
    ring, topology = cs.schedule("allreduce_ring", 16), cs.machine("dgx-a100", nodes=2)
    cs.simulate(ring, topology, "1MiB")
    monkeypatch.setattr(lockstep, "find_paths", lambda *_: pytest.fail("routes are found again"))
    monkeypatch.setattr(paths.Paths, "count_crossings", lambda *_: pytest.fail("links are counted again"))
    assert cs.simulate(ring, topology, "1GiB").time > cs.simulate(ring, topology, "1MiB").time


@given(st.lists(st.tuples(st.floats(0, 1e-3), st.floats(0, 1e-9)), min_size=1, max_size=30), st.floats(0, 1e12))
def test_the_longest_of_linear_times_is_that_of_all_pairs_to_the_last_bit(pairs, nbytes):
    times = paths.LinearTimes(*np.array(pairs).T)
    assert times.compute_longest(nbytes) == times.compute(nbytes).max()
    assert times.shorten().compute(nbytes).max() == times.compute(nbytes).max()


def test_what_is_stored_keeps_neither_schedule_nor_topology():
    ring, topology = cs.schedule("allreduce_parameter_server", 4), network("switch", 4)
    cs.simulate(ring, topology, "1MiB")
    references = weakref.ref(ring), weakref.ref(topology)
    del ring, topology
    gc.collect()
    assert [reference() for reference in references] == [None, None]


# ---- refusals
# ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("ring", network("switch", 4), 1), "wants a schedule"),
        ((cs.schedule("allreduce_ring", 4), 5, 1), "wants a topology"),
        ((cs.schedule("allreduce_ring", 8), network("switch", 4), 1), "has 8 ranks"),
        ((cs.schedule("allreduce_ring", 4), network("switch", 4), "64M"), "ambiguous"),
        ((cs.schedule("allreduce_ring", 4), network("switch", 4), -1), "negative"),
        ((cs.schedule("allreduce_ring", 4), network("switch", 4), 1, "float31"), "did you mean"),
    ],
)
def test_a_wrong_argument_is_refused_with_a_sentence(arguments, says):
    with pytest.raises(cs.CollsimError, match=says):
        cs.simulate(*arguments)


def test_an_unknown_engine_names_the_known_ones():
    with pytest.raises(cs.CollsimError, match="lockstep"):
        cs.simulate(cs.schedule("allreduce_ring", 4), network("switch", 4), 1, engine="packets")
