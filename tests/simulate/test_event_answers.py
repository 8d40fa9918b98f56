"""The event engine against times worked out by hand."""

import numpy as np
import pytest
from event_cases import ALPHA, RATE, network, run

import collsim as cs
from collsim.schedule import freeze
from collsim.simulate import simulate_flows
from collsim.steps import copy, reduce

GIB = 2**30
close = pytest.approx


@pytest.mark.parametrize(
    ("topo", "dst", "stored", "through"),
    [
        (cs.topology.fully_connected(4, bandwidth=50 * GIB, alpha="500ns"), 1, 20_031, 20_031),
        (cs.topology.switch(4, bandwidth=50 * GIB, alpha="500ns"), 1, 40_062, 20_531),
        (cs.topology.ring(16, bandwidth=50 * GIB, alpha="500ns"), 3, 60_093, 21_031),
    ],
    ids=["one hop", "two hops over a switch", "three hops in a ring"],
)
def test_one_mebibyte_takes_what_astra_sims_network_tests_say(topo, dst, stored, through):
    """2^20 B / 50 GiB/s = 19,531.25 ns. h hops: h * (19,531.25 + 500) stored and forwarded, 19,531.25 + 500 h cut
    through; ASTRA-sim counts whole nanoseconds."""
    times = {
        sharing: simulate_flows(topo, [0], [dst], "1MiB", sharing=sharing).time for sharing in ("fifo", "fair", "none")
    }
    assert int(times["fifo"] * 1e9) == stored
    assert int(times["fair"] * 1e9 + 1e-6) == int(times["none"] * 1e9 + 1e-6) == through


def test_incast_shares_the_receivers_cable():
    """Eight workers send 1 MB each into one cable: 8 MB at 25 GB/s, two alphas; store and forward adds 1 MB on the
    first cable."""
    topo = network("switch", 9)
    fair = simulate_flows(topo, range(1, 9), 0, 1_000_000)
    assert fair.finish == close(np.full(8, 2 * ALPHA + 8e6 / RATE), rel=1e-12)
    fifo = simulate_flows(topo, range(1, 9), 0, 1_000_000, sharing="fifo")
    assert fifo.finish == close(2 * ALPHA + np.arange(2, 10) * 1e6 / RATE, rel=1e-12)


def test_max_min_gives_the_short_flows_what_the_long_one_cannot_use():
    """The textbook line: one flow over three links, one over each; the first link has a second short flow. All rates by
    hand: link 0 has three flows, 1/3 each; what remains of links 1 and 2 is 2/3 for their own."""
    topo = network("line", 4, alpha=0)
    t = simulate_flows(topo, [0, 0, 0, 1, 2], [3, 1, 1, 2, 3], [10**9, 10**9, 10**9, 2 * 10**9, 2 * 10**9])
    assert t.finish == close(np.full(5, 3e9 / RATE), rel=1e-12)


def test_a_flow_that_ends_hands_its_share_to_the_others():
    """Two flows of 1 and 3 units into one cable: both at 1/2 until 2, then the second alone for its last 2 units: 4."""
    topo = network("switch", 3, alpha=0)
    assert simulate_flows(topo, [1, 2], 0, [10**9, 3 * 10**9]).finish == close(np.array([2e9, 4e9]) / RATE, rel=1e-12)


def test_a_flow_that_begins_later_takes_its_share_from_then():
    """Alone for 1 s at 25 GB/s, then half: 50 GB end after 1 + 2 = 3 s; the second has moved 25 GB by then and the last
    25 GB take 1 s."""
    topo = network("switch", 3, alpha=0)
    t = simulate_flows(topo, [1, 2], 0, [50 * 10**9, 50 * 10**9], start=["0s", "1s"])
    assert t.finish == close([3.0, 4.0], rel=1e-12)


@pytest.mark.parametrize("chunks", [1, 4, 16])
@pytest.mark.parametrize("sharing", ["fair", "fifo", "none"])
def test_a_pipelined_chain_reaches_its_textbook_time(chunks, sharing):
    """(n - 2 + c) steps of alpha + S/c/B along a line of n = 6 (Chan et al. 2007, section 5)."""
    n, nbytes = 6, 4 * 16 * 10_000
    t = run(cs.schedule("broadcast_chain", n, chunks=chunks), network("line", n), nbytes, sharing=sharing)
    assert t.time == close((n - 2 + chunks) * (ALPHA + nbytes / chunks / RATE), rel=1e-9)


def test_without_a_barrier_two_slow_cables_on_different_ways_cost_only_once():
    """0 to 1 to 4 and 2 to 3 to 5, of 1 MB each; 0-1 and 3-5 run at a tenth. With a barrier 10 + 10 units of time,
    without 11."""
    s = freeze("two_ways", "broadcast", 6, [copy([0, 2], [1, 3], [0, 1]), copy([1, 3], [4, 5], [0, 1])], chunks=2)
    topo = network("fully_connected", 6, alpha=0)
    topo = topo.with_link("gpu0", "gpu1", bandwidth=RATE / 10).with_link("gpu3", "gpu5", bandwidth=RATE / 10)
    assert cs.simulate(s, topo, 2_000_000).time == close(20e6 / RATE, rel=1e-9)
    assert run(s, topo, 2_000_000).time == close(11e6 / RATE, rel=1e-9)


@pytest.mark.parametrize("n", [2, 3, 8, 17])
@pytest.mark.parametrize("shape", ["ring", "switch", "fully_connected"])
@pytest.mark.parametrize("shortcuts", [True, False])
def test_where_a_barrier_costs_nothing_both_engines_agree(n, shape, shortcuts):
    s, topo = cs.schedule("allreduce_ring", n), network(shape, n)
    for nbytes in (0, 8, 1_000_000 * n):
        a, b = cs.simulate(s, topo, nbytes), run(s, topo, nbytes, shortcuts=shortcuts)
        assert b.how == ("events" if not shortcuts else b.how)
        assert b.time == close(a.time, rel=1e-9)
        assert np.allclose(b.link_bytes, a.link_bytes)
    assert b.finish == close(a.finish, rel=1e-9)


# ---- costs
# -------------------------------------------------------------------------------------------------------------------


def test_reducing_costs_bytes_over_gamma_of_each_reduce_step():
    """Ring allreduce with gamma: 2(n-1)(alpha + S/n/B) + (n-1) S/n/gamma (Thakur et al. 2005, section 4.5)."""
    n, nbytes, gamma = 5, 5_000_000, 50e9
    t = run(cs.schedule("allreduce_ring", n), network("ring", n), nbytes, gamma=gamma)
    assert t.time == close(2 * (n - 1) * (ALPHA + nbytes / n / RATE) + (n - 1) * nbytes / n / gamma, rel=1e-9)


def test_a_device_reduces_one_arrival_after_another():
    """A server gets 4 MB at one moment, and adds 1 MB after 1 MB at 10 GB/s."""
    s = freeze("push", "reduce", 5, [reduce(range(1, 5), 0, chunk=0)], chunks=1)
    t = run(s, network("switch", 5), 1_000_000, gamma="10GB/s")
    assert t.finish == close(2 * ALPHA + 4e6 / RATE + np.arange(1, 5) * 1e6 / 1e10, rel=1e-9)


def test_launch_and_overhead_are_added_where_they_belong():
    n, nbytes = 4, 4_000_000
    s, topo = cs.schedule("allreduce_ring", n), network("ring", n)
    plain = run(s, topo, nbytes).time
    assert run(s, topo, nbytes, launch="10us").time == close(plain + 10e-6, rel=1e-9)
    assert run(s, topo, nbytes, overhead="2us").time == close(plain + 2 * (n - 1) * 2e-6, rel=1e-9)


def test_an_injection_limit_is_shared_by_all_that_an_endpoint_sends():
    """Rank 0 sends 1 MB over each of three cables of its own, but its NIC injects only 10 GB/s."""
    s = freeze("scatter_now", "allreduce", 4, [copy(0, [1, 2, 3], [0, 1, 2])], chunks=4)
    t = run(s, network("fully_connected", 4), 4_000_000, dtype="int8", injection="10GB/s")
    assert t.time == close(ALPHA + 3e6 / 10e9, rel=1e-9)
    assert t.link_bytes.sum() == 3_000_000
