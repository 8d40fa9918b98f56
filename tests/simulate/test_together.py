"""Several collectives at once on one machine."""

import pytest
from event_cases import network, run

import collsim as cs

close = pytest.approx


def test_two_rings_on_one_set_of_cables_take_twice_as_long_without_latency():
    s, topo = cs.schedule("allreduce_ring", 4), network("ring", 4, alpha=0)
    both = cs.simulate([s, s], topo, "4MiB")
    assert both.slowdown == close([2, 2], rel=1e-9)
    assert both.time == close(2 * run(s, topo, "4MiB").time, rel=1e-9)


def test_a_cable_is_as_busy_as_all_that_cross_it_make_it():
    """4 MB and 1 MB on one ring without latency: all shared until the small one is over, then the large one alone. Every cable is full all
    the time, and of what crosses it in the short run's time half is the other's."""
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


def test_a_collective_begun_later_ends_later():
    s, topo = cs.schedule("allreduce_ring", 4), network("switch", 8)
    both = cs.simulate([s, s], topo, "4MiB", ranks=[[0, 1, 2, 3], [4, 5, 6, 7]], begin=[0, "1ms"])
    assert both[1].time == close(both[0].time + 1e-3, rel=1e-9)
    assert both.slowdown == close([1, 1])


def test_helpers_of_several_schedules_have_places_of_their_own():
    s = cs.schedule("allreduce_parameter_server", 3, server="helper")
    both = cs.simulate([s, s], network("switch", 6), "3MB", ranks=[[0, 1, 2], [3, 4, 5]])
    assert both.slowdown == close([1, 1])


def test_a_parameter_server_beside_switches_that_reduce():
    """On a machine: the server in host memory, NVLS on each node's NVSwitch; two NVLS at once share their switches."""
    topo = cs.machine("dgx-h100", nodes=2)
    server, nvls = cs.schedule("allreduce_parameter_server", 16, server="helper"), cs.schedule("allreduce_nvls_tree", topology=topo)
    assert (server.helpers_on, nvls.helpers_on) == ("host", "switch")
    for order in ([server, nvls], [nvls, server]):
        both = cs.simulate(order, topo, "1MiB")
        kinds = {
            t.schedule.name: {topo.devices.name[d].rstrip("0123456789") for d in t.topology.endpoint_device[t.place[16:]]} for t in both
        }
        assert kinds == {"allreduce_parameter_server": {"node0/memory"}, "allreduce_nvls_tree": {"node0/nvswitch", "node1/nvswitch"}}
        assert (both.slowdown >= 1 - 1e-9).all()
    twice = cs.simulate([nvls, nvls], topo, "1MiB")
    assert twice.time > cs.simulate(nvls, topo, "1MiB", engine="event").time


def test_a_server_beside_a_switch_that_reduces_on_a_plain_switch():
    server, sharp = cs.schedule("allreduce_parameter_server", 3, server="helper"), cs.schedule("allreduce_sharp", 3)
    topo = network("switch", 6)
    both = cs.simulate([sharp, server], topo, "3MB", ranks=[[0, 1, 2], [3, 4, 5]])
    assert both.slowdown == close([1, 1])
    assert [both.topology.devices.name[t.topology.endpoint_device[t.place[3]]] for t in both] == ["switch0", "host0"]
