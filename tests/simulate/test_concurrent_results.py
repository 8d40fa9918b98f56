"""Several collectives at once on one machine."""

import importlib

import numpy as np
import pytest
from event_cases import network, run

import collsim as cs
from collsim.simulate.event import run_events

close = pytest.approx


def test_two_rings_on_one_set_of_cables_take_twice_as_long_without_latency():
    s, topo = cs.schedule("allreduce_ring", 4), network("ring", 4, alpha=0)
    both = cs.simulate([s, s], topo, "4MiB")
    assert both.slowdown == close([2, 2], rel=1e-9)
    assert both.time == close(2 * run(s, topo, "4MiB").time, rel=1e-9)


def test_a_cable_is_as_busy_as_all_that_cross_it_make_it():
    """4 MB and 1 MB on one ring without latency: all shared until the small one is over, then the large one alone.
    Every cable is full all the time, and of what crosses it in the short run's time half is the other's."""
    s, topo = cs.schedule("allreduce_ring", 4), network("ring", 4, alpha=0)
    large, small = cs.simulate([s, s], topo, ["4MB", "1MB"])
    for t in (large, small):
        used = t.link_bytes > 0
        assert (t.link_busy[used] / t.time) == close(1.0)
        assert (t.other_bytes[used] == 1_500_000).all()
    assert small.time == close(2 * 1.5e6 / 25e9, rel=1e-9)
    assert large.time == close(7.5e6 / 25e9, rel=1e-9)


def test_groups_of_ranks_that_share_no_cable_do_not_notice_each_other():
    s, topo = cs.schedule("allreduce_ring", 4), network("switch", 8)
    both = cs.simulate([s, s], topo, ["4MiB", "1MiB"], ranks=[[0, 1, 2, 3], [7, 5, 4, 6]])
    assert both.slowdown == close([1, 1])
    assert both[1].time == close(run(s, network("switch", 4), "1MiB").time, rel=1e-9)
    assert both.link_bytes.sum() == both[0].link_bytes.sum() + both[1].link_bytes.sum()


def test_sizes_times_and_ranks_of_several_may_be_arrays():
    s, topo = cs.schedule("allreduce_ring", 4), network("switch", 8)
    listed = cs.simulate([s, s], topo, [1000, 2000], begin=[0, 1e-3], ranks=[[0, 1, 2, 3], [4, 5, 6, 7]])
    arrays = cs.simulate(
        [s, s], topo, np.array([1000, 2000]), begin=np.array([0, 1e-3]), ranks=np.arange(8).reshape(2, 4)
    )
    assert [t.time for t in arrays] == [t.time for t in listed]
    with pytest.raises(cs.CollsimError, match="nbytes has 3 entries for 2 schedules"):
        cs.simulate([s, s], topo, np.array([1, 2, 3]))


def test_a_collective_begun_later_ends_later():
    s, topo = cs.schedule("allreduce_ring", 4), network("switch", 8)
    both = cs.simulate([s, s], topo, "4MiB", ranks=[[0, 1, 2, 3], [4, 5, 6, 7]], begin=[0, "1ms"])
    assert both[1].time == close(both[0].time + 1e-3, rel=1e-9)
    assert both.slowdown == close([1, 1])


def test_a_run_launched_later_has_the_same_rates_and_reasons():
    """What it spends counts from its launch, only `time` from 0: 1 GB beside 1 GB of other traffic, at 0 s and at 1
    s."""
    s, topo = cs.schedule("allreduce_ring", 4), network("switch", 4)
    now = run(s, topo, "1GB", background=[(0, 2, "1GB")])
    later = run(s, topo, "1GB", background=[(0, 2, "1GB", "1s")], begin="1s")
    assert later.time == close(1 + now.time, rel=1e-12)
    assert (later.duration, later.algbw, later.busbw, later.gap) == close(
        (now.time, now.algbw, now.busbw, now.gap), rel=1e-9
    )
    assert later.links["share"].tolist() == close(now.links["share"].tolist(), rel=1e-6)
    assert later.explain() == now.explain()
    assert "launched at 1 s, it took" in str(later)
    path, moved = (cs.analysis.critical_path(t) for t in (now, later))
    assert moved.shares == close(path.shares, rel=1e-6)
    elastic = [cs.analysis.sensitivity(t)["elasticity"].tolist() for t in (now, later)]
    assert elastic[1] == close(elastic[0], rel=1e-6)


def test_what_others_carried_before_a_launch_is_not_of_the_run():
    """A ring of 0.06 s at 0 s, another at 10 s on the same cables: neither meets the other, and all of them together
    take 10.06 s."""
    s, topo = cs.schedule("allreduce_ring", 4), network("switch", 4, alpha=0)
    both = cs.simulate([s, s], topo, "1GB", begin=[0, "10s"])
    alone = run(s, topo, "1GB")
    for t in both:
        assert not t.other_bytes.any()
        assert t.links["share"].tolist() == close(alone.links["share"].tolist())
    frame = both.to_frame()
    assert frame["begin"].tolist() == [0, 10]
    assert frame["time"].tolist() == close([0.06, 10.06])
    for column in ("duration", "alone"):
        assert frame[column].tolist() == close([0.06, 0.06])
    assert both.whole.links["share"].max() == close(0.12 / 10.06)
    late = cs.simulate([s, s], topo, "1GB", begin=["10s", "10s"])
    assert late.whole.gap == close(2 * alone.gap)
    assert late.whole.links["share"].max() == close(1)


def test_what_is_looked_at_runs_only_what_it_needs(monkeypatch):
    """Tables need no other run; the bottleneck one for each kind of link doubled and one without bytes; the slow-down
    each ring alone."""
    runs = []
    monkeypatch.setattr(
        importlib.import_module("collsim.simulate.run"), "run_events", lambda *a: runs.append(a) or run_events(*a)
    )
    ring, topo = cs.schedule("allreduce_ring", 4), cs.machine("dgx-a100", nodes=2)
    both = cs.simulate([ring] * 4, topo, "1MB", ranks=[range(r, r + 4) for r in (0, 6, 8, 12)])
    assert len(both.links) == len(topo.links)
    assert len(runs) == 1
    kinds = len(both.whole.bottleneck.savings)
    assert kinds > 1
    assert len(runs) == 1 + kinds + 1
    assert (both.whole.slowdown > 0.99).all()
    assert len(runs) == 1 + kinds + 1 + 4


def test_helpers_of_several_schedules_have_places_of_their_own():
    s = cs.schedule("allreduce_parameter_server", 3, server="helper")
    both = cs.simulate([s, s], network("switch", 6), "3MB", ranks=[[0, 1, 2], [3, 4, 5]])
    assert both.slowdown == close([1, 1])


def test_a_parameter_server_next_to_switches_that_reduce():
    """On a machine: the server in host memory, NVLS on each node's NVSwitch; two NVLS at once share their switches."""
    topo = cs.machine("dgx-h100", nodes=2)
    server, nvls = (
        cs.schedule("allreduce_parameter_server", 16, server="helper"),
        cs.schedule("allreduce_nvls_tree", topology=topo),
    )
    assert (server.helpers_on, nvls.helpers_on) == ("host", "nvswitch")
    for order in ([server, nvls], [nvls, server]):
        both = cs.simulate(order, topo, "1MiB")
        kinds = {
            t.schedule.name: {
                topo.devices.name[d].rstrip("0123456789") for d in t.topology.endpoint_device[t.placement[16:]]
            }
            for t in both
        }
        assert kinds == {
            "allreduce_parameter_server": {"node0/memory"},
            "allreduce_nvls_tree": {"node0/nvswitch", "node1/nvswitch"},
        }
        assert (both.slowdown >= 1 - 1e-9).all()
    twice = cs.simulate([nvls, nvls], topo, "1MiB")
    assert twice.time > cs.simulate(nvls, topo, "1MiB", engine="event").time


def test_a_server_next_to_a_switch_that_reduces_on_a_plain_switch():
    server, sharp = cs.schedule("allreduce_parameter_server", 3, server="helper"), cs.schedule("allreduce_sharp", 3)
    topo = network("switch", 6, reduces=True)
    both = cs.simulate([sharp, server], topo, "3MB", ranks=[[0, 1, 2], [3, 4, 5]])
    assert both.slowdown == close([1, 1])
    assert [both.topology.devices.name[t.topology.endpoint_device[t.placement[3]]] for t in both] == [
        "switch0",
        "host0",
    ]
