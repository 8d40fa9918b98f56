"""The event engine on a machine that is not well: late and slow ranks, failed cables, jitter, other traffic."""

import numpy as np
import pytest
from event_cases import RATE, network, run

import collsim as cs
from collsim.schedule import freeze
from collsim.simulate import simulate_flows
from collsim.steps import copy

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


def shares(t):
    """Part of the run in which each link could not have carried more."""
    return dict(zip(t.links["link"], t.links["share"], strict=True))


@pytest.mark.parametrize("sharing", ["fair", "fifo", "none"])
def test_the_cables_of_a_slow_rank_are_busy_at_the_rate_that_they_have(sharing):
    """On a switch, without latency, rank 2 four times slower: each of 6 steps lasts as long as its cables need, the
    others' a quarter of that; stored and forwarded, a chunk that leaves or reaches rank 2 takes 4 and 1 units."""
    s, topo = cs.schedule("allreduce_ring", 4), network("switch", 4, alpha=0)
    t = run(s, topo, 4_000_000, slow={2: 4}, sharing=sharing)
    busy = shares(t)
    assert busy["gpu2 → switch0"] == busy["switch0 → gpu2"] == close(0.8 if sharing == "fifo" else 1.0, rel=1e-9)
    assert busy["gpu0 → switch0"] == close(busy["gpu2 → switch0"] / 4, rel=1e-9)
    assert t.bottleneck.name in ("gpu2 → switch0", "switch0 → gpu2")
    assert t.links["bandwidth"].min() == RATE / 4
    assert t.bound.time == close(run(s, t.topology, 4_000_000).bound.time)
    usage = t.usage(t.bottleneck.link)
    assert usage.rate.max() == close(RATE / 4)


def test_what_is_repeated_with_other_cables_keeps_the_slow_rank_as_slow_as_it_was():
    s, topo = cs.schedule("allreduce_ring", 4), network("switch", 4, alpha=0)
    t = run(s, topo, 4_000_000, slow={2: 4})
    assert t.run_again(t.topology).time == t.time
    assert t.bottleneck.savings["cable"] == close(0.5, rel=1e-9)
    flows = simulate_flows(topo, [0, 1], [1, 2], 1_000_000, slow={2: 4})
    assert flows.finish == close(np.array([1e6, 4e6]) / RATE, rel=1e-9)


def test_a_run_in_which_every_rank_is_slow_is_worked_out_as_one_in_which_none_is():
    s, topo = cs.schedule("allreduce_ring", 4), network("switch", 4, alpha=0)
    t = run(s, topo, 4_000_000, slow=dict.fromkeys(range(4), 3))
    assert t.how == "symmetry"
    assert t.time == close(3 * run(s, topo, 4_000_000).time, rel=1e-9)


def test_a_cable_between_two_slow_ranks_is_slower_by_the_larger_factor():
    """Cable to cable, without a switch: all ranks 3 times slower take 3 times as long; between 3 and 2 it is 3."""
    s, topo = cs.schedule("allreduce_ring", 4), network("ring", 4, alpha=0)
    assert run(s, topo, 4_000_000, slow=dict.fromkeys(range(4), 3)).time == close(
        3 * run(s, topo, 4_000_000).time, rel=1e-9
    )
    links = run(s, topo, 4_000_000, slow={0: 2, 1: 3}).links.set_index("link")["bandwidth"]
    said = {"gpu0 → gpu1": 3, "gpu1 → gpu0": 3, "gpu1 → gpu2": 3, "gpu3 → gpu0": 2, "gpu2 → gpu3": 1}
    assert {name: links[name] for name in said} == close({name: RATE / factor for name, factor in said.items()})


def test_a_cable_that_others_use_too_is_not_said_to_be_idle():
    """1 GB flows into rank 1 beside a ring of 4, and takes half of that cable: 6 MB in the time in which the ring's 6
    MB cross it."""
    s, topo = cs.schedule("allreduce_ring", 4), network("switch", 4, alpha=0)
    t = run(s, topo, 4_000_000, background=[(2, 1, "1GB")])
    assert (t.link_bytes == 6_000_000).all()
    assert t.links.set_index("link")["other"]["switch0 → gpu1"] == 6_000_000
    assert shares(t)["switch0 → gpu1"] == close(1.0, rel=1e-6)
    assert shares(t)["switch0 → gpu0"] == close(0.5, rel=1e-6)


def test_stored_and_forwarded_other_traffic_counts_where_it_has_come():
    """1 GB from rank 2 to rank 1 at 25 GB/s: 40 ms to the switch, and 40 ms from there. Ranks 0 and 3 share nothing
    with it and are done in 20 ms: by then half of it has crossed the first cable and nothing the second."""
    topo = network("switch", 4, alpha=0)
    s = freeze("far", "broadcast", 4, [copy(0, 3, 0)], chunks=1)
    t = run(s, topo, 250_000_000, background=[(2, 1, "1GB")], sharing="fifo")
    assert t.time == close(20e-3, rel=1e-9)
    other = t.links.set_index("link")["other"]
    assert (other["gpu2 → switch0"], other["switch0 → gpu1"]) == (500_000_000, 0)


def test_a_cable_that_only_others_use_is_nobodys_bottleneck():
    """Two ranks talk over their cables; the others' are full of other traffic all the time."""
    s, topo = cs.schedule("allreduce_ring", 2), network("switch", 4)
    t = run(s, topo, 1_000_000, background=[(2, 3, "1GB")])
    assert shares(t)["gpu2 → switch0"] > t.bottleneck.busy_share
    assert t.bottleneck.name.replace("switch0", "").strip(" →") in ("gpu0", "gpu1")


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
    """One endless flow into rank 1 takes half of that cable: the ring's transfers 0 to 1 take twice as long, and all
    wait for them."""
    n = 4
    s, topo = cs.schedule("allreduce_ring", n), network("switch", n, alpha=0)
    plain = run(s, topo, 4_000_000)
    busy = run(s, topo, 4_000_000, background=[(2, 1, "1GB")])
    assert busy.time > 1.3 * plain.time
    assert busy.background.finish[0] == close((1e9 + busy.link_bytes[topo.routes([0], [1])[0][1]]) / RATE, rel=1e-9)


def test_a_faster_cable_can_make_a_run_slower():
    """As Braess's road: rank 0's cable doubled lets 1 to 3 begin while the critical 2 to 3 still runs, and takes half
    of its cable.

    One unit of time per MB on most cables, four on rank 4's. Before: 2 to 3 ends at 1, 3 to 4 at 5. After: 0 to 1 ends
    at 0.5, 2 to 3 has half its bytes left and half the rate, ends at 1.5, and 3 to 4 at 5.5.
    """
    s = freeze(
        "braess",
        "broadcast",
        5,
        [copy([0, 2], [1, 3], [0, 1], channel=[1, 0]), copy([1, 3], [3, 4], [0, 1], channel=[1, 0])],
    )
    before = cs.topology.switch(5, bandwidth=1e9, alpha=0)
    before = before.with_link("gpu1", "switch0", bandwidth=2e9).with_link("gpu4", "switch0", bandwidth=1e9 / 4)
    after = before.with_link("gpu0", "switch0", bandwidth=2e9)
    assert run(s, before, 2_000_000, dtype="int8").time == close(5e-3, rel=1e-9)
    assert run(s, after, 2_000_000, dtype="int8").time == close(5.5e-3, rel=1e-9)


def test_many_runs_show_how_jitter_spreads():
    s, topo = cs.schedule("allreduce_ring", 4), network("ring", 4)
    times = cs.simulate_many(s, topo, "1MiB", runs=50, jitter="1us", seed=7)
    assert len(times) == 50
    assert times[3] == run(s, topo, "1MiB", jitter="1us", seed=10).time
    assert times.std() > 0
    assert times.min() > run(s, topo, "1MiB").time
