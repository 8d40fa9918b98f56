"""The event engine on a machine that is not well: late and slow ranks, failed cables, jitter, other traffic."""

import numpy as np
import pytest
from event_cases import RATE, network, run

import collsim as cs
from collsim.schedule import copy, freeze
from collsim.simulate import simulate_many

close = pytest.approx


def test_a_late_rank_delays_everybody_by_at_most_its_delay():
    s, topo = cs.schedule("allreduce_ring", 6), network("ring", 6)
    plain = run(s, topo, 6_000_000).time
    late = run(s, topo, 6_000_000, late={2: "100us"})
    assert late.time == close(plain + 100e-6, rel=1e-9)
    assert late.start[s.transfers["src"] == 2].min() == close(100e-6)


def test_a_slow_rank_is_a_rank_with_slow_cables():
    s = cs.schedule("allreduce_ring", 6)
    slow = run(s, network("ring", 6), 6_000_000, slow={2: 4})
    topo = network("ring", 6)
    for other in (1, 3):
        topo = topo.with_link("gpu2", f"gpu{other}", bandwidth=RATE / 4)
    assert slow.time == close(run(s, topo, 6_000_000).time, rel=1e-12)


def test_a_failed_cable_is_gone_round():
    s = cs.schedule("allreduce_ring", 6)
    broken = run(s, network("ring", 6).without_link("gpu0", "gpu1"), 6_000_000)
    assert np.isfinite(broken.time)
    assert broken.time > run(s, network("ring", 6), 6_000_000).time


def test_a_cut_names_the_ranks_that_cannot_reach_each_other():
    with pytest.raises(cs.TopologyError, match=r"rank|gpu"):
        run(cs.schedule("allreduce_ring", 4), network("line", 4).without_link("gpu1", "gpu2"), 1000)


def test_jitter_is_the_same_for_a_seed_and_never_helps():
    s, topo = cs.schedule("allreduce_ring", 8), network("ring", 8)
    plain = run(s, topo, "1MiB").time
    times = [run(s, topo, "1MiB", jitter="1us", seed=seed).time for seed in range(20)]
    assert times[3] == run(s, topo, "1MiB", jitter="1us", seed=3).time
    assert len(set(times)) == 20
    assert min(times) > plain


def test_background_traffic_slows_what_it_shares_a_cable_with():
    """One endless flow into rank 1 takes half of that cable: the ring's transfers 0 to 1 take twice as long, and all wait for them."""
    n = 4
    s, topo = cs.schedule("allreduce_ring", n), network("switch", n, alpha=0)
    plain = run(s, topo, 4_000_000)
    busy = run(s, topo, 4_000_000, background=[(2, 1, "1GB")])
    assert busy.time > 1.3 * plain.time
    assert busy.background.finish[0] == close((1e9 + busy.link_bytes[topo.routes([0], [1])[0][1]]) / RATE, rel=1e-9)


def test_a_faster_cable_can_make_a_run_slower():
    """As Braess's road: rank 0's cable doubled lets 1 to 3 begin while the critical 2 to 3 still runs, and takes half of its cable.

    One unit of time per MB on most cables, four on rank 4's. Before: 2 to 3 ends at 1, 3 to 4 at 5. After: 0 to 1 ends at 0.5, 2 to 3 has
    half its bytes left and half the rate, ends at 1.5, and 3 to 4 at 5.5.
    """
    s = freeze("braess", "broadcast", 5, [copy([0, 2], [1, 3], [0, 1], channel=[1, 0]), copy([1, 3], [3, 4], [0, 1], channel=[1, 0])])
    before = cs.topology.switch(5, bandwidth=1e9, alpha=0)
    before = before.with_link("gpu1", "switch0", bandwidth=2e9).with_link("gpu4", "switch0", bandwidth=1e9 / 4)
    after = before.with_link("gpu0", "switch0", bandwidth=2e9)
    assert run(s, before, 2_000_000, dtype="int8").time == close(5e-3, rel=1e-9)
    assert run(s, after, 2_000_000, dtype="int8").time == close(5.5e-3, rel=1e-9)


def test_many_runs_show_how_jitter_spreads():
    s, topo = cs.schedule("allreduce_ring", 4), network("ring", 4)
    times = simulate_many(s, topo, "1MiB", runs=50, jitter="1us", seed=7)
    assert len(times) == 50
    assert times[3] == run(s, topo, "1MiB", jitter="1us", seed=10).time
    assert times.std() > 0
    assert times.min() > run(s, topo, "1MiB").time
